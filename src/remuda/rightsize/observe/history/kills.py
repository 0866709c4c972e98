"""
When containers were OOM-killed: as Prometheus reports, together with what their pods report.

Prometheus says in which window a kill was, a pod the second of its last one. Kills of one container that may be the
same are one.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from remuda.prometheus.series import Series
from remuda.rightsize.estimate.columns import Floats, Ints
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.estimate.usage import Sample
from remuda.rightsize.observe.history.asking import Asker, Question
from remuda.rightsize.observe.history.gathered import ReplicaId
from remuda.rightsize.observe.history.promql import Pods
from remuda.rightsize.snapshot import Kill

#: kills are looked for this often; what counts of one is its day
STEP_S = 300
#: a pod reports a kill and Prometheus scrapes that at different moments
_SLACK_S = 120
#: what asks for more is no container
_MOST_REQUESTED = 1e15


async def read_kills(
    asker: Asker,
    pods: Sequence[Pods],
    replicas: Collection[ReplicaId],
    span: tuple[Second, Second],
    rate_window_s: int,
    of_pods: Iterable[Kill],
    series: int,
) -> tuple[dict[ReplicaId, list[Sample]], bool]:
    """Kills of these replicas, with the bytes that were requested (0: not known), and whether all could be read."""
    # Whenever it is asked for, a kill is seen at the same moment: steps are multiples of their length.
    begin, end = -(-span[0] // STEP_S) * STEP_S, span[1] // STEP_S * STEP_S
    window = STEP_S + rate_window_s
    restarted, stayed = _Seen(replicas), _Seen(replicas)
    # Kills are few: an answer holds hardly any of these series.
    few = max(1, series // 10)
    asked = Question("kills", asker.queries.killed, window, STEP_S, begin, end, few)
    is_whole = await asker.ask(asked, pods, restarted.take)
    asked = Question("containers that ended by a kill", asker.queries.ended, STEP_S, STEP_S, begin, end, few)
    is_whole &= await asker.ask(asked, pods, stayed.take)
    moments: dict[ReplicaId, list[Second]] = {}
    exact: dict[ReplicaId, dict[Second, int | None]] = defaultdict(dict)
    for kill in of_pods:
        replica = ReplicaId(kill.workload.namespace, kill.pod, kill.container)
        if span[0] <= kill.at <= span[1] + STEP_S:
            exact[replica][kill.at] = kill.requested
    for replica in sorted({*restarted.times, *stayed.times, *exact}):
        # One that was there when the history began is older.
        first = [at for at in stayed.times.get(replica, ())[:1] if at > begin]
        times = apart(restarted.times.get(replica, ()), first, sorted(exact[replica]), window)
        if times:
            moments[replica] = times
    if not moments:
        return {}, is_whole
    sizes = _Requests(set(moments))
    some = [Pods(namespace, pod) for namespace, pod in sorted({each[:2] for each in moments})]
    asked = Question("memory requests", asker.queries.requested, STEP_S, STEP_S, begin, end, len(moments))
    is_whole &= await asker.ask(asked, some, sizes.take)
    return {
        replica: [Sample(at, float(exact[replica].get(at) or sizes.at(replica, at))) for at in times]
        for replica, times in moments.items()
    }, is_whole


def apart(
    windows: Sequence[Second], first: Sequence[Second], exact: Sequence[Second], window_s: int
) -> list[Second]:
    """
    The moments of kills that must be different ones.

    Each of `windows` ends a window in which there was one; `first` is when one was seen that stays, and `exact` is to
    the second.
    """
    kept: list[Second] = []
    for at in sorted({*windows, *first}):
        is_reported = any(at - window_s - _SLACK_S < each <= at + _SLACK_S for each in exact)
        if is_reported or (kept and at - kept[-1] < window_s):
            continue
        kept.append(at)
    return sorted([*kept, *exact])


class _Seen:
    """Moments at which something is said of a replica."""

    def __init__(self, replicas: Collection[ReplicaId]) -> None:
        self._replicas = replicas
        self.times: dict[ReplicaId, list[Second]] = {}

    def take(self, series: Series, begin: Second, end: Second) -> None:
        replica = _replica(series.labels)
        if replica in self._replicas:
            times = [at for at in series.times.tolist() if begin <= at <= end]
            self.times.setdefault(replica, []).extend(times)


class _Requests:
    """What replicas requested over time."""

    def __init__(self, replicas: Collection[ReplicaId]) -> None:
        self._replicas = replicas
        self._parts: dict[ReplicaId, list[tuple[Ints, Floats]]] = defaultdict(list)

    def take(self, series: Series, _begin: Second, _end: Second) -> None:
        replica = _replica(series.labels)
        if replica in self._replicas:
            makes_sense = (series.values >= 0) & (series.values <= _MOST_REQUESTED)
            self._parts[replica].append((series.times[makes_sense], series.values[makes_sense]))

    def at(self, replica: ReplicaId, at: Second) -> int:
        """The last that was known at a moment, or the first after it; 0 where nothing is."""
        parts = self._parts.get(replica, [])
        times = np.concatenate([part[0] for part in parts]) if parts else np.empty(0, np.int64)
        if not len(times):
            return 0
        values = np.concatenate([part[1] for part in parts])
        return int(values[max(0, int(np.searchsorted(times, at, side="right")) - 1)])


def _replica(labels: Mapping[str, str]) -> ReplicaId:
    return ReplicaId(labels.get("namespace", ""), labels.get("pod", ""), labels.get("container", ""))
