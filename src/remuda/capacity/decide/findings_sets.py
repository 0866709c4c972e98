"""What is wrong with one set: its bounds, its labels, and what its runners carry."""

from collections.abc import Iterator
from typing import Literal

from msgspec import UNSET, UnsetType

from remuda.capacity.decide.case import Case, some
from remuda.capacity.decide.findings import Finding, Severity
from remuda.capacity.decide.rollback import is_lane
from remuda.capacity.decide.words import UNBOUNDED, count, quantity, told
from remuda.capacity.policy import implausible, measured, read_end
from remuda.capacity.snapshot import EPHEMERAL, POOLS, SCALE_SETS, Lane, World

_FIELDS = {
    "AutoscalingRunnerSet": {
        "max": "spec.maxRunners",
        "min": "spec.minRunners",
        "labels": "spec.runnerScaleSetLabels",
        "name": "spec.runnerScaleSetName",
        "resources": "spec.template.spec.containers[].resources",
        "pod": "spec.template.spec",
        "phase": "status.phase",
    },
    "RunnerPool": {
        "max": "spec.max",
        "min": "spec.min",
        "labels": "spec.class",
        "name": "spec.class",
        "resources": "spec.provider.kubevirt.spec.domain.resources",
        "pod": "spec.provider.kubevirt.spec",
        "phase": "status",
    },
}


def field_of(lane: Lane, what: str, more: str = "") -> str:
    """Where something stands in the object of a lane."""
    return _FIELDS[lane.kind][what] + more


def about(
    case: Case, lane: Lane, rule: str, severity: Severity, where: str, is_: str, should: str, fix: str
) -> Finding:
    """A finding about a lane."""
    return Finding(rule, severity, case.label, f"{lane.kind} {lane.id}", where, is_, should, fix, lane.place)


def find(case: Case) -> Iterator[Finding]:
    """Everything that is wrong with sets alone."""
    for lane in case.lanes:
        yield from _bounds(case, lane)
        yield from _labels(case, lane)
        yield from _resources(case, lane)
        yield from _carried(case, lane)
        yield from _implausible(case, lane)
        yield from _admission(case, lane)
        yield from _counted(case, lane)
        if lane.phase.lower() == "outdated":
            fix = "look at the controller's log: a set that was edited may have to be deleted and made again"
            where = field_of(lane, "phase")
            yield about(case, lane, "set-outdated", "warning", where, lane.phase, "Running", fix)
    yield from _absent(case)


def _bounds(case: Case, lane: Lane) -> Iterator[Finding]:
    policy, budget = case.policy, case.budget(lane)
    share = budget.max if budget else policy.newcomer_max if policy else None
    where = field_of(lane, "max")
    if lane.max is None:
        wanted = f"at most {share}" if share is not None else "a number"
        fix = f"set {where} to {1 if share is None else share}"
        yield about(case, lane, "unbounded-set", "error", where, UNBOUNDED, wanted, fix)
    elif share is not None and lane.max > share:
        if budget:
            fix = f"set {where} to {share}, or raise its share in {case.policy_object} under spec.sets"
            yield about(
                case, lane, "set-above-its-share", "error", where, str(lane.max), f"at most {share}", fix
            )
        else:
            fix = f"set {where} to {share}, or list the set in {case.policy_object} under spec.sets with its share"
            wanted = f"at most {share}, since the policy does not list the set"
            yield about(case, lane, "newcomer-above-default", "error", where, str(lane.max), wanted, fix)
    if lane.min > 0:
        yield from _minimum(case, lane)


def _minimum(case: Case, lane: Lane) -> Iterator[Finding]:
    budget, where = case.budget(lane), field_of(lane, "min")
    decision = budget.warm_pool if budget else UNSET
    ended = ""
    if decision is not UNSET:
        if (read_end(decision.until) or 0) > case.now:
            return
        ended = f"; the decision of {decision.who} for a warm pool ended on {decision.until}"
    fix = f"set {where} to 0, or write down who decided on a warm pool, why and until when: spec.sets[].warmPool"
    severity: Severity = "error" if case.policy else "warning"
    yield about(case, lane, "minimum-not-zero", severity, where, f"{lane.min}{ended}", "0", fix)


