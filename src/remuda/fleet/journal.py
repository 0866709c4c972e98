"""
A fleet and its demand as they are recorded: all of it once, and from then on what changed.

What changed is kept as rows and not as happenings, so that whatever changed a row, the recorded one is equal to it.
The columns record in a `Journal` what they change; `Restored` puts records together again.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from remuda.fleet.columns import COLUMNS, Fleet, Rows
from remuda.fleet.demand import Demand, Held, Size
from remuda.fleet.names import Names
from remuda.fleet.profiles import Profile
from remuda.model.shapes import Shape

#: The columns of a demand and their types.
DEMAND = {
    "code": np.int32,
    "cluster": np.int32,
    "profile": np.int32,
    "priority": np.int32,
    "count": np.int64,
    "arrival": np.int64,
    "interruption_penalty": np.int64,
    "reclamation_penalty": np.int64,
}


class Splice(Struct, frozen=True, tag=True):
    """The rows of some clusters went, and others came at the end."""

    clusters: bytes
    added: dict[str, bytes]
    totals: dict[int, dict[str, int]]


class Recount(Struct, frozen=True, tag=True):
    """Some rows ask for other numbers of units."""

    rows: bytes
    counts: bytes


class Everything(Struct, frozen=True, tag=True):
    """All rows there are."""

    columns: dict[str, bytes]
    totals: dict[int, dict[str, int]]


class Record(Struct, frozen=True, kw_only=True):
    """
    What changed of a fleet and its demand since the record before, or with `is_checkpoint` all of it.

    Lists of names go on where those before ended.
    """

    is_checkpoint: bool
    #: every provider was read since the shard started
    is_complete: bool
    #: how many rows there are, which of them changed, and their columns
    rows: int
    changed: bytes
    columns: dict[str, bytes]
    #: rows whose machine is another, and which
    renamed: bytes
    ids: list[str]
    shapes: dict[int, Shape]
    resources: list[str]
    providers: list[str]
    clusters: list[str]
    needs: list[str]
    need_cluster: list[int]
    profiles: list[Profile]
    demand: list[Splice | Recount | Everything]
    #: clusters that were heard, and that are not any more
    heard: dict[int, Size | None]
    held: dict[int, Held]

    @property
    def is_empty(self) -> bool:
        """Nothing changed."""
        return not (
            self.is_checkpoint or self.changed or self.shapes or self.clusters or self.needs or self.profiles or self.demand
            or self.heard
        )  # fmt: skip


class Journal:
    """What a fleet and its demand changed since it was last taken."""

    def __init__(self, fleet: Fleet, demand: Demand) -> None:
        self._fleet, self._demand = fleet, demand
        self._rows: list[Rows] = []
        self._renamed: list[Rows] = []
        self._edits: list[Splice | Recount | Everything] = []
        self._heard: set[int] = set()
        self._held: dict[int, Held] = {}
        self._kinds = -1
        self._shapes: list[Shape] = []
        self._known = (0, 0, 0)
        fleet.journal = self
        demand.journal = self

    def rows(self, rows: Rows) -> None:
        """Rows of the fleet changed."""
        self._rows.append(rows)

    def renamed(self, rows: Rows) -> None:
        """Rows of the fleet have another machine, or none."""
        self._renamed.append(rows)

    def spliced(self, clusters: NDArray[np.int32], added: int, totals: dict[int, dict[str, int]]) -> None:
        """The demand of clusters was replaced by its last rows."""
        tail = slice(len(self._demand) - added, None)
        self._edits.append(Splice(clusters.tobytes(), _packed(self._demand, DEMAND, tail), totals))

    def recounted(self, rows: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Needs ask for other numbers of units."""
        self._edits.append(Recount(rows.astype(np.int64).tobytes(), counts.astype(np.int64).tobytes()))

    def replaced(self) -> None:
        """All demand is another."""
        self._edits = [_everything(self._demand)]
        self._heard.update(self._demand.heard)

    def heard(self, clusters: Sequence[int]) -> None:
        """What is known of clusters as a whole changed."""
        self._heard.update(clusters)

    def take(self, *, is_complete: bool) -> Record:
        """What changed since the last time."""
        rows = np.unique(np.concatenate(self._rows)) if self._rows else np.zeros(0, np.int64)
        renamed = np.unique(np.concatenate(self._renamed)) if self._renamed else np.zeros(0, np.int64)
        ids = [self._fleet.ids[row] for row in renamed.tolist()]
        columns = _packed(self._fleet, COLUMNS, rows) if len(rows) else {}
        heard = {number: self._demand.heard.get(number) for number in sorted(self._heard)}
        record = self._record(False, is_complete, rows, columns, renamed, ids, self._edits, heard)
        self._clear()
        return record

    def checkpoint(self, *, is_complete: bool) -> Record:
        """Everything."""
        self._kinds, self._shapes, self._known = -1, [], (0, 0, 0)
        none = np.zeros(0, np.int64)
        columns = _packed(self._fleet, COLUMNS, slice(None))
        demand: list[Splice | Recount | Everything] = [_everything(self._demand)]
        record = self._record(
            True, is_complete, none, columns, none, list(self._fleet.ids), demand, dict(self._demand.heard)
        )
        self._clear()
        return record

    def _record(
        self,
        is_checkpoint: bool,  # noqa: FBT001 - of the two methods above
        is_complete: bool,  # noqa: FBT001
        changed: Rows,
        columns: dict[str, bytes],
        renamed: Rows,
        ids: list[str],
        demand: list[Splice | Recount | Everything],
        heard: dict[int, Size | None],
    ) -> Record:
        fleet, names = self._fleet, self._fleet.names
        clusters, needs, profiles = self._known
        return Record(
            is_checkpoint=is_checkpoint,
            is_complete=is_complete,
            rows=fleet.rows,
            changed=changed.astype(np.int32).tobytes(),
            columns=columns,
            renamed=renamed.astype(np.int32).tobytes(),
            ids=ids,
            shapes=self._new_shapes(),
            resources=list(fleet.kinds.resources),
            providers=list(fleet.kinds.providers),
            clusters=names.clusters[clusters:],
            needs=names.needs[needs:],
            need_cluster=names.need_cluster[needs:],
            profiles=self._demand.profiles.all[profiles:],
            demand=demand,
            heard=heard,
            held=dict(self._demand.held),
        )

    def _new_shapes(self) -> dict[int, Shape]:
        kinds = self._fleet.kinds
        if kinds.revision == self._kinds:
            return {}
        before = self._shapes
        found = {
            number: shape
            for number, shape in enumerate(kinds.shapes)
            if number >= len(before) or before[number] is not shape
        }
        self._kinds, self._shapes = kinds.revision, list(kinds.shapes)
        return found

    def _clear(self) -> None:
        names = self._fleet.names
        self._rows, self._renamed, self._edits = [], [], []
        self._heard = set()
        self._known = (len(names.clusters), len(names.needs), len(self._demand.profiles.all))


