"""
What providers last listed of each machine, beside what the shard believes.

The two differ while a call is under way, and until a list comes that was read after its answer: only then is what the
provider says newer than what the shard did.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.columns import Fleet, Rows
from remuda.fleet.ports import Changes
from remuda.model.shapes import Shape
from remuda.model.times import Instant

Ints = NDArray[np.int64]
_IS_BOUND = np.isin(np.arange(len(states.STATES)), (states.CONFIGURING, states.CONFIGURED, states.DRAINING))
_COLUMNS: dict[str, Any] = {
    "state": np.int8,
    "cluster": np.int32,
    "need": np.int32,
    "priority": np.int32,
    "since": np.int64,
    "flying": np.int64,
    "touched": np.int64,
    "differs": np.bool_,
}


class Believed(NamedTuple):
    """What a list changed: rows that are as it says now, which of them were in that state before, and rows that are gone."""

    rows: Rows
    same: NDArray[np.bool_]
    gone: Rows


class Listed:
    """Columns with the rows of a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.state = np.zeros(0, np.int8)
        self.cluster = np.zeros(0, np.int32)
        self.need = np.zeros(0, np.int32)
        self.priority = np.zeros(0, np.int32)
        self.since = np.zeros(0, np.int64)
        #: the token of a call that is under way; 0 for none
        self.flying = np.zeros(0, np.int64)
        #: when the last call was answered
        self.touched = np.zeros(0, np.int64)
        #: what is believed may be other than what was listed
        self.differs = np.zeros(0, np.bool_)
        #: row → what it offers, where a list that cannot be believed yet said something new
        self._shapes: dict[int, Shape] = {}

    def fly(self, rows: Rows, tokens: Ints) -> None:
        """Calls for machines are under way."""
        self.flying[rows] = tokens
        self.differs[rows] = True

    def land(self, rows: Rows, tokens: Ints, at: Ints) -> NDArray[np.bool_]:
        """Answers came; which of them were waited for."""
        mine: NDArray[np.bool_] = self.flying[rows] == tokens
        self.flying[rows[mine]] = 0
        self.touched[rows[mine]] = at[mine]
        return mine

    def forget(self, rows: Rows) -> None:
        """Rows hold no machine any more."""
        self.flying[rows] = self.touched[rows] = 0
        self.differs[rows] = False
        for row in rows.tolist() if self._shapes else ():
            self._shapes.pop(row, None)

    def take(self, provider: str, changes: Changes, gone: Rows) -> Believed:
        """Note what a list says, and believe it of every machine that nothing was done to since it was read."""
        if not len(changes) and not len(gone) and not self.differs.any():
            return Believed(gone, np.zeros(0, np.bool_), gone)
        kinds = self._kinds(changes)
        rows = self._fleet.place(changes.ids)
        self._grow()
        cluster, need = self._names(changes)
        self.state[rows], self.cluster[rows], self.need[rows] = changes.state, cluster, need
        self.priority[rows], self.since[rows] = changes.priority, changes.since
        self.differs[rows] = True
        self.state[gone] = states.ABSENT
        self.differs[gone] = True
        ready = self._is_ready(rows, changes.read_at)
        for row, shape in zip(rows[~ready].tolist(), changes.shape[~ready].tolist(), strict=True):
            self._shapes[row] = changes.shapes[shape]
        now = rows[ready]
        earlier = self._earlier(provider, changes.read_at, now)
        absent = self.state[earlier] == states.ABSENT
        lost, earlier = earlier[absent], earlier[~absent]
        return self._believe(
            np.concatenate([now, earlier]), np.concatenate([kinds[ready], self._noted_kinds(earlier)]), lost
        )

    def _believe(self, rows: Rows, kind: NDArray[np.int32], gone: Rows) -> Believed:
        fleet = self._fleet
        state, cluster = self.state[rows], self.cluster[rows]
        # What was adopted since is noted in the fleet and nowhere else.
        own = (cluster >= 0) & (fleet.cluster[rows] == cluster) & (fleet.need[rows] >= 0)
        own &= _IS_BOUND[fleet.state[rows]] & _IS_BOUND[state]
        same = fleet.state[rows] == state
        columns: dict[str, NDArray[Any]] = {
            "kind": kind,
            "state": state,
            "cluster": cluster,
            "need": np.where(own, fleet.need[rows], self.need[rows]),
            "priority": np.where(own, fleet.priority[rows], self.priority[rows]),
            "since": self.since[rows],
        }
        # A list that says again what is known changes nothing, and so nothing is decided anew.
        news = np.zeros(len(rows), np.bool_)
        for name, values in columns.items():
            news |= getattr(fleet, name)[rows] != values
        fleet.put(rows[news], **{name: values[news] for name, values in columns.items()})
        self.differs[rows] = False
        return Believed(rows, same, gone)

    def _is_ready(self, rows: Rows, read_at: Instant) -> NDArray[np.bool_]:
        ready: NDArray[np.bool_] = (self.flying[rows] == 0) & (self.touched[rows] <= read_at)
        return ready

    def _earlier(self, provider: str, read_at: Instant, now: Rows) -> Rows:
        """Machines that an earlier list spoke of and this one leaves as they were, which can be believed now."""
        fleet = self._fleet
        rows = np.flatnonzero(self.differs)
        if not len(rows) or provider not in fleet.kinds.providers:
            return np.zeros(0, np.int64)
        fleet.kinds.columns()
        mine = fleet.kinds.provider[fleet.kind[rows]] == fleet.kinds.providers.index(provider)
        mine &= fleet.state[rows] != states.ABSENT
        mine &= self._is_ready(rows, read_at)
        if len(now):
            is_now = np.zeros(len(self.differs), np.bool_)
            is_now[now] = True
            mine &= ~is_now[rows]
        found: Rows = rows[mine]
        return found

    def _kinds(self, changes: Changes) -> NDArray[np.int32]:
        """The kinds of what is listed, each shape looked up once."""
        used, place = np.unique(changes.shape, return_inverse=True)
        numbers = [self._fleet.kinds.number(changes.shapes[shape]) for shape in used.tolist()]
        return np.array(numbers, np.int32)[place] if len(place) else np.zeros(0, np.int32)

    def _noted_kinds(self, rows: Rows) -> NDArray[np.int32]:
        kinds = self._fleet.kind[rows].copy()
        for place, row in enumerate(rows.tolist() if self._shapes else ()):
            shape = self._shapes.pop(row, None)
            if shape is not None:
                kinds[place] = self._fleet.kinds.number(shape)
        return kinds

    def _names(self, changes: Changes) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The numbers of clusters and needs, each name looked up once."""
        names = self._fleet.names
        used, place = np.unique(changes.binding, return_inverse=True)
        clusters, needs = [], []
        for number in used.tolist():
            cluster, need = changes.bindings[number] if number >= 0 else ("", "")
            clusters.append(names.cluster(cluster))
            needs.append(names.need(clusters[-1], need))
        if not len(place):
            return np.zeros(0, np.int32), np.zeros(0, np.int32)
        return np.array(clusters, np.int32)[place], np.array(needs, np.int32)[place]

    def _grow(self) -> None:
        """As many rows as the fleet has."""
        have, rows = len(self.state), self._fleet.rows
        if rows <= have:
            return
        for name, kind in _COLUMNS.items():
            grown = np.zeros(rows + rows // 8, kind)
            grown[:have] = getattr(self, name)
            setattr(self, name, grown)
