"""
A fleet that is never the same twice: each delta changes one machine and one need in a hundred.

As many machines are new as fail or go, of the same shapes, and needs only give back and ask again for what they had, so
that there is always a machine for every unit and the right number of actions follows from counting.
"""

from dataclasses import dataclass

import numpy as np

from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.fleet.demand import Demand
from remuda.fleet.workloads.uniform import aggregate
from remuda.fleet.workloads.workload import Expected, Long, Short, Workload
from remuda.model.times import Instant

#: One machine, one need, and one unit of each of those in so many.
ONE_IN = 100


@dataclass(frozen=True, slots=True)
class ChurnDelta:
    """What providers and clusters report: machines by id, needs by cluster and name."""

    #: serve nobody any more
    idle: list[str]
    failed: list[str]
    gone: list[str]
    new: list[str]
    kind: Short
    #: (cluster, need, units)
    counts: list[tuple[str, str, int]]

    @property
    def grows(self) -> int:
        """How many machines there are more once it is applied."""
        return len(self.new) - len(self.gone)

    def apply(self, fleet: Fleet, demand: Demand, at: Instant) -> None:
        """Look up what it names, and change it."""
        fleet.change(fleet.rows_of(self.idle), states.IDLE, at, cluster=-1, need=-1, priority=0, claim=-1)
        fleet.change(fleet.rows_of(self.failed), states.FAILED, at, cluster=-1, need=-1, priority=0, claim=-1)
        fleet.remove(self.gone)
        count = len(self.new)
        nobody = np.full(count, -1, np.int32)
        fleet.load(
            self.new,
            kind=self.kind,
            state=np.full(count, states.IDLE, np.int8),
            cluster=nobody,
            need=nobody,
            priority=np.zeros(count, np.int32),
            since=np.full(count, at, np.int64),
        )
        rows = np.array([demand.row(cluster, need) for cluster, need, _ in self.counts], np.int64)
        demand.recount(rows, np.array([units for _, _, units in self.counts], np.int64))

    def expected(self, fleet: Fleet, demand: Demand) -> Expected:
        """
        Every unit that is missing is one action, and so is every machine too many.

        One that another need of the cluster takes over is one action, not two.
        """
        profiles = len(demand.profiles.all)
        held = np.bincount(
            demand.row_of()[fleet.need[fleet.state == states.CONFIGURED]], minlength=len(demand)
        )
        missing, over = np.maximum(demand.count - held, 0), np.maximum(held - demand.count, 0)
        cell = demand.cluster.astype(np.int64) * profiles + demand.profile
        missing_in, over_in = _sum(missing, cell, profiles), _sum(over, cell, profiles)
        adopted = np.minimum(missing_in, over_in)
        surplus = (over_in - adopted).sum(axis=1)
        configured = fleet.census.by_cluster_and_state(len(fleet.names.clusters))[:, states.CONFIGURED]
        if (surplus > np.maximum(1, configured[: len(surplus)] // 20)).any():
            return Expected()
        demand.profiles.tables()
        spare = demand.profiles.fit @ fleet.census.by_kind_and_state(len(fleet.kinds))[:, states.IDLE]
        if ((missing_in - adopted).sum(axis=0) > spare).any():
            return Expected()
        return Expected(int(missing.sum() + surplus.sum()), 0)


class Churn:
    """Draws the deltas. The same seed draws the same from the same fleet."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._made = 0
        #: demand rows that asked for more before the last delta, and how much
        self._less: tuple[Long, Long] | None = None

    def delta(self, fleet: Fleet, demand: Demand) -> ChurnDelta:
        """The next one: a quarter goes idle, and as many are new as fail or go."""
        changes = max(4, len(fleet) // ONE_IN)
        idle = changes // 4
        new = (changes - idle) // 2
        serving = np.flatnonzero(fleet.state == states.CONFIGURED)
        rows = self._random.choice(serving, min(idle + new, len(serving)), replace=False)
        idle = min(idle, len(rows))
        lost = rows[idle:]
        first, self._made = self._made, self._made + len(lost)
        return ChurnDelta(
            idle=_ids(fleet, rows[:idle]),
            failed=_ids(fleet, lost[: len(lost) // 2]),
            gone=_ids(fleet, lost[len(lost) // 2 :]),
            new=[f"churned-{number:08}" for number in range(first, self._made)],
            kind=fleet.kind[lost],
            counts=self._counts(demand),
        )

    def _counts(self, demand: Demand) -> list[tuple[str, str, int]]:
        """Some needs ask for less, and with the next delta for what they had."""
        if self._less is None:
            rows = np.sort(
                self._random.choice(len(demand), max(1, len(demand) // ONE_IN), replace=False)
            ).astype(np.int64)
            self._less = (rows, demand.count[rows])
            counts = np.maximum(1, self._less[1] - np.maximum(1, self._less[1] // ONE_IN))
        else:
            rows, counts = self._less
            self._less = None
        names = demand.names
        return [
            (names.clusters[demand.cluster[row]], names.needs[demand.code[row]], count)
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
        ]


def churn(name: str, machines: int, seed: int) -> Workload:
    """An aggregate workload, all held, that changes."""
    workload = aggregate(name, machines, warm=True)
    workload.changes = Churn(seed)
    return workload


def _ids(fleet: Fleet, rows: Long) -> list[str]:
    """The ids of rows as they come from outside: equal texts, not the same objects, which would be found faster."""
    return [fleet.ids[row].encode().decode() for row in rows.tolist()]


def _sum(values: Long, cell: Long, width: int) -> Long:
    """The sum of each cell, as cluster × profile."""
    summed = np.bincount(cell, weights=values, minlength=-(-int(cell.max() + 1) // width) * width)
    return summed.astype(np.int64).reshape(-1, width)
