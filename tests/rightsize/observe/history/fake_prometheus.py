"""A stand-in for Prometheus that holds a few series and has whatever faults a test wants."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from aiohttp import web
from tests.prometheus.loopback import Asked, Loopback, answer, matrix, vector

from remuda.rightsize.observe.history.promql import CPU, MEMORY

#: metrics that tell when pods were made
MADE = ("kube_pod_created", "kube_pod_start_time", "container_start_time_seconds")
Key = tuple[str, str, str]
Values = Callable[[int], object]
Fault = Callable[[Asked], web.StreamResponse | None]


@dataclass
class FakePrometheus(Loopback):
    """Each replica has a value of either metric at any second, or None; `faults` may answer first."""

    memory: dict[Key, Values] = field(default_factory=dict)
    cpu: dict[Key, Values] = field(default_factory=dict)
    killed: dict[Key, Values] = field(default_factory=dict)
    ended: dict[Key, Values] = field(default_factory=dict)
    requested: dict[Key, Values] = field(default_factory=dict)
    #: metric of when pods were made → the second, by pod
    made: dict[str, dict[Key, Values]] = field(default_factory=dict)
    interval: int = 15
    clusters: list[str] = field(default_factory=list)
    #: of some replicas alone
    cluster_of: dict[Key, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.replies = [self._reply]

    def asked_for(self, word: str) -> list[dict[str, str]]:
        """The forms of all range queries that hold a word."""
        return [each.form for each in self.asked if "step" in each.form and word in each.form["query"]]

    def _more(self, key: Key) -> list[dict[str, str]]:
        return [{"cluster": name} for name in self.cluster_of.get(key, self.clusters)] or [{}]

    def _reply(self, asked: Asked) -> web.StreamResponse:
        for fault in self.faults:
            if (faulty := fault(asked)) is not None:
                return faulty
        form, query = asked.form, asked.form.get("query", "")
        if asked.path.endswith("/series"):
            chosen = [
                key for key in {**self.memory, **self.cpu} if f'namespace="{key[0]}"' in form["match[]"]
            ]
            labels = [{**_labels(key), **more} for key in chosen for more in self._more(key)]
            return answer(labels, warnings=self.warnings)
        if asked.path.endswith("/query") and "vector(1)" in query:
            return vector(({}, [1, "1"]))
        if asked.path.endswith("/query"):
            at = int(form["time"])
            times = range(at - 900 + self.interval, at + 1, self.interval)
            return matrix(
                *((_labels(key), [[at, "1"] for at in times]) for key, _ in _chosen(self.memory, query))
            )
        words = {
            f"max_over_time({MEMORY}": self.memory,
            f"rate({CPU}": self.cpu,
            "container_oom_events_total": self.killed,
            "status_terminated_reason": self.ended,
            "resource_requests": self.requested,
            **{f"({metric}{{": self.made.get(metric, {}) for metric in MADE},
        }
        of = next(of for word, of in words.items() if word in query)
        times = range(int(form["start"]), int(form["end"]) + 1, int(form["step"]))
        series = []
        for key, value in _chosen(of, query):
            points: list[list[object]] = [
                [at, str(found)] for at in times if (found := value(at)) is not None
            ]
            if points:
                series.append((_labels(key), points))
        return matrix(*series, warnings=self.warnings)


def _chosen(of: dict[Key, Values], query: str) -> Iterator[tuple[Key, Values]]:
    where = re.search(r'\{namespace=~?"([^"]*)",pod=~"([^"]*)"', query)
    assert where is not None, query
    namespaces, pods = (re.compile(each.replace("\\\\", "\\")) for each in where.groups())
    return (
        (key, value) for key, value in of.items() if namespaces.fullmatch(key[0]) and pods.fullmatch(key[1])
    )


def _labels(key: Key) -> dict[str, str]:
    return dict(zip(("namespace", "pod", "container"), key, strict=True))
