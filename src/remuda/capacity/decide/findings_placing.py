"""What is wrong with where runners may be, and whether they fit there."""

from collections.abc import Iterator

from remuda.capacity.decide.findings import about_policy, about_set, field_of
from remuda.capacity.decide.fits import Nodes, bits, obstacles, short
from remuda.capacity.decide.label import Alike, LabelContext
from remuda.capacity.decide.neighbours import HOSTNAME, WHOLE_NODE, is_claim
from remuda.capacity.policy import measured
from remuda.capacity.snapshot import EPHEMERAL, NODES, RESOURCES, Amounts, ScaleSet
from remuda.model.amount_texts import amount_text, amounts_text
from remuda.model.findings import Finding, Severity
from remuda.model.pods import Term
from remuda.model.sentences import some
from remuda.rules.packing import Bin, Bound, Group, Packing, pack
from remuda.rules.placing import untolerated

#: what limits may come to on an overflow node is packed like a resource of its own
_LIMITED = "limits of "
_BOUNDLESS = 2**62


def find(context: LabelContext, packing: Packing | None) -> Iterator[Finding]:
    """Everything that is wrong with places; `packing` is what `packed` found. Unknown nodes lead to no conclusion."""
    if context.snapshot.is_unknown(NODES):
        return
    for alike, scale_sets, nodes in context.places:
        yield from _nowhere(context, alike, scale_sets, nodes)
        yield from _limits(context, alike, scale_sets, nodes)
    yield from _envelopes(context)
    others: dict[Nodes, tuple[str, str, str]] = {}
    for alike in context.alike:
        for scale_set in alike.scale_sets:
            yield from _others(context, scale_set, alike.nodes, others)
            yield from _hostnames(context, scale_set)
    yield from _aggregate(context, packing)


def _nowhere(
    context: LabelContext, alike: Alike, scale_sets: tuple[ScaleSet, ...], nodes: Nodes
) -> Iterator[Finding]:
    if any(alike.fits.get(index) for index in context.ground.picked(nodes)):
        return
    why = _why_nowhere(context, scale_sets[0], nodes)
    for scale_set in scale_sets:
        if scale_set.max != 0:
            where = field_of(scale_set, "resources", ".requests")
            amounts = amounts_text(scale_set.requests)
            yield about_set(
                context, scale_set, "envelope-fits-nowhere", "error", where, amounts=amounts, why=why
            )


def _why_nowhere(context: LabelContext, scale_set: ScaleSet, nodes: Nodes) -> str:
    """What is in the way on the nodes it may be on; else on admitted nodes; else that there is none."""
    near = nodes or (context.primary | context.overflow if context.policy else context.ground.all)
    first_index: dict[str, int] = {}
    count = 0
    for count, index in enumerate(context.ground.picked(near), 1):
        node = context.ground.nodes[index]
        words = obstacles(scale_set, node, context.rooms.free(index, context.own))
        for word in words or ("the policy does not admit it for this set",):
            first_index.setdefault(word, index)
        if count == 50:
            break
    if not count:
        return "there is no admitted node"
    return "; ".join(
        f"{context.ground.nodes[index].name} {word}" for word, index in list(first_index.items())[:3]
    ) + (" …" if len(first_index) > 3 else "")


def _limits(
    context: LabelContext, alike: Alike, scale_sets: tuple[ScaleSet, ...], nodes: Nodes
) -> Iterator[Finding]:
    limits = dict(alike.shape.limits)
    for name in ("memory", EPHEMERAL):
        above = nodes & context.ground.below(name, limits.get(name, 0))
        places = [index for index in context.ground.picked(above) if alike.fits.get(index)]
        if not places:
            continue
        least = min(context.ground.nodes[index].allocatable[name] for index in places)
        names = some(context.ground.nodes[index].name for index in places)
        for scale_set in scale_sets:
            where = field_of(scale_set, "resources", f".limits.{name}")
            yield about_set(
                context, scale_set, "limit-exceeds-node", "warning", where,
                amount=amount_text(name, limits[name]), nodes=names, most=amount_text(name, least),
            )  # fmt: skip


