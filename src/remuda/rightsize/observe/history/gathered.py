"""The use of a batch of containers as it comes in, piece by piece, and the columns that it makes in the end."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from remuda.model.times import SECOND, write_duration
from remuda.model.workloads import WorkloadId
from remuda.prometheus.series import Series
from remuda.rightsize.estimate.columns import Column, Columns, Floats, Ints
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.estimate.usage import Sample
from remuda.rightsize.snapshot import Unknown, Workload

#: gaps that are shorter in all are not worth a word
_WORTH_STEPS = 5
_NOT_NUMBERS, _ORDER, _AGAIN, _FUTURE, _OUT_OF_RANGE = (
    "not numbers",
    "out of order",
    "given twice",
    "in the future",
    "below zero or beyond all measure",
)


class ReplicaId(NamedTuple):
    """One container of one pod."""

    namespace: str
    pod: str
    container: str


class Use(Struct):
    """What replicas used of one resource. Times of a replica increase, whatever comes in."""

    what: str
    step_s: int
    #: more is no use of this resource
    most: float
    replicas: Collection[ReplicaId]
    #: points that are held; what comes then is left out
    room: int
    points: int = 0
    times: dict[ReplicaId, list[Ints]] = field(default_factory=lambda: defaultdict(list))
    values: dict[ReplicaId, list[Floats]] = field(default_factory=lambda: defaultdict(list))
    dropped: dict[ReplicaId, Counter[str]] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        """True when there was more than is held."""
        return self.points > self.room

    def take(self, series: Series, begin: Second, end: Second) -> None:
        """A series of a chunk; of replicas that nobody asked for, none."""
        labels = series.labels
        replica = ReplicaId(labels.get("namespace", ""), labels.get("pod", ""), labels.get("container", ""))
        if replica not in self.replicas or self.is_full:
            return
        times, values, lost = series.times, series.values, series.dropped
        drops = Counter(
            {
                _NOT_NUMBERS: lost.not_numbers,
                _ORDER: lost.out_of_order,
                _AGAIN: lost.repeated,
                _FUTURE: lost.future,
            }
        )
        before = self.times.get(replica)
        last = before[-1][-1] if before else begin - 1
        fits = (times > last) & (times <= end)
        makes_sense = (values >= 0) & (values <= self.most)
        drops[_ORDER] += int((~fits).sum())
        drops[_OUT_OF_RANGE] += int((fits & ~makes_sense).sum())
        keeps = fits & makes_sense
        if not keeps.all():
            times, values = times[keeps], values[keeps]
        if len(times):
            self.times[replica].append(times)
            self.values[replica].append(values)
            self.points += len(times)
        if drops.total():
            self.dropped.setdefault(replica, Counter()).update(drops)

    def column(self, replicas: Sequence[ReplicaId]) -> Column:
        """The samples of these replicas, which are given up here."""
        times = [self.times.pop(each, []) for each in replicas]
        starts = _starts([sum(map(len, parts)) for parts in times])
        every = np.concatenate([part for parts in times for part in parts] or [_NO_TIMES])
        del times
        values = [part for each in replicas for part in self.values.pop(each, ())]
        return Column(every, np.concatenate(values or [_NO_VALUES]), starts)

    def anomalies(self, replicas: Sequence[ReplicaId]) -> list[str]:
        """What is odd about the samples of one container, in words."""
        left_out = self.left_out(replicas)
        if not any(each in self.times for each in replicas):
            return [f"no samples of {self.what}", *left_out]
        found = []
        gaps = [gap for each in replicas if (gap := self._gap(each))]
        total = sum(gaps)
        if total >= _WORTH_STEPS * self.step_s:
            of = f" of {len(gaps)} of {len(replicas)} replicas" if len(replicas) > 1 else ""
            found.append(f"gaps in the samples of {self.what}{of}: {write_duration(total * SECOND)} in all")
        if self.is_full:
            found.append(
                f"far more replicas than are wanted now: the last samples of {self.what} were not read"
            )
        return [*found, *left_out]

    def left_out(self, replicas: Sequence[ReplicaId]) -> list[str]:
        """How many samples of one container could not be used, and why, in words; empty where all could."""
        dropped: Counter[str] = Counter()
        for each in replicas:
            dropped.update(self.dropped.get(each, {}))
        why = ", ".join(f"{count:,} {reason}" for reason, count in sorted(dropped.items()) if count)
        return [f"samples of {self.what} that were left out: {why}"] if why else []

    def _gap(self, replica: ReplicaId) -> int:
        """Seconds between the first and the last sample that have none."""
        parts = self.times.get(replica)
        if not parts:
            return 0
        present = sum(len(part) for part in parts)
        return max(0, int(parts[-1][-1] - parts[0][0]) - (present - 1) * self.step_s)


_NO_TIMES: Ints = np.empty(0, np.int64)
_NO_VALUES: Floats = np.empty(0, np.float64)


class Rows(Struct, frozen=True):
    """Who is in the columns: a container each, with its replicas."""

    who: list[tuple[WorkloadId, str]]
    replicas: list[list[ReplicaId]]
    siblings: list[int]


def rows_of(workloads: Sequence[tuple[Workload, Sequence[ReplicaId]]], known: Collection[ReplicaId]) -> Rows:
    """Every container of these workloads of which at least one replica is known, in the order of its template."""
    rows = Rows([], [], [])
    for workload, replicas in workloads:
        by_name: dict[str, list[ReplicaId]] = defaultdict(list)
        for replica in sorted(replicas):
            if replica in known:
                by_name[replica.container].append(replica)
        for container in workload.containers:
            if by_name[container.name]:
                rows.who.append((workload.id, container.name))
                rows.replicas.append(by_name[container.name])
                rows.siblings.append(len(workload.containers))
    return rows


def useless(rows: Rows, cpu: Use, memory: Use) -> Iterator[Unknown]:
    """Containers of which there are samples, and not one that is any good; before `columns_from`."""
    for (who, container), replicas in zip(rows.who, rows.replicas, strict=True):
        left_out = [*cpu.left_out(replicas), *memory.left_out(replicas)]
        if left_out and not any(each in use.times for use in (cpu, memory) for each in replicas):
            yield Unknown(f"use of {container} of {who}", "; ".join(left_out))


def columns_from(
    rows: Rows,
    cpu: Use,
    memory: Use,
    kills: Mapping[ReplicaId, Sequence[Sample]],
    renewed: Mapping[tuple[str, str], Ints],
) -> Columns:
    """The columns of these rows; `cpu` and `memory` are empty afterwards, so that nothing is held twice."""
    replicas = [each for some in rows.replicas for each in some]
    deaths = [sorted(kills.get(each, ())) for each in replicas]
    return Columns(
        cpu.column(replicas),
        memory.column(replicas),
        Column(
            np.array([kill.at for some in deaths for kill in some], np.int64),
            np.array([kill.value for some in deaths for kill in some], np.float64),
            _starts([len(some) for some in deaths]),
        ),
        _starts([len(some) for some in rows.replicas]),
        np.array(rows.siblings, np.int64),
        {n: renewed[each[:2]] for n, each in enumerate(replicas) if each[:2] in renewed},
    )


def _starts(lengths: Sequence[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(np.array(lengths, np.int64)))).astype(np.int64)