class Restored:
    """A fleet and its demand put together from a checkpoint and the records after it."""

    def __init__(self) -> None:
        self.fleet = Fleet(Names())
        self.demand = Demand(self.fleet)
        self.is_complete = False

    def apply(self, record: Record) -> None:
        """Go one record on."""
        fleet, demand, names = self.fleet, self.demand, self.fleet.names
        self.is_complete = record.is_complete
        names.extend(record.clusters, record.needs, record.need_cluster)
        fleet.kinds.restore(record.shapes, record.resources, record.providers)
        if record.is_checkpoint:
            fleet.restore(np.arange(record.rows), record.ids, record.rows)
            changed = np.arange(record.rows)
        else:
            fleet.restore(_unpacked(record.renamed, np.int32), record.ids, record.rows)
            changed = _unpacked(record.changed, np.int32).astype(np.int64)
        for name, data in record.columns.items():
            column: NDArray[Any] = getattr(fleet, name)
            column[changed] = np.frombuffer(data, column.dtype)
        fleet.recount()
        fleet.revision += 1
        demand.profiles.extend(record.profiles)
        for edit in record.demand:
            self._edit(edit)
        for number, size in record.heard.items():
            if size is None:
                demand.heard.pop(number, None)
            else:
                demand.heard[number] = size
        demand.held = dict(record.held)
        demand.revision += 1

    def _edit(self, edit: Splice | Recount | Everything) -> None:
        demand = self.demand
        match edit:
            case Recount(rows=rows, counts=counts):
                demand.count[_unpacked(rows, np.int64)] = _unpacked(counts, np.int64)
            case Everything(columns=columns, totals=totals):
                for name, kind in DEMAND.items():
                    setattr(demand, name, _unpacked(columns[name], kind))
                demand.totals = dict(totals)
            case Splice(clusters=clusters, added=added, totals=totals):
                goes = np.isin(demand.cluster, _unpacked(clusters, np.int32))
                for code in demand.code[goes].tolist():
                    demand.totals.pop(code, None)
                for name, kind in DEMAND.items():
                    stays = getattr(demand, name)[~goes]
                    setattr(demand, name, np.concatenate([stays, _unpacked(added[name], kind)]))
                demand.totals.update(totals)


def _everything(demand: Demand) -> Everything:
    return Everything(_packed(demand, DEMAND, slice(None)), dict(demand.totals))


def _packed(owner: object, names: Any, places: Any) -> dict[str, bytes]:
    return {name: np.ascontiguousarray(getattr(owner, name)[places]).tobytes() for name in names}


def _unpacked(data: bytes, kind: Any) -> NDArray[Any]:
    return np.frombuffer(data, kind).copy()
