"""
What of a review is to be changed, and what is left out with the reason: the part that all forms of patches share.

A value that is the same now and as recommended is no change. A resource (CPU or memory) is changed as a whole: where
its limit changes, the request is written as well.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from remuda.model.amount_texts import quantity
from remuda.model.workloads import WorkloadId
from remuda.rightsize.review import ContainerReview, Finding, Review, WorkloadReview
from remuda.rightsize.snapshot import Ask, Size

Resource: TypeAlias = Literal["cpu", "memory"]
RESOURCES: tuple[Resource, ...] = ("cpu", "memory")
#: requests and limits as they are written; None is a value to be removed
Written: TypeAlias = dict[str, dict[str, str | None]]
_PROVISIONAL = frozenset({"under-a-day"})


class Resized(Struct, frozen=True):
    """A container of a workload that changes; it may itself stay as it is, and says why."""

    name: str
    is_sidecar: bool
    now: Size
    #: what it should be; as it is now where it stays so
    size: Size
    #: what there is of other resources: requests, limits
    others: tuple[dict[str, str], dict[str, str]]
    #: where it stands among those of its list in the template; None is not known
    index: int | None
    why: str
    #: requests and limits as the template has them; None is not known
    written: dict[str, dict[str, str]] | None = None

    @property
    def changed(self) -> tuple[Resource, ...]:
        """The resources that change."""
        return tuple(each for each in RESOURCES if values(self.now, each) != values(self.size, each))


class Changed(Struct, frozen=True):
    """A workload of which at least one container changes, with all of its containers."""

    id: WorkloadId
    containers: tuple[Resized, ...]
    findings: tuple[Finding, ...]
    #: names of all `initContainers` in their order, as far as a review knows them
    init_containers: tuple[str, ...] = ()

    @property
    def resized(self) -> tuple[Resized, ...]:
        """The containers that change."""
        return tuple(item for item in self.containers if item.changed)

    @property
    def main(self) -> Resized | None:
        """The container that a module means by `resources`: the one called as the workload, else the first."""
        own = [item for item in self.containers if not item.is_sidecar]
        return next((item for item in own if item.name == self.id.name), own[0] if own else None)


def values(size: Size, resource: Resource) -> tuple[int | None, int | None]:
    """Request and limit of a resource."""
    return _value(size.requests, resource), _value(size.limits, resource)


def whole(item: Resized) -> dict[str, dict[str, str]]:
    """All requests and limits a container should have, those of other resources as well."""
    made = {}
    for place, (part, ask) in enumerate((("requests", item.size.requests), ("limits", item.size.limits))):
        own = {
            each: quantity(each, amount) for each in RESOURCES if (amount := _value(ask, each)) is not None
        }
        made[part] = own | {name: item.others[place][name] for name in sorted(item.others[place])}
    return made


def difference(item: Resized) -> Written:
    """Only the resources that change; what is there and should not be is None."""
    made: Written = {}
    for part in ("requests", "limits"):
        before, after = getattr(item.now, part), getattr(item.size, part)
        for each in item.changed:
            amount = _value(after, each)
            if amount is not None:
                made.setdefault(part, {})[each] = quantity(each, amount)
            elif _value(before, each) is not None:
                made.setdefault(part, {})[each] = None
    return made


def changes_of(review: Review, only: Collection[WorkloadId] = ()) -> tuple[list[Changed], list[str]]:
    """The workloads that change, by name, and what is left out, each with why."""
    changed: list[Changed] = []
    left: list[str] = []
    seen: set[WorkloadId] = set()
    found: dict[str, list[Finding]] = {}
    for each in review.findings:
        found.setdefault(each.object, []).append(each)
    for item in review.workloads:
        who = WorkloadId(item.namespace, item.kind, item.name)
        if only and who not in only:
            continue
        if trouble := _trouble(item, who, seen):
            left.append(f"{who}: {trouble}")
            continue
        seen.add(who)
        findings = tuple(found.get(str(who), ()))
        if operated := next((each for each in findings if each.rule == "sized-by-operator"), None):
            left.append(f"{who}: {operated.fix}")
            continue
        containers = []
        for container, index in zip(item.containers, _indices(item), strict=True):
            reason = _why_not(container, findings)
            size = container.now if reason else container.recommended
            if reason:
                left.append(f"{who}, container {container.name}: {reason}")
            else:
                about = _left_resources(container, findings)
                left += [f"{who}, container {container.name}: {parts}" for parts in about]
            containers.append(
                Resized(
                    container.name,
                    container.is_sidecar,
                    container.now,
                    size,
                    (container.other_requests, container.others),
                    index,
                    reason or _why(container),
                    container.written,
                )
            )
        made = Changed(who, tuple(containers), findings, item.init_containers)
        if made.resized:
            changed.append(made)
    return sorted(changed, key=lambda item: item.id), left


def _value(ask: Ask, resource: Resource) -> int | None:
    return ask.cpu_millicores if resource == "cpu" else ask.memory_bytes


def _trouble(item: WorkloadReview, who: WorkloadId, seen: set[WorkloadId]) -> str:
    if not all(who) or any("/" in part for part in who):
        return "is no name that an object can have"
    if who in seen:
        return "is in the review twice, and only the first is patched"
    twice = [name for name, count in Counter(each.name for each in item.containers).items() if count > 1]
    return f"has more than one container called {', '.join(twice)}" if twice else ""


def _indices(item: WorkloadReview) -> Iterator[int | None]:
    """Where each container stands. All containers of a template are in a review, but not all of `initContainers`."""
    own = 0
    first = {name: place for place, name in enumerate(item.init_containers)}
    for each in item.containers:
        place = first.get(each.name) if each.is_sidecar else own
        yield place if each.index is None else each.index
        own += not each.is_sidecar


def _why_not(item: ContainerReview, findings: tuple[Finding, ...]) -> str:
    """Why a container is not patched; empty if it is."""
    if item.verdict == "leave":
        return f"is left as it is{_because(item, findings, item.rules)}"
    if item.is_provisional:
        return (
            f"is provisional, with too little data{_because(item, findings, _PROVISIONAL & set(item.rules))}"
        )
    if item.verdict == "keep":
        return "keeps what it has, which is near enough to what it needs"
    if item.recommended == item.now:
        return f"has what is recommended already{_because(item, findings, item.rules)}"
    return _invalid(item.recommended)


def _invalid(size: Size) -> str:
    for each in RESOURCES:
        request, limit = values(size, each)
        if (request or 0) < 0 or (limit is not None and limit <= 0):
            return f"has a recommendation for {each} that is no amount: request {request}, limit {limit}"
        if request is not None and limit is not None and request > limit:
            return (
                f"has a recommendation that a server refuses: {each} request {quantity(each, request)} "
                f"above its limit {quantity(each, limit)}"
            )
    return ""


def _left_resources(item: ContainerReview, findings: tuple[Finding, ...]) -> Iterator[str]:
    """Resources of a container that is patched which a finding leaves as they are."""
    for each in RESOURCES:
        if (have := values(item.now, each)) != values(item.recommended, each):
            continue
        for found in _about(item, findings):
            if found.field.endswith(f".{each}"):
                yield f"{each} stays {_amounts(each, have)}: {found.rule}: {found.is_}"


def _about(item: ContainerReview, findings: tuple[Finding, ...]) -> Iterator[Finding]:
    for found in findings:
        if "[" not in found.field or f"[{item.name}]" in found.field:
            yield found


def _because(item: ContainerReview, findings: tuple[Finding, ...], rules: Collection[str]) -> str:
    parts = [f"{found.rule}: {found.is_}" for found in _about(item, findings) if found.rule in rules]
    return "".join(f": {each}" for each in ("; ".join(parts or sorted(rules)),) if each)


def _why(item: ContainerReview) -> str:
    """A verdict with what becomes of each number."""
    parts = [item.verdict + (f", {item.risk}" if item.risk else "")]
    for each in RESOURCES:
        before, after = values(item.now, each), values(item.recommended, each)
        if before != after:
            parts.append(f"{each} {_amounts(each, before)} -> {_amounts(each, after)}")
    return "; ".join(parts)


def _amounts(resource: Resource, both: tuple[int | None, int | None]) -> str:
    request, limit = ("none" if each is None else quantity(resource, each) for each in both)
    return f"request {request} limit {limit}"
