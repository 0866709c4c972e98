"""What is wrong with one set: its bounds, its labels, and what its runners carry."""

from collections.abc import Iterator
from typing import Literal

from msgspec import UNSET, UnsetType

from remuda.capacity.decide.findings import Finding, Severity
from remuda.capacity.decide.label import LabelContext, some
from remuda.capacity.decide.rollback import is_scale_set
from remuda.capacity.decide.words import UNBOUNDED, count, quantity, told
from remuda.capacity.policy import implausible, measured, read_end
from remuda.capacity.snapshot import EPHEMERAL, POOLS, SCALE_SETS, ScaleSet, Snapshot

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


def field_of(scale_set: ScaleSet, what: str, more: str = "") -> str:
    """Where something stands in the object of a scale set."""
    return _FIELDS[scale_set.kind][what] + more


def about(
    case: LabelContext,
    scale_set: ScaleSet,
    rule: str,
    severity: Severity,
    where: str,
    is_: str,
    should: str,
    fix: str,
) -> Finding:
    """A finding about a scale set."""
    return Finding(
        rule,
        severity,
        case.label,
        f"{scale_set.kind} {scale_set.id}",
        where,
        is_,
        should,
        fix,
        scale_set.place,
    )


def find(case: LabelContext) -> Iterator[Finding]:
    """Everything that is wrong with sets alone."""
    for scale_set in case.scale_sets:
        yield from _bounds(case, scale_set)
        yield from _labels(case, scale_set)
        yield from _resources(case, scale_set)
        yield from _carried(case, scale_set)
        yield from _implausible(case, scale_set)
        yield from _admission(case, scale_set)
        yield from _counted(case, scale_set)
        if scale_set.phase.lower() == "outdated":
            fix = "look at the controller's log: a set that was edited may have to be deleted and made again"
            where = field_of(scale_set, "phase")
            yield about(case, scale_set, "set-outdated", "warning", where, scale_set.phase, "Running", fix)
    yield from _absent(case)


