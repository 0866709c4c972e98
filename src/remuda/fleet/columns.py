"""
A fleet as columns: one row per machine, one array per fact.

One writer changes it between decisions, never during one. Ids are strings at the edge and rows inside; a row whose
machine is gone is used again.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.census import Census
from remuda.fleet.kinds import Kinds
from remuda.fleet.names import Names
from remuda.model.shapes import FleetMachine
from remuda.model.times import Instant

if TYPE_CHECKING:
    from remuda.fleet.journal import Journal

Rows = NDArray[np.int64]

#: The columns, and what a row without a machine holds.
COLUMNS = {
    "state": states.ABSENT, "kind": 0, "cluster": -1, "need": -1, "priority": 0, "claim": -1, "since": 0, "not_before": 0,
}  # fmt: skip


class Fleet:
    """
    The machines of a fleet.

    `incarnation` and `revision` together say which content this is: whoever fills a new fleet gives it another
    incarnation, and every change counts the revision up. A decision that found nothing to do remembers both, and
    need not look again.
    """

    def __init__(self, names: Names, incarnation: int = 0) -> None:
        self.names = names
        self.kinds = Kinds()
        self.census = Census()
        self.incarnation = incarnation
        self.revision = 0
        self.ids: list[str] = []
        self.state = np.zeros(0, np.int8)
        self.kind = np.zeros(0, np.int32)
        #: whom it serves; −1 for nobody
        self.cluster = np.zeros(0, np.int32)
        #: the need it serves; −1 for none
        self.need = np.zeros(0, np.int32)
        #: that need's priority when it was given
        self.priority = np.zeros(0, np.int32)
        #: the need it is meant for once it is idle; −1 for none
        self.claim = np.zeros(0, np.int32)
        #: when it entered its state
        self.since = np.zeros(0, np.int64)
        #: nothing is tried on it before, after something failed
        self.not_before = np.zeros(0, np.int64)
        #: the recorder of every change, if there is one
        self.journal: Journal | None = None
        self._rows: dict[str, int] = {}
        self._vacant: list[int] = []
        #: what the columns are the beginnings of: a few more rows do not copy all there are
        self._room: dict[str, NDArray[Any]] = {}

    def __len__(self) -> int:
        """Machines, not rows."""
        return len(self._rows)

    @property
    def rows(self) -> int:
        """Rows, those that are vacant included."""
        return len(self.ids)

    def row(self, machine: str) -> int:
        """The row of a machine; −1 when there is none of that id."""
        return self._rows.get(machine, -1)

    def rows_of(self, machines: Iterable[str]) -> Rows:
        """The rows of machines; −1 where there is none of that id."""
        return np.fromiter(map(self._rows.get, machines, repeat(-1)), np.int64)

    def upsert(self, machines: Sequence[FleetMachine]) -> Rows:
        """
        Add machines, or change those there are; their rows in the same order.

        What is known only here (a claim, a wait after a failure) stays while the state does. `intake` checks what
        comes from outside before it comes here.
        """
        count = len(machines)
        kinds = len(self.kinds)
        cluster = self.names.cluster
        clusters = [cluster(machine.cluster) for machine in machines]
        need = self.names.need
        rows = self.load(
            [machine.id for machine in machines],
            kind=np.fromiter((self.kinds.number(machine.shape) for machine in machines), np.int32, count),
            state=np.fromiter((states.NUMBERS[machine.state] for machine in machines), np.int8, count),
            cluster=np.array(clusters, np.int32),
            need=np.fromiter(
                (need(where, machine.need) for where, machine in zip(clusters, machines, strict=True)),
                np.int32,
                count,
            ),
            priority=np.fromiter((machine.priority for machine in machines), np.int32, count),
            since=np.fromiter((machine.since for machine in machines), np.int64, count),
        )
        if len(self.kinds) > max(kinds, 64):
            self._retire_kinds()
        return rows

    def load(
        self,
        ids: Sequence[str],
        *,
        kind: NDArray[np.int32],
        state: NDArray[np.int8],
        cluster: NDArray[np.int32],
        need: NDArray[np.int32],
        priority: NDArray[np.int32],
        since: NDArray[np.int64],
    ) -> Rows:
        """The same from columns. An id that comes twice ends as it came last."""
        places, distinct = self._rows_for(ids)
        rows = places
        if not distinct:
            _, last = np.unique(rows[::-1], return_index=True)
            keep = len(rows) - 1 - last
            rows, kind, state, cluster, need, priority, since = (
                rows[keep], kind[keep], state[keep], cluster[keep], need[keep], priority[keep], since[keep],
            )  # fmt: skip
        self.put(rows, kind=kind, state=state, cluster=cluster, need=need, priority=priority, since=since)
        return places

    def place(self, ids: Sequence[str]) -> Rows:
        """The rows of machines, made for those that have none; `put` says what is in them."""
        return self._rows_for(ids)[0]

    def put(
        self,
        rows: Rows,
        *,
        kind: NDArray[np.int32],
        state: NDArray[np.int8],
        cluster: NDArray[np.int32],
        need: NDArray[np.int32],
        priority: NDArray[np.int32],
        since: NDArray[np.int64],
    ) -> None:
        """Change distinct rows as `load` does."""
        if not len(rows):
            return
        self._count(rows, -1)
        before = self.state[rows]
        changed = before != state
        arrived = ((before == states.CREATING) | (before == states.DRAINING)) & (state == states.IDLE)
        self.claim[rows[changed & ~arrived]] = -1
        self.not_before[rows[changed]] = 0
        self.kind[rows], self.state[rows], self.cluster[rows] = kind, state, cluster
        self.need[rows], self.priority[rows], self.since[rows] = need, priority, since
        self._count(rows, 1)
        self._changed(rows)

    def replace(
        self,
        *,
        kind: NDArray[np.int32],
        state: NDArray[np.int8],
        cluster: NDArray[np.int32],
        need: NDArray[np.int32],
        priority: NDArray[np.int32],
        since: NDArray[np.int64],
    ) -> None:
        """Replace every column of the rows there are, as after a full list, and count anew; ids stay."""
        for column, values in (
            (self.kind, kind), (self.state, state), (self.cluster, cluster), (self.need, need),
            (self.priority, priority), (self.since, since),
        ):  # fmt: skip
            column[:] = values
        self.claim.fill(-1)
        self.not_before.fill(0)
        self.recount()
        self._changed(np.arange(self.rows))

    def change(
        self,
        rows: Rows,
        state: int,
        at: Instant,
        *,
        cluster: NDArray[np.int32] | int | None = None,
        need: NDArray[np.int32] | int | None = None,
        priority: NDArray[np.int32] | int | None = None,
        claim: NDArray[np.int32] | int | None = None,
    ) -> None:
        """Bring distinct rows into a state, with whom they serve from then on where that changes too."""
        self._count(rows, -1)
        self.state[rows] = state
        self.since[rows] = at
        self.not_before[rows] = 0
        if cluster is not None:
            self.cluster[rows] = cluster
        if need is not None:
            self.need[rows] = need
        if priority is not None:
            self.priority[rows] = priority
        if claim is not None:
            self.claim[rows] = claim
        self._count(rows, 1)
        self._changed(rows)

    def restamp(self, rows: Rows, need: NDArray[np.int32], priority: NDArray[np.int32]) -> None:
        """Note another need of the same cluster on machines that stay as they are."""
        self.need[rows] = need
        self.priority[rows] = priority
        self._changed(rows)

    def delay(self, rows: Rows, until: NDArray[np.int64] | int) -> None:
        """Try nothing on these before `until`, because something failed."""
        self.not_before[rows] = until
        self._changed(rows)

    def remove(self, machines: Iterable[str]) -> int:
        """Forget machines; ids nobody knows are passed over. How many went."""
        pop = self._rows.pop
        gone = [row for machine in machines if (row := pop(machine, -1)) >= 0]
        if not gone:
            return 0
        rows = np.array(gone, np.int64)
        self._count(rows, -1)
        self.state[rows] = states.ABSENT
        self.cluster[rows] = self.need[rows] = self.claim[rows] = -1
        self._count(rows, 1)
        for row in gone:
            self.ids[row] = ""
        self._vacant.extend(sorted(gone, reverse=True))
        self._changed(rows)
        self._renamed(rows)
        self._retire_kinds()
        return len(gone)

    def restore(self, rows: Rows, ids: Sequence[str], count: int) -> None:
        """Make `count` rows of which these have those machines; their columns are the caller's to fill in."""
        if count > self.rows:
            self._grow([""] * (count - self.rows))
        for row, machine in zip(rows.tolist(), ids, strict=True):
            self.ids[row] = machine
        self._rows = {machine: row for row, machine in enumerate(self.ids) if machine}

    def recount(self) -> None:
        """Count all rows anew."""
        self.census.fit(len(self.kinds), len(self.names.clusters))
        self.census.rebuild(self.kind, self.state, self.cluster)

    def _rows_for(self, ids: Sequence[str]) -> tuple[Rows, bool]:
        """The rows of machines, made for those that have none; and whether each came once."""
        if not self.ids:
            numbered = dict(zip(ids, range(len(ids)), strict=True))
            if len(numbered) == len(ids):
                self._rows = numbered
                self._grow(ids)
                self._renamed(np.arange(len(ids)))
                return np.arange(len(ids)), True
        rows = self.rows_of(ids)
        missing = np.flatnonzero(rows < 0)
        if len(missing):
            fresh = list(dict.fromkeys(ids[place] for place in missing.tolist()))
            made = self._make_rows(fresh)
            if len(fresh) == len(missing):
                rows[missing] = made
            else:
                rows[missing] = self.rows_of(ids[place] for place in missing.tolist())
        return rows, len(np.unique(rows)) == len(rows)

    def _make_rows(self, fresh: Sequence[str]) -> Rows:
        """Rows for machines that have none, vacant ones first."""
        again = min(len(self._vacant), len(fresh))
        rows = self._vacant[: -again - 1 : -1]
        del self._vacant[len(self._vacant) - again :]
        rows.extend(range(len(self.ids), len(self.ids) + len(fresh) - again))
        for row, machine in zip(rows[:again], fresh, strict=False):
            self.ids[row] = machine
        self._rows.update(zip(fresh, rows, strict=True))
        self._grow(fresh[again:])
        made = np.array(rows, np.int64)
        self._renamed(made)
        return made

    def _changed(self, rows: Rows) -> None:
        self.revision += 1
        if self.journal is not None:
            self.journal.rows(rows)

    def _renamed(self, rows: Rows) -> None:
        if self.journal is not None and len(rows):
            self.journal.renamed(rows)

    def _grow(self, ids: Sequence[str]) -> None:
        """Add rows that hold no machine yet."""
        if not ids:
            return
        first = len(self.ids)
        self.ids.extend(ids)
        rows = len(self.ids)
        for name, empty in COLUMNS.items():
            column: NDArray[Any] = getattr(self, name)
            if rows > len(self._room.get(name, ())):
                self._room[name] = np.full(rows + rows // 8, empty, column.dtype)
                self._room[name][:first] = column
            setattr(self, name, self._room[name][:rows])
        if not self.census.fit(len(self.kinds), len(self.names.clusters)):
            self.census.rebuild(self.kind, self.state, self.cluster)
        else:
            self._count(np.arange(first, rows), 1)

    def _count(self, rows: Rows, by: int) -> None:
        """Take rows out of the counts, or put them back in."""
        if not self.census.fit(len(self.kinds), len(self.names.clusters)):
            self.census.rebuild(self.kind, self.state, self.cluster)
            if by > 0:
                return
        self.census.move(self.kind[rows], self.state[rows], self.cluster[rows], by)

    def _retire_kinds(self) -> None:
        counts = self.census.by_kind_and_state(len(self.kinds))[:, 1:].sum(axis=1)
        empty = np.flatnonzero(counts == 0)
        if len(empty) * 2 > len(self.kinds):
            self.kinds.retire(empty.tolist())
