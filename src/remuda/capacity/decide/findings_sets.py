"""What is wrong with one set: its bounds, its labels, and what its runners carry."""

from collections.abc import Iterator
from typing import Literal

from msgspec import UNSET, UnsetType

from remuda.capacity.decide.findings import about_policy, about_set, field_of
from remuda.capacity.decide.label import LabelContext, count
from remuda.capacity.decide.rollback import is_scale_set
from remuda.capacity.policy import implausible, measured, read_end
from remuda.capacity.snapshot import EPHEMERAL, POOLS, SCALE_SETS, ScaleSet, Snapshot
from remuda.model.amount_texts import amount_text, quantity
from remuda.model.findings import Finding, Severity
from remuda.model.sentences import some


def find(context: LabelContext) -> Iterator[Finding]:
    """Everything that is wrong with sets alone."""
    for scale_set in context.scale_sets:
        yield from _bounds(context, scale_set)
        yield from _labels(context, scale_set)
        yield from _resources(context, scale_set)
        yield from _carried(context, scale_set)
        yield from _implausible(context, scale_set)
        yield from _admission(context, scale_set)
        yield from _counted(context, scale_set)
        if scale_set.phase.lower() == "outdated":
            where = field_of(scale_set, "phase")
            yield about_set(context, scale_set, "set-outdated", "warning", where, phase=scale_set.phase)
    yield from _absent(context)


