"""
Files of `kubectl get -o json` or `-o yaml`, and of kubelets' summaries, to a `Snapshot`.

Nothing here raises for what a file holds: what is wrong becomes problems, all at once.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from remuda.capacity.observe.forms import FORMS, POD, SUMMARY
from remuda.capacity.observe.gather import Gathering
from remuda.capacity.observe.pods import pods_of
from remuda.capacity.snapshot import (
    LIMIT_RANGES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    SCALE_SETS,
    SUMMARIES,
    Snapshot,
    Unknown,
)
from remuda.model.times import Instant
from remuda.objects.dumps import BAD, Dumps, FilesRead


def read_files(
    paths: Iterable[str | Path], now: Instant, stdin: BinaryIO | None = None
) -> FilesRead[Snapshot]:
    """Read files, directories (their *.json, *.yaml and *.yml) and `-`, which is standard input."""
    gathering = Gathering()
    reading = _Reading(gathering, now)
    source = reading.read_all(paths, stdin)
    snapshot = gathering.snapshot(source, now, _unknown(reading.met))
    return reading.result(snapshot)


def _unknown(met: set[str]) -> Iterator[Unknown]:
    scale_sets = {"AutoscalingRunnerSet", "RunnerDeployment", "RunnerSet", "RunnerPool"}
    # Of several kinds kubectl makes one list, which does not show what there is none of.
    quiet = {LIMIT_RANGES, RUNTIME_CLASSES, PRIORITY_CLASSES}
    for part, kinds, what in (
        (SCALE_SETS, scale_sets, "autoscalingrunnersets -A"),
        (NODES, {"Node"}, "nodes"),
        (PODS, {"Pod"}, "pods -A"),
        (LIMIT_RANGES, {"LimitRange"}, "limitranges -A"),
        (RUNTIME_CLASSES, {"RuntimeClass"}, "runtimeclasses"),
        (PRIORITY_CLASSES, {"PriorityClass"}, "priorityclasses"),
    ):
        if not kinds & met:
            words = f"no file holds any: add what `kubectl get {what} -o json` prints"
            yield Unknown(part, words, is_quiet=part in quiet)
    if SUMMARY.kind not in met:
        words = "add what `kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary` prints"
        yield Unknown(SUMMARIES, f"no file holds any: {words}")


class _Reading(Dumps[Gathering]):
    """One look at all files, which mostly hold pods."""

    def __init__(self, gathering: Gathering, now: Instant) -> None:
        super().__init__(FORMS, gathering, now, "an audit", guess=POD, answers=SUMMARY)
        self._gathering = gathering

    def read_at_once(self, whole: memoryview) -> bool:
        """Take a list of nothing but pods that are right; False, and nothing is taken, if it is anything else."""
        pods = pods_of(whole)
        try:
            taken = [self._gathering.taken_by(pod) for pod in pods]
        except BAD:
            return False
        for pod, takes in zip(pods, taken, strict=True):
            self.took(POD, pod, is_again=self._gathering.put_pod(pod.metadata, takes))
        return bool(pods)
