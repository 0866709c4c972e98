"""
The rows of an `Inventory` and a `Demand`: which keys there are, which are required, and how the value of each is read.

It is the one place that says so: for `validate`, `explain` and `schema`, and for `remuda.fleet.observe.fields`, which reads a
row from a file or off the wire.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, ClassVar, Self

from msgspec import UNSET, Meta, Struct, UnsetType

from remuda.fleet.scalars import Chance, Money, Penalty, read_integer, read_priority, shown
from remuda.model.labels import Operator, check_key
from remuda.model.machines import State
from remuda.model.quantities import Quantity
from remuda.model.shapes import CapacityType
from remuda.model.units import Unsatisfiable
from remuda.objects.problems import did_you_mean, quoted

#: No list may hold more machines, those that a count stands for included.
MOST_MACHINES = 1_000_000
#: No need may ask for more units.
MOST_ASKED = 1_000_000_000
#: no id or name is longer
MOST_LETTERS = 253


def read_name(value: object) -> str:
    """An id or a name: text that can be shown, and not empty."""
    if value == "":
        raise ValueError("is empty: give it a name")
    return read_text(value)


def read_text(value: object) -> str:
    """Text that can be shown."""
    if not isinstance(value, str):
        raise ValueError(f"wants text, found {shown(value)}")  # noqa: TRY004
    if len(value) > MOST_LETTERS or not value.isprintable():
        raise ValueError(f"wants up to {MOST_LETTERS} characters that can be shown, found {quoted(value)}")
    return value


def read_key(value: object) -> str:
    """The key of a label."""
    if not isinstance(value, str):
        raise ValueError(f"wants the key of a label, found {shown(value)}")  # noqa: TRY004
    check_key(value)
    return value


def one_of(value: object, words: Mapping[str, Enum]) -> Enum:
    """What one of some words stands for."""
    if isinstance(value, str) and value in words:
        return words[value]
    near = did_you_mean(value, words) if isinstance(value, str) else ""
    raise ValueError(f"wants one of {', '.join(words)}, found {shown(value)}{near}")


class Scalar(str):
    """Text, kept as it is written; `read` makes of it what it says, or raises `ValueError` with what would be right."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {"type": "string"}
    example: ClassVar[str] = "my-name"
    read: ClassVar[Callable[[Any], Any]] = staticmethod(read_text)

    @classmethod
    def parse(cls, text: object) -> Self:
        """Take it as it is: a value that is wrong spoils its row alone, and rows are read one by one."""
        return cls(text)

    def __init_subclass__(
        cls, read: Callable[[Any], Any] | None = None, like: Any = None, words: type[Enum] | None = None
    ) -> None:
        if like is not None:
            cls.json_schema, cls.example = like.json_schema, like.example
            cls.read = staticmethod(lambda value: int(like.parse(value)))
        if words is not None:
            by_word = {each.value: each for each in words}
            cls.json_schema, cls.example = {"type": "string", "enum": [*by_word]}, ", ".join(by_word)
            cls.read = staticmethod(lambda value: one_of(value, by_word))
        if read is not None:
            cls.read = staticmethod(read)


class Name(Scalar, read=read_name):
    """An id or a name."""


class Label(Scalar, read=read_key):
    """The key of a label."""


class Integer(Scalar, read=read_priority):
    """A whole number of 32 bits."""

    json_schema: ClassVar[dict[str, Any]] = {"type": "integer"}
    example: ClassVar[str] = "40"


class Count(Integer, read=lambda value: read_integer(value, 1, MOST_ASKED)):
    """How many, from one on."""


class Time(Scalar):
    """When, or how long ago: read by who knows what time it is."""

    example: ClassVar[str] = "2026-01-31T14:05:00Z or 10m"


class Amount(Scalar, like=Quantity):
    """A quantity of a resource: read by who knows the resource."""


class Price(Scalar, like=Money):
    """Dollars."""


class Probability(Scalar, like=Chance):
    """A number of 0 to 1."""


class Cost(Scalar, like=Penalty):
    """Dollars, or `pinned`."""


class StateWord(Scalar, words=State):
    """A state of a machine."""


class CapacityWord(Scalar, words=CapacityType):
    """How a machine is paid for."""


class OperatorWord(Scalar, words=Operator):
    """How a requirement compares."""


class WhenWord(Scalar, words=Unsatisfiable):
    """What to do when a spread cannot be kept."""


