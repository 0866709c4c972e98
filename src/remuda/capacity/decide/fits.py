"""
Which node a scale set may run on and why not, and how many of its runners still fit there.

Nodes are bits of whole numbers here: which of 5,000 nodes a scale set may be on is a few operations on such numbers, since
scale sets and nodes share labels, taints and tolerations. Words are made for one scale set and one node at a time.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, repeat
from operator import or_
from typing import TypeAlias, TypeVar

from msgspec import Struct

from remuda.capacity.decide.neighbours import WHOLE_NODE, is_claim
from remuda.capacity.snapshot import RESOURCES, Amounts, Node, ScaleSet, Snapshot, Usage
from remuda.model.amount_texts import amount_text
from remuda.model.pods import Match, Taint, Term, Toleration
from remuda.rules.placing import holds, pressing, untolerated

_K = TypeVar("_K")
#: nodes as bits, by their place in `Snapshot.nodes`
Nodes: TypeAlias = int
#: what a kubelet takes where a node does not say how many
MOST_PODS = 110
#: sets of nodes that are remembered as places, too: labels share a few
_MOST_PICKED = 64  # pragma: no mutate - how much is remembered


class Placement(Struct, frozen=True):
    """Where a scale set's runners may be: scale sets that agree on it may be on the same nodes."""

    selector: frozenset[tuple[str, str]] = frozenset()
    tolerations: tuple[Toleration, ...] = ()
    required: tuple[Term, ...] = ()
    #: the node that they are put on without asking the scheduler, which alone looks at taints
    node_name: str = ""


class Shape(Struct, frozen=True):
    """All that decides where and how often a scale set fits: its placement, what a runner takes and its limits."""

    placement: Placement
    requests: tuple[tuple[str, int], ...]
    limits: tuple[tuple[str, int], ...]

    @property
    def size(self) -> Amounts:
        """What one runner takes of a node: its requests and its place among the pods."""
        return {"pods": 1} | dict(self.requests)


def folded(label: str) -> str:
    """A label as GitHub compares it: without regard to case."""
    return label.lower()


def shape_of(scale_set: ScaleSet) -> Shape:
    """What scale sets that fit alike have in common."""
    placement = Placement(
        frozenset(scale_set.node_selector.items()),
        scale_set.tolerations,
        scale_set.required,
        scale_set.node_name,
    )
    asked = tuple(sorted(item for item in (scale_set.requests | scale_set.claims).items() if item[1] > 0))
    return Shape(placement, asked, tuple(sorted(scale_set.limits.items())))


