"""What many containers used, as arrays."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from remuda.rightsize.estimate.usage import Pod, Replica, Sample, Samples

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


class Column(Struct, frozen=True):
    """Samples of all replicas, one replica after the other; `starts` has one more entry than there are replicas."""

    times: Ints
    values: Floats
    starts: Ints

    def of(self, replica: int) -> Samples:
        """The samples of one replica."""
        rows = slice(self.starts[replica], self.starts[replica + 1])
        return Samples(self.times[rows].tolist(), self.values[rows].tolist())


class Columns(Struct, frozen=True):
    """
    What many containers used.

    Replicas of container n are those from `replicas[n]` to before `replicas[n + 1]`; `siblings[n]` containers share its
    pod, itself one of them. Values are not negative, and kills of a replica are in the order of time.
    """

    cpu: Column
    memory: Column
    oom: Column
    replicas: Ints
    siblings: Ints
    #: replica → when another pod took its name, in the order of time; those of a StatefulSet share names
    renewed: Mapping[int, Ints] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.siblings)

    def replicas_of(self, container: int) -> list[Replica]:
        """The replicas of one container, as the reference wants them."""
        first, end = self.replicas[container : container + 2].tolist()
        return [Replica(self.cpu.of(n), self.memory.of(n), list(self.oom.of(n))) for n in range(first, end)]


def columns_of(pods: Sequence[Pod], siblings: Sequence[int] = ()) -> Columns:
    """
    Pods as columns: their containers one after the other.

    `siblings` says how many containers each pod has, where there may be some without samples.
    """
    counts = siblings or [len(pod) for pod in pods]
    containers = [replicas for pod in pods for replicas in pod.values()]
    replicas = [replica for each in containers for replica in each]
    return Columns(
        _column(replicas, lambda replica: replica.cpu),
        _column(replicas, lambda replica: replica.memory),
        _column(replicas, lambda replica: sorted(replica.oom, key=lambda kill: kill.at)),
        _starts([len(each) for each in containers]),
        np.array([count for pod, count in zip(pods, counts, strict=True) for _ in pod], np.int64),
    )


def _column(replicas: Sequence[Replica], of: Callable[[Replica], Sequence[Sample]]) -> Column:
    series = [_as_lists(of(replica)) for replica in replicas]
    return Column(
        np.array([at for samples in series for at in samples.times], np.int64),
        np.array([value for samples in series for value in samples.values], np.float64),
        _starts([len(samples) for samples in series]),
    )


def _as_lists(samples: Sequence[Sample]) -> Samples:
    if isinstance(samples, Samples):
        return samples
    return Samples([sample.at for sample in samples], [sample.value for sample in samples])


def _starts(lengths: Sequence[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(np.array(lengths, np.int64)))).astype(np.int64)
