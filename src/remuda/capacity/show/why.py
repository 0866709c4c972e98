"""Why a label has the runners it has: what runs and whose that is, what holds it, and what would change it, step by step."""

from collections.abc import Iterable, Iterator

from msgspec import UNSET

from remuda.capacity.answers import GateRow
from remuda.capacity.decide.audit import LabelAudit
from remuda.capacity.decide.checked_gates import checked_gates
from remuda.capacity.decide.gates import carriers
from remuda.capacity.decide.label import LabelContext, count
from remuda.capacity.decide.plan import Plan, Side
from remuda.capacity.show.document import set_names
from remuda.capacity.show.plan import safe_text, worst_text
from remuda.capacity.snapshot import EPHEMERAL, PODS, QUOTAS, Usage
from remuda.model.amount_texts import figure
from remuda.model.findings import Finding
from remuda.model.quantities import Quantity
from remuda.model.sentences import some
from remuda.output.findings import describe
from remuda.output.steps import Step

#: so many of each are a step of their own
_MOST_OWNERS, _MOST_NODES, _MOST_FINDINGS = 10, 8, 8
_FIGURES = (("cpu", "CPU"), ("memory", "GiB memory"), (EPHEMERAL, "GiB ephemeral storage"))


def steps_of(plan: Plan) -> tuple[Step, ...]:
    """All steps about the label of a plan of that label alone, in which nothing is changed."""
    audit, context, side = plan.before, plan.before.contexts[0], plan.labels[0].before
    gates = gate_rows(context)
    return (
        *_running(side.label, context),
        *_ceiling(side.label, context),
        *_owners(side.label),
        *_nodes(context),
        *_gates(gates),
        *_quotas(context),
        *_changes(side),
        *_findings(audit.findings),
    )


def _running(label: LabelAudit, context: LabelContext) -> Iterator[Step]:
    names = set_names(label.scale_sets)
    if context.running is not None:
        most = sorted(label.scale_sets, key=lambda each: (-(context.running or {}).get(each.id, 0), each.id))
        parts = (
            f"{names[each.kind, each.id]} {context.running[each.id]}"
            for each in most
            if context.running.get(each.id)
        )
        waiting = f"{label.pending} more wait for a node" if label.pending else "none waits for a node"
        yield Step("running", f"{label.running}: {some(parts, 5)}" if label.running else "none", waiting)
    if label.is_known:
        largest = sorted(label.scale_sets, key=lambda each: (each.max is not None, -(each.max or 0), each.id))
        parts = (f"{names[each.kind, each.id]} {count(each.max)}" for each in largest)
        yield Step("maxima", f"{count(label.max)} together: {some(parts, 5) or 'no set'}", _placed(label))


def _placed(label: LabelAudit) -> str:
    match label.placement:
        case "fits":
            return "all at once fit the admitted nodes"
        case "cannot tell":
            return "all at once fit by resources, and more than these decides"
        case "unknown":
            return "whether all at once fit is not known"
        case other:
            return f"all at once: {other}"


def _ceiling(label: LabelAudit, context: LabelContext) -> Iterator[Step]:
    policy = context.policy
    if policy is None:
        yield Step("ceiling", "none: no policy is for the label", "write one: remuda explain CapacityPolicy")
        return
    evidence = policy.evidence
    why = (
        "nothing written down justifies it"
        if evidence is UNSET
        else f"{evidence.fitted} fitted on {evidence.date}"
    )
    yield Step("ceiling", f"{label.ceiling} of policy {label.policy}", why)


def _owners(label: LabelAudit) -> Iterator[Step]:
    for owner in label.owners[:_MOST_OWNERS]:
        running = "?" if owner.running is None else owner.running
        text = f"{owner.name} runs {running}, would get {owner.share} of the {owner.wants} it may want"
        yield Step("owner", text, f"guaranteed {owner.guaranteed}; {some(owner.lanes) or 'no set'}")
    if len(label.owners) > _MOST_OWNERS:
        yield Step("owner", f"and {len(label.owners) - _MOST_OWNERS} more")


def _nodes(context: LabelContext) -> Iterator[Step]:
    nodes = context.ground.nodes
    admitted = [index for index, role in enumerate(context.roles) if role.admitted]
    if not nodes:
        yield Step("nodes", "none were read")
        return
    yield Step("nodes", f"{len(admitted)} of {len(nodes):,} admitted")
    names = set_names(context.scale_sets)
    for index in admitted[:_MOST_NODES]:
        fitting = [
            f"{names[alike.scale_sets[0].kind, alike.scale_sets[0].id]}"
            + (f" and {len(alike.scale_sets) - 1} like it" if len(alike.scale_sets) > 1 else "")
            + f" {alike.fits[index]}"
            for alike in context.alike
            if alike.fits.get(index)
        ]
        room = f"takes {some(fitting, 4)}" if fitting else "takes none"
        yield Step(
            "node", f"{nodes[index].name}, {context.roles[index].role}: {room}", _requested(context, index)
        )
    if len(admitted) > _MOST_NODES:
        yield Step("node", f"and {len(admitted) - _MOST_NODES:,} more")