class Ground:
    """The nodes of a world, by what scale sets ask of them."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self._by_key: dict[str, dict[str, Nodes]] = {}
        self._placements: dict[Placement, Nodes] = {}
        self._tolerated: dict[tuple[Toleration, ...], Nodes] = {}
        self._terms: dict[Term, Nodes] = {}
        self._ranked: dict[str, tuple[list[int], list[Nodes]]] = {}
        self._signatures: dict[tuple[tuple[str, ...], bool], list[int]] = {}
        self._picked: dict[Nodes, tuple[int, ...]] = {}

    @cached_property
    def all(self) -> Nodes:
        """Every node."""
        return (1 << len(self.nodes)) - 1

    @cached_property
    def up(self) -> Nodes:
        """Nodes that take new pods."""
        return bits(index for index, node in enumerate(self.nodes) if not any(_down(node)))

    @cached_property
    def index(self) -> dict[str, int]:
        """The place of each node by its name."""
        return {node.name: index for index, node in enumerate(self.nodes)}

    @cached_property
    def _by_taints(self) -> dict[tuple[Taint, ...], Nodes]:
        return _gathered((node.taints, index) for index, node in enumerate(self.nodes))

    def named(self, names: Iterable[str]) -> Nodes:
        """The nodes of these names, those that are there."""
        return bits(self.index[name] for name in set(names) if name in self.index)

    def having(self, labels: Iterable[tuple[str, str]]) -> Nodes:
        """Nodes with all these labels."""
        found = self.all
        for key, value in labels:
            found &= self._values(key).get(value, 0)
        return found

    def allowing(self, placement: Placement) -> Nodes:
        """Nodes whose labels and taints let such runners in, up or not, however full."""
        found = self._placements.get(placement)
        if found is None:
            found = self.having(placement.selector)
            if placement.node_name:
                found &= self.named([placement.node_name])
            else:
                found &= self._tolerating(placement.tolerations)
            if placement.required:
                found &= self.meeting(placement.required)
            self._placements[placement] = found
        return found

    def meeting(self, terms: Iterable[Term]) -> Nodes:
        """Nodes for which one of the terms holds."""
        found = 0
        for term in terms:
            if term not in self._terms:
                self._terms[term] = self._holding(term)
            found |= self._terms[term]
        return found

    def below(self, resource: str, amount: int) -> Nodes:
        """Nodes that have less of a resource in all, of those that report how much they have."""
        ranked = self._ranked.get(resource)
        if ranked is None:
            having = (
                (node.allocatable[resource], index)
                for index, node in enumerate(self.nodes)
                if resource in node.allocatable
            )
            by_amount = _gathered(having)
            amounts = sorted(by_amount)
            # nodes with less than the first amount, than the second, and so on
            ranked = amounts, [0, *accumulate((by_amount[each] for each in amounts), or_)]
            self._ranked[resource] = ranked
        return ranked[1][bisect_left(ranked[0], amount)]

    def picked(self, nodes: Nodes) -> tuple[int, ...]:
        """The places of the nodes, in order."""
        found = self._picked.get(nodes)
        if found is None:
            # As text, since taking bits one by one off a large number is slow.
            digits = f"{nodes:b}"[::-1]
            found = tuple(index for index, digit in enumerate(digits) if digit == "1")
            if len(self._picked) < _MOST_PICKED:  # pragma: no mutate - remembered or not, it is the same
                self._picked[nodes] = found
        return found

    def signatures(self, keys: tuple[str, ...], *, by_name: bool) -> Sequence[int]:
        """A number for each node: equal for nodes that these labels, taints, size and state do not distinguish."""
        found = self._signatures.get((keys, by_name))
        if found is None:
            numbers: dict[tuple[object, ...], int] = {}
            found = []
            for node in self.nodes:
                size = tuple(node.allocatable.items())
                labels = tuple([node.labels.get(key) for key in keys])
                key = (node.cordoned, node.ready, node.taints, labels, size, by_name and node.name)
                found.append(numbers.setdefault(key, len(numbers)))
            self._signatures[keys, by_name] = found
        return found

    def _values(self, key: str) -> dict[str, Nodes]:
        found = self._by_key.get(key)
        if found is None:
            having = (
                (node.labels[key], index) for index, node in enumerate(self.nodes) if key in node.labels
            )
            found = self._by_key[key] = _gathered(having)
        return found

    def _tolerating(self, tolerations: tuple[Toleration, ...]) -> Nodes:
        found = self._tolerated.get(tolerations)
        if found is None:
            found = 0
            for taints, nodes in self._by_taints.items():
                if not any(untolerated(taints, tolerations)):
                    found |= nodes
            self._tolerated[tolerations] = found
        return found

    def _holding(self, term: Term) -> Nodes:
        if not term.match_expressions and not term.match_fields:
            return 0
        found = self.all
        for match in term.match_expressions:
            found &= self._matching(match)
        if term.match_fields:
            alone = Term(match_fields=term.match_fields)
            found &= bits(index for index, node in enumerate(self.nodes) if holds(alone, node.name, {}))
        return found

    def _matching(self, match: Match) -> Nodes:
        """Nodes that meet one expression: it looks at one label only, so that each of its values is asked about once."""
        term = Term(match_expressions=(match,))
        values = self._values(match.key)
        found = 0
        for value, nodes in values.items():
            if holds(term, "", {match.key: value}):
                found |= nodes
        if holds(term, "", {}):
            having = 0
            for nodes in values.values():
                having |= nodes
            found |= self.all & ~having
        return found


class Rooms:
    """What is left of nodes beside all pods but the runners of some scale sets, and how many of a size fit into it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._nodes = snapshot.nodes
        self._usage = snapshot.usage
        self._free: list[Amounts | None] = [None] * len(snapshot.nodes)
        #: scale sets → what is free of nodes without their runners
        self._emptied: dict[frozenset[str], dict[int, Amounts]] = {}
        self._unlimited: list[Amounts | None] = [None] * len(snapshot.nodes)
        self._fits: dict[tuple[tuple[tuple[str, int], ...], tuple[int, ...]], dict[int, int]] = {}
        self._columns: dict[tuple[tuple[int, ...], str], list[int]] = {}
        self._equal: dict[tuple[tuple[int, ...], tuple[str, ...]], tuple[list[list[int]], list[int]]] = {}
        self._holding: dict[frozenset[str], set[int]] = {}
        #: scale set → nodes on which it has runners
        self._places: dict[str, list[int]] = {}
        for index, node in enumerate(snapshot.nodes):
            for scale_set in snapshot.usage.get(node.name, _NOTHING).runners:
                self._places.setdefault(scale_set, []).append(index)
        #: scale set → runners with a node
        self.running: dict[str, int] = {}
        for used in snapshot.usage.values():
            for scale_set, number in used.runners.items():
                self.running[scale_set] = self.running.get(scale_set, 0) + number
        #: what every node has once
        self._claims = dict.fromkeys(
            (name for scale_set in snapshot.scale_sets for name in scale_set.claims), WHOLE_NODE
        )

    def free(self, index: int, own: frozenset[str] = frozenset()) -> Amounts:
        """What is free of a node once the runners of these scale sets are gone; below 0 where it is over-committed."""
        emptied = self._emptied.get(own, _NONE)
        if index in emptied:
            return emptied[index]
        node = self._nodes[index]
        used = self._usage.get(node.name, _NOTHING)
        plain = self._free[index]
        if plain is None:
            whole = {"pods": MOST_PODS} | node.allocatable | self._claims
            taken = used.requested
            plain = {name: value - taken.get(name, 0) for name, value in whole.items()}
            self._free[index] = plain
        if own.isdisjoint(used.runners):
            return plain
        room = self._emptied.setdefault(own, {})[index] = dict(plain)
        for scale_set in own.intersection(used.runners):
            for name, value in used.runner_requests.get(scale_set, {}).items():
                if name in room:
                    room[name] += value
        return room

    def fits(
        self, requests: tuple[tuple[str, int], ...], nodes: tuple[int, ...], own: frozenset[str]
    ) -> Mapping[int, int]:
        """How many runners of a size fit on each node that is empty of those of `own`; requests are above 0."""
        size = {"pods": 1} | dict(requests)
        plain = self._fits.get((requests, nodes))
        if plain is None:
            columns, places = self._distinct(nodes, tuple(size))
            counts = _wholes(size.values(), columns)
            plain = dict(zip(nodes, map(counts.__getitem__, places), strict=True))
            self._fits[requests, nodes] = plain
        emptied = self.holding(own)
        held = [index for index in nodes if index in emptied] if emptied else []
        if not held:
            return plain
        rooms = [self.free(index, own) for index in held]
        columns = [[room.get(name, 0) for room in rooms] for name in size]
        return plain | dict(zip(held, _wholes(size.values(), columns), strict=True))

    def _distinct(self, nodes: tuple[int, ...], names: tuple[str, ...]) -> tuple[list[list[int]], list[int]]:
        """What is free of each resource on nodes, each room once, and where among these that of every node is."""
        found = self._equal.get((nodes, names))
        if found is None:
            rooms: dict[tuple[int, ...], int] = {}
            columns = [self._column(nodes, name) for name in names]
            places = [rooms.setdefault(room, len(rooms)) for room in zip(*columns, strict=True)]
            alone = [list(column) for column in zip(*rooms, strict=True)] or [[] for _ in names]
            found = self._equal[nodes, names] = alone, places
        return found

    def _column(self, nodes: tuple[int, ...], name: str) -> list[int]:
        """What is free of a resource on each of the nodes, with all runners there."""
        found = self._columns.get((nodes, name))
        if found is None:
            found = [self.free(index).get(name, 0) for index in nodes]
            self._columns[nodes, name] = found
        return found

    def holding(self, scale_sets: frozenset[str]) -> set[int]:
        """Nodes on which these scale sets have runners."""
        found = self._holding.get(scale_sets)
        if found is None:
            found = {index for scale_set in scale_sets for index in self._places.get(scale_set, ())}
            self._holding[scale_sets] = found
        return found

    def unlimited(self, index: int) -> Amounts:
        """What is left of a node if all pods there use as much as their limits allow; below 0 where they may use more."""
        left = self._unlimited[index]
        if left is None:
            node = self._nodes[index]
            used = self._usage.get(node.name, _NOTHING).limits
            left = {name: node.allocatable.get(name, 0) - used.get(name, 0) for name in RESOURCES}
            self._unlimited[index] = left
        return left

    def runner_limits(self, index: int) -> Mapping[str, Amounts]:
        """What the limits of runners on a node come to, by scale set."""
        return self._usage.get(self._nodes[index].name, _NOTHING).runner_limits


