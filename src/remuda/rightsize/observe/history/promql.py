"""The queries that tell what containers used and when they were killed. Names go into them quoted, whatever they hold."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct

#: of pods that are asked for by name a query holds at most so many: some 50 kB
MOST_PODS = 1000
MEMORY = "container_memory_working_set_bytes"
CPU = "container_cpu_usage_seconds_total"
_OOM_EVENTS = "container_oom_events_total"
_RESTARTS = "kube_pod_container_status_restarts_total"
_LAST_REASON = "kube_pod_container_status_last_terminated_reason"
_REASON = "kube_pod_container_status_terminated_reason"
_REQUESTS = "kube_pod_container_resource_requests"
#: neither a pod as a whole nor the container that only holds its network
_REAL = 'container!="",container!="POD"'
_KILLED = 'reason="OOMKilled"'
#: when a pod was made, by whoever may know it, the most exact first; the last is of the container that holds its network
_MADE = (
    ("kube_pod_created", ""),
    ("kube_pod_start_time", ""),
    ("container_start_time_seconds", ',container=~"|POD"'),
)
_BY = "by (namespace, pod, container)"
_ON = "on (namespace, pod, container)"
_META = re.compile(r"[\\.+*?()|\[\]{}^$]")


class Pods(NamedTuple):
    """A pod, or with `is_start` all pods of a namespace whose names begin like this."""

    namespace: str
    name: str
    is_start: bool = False

    @property
    def pattern(self) -> str:
        """What matches the names."""
        return _literal(self.name) + (".*" if self.is_start else "")


def holder_of(pods: Sequence[Pods]) -> Callable[[str, str], bool]:
    """Whether the pod of a namespace is one of these; a query matches more where namespaces share names."""
    exact = {(each.namespace, each.name) for each in pods if not each.is_start}
    starts = [each for each in pods if each.is_start]
    return lambda namespace, pod: (
        (namespace, pod) in exact
        or any(namespace == each.namespace and pod.startswith(each.name) for each in starts)
    )


class Queries(Struct, frozen=True):
    """The queries for one cluster: `labels` tell its series from those of others in the same store."""

    labels: tuple[tuple[str, str], ...] = ()

    def used_in(self, namespace: str) -> list[str]:
        """Selectors of all series that tell of use in a namespace."""
        where = self._with(f"namespace={_quoted(namespace)}")
        return [f"{metric}{{{where},{_REAL}}}" for metric in (MEMORY, CPU)]

    def scraped(self, pods: Sequence[Pods]) -> str:
        """The selector of samples as they were scraped."""
        return f"{MEMORY}{{{self._of(pods)},{_REAL}}}"

    def memory(self, pods: Sequence[Pods], window_s: int) -> str:
        """The most of each window, so that no peak between two steps is missed."""
        return f"max {_BY} (max_over_time({MEMORY}{{{self._of(pods)},{_REAL}}}[{window_s}s]))"

    def cpu(self, pods: Sequence[Pods], window_s: int) -> str:
        """Cores on average over each window; a counter that begins anew does not count backwards."""
        return f"max {_BY} (rate({CPU}{{{self._of(pods)},{_REAL}}}[{window_s}s]))"

    def killed(self, pods: Sequence[Pods], window_s: int) -> str:
        """Containers that were OOM-killed within each window, and went on or were restarted."""
        at = self._of(pods)
        events = f"max {_BY} (increase({_OOM_EVENTS}{{{at},{_REAL}}}[{window_s}s])) > 0"
        restarts = f"max {_BY} (increase({_RESTARTS}{{{at}}}[{window_s}s])) > 0"
        reason = f"max {_BY} ({_LAST_REASON}{{{at},{_KILLED}}}) == 1"
        return f"({events}) or (({restarts}) and {_ON} ({reason}))"

    def ended(self, pods: Sequence[Pods], window_s: int) -> str:
        """Containers that were OOM-killed and stay so, as those of a Job do."""
        return f"max {_BY} (max_over_time({_REASON}{{{self._of(pods)},{_KILLED}}}[{window_s}s])) == 1"

    def requested(self, pods: Sequence[Pods], window_s: int) -> str:
        """Bytes that containers requested."""
        return f'max {_BY} (max_over_time({_REQUESTS}{{{self._of(pods)},resource="memory"}}[{window_s}s]))'

    def made(self) -> list[Callable[[Sequence[Pods], int], str]]:
        """When pods were made, in seconds since 1970, by each that may know it."""

        def query(metric: str, where: str) -> Callable[[Sequence[Pods], int], str]:
            return lambda pods, window_s: (
                f"max by (namespace, pod) (max_over_time({metric}{{{self._of(pods)}{where}}}[{window_s}s]))"
            )

        return [query(metric, where) for metric, where in _MADE]

    def _of(self, pods: Sequence[Pods]) -> str:
        namespaces = sorted({each.namespace for each in pods})
        patterns = sorted({each.pattern for each in pods})
        if len(namespaces) == 1:
            where = f"namespace={_quoted(namespaces[0])}"
        else:
            where = f"namespace=~{_quoted('|'.join(map(_literal, namespaces)))}"
        return self._with(f"{where},pod=~{_quoted('|'.join(patterns))}")

    def _with(self, where: str) -> str:
        return ",".join([where, *(f"{name}={_quoted(value)}" for name, value in self.labels)])


def _literal(text: str) -> str:
    return _META.sub(r"\\\g<0>", text)


def _quoted(text: str) -> str:
    """A string as PromQL reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
