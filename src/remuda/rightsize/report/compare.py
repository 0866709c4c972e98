"""What changed from one review to the next: what is new, what was followed, and what was solved."""

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from remuda.model.times import Instant
from remuda.rightsize.review import ContainerReview, Finding, Review, Risk, Waste
from remuda.rightsize.snapshot import Size

Field: TypeAlias = Literal["requests.cpu", "requests.memory", "limits.cpu", "limits.memory"]
Outcome: TypeAlias = Literal["followed", "in part", "otherwise", "not"]
#: namespace, kind, name, container
_Key: TypeAlias = tuple[str, str, str, str]

FIELDS: dict[Field, Callable[[Size], int | None]] = {
    "requests.cpu": lambda size: size.requests.cpu_millicores,
    "requests.memory": lambda size: size.requests.memory_bytes,
    "limits.cpu": lambda size: size.limits.cpu_millicores,
    "limits.memory": lambda size: size.limits.memory_bytes,
}


class Place(Struct, frozen=True):
    """A container of a workload."""

    namespace: str
    kind: str
    name: str
    container: str


class Moved(Struct, frozen=True):
    """A recommendation that is another one now, in millicores or bytes; None is not to be set."""

    place: Place
    field: Field
    before: int | None
    after: int | None


class Heard(Struct, frozen=True):
    """What became of a recommendation: `now` is what the container asks for since."""

    place: Place
    outcome: Outcome
    then: Size
    recommended: Size
    now: Size


class RiskChange(Struct, frozen=True):
    """A risk that appeared, went away (`after` is empty) or became another."""

    place: Place
    before: Risk
    after: Risk


class Changes(Struct, frozen=True):
    """What is different in a review from the one before it."""

    before: Instant
    after: Instant
    #: containers that are in one of them alone: made, deleted, or not asked for
    new: tuple[Place, ...] = ()
    gone: tuple[Place, ...] = ()
    moved: tuple[Moved, ...] = ()
    heard: tuple[Heard, ...] = ()
    risks: tuple[RiskChange, ...] = ()
    appeared: tuple[Finding, ...] = ()
    solved: tuple[Finding, ...] = ()
    waste_before: Waste = Waste()
    waste_after: Waste = Waste()
    #: why the two can be compared in part only, in words
    notes: tuple[str, ...] = ()


def changes(before: Review, after: Review) -> Changes:
    """
    Compare two reviews, in the order of the later one.

    A recommendation was followed when the container now asks for exactly that. Provisional ones, and those to keep or
    to leave, were nothing to follow. A finding is the same one when its rule, object and field are.
    """
    old, new = _containers(before), _containers(after)
    both = [(Place(*key), old[key], found) for key, found in new.items() if key in old]
    return Changes(
        before=before.at,
        after=after.at,
        new=tuple(Place(*key) for key in new if key not in old),
        gone=tuple(Place(*key) for key in old if key not in new),
        moved=tuple(item for place, then, now in both for item in _moved(place, then, now)),
        heard=tuple(
            Heard(place, outcome, then.now, then.recommended, now.now)
            for place, then, now in both
            if (outcome := _outcome(then, now.now)) is not None
        ),
        risks=tuple(
            RiskChange(place, then.risk, now.risk) for place, then, now in both if then.risk != now.risk
        ),
        appeared=_beyond(after.findings, before.findings),
        solved=_beyond(before.findings, after.findings),
        waste_before=before.waste,
        waste_after=after.waste,
        notes=tuple(_notes(before, after)),
    )


def _containers(review: Review) -> dict[_Key, ContainerReview]:
    return {
        (workload.namespace, workload.kind, workload.name, item.name): item
        for workload in review.workloads
        for item in workload.containers
    }


def _moved(place: Place, then: ContainerReview, now: ContainerReview) -> Iterator[Moved]:
    for field, of in FIELDS.items():
        was, is_ = of(then.recommended), of(now.recommended)
        if was != is_:
            yield Moved(place, field, was, is_)


def _outcome(then: ContainerReview, now: Size) -> Outcome | None:
    """What became of a recommendation; None where there was nothing to do."""
    if then.is_provisional or then.verdict in {"keep", "leave"}:
        return None
    changed = [of for of in FIELDS.values() if of(then.recommended) != of(then.now)]
    if not changed:
        return None
    done = sum(of(now) == of(then.recommended) for of in changed)
    if done == len(changed):
        return "followed"
    if done:
        return "in part"
    return "not" if all(of(now) == of(then.now) for of in changed) else "otherwise"


def _beyond(these: tuple[Finding, ...], those: tuple[Finding, ...]) -> tuple[Finding, ...]:
    known = {(item.rule, item.object, item.field) for item in those}
    return tuple(item for item in these if (item.rule, item.object, item.field) not in known)


def _notes(before: Review, after: Review) -> Iterator[str]:
    if before.source != after.source:
        yield f"the one before was of {before.source}, this one is of {after.source}"
    if before.strategy != after.strategy:
        yield f"the one before was by {before.strategy}, this one is by {after.strategy}"
    if before.currency != after.currency:
        yield f"money was in {before.currency or 'no currency'}, and is in {after.currency or 'none'}"
    for which, review in (("the one before", before), ("this one", after)):
        if review.is_partial:
            yield f"{which} is partial: what is new, gone or solved may only not have been read"
