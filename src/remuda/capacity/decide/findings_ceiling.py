"""What is wrong with a label as a whole: its ceiling, the evidence for it, and that nobody carries it."""

import difflib
from collections.abc import Iterator

from msgspec import UNSET

from remuda.capacity.decide.findings import about_policy
from remuda.capacity.decide.label import LabelContext, count
from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.snapshot import POOLS, SCALE_SETS, ScaleSet
from remuda.model.findings import Finding
from remuda.model.sentences import some
from remuda.model.times import DAY, read_instant, write_duration


def most(scale_sets: tuple[ScaleSet, ...]) -> int | None:
    """The maxima of scale sets together; None when one has none."""
    bounds = [scale_set.max for scale_set in scale_sets]
    return None if None in bounds else sum(bound for bound in bounds if bound is not None)


def find(context: LabelContext) -> Iterator[Finding]:
    """Everything that is wrong with the ceiling."""
    policy = context.policy
    if policy is None:
        return
    together = most(context.scale_sets)
    if together is None or together > policy.ceiling:
        largest = sorted(
            context.scale_sets,
            key=lambda scale_set: (scale_set.max is not None, -(scale_set.max or 0), scale_set.id),
        )
        parts = some((f"{scale_set.name} {count(scale_set.max)}" for scale_set in largest), 5)
        yield about_policy(
            context, "ceiling-exceeded", "error", "spec.ceiling", together=count(together), parts=parts, ceiling=policy.ceiling
        )  # fmt: skip
    now = sum(context.running.values()) if context.running is not None else 0
    if now > policy.ceiling:
        yield about_policy(
            context, "running-above-ceiling", "error", "spec.ceiling", running=now, ceiling=policy.ceiling
        )
    yield from _evidence(context, policy)


def _evidence(context: LabelContext, policy: CapacityPolicySpec) -> Iterator[Finding]:
    evidence = policy.evidence
    if evidence is UNSET:
        yield about_policy(context, "ceiling-without-evidence", "warning", "spec.evidence")
        return
    if policy.ceiling > evidence.fitted:
        yield about_policy(
            context, "ceiling-above-evidence", "error", "spec.ceiling",
            ceiling=policy.ceiling, fitted=evidence.fitted, date=evidence.date,
        )  # fmt: skip
    age = context.now - read_instant(evidence.date)
    is_old = age > evidence.max_age
    if is_old or age < -DAY:
        yield about_policy(
            context, "evidence-too-old", "error", "spec.evidence.date",
            date=evidence.date, days=age // DAY if is_old else None, max_age=write_duration(evidence.max_age),
        )  # fmt: skip


def absent(context: LabelContext, known: tuple[str, ...], *, asked: bool) -> Iterator[Finding]:
    """That no set carries the label, with those that are spelt alike; one that only a policy names may wait for its first set."""
    if context.scale_sets or context.snapshot.is_unknown(SCALE_SETS) or context.snapshot.is_unknown(POOLS):
        return
    label = context.label
    by_lower = {name.lower(): name for name in known}
    near = [by_lower[name] for name in difflib.get_close_matches(label.lower(), by_lower, 3)]
    holding = [name for name in known if label.lower() in name.lower() or name.lower() in label.lower()]
    alike = list(dict.fromkeys([*near, *holding]))[:5]
    yield Finding(
        "capacity.label-not-found",
        "error" if asked else "warning",
        f"label {label}",
        "runnerScaleSetName, runnerScaleSetLabels or class",
        {"alike": ", ".join(alike), "known": some(known, 10) or "no label at all"},
        label,
    )