def obstacles(scale_set: ScaleSet, node: Node, free: Amounts | None = None) -> tuple[str, ...]:
    """
    Everything that keeps a scale set's runners off a node, in words; nothing when it takes one.

    `free` is what is left of the node; without it only what the node could hold when empty counts.
    """
    return (*closed(scale_set, node), *short({"pods": 1} | scale_set.requests | scale_set.claims, node, free))


def closed(scale_set: ScaleSet, node: Node) -> Iterator[str]:
    """What is in the way whatever the room."""
    yield from _down(node)
    if scale_set.node_name and scale_set.node_name != node.name:
        yield f"is not {scale_set.node_name}, where nodeName puts the runners"
    for taint in () if scale_set.node_name else untolerated(node.taints, scale_set.tolerations):
        yield f"has the taint {taint}, which is not tolerated"
    for key, value in sorted(scale_set.node_selector.items()):
        if node.labels.get(key) != value:
            yield f"has no label {key}={value}"
    if scale_set.required and not any(holds(term, node.name, node.labels) for term in scale_set.required):
        yield "does not meet the required node affinity"


def _down(node: Node) -> Iterator[str]:
    """Why a node takes no new pods at all."""
    if node.cordoned:
        yield "is cordoned"
    if not node.ready:
        yield "is not ready"
    for taint in pressing(node.taints):
        yield f"has the taint {taint}"