def _bounds(context: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    policy, budget = context.policy, context.budget(scale_set)
    share = budget.max if budget else policy.newcomer_max if policy else None
    where = field_of(scale_set, "max")
    if scale_set.max is None:
        yield about_set(context, scale_set, "unbounded-set", "error", where, share=share)
    elif share is not None and scale_set.max > share:
        rule = "set-above-its-share" if budget else "newcomer-above-default"
        yield about_set(
            context,
            scale_set,
            rule,
            "error",
            where,
            max=scale_set.max,
            share=share,
            policy=context.policy_object,
        )
    if scale_set.min > 0:
        yield from _minimum(context, scale_set)


def _minimum(context: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    budget, where = context.budget(scale_set), field_of(scale_set, "min")
    decision = budget.warm_pool if budget else UNSET
    end = None if decision is UNSET else read_end(decision.until)
    if end is not None and end > context.now:
        return
    who, until = (None, None) if decision is UNSET else (decision.who, decision.until)
    severity: Severity = "error" if context.policy else "warning"
    yield about_set(
        context, scale_set, "minimum-not-zero", severity, where, min=scale_set.min, who=who, until=until
    )


def _labels(context: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    where = field_of(scale_set, "labels" if scale_set.own_labels else "name")
    for label in scale_set.own_labels or scale_set.labels:
        pattern = context.forbidden(label)
        if pattern is not None:
            yield about_set(
                context, scale_set, "repo-shaped-label", "error", where, label=label, pattern=pattern
            )


def _resources(context: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    policy = context.policy
    severity: Severity = "error" if policy else "warning"
    if policy is None or policy.require.requests:
        yield from _missing(context, scale_set, "missing-requests", severity, "requests", ("cpu", "memory"))
    if policy is None or policy.require.limits:
        yield from _missing(context, scale_set, "missing-limits", severity, "limits", ("memory",))
    is_overflow_reachable = bool(context.overflow & context.reachable_nodes(scale_set))
    if policy is not None and (policy.require.ephemeral_storage or is_overflow_reachable):
        kinds: tuple[Literal["requests", "limits"], ...] = ("requests", "limits")
        lacking = [(kind, scale_set.lacks(kind, EPHEMERAL)) for kind in kinds]
        missing = [
            f"{kind} of {who}" if (who := _listed(names)) else kind
            for kind, names in lacking
            if names is not None
        ]
        if missing:
            yield about_set(
                context, scale_set, "missing-ephemeral-storage", "error", field_of(scale_set, "resources"),
                missing=" and ".join(missing), reached="an overflow node" if is_overflow_reachable else None,
            )  # fmt: skip


def _listed(containers: tuple[str, ...]) -> str:
    """Which containers, where that is known."""
    if not any(containers):
        return ""
    return f"container {containers[0]}" if len(containers) == 1 else f"containers {some(containers)}"


def _missing(
    context: LabelContext, scale_set: ScaleSet, rule: str, severity: Severity, kind: Literal["requests", "limits"], names: tuple[str, ...]
) -> Iterator[Finding]:  # fmt: skip
    """What containers do not give: one that does cannot speak for another."""
    lacking = {name: found for name in names if (found := scale_set.lacks(kind, name)) is not None}
    by_containers: dict[tuple[str, ...], list[str]] = {}
    for name, containers in lacking.items():
        by_containers.setdefault(containers, []).append(name)
    envelope = context.envelope(scale_set)
    of_envelope = {} if envelope is None else measured(getattr(envelope, kind))
    where = f"{field_of(scale_set, 'resources')}.{kind}"
    for containers, missing in by_containers.items():
        who = _listed(containers)
        example = ", ".join(
            f"{name}: {quantity(name, of_envelope[name])}" for name in missing if name in of_envelope
        )
        yield about_set(
            context, scale_set, rule, severity, where,
            names=" and ".join(missing), containers=who, example="" if who else example,
        )  # fmt: skip


def _carried(context: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    """Whether a set's runners carry the envelope that was given to it."""
    budget = context.budget(scale_set)
    envelope = context.envelope(scale_set)
    if budget is None or budget.envelope is UNSET or envelope is None:
        return
    for kind, expected, carried in (
        ("requests", measured(envelope.requests), scale_set.carried[0]),
        ("limits", measured(envelope.limits), scale_set.carried[1]),
    ):
        for name, value in expected.items():
            # What is missing altogether has rules of its own.
            if name not in carried or carried[name] == value:
                continue
            is_more = carried[name] > value  # pragma: no mutate - what is equal was left out
            severity: Severity = "error" if is_more else "warning"
            where = field_of(scale_set, "resources", f".{kind}.{name}")
            yield about_set(
                context, scale_set, "envelope-not-carried", severity, where, amount=amount_text(name, carried[name]),
                expected=amount_text(name, value), quantity=quantity(name, value), envelope=str(envelope.name),
                policy=context.policy_object,
            )  # fmt: skip


def _admission(context: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    """What becomes of runners before and beside what the scheduler counts."""
    where = field_of(scale_set, "pod")
    for message in scale_set.refused:
        yield about_set(context, scale_set, "runners-refused", "error", where, message=message)
    if scale_set.node_name:
        yield about_set(
            context, scale_set, "node-name-set", "error", f"{where}.nodeName", node=scale_set.node_name
        )
    if scale_set.unsure and scale_set.max != 0:
        unsure = "; ".join(scale_set.unsure)
        yield about_set(context, scale_set, "placement-uncertain", "warning", where, unsure=unsure)


def _implausible(context: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    for kind, amounts in (("requests", scale_set.requests), ("limits", scale_set.limits)):
        for name, message in implausible(amounts):
            where = field_of(scale_set, "resources", f".{kind}.{name}")
            yield about_set(context, scale_set, "implausible-amount", "error", where, message=message)


def _counted(context: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    """Whether quotas that are meant for the label's runners count those of a set."""
    if context.policy is None or scale_set.kind == "RunnerPool":
        return
    #: class → the quota that counts it; the policy's own has none
    expected: dict[str, str] = {}
    if not isinstance(context.policy.priority_class, UnsetType):
        expected[str(context.policy.priority_class)] = ""
    for quota in context.snapshot.quotas:
        if quota.policy == context.policy_name and quota.namespace == scale_set.namespace:
            expected |= dict.fromkeys(quota.classes, f"{quota.namespace}/{quota.name}")
    for name, counter in expected.items():
        if scale_set.priority_class != name:
            yield about_set(
                context, scale_set, "quota-counts-nothing", "warning", field_of(scale_set, "pod", ".priorityClassName"),
                carried=scale_set.priority_class, expected=name, quota=counter, policy=context.policy_object,
            )  # fmt: skip


def leaving(snapshot: Snapshot) -> Iterator[Finding]:
    """Sets that are being deleted."""
    for name in snapshot.leaving:
        yield Finding("capacity.set-being-deleted", "info", name, "metadata.deletionTimestamp")


def _absent(context: LabelContext) -> Iterator[Finding]:
    if (
        context.policy is None
        or context.snapshot.is_unknown(SCALE_SETS)
        or context.snapshot.is_unknown(POOLS)
    ):
        return
    there = {name for scale_set in context.scale_sets for name in (scale_set.name, scale_set.id)}
    for index, item in enumerate(context.policy.sets):
        if item.name not in there and not any(
            is_scale_set(item.name, name) for name in context.snapshot.leaving
        ):
            yield about_policy(
                context, "set-not-found", "info", f"spec.sets[{index}]",
                name=item.name, max=count(item.max), label=context.label,
            )  # fmt: skip
