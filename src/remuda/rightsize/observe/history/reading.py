"""
What all workloads used, read from Prometheus batch by batch, so that no more than one batch is held at a time.

First the server is asked which containers it has samples of, which costs it an index look-up; then for their samples,
by the names of their pods. Nothing is left out without a word: what could not be read makes its batch partial and is
reported as an `Unknown`, and what is odd about samples is reported with the container.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence

from msgspec import Struct, field

from remuda.errors import BadInput
from remuda.model.workloads import WorkloadId
from remuda.prometheus.client import Prometheus
from remuda.prometheus.errors import PrometheusError, TooMuch
from remuda.prometheus.probe import check_up
from remuda.rightsize.estimate.columns import Columns
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.observe.history.asking import Asker, Question
from remuda.rightsize.observe.history.gathered import ReplicaId, Use, columns_from, rows_of, useless
from remuda.rightsize.observe.history.intervals import Intervals
from remuda.rightsize.observe.history.kills import read_kills
from remuda.rightsize.observe.history.lives import NUMBERED, read_renewals
from remuda.rightsize.observe.history.promql import Pods
from remuda.rightsize.observe.owners import Owning
from remuda.rightsize.snapshot import Kill, Snapshot, Unknown, Workload

_MOST_CORES, _MOST_BYTES = 1e5, 1e15
_SHORTEST_SPAN_S = 3600
#: pods of these come and go by the thousand: they are asked for by the beginning of their names
_SHORT_LIVED = frozenset({"Job", "CronJob"})
#: so much of a workload's name is in those of its pods
_CUT = 52


class BatchLimits(Struct, frozen=True):
    """How much is held at a time."""

    #: replicas that are there at a time, in one batch
    series: int = 250
    #: a workload with more at a time is read with longer steps
    steps: int = 8 * 1440
    #: of one resource in one batch, should there be far more replicas than there seemed: 160 MB
    points: int = 10_000_000


_USUAL = BatchLimits()


class Batch(Struct, frozen=True):
    """What some containers used; each list has one entry per container of the columns, in their order."""

    who: list[tuple[WorkloadId, str]]
    columns: Columns
    anomalies: list[tuple[str, ...]]
    partial: list[bool]


class _Part(Struct, frozen=True):
    """A workload and all its replicas that there were."""

    workload: Workload
    replicas: tuple[ReplicaId, ...]

    @property
    def series(self) -> int:
        """Replicas that are there at a time, about: twice as many as wanted while they are replaced."""
        pods = len({each.pod for each in self.replicas})
        return min(pods, 2 * max(1, self.workload.replicas)) * max(1, len(self.workload.containers))

    def pods(self, most: int) -> Iterable[Pods]:
        names = sorted({(each.namespace, each.pod) for each in self.replicas})
        who = self.workload.id
        if who.kind in _SHORT_LIVED and len(names) > most:
            return [Pods(who.namespace, who.name[:_CUT], is_start=True)]
        return [Pods(*each) for each in names]


class _Reading(Struct, frozen=True):
    """What does not change while a history is read."""

    asker: Asker
    intervals: Intervals
    owning: Owning
    workloads: dict[str, dict[WorkloadId, Workload]]
    kills: dict[WorkloadId, list[Kill]]
    begin: Second
    end: Second
    step_s: int
    progress: Callable[[str], None]
    most: BatchLimits
    #: names of containers that no template has → how many workloads have such
    strangers: dict[str, set[WorkloadId]] = field(default_factory=lambda: defaultdict(set))
    #: whose series these are, where stores hold those of several
    clusters: set[str] = field(default_factory=set)
    #: workloads with samples of more than one of them
    mixed: set[WorkloadId] = field(default_factory=set)
    #: namespaces of which not all pods could be listed
    incomplete: set[str] = field(default_factory=set)


async def read_history(
    prometheus: Prometheus,
    snapshot: Snapshot,
    *,
    history_s: int,
    step_s: int,
    now: Second,
    progress: Callable[[str], None],
    unknown: list[Unknown] | None = None,
    only: Collection[WorkloadId] | None = None,
    most: BatchLimits = _USUAL,
) -> AsyncIterator[Batch]:
    """
    What the containers of all workloads used, or `only` of some, those alone of which there are samples or kills.

    The world holds all workloads in any case: by the names of the others pods of the past are known not to be these'.
    `unknown` gets what could not be read; a batch that lacks any of it is partial. Raises `PrometheusError` if the server
    cannot be asked at all.
    """
    if step_s < 1 or history_s < step_s:
        raise BadInput(f"a history of {history_s} s in steps of {step_s} s makes no sense: give a longer one")
    progress(f"whether {prometheus.url} answers")
    await check_up(prometheus)
    asker = Asker(prometheus, unknown if unknown is not None else [])
    workloads = [each for each in snapshot.workloads if only is None or each.id in only]
    reading = _Reading(
        asker,
        Intervals(asker),
        Owning(snapshot),
        _by_namespace(workloads),
        _by_workload(snapshot.kills),
        -(-(now - history_s) // step_s) * step_s,
        now // step_s * step_s,
        step_s,
        progress,
        most,
    )
    count, done = len(workloads), 0
    async for parts in _batches(reading):
        progress(f"use of workloads {done + 1} to {done + len(parts)} of {count}")
        done += len(parts)
        batch = await _read(reading, parts)
        if batch.who:
            yield batch
        del batch
    _report_rest(reading)


def _report_rest(reading: _Reading) -> None:
    """What is about no single batch."""
    asker = reading.asker
    if len(reading.clusters) > 1:
        names = ", ".join(sorted(filter(None, reading.clusters))[:5])
        why = (
            f"{asker.prometheus.url} holds samples of pods with these names in several clusters ({names}), which cannot "
            "be told apart: set REMUDA_PROMETHEUS_LABELS=cluster=NAME"
        )
        asker.unknown.append(Unknown("use", why))
    if asker.left:
        why = f"the server failed before, and was left alone: {asker.left} more questions were not asked"
        asker.unknown.append(Unknown("use", why))
    if reading.strangers:
        names = ", ".join(f"{name} ({len(of)})" for name, of in sorted(reading.strangers.items())[:10])
        reading.progress(
            f"containers that no template holds are left out (how many workloads have them): {names}"
        )


async def _batches(reading: _Reading) -> AsyncIterator[list[_Part]]:
    """Workloads with the replicas that Prometheus knows, as many at a time as a batch holds."""
    held: list[_Part] = []
    series = 0
    for number, namespace in enumerate(sorted(reading.workloads), 1):
        reading.progress(f"pods of {namespace}, {number} of {len(reading.workloads)} namespaces")
        for part in await _find(reading, namespace):
            more = part.series
            if held and series + more > reading.most.series:
                yield held
                held, series = [], 0
            held.append(part)
            series += more
    if held:
        yield held


async def _find(reading: _Reading, namespace: str) -> list[_Part]:
    """The workloads of a namespace; those that nothing is known of are not among them."""
    workloads = reading.workloads[namespace]
    names = {who: {each.name for each in workload.containers} for who, workload in workloads.items()}
    found: dict[WorkloadId, set[ReplicaId]] = defaultdict(set)
    owners: dict[str, WorkloadId | None] = {}
    clusters: dict[WorkloadId, set[str]] = defaultdict(set)

    def take(labels: dict[str, str]) -> None:
        pod, container = labels.get("pod", ""), labels.get("container", "")
        if pod not in owners:
            owners[pod] = reading.owning.of(namespace, pod)
        who = owners[pod]
        if who not in names or labels.get("namespace") != namespace:
            return
        if container in names[who]:
            found[who].add(ReplicaId(namespace, pod, container))
            clusters[who].add(labels.get("cluster", ""))
        else:
            reading.strangers[container].add(who)

    if not await _list(reading, namespace, reading.begin, reading.end, take):
        reading.incomplete.add(namespace)
    reading.clusters.update(*clusters.values())
    reading.mixed.update(who for who, names_of in clusters.items() if len(names_of) > 1)
    for who, kills in reading.kills.items():
        if who in names:
            found[who] |= {
                ReplicaId(namespace, kill.pod, kill.container)
                for kill in kills
                if kill.container in names[who] and kill.at >= reading.begin
            }
    return [
        _Part(workload, tuple(sorted(found[who])))
        for who, workload in sorted(workloads.items())
        if found[who]
    ]


async def _list(
    reading: _Reading, namespace: str, begin: Second, end: Second, take: Callable[[dict[str, str]], None]
) -> bool:
    """
    Give the labels of all series to `take`: of a shorter time each where the server says that it is too much.

    False if some could not be read.
    """
    asker = reading.asker
    if asker.has_given_up:
        asker.left += 1
        return False
    what = f"the pods of {namespace}"
    try:
        warnings = await asker.prometheus.each_series(
            asker.queries.used_in(namespace), begin, end, take, what=what
        )
    except TooMuch as error:
        if end - begin > _SHORTEST_SPAN_S:
            middle = (begin + end) // 2
            # Where an hour is too much already, the other ones are not asked for.
            first, second = (begin, middle), (middle, end)
            return await _list(reading, namespace, *first, take) and await _list(
                reading, namespace, *second, take
            )
        asker.fail(error, what)
    except PrometheusError as error:
        asker.fail(error, what)
    else:
        asker.succeed(warnings)
        return True
    return False


async def _read(reading: _Reading, parts: Sequence[_Part]) -> Batch:
    asker, queries = reading.asker, reading.asker.queries
    pods = [each for part in parts for each in part.pods(reading.most.series)]
    replicas = {each for part in parts for each in part.replicas}
    series = sum(part.series for part in parts)
    # Only a workload that is alone in its batch has more.
    samples = series * ((reading.end - reading.begin) // reading.step_s)
    longer = max(1, -(-samples // (reading.most.series * reading.most.steps)))
    step = reading.step_s * longer
    begin, end = -(-reading.begin // step) * step, reading.end // step * step
    interval = await reading.intervals.of(pods, reading.begin, reading.end)
    windows = (4 * interval, step if 5 * interval <= 4 * step else 2 * interval)
    cores = Use("CPU", step, _MOST_CORES, replicas, reading.most.points)
    held = Use("memory", step, _MOST_BYTES, replicas, reading.most.points)
    rates = max(windows[0], step)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                asker.ask(Question(use.what, query, window, step, begin, end, series), pods, use.take)
            )
            for use, query, window in ((held, queries.memory, windows[1]), (cores, queries.cpu, rates))
        ]
    of_pods = [kill for part in parts for kill in reading.kills.get(part.workload.id, ())]
    span = (reading.begin, reading.end)
    kills, knows_kills = await read_kills(asker, pods, replicas, span, windows[0], of_pods, series)
    is_whole = knows_kills and all(task.result() for task in tasks) and not (cores.is_full or held.is_full)
    known = {*cores.times, *held.times, *kills, *cores.dropped, *held.dropped}
    rows = rows_of([(part.workload, part.replicas) for part in parts], known)
    steps = (f"many replicas: a sample every {step} s, not every {reading.step_s} s",) if longer > 1 else ()
    anomalies = [(*steps, *cores.anomalies(each), *held.anomalies(each)) for each in rows.replicas]
    asker.unknown.extend(useless(rows, cores, held))
    numbered = [
        each for part in parts if part.workload.id.kind in NUMBERED for each in part.pods(reading.most.series)
    ]
    columns = columns_from(rows, cores, held, kills, await read_renewals(asker, numbered, span))
    partial = [
        not is_whole or who.namespace in reading.incomplete or who in reading.mixed for who, _ in rows.who
    ]
    return Batch(rows.who, columns, anomalies, partial)


def _by_namespace(workloads: Iterable[Workload]) -> dict[str, dict[WorkloadId, Workload]]:
    found: dict[str, dict[WorkloadId, Workload]] = defaultdict(dict)
    for workload in workloads:
        found[workload.id.namespace][workload.id] = workload
    return found


def _by_workload(kills: Iterable[Kill]) -> dict[WorkloadId, list[Kill]]:
    found: dict[WorkloadId, list[Kill]] = defaultdict(list)
    for kill in kills:
        found[kill.workload].append(kill)
    return found
