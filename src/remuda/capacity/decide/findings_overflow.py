"""What is wrong with overflow: gates, guardrails, how many are there, and whether primary nodes come first."""

from collections.abc import Iterator
from math import inf

from remuda.capacity.decide.findings import about_policy, about_set, field_of
from remuda.capacity.decide.gates import Gate
from remuda.capacity.decide.label import LabelContext, Site, total
from remuda.capacity.policy import measured
from remuda.capacity.snapshot import EPHEMERAL, NODES, PODS, ScaleSet, Usage
from remuda.model.amount_texts import amount_text, quantity
from remuda.model.findings import Finding, Severity
from remuda.model.plans import Term
from remuda.model.sentences import some


def find(context: LabelContext) -> Iterator[Finding]:
    """Everything that is wrong with overflow nodes of the policy."""
    if context.policy is None:
        return
    for number, site in enumerate(context.sites):
        where = f"spec.nodes.overflow[{number}]"
        yield from _guardrails(context, site, where)
        if context.snapshot.is_unknown(NODES):
            continue
        if site.index is None:
            yield about_policy(
                context, "overflow-node-not-found", "warning", f"{where}.node", node=site.overflow.node
            )
            continue
        scale_sets = [
            scale_set
            for scale_set in context.scale_sets
            if context.reachable_nodes(scale_set) >> site.index & 1
        ]
        yield from _gates(context, site, where, scale_sets)
        yield from _now(context, site)
        yield from _unbounded(context, site, site.index, scale_sets)
        for scale_set in scale_sets:
            yield from _above(context, site, scale_set)
            yield from _preferring(context, site.index, scale_set)


def _gates(context: LabelContext, site: Site, where: str, scale_sets: list[ScaleSet]) -> Iterator[Finding]:
    """The node's own gates for each envelope, then those of each set that may be there."""
    node = site.overflow.node
    for envelope, gates in site.gates.items():
        for gate in gates:
            if not gate.holds:
                # Where no set can be, a gate that does not hold is in nobody's way.
                severity: Severity = "error" if scale_sets and gate.state == "fail" else "warning"
                terms = _gate_terms(gate, node) | {"envelope": envelope}
                if gate.gate in _OF_NODE:
                    subject, field = f"Node {node}", _OF_NODE[gate.gate]
                else:
                    subject, field = context.policy_object, where + _OF_POLICY.get(gate.gate, "")
                yield Finding("capacity.overflow-gate", severity, subject, field, terms, context.label)
    for scale_set in scale_sets:
        for gate in context.gates_of(site, scale_set):
            if not gate.holds:
                severity = "error" if gate.state == "fail" else "warning"
                terms = _gate_terms(gate, node)
                if gate.gate == "toleration":
                    field = field_of(scale_set, "pod", ".tolerations")
                    yield about_set(context, scale_set, "overflow-gate", severity, field, **terms)
                else:
                    yield about_policy(context, "overflow-gate", severity, f"{where}.rollbacks", **terms)


def _gate_terms(gate: Gate, node: str) -> dict[str, Term]:
    state = _STATES[gate.state]
    return {"gate": gate.gate, "node": node, "state": state, "evidence": gate.evidence, "fix": gate.fix}


#: where what a gate is about stands: of the node, or of its entry in the policy
_OF_NODE = {
    "capability": "metadata.labels",
    "root-filesystem": "stats/summary node.fs",
    "image-filesystem": "stats/summary node.runtime.imageFs",
}
_OF_POLICY = {"admission": ".admitted", "budget": ".envelopes", "prewarm": ".prewarm"}
_STATES = {"fail": "does not hold", "unknown": "is not known to hold"}


def _guardrails(context: LabelContext, site: Site, where: str) -> Iterator[Finding]:
    for field, amounts in (
        ("requested", measured(site.overflow.requested)),
        ("limited", measured(site.overflow.limited)),
    ):
        missing = [name for name in ("memory", EPHEMERAL) if name not in amounts]
        if missing:
            names = " and ".join(missing)
            yield about_policy(
                context, "overflow-without-guardrails", "error", f"{where}.{field}", names=names, node=site.overflow.node,
                example=f"{missing[0]}: {'24Gi' if field == 'requested' else '40Gi'}",
            )  # fmt: skip


