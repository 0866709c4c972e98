"""A kept audit as a page shows it: ceilings as bars, nodes as packed boxes, gates with their evidence, findings by cause."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from remuda.capacity.answers import (
    AlikeNodes,
    AuditRow,
    Bar,
    BarPart,
    Budget,
    LabelBars,
    LabelPicture,
    NodeBox,
    OwnerRow,
    Picture,
    SetRow,
)
from remuda.capacity.decide.audit import Audit, LabelAudit
from remuda.capacity.decide.fits import folded
from remuda.capacity.decide.holding import holding
from remuda.capacity.decide.label import LabelContext, count
from remuda.capacity.decide.plan import Placed, Plan
from remuda.capacity.show.document import set_names
from remuda.capacity.show.why import gate_rows, steps_of
from remuda.capacity.snapshot import PODS, RESOURCES, Amounts, ScaleSet, Usage
from remuda.model.amount_texts import amount_text, amounts_text
from remuda.model.findings import Finding
from remuda.model.sentences import some
from remuda.output.causes import causes
from remuda.output.words import sentence

#: so many are shown of each
MOST_LABELS, MOST_SETS, MOST_NODES, MOST_NAMES = 60, 200, 24, 500
#: so many runners of a set on a node are boxes of their own
_MOST_BOXES = 12


def picture(row: AuditRow, audit: Audit, findings: tuple[Finding, ...], chosen: Plan | None) -> Picture:
    """The page of an audit; `chosen` is a plan without changes of the one label that is shown in full."""
    grave = Counter(folded(item.scope) for item in findings if item.severity == "error")
    labels = sorted(
        zip(audit.labels, audit.contexts, strict=True),
        key=lambda each: (
            folded(each[0].name) not in grave,
            not each[0].policy,
            -(each[0].running or 0),
            each[0].name,
        ),
    )
    return Picture(
        audit=row,
        labels=tuple(bars_of(*each, grave[folded(each[0].name)]) for each in labels[:MOST_LABELS]),
        label_count=len(labels),
        chosen=chosen.labels[0].name if chosen else "",
        label=_label(chosen) if chosen else None,
        causes=tuple(causes(findings)),
        unread=tuple(f"{item.part}: {item.why}" for item in audit.snapshot.unknown if not item.is_quiet),
    )


def first_label(audit: Audit, findings: Iterable[Finding]) -> str:
    """The label that is shown in full when none is asked for: one with errors, else one with a policy; none without labels."""
    grave = {item.scope for item in findings if item.severity == "error"}
    ranked = sorted(audit.labels, key=lambda each: (not each.policy, each.name not in grave, each.name))
    return ranked[0].name if ranked else ""


def bars_of(label: LabelAudit, context: LabelContext, errors: int) -> LabelBars:
    """A label as bars of one scale: what runs, what its sets may have, and what owners would get."""
    reason = holding(label)
    maxima = _maxima(label)
    lines = {"running": _running(label, context), "maxima": maxima, "shares": _shares(label)}
    return LabelBars(
        name=label.name,
        policy=label.policy,
        ceiling=label.ceiling,
        max=label.max,
        running=label.running,
        pending=label.pending,
        placement=label.placement,
        headline=sentence(reason),
        code=reason.code,
        errors=errors,
        bars=tuple(
            Bar(name, tuple(_bounded(parts, label.ceiling)))
            for name, parts in lines.items()
            if (name != "shares" or label.owners) and (name != "running" or context.running is not None)
        ),
        whole=max(label.ceiling or 0, label.running or 0, sum(part.amount for part in maxima), 1),
    )


def _running(label: LabelAudit, context: LabelContext) -> Iterator[BarPart]:
    names, running = set_names(label.scale_sets), context.running or {}
    for each in label.scale_sets:
        number = running.get(each.id, 0)
        yield BarPart(names[each.kind, each.id], "running", number, f"{number} running")


def _shares(label: LabelAudit) -> Iterator[BarPart]:
    for each in label.owners:
        yield BarPart(each.name, "share", each.share, f"{each.share} of the {each.wants} it may want")


def _maxima(label: LabelAudit) -> tuple[BarPart, ...]:
    """What each set may have; one without a bound is drawn as wide as everything that has one."""
    names = set_names(label.scale_sets)
    bounded = sum(each.max or 0 for each in label.scale_sets)
    boundless = max(label.ceiling or 0, label.running or 0, bounded, 1)
    return tuple(
        BarPart(
            names[each.kind, each.id],
            "maximum",
            boundless if each.max is None else each.max,
            f"at most {count(each.max)}",
        )
        for each in label.scale_sets
    )


def _bounded(parts: Iterable[BarPart], ceiling: int | None) -> Iterator[BarPart]:
    """Parts up to the ceiling and what stays free below it; what is above it is over."""
    taken = 0
    for part in parts:
        if not part.amount:
            continue
        below = part.amount if ceiling is None else max(0, min(part.amount, ceiling - taken))
        if below:
            yield BarPart(part.name, part.kind, below, part.text)
        if below < part.amount:
            yield BarPart(part.name, "over", part.amount - below, f"{part.text}, above the ceiling")
        taken += part.amount
    if ceiling is not None and taken < ceiling:
        yield BarPart("free", "free", ceiling - taken, f"{ceiling - taken} free")


def _label(plan: Plan) -> LabelPicture:
    context, side = plan.before.contexts[0], plan.labels[0].before
    label = side.label
    placed = {each.node: each for each in side.placed}
    shown = _shown_nodes(context, placed)
    boxes = tuple(_node(context, index, placed) for index in shown)
    policy = context.policy
    return LabelPicture(
        steps=steps_of(plan),
        sets=tuple(_set(context, each) for each in label.scale_sets[:MOST_SETS]),
        set_count=len(label.scale_sets),
        owners=tuple(
            OwnerRow(
                each.name, each.lanes, each.guaranteed, each.priority, each.weight, each.running, each.wants, each.share
            )
            for each in label.owners
        ),
        nodes=boxes,
        others=tuple(_others(context, set(shown))),
        gates=gate_rows(context),
        envelopes=tuple(str(each.name) for each in policy.envelopes) if policy else (),
        node_names=tuple(node.name for node in context.ground.nodes[:MOST_NAMES]),
    )  # fmt: skip


def _set(context: LabelContext, scale_set: ScaleSet) -> SetRow:
    envelope = context.envelope(scale_set)
    is_known = context.running is not None
    return SetRow(
        scale_set.id,
        scale_set.kind,
        scale_set.min,
        scale_set.max,
        context.running[scale_set.id] if context.running is not None else None,
        context.snapshot.pending.get(scale_set.id, 0) if is_known else None,
        str(envelope.name) if envelope else "",
        amounts_text(scale_set.requests, RESOURCES),
        amounts_text(scale_set.limits, RESOURCES),
    )


def _shown_nodes(context: LabelContext, placed: Mapping[str, Placed]) -> list[int]:
    """Nodes that matter one by one: those that take runners, then other admitted and overflow ones, then those that have some."""
    ranked = []
    for index, role in enumerate(context.roles):
        node = context.ground.nodes[index]
        runs = not context.own.isdisjoint(context.snapshot.usage.get(node.name, Usage()).runners)
        if role.admitted or role.role == "overflow" or runs:
            rank = (node.name not in placed, not role.admitted, role.role != "primary", node.name)
            ranked.append((rank, index))
    return [index for _, index in sorted(ranked)[:MOST_NODES]]


def _others(context: LabelContext, shown: set[int]) -> Iterator[AlikeNodes]:
    alike: dict[tuple[str, str], list[str]] = {}
    for index, role in enumerate(context.roles):
        if index not in shown:
            alike.setdefault((role.role, role.reason), []).append(context.ground.nodes[index].name)
    for (role_name, reason), names in alike.items():
        yield AlikeNodes(len(names), some(names), role_name, reason)


def _node(context: LabelContext, index: int, placed: Mapping[str, Placed]) -> NodeBox:
    node, role = context.ground.nodes[index], context.roles[index]
    runners = context.snapshot.usage.get(node.name, Usage()).runners
    names = set_names(context.scale_sets)
    here = [
        f"{names[each.kind, each.id]} {runners[each.id]}"
        for each in context.scale_sets
        if runners.get(each.id)
    ]
    coming = placed[node.name].runners if node.name in placed else {}
    return NodeBox(
        node.name,
        role.role,
        role.admitted,
        role.reason,
        tuple(here),
        tuple(
            _budget(context, index, resource, coming)
            for resource in RESOURCES
            if resource in node.allocatable
        ),
    )


def _budget(context: LabelContext, index: int, resource: str, coming: Mapping[str, int]) -> Budget:
    """What other pods take of a resource, what each runner would, and what stays free."""
    whole = context.ground.nodes[index].allocatable[resource]
    free = context.rooms.free(index, context.own)[resource]
    parts: list[BarPart] = []
    if not context.snapshot.is_unknown(PODS) and whole - free > 0:
        parts.append(
            BarPart(
                "other pods", "others", whole - free, f"{amount_text(resource, whole - free)} of other pods"
            )
        )
    sizes = _sizes(context)
    for name, number in sorted(coming.items()):
        size = sizes.get(name, {}).get(resource, 0)
        if not size:
            continue
        short = name.rpartition("/")[2]
        each, times = (number, 1) if number <= _MOST_BOXES else (1, number)
        words = f"{amount_text(resource, size * times)} of {short}" + (f" ×{times}" if times > 1 else "")
        parts += [BarPart(f"{short} ×{times}" if times > 1 else short, "runner", size * times, words)] * each
    left = whole - sum(part.amount for part in parts)
    if left > 0:
        parts.append(BarPart("free", "free", left, f"{amount_text(resource, left)} free"))
    elif left < 0:
        parts.append(BarPart("over", "over", -left, f"{amount_text(resource, -left)} more than there is"))
    return Budget(resource, whole, amount_text(resource, whole), tuple(parts))


def _sizes(context: LabelContext) -> dict[str, Amounts]:
    """What a runner of a set requests, by the names that plans give sets."""
    found: dict[str, Amounts] = {}
    for each in context.scale_sets:
        found[f"{each.kind} {each.id}"] = each.requests
        found.setdefault(each.id, each.requests)
    return found
