"""
A recorded fleet as it is counted: of each machine its state, kind and cluster, and what every need asks for.

`remuda.fleet.journal.Restored` has all of a fleet, ids included, which for half a million machines takes a second to put together.
Counting needs a fifth of it, and what is known of one cycle goes on to the next.
"""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from remuda.fleet.demand import Held, Size
from remuda.fleet.journal import DEMAND, Everything, Recount, Splice
from remuda.fleet.states import ABSENT
from remuda.model.shapes import Shape

Ints = NDArray[np.int64]
_COLUMNS: dict[str, Any] = {"state": np.int8, "kind": np.int32, "cluster": np.int32}
#: what is counted of needs
_ASKED = ("code", "cluster", "priority", "count")


class CountedColumns(Struct, frozen=True):
    """Of the columns of a record those that are counted."""

    state: bytes = b""
    kind: bytes = b""
    cluster: bytes = b""


class CountedRecord(Struct, frozen=True, kw_only=True):
    """A `remuda.fleet.journal.Record` without what is not counted, which reading then passes over."""

    is_checkpoint: bool
    is_complete: bool
    rows: int
    changed: bytes
    columns: CountedColumns
    shapes: dict[int, Shape]
    clusters: list[str]
    needs: list[str]
    need_cluster: list[int]
    demand: list[Splice | Recount | Everything]
    heard: dict[int, Size | None]
    held: dict[int, Held]


class Standing:
    """What a checkpoint and the records after it add up to."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.is_complete = False
        self.state: NDArray[np.int8] = np.zeros(0, np.int8)
        self.kind: NDArray[np.int32] = np.zeros(0, np.int32)
        self.cluster: NDArray[np.int32] = np.zeros(0, np.int32)
        self.shapes: list[Shape] = []
        self.clusters: list[str] = []
        self.needs: list[str] = []
        self.need_cluster: list[int] = []
        #: code, cluster, priority and count of each need
        self.asked: dict[str, NDArray[Any]] = {name: np.zeros(0, DEMAND[name]) for name in _ASKED}
        #: the needs that are expressed as a sum, by number
        self.sums: set[int] = set()
        self.heard: set[int] = set()
        self.held: set[int] = set()

    def apply(self, record: CountedRecord) -> None:
        """Go one record on; a checkpoint begins anew. What does not fit together is a `ValueError`, or one of its kin."""
        if record.is_checkpoint:
            self._begin()
        self.is_complete = record.is_complete
        # Who looks at an earlier cycle has the lists of then.
        if record.clusters:
            self.clusters = [*self.clusters, *record.clusters]
        if record.needs:
            self.needs = [*self.needs, *record.needs]
            self.need_cluster = [*self.need_cluster, *record.need_cluster]
        for number, shape in sorted(record.shapes.items()):
            if number == len(self.shapes):
                self.shapes.append(shape)
            else:
                self.shapes[number] = shape
        changed = slice(None) if record.is_checkpoint else np.frombuffer(record.changed, np.int32)
        for name, kind in _COLUMNS.items():
            column = self._grown(name, kind, record.rows)
            data = getattr(record.columns, name)
            if data or record.is_checkpoint:
                values = np.frombuffer(data, kind)
                if len(values) != len(column[changed]):
                    raise ValueError(f"{len(values)} values of {name} for {len(column[changed])} machines")
                column[changed] = values
        for edit in record.demand:
            self._edit(edit)
        for number, size in record.heard.items():
            (self.heard.discard if size is None else self.heard.add)(number)
        self.held = set(record.held)

    def _grown(self, name: str, kind: Any, rows: int) -> NDArray[Any]:
        column: NDArray[Any] = getattr(self, name)
        if rows > len(column):
            empty = {"state": ABSENT, "kind": 0, "cluster": -1}[name]
            column = np.concatenate([column, np.full(rows - len(column), empty, kind)])
            setattr(self, name, column)
        return column

    def _edit(self, edit: Splice | Recount | Everything) -> None:
        asked = self.asked
        match edit:
            case Recount(rows=rows, counts=counts):
                count = asked["count"].copy()
                count[np.frombuffer(rows, np.int64)] = np.frombuffer(counts, np.int64)
                self.asked = {**asked, "count": count}
            case Everything(columns=columns, totals=totals):
                self.asked = {name: np.frombuffer(columns[name], DEMAND[name]) for name in _ASKED}
                self.sums = set(totals)
            case Splice(clusters=clusters, added=added, totals=totals):
                goes = np.isin(asked["cluster"], np.frombuffer(clusters, np.int32))
                self.sums = (self.sums - set(asked["code"][goes].tolist())) | set(totals)
                self.asked = {
                    name: np.concatenate([asked[name][~goes], np.frombuffer(added[name], DEMAND[name])])
                    for name in _ASKED
                }
