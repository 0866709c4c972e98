"""The history of workloads from a real Prometheus: eight days of back-dated samples, or what it scrapes."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from tests.rightsize.observe.history.cadvisor import (
    BEGIN,
    DAY,
    NOW,
    Scraped,
    lines,
    peaks,
    rates,
    snapshot,
    workload,
)
from tests.servers.fixtures import NewPrometheus, Programs
from tests.servers.prometheus import NAMES, PrometheusServer

from remuda.model.workloads import WorkloadId
from remuda.prometheus import probe
from remuda.prometheus.client import Prometheus, connect
from remuda.prometheus.errors import PrometheusError
from remuda.rightsize.estimate.usage import Replica, Sample
from remuda.rightsize.observe.history.promql import CPU, MEMORY
from remuda.rightsize.observe.history.reading import Batch, read_history
from remuda.rightsize.snapshot import Kill, Snapshot, Unknown

pytestmark = pytest.mark.slow

MIB = 2**20
WEB1, WEB2 = "web-5d4f8b7c9d-bcdfg", "web-5d4f8b7c9d-hjklm"
JOB = "load-xz24q"
KILLED_AT = BEGIN + 3 * DAY + 1234
REPLACED_AT = BEGIN + 5 * DAY
GAP = (BEGIN + 2 * DAY + 1000, BEGIN + 2 * DAY + 1000 + 9000)


def wave(at: int) -> float:
    return float((100 + at // 60 % 97) * MIB + at % 3600)


def steadily(cores: float, since: int = BEGIN - 3600, until_reset: int | None = None) -> "Counter":
    return Counter(cores, since, until_reset)


class Counter:
    """A counter of seconds that may begin anew."""

    def __init__(self, cores: float, since: int, reset: int | None) -> None:
        self.cores, self.since, self.reset = cores, since, reset

    def __call__(self, at: int) -> float:
        since = self.reset if self.reset is not None and at >= self.reset else self.since
        # not the same in every hour
        return round((at - since) * self.cores + 600 * ((at - since) // 3600 % 3 > 0), 6)


def both(namespace: str, pod: str, container: str, cores: float, **more: object) -> list[Scraped]:
    begin = more.get("begin", BEGIN - 3600)
    assert isinstance(begin, int)
    # what lies before a counter's first sample is judged by its distance from zero, by each version in its own way
    cpu = Scraped(CPU, namespace, pod, container, steadily(cores, begin - 100_000), **more)  # type: ignore[arg-type]
    return [cpu, Scraped(MEMORY, namespace, pod, container, wave, **more)]  # type: ignore[arg-type]


USED = [
    # one that is there all the time, whose container is restarted, as a new series; the other's counter begins anew
    *both("shop", WEB1, "app", 0.5, labels=',id="1"', end=BEGIN + 4 * DAY),
    *both("shop", WEB1, "app", 0.7, labels=',id="2"', begin=BEGIN + 4 * DAY + 40),
    Scraped(CPU, "shop", WEB1, "proxy", steadily(0.03, until_reset=BEGIN + 5 * DAY + 77)),
    Scraped(MEMORY, "shop", WEB1, "proxy", wave),
    # one that comes and goes
    *both("shop", WEB2, "app", 1.25, begin=BEGIN + 3 * DAY, end=BEGIN + 5 * DAY),
    # pods of the same name, one with a gap
    *both("data", "db-0", "db", 2.0, gaps=(GAP,)),
    *both("shop", "db-0", "db", 0.25, begin=BEGIN + 6 * DAY),
    # of a Job
    *both("shop", JOB, "main", 3.0, begin=BEGIN + DAY, end=BEGIN + DAY + 900),
]
OTHERS = [
    *both("shop", "stray", "app", 9.0, begin=NOW - 900),
    *both("shop", WEB1, "istio-proxy", 9.0, begin=NOW - 900),
    *both("shop", WEB1, "POD", 9.0, begin=NOW - 900),
    *both("shop", WEB1, "", 9.0, begin=NOW - 900),
    *both("elsewhere", WEB1, "app", 9.0, begin=NOW - 900),
]
KSM = "kube_pod_container_"
STATES = [
    Scraped(f"{KSM}status_restarts_total", "shop", WEB1, "app", lambda at: float(at > KILLED_AT)),
    Scraped(f"{KSM}status_last_terminated_reason", "shop", WEB1, "app", lambda _: 1.0, begin=KILLED_AT,
            labels=',reason="OOMKilled"'),
    Scraped(f"{KSM}resource_requests", "shop", WEB1, "app", lambda at: float((512 if at < BEGIN + 6 * DAY else 900) * MIB),
            labels=',resource="memory"'),
    # restarted, but not because it ran out of memory
    Scraped(f"{KSM}status_restarts_total", "shop", WEB1, "proxy", lambda at: float(at > KILLED_AT)),
    Scraped(f"{KSM}status_last_terminated_reason", "shop", WEB1, "proxy", lambda _: 1.0, begin=KILLED_AT,
            labels=',reason="Error"'),
    # the kernel killed a child of its main process
    Scraped("container_oom_events_total", "data", "db-0", "db", lambda at: float(at > KILLED_AT)),
    # another pod took the name of the first, and one of a container that only holds the network
    Scraped("kube_pod_created", "data", "db-0", "", lambda _: float(BEGIN - DAY), end=REPLACED_AT, labels=',uid="1"'),
    Scraped("kube_pod_created", "data", "db-0", "", lambda _: float(REPLACED_AT + 20), begin=REPLACED_AT + 30, labels=',uid="2"'),
    Scraped("container_start_time_seconds", "shop", "db-0", "POD", lambda _: BEGIN + 6 * DAY - 2.5, begin=BEGIN + 6 * DAY),
    Scraped("container_start_time_seconds", "shop", "db-0", "db", lambda _: BEGIN + 7 * DAY + 0.0, begin=BEGIN + 7 * DAY),
    # a Job's is not restarted
    Scraped(f"{KSM}status_terminated_reason", "shop", JOB, "main", lambda _: 1.0, begin=BEGIN + DAY + 900,
            end=BEGIN + 2 * DAY, labels=',reason="OOMKilled"'),
]  # fmt: skip
WORLD = snapshot(
    workload("shop", "Deployment", "web", "app", "proxy", replicas=2),
    workload("shop", "StatefulSet", "db", "db"),
    workload("shop", "Job", "load", "main"),
    workload("data", "StatefulSet", "db", "db"),
    workload("data", "Deployment", "idle", "app"),
)
WEB, DB = WorkloadId("shop", "Deployment", "web"), WorkloadId("data", "StatefulSet", "db")
SHOP_DB, LOAD = WorkloadId("shop", "StatefulSet", "db"), WorkloadId("shop", "Job", "load")


@pytest.fixture(scope="module")
def server(programs: Programs) -> Iterator[PrometheusServer]:
    with PrometheusServer(programs(*NAMES), samples=lines([*USED, *OTHERS, *STATES])) as running:
        yield running


@pytest.fixture
async def prometheus(server: PrometheusServer) -> AsyncIterator[Prometheus]:
    async with connect(server.url, {}) as client:
        yield client


class Read:
    """All batches of a history."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.unknown: list[Unknown] = []
        self.message: list[str] = []
        self.replicas: dict[tuple[WorkloadId, str], list[Replica]] = {}
        self.anomalies: dict[tuple[WorkloadId, str], tuple[str, ...]] = {}

    @property
    def is_partial(self) -> bool:
        return any(any(batch.partial) for batch in self.batches)


