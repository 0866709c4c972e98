"""`Ceiling`: the most that several pools or labels may run together. It is here because several jobs share ceilings."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from remuda.objects.kinds import Column, Complaint, Kind, Object
from remuda.objects.scalars import Count, ObjectName


class CeilingMember(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How one member shares the ceiling. A member that is not listed gets the defaults."""

    name: Annotated[ObjectName, Meta(description="The pool.")]
    guaranteed: Annotated[Count, Meta(description="Machines it can always have when it wants them.")] = 0
    priority: Annotated[
        int, Meta(ge=-1_000_000, le=1_000_000, description="Higher is served first, after all guarantees.")
    ] = 0
    weight: Annotated[int, Meta(ge=1, le=1_000, description="Share among members of equal priority.")] = 1


class CeilingSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A number of machines, and how its members share it: guarantees, then priority, then weighted fairness."""

    machines: Annotated[Count, Meta(description="The most machines all members may have together.")]
    members: Annotated[
        tuple[CeilingMember, ...], Meta(max_length=1_000, description="How members share it.")
    ] = ()


def check_ceiling(ceiling: Object[CeilingSpec]) -> Iterator[Complaint]:
    """A member is listed once, and guarantees fit under the ceiling."""
    first: dict[str, int] = {}
    for index, member in enumerate(ceiling.spec.members):
        if member.name in first:
            words = f"{member.name} is listed already, as members[{first[member.name]}]"
            yield f"spec.members[{index}].name", words, f"spec.members[{first[member.name]}].name"
        first.setdefault(member.name, index)
    guaranteed = sum(member.guaranteed for member in ceiling.spec.members)
    if guaranteed > ceiling.spec.machines:
        words = f"is {ceiling.spec.machines}, but its members are guaranteed {guaranteed} together"
        rest_on = (f"spec.members[{index}].guaranteed" for index in range(len(ceiling.spec.members)))
        yield "spec.machines", f"{words}: raise it to {guaranteed} or lower their guarantees", *rest_on


CEILING = Kind(
    "Ceiling",
    "ceilings",
    CeilingSpec,
    ("ceil",),
    check_ceiling,
    columns=(Column("Machines", "integer", ".spec.machines"),),
    keyed=(("members", "name"),),
    limits_others=True,
)
