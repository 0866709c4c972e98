"""What is wrong with a label as a whole: its ceiling, the evidence for it, and that nobody carries it."""

import difflib
from collections.abc import Iterator

from msgspec import UNSET

from remuda.capacity.decide.findings import Finding, Severity
from remuda.capacity.decide.label import LabelContext, some
from remuda.capacity.decide.words import count
from remuda.capacity.snapshot import POOLS, SCALE_SETS, ScaleSet
from remuda.model.times import DAY, read_instant, write_duration


def most(scale_sets: tuple[ScaleSet, ...]) -> int | None:
    """The maxima of scale sets together; None when one has none."""
    bounds = [scale_set.max for scale_set in scale_sets]
    return None if None in bounds else sum(bound for bound in bounds if bound is not None)


def find(case: LabelContext) -> Iterator[Finding]:
    """Everything that is wrong with the ceiling."""
    policy = case.policy
    if policy is None:
        return
    together = most(case.scale_sets)
    if together is None or together > policy.ceiling:
        largest = sorted(
            case.scale_sets,
            key=lambda scale_set: (scale_set.max is not None, -(scale_set.max or 0), scale_set.id),
        )
        parts = some((f"{scale_set.name} {count(scale_set.max)}" for scale_set in largest), 5)
        fix = f"lower maxima until they come to {policy.ceiling}, or raise the ceiling after an audit that shows it fits"
        yield _about(
            case, "ceiling-exceeded", "error", "spec.ceiling",
            f"{count(together)} at maximum: {parts}", f"at most {policy.ceiling}", fix,
        )  # fmt: skip
    now = sum(case.running.values()) if case.running is not None else 0
    if now > policy.ceiling:
        fix = "let runners end, and lower the maxima that allow so many"
        wanted = f"at most {policy.ceiling}"
        yield _about(case, "running-above-ceiling", "error", "spec.ceiling", f"{now} running", wanted, fix)
    yield from _evidence(case)


def _evidence(case: LabelContext) -> Iterator[Finding]:
    policy = case.policy
    if policy is None:
        return
    evidence = policy.evidence
    audit_again = "audit again, and write down under spec.evidence when it was and how many runners fitted"
    if evidence is UNSET:
        yield _about(
            case, "ceiling-without-evidence", "warning", "spec.evidence", "none", "the audit that justified it", audit_again,
        )  # fmt: skip
        return
    if policy.ceiling > evidence.fitted:
        wanted = f"at most {evidence.fitted}, which fitted on {evidence.date}"
        fix = f"lower the ceiling to {evidence.fitted}, or {audit_again}"
        yield _about(
            case, "ceiling-above-evidence", "error", "spec.ceiling", str(policy.ceiling), wanted, fix
        )
    age = case.now - read_instant(evidence.date)
    if age > evidence.max_age or age < -DAY:
        is_ = f"of {evidence.date}, " + (f"{age // DAY} days ago" if age > 0 else "which is yet to come")
        wanted = f"at most {write_duration(evidence.max_age)} old"
        yield _about(case, "evidence-too-old", "error", "spec.evidence.date", is_, wanted, audit_again)


def absent(case: LabelContext, known: tuple[str, ...], *, asked: bool) -> Iterator[Finding]:
    """That no set carries the label, with those that are spelt alike; one that only a policy names may wait for its first set."""
    if case.scale_sets or case.snapshot.is_unknown(SCALE_SETS) or case.snapshot.is_unknown(POOLS):
        return
    label = case.label
    by_lower = {name.lower(): name for name in known}
    near = [by_lower[name] for name in difflib.get_close_matches(label.lower(), by_lower, 3)]
    holding = [name for name in known if label.lower() in name.lower() or name.lower() in label.lower()]
    alike = list(dict.fromkeys([*near, *holding]))[:5]
    hint = (
        f"did you mean {', '.join(alike)}?" if alike else f"there is: {some(known, 10) or 'no label at all'}"
    )
    severity: Severity = "error" if asked else "warning"
    yield Finding(
        "label-not-found",
        severity,
        label,
        f"label {label}",
        "runnerScaleSetName, runnerScaleSetLabels or class",
        "no set carries it",
        "a label that a set carries",
        hint,
    )


def _about(
    case: LabelContext, rule: str, severity: Severity, where: str, is_: str, should: str, fix: str
) -> Finding:
    return Finding(rule, severity, case.label, case.policy_object, where, is_, should, fix)