async def read(
    prometheus: Prometheus, of: Snapshot = WORLD, *, now: int = NOW, history_s: int = 8 * DAY
) -> Read:
    found = Read()
    async for batch in read_history(
        prometheus,
        of,
        history_s=history_s,
        step_s=60,
        now=now,
        progress=found.message.append,
        unknown=found.unknown,
    ):
        found.batches.append(batch)
        for number, who in enumerate(batch.who):
            found.replicas[who] = batch.columns.replicas_of(number)
            found.anomalies[who] = batch.anomalies[number]
    return found


def of(metric: str, namespace: str, pod: str, container: str) -> list[Scraped]:
    key = (metric, namespace, pod, container)
    return [one for one in USED if (one.metric, one.namespace, one.pod, one.container) == key]


def check(replica: Replica, namespace: str, pod: str, container: str) -> None:
    # a scrape each 30 s: windows of 60 s for memory, of 4 scrapes for CPU
    expected = peaks(of(MEMORY, namespace, pod, container), 60)
    assert [tuple(sample) for sample in replica.memory] == expected
    expected = rates(of(CPU, namespace, pod, container), 120)
    assert [sample.at for sample in replica.cpu] == [at for at, _ in expected]
    assert [sample.value for sample in replica.cpu] == pytest.approx(
        [value for _, value in expected], rel=1e-9
    )