class InventoryMachine(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A machine, or with a `count` so many equal ones, whose ids are this one's with -1, -2 … behind."""

    id: Annotated[Name, Meta(description="Its id, which no other machine has.")]
    state: Annotated[StateWord, Meta(description="Where it is in its life.")]
    instance_type: Annotated[Name, Meta(description="Its type, as its provider calls it.")]
    count: Annotated[
        Count | UnsetType, Meta(description=f"How many there are, up to {MOST_MACHINES:,}. One by default.")
    ] = UNSET
    zone: Annotated[Scalar | UnsetType, Meta(description="The zone it is in.")] = UNSET
    region: Annotated[Scalar | UnsetType, Meta(description="The region it is in.")] = UNSET
    provider: Annotated[Scalar | UnsetType, Meta(description="Who runs it: caps and quotas go by it.")] = (
        UNSET
    )
    capacity_type: Annotated[
        CapacityWord | UnsetType, Meta(description="How it is paid for. bare-metal by default.")
    ] = UNSET
    labels: Annotated[dict[str, Scalar], Meta(description="What requirements can ask for.")] = {}
    allocatable: Annotated[dict[str, Amount], Meta(description="What units may use of it, by resource.")] = {}
    price_per_hour: Annotated[
        Price | UnsetType, Meta(description="Dollars per hour while it runs. 0 by default.")
    ] = UNSET
    interruption_probability: Annotated[
        Probability | UnsetType,
        Meta(description="How likely its provider takes it away within an hour. 0 by default."),
    ] = UNSET
    cluster: Annotated[
        Scalar | UnsetType, Meta(description="Whom it serves, while configuring, configured or draining.")
    ] = UNSET
    need: Annotated[Scalar | UnsetType, Meta(description="The need of that cluster it was given to.")] = UNSET
    priority: Annotated[
        Integer | UnsetType, Meta(description="That need's priority when it was given. 0 by default.")
    ] = UNSET
    since: Annotated[Time | UnsetType, Meta(description="When it entered its state. Now by default.")] = UNSET


class NeedRequirement(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A condition on a label of a machine."""

    key: Annotated[Label, Meta(description="The label, like topology.kubernetes.io/zone.")]
    operator: Annotated[OperatorWord, Meta(description="How it compares.")]
    values: Annotated[tuple[Scalar, ...], Meta(description="What it is compared with.")] = ()


class NeedSpread(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Keeps the domains of a label level."""

    key: Annotated[Label, Meta(description="The label whose values are the domains.")]
    max_skew: Annotated[
        Count | UnsetType, Meta(description="Units that a domain may have more than the least. 1 by default.")
    ] = UNSET
    when_unsatisfiable: Annotated[
        WhenWord | UnsetType, Meta(description="What to do when it cannot be kept. DoNotSchedule by default.")
    ] = UNSET


class NeedSeparation(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Keeps units apart."""

    most: Annotated[Count, Meta(description="The most units on one machine, or in one domain.")]
    key: Annotated[
        Label | UnsetType, Meta(description="The label whose values are the domains. A machine by default.")
    ] = UNSET


class DemandNeed(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Equal units with what each requires: a `count` of them, or a `total` whose largest unit is `unit`."""

    name: Annotated[Name, Meta(description="Its name, which no other need of the cluster has.")]
    unit: Annotated[
        dict[str, Amount], Meta(description="What a unit uses, by resource: cpu, memory and others.")
    ] = {}
    count: Annotated[Count | UnsetType, Meta(description="How many units. One by default.")] = UNSET
    total: Annotated[
        dict[str, Amount] | UnsetType, Meta(description="The sum, where the number of units is not known.")
    ] = UNSET
    requirements: Annotated[
        tuple[NeedRequirement, ...], Meta(description="Conditions that a machine must meet.")
    ] = ()
    priority: Annotated[Integer | UnsetType, Meta(description="Higher is served first. 0 by default.")] = (
        UNSET
    )
    arrival: Annotated[
        Time | UnsetType, Meta(description="When it was first asked for: the earlier goes first.")
    ] = UNSET
    same: Annotated[
        Label | UnsetType,
        Meta(description="The label of which all units share one value, all of them or none: a gang."),
    ] = UNSET
    topology_spread: Annotated[
        NeedSpread | UnsetType, Meta(description="Keeps the domains of a label level.")
    ] = UNSET
    separation: Annotated[
        NeedSeparation | UnsetType, Meta(description="The most units on one machine or in one domain.")
    ] = UNSET
    interruption_penalty: Annotated[
        Cost | UnsetType,
        Meta(description="Dollars that it costs when a machine is interrupted. 0 by default."),
    ] = UNSET
    reclamation_penalty: Annotated[
        Cost | UnsetType,
        Meta(description="Dollars that it costs when a machine is taken back. 0 by default."),
    ] = UNSET
