"""Names at the edge, numbers inside: clusters and their needs, numbered in the order they were first heard of."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Names:
    """
    Numbers for clusters and for the needs of each. One is shared by a `Fleet` and its `Demand`.

    A number is never used for another name, so a machine that was given to a need long gone is not taken for one that
    serves a newer need.
    """

    def __init__(self) -> None:
        self.clusters: list[str] = []
        self.needs: list[str] = []
        #: the cluster of each need
        self.need_cluster: list[int] = []
        self._cluster_numbers: dict[str, int] = {}
        self._need_numbers: list[dict[str, int]] = []
        self._rank: NDArray[np.int64] = np.zeros(0, np.int64)

    def cluster(self, name: str) -> int:
        """The number of a cluster; −1 for none."""
        if not name:
            return -1
        number = self._cluster_numbers.get(name)
        if number is None:
            number = self._cluster_numbers[name] = len(self.clusters)
            self.clusters.append(name)
            self._need_numbers.append({})
        return number

    def known_cluster(self, name: str) -> int:
        """The number of a cluster that was heard of; −1 else."""
        return self._cluster_numbers.get(name, -1)

    def need(self, cluster: int, name: str) -> int:
        """The number of a cluster's need; −1 for none."""
        if not name or cluster < 0:
            return -1
        numbers = self._need_numbers[cluster]
        number = numbers.get(name)
        if number is None:
            number = numbers[name] = len(self.needs)
            self.needs.append(name)
            self.need_cluster.append(cluster)
        return number

    def extend(self, clusters: Sequence[str], needs: Sequence[str], need_cluster: Sequence[int]) -> None:
        """Go on with names that were numbered elsewhere, in the order of their numbers."""
        for name in clusters:
            self.cluster(name)
        for cluster, name in zip(need_cluster, needs, strict=True):
            self.need(cluster, name)

    def subject(self, need: int) -> str:
        """How reasons name a need: `need/CLUSTER/NAME`."""
        return f"need/{self.clusters[self.need_cluster[need]]}/{self.needs[need]}"

    def cluster_rank(self) -> NDArray[np.int64]:
        """For each cluster its place in the order of names, which settles who goes first among equals."""
        if len(self._rank) != len(self.clusters):
            order = np.array(sorted(range(len(self.clusters)), key=self.clusters.__getitem__), np.int64)
            self._rank = np.empty(len(order), np.int64)
            self._rank[order] = np.arange(len(order))
        return self._rank