def _labels(case: Case, lane: Lane) -> Iterator[Finding]:
    where = field_of(lane, "labels" if lane.given else "name")
    for label in lane.given or lane.labels:
        pattern = case.forbidden(label)
        if pattern is not None:
            wanted = f"a label that names a capability: not like {pattern}"
            fix = "give the set a label that says what its nodes can do, and let workflows target that"
            yield about(case, lane, "repo-shaped-label", "error", where, label, wanted, fix)


def _resources(case: Case, lane: Lane) -> Iterator[Finding]:
    policy = case.policy
    severity: Severity = "error" if policy else "warning"
    if policy is None or policy.require.requests:
        yield from _missing(case, lane, "missing-requests", severity, "requests", ("cpu", "memory"))
    if policy is None or policy.require.limits:
        yield from _missing(case, lane, "missing-limits", severity, "limits", ("memory",))
    reaches = bool(case.overflow & case.reach(lane))
    if policy is not None and (policy.require.ephemeral_storage or reaches):
        kinds: tuple[Literal["requests", "limits"], ...] = ("requests", "limits")
        lacking = [(kind, lane.lacks(kind, EPHEMERAL)) for kind in kinds]
        missing = [f"{kind}{_of(names)}" for kind, names in lacking if names is not None]
        if missing:
            why = "since the set may be on an overflow node" if reaches else "since the policy requires it"
            is_ = f"no {' and no '.join(missing)} for {EPHEMERAL}"
            fix = f"give runners {EPHEMERAL} in {' and '.join(missing)}"
            wanted = f"both given, {why}"
            where = field_of(lane, "resources")
            yield about(case, lane, "missing-ephemeral-storage", "error", where, is_, wanted, fix)


def _of(containers: tuple[str, ...]) -> str:
    """Which containers, where that is known."""
    if not any(containers):
        return ""
    return f" of container {containers[0]}" if len(containers) == 1 else f" of containers {some(containers)}"


def _missing(
    case: Case, lane: Lane, rule: str, severity: Severity, kind: Literal["requests", "limits"], names: tuple[str, ...]
) -> Iterator[Finding]:  # fmt: skip
    """What containers do not give: one that does cannot speak for another."""
    lacking = {name: found for name in names if (found := lane.lacks(kind, name)) is not None}
    by_containers: dict[tuple[str, ...], list[str]] = {}
    for name, containers in lacking.items():
        by_containers.setdefault(containers, []).append(name)
    envelope = case.envelope(lane)
    given = {} if envelope is None else measured(getattr(envelope, kind))
    where = f"{field_of(lane, 'resources')}.{kind}"
    for containers, missing in by_containers.items():
        together = " and ".join(missing)
        example = ", ".join(f"{name}: {quantity(name, given[name])}" for name in missing if name in given)
        who = _of(containers)
        fix = f"set {where}{who}: {example}" if example and not who else f"set {together}{who} there"
        yield about(case, lane, rule, severity, where, f"no {together}{who}", f"{together} given", fix)


def _carried(case: Case, lane: Lane) -> Iterator[Finding]:
    """Whether a set's runners carry the envelope that was given to it."""
    budget = case.budget(lane)
    envelope = case.envelope(lane)
    if budget is None or budget.envelope is UNSET or envelope is None:
        return
    for kind, wanted, given in (
        ("requests", measured(envelope.requests), lane.carried[0]),
        ("limits", measured(envelope.limits), lane.carried[1]),
    ):
        for name, value in wanted.items():
            # What is missing altogether is told by the rules for that.
            if name not in given or given[name] == value:
                continue
            severity: Severity = "error" if given[name] > value else "warning"
            where = field_of(lane, "resources", f".{kind}.{name}")
            fix = f"set it to {quantity(name, value)}, or name another envelope for the set in {case.policy_object}"
            wants = f"{told(name, value)}, as envelope {envelope.name} says"
            yield about(
                case, lane, "envelope-not-carried", severity, where, told(name, given[name]), wants, fix
            )


