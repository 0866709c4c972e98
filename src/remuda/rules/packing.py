"""
Whether groups of equal items fit into bins, by every resource at once.

The answer is a placement, or a bound that no placement can meet, or neither: packing is hard, so a search may end
without either, and then nothing is claimed. `pack` is all a caller needs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

from msgspec import Struct

Sizes: TypeAlias = Mapping[str, int]
Outcome: TypeAlias = Literal["fits", "cannot fit", "no placement found"]

#: steps of the search for a placement that simple orders do not find
EFFORT = 20_000
#: so many sizes are tried for the bound of large items: each is a pass over all bins
_THRESHOLDS = 64
#: bins that show which resource is scarce
_SAMPLE = 64
#: bins that the search goes through one after the other: Python does not nest calls much deeper
_DEPTH = 500


class Bin(Struct, frozen=True):
    """Something with room. What is not among its room it has none of."""

    name: str
    room: Sizes


class Group(Struct, frozen=True):
    """Equal items and the bins they may be in, by index; None is all of them. A size of 0 is none."""

    name: str
    count: int
    size: Sizes
    bins: tuple[int, ...] | None = None


class Placed(Struct, frozen=True, order=True, gc=False):
    """So many items of a group in a bin, both by index."""

    group: int
    bin: int
    count: int


class Bound(Struct, frozen=True):
    """
    Why nothing fits: `wanted` is more than `room`, whatever the placement.

    `sum` is what the groups take of the resource, and what all their bins have of it that can be used; `count` is how
    many items there are, and how many their bins hold if nothing else is there, each bin counted in whole items of the
    smallest size; `search` means that every placement was tried. The resource is the one that runs out first, if any does.
    """

    kind: Literal["sum", "count", "search"]
    groups: tuple[str, ...]
    resource: str
    wanted: int
    room: int


class Packing(Struct, frozen=True):
    """The answer. Without a placement of all, `placed` is the best attempt, and `left` what it did not place, by group."""

    outcome: Outcome
    placed: tuple[Placed, ...] = ()
    bound: Bound | None = None
    left: Mapping[str, int] = {}


def pack(groups: Sequence[Group], bins: Sequence[Bin], effort: int = EFFORT) -> Packing:
    """Place all items of all groups: simple orders first, then bounds, then a search of at most `effort` steps."""
    problem = _Problem(groups, bins)
    best: list[Placed] | None = None
    least = -1
    for order in problem.orders():
        placed, left = problem.first_fit(order)
        if not left:
            return Packing("fits", problem.by_group(placed))
        if best is None or left < least:
            best, least = placed, left
    tried = problem.by_group(best or [])
    bound = next(problem.bounds(), None)
    if bound is None:
        found, is_exhausted = problem.search(effort)
        if found is not None:
            return Packing("fits", problem.by_group(found))
        if is_exhausted:
            bound = problem.exhausted()
    left_of = problem.left(tried)
    return Packing("no placement found" if bound is None else "cannot fit", tried, bound, left_of)


class _Kind(Struct, frozen=True):
    """Groups of one size and the same bins, which are placed as one."""

    groups: tuple[int, ...]
    size: tuple[int, ...]
    bins: tuple[int, ...]
    count: int


class _Problem:
    """Sizes and rooms as rows of numbers, equal groups together."""

    def __init__(self, groups: Sequence[Group], bins: Sequence[Bin]) -> None:
        self._groups = groups
        asking = [group for group in groups if group.count > 0]
        self._names = sorted({name for group in asking for name, value in group.size.items() if value > 0})
        everywhere = tuple(range(len(bins)))
        alike: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
        # Groups often share their bins as one object: to hash thousands of bins once for all of them is enough.
        shared: dict[tuple[tuple[int, ...], int], list[int]] = {}
        for index, group in enumerate(groups):
            if group.count > 0:
                size = tuple(max(0, group.size.get(name, 0)) for name in self._names)
                allowed = everywhere if group.bins is None else group.bins
                members = shared.get((size, id(allowed)))
                if members is None:
                    members = shared[size, id(allowed)] = alike.setdefault((size, allowed), [])
                members.append(index)
        self._kinds = [
            _Kind(tuple(members), size, allowed, sum(groups[index].count for index in members))
            for (size, allowed), members in alike.items()
        ]
        self._bins = bins
        self._known: list[tuple[int, ...] | None] = [None] * len(bins)

    def _room(self, index: int) -> tuple[int, ...]:
        """What a bin has of each resource; most bins of a large problem are never looked at."""
        room = self._known[index]
        if room is None:
            have = self._bins[index].room
            room = tuple([max(0, have.get(name, 0)) for name in self._names])
            self._known[index] = room
        return room

    @cached_property
    def _rooms(self) -> list[tuple[int, ...]]:
        return [self._room(index) for index in range(len(self._bins))]

    @cached_property
    def _sample(self) -> list[tuple[int, ...]]:
        """Some bins, for what needs no more than an idea of them."""
        return [self._room(index) for index in range(0, len(self._bins), len(self._bins) // _SAMPLE + 1)]

    # placing

    def orders(self) -> Iterator[list[int]]:
        """Orders of kinds worth trying: by the scarcest resource, by the largest part of a bin, and the choosiest first."""
        scarcity = [self._scarcity(number) for number in range(len(self._names))]
        ranked = sorted(range(len(scarcity)), key=lambda number: -scarcity[number])
        kinds = range(len(self._kinds))
        by_scarcest = sorted(
            kinds, key=lambda kind: tuple(-self._kinds[kind].size[number] for number in ranked)
        )
        largest = [
            max((room[number] for room in self._sample), default=0) or 1 for number in range(len(self._names))
        ]
        parts = [
            max((size / whole for size, whole in zip(kind.size, largest, strict=True)), default=0.0)
            for kind in self._kinds
        ]
        by_part = sorted(kinds, key=lambda kind: -parts[kind])
        choosy = sorted(by_part, key=lambda kind: len(self._kinds[kind].bins))
        seen: list[list[int]] = []
        for order in (by_scarcest, choosy, by_part):
            if order not in seen:
                seen.append(order)
                yield order

    def _scarcity(self, number: int) -> float:
        """How much is asked of a resource for each unit that some bins have: only the order of resources counts."""
        asked = sum(kind.count * kind.size[number] for kind in self._kinds)
        there = sum(room[number] for room in self._sample)
        return asked / there if there else float(asked > 0)

    def first_fit(self, order: Sequence[int]) -> tuple[list[Placed], int]:
        """Each kind into the first bins that take it; what is left over is counted."""
        free: dict[int, tuple[int, ...]] = {}
        placed: list[Placed] = []
        missing = 0
        #: a bin that cannot take even the smallest of each size that is still to come is not looked at again
        least = self._least_to_come(order)
        full: set[int] = set()
        for turn, kind_index in enumerate(order):
            kind = self._kinds[kind_index]
            left = kind.count
            for index in kind.bins:
                if not left:
                    break
                if index in full:
                    continue
                room = free.get(index) or self._room(index)
                number = _whole(kind.size, room, left)
                if number:
                    room = tuple(have - number * size for have, size in zip(room, kind.size, strict=True))
                    free[index] = room
                    placed.append(Placed(kind_index, index, number))
                    left -= number
                if any(have < small for have, small in zip(room, least[turn], strict=True)):
                    full.add(index)
            missing += left
        return placed, missing

    def _least_to_come(self, order: Sequence[int]) -> list[tuple[int, ...]]:
        least: list[tuple[int, ...]] = []
        smallest: tuple[int, ...] | None = None
        for kind in reversed(order):
            least.append(smallest if smallest is not None else (0,) * len(self._names))
            size = self._kinds[kind].size
            smallest = size if smallest is None else tuple(map(min, smallest, size))
        return least[::-1]

    # bounds

    def bounds(self) -> Iterator[Bound]:
        """What refutes every placement, strongest words first. Each holds for the kinds that may be in some bins only."""
        for bins in self._places():
            inside = [kind for kind in self._kinds if bins.issuperset(kind.bins)]
            rooms = [self._rooms[index] for index in sorted(bins)]
            yield from self._alone(inside)
            yield from self._sums(inside, rooms)
            yield from self._large(inside, rooms)

    def _places(self) -> Iterator[frozenset[int]]:
        """Sets of bins to which kinds are confined: those of each kind, and all of them."""
        single = dict.fromkeys(frozenset(kind.bins) for kind in self._kinds)
        together: frozenset[int] = frozenset().union(*single)
        yield from dict.fromkeys([*list(single)[:_THRESHOLDS], together])

    def _alone(self, kinds: Iterable[_Kind]) -> Iterator[Bound]:
        for kind in kinds:
            yield from self._counted([kind], kind.size, [self._rooms[index] for index in kind.bins])

    def _sums(self, kinds: list[_Kind], rooms: list[tuple[int, ...]]) -> Iterator[Bound]:
        least = tuple(map(min, *(kind.size for kind in kinds))) if len(kinds) > 1 else kinds[0].size
        useful = [room for room in rooms if _holds(least, room)]
        for number, name in enumerate(self._names):
            wanted = sum(kind.count * kind.size[number] for kind in kinds)
            there = sum(room[number] for room in useful)
            if wanted > there:
                yield Bound("sum", self._group_names(kinds), name, wanted, there)

    def _large(self, kinds: list[_Kind], rooms: list[tuple[int, ...]]) -> Iterator[Bound]:
        """Items of at least some size, each counted as if it were of the least size among them."""
        tried: set[tuple[int, ...]] = set()
        for number in range(len(self._names)):
            for least in sorted({kind.size[number] for kind in kinds}, reverse=True)[:_THRESHOLDS]:
                large = [kind for kind in kinds if kind.size[number] >= least]
                smallest = tuple(min(column) for column in zip(*(kind.size for kind in large), strict=True))
                if least and smallest not in tried:
                    tried.add(smallest)
                    yield from self._counted(large, smallest, rooms)

    def _counted(
        self, kinds: list[_Kind], size: tuple[int, ...], rooms: list[tuple[int, ...]]
    ) -> Iterator[Bound]:
        wanted = sum(kind.count for kind in kinds)
        if not any(size):
            return
        held = 0
        short = [0] * len(self._names)
        for room in rooms:
            whole = [have // each if each else wanted for have, each in zip(room, size, strict=True)]
            fits = min(whole)
            held += fits
            if held >= wanted:
                return
            for number, each in enumerate(whole):
                short[number] += each == fits
        # Without any bin nothing runs out.
        name = self._names[short.index(max(short))] if rooms else ""
        yield Bound("count", self._group_names(kinds), name, wanted, held)

    # the search

    def search(self, effort: int) -> tuple[list[Placed] | None, bool]:
        """Try placements one after the other; also whether none is left untried."""
        searching = _Search(self._kinds, self._rooms, effort)
        if searching.find():
            return [Placed(*key, count) for key, count in sorted(searching.placed.items())], False
        return None, searching.effort > 0

    def exhausted(self) -> Bound:
        """The bound that is a search to the end."""
        scarcity = [self._scarcity(number) for number in range(len(self._names))]
        name = self._names[scarcity.index(max(scarcity))] if scarcity else ""
        count = sum(kind.count for kind in self._kinds)
        return Bound("search", self._group_names(self._kinds), name, count, count - 1)

    def by_group(self, placed: Iterable[Placed]) -> tuple[Placed, ...]:
        """Placements of kinds as placements of their groups."""
        queues = [[[index, self._groups[index].count] for index in kind.groups] for kind in self._kinds]
        by_group: list[Placed] = []
        for part in placed:
            left = part.count
            queue = queues[part.group]
            while left:
                group, waiting = queue[0]
                taken = min(left, waiting)
                by_group.append(Placed(group, part.bin, taken))
                left -= taken
                queue[0][1] -= taken
                if not queue[0][1]:
                    queue.pop(0)
        return tuple(sorted(by_group))

    def left(self, placed: Iterable[Placed]) -> dict[str, int]:
        """How many of each group are in no bin."""
        missing = {index: group.count for index, group in enumerate(self._groups)}
        for part in placed:
            missing[part.group] -= part.count
        return {self._groups[index].name: count for index, count in missing.items() if count > 0}

    def _group_names(self, kinds: Iterable[_Kind]) -> tuple[str, ...]:
        return tuple(sorted(self._groups[index].name for kind in kinds for index in kind.groups))


class _Search:
    """Depth first over kinds, and within a kind over bins, most items first. It gives up when `effort` is 0."""

    def __init__(self, kinds: list[_Kind], rooms: Sequence[tuple[int, ...]], effort: int) -> None:
        # The choosiest and the largest first: what cannot be placed shows early.
        self._kinds = kinds
        self._order = sorted(
            range(len(kinds)),
            key=lambda kind: (len(kinds[kind].bins), *(-each for each in kinds[kind].size)),
        )
        self._free = list(rooms)
        self.effort = effort
        self.placed: dict[tuple[int, int], int] = {}

    def find(self) -> bool:
        """Place everything; False when that cannot be, or when it was too much to try."""
        return self._place(-1, 0, 0, 0)

    def _place(self, turn: int, at: int, left: int, depth: int) -> bool:
        """Place what is left of a kind from a bin on, and all kinds after it."""
        while not left:
            turn, at = turn + 1, 0
            if turn >= len(self._order):
                return True
            left = self._kinds[self._order[turn]].count
        is_deep = depth >= _DEPTH  # pragma: no mutate - one call more or less is as good
        self.effort = 0 if is_deep else self.effort - 1
        kind_index = self._order[turn]
        kind = self._kinds[kind_index]
        if self.effort <= 0 or at >= len(kind.bins):
            return False
        index = kind.bins[at]
        room = self._free[index]
        most_here = _whole(kind.size, room, left)
        for number in range(most_here, -1, -1) if any(kind.size) else (most_here,):
            self._free[index] = tuple(
                have - number * size for have, size in zip(room, kind.size, strict=True)
            )
            if number:
                self.placed[kind_index, index] = number
            if self._place(turn, at + 1, left - number, depth + 1):
                return True
            self.placed.pop((kind_index, index), None)
            if self.effort <= 0:
                break
        self._free[index] = room
        return False


def _whole(size: tuple[int, ...], room: tuple[int, ...], limit: int) -> int:
    number = limit
    for have, each in zip(room, size, strict=True):
        if each and have < number * each:
            number = have // each
    return number


def _holds(size: tuple[int, ...], room: tuple[int, ...]) -> bool:
    return all(have >= each for have, each in zip(room, size, strict=True))
