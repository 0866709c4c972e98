"""
The worst that several can do together under a ceiling, and the highest ceiling that is safe.

Each may have up to its most at a time, all together up to the ceiling, in whatever mix. Only mixes that no other asks
more than have to be looked at: an item that is at least as large as another and has no more bins to go to stands for
it, so that of items which stand for one another only the most demanding count, and the rest is a matter of how many
each chain of them has. Where those are still too many, several are answered by one that asks for more than each.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from operator import itemgetter
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from remuda.rules.packing import EFFORT, Bin, Group, Outcome, Packing, Placed, Sizes, pack

#: so many mixes are looked at one by one, fewer where there are many bins
MIXES: Final = 600
#: what looking at mixes may cost in all, in kinds of items times bins
_WORK: Final = 40_000
#: so many chains are tried as the one that is served first, and of so many kinds chains are made
_HEADS: Final = 16
_KINDS: Final = 200
#: into so many kinds all are joined, one after the other, where there are too many mixes
_PARTS: Final = (1, 3)
#: bins that packings of one search for a ceiling may go through in all: what it knows by then is the answer
_SPENT: Final = 60_000
#: how far above what simple orders show the search goes
_CLIMB: Final = 8


class Share(Struct, frozen=True):
    """Up to `most` equal items at a time (None is without end), each larger than nothing, and the bins they may be in."""

    name: str
    most: int | None
    size: Sizes
    bins: tuple[int, ...] | None = None


class Worst(Struct, frozen=True):
    """
    What becomes of the worst mix.

    `fits` is claimed only when every mix is shown to, and `cannot fit` when `mix`, one that may happen, is refuted by a
    bound. `mix` is by share, `packing` is of it, with shares by their index.
    """

    outcome: Outcome
    mix: dict[str, int]
    packing: Packing
    #: of everything the mix may use, how much it takes, by resource, from 0 to 1 and beyond
    taken: dict[str, float] = {}


class Safe(Struct, frozen=True):
    """
    The highest ceiling under which every mix is shown to fit.

    It is proven when the next one is refuted, or when all at their most fit, so that no ceiling matters; else a higher
    one may be safe, too. `beyond` is the worst mix of the next one.
    """

    number: int
    is_proven: bool
    is_all: bool = False
    beyond: Worst | None = None


def weigh(
    shares: Sequence[Share],
    bins: Sequence[Bin],
    ceiling: int | None,
    at_most: Packing | None = None,
    guess: int | None = None,
) -> tuple[Worst, Safe]:
    """
    The worst mix under a ceiling, and the highest safe one.

    Without a ceiling the worst is all at their most, and who has no end at one more than all bins hold. `at_most` is the
    packing of all at their most, where it is known, with shares as groups; `guess` is a ceiling that may well be it.
    """
    if at_most is not None and at_most.outcome == "fits":
        total = sum(share.most or 0 for share in shares)
        if ceiling is None or total <= ceiling:
            counts = {share.name: share.most or 0 for share in shares}
            return Worst("fits", counts, at_most, _parts(shares, bins)), Safe(total, True, is_all=True)
    mixes = _Mixes(shares, bins, at_most)
    found = mixes.judge(ceiling, EFFORT)
    shown = ceiling if ceiling is not None and found.outcome == "fits" else 0
    return found, mixes.safe(guess, shown)


def _parts(shares: Sequence[Share], bins: Sequence[Bin]) -> dict[str, float]:
    """How much of all bins the shares at their most take."""
    asked: dict[str, int] = {}
    for share in shares:
        for name, value in share.size.items():
            asked[name] = asked.get(name, 0) + value * (share.most or 0)
    rooms = [each.room for each in bins]
    there = {name: sum(_column(name, rooms)) for name, value in asked.items() if value}
    return {name: asked[name] / room if room else float(asked[name]) for name, room in there.items()}


def _column(name: str, rooms: Sequence[Sizes]) -> list[int]:
    """What each bin has of a resource, nothing where it has less."""
    try:
        found = list(map(itemgetter(name), rooms))
    except KeyError:
        found = [room.get(name, 0) for room in rooms]
    return found if min(found, default=0) >= 0 else [max(0, room) for room in found]


class _Kind(Struct, frozen=True):
    """Shares of one size and the same bins."""

    shares: tuple[int, ...]
    size: tuple[int, ...]
    bins: tuple[int, ...]
    #: bins that hold one
    useful: frozenset[int]
    #: how many all of them hold
    alone: int
    most: int | None

    def stands_for(self, other: "_Kind") -> bool:
        return all(map(int.__ge__, self.size, other.size)) and self.useful <= other.useful


class _Mixes:
    """One problem: kinds in chains, the most demanding of each chain first."""

    def __init__(self, shares: Sequence[Share], bins: Sequence[Bin], at_most: Packing | None = None) -> None:
        self._at_most = at_most
        self._shares = shares
        self._bins = bins
        asking = [share for share in shares if share.most is None or share.most > 0]
        self._names = sorted({name for share in asking for name, value in share.size.items() if value > 0})
        rooms = [each.room for each in bins]
        self._columns = [_column(name, rooms) for name in self._names]
        self._kinds = sorted(self._alike(), key=lambda kind: (kind.size, -len(kind.useful)), reverse=True)
        self._chains = _chains(self._kinds)
        self._coarser: dict[int, _Mixes] = {}
        self._packings: dict[tuple[tuple[int, ...], int], Packing] = {}

    def _alike(self) -> Iterator[_Kind]:
        everywhere = tuple(range(len(self._bins)))
        alike: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
        # Shares often have their bins as one object: to hash thousands of bins once for all of them is enough.
        shared: dict[tuple[tuple[int, ...], int], list[int]] = {}
        for index, share in enumerate(self._shares):
            if share.most is None or share.most > 0:
                size = tuple(max(0, share.size.get(name, 0)) for name in self._names)
                bins = everywhere if share.bins is None else share.bins
                members = shared.get((size, id(bins)))
                if members is None:
                    members = shared[size, id(bins)] = alike.setdefault((size, bins), [])
                members.append(index)
        held: dict[tuple[int, ...], list[int]] = {}
        for (size, bins), members in alike.items():
            if size not in held:
                held[size] = self._held(size)
            numbers = held[size]
            most = [self._shares[index].most for index in members]
            yield _Kind(
                tuple(members),
                size,
                bins,
                frozenset([index for index in bins if numbers[index]]),
                sum([numbers[index] for index in bins]),
                None if None in most else sum(number for number in most if number is not None),
            )

    def _held(self, size: tuple[int, ...]) -> list[int]:
        """How many items of a size each bin holds."""
        columns = [
            [room // each for room in column]
            for column, each in zip(self._columns, size, strict=True)
            if each
        ]
        return list(map(min, *columns)) if len(columns) > 1 else columns[0]

    @cached_property
    def _limit(self) -> int:
        return max(1, min(MIXES, _WORK // max(1, len(self._kinds) * len(self._bins))))

    # the highest safe ceiling

    def safe(self, guess: int | None = None, shown: int = 0) -> Safe:
        """`shown` is a ceiling that is known to be safe."""
        bounded = [kind.most for kind in self._kinds if kind.most is not None]
        high = min((kind.alone for kind in self._kinds if _exceeds(kind.most, kind.alone)), default=sum(bounded))  # fmt: skip
        if len(bounded) == len(self._kinds) and high == sum(bounded):
            if self.judge(None, EFFORT).outcome == "fits":
                return Safe(high, is_proven=True, is_all=True)
            high -= 1
        low = min(shown, high)
        probes = [high, *([guess, guess + 1] if guess is not None else [])]
        while low < high and self._spent() < _SPENT:
            probe = probes.pop(0) if probes else (low + high + 1) // 2
            if low < probe <= high:
                if self._decide(probe, 0)[0] == "fits":
                    low = probe
                else:
                    high = probe - 1
        for _ in range(_CLIMB):
            beyond = self.judge(low + 1, EFFORT)
            if beyond.outcome != "fits":
                return Safe(low, is_proven=beyond.outcome == "cannot fit", beyond=beyond)
            low += 1
            if (
                self._spent() >= _SPENT
            ):  # pragma: no cover - takes tens of thousands of bins, which no quick test packs
                break
        return Safe(
            low, is_proven=False
        )  # pragma: no cover - only where simple orders miss it by more than a search climbs

    def _spent(self) -> int:
        packings = len(self._packings) + sum(len(each._packings) for each in self._coarser.values())  # noqa: SLF001
        return packings * len(self._bins)

    # one ceiling

    def judge(self, ceiling: int | None, effort: int) -> Worst:
        """All mixes under a ceiling, and the one that decides."""
        most = self._most(None)
        if self._at_most is not None and (ceiling is None or sum(most) <= ceiling):
            counts = {share.name: share.most or 0 for share in self._shares}
            return Worst(self._at_most.outcome, counts, self._at_most, self._taken(most))
        outcome, mix = self._decide(ceiling, effort)
        return replace(self._worst_of(mix, self._pack(mix, effort)), outcome=outcome)

    def _decide(self, ceiling: int | None, effort: int) -> tuple[Outcome, tuple[int, ...]]:
        """At once if all at their most fit, or if one mix stands for all, else the likeliest to fail first."""
        most = self._most(ceiling)
        if ceiling is None or sum(most) <= ceiling:
            return self._pack(most, effort).outcome, most
        if len(self._chains) == 1:
            (mix,) = self._every(ceiling, most, 1)
            outcome = self._pack(mix, effort).outcome
            if outcome != "no placement found" or not effort:
                return outcome, mix
        likely = list(dict.fromkeys(self._likely(ceiling, most)))
        tightest = max(likely, key=self._tightness)
        if self._at_most is not None and self._at_most.outcome == "fits":
            return "fits", tightest
        failed: tuple[int, ...] | None = None
        for mix in likely:
            outcome = self._pack(mix, effort).outcome
            if outcome == "cannot fit":
                return outcome, mix
            if outcome != "fits" and failed is None:
                failed = mix
        if failed is not None:
            return "no placement found", failed
        if self._pack(most, 0).outcome != "fits":
            return self._try_every(ceiling, most, effort, tightest)
        return "fits", tightest

    def _try_every(
        self, ceiling: int, most: tuple[int, ...], effort: int, tightest: tuple[int, ...]
    ) -> tuple[Outcome, tuple[int, ...]]:
        """Every mix is shown to fit one by one, or by others that ask for more."""
        step = self._step(ceiling, most)
        for mix in self._every(ceiling, most, step) if step else (most,):
            outcome = self._pack(mix, effort if step == 1 else 0).outcome
            if outcome != "fits":
                if step == 1:
                    return outcome, mix
                break
        else:
            return "fits", tightest
        for parts in _PARTS:
            if parts >= len(self._kinds):
                break
            if parts not in self._coarser:
                self._coarser[parts] = _Mixes(self._joined(parts), self._bins)
            if self._coarser[parts]._decide(ceiling, 0)[0] == "fits":  # noqa: SLF001 - of its own class
                return "fits", tightest
        return "no placement found", tightest

    def _joined(self, parts: int) -> list[Share]:
        """So many shares at most, each of which stands for several kinds: as large as the largest, and where all may be."""
        order = sorted(self._kinds, key=lambda kind: (len(kind.useful), kind.size))
        length = -(-len(order) // parts)
        made = []
        for start in range(0, len(order), length):
            kinds = order[start : start + length]
            size = [max(column) for column in zip(*(kind.size for kind in kinds), strict=True)]
            where = frozenset.intersection(*(kind.useful for kind in kinds))
            numbers = [kind.most for kind in kinds]
            most = None if None in numbers else sum(number for number in numbers if number is not None)
            made.append(
                Share(str(start), most, dict(zip(self._names, size, strict=True)), tuple(sorted(where)))
            )
        return made

    def _most(self, ceiling: int | None) -> tuple[int, ...]:
        if ceiling is None:
            return tuple(kind.alone + 1 if kind.most is None else kind.most for kind in self._kinds)
        return tuple(ceiling if kind.most is None else min(ceiling, kind.most) for kind in self._kinds)

    def _likely(self, ceiling: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Mixes that may happen and ask for much: one kind before all others, those that do not even fit alone first."""
        demanding = self._demanding
        too_many = [index for index in demanding if most[index] > self._kinds[index].alone]
        heads = [chain[0] for chain in self._chains[: max(2, min(_HEADS, self._limit))]]
        for first in (*too_many[:1], *heads, *demanding[:1]):
            left = ceiling
            mix = [0] * len(self._kinds)
            for index in (first, *demanding):
                taken = min(left, most[index] - mix[index])
                mix[index] += taken
                left -= taken
            yield tuple(mix)

    def _step(self, ceiling: int, most: Sequence[int]) -> int:
        """1 when there are few enough mixes to look at each, else how many items are taken as one; 0 if none helps."""
        caps = sorted(min(ceiling, sum(most[index] for index in chain)) for chain in self._chains)
        step = 1
        while step < 2 * ceiling:
            if prod(cap // step + 2 for cap in caps[:-1]) <= self._limit:
                return step
            step *= 2
        return 0

    def _every(self, ceiling: int, most: Sequence[int], step: int) -> Iterator[tuple[int, ...]]:
        """For every mix one that asks for at least as much: that mix itself, or one of up to `step` more of each chain."""
        caps = [sum(most[index] for index in chain) for chain in self._chains]
        for counts in _compositions(caps, ceiling, step):
            mix = [0] * len(self._kinds)
            for chain, count in zip(self._chains, counts, strict=True):
                left = count
                for index in chain:
                    mix[index] = min(left, most[index])
                    left -= mix[index]
            yield tuple(mix)

    def _tightness(self, mix: Sequence[int]) -> float:
        return max(self._taken(mix).values(), default=0.0)

    def _taken(self, mix: Sequence[int]) -> dict[str, float]:
        taken = {}
        for number, name in enumerate(self._names):
            asked = sum(count * kind.size[number] for count, kind in zip(mix, self._kinds, strict=True))
            there = self._there[number]
            taken[name] = asked / there if there else float(asked)
        return taken

    @cached_property
    def _demanding(self) -> list[int]:
        """Kinds by how much one item of them takes."""

        def part(index: int) -> float:
            sizes = zip(self._kinds[index].size, self._there, strict=True)
            return max((each / there if there else float(each) for each, there in sizes), default=0.0)

        return sorted(range(len(self._kinds)), key=lambda index: -part(index))

    @cached_property
    def _there(self) -> tuple[int, ...]:
        used = sorted(frozenset[int]().union(*(kind.bins for kind in self._kinds)))
        return tuple(sum([column[index] for index in used]) for column in self._columns)

    # packing

    def _pack(self, mix: tuple[int, ...], effort: int) -> Packing:
        known = self._packings.get((mix, effort))
        if known is None:
            groups = [
                Group(str(index), count, dict(zip(self._names, kind.size, strict=True)), kind.bins)
                for index, (kind, count) in enumerate(zip(self._kinds, mix, strict=True))
            ]
            known = self._packings[mix, effort] = pack(groups, self._bins, effort)
        return known

    def _worst_of(self, mix: Sequence[int], packing: Packing) -> Worst:
        """Kinds as the shares they are made of."""
        counts: dict[str, int] = {}
        queues: list[list[list[int]]] = []
        for kind, count in zip(self._kinds, mix, strict=True):
            left = count
            queue = []
            for index in kind.shares:
                most = self._shares[index].most
                taken = left if most is None else min(left, most)
                left -= taken
                counts[self._shares[index].name] = taken
                queue.append([index, taken])
            queues.append(queue[::-1])
        placed = []
        for part in packing.placed:
            left, queue = part.count, queues[part.group]
            while left:
                taken = min(left, queue[-1][1])
                placed.append(Placed(queue[-1][0], part.bin, taken))
                left -= taken
                queue[-1][1] -= taken
                if not queue[-1][1]:
                    queue.pop()
        missing = {self._shares[index].name: number for queue in queues for index, number in queue if number}
        bound = packing.bound and replace(packing.bound, groups=self._shares_of(packing.bound.groups))
        described = Packing(packing.outcome, tuple(sorted(placed)), bound, missing)
        return Worst(packing.outcome, counts, described, self._taken(mix))

    def _shares_of(self, kinds: Sequence[str]) -> tuple[str, ...]:
        return tuple(
            sorted(self._shares[index].name for kind in kinds for index in self._kinds[int(kind)].shares)
        )


def _chains(kinds: Sequence[_Kind]) -> list[list[int]]:
    """As few chains as there can be, in each of which every kind stands for the next; kinds are sorted that way."""
    after: dict[int, int] = {}
    before: dict[int, int] = {}

    def follow(index: int, tried: set[int]) -> bool:
        for other in range(index + 1, len(kinds)):
            if other not in tried and kinds[index].stands_for(kinds[other]):
                tried.add(other)
                if other not in before or follow(before[other], tried):
                    after[index], before[other] = other, index
                    return True
        return False

    if len(kinds) <= _KINDS:
        for index in range(len(kinds)):
            follow(index, set())
    chains = []
    for index in range(len(kinds)):
        if index not in before:
            chain = [index]
            while chain[-1] in after:
                chain.append(after[chain[-1]])
            chains.append(chain)
    return chains


def _compositions(caps: Sequence[int], total: int, step: int) -> Iterator[tuple[int, ...]]:
    """Counts of chains, rounded up to steps, so that every way to share `total` is covered by one of them."""
    if len(caps) <= 1:
        yield tuple(min(cap, total) for cap in caps)
        return
    total, rest = min(total, sum(caps)), sum(caps[1:])
    # Whoever shares less than there is to share is covered by who shares more.
    least = max(0, total - rest) if step == 1 else 0
    blocks = -(-min(caps[0], total) // step)
    for number in range(-(-least // step), blocks + 1):
        needed = (number - 1) * step + 1 if number else 0
        for others in _compositions(caps[1:], total - needed, step):
            yield (min(caps[0], number * step), *others)


def _exceeds(most: int | None, number: int) -> bool:
    return most is None or most > number
