"""
An audit as a program reads it: the schema `remuda.dev/capacity-audit/v1`, and the text, made piece by piece.

Keys are only ever added within a version. How many runners of 2,000 sets fit on each of 5,000 nodes is most of the
text: sets that fit alike are written once and joined, and no more than a node is held at a time.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from remuda.capacity.audit import Audit, LabelAudit
from remuda.capacity.case import Alike, Case, Role
from remuda.capacity.findings import Finding
from remuda.capacity.words import quantity
from remuda.capacity.world import PODS, RESOURCES, Amounts, Lane, Usage
from remuda.model.times import write_instant
from remuda.objects.convert import type_info
from remuda.objects.schema import schema_of_type

SCHEMA = "remuda.dev/capacity-audit/v1"
#: with more sets times nodes than this, sets that do not fit on a node are left out of its `fits`
MOST_FITS = 250_000


class Quantities(Struct, frozen=True):
    """Amounts in base units, and as Kubernetes writes them; null is not given, or without bound."""

    cpu_millicores: int | None
    memory_bytes: int | None
    ephemeral_storage_bytes: int | None
    raw: Annotated[dict[str, str], Meta(description="The same as quantities, with every other resource.")]


class Room(Quantities, frozen=True):
    """Amounts of a node, with how many pods."""

    pods: int | None


class ScaleSet(Struct, frozen=True, rename="camel"):
    """A set that carries an audited label; a RunnerPool is one, too."""

    kind: str
    namespace: str
    name: str
    labels: Annotated[list[str], Meta(description="What workflows target.")]
    scope: Annotated[str, Meta(description="The GitHub URL it is registered with.")]
    node_selector: dict[str, str]
    tolerations: list[dict[str, str]]
    min: int
    max: Annotated[int | None, Meta(description="null is unbounded.")]
    requests: Quantities
    limits: Quantities
    running: Annotated[int | None, Meta(description="Runners on nodes now; null when pods were not read.")]
    pending: Annotated[int | None, Meta(description="Runners without a node; null when pods were not read.")]
    phase: str
    priority_class: str
    file: str
    line: int


class Aggregate(Struct, frozen=True):
    """All sets of a label at their maximum; null where one is unbounded."""

    max: int | None
    requests: Quantities
    limits: Quantities


class Share(Struct, frozen=True):
    """What an owner would be guaranteed now if everybody wanted all they may."""

    name: str
    lanes: list[str]
    guaranteed: int
    priority: int
    weight: int
    wants: int
    running: int | None
    share: int


class Label(Struct, frozen=True, rename="camel"):
    """A label as a whole."""

    name: str
    policy: Annotated[str | None, Meta(description="The CapacityPolicy it was judged by.")]
    active_sets: Annotated[int, Meta(description="How many sets carry it and may run anything.")]
    ceiling: int | None
    aggregate: Aggregate
    running: int | None
    pending: int | None
    placement: Annotated[
        Literal["fits", "cannot fit", "no placement found", "unknown"],
        Meta(description="Whether all sets at their maximum fit the admitted nodes."),
    ]
    owners: list[Share]


class NodeRole(Struct, frozen=True):
    """What a node is to a label."""

    role: Literal["primary", "overflow", "eligible", "not-eligible"]
    admitted: Annotated[bool, Meta(description="Whether a set of the label can run there now.")]
    reason: str


class NodeRow(Struct, frozen=True, rename="camel"):
    """A node. With several labels its role is the best it has for any of them."""

    name: str
    admitted: bool
    role: Literal["primary", "overflow", "eligible", "not-eligible"]
    reason: str
    taints: list[str]
    capability: Annotated[
        dict[str, str], Meta(description="Of the labels that sets or the policy select by, those it has.")
    ]
    cordoned: bool
    ready: bool
    allocatable: Room
    requested: Annotated[Room | None, Meta(description="By all pods there; null when pods were not read.")]
    fits: Annotated[
        dict[str, int],
        Meta(
            description="How many runners of each set fit there once those of its label are gone. By the set's name, or"
            f" namespace/name where two have the same. With more than {MOST_FITS:,} sets times nodes without those of"
            " which none fits."
        ),
    ]
    overcommits: Annotated[
        dict[str, list[str]],
        Meta(description="Resources that limits over-commit if so many are there, by set."),
    ]
    labels: Annotated[
        dict[str, NodeRole], Meta(description="What it is to each label, when several are audited.")
    ]


class FindingRow(Struct, frozen=True):
    """Something that is not as it should be."""

    rule: str
    severity: Literal["error", "warning", "info"]
    label: str
    object: str
    field: str
    is_: str = msgspec.field(name="is")
    should: str
    fix: str
    file: str
    line: int


class Unread(Struct, frozen=True):
    """A part that could not be read: nothing is concluded from it."""

    part: str
    why: str


class Document(Struct, frozen=True, rename="camel"):
    """An audit of labels that runner scale sets share."""

    schema: Literal["remuda.dev/capacity-audit/v1"]
    at: Annotated[str, Meta(description="When, by RFC 3339.")]
    source: Annotated[str, Meta(description="The files, or the cluster.")]
    scale_sets: list[ScaleSet]
    labels: list[Label]
    nodes: list[NodeRow]
    findings: list[FindingRow]
    unknown: list[Unread]


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": SCHEMA,
        **schema_of_type(type_info(Document)),
    }


def schema_text() -> str:
    """The same as text."""
    return msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode()


def text(audit: Audit) -> Iterator[str]:
    """The whole document, piece by piece; a large one has a line for each node."""
    is_large = len(audit.lanes) * len(audit.world.nodes) > MOST_FITS
    head = {"schema": SCHEMA, "at": write_instant(audit.now), "source": audit.world.source}
    yield "{\n" + "".join(
        f'  "{key}": {msgspec.json.encode(value).decode()},\n' for key, value in head.items()
    )
    yield from _listed("scaleSets", _sets(audit))
    yield from _listed("labels", map(_label, audit.labels))
    yield from _listed("nodes", _nodes(audit, is_large=is_large), is_compact=is_large)
    yield from _listed("findings", map(_finding, audit.findings))
    yield from _listed("unknown", audit.world.unknown, end="\n}\n")


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


def quantities(amounts: Mapping[str, int] | None) -> Quantities:
    """Amounts as the document has them."""
    given = amounts or {}
    cpu, memory, ephemeral = map(given.get, RESOURCES)
    return Quantities(cpu, memory, ephemeral, _raw(given))


def _room(amounts: Amounts) -> Room:
    cpu, memory, ephemeral = map(amounts.get, RESOURCES)
    return Room(cpu, memory, ephemeral, _raw(amounts), amounts.get("pods"))


def _raw(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: _quantity(name, value) for name, value in amounts.items()}


_quantity = lru_cache(maxsize=16_384)(quantity)


def _sets(audit: Audit) -> Iterator[ScaleSet]:
    running: dict[str, int] = {}
    for case in audit.cases:
        running |= case.running or {}
    is_known = not audit.world.is_unknown(PODS)
    for lane in audit.lanes:
        yield ScaleSet(
            kind=lane.kind,
            namespace=lane.namespace,
            name=lane.name,
            labels=list(lane.labels),
            scope=lane.scope,
            node_selector=lane.node_selector,
            tolerations=[
                {key: value for key, value in msgspec.structs.asdict(item).items() if value}
                for item in lane.tolerations
            ],
            min=lane.min,
            max=lane.max,
            requests=quantities(lane.requests),
            limits=quantities(lane.limits),
            running=running.get(lane.id, 0) if is_known else None,
            pending=audit.world.pending.get(lane.id, 0) if is_known else None,
            phase=lane.phase,
            priority_class=lane.priority_class,
            file=lane.place.file,
            line=lane.place.line,
        )


def _label(label: LabelAudit) -> Label:
    shares = [
        Share(**(msgspec.structs.asdict(owner) | {"lanes": list(owner.lanes)})) for owner in label.owners
    ]
    return Label(
        name=label.name,
        policy=label.policy or None,
        active_sets=sum(lane.max != 0 for lane in label.lanes),
        ceiling=label.ceiling,
        aggregate=Aggregate(label.max, _summed(label.requests), _summed(label.limits)),
        running=label.running,
        pending=label.pending,
        placement=label.packing.outcome if label.packing else "unknown",
        owners=shares,
    )


def _summed(amounts: Amounts | None) -> Quantities:
    """A sum has a number for each resource, unless it has no end."""
    return quantities(None if amounts is None else dict.fromkeys(RESOURCES, 0) | amounts)


def _finding(item: Finding) -> FindingRow:
    return FindingRow(
        item.rule, item.severity, item.label, item.object, item.field,
        item.is_, item.should, item.fix, item.place.file, item.place.line,
    )  # fmt: skip


def set_names(lanes: Iterable[Lane]) -> dict[tuple[str, str], str]:
    """How each lane, by kind and id, is named where its name has to do: its id where two have the same name."""
    found = list(lanes)
    counts: dict[str, int] = {}
    for lane in found:
        counts[lane.name] = counts.get(lane.name, 0) + 1
    return {(lane.kind, lane.id): lane.name if counts[lane.name] == 1 else lane.id for lane in found}


def _nodes(audit: Audit, *, is_large: bool) -> Iterator[NodeRow]:
    lanes = audit.lanes
    fitting = _Fitting(audit, has_zeros=not is_large)
    is_known = not audit.world.is_unknown(PODS)
    nothing = dict.fromkeys((*RESOURCES, "pods"), 0)
    keys = sorted(
        {key for lane in lanes for key in lane.node_selector}
        | {str(key) for case in audit.cases if case.policy for key in case.policy.nodes.primary}
    )
    for index, node in enumerate(audit.world.nodes):
        roles = [case.roles[index] for case in audit.cases]
        best = min(roles, key=_rank, default=Role("not-eligible", False, "no label was audited"))
        yield NodeRow(
            name=node.name,
            admitted=best.admitted,
            role=best.role,
            reason=best.reason,
            taints=[str(taint) for taint in node.taints],
            capability={key: node.labels[key] for key in keys if key in node.labels},
            cordoned=node.cordoned,
            ready=node.ready,
            allocatable=_room(node.allocatable),
            requested=_room(nothing | audit.world.usage.get(node.name, Usage()).requested)
            if is_known
            else None,
            fits=fitting.fits(index),
            overcommits=fitting.overcommits(index),
            labels=fitting.labels(roles) if len(roles) > 1 else {},
        )


_RANKS = ("primary", "overflow", "eligible", "not-eligible")


def _rank(role: Role) -> tuple[bool, int]:
    return not role.admitted, _RANKS.index(role.role)


class _Fitting:
    """What is said of sets on a node, as text that sets of one kind share."""

    def __init__(self, audit: Audit, *, has_zeros: bool) -> None:
        self._cases = audit.cases
        self._has_zeros = has_zeros
        names = set_names(audit.lanes)
        self._numbers: dict[tuple[int, int], str] = {}
        self._beyond: dict[tuple[int, tuple[str, ...]], str] = {}
        self._roles: dict[tuple[int, ...], Raw] = {}
        #: a set of several labels is told once, by the first of them
        told: set[tuple[str, str]] = set()
        self._groups: list[tuple[Case, Alike, list[str]]] = []
        #: nodes on which some set fits or may be
        self._reached: set[int] = set()
        for case in audit.cases:
            for alike in case.alike:
                self._reached.update(alike.fits)
                keys = [key for lane in alike.lanes if (key := (lane.kind, lane.id)) not in told]
                told.update(keys)
                if keys:
                    written = [msgspec.json.encode(names[key]).decode() for key in keys]
                    self._groups.append((case, alike, written))

    def fits(self, index: int) -> Any:
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

    def overcommits(self, index: int) -> Any:
        """Sets whose limits come to more than the node has, by what."""
        parts = []
        for at, (case, alike, names) in enumerate(self._groups_at(index)):
            beyond = case.overcommitted(alike, index)
            if beyond:
                piece = self._beyond.get((at, beyond))
                if piece is None:
                    told = msgspec.json.encode(beyond).decode()
                    piece = self._beyond[at, beyond] = ",".join([f"{name}:{told}" for name in names])
                parts.append(piece)
        return Raw(f"{{{','.join(parts)}}}".encode())

    def _groups_at(self, index: int) -> list[tuple[Case, Alike, list[str]]]:
        return self._groups if self._has_zeros or index in self._reached else []

    def labels(self, roles: list[Role]) -> Any:
        """Roles by label; nodes that are the same to all labels share the text."""
        key = tuple(map(id, roles))
        made = self._roles.get(key)
        if made is None:
            by_label = {
                case.label: NodeRole(role.role, role.admitted, role.reason)
                for case, role in zip(self._cases, roles, strict=True)
            }
            made = self._roles[key] = Raw(msgspec.json.encode(by_label))
        return made