async def test_eight_days_of_all_workloads_are_read_exactly(prometheus: Prometheus) -> None:
    found = await read(prometheus)
    assert not found.is_partial
    assert found.unknown == []
    assert list(found.replicas) == [(DB, "db"), (WEB, "app"), (WEB, "proxy"), (LOAD, "main"), (SHOP_DB, "db")]
    (db,), (first, second), (proxy,) = (
        found.replicas[key] for key in ((DB, "db"), (WEB, "app"), (WEB, "proxy"))
    )
    check(db, "data", "db-0", "db")
    check(first, "shop", WEB1, "app")
    check(second, "shop", WEB2, "app")
    check(proxy, "shop", WEB1, "proxy")
    check(found.replicas[SHOP_DB, "db"][0], "shop", "db-0", "db")
    check(found.replicas[LOAD, "main"][0], "shop", JOB, "main")
    assert [len(batch.columns) for batch in found.batches] == [5]
    assert found.batches[0].columns.siblings.tolist() == [1, 2, 2, 1, 1]
    assert any("istio-proxy" in line for line in found.message)


async def test_gaps_are_reported_and_coming_and_going_is_none(prometheus: Prometheus) -> None:
    found = await read(prometheus)
    assert found.anomalies[WEB, "app"] == found.anomalies[SHOP_DB, "db"] == ()
    cpu, memory = found.anomalies[DB, "db"]
    assert memory == "gaps in the samples of memory: 2h30m in all"
    assert cpu.startswith("gaps in the samples of CPU: 2h2")


async def test_kills_are_found_with_what_was_requested(prometheus: Prometheus) -> None:
    found = await read(prometheus)
    assert found.replicas[WEB, "proxy"][0].oom == []
    (kill,) = found.replicas[WEB, "app"][0].oom
    assert KILLED_AT < kill.at <= KILLED_AT + 600
    assert kill.value == 512 * MIB
    (kill,) = found.replicas[DB, "db"][0].oom
    assert KILLED_AT < kill.at <= KILLED_AT + 600
    assert kill.value == 0
    (kill,) = found.replicas[LOAD, "main"][0].oom
    assert BEGIN + DAY + 900 <= kill.at <= BEGIN + DAY + 1500


async def test_pods_that_follow_each_other_under_one_name_are_told_apart(prometheus: Prometheus) -> None:
    """By when they were made, and not by when their containers were started."""
    found = await read(prometheus)
    [batch] = found.batches
    names = [
        batch.who[np.searchsorted(batch.columns.replicas, n, side="right") - 1] for n in batch.columns.renewed
    ]
    begun = dict(zip(names, (at.tolist() for at in batch.columns.renewed.values()), strict=True))
    assert begun == {(DB, "db"): [REPLACED_AT + 20], (SHOP_DB, "db"): [BEGIN + 6 * DAY - 3]}


async def test_a_kill_that_the_pod_tells_too_is_one(prometheus: Prometheus) -> None:
    gone = Kill(SHOP_DB, "db", "db-7", NOW - 100, 64 * MIB)
    of = snapshot(*WORLD.workloads, kills=(Kill(WEB, "app", WEB1, KILLED_AT), gone))
    found = await read(prometheus, of)
    assert found.replicas[WEB, "app"][0].oom == [Sample(KILLED_AT, 512.0 * MIB)]
    assert found.replicas[SHOP_DB, "db"][1].oom == [Sample(NOW - 100, 64.0 * MIB)]


async def test_names_that_look_like_queries_are_only_names(prometheus: Prometheus) -> None:
    hostile = '"} or vector(1) or {x="'
    of = snapshot(
        *WORLD.workloads,
        workload(hostile, "StatefulSet", "a\\.*\n", "db"),
        owners={("shop", WEB1): WEB, ("shop", "stray"): WorkloadId("shop", "Pod", 'x"|.*')},
        kills=(Kill(SHOP_DB, "db", 'db-0"|.*\\', NOW - 100),),
    )
    found = await read(prometheus, of)
    assert found.unknown == []
    check(found.replicas[WEB, "app"][0], "shop", WEB1, "app")


