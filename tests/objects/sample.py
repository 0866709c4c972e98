"""A kind with a field of every sort, and the least text that makes an object of it."""

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from remuda.model.quantities import Quantity
from remuda.model.times import Duration
from remuda.objects.ceiling import CEILING
from remuda.objects.kinds import Complaint, Kind, Object
from remuda.objects.load import Loaded, load_text
from remuda.objects.scalars import Count, CronText, ObjectName, Share, ZoneName


class Part(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A part of the sample."""

    start_at: Annotated[CronText, Meta(description="When it starts.")]
    zone: Annotated[ZoneName, Meta(description="Where that is.")] = ZoneName("UTC")


class Limits(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Limits of the sample."""

    memory: Annotated[Quantity | UnsetType, Meta(description="Most memory.")] = UNSET
    open_files: Annotated[Annotated[int, Meta(ge=16)] | UnsetType, Meta(description="Most open files.")] = (
        UNSET
    )


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing to say."""


class SampleSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One field of every sort."""

    class_: Annotated[str, Meta(min_length=1, max_length=8, description="What it is.")] = field(name="class")
    min: Annotated[Count | UnsetType, Meta(description="Fewest.")] = UNSET
    max: Annotated[Count, Meta(description="Most.")] = 10
    factor: Annotated[float, Meta(gt=0, lt=100, description="A factor.")] = 1.5
    exact: Annotated[bool, Meta(description="Whether it is exact.")] = True
    mode: Annotated[Literal["active", "natural"], Meta(description="How it goes.")] = "active"
    delay: Annotated[Duration, Meta(description="How long it takes.")] = Duration(0)
    headroom: Annotated[Share, Meta(description="Spares.")] = Share(0)
    ceiling: Annotated[ObjectName | UnsetType, Meta(description="Its ceiling.")] = UNSET
    limits: Annotated[Limits, Meta(description="Limits.")] = Limits()
    parts: Annotated[tuple[Part, ...], Meta(max_length=3, description="Its parts.")] = ()
    words: Annotated[list[str], Meta(description="Some words.")] = []
    env: Annotated[dict[str, str], Meta(description="Variables.")] = {}
    owner: Annotated[str | None, Meta(description="Who has it.")] = None
    nothing: Annotated[Nothing | UnsetType, Meta(description="Nothing.")] = UNSET


def check_sample(sample: Object[SampleSpec]) -> Iterator[Complaint]:
    if sample.spec.min is not UNSET and sample.spec.min > sample.spec.max:
        yield "spec.min", f"is {sample.spec.min}, more than max, which is {sample.spec.max}"


SAMPLE = Kind("Sample", "samples", SampleSpec, ("smp",), check_sample)
KINDS = (SAMPLE, CEILING)


def sample(spec: str = "{class: a}", name: str = "one") -> str:
    """The text of a sample; `spec` is on line 4 and begins in column 7."""
    return f"apiVersion: remuda.dev/v1alpha1\nkind: Sample\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def load(text: str) -> Loaded:
    return load_text(text, "f.yaml", KINDS)


def problems(text: str) -> list[str]:
    return [str(problem) for problem in load(text).problems]