def _envelopes(context: LabelContext) -> Iterator[Finding]:
    """Envelopes of the policy that no set carries yet and that fit nowhere."""
    if context.policy is None:
        return
    carried = {
        item.name for scale_set in context.scale_sets if (item := context.envelope(scale_set)) is not None
    }
    sites = {str(name): site for site in context.sites for name in site.gates if site.admits(str(name))}
    for number, item in enumerate(context.policy.envelopes):
        if item.name in carried:
            continue
        size = measured(item.requests) | {"pods": 1}
        places = list(context.ground.picked(context.primary & context.ground.up))
        site = sites.get(str(item.name))
        if site is not None and site.index is not None:
            places.append(site.index)
        free = ((index, context.rooms.free(index, context.own)) for index in places)
        if not any(not any(short(size, context.ground.nodes[index], room)) for index, room in free):
            yield about_policy(
                context, "envelope-fits-nowhere", "error", f"spec.envelopes[{number}].requests", envelope=str(item.name),
                amounts=amounts_text(size, RESOURCES), why="no node takes it" if places else "there is no admitted node",
            )  # fmt: skip


def _others(
    context: LabelContext, scale_set: ScaleSet, nodes: Nodes, known: dict[Nodes, tuple[str, str, str]]
) -> Iterator[Finding]:
    """Nodes that let a set in although the policy does not admit them for it; `known` keeps the words for such nodes."""
    if context.policy is None:
        return
    envelope = context.envelope(scale_set)
    listed = bits(
        site.index
        for site in context.sites
        if site.index is not None and envelope is not None and envelope.name in site.overflow.envelopes
    )
    other = nodes & ~context.primary & ~listed
    if not other:
        return
    if other not in known:
        known[other] = _names_of_others(context, other)
    tainted, taints, untainted = known[other]
    if tainted:
        yield about_set(
            context, scale_set, "toleration-admits-other-node", "error", field_of(scale_set, "pod", ".tolerations"),
            taints=taints, nodes=tainted, policy=context.policy_object,
        )  # fmt: skip
    if untainted:
        labels = ", ".join(f"{key}={value}" for key, value in context.policy.nodes.primary.items())
        yield about_set(
            context, scale_set, "selector-admits-other-node", "error", field_of(scale_set, "pod", ".nodeSelector"),
            nodes=untainted, labels=labels,
        )  # fmt: skip


def _names_of_others(context: LabelContext, other: Nodes) -> tuple[str, str, str]:
    """Names of the tainted ones, their taints, and names of those without a taint."""
    nodes = [context.ground.nodes[index] for index in context.ground.picked(other)]
    hard = {node.name: list(untolerated(node.taints, ())) for node in nodes}
    taints = dict.fromkeys(str(taint) for found in hard.values() for taint in found)
    tainted = [name for name, found in hard.items() if found]
    return some(tainted), some(taints), some(name for name, found in hard.items() if not found)


def _hostnames(context: LabelContext, scale_set: ScaleSet) -> Iterator[Finding]:
    """A name of a node in what a set requires: fine beside the capability and for a primary node."""
    by_label = scale_set.node_selector.get(HOSTNAME)
    names = {*_named(scale_set.required), *([] if by_label is None else [by_label])}
    if not names:
        return
    labels = context.policy.nodes.primary.items() if context.policy else ()
    primary = {str(key): str(value) for key, value in labels}
    capability = {(key, value) for key, value in primary.items() if key != HOSTNAME}
    selected = {*scale_set.node_selector.items(), *_required(scale_set.required)} - {
        (HOSTNAME, name) for name in names
    }
    # Of what primary nodes have in common one label may be the capability and another distinguish them from overflow.
    beside = not capability or not capability.isdisjoint(selected) if context.policy else bool(selected)
    if beside and HOSTNAME in primary and names == {primary[HOSTNAME]}:
        return  # the policy itself says so
    is_primary = context.policy is None or all(
        context.ground.having([(HOSTNAME, name)]) & context.primary
        or context.ground.named([name]) & context.primary
        for name in names
    )
    where = field_of(scale_set, "pod", ".nodeSelector" if by_label is not None else ".affinity.nodeAffinity")
    severity: Severity = "info" if beside and is_primary else "error"
    expected = "the capability alone" if beside else "the capability, which is not selected at all"
    if not is_primary:
        expected = "no name, or that of a primary node"
    yield about_set(
        context, scale_set, "hostname-in-selector", severity, where, nodes=some(sorted(names)), expected=expected,
        labels=", ".join(f"{key}={value}" for key, value in sorted(capability)),
    )  # fmt: skip


def _named(terms: tuple[Term, ...]) -> Iterator[str]:
    for term in terms:
        for match in (*term.match_expressions, *term.match_fields):
            if match.key in {HOSTNAME, "metadata.name"} and match.operator == "In":
                yield from match.values


def _required(terms: tuple[Term, ...]) -> set[tuple[str, str]]:
    """Labels that every one of the terms asks for."""
    asked = [
        {
            (match.key, match.values[0])
            for match in term.match_expressions
            if match.operator == "In" and len(match.values) == 1
        }
        for term in terms
    ]
    return set.intersection(*asked) if asked else set()