def short(size: Mapping[str, int], node: Node, free: Amounts | None = None) -> Iterator[str]:
    """By which resources a node is too small for one runner, or too full."""
    whole = {"pods": MOST_PODS} | node.allocatable
    for name, value in sorted(size.items()):
        if is_claim(name):
            if free is not None and value > free.get(name, WHOLE_NODE):
                yield f"has no {name} left"
        elif value > whole.get(name, 0):
            has = amount_text(name, whole[name]) if whole.get(name) else f"no {name}"
            yield f"is too small: has {has}, and a runner asks for {amount_text(name, value)}"
        elif free is not None and value > free.get(name, 0):
            left = amount_text(name, max(0, free.get(name, 0)))
            yield f"is too full: {left} left of {amount_text(name, whole[name])}, and a runner asks for {amount_text(name, value)}"


def bits(indices: Iterable[int]) -> Nodes:
    """Places as bits of one number."""
    # By bytes, since setting the bits of a large number one by one copies it each time.
    found = list(indices)
    if not found:
        return 0
    made = bytearray(max(found) // 8 + 1)  # pragma: no mutate - zeros in front are no bits
    for index in found:
        made[index >> 3] |= 1 << (index & 7)
    return int.from_bytes(made, "little")


def _wholes(sizes: Iterable[int], columns: Iterable[list[int]]) -> list[int]:
    """How many of a size fit into each room: resource by resource, since rooms are many."""
    counts = [[have // each for have in column] for each, column in zip(sizes, columns, strict=True)]
    return list(map(max, map(min, *counts, repeat(_ENOUGH)), repeat(0)))


_ENOUGH = 2**62
_NOTHING = Usage()
_NONE: dict[int, Amounts] = {}


def _gathered(pairs: Iterable[tuple[_K, int]]) -> "dict[_K, Nodes]":
    found: dict[_K, list[int]] = {}
    for key, index in pairs:
        found.setdefault(key, []).append(index)
    return {key: bits(indices) for key, indices in found.items()}
