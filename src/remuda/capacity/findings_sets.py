"""What is wrong with one set: its bounds, its labels, and what its runners carry."""

from collections.abc import Iterator

from msgspec import UNSET

from remuda.capacity.case import Case
from remuda.capacity.findings import Finding, Severity
from remuda.capacity.fits import measured
from remuda.capacity.policy import read_end
from remuda.capacity.words import UNBOUNDED, count, quantity, told
from remuda.capacity.world import EPHEMERAL, POOLS, SCALE_SETS, Lane

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
    where = field_of(lane, "resources")
    if policy is None or policy.require.requests:
        missing = [name for name in ("cpu", "memory") if not lane.requests.get(name)]
        if missing:
            yield _missing(case, lane, "missing-requests", severity, f"{where}.requests", missing)
    if (policy is None or policy.require.limits) and not lane.limits.get("memory"):
        yield _missing(case, lane, "missing-limits", severity, f"{where}.limits", ["memory"])
    reaches = bool(case.overflow & case.reach(lane))
    if policy is not None and (policy.require.ephemeral_storage or reaches):
        missing = [
            kind
            for kind, given in (("requests", lane.requests), ("limits", lane.limits))
            if not given.get(EPHEMERAL)
        ]
        if missing:
            why = "since the set may be on an overflow node" if reaches else "since the policy requires it"
            is_ = f"no {' and no '.join(missing)} for {EPHEMERAL}"
            fix = f"give runners {EPHEMERAL} in {' and '.join(missing)}"
            wanted = f"both given, {why}"
            yield about(case, lane, "missing-ephemeral-storage", "error", where, is_, wanted, fix)


def _missing(
    case: Case, lane: Lane, rule: str, severity: Severity, where: str, missing: list[str]
) -> Finding:
    names = " and ".join(missing)
    envelope = case.envelope(lane)
    given = (
        {}
        if envelope is None
        else measured(envelope.requests if rule == "missing-requests" else envelope.limits)
    )
    example = ", ".join(f"{name}: {quantity(name, given[name])}" for name in missing if name in given)
    fix = f"set {where}: {example}" if example else f"set {names} there"
    return about(case, lane, rule, severity, where, f"no {names}", f"{names} given", fix)


def _carried(case: Case, lane: Lane) -> Iterator[Finding]:
    """Whether a set's runners carry the envelope that was given to it."""
    budget = case.budget(lane)
    envelope = case.envelope(lane)
    if budget is None or budget.envelope is UNSET or envelope is None:
        return
    for kind, wanted, given in (
        ("requests", measured(envelope.requests), lane.requests),
        ("limits", measured(envelope.limits), lane.limits),
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


def _absent(case: Case) -> Iterator[Finding]:
    if case.policy is None or case.world.is_unknown(SCALE_SETS) or case.world.is_unknown(POOLS):
        return
    there = {name for lane in case.lanes for name in (lane.name, lane.id)}
    for index, item in enumerate(case.policy.sets):
        if item.name not in there:
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
