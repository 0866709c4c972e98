"""
The demand of all clusters as columns: one row per need.

A cluster reports its whole demand at once (a roll-up), or changes counts of what it reported. Like a fleet, demand is
changed by one writer between decisions.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from remuda.fleet.columns import Fleet
from remuda.fleet.profiles import Profiles
from remuda.model.units import FleetNeed

if TYPE_CHECKING:
    from remuda.fleet.journal import Journal

Ints = NDArray[np.int64]


class Size(Struct, frozen=True):
    """How much a cluster asks for: rows, and the sum of each resource."""

    rows: int
    resources: dict[str, int]

    def is_under(self, percent: int, other: "Size") -> bool:
        """True when it has less than so many percent of the other's rows, or of any resource."""
        if self.rows * 100 < other.rows * percent:
            return True
        return any(
            self.resources.get(name, 0) * 100 < amount * percent
            for name, amount in other.resources.items()
            if amount
        )


class Held(Struct, frozen=True):
    """A roll-up that is not believed yet, because it asks for so much less than the last."""

    needs: tuple[FleetNeed, ...]
    size: Size
    accepted: Size
    #: how many in a row have said about this
    agreeing: int


class Demand:
    """
    The needs of every cluster, with what was reported and is not believed yet.

    It belongs to a `Fleet`, whose names and kinds it shares.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.names = fleet.names
        self.profiles = Profiles(fleet.kinds)
        self.revision = 0
        #: need number of each row
        self.code = np.zeros(0, np.int32)
        self.cluster = np.zeros(0, np.int32)
        self.profile = np.zeros(0, np.int32)
        #: units; for a need expressed as a sum, 1
        self.count = np.zeros(0, np.int64)
        self.priority = np.zeros(0, np.int32)
        self.arrival = np.zeros(0, np.int64)
        self.interruption_penalty = np.zeros(0, np.int64)
        self.reclamation_penalty = np.zeros(0, np.int64)
        #: resource → amount, of the needs that are expressed as a sum, by need number
        self.totals: dict[int, dict[str, int]] = {}
        #: clusters that reported their demand since this was made, by number, with how much they asked for
        self.heard: dict[int, Size] = {}
        #: what is not believed yet, by cluster
        self.held: dict[int, Held] = {}
        #: the recorder of every change, if there is one
        self.journal: Journal | None = None
        self._row_of = np.zeros(0, np.int32)
        self._row_at = (-1, -1)

    def __len__(self) -> int:
        return len(self.code)

    def put(self, cluster: str, needs: Sequence[FleetNeed]) -> None:
        """Replace a cluster's whole demand. `intake` and `rollups` check what comes from outside before it comes here."""
        number = self.names.cluster(cluster)
        self._splice(np.array([number], np.int32), needs)
        self.heard[number] = size_of(needs)
        self.held.pop(number, None)
        self._heard([number])

    def put_all(self, needs: Mapping[str, Sequence[FleetNeed]]) -> None:
        """Replace the demand of several clusters at once."""
        numbers = np.array([self.names.cluster(cluster) for cluster in needs], np.int32)
        self._splice(numbers, [need for asked in needs.values() for need in asked])
        for number, asked in zip(numbers.tolist(), needs.values(), strict=True):
            self.heard[number] = size_of(asked)
            self.held.pop(number, None)
        self._heard(numbers.tolist())

    def hold(self, cluster: str, held: Held) -> None:
        """Keep a roll-up aside; the last one that was believed goes on."""
        number = self.names.cluster(cluster)
        self.held[number] = held
        self._heard([number])
        self.revision += 1

    def forget(self, cluster: str) -> None:
        """A cluster that is gone: nothing is known of it any more, as if it had never been heard."""
        number = self.names.known_cluster(cluster)
        if number < 0:
            return
        self._splice(np.array([number], np.int32), ())
        self.heard.pop(number, None)
        self.held.pop(number, None)
        self._heard([number])

    def recount(self, rows: Ints, counts: Ints) -> None:
        """Change how many units some needs ask for."""
        self.count[rows] = counts
        self.revision += 1
        if self.journal is not None:
            self.journal.recounted(rows, counts)

    def needs(self) -> dict[str, tuple[FleetNeed, ...]]:
        """What every cluster asks for, as it reported."""
        found: dict[str, list[FleetNeed]] = {self.names.clusters[number]: [] for number in self.heard}
        for row, code in enumerate(self.code.tolist()):
            profile = self.profiles.all[int(self.profile[row])]
            cluster = self.names.clusters[int(self.cluster[row])]
            found.setdefault(cluster, []).append(
                FleetNeed(
                    cluster=cluster,
                    name=self.names.needs[code],
                    unit=dict(profile.unit),
                    count=None if profile.by_sum else int(self.count[row]),
                    total=self.totals.get(code, {}),
                    requirements=profile.requirements,
                    priority=int(self.priority[row]),
                    arrival=int(self.arrival[row]),
                    same=profile.same,
                    spread=profile.spread,
                    separation=profile.separation,
                    interruption_penalty=int(self.interruption_penalty[row]),
                    reclamation_penalty=int(self.reclamation_penalty[row]),
                )
            )
        return {cluster: tuple(needs) for cluster, needs in found.items()}

    def row(self, cluster: str, need: str) -> int:
        """The row of a need; −1 when nobody asks for it."""
        number = self.names.known_cluster(cluster)
        code = self.names.need(number, need) if number >= 0 else -1
        return int(self.row_of()[code]) if code >= 0 else -1

    def row_of(self) -> NDArray[np.int32]:
        """For each need number its row, −1 where nobody asks for it any more; the last entry is for −1, no need."""
        at = (self.revision, len(self.names.needs))
        if self._row_at != at:
            self._row_of = np.full(len(self.names.needs) + 1, -1, np.int32)
            self._row_of[self.code] = np.arange(len(self.code), dtype=np.int32)
            self._row_at = at
        return self._row_of

    def load(
        self,
        needs: Sequence[FleetNeed],
        *,
        of: Ints,
        code: NDArray[np.int32],
        cluster: NDArray[np.int32],
        count: Ints,
        priority: NDArray[np.int32],
    ) -> None:
        """Replace all demand from columns; `needs[of[i]]` says what row i has in common with others."""
        numbers = np.array([self.profiles.number(need) for need in needs], np.int32)
        self.code, self.cluster, self.profile = code, cluster, numbers[of]
        self.count, self.priority = count, priority
        self.arrival = np.array([need.arrival for need in needs], np.int64)[of]
        self.interruption_penalty = np.array([need.interruption_penalty for need in needs], np.int64)[of]
        self.reclamation_penalty = np.array([need.reclamation_penalty for need in needs], np.int64)[of]
        self.totals = {}
        rows = np.bincount(cluster, minlength=len(self.names.clusters))
        sizes = {count: Size(count, {}) for count in np.unique(rows).tolist()}
        self.heard = {number: sizes[count] for number, count in enumerate(rows.tolist()) if count}
        self.held = {}
        self.revision += 1
        if self.journal is not None:
            self.journal.replaced()

    def _heard(self, clusters: Sequence[int]) -> None:
        if self.journal is not None:
            self.journal.heard(clusters)

    def _splice(self, clusters: NDArray[np.int32], needs: Sequence[FleetNeed]) -> None:
        stay = np.flatnonzero(~np.isin(self.cluster, clusters))
        numbers = [self.names.cluster(need.cluster) for need in needs]
        codes = [self.names.need(number, need.name) for number, need in zip(numbers, needs, strict=True)]
        gone = self.code[np.isin(self.cluster, clusters)]
        for code in gone.tolist():
            self.totals.pop(code, None)
        totals = {code: need.total for code, need in zip(codes, needs, strict=True) if need.count is None}
        self.totals.update(totals)

        def joined(column: NDArray[np.int32], values: Sequence[int]) -> NDArray[np.int32]:
            return np.concatenate([column[stay], np.array(values, np.int32)])

        def joined_long(column: Ints, values: Sequence[int]) -> Ints:
            return np.concatenate([column[stay], np.array(values, np.int64)])

        self.code = joined(self.code, codes)
        self.cluster = joined(self.cluster, numbers)
        self.profile = joined(self.profile, [self.profiles.number(need) for need in needs])
        self.priority = joined(self.priority, [need.priority for need in needs])
        self.count = joined_long(self.count, [1 if need.count is None else need.count for need in needs])
        self.arrival = joined_long(self.arrival, [need.arrival for need in needs])
        self.interruption_penalty = joined_long(
            self.interruption_penalty, [need.interruption_penalty for need in needs]
        )
        self.reclamation_penalty = joined_long(
            self.reclamation_penalty, [need.reclamation_penalty for need in needs]
        )
        self.revision += 1
        if self.journal is not None:
            self.journal.spliced(clusters, len(needs), totals)


def size_of(needs: Sequence[FleetNeed]) -> Size:
    """How much needs ask for together."""
    resources: dict[str, int] = {}
    for need in needs:
        asked = (
            need.total
            if need.count is None
            else {name: used * need.count for name, used in need.unit.items()}
        )
        for name, used in asked.items():
            resources[name] = resources.get(name, 0) + used
    return Size(len(needs), dict(sorted(resources.items())))