def _requested(context: LabelContext, index: int) -> str:
    if context.snapshot.is_unknown(PODS):
        return "what is taken there was not read"
    node = context.ground.nodes[index]
    used = context.snapshot.usage.get(node.name, Usage())
    return "requested " + ", ".join(
        f"{figure(name, used.requested.get(name, 0))} of {figure(name, node.allocatable.get(name))} {unit}"
        for name, unit in _FIGURES
    )


def gate_rows(context: LabelContext) -> tuple[GateRow, ...]:
    """Every gate of every overflow node of a label, for each envelope that it admits."""
    policy = context.policy
    if policy is None:
        return ()
    envelopes = {item.name: item for item in policy.envelopes}
    found = []
    for site in policy.nodes.overflow:
        for name in site.envelopes:
            if name not in envelopes:
                continue
            asked = carriers(context.snapshot, policy, site, envelopes[name])
            for scale_set, gate in checked_gates(
                context.snapshot, policy, site, envelopes[name], asked, context.now
            ):
                found.append(
                    GateRow(
                        site.node, str(name), scale_set, gate.gate, gate.state, gate.evidence, gate.fix,
                        gate.read_at, gate.expires,
                    )
                )  # fmt: skip
    return tuple(found)


def _gates(rows: Iterable[GateRow]) -> Iterator[Step]:
    places: dict[tuple[str, str], list[GateRow]] = {}
    for row in rows:
        places.setdefault((row.node, row.envelope), []).append(row)
    for (node, envelope), found in places.items():
        failed = [row for row in found if row.state != "pass"]
        if not failed:
            yield Step("gates", f"{node} for {envelope}: all {len(found)} hold")
        for row in failed:
            verb = "does not hold" if row.state == "fail" else "is not known to hold"
            yield Step(
                "gate", f"{node} for {envelope}: {row.gate} {verb}, {row.evidence}", f"fix: {row.fix}" * bool(row.fix)
            )  # fmt: skip


def _quotas(context: LabelContext) -> Iterator[Step]:
    if context.snapshot.is_unknown(QUOTAS):
        yield Step("quota", "quotas were not read")
        return
    classes = {scale_set.priority_class for scale_set in context.scale_sets} - {""}
    found = [each for each in context.snapshot.quotas if not classes.isdisjoint(each.classes)]
    for quota in found:
        by = f"made from policy {quota.policy}" if quota.policy else "not made from a policy"
        full = [
            name for name, pair in quota.used.items() if Quantity.parse(pair[0]) >= Quantity.parse(pair[1])
        ]
        taken = ", ".join(f"{name} {used} of {hard}" for name, (used, hard) in sorted(quota.used.items()))
        text = f"{quota.namespace}/{quota.name} counts pods of {some(quota.classes)}"
        text += f": {taken} taken" if taken else ""
        yield Step("quota", text, f"it is full; {by}" if full else by)
    if not found:
        advice = "remuda capacity render --as quota makes one of the policy" if context.policy else ""
        yield Step("quota", "none counts its runners", advice)


def _changes(side: Side) -> Iterator[Step]:
    yield Step("worst", worst_text(side), "every set at its maximum, as far as the ceiling allows")
    text, ceiling = safe_text(side), side.label.ceiling
    if side.safe is None or ceiling is None:
        yield Step("safe", text, "the highest safe ceiling")
        return
    if side.safe.number > ceiling:
        remark = f"the ceiling may be raised to {side.safe.number}"
    elif side.safe.number < ceiling and not side.safe.is_all:
        remark = f"lower the ceiling to {side.safe.number}, or add room"
    else:
        remark = "the highest safe ceiling"
    yield Step("safe", text, remark)


def _findings(findings: tuple[Finding, ...]) -> Iterator[Step]:
    grave = [item for item in findings if item.severity != "info"]
    for item in grave[:_MOST_FINDINGS]:
        found, _, fix = describe(item)
        yield Step(item.severity, f"{item.rule}: {item.subject}: {found}", f"fix: {fix}")
    if len(grave) > _MOST_FINDINGS:
        yield Step("finding", f"and {len(grave) - _MOST_FINDINGS} more", "remuda capacity audit has all")