def _admission(case: Case, lane: Lane) -> Iterator[Finding]:
    """What becomes of runners before and beside what the scheduler counts."""
    for words in lane.refused:
        fix = "change the set, or what refuses it: a runner whose pod is refused is lost, but for a quota"
        should = "pods that the API server takes"
        yield about(case, lane, "runners-refused", "error", field_of(lane, "pod"), words, should, fix)
    if lane.node_name:
        where = field_of(lane, "pod", ".nodeName")
        fix = "select nodes by labels: without the scheduler, the kubelet rejects what is too much, and the runner is lost"
        yield about(case, lane, "node-name-set", "error", where, lane.node_name, "not given", fix)
    if lane.unsure and lane.max != 0:
        fix = "try it: only the cluster can tell; resources alone are counted here"
        should = "placed by what an audit can count"
        yield about(
            case,
            lane,
            "placement-uncertain",
            "warning",
            field_of(lane, "pod"),
            "; ".join(lane.unsure),
            should,
            fix,
        )


def _implausible(case: Case, lane: Lane) -> Iterator[Finding]:
    for kind, amounts in (("requests", lane.requests), ("limits", lane.limits)):
        for name, words in implausible(amounts):
            where = field_of(lane, "resources", f".{kind}.{name}")
            yield about(
                case,
                lane,
                "implausible-amount",
                "error",
                where,
                words,
                "an amount that can be meant",
                "correct it",
            )


def _counted(case: Case, lane: Lane) -> Iterator[Finding]:
    """Whether quotas that are meant for the label's runners count those of a set."""
    if case.policy is None or lane.kind != "AutoscalingRunnerSet":
        return
    wanted: dict[str, str] = {}
    if not isinstance(case.policy.priority_class, UnsetType):
        wanted[str(case.policy.priority_class)] = f"{case.policy_object} names for its runners"
    for quota in case.world.quotas:
        if quota.policy == case.policy_name and quota.namespace == lane.namespace:
            wanted |= dict.fromkeys(quota.classes, f"ResourceQuota {quota.namespace}/{quota.name} counts")
    for name, who in wanted.items():
        if lane.priority_class != name:
            where = field_of(lane, "pod", ".priorityClassName")
            fix = f"set {where} to {name}: without it no quota counts these runners"
            should = f"{name}, which {who}"
            is_ = lane.priority_class or "none"
            yield about(case, lane, "quota-counts-nothing", "warning", where, is_, should, fix)


def leaving(world: World) -> Iterator[Finding]:
    """Sets that are being deleted."""
    for name in world.leaving:
        fix = "wait until it is gone; one that stays has a finalizer that nobody takes off"
        yield Finding(
            "set-being-deleted", "info", "", name, "metadata.deletionTimestamp", "being deleted", "gone", fix
        )


def _absent(case: Case) -> Iterator[Finding]:
    if case.policy is None or case.world.is_unknown(SCALE_SETS) or case.world.is_unknown(POOLS):
        return
    there = {name for lane in case.lanes for name in (lane.name, lane.id)}
    for index, item in enumerate(case.policy.sets):
        if item.name not in there and not any(is_lane(item.name, name) for name in case.world.leaving):
            fix = "take it out, or mend its name; what it was given is free for others"
            yield Finding(
                "set-not-found",
                "info",
                case.label,
                case.policy_object,
                f"spec.sets[{index}]",
                f"{item.name}, with {count(item.max)}",
                f"a set that carries {case.label}",
                fix,
            )
