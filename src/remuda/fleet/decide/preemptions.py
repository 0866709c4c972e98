"""What preemption takes: which victims for whom, within the rail, and at the end which machines those are."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.decide.victims import Ranking, Victims, graces
from remuda.fleet.decide.work import COMING, DRAINING, IDLE, Work
from remuda.fleet.plan import Block, Op

Ints = NDArray[np.int64]


@dataclass(slots=True)
class Spare:
    """Members of a gang that was taken whole whom its preemptor has no use for; a later preemptor may have."""

    place: int
    number: int
    need: int
    score: int


@dataclass(slots=True)
class Preemptions:
    """
    The list of what is taken, one entry per class of victims and preemptor.

    `room` is how many machines the rail still lets go; what it keeps back is taken out of the victims all the same, so
    that those who come later do not get what was meant for those before them.
    """

    work: Work
    victims: Victims
    #: the most in a minute; None without a rail
    most: int | None
    room: int
    #: kind → machines about to be reclaimed, which are coming anyway
    coming: Ints
    need: list[int] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    score: list[int] = field(default_factory=list)
    spares: list[Spare] = field(default_factory=list)
    held_back: int = 0

    def take(
        self, row: int, lot: int, times: int, ranking: Ranking, rest: int, fit: Ints | None = None
    ) -> int:
        """
        Take a lot so many times for a need that misses `rest` units; the units it really gains.

        `fit` says by kind what a machine gives it where that is less than its profile has.
        """
        victims = self.victims
        victims.left[lot] -= times
        start = int(victims.start[lot])
        size = victims.size[lot]
        score = int(ranking.cost[lot]) - ranking.offset * size
        if not victims.whole[lot]:
            done = min(times, self.room)
            self.room -= done
            self.keep_back(row, times - done)
            units = int(ranking.units[lot])
            self._add(row, start, done, units, score)
            return done * units
        if size > self.room:
            self.keep_back(row, size)
            return 0
        self.room -= size
        fit = self.work.fit[self.work.demand.profile[row]] if fit is None else fit
        gained = 0
        for place in range(start, len(victims.lot)):
            if victims.lot[place] != lot:
                break
            units, number = int(fit[victims.kind[place]]), int(victims.count[place])
            use = min(number, max(0, -(-(rest - gained) // units))) if units else 0
            gained += use * units
            self._add(row, place, use, units, score)
            if number > use:
                self.spares.append(Spare(place, number - use, row, score))
        return gained

    def use_spares(self, row: int, rest: int) -> int:
        """Give a need what was taken with others anyway; the units it gains."""
        victims, gained = self.victims, 0
        fit = self.work.fit[self.work.demand.profile[row]]
        priority = int(self.work.demand.priority[row])
        for spare in self.spares:
            units = int(fit[victims.kind[spare.place]])
            lower = int(victims.priority[victims.group[spare.place]]) < priority
            if units and lower and gained < rest:
                use = min(spare.number, -(-(rest - gained) // units))
                spare.number -= use
                gained += use * units
                self._add(row, spare.place, use, units, spare.score)
        return gained

    def keep_back(self, row: int, machines: int, *, waits: bool = True) -> None:
        """
        Note what the rail keeps from a need.

        While it waits for the rail nobody after it gets anything, else what must go at once would never go. What is
        more than the rail ever lets go does not wait.
        """
        if machines:
            self.held_back += machines
            self.work.withheld[row] = self.work.withheld.get(row, 0) + machines
            self.room = 0 if waits else self.room

    def set_aside(self, inside: NDArray[np.bool_]) -> None:
        """Keep what there is of some kinds, and what is coming, for a gang that counts on it."""
        work = self.work
        work.held_back[inside] += work.free[IDLE][inside]
        for tier in (IDLE, COMING, DRAINING):
            work.free[tier][inside] = 0
        self.coming[inside] = 0

    def taken(self) -> int:
        """How many machines go."""
        return sum(self.number) + sum(spare.number for spare in self.spares)

    def block(self) -> Block:
        """The actions: of each class the lowest rows, in the order they were taken."""
        for spare in self.spares:
            self._add(spare.need, spare.place, spare.number, 0, spare.score)
        self.spares = []
        place, number = np.array(self.place, np.int64), np.array(self.number, np.int64)
        rows, holder, entry = self._machines(place, number)
        need = np.array(self.need, np.int64)[entry]
        fleet, demand = self.work.fleet, self.work.demand
        priority = demand.priority[need].astype(np.int64)
        gap = priority - self.victims.priority[self.victims.group[place[entry]]]
        grace = graces(self.work, gap)
        victim = np.where(holder >= 0, demand.code[holder], fleet.need[rows]).astype(np.int64)
        return Block(
            Op.PREEMPT,
            "fleet.preempted",
            rows,
            demand.code[need].astype(np.int32),
            np.arange(len(rows), dtype=np.int32),
            {
                "priority": priority,
                "gap": gap,
                "victim": victim,
                "units": np.array(self.units, np.int64)[entry],
                "score": np.array(self.score, np.int64)[entry],
                "grace": grace,
            },
            grace,
        )

    def _add(self, row: int, place: int, number: int, units: int, score: int) -> None:
        if number:
            self.need.append(row)
            self.place.append(place)
            self.number.append(number)
            self.units.append(units)
            self.score.append(score)

    def _machines(self, place: Ints, number: Ints) -> tuple[Ints, Ints, Ints]:
        """For each machine taken its row, who holds it, and the entry that takes it."""
        victims = self.victims
        taken_of = np.zeros(len(victims.kind), np.int64)
        np.add.at(taken_of, place, number)
        here = np.flatnonzero(taken_of[victims.where] > 0)
        here = here[np.argsort(victims.where[here], kind="stable")]
        where = victims.where[here]
        begins = np.zeros(len(taken_of), np.int64)
        begins[where[::-1]] = np.arange(len(here))[::-1]
        here = here[np.arange(len(here)) - begins[where] < taken_of[where]]
        by_place = np.argsort(place, kind="stable")
        entry = np.repeat(by_place, number[by_place])
        turn = np.argsort(entry, kind="stable")
        return victims.rows[here[turn]], victims.holder[here[turn]], entry[turn]