def _above(context: LabelContext, site: Site, scale_set: ScaleSet) -> Iterator[Finding]:
    """One runner alone that is above what is allowed there."""
    for field, kind, amounts, bounds in (
        ("requested", "requests", scale_set.requests, measured(site.overflow.requested)),
        ("limited", "limits", scale_set.limits, measured(site.overflow.limited)),
    ):
        for name, bound in bounds.items():
            if name in amounts and amounts[name] > bound:
                where = field_of(scale_set, "resources", f".{kind}.{name}")
                yield about_set(
                    context, scale_set, "overflow-above-guardrails", "error", where,
                    amount=amount_text(name, amounts[name]), bound=quantity(name, bound), guardrail=field, node=site.overflow.node,
                )  # fmt: skip


def _now(context: LabelContext, site: Site) -> Iterator[Finding]:
    """Runners that are there now: how many, and what they request and are limited to together."""
    if context.snapshot.is_unknown(PODS):
        return
    overflow = site.overflow
    used = context.snapshot.usage.get(overflow.node, Usage())
    here = {scale_set: number for scale_set, number in used.runners.items() if scale_set in context.own}
    number = sum(here.values())
    who = some(f"{number} of {scale_set}" for scale_set, number in sorted(here.items()))
    node = f"Node {overflow.node}"
    if number > overflow.most_runners:
        terms: dict[str, Term] = {"running": number, "who": who, "most": overflow.most_runners}
        yield Finding("capacity.too-much-overflow", "error", node, "pods", terms, context.label)
    for verb, taken, bounds in (
        ("request", used.runner_requests, measured(overflow.requested)),
        ("are limited to", used.runner_limits, measured(overflow.limited)),
    ):
        together = total((taken.get(scale_set, {}), 1) for scale_set in here)
        for name, bound in bounds.items():
            if name in together and together[name] > bound:
                terms = {"verb": verb, "together": amount_text(name, together[name]), "who": who}
                terms["bound"] = quantity(name, bound)
                yield Finding(
                    "capacity.overflow-above-guardrails", "error", node, "pods", terms, context.label
                )


def _unbounded(
    context: LabelContext, site: Site, index: int, scale_sets: list[ScaleSet]
) -> Iterator[Finding]:
    """Whether more runners than are allowed can come there: the scheduler knows of no such bound."""
    room = dict(context.rooms.free(index, context.own))
    possible = 0
    for scale_set in sorted(
        scale_sets,
        key=lambda scale_set: (
            scale_set.requests.get("memory", 0),  # pragma: no mutate - a byte more is as little
            scale_set.id,
        ),
    ):
        size = {"pods": 1} | scale_set.requests | scale_set.claims
        left = inf if scale_set.max is None else scale_set.max
        while (
            left
            and possible <= site.overflow.most_runners
            and all(name in room and room[name] >= value for name, value in size.items())
        ):
            room |= {name: room[name] - value for name, value in size.items()}
            possible, left = possible + 1, left - 1
    if possible > site.overflow.most_runners:
        who = some(scale_set.name for scale_set in scale_sets)
        terms: dict[str, Term] = {"possible": possible, "who": who, "most": site.overflow.most_runners}
        node = f"Node {site.overflow.node}"
        yield Finding("capacity.overflow-not-bounded", "warning", node, "pods", terms, context.label)


def _preferring(context: LabelContext, index: int, scale_set: ScaleSet) -> Iterator[Finding]:
    if not context.primary:
        return
    for term in scale_set.preferred:
        nodes = context.ground.meeting([term])
        if nodes & context.primary and not nodes >> index & 1:
            return
    where = field_of(scale_set, "pod", ".affinity.nodeAffinity")
    node = context.ground.nodes[index].name
    yield about_set(context, scale_set, "overflow-not-preferring-primary", "error", where, node=node)