def _bounds(case: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    policy, budget = case.policy, case.budget(scale_set)
    share = budget.max if budget else policy.newcomer_max if policy else None
    where = field_of(scale_set, "max")
    if scale_set.max is None:
        wanted = f"at most {share}" if share is not None else "a number"
        fix = f"set {where} to {1 if share is None else share}"
        yield about(case, scale_set, "unbounded-set", "error", where, UNBOUNDED, wanted, fix)
    elif share is not None and scale_set.max > share:
        if budget:
            fix = f"set {where} to {share}, or raise its share in {case.policy_object} under spec.sets"
            yield about(
                case,
                scale_set,
                "set-above-its-share",
                "error",
                where,
                str(scale_set.max),
                f"at most {share}",
                fix,
            )
        else:
            fix = f"set {where} to {share}, or list the set in {case.policy_object} under spec.sets with its share"
            wanted = f"at most {share}, since the policy does not list the set"
            yield about(
                case, scale_set, "newcomer-above-default", "error", where, str(scale_set.max), wanted, fix
            )
    if scale_set.min > 0:
        yield from _minimum(case, scale_set)


def _minimum(case: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    budget, where = case.budget(scale_set), field_of(scale_set, "min")
    decision = budget.warm_pool if budget else UNSET
    ended = ""
    if decision is not UNSET:
        if (read_end(decision.until) or 0) > case.now:
            return
        ended = f"; the decision of {decision.who} for a warm pool ended on {decision.until}"
    fix = f"set {where} to 0, or write down who decided on a warm pool, why and until when: spec.sets[].warmPool"
    severity: Severity = "error" if case.policy else "warning"
    yield about(case, scale_set, "minimum-not-zero", severity, where, f"{scale_set.min}{ended}", "0", fix)


def _labels(case: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    where = field_of(scale_set, "labels" if scale_set.given else "name")
    for label in scale_set.given or scale_set.labels:
        pattern = case.forbidden(label)
        if pattern is not None:
            wanted = f"a label that names a capability: not like {pattern}"
            fix = "give the set a label that says what its nodes can do, and let workflows target that"
            yield about(case, scale_set, "repo-shaped-label", "error", where, label, wanted, fix)


def _resources(case: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    policy = case.policy
    severity: Severity = "error" if policy else "warning"
    if policy is None or policy.require.requests:
        yield from _missing(case, scale_set, "missing-requests", severity, "requests", ("cpu", "memory"))
    if policy is None or policy.require.limits:
        yield from _missing(case, scale_set, "missing-limits", severity, "limits", ("memory",))
    reaches = bool(case.overflow & case.reach(scale_set))
    if policy is not None and (policy.require.ephemeral_storage or reaches):
        kinds: tuple[Literal["requests", "limits"], ...] = ("requests", "limits")
        lacking = [(kind, scale_set.lacks(kind, EPHEMERAL)) for kind in kinds]
        missing = [f"{kind}{_of(names)}" for kind, names in lacking if names is not None]
        if missing:
            why = "since the set may be on an overflow node" if reaches else "since the policy requires it"
            is_ = f"no {' and no '.join(missing)} for {EPHEMERAL}"
            fix = f"give runners {EPHEMERAL} in {' and '.join(missing)}"
            wanted = f"both given, {why}"
            where = field_of(scale_set, "resources")
            yield about(case, scale_set, "missing-ephemeral-storage", "error", where, is_, wanted, fix)


def _of(containers: tuple[str, ...]) -> str:
    """Which containers, where that is known."""
    if not any(containers):
        return ""
    return f" of container {containers[0]}" if len(containers) == 1 else f" of containers {some(containers)}"


def _missing(
    case: LabelContext, scale_set: ScaleSet, rule: str, severity: Severity, kind: Literal["requests", "limits"], names: tuple[str, ...]
) -> Iterator[Finding]:  # fmt: skip
    """What containers do not give: one that does cannot speak for another."""
    lacking = {name: found for name in names if (found := scale_set.lacks(kind, name)) is not None}
    by_containers: dict[tuple[str, ...], list[str]] = {}
    for name, containers in lacking.items():
        by_containers.setdefault(containers, []).append(name)
    envelope = case.envelope(scale_set)
    given = {} if envelope is None else measured(getattr(envelope, kind))
    where = f"{field_of(scale_set, 'resources')}.{kind}"
    for containers, missing in by_containers.items():
        together = " and ".join(missing)
        example = ", ".join(f"{name}: {quantity(name, given[name])}" for name in missing if name in given)
        who = _of(containers)
        fix = f"set {where}{who}: {example}" if example and not who else f"set {together}{who} there"
        yield about(case, scale_set, rule, severity, where, f"no {together}{who}", f"{together} given", fix)


def _carried(case: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    """Whether a set's runners carry the envelope that was given to it."""
    budget = case.budget(scale_set)
    envelope = case.envelope(scale_set)
    if budget is None or budget.envelope is UNSET or envelope is None:
        return
    for kind, wanted, given in (
        ("requests", measured(envelope.requests), scale_set.carried[0]),
        ("limits", measured(envelope.limits), scale_set.carried[1]),
    ):
        for name, value in wanted.items():
            # What is missing altogether is told by the rules for that.
            if name not in given or given[name] == value:
                continue
            severity: Severity = "error" if given[name] > value else "warning"
            where = field_of(scale_set, "resources", f".{kind}.{name}")
            fix = f"set it to {quantity(name, value)}, or name another envelope for the set in {case.policy_object}"
            wants = f"{told(name, value)}, as envelope {envelope.name} says"
            yield about(
                case, scale_set, "envelope-not-carried", severity, where, told(name, given[name]), wants, fix
            )


def _admission(case: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    """What becomes of runners before and beside what the scheduler counts."""
    for words in scale_set.refused:
        fix = "change the set, or what refuses it: a runner whose pod is refused is lost, but for a quota"
        should = "pods that the API server takes"
        yield about(
            case, scale_set, "runners-refused", "error", field_of(scale_set, "pod"), words, should, fix
        )
    if scale_set.node_name:
        where = field_of(scale_set, "pod", ".nodeName")
        fix = "select nodes by labels: without the scheduler, the kubelet rejects what is too much, and the runner is lost"
        yield about(case, scale_set, "node-name-set", "error", where, scale_set.node_name, "not given", fix)
    if scale_set.unsure and scale_set.max != 0:
        fix = "try it: only the cluster can tell; resources alone are counted here"
        should = "placed by what an audit can count"
        yield about(
            case,
            scale_set,
            "placement-uncertain",
            "warning",
            field_of(scale_set, "pod"),
            "; ".join(scale_set.unsure),
            should,
            fix,
        )


def _implausible(case: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    for kind, amounts in (("requests", scale_set.requests), ("limits", scale_set.limits)):
        for name, words in implausible(amounts):
            where = field_of(scale_set, "resources", f".{kind}.{name}")
            yield about(
                case,
                scale_set,
                "implausible-amount",
                "error",
                where,
                words,
                "an amount that can be meant",
                "correct it",
            )


def _counted(case: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    """Whether quotas that are meant for the label's runners count those of a set."""
    if case.policy is None or scale_set.kind != "AutoscalingRunnerSet":
        return
    wanted: dict[str, str] = {}
    if not isinstance(case.policy.priority_class, UnsetType):
        wanted[str(case.policy.priority_class)] = f"{case.policy_object} names for its runners"
    for quota in case.snapshot.quotas:
        if quota.policy == case.policy_name and quota.namespace == scale_set.namespace:
            wanted |= dict.fromkeys(quota.classes, f"ResourceQuota {quota.namespace}/{quota.name} counts")
    for name, who in wanted.items():
        if scale_set.priority_class != name:
            where = field_of(scale_set, "pod", ".priorityClassName")
            fix = f"set {where} to {name}: without it no quota counts these runners"
            should = f"{name}, which {who}"
            is_ = scale_set.priority_class or "none"
            yield about(case, scale_set, "quota-counts-nothing", "warning", where, is_, should, fix)


def leaving(snapshot: Snapshot) -> Iterator[Finding]:
    """Sets that are being deleted."""
    for name in snapshot.leaving:
        fix = "wait until it is gone; one that stays has a finalizer that nobody takes off"
        yield Finding(
            "set-being-deleted", "info", "", name, "metadata.deletionTimestamp", "being deleted", "gone", fix
        )


def _absent(case: LabelContext) -> Iterator[Finding]:
    if case.policy is None or case.snapshot.is_unknown(SCALE_SETS) or case.snapshot.is_unknown(POOLS):
        return
    there = {name for scale_set in case.scale_sets for name in (scale_set.name, scale_set.id)}
    for index, item in enumerate(case.policy.sets):
        if item.name not in there and not any(
            is_scale_set(item.name, name) for name in case.snapshot.leaving
        ):
            fix = "take it out, or fix its name; what it was given is free for others"
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