def packed(context: LabelContext) -> Packing | None:
    """
    All sets at their maximum on the admitted nodes, within the guardrails of overflow nodes.

    None when there is nothing to place, when a set is unbounded, or when nodes could not be read.
    """
    is_unbounded = any(scale_set.max is None for scale_set in context.scale_sets)
    if not context.scale_sets or is_unbounded or context.snapshot.is_unknown(NODES):
        return None
    # Where nodes are many, twice as many as there are runners mostly do: what fits on some fits on all.
    runners = sum(each.max or 0 for each in context.scale_sets)  # pragma: no mutate - for the next line
    few = 2 * runners + 1  # pragma: no mutate - only where to begin: all are tried in the end
    for most in (few, None):
        asked, bins = demands(context, most)
        packing = pack(
            [Group(scale_set.id, scale_set.max or 0, size, places) for scale_set, size, places in asked], bins
        )
        if packing.outcome == "fits" or len(bins) < few:
            break
    return packing


def demands(
    context: LabelContext, most: int | None = None
) -> tuple[list[tuple[ScaleSet, Amounts, tuple[int, ...]]], list[Bin]]:
    """
    What one runner of each scale set takes, and the bins it may be in by index: admitted nodes, primary ones first.

    With `most` only so many of the nodes.
    Guardrails of overflow nodes are part of their room, those for limits as resources of their own.
    """
    union = 0
    for _, _, nodes in context.places:
        union |= nodes
    sites = {site.index: site.overflow for site in context.sites if site.index is not None}
    places = context.ground.picked(union & ~context.overflow) + context.ground.picked(
        union & context.overflow
    )
    places = places[:most]
    number = {index: at for at, index in enumerate(places)}
    guarded = any(measured(overflow.limited) for overflow in sites.values())
    bins = []
    for index in places:
        room = context.rooms.free(index, context.own)
        overflow = sites.get(index)
        if guarded:
            limited = measured(overflow.limited) if overflow else {}
            room = room | {_LIMITED + name: limited.get(name, _BOUNDLESS) for name in RESOURCES}
        if overflow is not None:
            bounds = measured(overflow.requested) | {"pods": overflow.most_runners}
            room = room | {name: min(room[name], bound) for name, bound in bounds.items() if name in room}
        bins.append(Bin(context.ground.nodes[index].name, room))
    asked = []
    allowed: dict[Nodes, tuple[int, ...]] = {}
    for alike, scale_sets, nodes in context.places:
        if nodes not in allowed:
            allowed[nodes] = (
                tuple(range(len(places)))
                if nodes == union
                else tuple(sorted(number[index] for index in context.ground.picked(nodes) if index in number))
            )
        size: Amounts = alike.shape.size
        if guarded:
            size |= {_LIMITED + name: value for name, value in alike.shape.limits if name in RESOURCES}
        asked += [(scale_set, size, allowed[nodes]) for scale_set in scale_sets]
    return asked, bins


def _aggregate(context: LabelContext, packing: Packing | None) -> Iterator[Finding]:
    if packing is None or packing.outcome == "fits":
        return
    together = sum(scale_set.max or 0 for scale_set in context.scale_sets)
    subject = context.policy_object if context.policy else f"label {context.label}"
    where = "spec.ceiling" if context.policy else "aggregate.max"
    if packing.bound is not None:
        yield Finding(
            "capacity.aggregate-does-not-fit", "error", subject, where,
            {"together": together, "bound": bound_text(packing.bound)}, context.label,
        )  # fmt: skip
    else:
        yield Finding(
            "capacity.aggregate-placement-not-found", "warning", subject, where,
            {"together": together, "left": sum(packing.left.values())}, context.label,
        )  # fmt: skip


def bound_text(bound: Bound) -> str:
    """Why nothing fits, in words and numbers."""
    who = some(bound.groups)
    name = bound.resource.removeprefix(_LIMITED)
    limited = "limits that come to " if bound.resource.startswith(_LIMITED) else ""
    if bound.kind == "sum" and is_claim(name):
        return f"{who} need {bound.wanted // WHOLE_NODE} nodes with {name}, and {bound.room // WHOLE_NODE} have it"
    if bound.kind == "sum":
        return f"{who} ask for {limited}{amount_text(name, bound.wanted)}, and {amount_text(name, bound.room)} can be used"
    if bound.kind == "count" and not name:
        return f"no node is admitted for {who}"
    if bound.kind == "count":
        what = f"room under the limits of {name}" if limited else name
        return f"of {bound.wanted} runners of {who} at most {bound.room} fit at a time: not enough {what}"
    return f"every placement of {who} was tried"
