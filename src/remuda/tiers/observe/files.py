"""
Files of `kubectl get -o json` or `-o yaml`, and of kubelets' summaries, to a `Snapshot`.

Nothing here raises for what a file holds: what is wrong becomes problems, all at once.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from remuda.model.times import Instant
from remuda.objects.dumps import Dumps, FilesRead
from remuda.tiers.observe.forms import FORMS, MAKERS, POD, SUMMARY
from remuda.tiers.observe.gather import Gathering
from remuda.tiers.snapshot import (
    AUTOSCALERS,
    EVENTS,
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTAS,
    SUMMARIES,
    USAGE,
    WORKLOADS,
    Snapshot,
    Unknown,
)


def read_files(
    paths: Iterable[str | Path], now: Instant, stdin: BinaryIO | None = None
) -> FilesRead[Snapshot]:
    """Read files, directories (their *.json, *.yaml and *.yml) and `-`, which is standard input."""
    gathering = Gathering()
    reading = Dumps(FORMS, gathering, now, "an audit of tiers", guess=POD, answers=SUMMARY)
    source = reading.read_all(paths, stdin)
    return reading.result(gathering.snapshot(source, now, _unknown(reading.met)))


def _unknown(met: set[str]) -> Iterator[Unknown]:
    """What no file speaks of. Of several kinds kubectl makes one list, which does not show what there is none of."""
    for part, kinds, what, is_quiet in (
        (NAMESPACES, {"Namespace"}, "namespaces", False),
        (WORKLOADS, set(MAKERS), "deployments,statefulsets,daemonsets,cronjobs -A", False),
        (PODS, {"Pod"}, "pods -A", False),
        (NODES, {"Node"}, "nodes", False),
        (LIMIT_RANGES, {"LimitRange"}, "limitranges -A", False),
        (QUOTAS, {"ResourceQuota"}, "resourcequotas -A", False),
        (PRIORITY_CLASSES, {"PriorityClass"}, "priorityclasses", False),
        (AUTOSCALERS, {"HorizontalPodAutoscaler"}, "horizontalpodautoscalers -A", True),
        (EVENTS, {"Event"}, "events -A", True),
        (USAGE, {"PodMetrics", SUMMARY.kind}, "podmetrics -A", True),
    ):
        if not kinds & met:
            yield Unknown(
                part, f"no file holds any: add what `kubectl get {what} -o json` prints", is_quiet=is_quiet
            )
    if SUMMARY.kind not in met:
        words = "add what `kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary` prints"
        yield Unknown(SUMMARIES, f"no file holds any: {words}", is_quiet=True)
