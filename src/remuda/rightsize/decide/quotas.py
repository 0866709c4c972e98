"""
Whether all changes together fit the quotas of their namespaces while they are rolled out.

In a rollout there are never more than `replicas` pods of the old template, nor of the new one, nor more than `replicas`
and the surge of both. The most a workload asks for on its way is thus `replicas` of the larger pod and the surge of the
smaller one.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from remuda.model.findings import Finding
from remuda.model.workloads import WorkloadId
from remuda.rightsize.decide import words
from remuda.rightsize.decide.clamps import as_pods_have, defaults_of
from remuda.rightsize.decide.context import counted, filled, requested, reserved
from remuda.rightsize.decide.findings import finding
from remuda.rightsize.decide.waste import is_applied
from remuda.rightsize.review import ContainerReview
from remuda.rightsize.snapshot import InitContainer, LimitRange, Quota, Size, Workload

#: what a quota counts → how much of it a container asks for
_COUNTED: dict[str, Callable[[Size], int | None]] = {
    "cpu": lambda size: requested(size, "cpu"),
    "requests.cpu": lambda size: requested(size, "cpu"),
    "memory": lambda size: requested(size, "memory"),
    "requests.memory": lambda size: requested(size, "memory"),
    "limits.cpu": lambda size: size.limits.cpu_millicores,
    "limits.memory": lambda size: size.limits.memory_bytes,
}
_PODS = ("pods", "count/pods")


class Rollout(Struct, frozen=True):
    """A workload on its way from what its containers have to what they should have."""

    id: WorkloadId
    replicas: int
    surge: int
    before: tuple[Size, ...]
    after: tuple[Size, ...]
    #: what its namespace gives to containers that do not say
    defaults: Size
    #: names of the ranges that give it no CPU limit, whatever they say
    overruled: frozenset[str] = frozenset()
    #: containers that end before the others start; these are called `names`
    initial: tuple[InitContainer, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after


def rollout_of(
    workload: Workload, containers: Sequence[ContainerReview], ranges: Sequence[LimitRange]
) -> Rollout:
    """What applying the patches would bring about, under the ranges of its namespace."""
    seen = [as_pods_have(each, workload) for each in ranges]
    return Rollout(
        workload.id,
        workload.replicas,
        min(workload.surge, workload.replicas),
        tuple(each.now for each in containers),
        tuple(each.recommended if is_applied(each) else each.now for each in containers),
        merged([defaults_of(each) for each in seen]),
        frozenset(each.name for each in seen if each.is_overruled),
        workload.initial,
        tuple(each.name for each in containers),
    )


def merged(sizes: Sequence[Size]) -> Size:
    """Of each value the first that is set."""
    made = Size()
    for each in sizes:
        made = Size(filled(made.requests, each.requests), filled(made.limits, each.limits))
    return made


def wants_cpu_limit(namespace: str, quotas: Sequence[Quota]) -> str:
    """The quota that refuses pods without a CPU limit in a namespace."""
    found = [_name(quota) for quota in quotas if quota.namespace == namespace and "limits.cpu" in quota.hard]
    return min(found, default="")


def find_in_quotas(quotas: Sequence[Quota], rollouts: Sequence[Rollout]) -> Iterator[Finding]:
    """Everything about quotas that a person must know before applying the changes."""
    for quota in sorted(quotas, key=lambda quota: (quota.namespace, quota.name)):
        there = [each for each in rollouts if each.id.namespace == quota.namespace]
        if not any(each.is_change for each in there):
            continue
        if quota.scopes:
            scopes = words.some(quota.scopes)
            yield finding("quota-with-scopes", "info", _name(quota), "spec.scopes", scopes=scopes)
            continue
        for name in sorted(quota.hard):
            if name in _COUNTED or name in _PODS:
                yield from _too_small(quota, name, there)
            if name in {"limits.cpu", "limits.memory"}:
                yield from _wants_limit(quota, name, there)


def peak_of(rollout: Rollout, name: str) -> int:
    """How much more of what a quota counts a rollout asks for at its worst moment than before it."""
    if not rollout.is_change:
        return 0
    if name in _PODS:
        return rollout.surge
    before, after = _before(rollout, name), _after(rollout, name)
    return rollout.replicas * (max(before, after) - before) + rollout.surge * min(before, after)


def _too_small(quota: Quota, name: str, rollouts: Sequence[Rollout]) -> Iterator[Finding]:
    hard = quota.hard[name]
    write = _writer(name)
    by_templates = sum(each.replicas * _before(each, name) for each in rollouts)
    used = quota.used.get(name, by_templates)
    asked = [(peak_of(each, name), each.id) for each in rollouts]
    most = used + sum(more for more, _ in asked)
    if most <= hard:
        return
    after = max(
        0, used + sum(each.replicas * (_after(each, name) - _before(each, name)) for each in rollouts)
    )
    enough = words.enough(most) if write is words.memory else write(most)
    who = words.some(
        f"{each} (+{write(more)})"
        for more, each in sorted(asked, key=lambda pair: (-pair[0], pair[1]))
        if more > 0
    )
    yield finding(
        "quota-too-small",
        "error",
        _name(quota),
        f"spec.hard[{name}]",
        hard=write(hard),
        used=write(used),
        reckoned=name not in quota.used,
        asked=write(by_templates) if used < by_templates else None,
        already=write(used - hard) if used > hard else None,
        most=write(most),
        over=write(most - hard),
        who=who,
        after=write(after),
        enough=enough,
        passing=after <= hard,
    )


def _wants_limit(quota: Quota, name: str, rollouts: Sequence[Rollout]) -> Iterator[Finding]:
    without = [
        each.id
        for each in rollouts
        if each.is_change and any(_COUNTED[name](counted(size, each.defaults)) is None for size in each.after)
    ]
    if without:
        yield finding(
            "quota-wants-limit",
            "error" if name == "limits.memory" else "warning",
            _name(quota),
            f"spec.hard[{name}]",
            counted=name,
            workloads=words.some(map(str, sorted(without))),
            resource=name.removeprefix("limits."),
        )


def _before(rollout: Rollout, name: str) -> int:
    return _sum(rollout, rollout.before, name)


def _after(rollout: Rollout, name: str) -> int:
    return _sum(rollout, rollout.after, name)


def _sum(rollout: Rollout, sizes: Sequence[Size], name: str) -> int:
    if name in _PODS:
        return 1
    asked = [_COUNTED[name](counted(size, rollout.defaults)) or 0 for size in sizes]
    # without names there are no sidecars to tell apart
    amounts = dict(zip(rollout.names or map(str, range(len(sizes))), asked, strict=True))
    return reserved(amounts, rollout.initial, _COUNTED[name], rollout.defaults)


def _writer(name: str) -> Callable[[int], str]:
    if name in _PODS:
        return lambda amount: words.counted(amount, "pod")
    return words.writer_of(name)


def _name(quota: Quota) -> str:
    return f"ResourceQuota {quota.namespace}/{quota.name}"
