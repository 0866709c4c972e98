"""How many machines there are of each kind, in each state, for each cluster."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states

Ints = NDArray[np.int64]
#: Cells up to which the counts are one dense array; beyond, only those that occur are kept.
_DENSE = 1 << 22


class Census:
    """
    Counts by (kind, state, cluster), kept as machines change, so that a decision need not look at every machine.

    Cluster −1 is no cluster. Small tables are dense; where kinds × clusters is large, only what occurs is kept.
    """

    def __init__(self) -> None:
        self._kinds = 0
        self._clusters = 0
        self._dense: Ints | None = np.zeros((0, states.COUNT, 1), np.int64)
        self._sparse: dict[int, int] = {}

    def rebuild(self, kind: NDArray[np.int32], state: NDArray[np.int8], cluster: NDArray[np.int32]) -> None:
        """Count all rows anew."""
        key = self._key(kind, state, cluster)
        if self._dense is not None:
            shape = (self._kinds, states.COUNT, self._clusters + 1)
            self._dense = np.bincount(key, minlength=int(np.prod(shape))).reshape(shape)
            return
        keys, counts = np.unique(key, return_counts=True)
        self._sparse = dict(zip(keys.tolist(), counts.tolist(), strict=True))

    def fit(self, kinds: int, clusters: int) -> bool:
        """Make room for so many kinds and clusters; False when the caller must rebuild because the table changed."""
        if kinds <= self._kinds and clusters <= self._clusters:
            return True
        self._kinds = max(kinds, self._kinds, min(2 * self._kinds, 64))
        self._clusters = max(clusters, self._clusters, min(2 * self._clusters, 64))
        cells = self._kinds * states.COUNT * (self._clusters + 1)
        self._dense = np.zeros((0, 0, 0), np.int64) if cells <= _DENSE else None
        self._sparse = {}
        return False

    def move(
        self, kind: NDArray[np.int32], state: NDArray[np.int8], cluster: NDArray[np.int32], by: int
    ) -> None:
        """Add `by` for each of the rows given; duplicates count."""
        key = self._key(kind, state, cluster)
        if self._dense is not None:
            if len(key) > 64:
                np.add.at(self._dense.reshape(-1), key, by)
            else:
                flat = self._dense.reshape(-1)
                for one in key.tolist():
                    flat[one] += by
            return
        for one in key.tolist():
            count = self._sparse.get(one, 0) + by
            if count:
                self._sparse[one] = count
            else:
                self._sparse.pop(one, None)

    def of(self, kind: int, state: int, cluster: int) -> int:
        """Machines of one kind in one state for one cluster."""
        if self._dense is not None:
            inside = kind < self._dense.shape[0] and cluster + 1 < self._dense.shape[2]
            return int(self._dense[kind, state, cluster + 1]) if inside else 0
        return self._sparse.get((kind * states.COUNT + state) * (self._clusters + 1) + cluster + 1, 0)

    def by_kind_and_state(self, kinds: int) -> Ints:
        """A table of kind × state."""
        if self._dense is not None:
            table: Ints = self._dense.sum(axis=2)
        else:
            table = self._sum(lambda key: key // (self._clusters + 1), self._kinds * states.COUNT)
            table = table.reshape(self._kinds, states.COUNT)
        return _grown(table, kinds)

    def by_cluster_and_state(self, clusters: int) -> Ints:
        """A table of cluster × state, without what serves no cluster."""
        width = self._clusters + 1
        if self._dense is not None:
            table: Ints = self._dense.sum(axis=0).T[1:]
        else:
            flat = self._sum(
                lambda key: key // width % states.COUNT * width + key % width, states.COUNT * width
            )
            table = flat.reshape(states.COUNT, width).T[1:]
        return _grown(table, clusters)

    def _key(self, kind: NDArray[np.int32], state: NDArray[np.int8], cluster: NDArray[np.int32]) -> Ints:
        key = kind.astype(np.int64)
        key *= states.COUNT
        key += state
        key *= self._clusters + 1
        key += cluster
        key += 1
        return key

    def _sum(self, part: Callable[[Ints], Ints], size: int) -> Ints:
        keys = np.fromiter(self._sparse.keys(), np.int64, len(self._sparse))
        counts = np.fromiter(self._sparse.values(), np.int64, len(self._sparse))
        table = np.zeros(size, np.int64)
        np.add.at(table, part(keys), counts)
        return table


def _grown(table: Ints, rows: int) -> Ints:
    """The table with exactly so many rows."""
    if len(table) >= rows:
        return table[:rows]
    return np.vstack([table, np.zeros((rows - len(table), table.shape[1]), np.int64)])