async def test_a_server_that_bears_little_is_asked_for_less(
    server: PrometheusServer, new_prometheus: NewPrometheus
) -> None:
    del server
    some = [
        *of(CPU, "shop", WEB2, "app"),
        *of(MEMORY, "shop", WEB2, "app"),
        *of(MEMORY, "shop", WEB1, "proxy"),
    ]
    little = new_prometheus(samples=lines(some), flags=["--query.max-samples=700"])
    async with connect(little.url, {}) as client:
        found = await read(client)
    assert found.unknown == []
    check(found.replicas[WEB, "app"][0], "shop", WEB2, "app")
    assert [tuple(sample) for sample in found.replicas[WEB, "proxy"][0].memory] == peaks(
        of(MEMORY, "shop", WEB1, "proxy"), 60
    )


async def test_a_server_that_bears_nothing_leaves_all_partial_or_unknown(
    new_prometheus: NewPrometheus,
) -> None:
    some = both("shop", "db-0", "db", 1.0, begin=NOW - DAY)
    nothing = new_prometheus(samples=lines(some), flags=["--query.max-samples=5"])
    async with connect(nothing.url, {}) as client:
        found = await read(client, history_s=2 * 3600)
    assert found.unknown
    assert all("too many samples" in one.why for one in found.unknown)
    assert found.is_partial or not found.batches


#: "right-word", with bcrypt's least cost
HASHED = ("right-word", "$2b$04$e2p1116MbGm8NaNbUiyZkOnlXJBm6G48qzrEW1RExEbWCjLkL1zcO")


async def test_only_who_knows_the_password_is_let_in(new_prometheus: NewPrometheus) -> None:
    guarded = new_prometheus(samples=lines(both("shop", "db-0", "db", 1.0, begin=NOW - 900)), password=HASHED)
    environ = {"REMUDA_PROMETHEUS_USER": "me", "REMUDA_PROMETHEUS_PASSWORD": "right-word"}
    async with connect(guarded.url, environ) as client:
        found = await read(client)
    assert list(found.replicas) == [(SHOP_DB, "db")]
    environ["REMUDA_PROMETHEUS_PASSWORD"] = "wrong-word"
    async with connect(guarded.url, environ) as client:
        with pytest.raises(PrometheusError, match="401") as caught:
            await read(client)
    assert caught.value.kind == "unauthorized"
    assert "wrong-word" not in str(caught.value)


async def test_what_a_diagnosis_asks_is_answered(prometheus: Prometheus) -> None:
    await probe.check_up(prometheus)
    assert (await probe.version(prometheus))[:1].isdecimal()
    held = await probe.held(prometheus, MEMORY, now=NOW, history_s=9 * DAY)
    assert held.series == 9
    assert held.since is not None
    assert BEGIN - 3600 <= held.since <= BEGIN
    nothing = await probe.held(prometheus, "no_such_metric", now=NOW, history_s=9 * DAY)
    assert (nothing.series, nothing.since) == (0, None)


@contextmanager
def exporter(page: "Page") -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Page:
    """What an exporter says: half a core of use, and memory that has a peak once."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.scrapes = 0

    def __call__(self) -> str:
        self.scrapes += 1
        used = (time.monotonic() - self.began) / 2
        at = '{namespace="shop",pod="db-0",container="db"}'
        memory = 777 if self.scrapes == 5 else 100
        return f"{CPU}{at} {used}\n{MEMORY}{at} {memory}\n"


async def test_what_is_scraped_is_read_with_its_short_peak(new_prometheus: NewPrometheus) -> None:
    page = Page()
    with exporter(page) as target:
        live = new_prometheus(targets=[target], interval_s=1)
        deadline = time.monotonic() + 240
        while page.scrapes < 20 and time.monotonic() < deadline:  # noqa: ASYNC110 - a thread counts
            await asyncio.sleep(0.2)
        now = int(time.time())
        async with connect(live.url, {}) as client:
            found = Read()
            async for batch in read_history(
                client,
                WORLD,
                history_s=3600,
                step_s=5,
                now=now,
                progress=found.message.append,
                unknown=found.unknown,
            ):
                found.batches.append(batch)
    assert found.unknown == []
    (batch,) = found.batches
    (replica,) = batch.columns.replicas_of(0)
    assert max(sample.value for sample in replica.memory) == 777
    rate = sorted(sample.value for sample in replica.cpu)[len(replica.cpu) // 2]
    assert rate == pytest.approx(0.5, rel=0.2)
