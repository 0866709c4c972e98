"""
An audit as a program reads it: the text of its schema, made piece by piece.

How many runners of 2,000 sets fit on each of 5,000 nodes is most of the text: sets that fit alike are written once and
joined, nodes that are alike share it, and no more than a node is held at a time beside that.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from remuda.capacity.decide.audit import Audit, LabelAudit
from remuda.capacity.decide.label import Alike, LabelContext, Role
from remuda.capacity.decide.neighbours import is_claim
from remuda.capacity.show.schema import (
    MOST_FITS,
    SCHEMA,
    Aggregate,
    FindingRow,
    Label,
    NodeRole,
    NodeRow,
    Quantities,
    Room,
    ScaleSetRow,
    Share,
    Unread,
)
from remuda.capacity.snapshot import PODS, RESOURCES, Amounts, ScaleSet, Usage
from remuda.model.amount_texts import quantity
from remuda.model.findings import Finding
from remuda.model.times import write_instant
from remuda.output.findings import describe

_NONE: Mapping[str, object] = {}


def text(audit: Audit, most_fits: int = MOST_FITS) -> Iterator[str]:
    """The whole document, piece by piece; a large one has a line for each node, without the sets that do not fit there."""
    is_large = len(audit.scale_sets) * len(audit.snapshot.nodes) > most_fits
    head = {"schema": SCHEMA, "at": write_instant(audit.now), "source": audit.snapshot.source}
    yield "{\n" + "".join(
        f'  "{key}": {msgspec.json.encode(value).decode()},\n' for key, value in head.items()
    )
    yield from _listed("scaleSets", _sets(audit))
    yield from _listed("labels", map(_label, audit.labels))
    yield from _listed("nodes", _nodes(audit, is_large=is_large), is_compact=is_large)
    yield from _listed("findings", map(finding_row, audit.findings))
    unread = [Unread(item.part, item.why) for item in audit.snapshot.unknown]
    yield from _listed("unknown", unread, end="\n}\n")


def data(audit: Audit) -> Any:
    """The same as plain data."""
    return msgspec.json.decode("".join(text(audit)))


def _listed(key: str, items: Iterable[Any], end: str = ",\n", *, is_compact: bool = False) -> Iterator[str]:
    between = f'  "{key}": ['
    is_empty = True
    for item in items:
        encoded = msgspec.json.encode(item)
        if is_compact:
            yield f"{between}\n    {encoded.decode()}"
        else:
            written = msgspec.json.format(encoded, indent=2).decode()
            yield between + "\n    " + written.replace("\n", "\n    ")
        between, is_empty = ",", False
    yield f'  "{key}": []{end}' if is_empty else f"\n  ]{end}"


def quantities(amounts: Mapping[str, int] | None, written: Mapping[str, object] = _NONE) -> Quantities:
    """Amounts as the document has them: what is written somewhere as it stands there."""
    known = amounts or {}
    cpu, memory, ephemeral = map(known.get, RESOURCES)
    return Quantities(cpu, memory, ephemeral, _raw(known, written))


def _room(amounts: Amounts, written: Mapping[str, object] = _NONE) -> Room:
    cpu, memory, ephemeral = map(amounts.get, RESOURCES)
    return Room(cpu, memory, ephemeral, _raw(amounts, written), amounts.get("pods"))


def _raw(amounts: Mapping[str, int], written: Mapping[str, object]) -> dict[str, str]:
    return {
        name: str(written[name]) if name in written else _quantity(name, value)
        for name, value in amounts.items()
        if not is_claim(name)
    }


_quantity = lru_cache(maxsize=16_384)(quantity)


def _sets(audit: Audit) -> Iterator[ScaleSetRow]:
    running: dict[str, int] = {}
    for context in audit.contexts:
        running |= context.running or {}
    is_known = not audit.snapshot.is_unknown(PODS)
    for scale_set in audit.scale_sets:
        yield ScaleSetRow(
            kind=scale_set.kind,
            namespace=scale_set.namespace,
            name=scale_set.name,
            labels=list(scale_set.labels),
            scope=scale_set.scope,
            node_selector=scale_set.node_selector,
            tolerations=[
                {key: value for key, value in msgspec.structs.asdict(item).items() if value}
                for item in scale_set.tolerations
            ],
            min=scale_set.min,
            max=scale_set.max,
            requests=quantities(scale_set.requests, scale_set.written[0]),
            limits=quantities(scale_set.limits, scale_set.written[1]),
            running=running.get(scale_set.id, 0) if is_known else None,
            pending=audit.snapshot.pending.get(scale_set.id, 0) if is_known else None,
            phase=scale_set.phase,
            priority_class=scale_set.priority_class,
            unsure=list(scale_set.unsure),
            file=scale_set.place.file,
            line=scale_set.place.line,
        )


def _label(label: LabelAudit) -> Label:
    shares = [
        Share(**(msgspec.structs.asdict(owner) | {"lanes": list(owner.lanes)})) for owner in label.owners
    ]
    return Label(
        name=label.name,
        policy=label.policy or None,
        active_sets=sum(scale_set.max != 0 for scale_set in label.scale_sets),
        ceiling=label.ceiling,
        aggregate=Aggregate(label.max, _summed(label.requests), _summed(label.limits)),
        running=label.running,
        pending=label.pending,
        placement=label.placement,
        unsure=list(label.unsure),
        owners=shares,
    )


def _summed(amounts: Amounts | None) -> Quantities:
    """A sum has a number for each resource, unless it has no end."""
    return quantities(None if amounts is None else dict.fromkeys(RESOURCES, 0) | amounts)


def finding_row(item: Finding) -> FindingRow:
    """A finding with its sentences."""
    return FindingRow(
        item.rule, item.severity, item.scope, item.subject, item.field,
        *describe(item), item.place.file, item.place.line,
    )  # fmt: skip


def set_names(scale_sets: Iterable[ScaleSet]) -> dict[tuple[str, str], str]:
    """How each scale set, by kind and id, is named where its name has to do: its id where two have the same name."""
    found = list(scale_sets)
    counts: dict[str, int] = {}
    for scale_set in found:
        counts[scale_set.name] = counts.get(scale_set.name, 0) + 1
    return {
        (scale_set.kind, scale_set.id): scale_set.name if counts[scale_set.name] == 1 else scale_set.id
        for scale_set in found
    }


def _nodes(audit: Audit, *, is_large: bool) -> Iterator[NodeRow]:
    scale_sets = audit.scale_sets
    fitting = _Fitting(audit, has_zeros=not is_large)
    is_known = not audit.snapshot.is_unknown(PODS)
    nothing = dict.fromkeys((*RESOURCES, "pods"), 0)
    keys = sorted(
        {key for scale_set in scale_sets for key in scale_set.node_selector}
        | {str(key) for context in audit.contexts if context.policy for key in context.policy.nodes.primary}
    )
    for index, node in enumerate(audit.snapshot.nodes):
        roles = [context.roles[index] for context in audit.contexts]
        best = min(roles, key=_rank, default=Role("not-eligible", False, "no label was audited"))
        fits, overcommits = fitting.of_node(index)
        yield NodeRow(
            name=node.name,
            admitted=best.admitted,
            role=best.role,
            reason=best.reason,
            taints=[str(taint) for taint in node.taints],
            capability={key: node.labels[key] for key in keys if key in node.labels},
            cordoned=node.cordoned,
            ready=node.ready,
            allocatable=_room(node.allocatable, node.written),
            requested=_room(nothing | audit.snapshot.usage.get(node.name, Usage()).requested)
            if is_known
            else None,
            fits=fits,
            overcommits=overcommits,
            labels=fitting.labels(roles) if len(roles) > 1 else {},
        )


#: so many texts of nodes are kept for others that are alike
_MOST_ALIKE = 64
_UNUSED = Usage()
_RANKS = ("primary", "overflow", "eligible", "not-eligible")


def _rank(role: Role) -> tuple[bool, int]:
    return not role.admitted, _RANKS.index(role.role)


class _Fitting:
    """What is said of sets on a node, as text that sets of one kind share."""

    def __init__(self, audit: Audit, *, has_zeros: bool) -> None:
        self._contexts = audit.contexts
        self._has_zeros = has_zeros
        names = set_names(audit.scale_sets)
        self._numbers: dict[tuple[int, int], str] = {}
        self._beyond: dict[tuple[int, tuple[str, ...]], str] = {}
        self._roles: dict[tuple[int, ...], Raw] = {}
        self._by_shape: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        self._nodes, self._usage = audit.snapshot.nodes, audit.snapshot.usage
        # Labels whose sets select by the same keys share them.
        self._signatures = list(
            {id(context.signatures): context.signatures for context in audit.contexts}.values()
        )
        #: a set of several labels is listed once, under the first of them
        listed: set[tuple[str, str]] = set()
        self._groups: list[tuple[LabelContext, Alike, list[str]]] = []
        #: nodes on which some set fits or may be
        self._reached: set[int] = set()
        for context in audit.contexts:
            for alike in context.alike:
                self._reached.update(alike.fits)
                keys = [
                    key
                    for scale_set in alike.scale_sets
                    if (key := (scale_set.kind, scale_set.id)) not in listed
                ]
                listed.update(keys)
                if keys:
                    written = [msgspec.json.encode(names[key]).decode() for key in keys]
                    self._groups.append((context, alike, written))

    def of_node(self, index: int) -> tuple[Any, Any]:
        """How many of each set fit on a node, and whose limits over-commit it; nodes that are alike share the text."""
        key = self._key(index)
        made = self._by_shape.get(key)
        if made is None:
            made = self._fits(index), self._overcommits(index)
            if len(self._by_shape) < _MOST_ALIKE:
                self._by_shape[key] = made
        return made

    def _key(self, index: int) -> tuple[Any, ...]:
        used = self._usage.get(self._nodes[index].name, _UNUSED)
        if used.runners:
            return (index,)
        taken = tuple(sorted(used.requested.items())), tuple(sorted(used.limits.items()))
        return *[numbers[index] for numbers in self._signatures], taken

    def _fits(self, index: int) -> Any:
        """Sets by how many fit."""
        parts = []
        for at, (_, alike, names) in enumerate(self._groups_at(index)):
            number = alike.fits.get(index, 0)
            if number or self._has_zeros:
                piece = self._numbers.get((at, number))
                if piece is None:
                    piece = self._numbers[at, number] = ",".join([f"{name}:{number}" for name in names])
                parts.append(piece)
        return Raw(f"{{{','.join(parts)}}}".encode())

    def _overcommits(self, index: int) -> Any:
        """Sets whose limits come to more than the node has, by what."""
        parts = []
        for at, (context, alike, names) in enumerate(self._groups_at(index)):
            beyond = context.overcommitted(alike, index)
            if beyond:
                piece = self._beyond.get((at, beyond))
                if piece is None:
                    beyond_text = msgspec.json.encode(beyond).decode()
                    piece = self._beyond[at, beyond] = ",".join([f"{name}:{beyond_text}" for name in names])
                parts.append(piece)
        return Raw(f"{{{','.join(parts)}}}".encode())

    def _groups_at(self, index: int) -> list[tuple[LabelContext, Alike, list[str]]]:
        return self._groups if self._has_zeros or index in self._reached else []

    def labels(self, roles: list[Role]) -> Any:
        """Roles by label; nodes that are the same to all labels share the text."""
        key = tuple(map(id, roles))
        made = self._roles.get(key)
        if made is None:
            by_label = {
                context.label: NodeRole(role.role, role.admitted, role.reason)
                for context, role in zip(self._contexts, roles, strict=True)
            }
            made = self._roles[key] = Raw(msgspec.json.encode(by_label))
        return made
