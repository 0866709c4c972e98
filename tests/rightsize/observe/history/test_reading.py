"""Histories from a Prometheus that has faults: what can be read is read, and what is missing is told."""

import random
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field
from functools import partial
from operator import add

import pytest
from aiohttp import web
from tests.prometheus.loopback import Asked, matrix, refusal, text
from tests.rightsize.observe.history.cadvisor import NOW, snapshot, workload
from tests.rightsize.observe.history.fake_prometheus import MADE, FakePrometheus, Fault, Key

from remuda.errors import BadInput
from remuda.loop.clock import SystemClock
from remuda.model.workloads import WorkloadId
from remuda.prometheus.access import Access
from remuda.prometheus.client import Limits, Prometheus
from remuda.prometheus.errors import PrometheusError
from remuda.rightsize.estimate.columns import Columns
from remuda.rightsize.estimate.usage import Replica
from remuda.rightsize.observe.history.reading import Batch, BatchLimits, read_history
from remuda.rightsize.snapshot import Kill, Snapshot, Unknown

HOUR, DAY = 3600, 86_400
SPAN = 2 * DAY
STEP = 600
A, B = WorkloadId("a", "StatefulSet", "db"), WorkloadId("b", "StatefulSet", "db")
WORLD = snapshot(
    workload("a", "StatefulSet", "db", "db", replicas=2), workload("b", "StatefulSet", "db", "db")
)
QUICK = Limits(timeout_s=30, tries=2, first_wait_s=0.001, longest_wait_s=1)
USUAL = BatchLimits()
TIMES = list(range(-(-(NOW - SPAN) // STEP) * STEP, NOW + 1, STEP))


@dataclass
class Read:
    """All that came of a history."""

    batches: list[Batch] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    message: list[str] = field(default_factory=list)

    @property
    def who(self) -> list[tuple[WorkloadId, str]]:
        return [who for batch in self.batches for who in batch.who]

    @property
    def partial(self) -> dict[WorkloadId, bool]:
        return {
            who[0]: part for batch in self.batches for who, part in zip(batch.who, batch.partial, strict=True)
        }

    def replicas(self, of: WorkloadId) -> list[Replica]:
        batch = next(batch for batch in self.batches if (of, "db") in batch.who)
        return batch.columns.replicas_of(batch.who.index((of, "db")))

    def anomalies(self, of: WorkloadId) -> tuple[str, ...]:
        batch = next(batch for batch in self.batches if (of, "db") in batch.who)
        return batch.anomalies[batch.who.index((of, "db"))]


def steady(*keys: Key) -> FakePrometheus:
    """Replicas whose memory tells the time, and whose CPU is a constant."""
    fake = FakePrometheus()
    for number, key in enumerate(keys):
        fake.memory[key] = partial(add, number)
        fake.cpu[key] = partial(_same, 0.5 + number)
    return fake


def _same(value: float, _at: int) -> float:
    return value


@pytest.fixture
async def fake() -> AsyncIterator[FakePrometheus]:
    async with steady(("a", "db-0", "db"), ("a", "db-1", "db"), ("b", "db-0", "db")) as running:
        yield running


async def read(
    fake: FakePrometheus,
    of: Snapshot = WORLD,
    *,
    limits: Limits = QUICK,
    history_s: int = SPAN,
    step_s: int = STEP,
    labels: tuple[tuple[str, str], ...] = (),
    only: Collection[WorkloadId] | None = None,
    now: int = NOW,
    most: BatchLimits = USUAL,
) -> Read:
    found = Read()
    access = Access(fake.url, labels=labels)
    async with Prometheus(access, SystemClock(), random.Random(1), limits=limits) as prometheus:
        async for batch in read_history(
            prometheus,
            of,
            history_s=history_s,
            step_s=step_s,
            now=now,
            progress=found.message.append,
            unknown=found.unknown,
            only=only,
            most=most,
        ):
            found.batches.append(batch)
            check_columns(batch.columns)
            assert len(batch.who) == len(batch.columns) == len(batch.anomalies) == len(batch.partial)
    return found


def check_columns(columns: Columns) -> None:
    """What columns promise."""
    replicas = int(columns.replicas[-1])
    for column in (columns.cpu, columns.memory, columns.oom):
        assert len(column.starts) == replicas + 1
        assert column.starts[-1] == len(column.times) == len(column.values)
        assert (column.values >= 0).all()
        for number in range(replicas):
            times = column.times[column.starts[number] : column.starts[number + 1]]
            assert (times[1:] > times[:-1]).all()


def when(word: str, reply: web.Response, *, start: int = 0, end: int = 2**40) -> Fault:
    """A fault of all range queries that hold a word and begin within a time."""

    def fault(asked: Asked) -> web.StreamResponse | None:
        form = asked.form
        is_named = "step" in form and word in form["query"] and start <= int(form["start"]) <= end
        return _again(reply) if is_named else None

    return fault


def _again(reply: web.Response) -> web.Response:
    return web.Response(body=reply.body, status=reply.status, content_type=reply.content_type)


async def test_pods_of_one_name_in_two_namespaces_are_two(fake: FakePrometheus) -> None:
    found = await read(fake)
    assert found.who == [(A, "db"), (B, "db")]
    assert found.unknown == []
    assert not any(found.partial.values())
    first, second = found.replicas(A)
    (third,) = found.replicas(B)
    assert [sample.at for sample in first.memory] == TIMES
    assert [each.memory[0].value - TIMES[0] for each in (first, second, third)] == [0, 1, 2]
    assert [each.cpu[-1].value for each in (first, second, third)] == [0.5, 1.5, 2.5]
    assert found.anomalies(A) == ()
    assert fake.most_at_once <= 2


async def test_a_chunk_that_fails_makes_its_batch_partial(fake: FakePrometheus) -> None:
    fake.faults = [
        when("max_over_time(container_memory", refusal(500, "internal", "disk"), end=NOW - SPAN + HOUR)
    ]
    found = await read(fake)
    assert found.partial == {A: True, B: True}
    (missing,) = found.unknown
    assert missing.part.startswith("memory of pods in a, b from 2025-")
    assert "disk" in missing.why
    assert [sample.at for sample in found.replicas(A)[0].memory] == TIMES[144:]
    assert [sample.at for sample in found.replicas(A)[0].cpu] == TIMES


async def test_kills_that_cannot_be_read_make_a_batch_partial(fake: FakePrometheus) -> None:
    fake.faults = [when("container_oom_events_total", refusal(400, "bad_data", "no such function"))]
    found = await read(fake)
    assert all(found.partial.values())
    assert "no such function" in found.unknown[0].why


async def test_a_server_that_stops_answering_is_left_alone(fake: FakePrometheus) -> None:
    fake.faults = [when("", text("down", "text/plain", 503))]
    found = await read(fake, history_s=20 * DAY)
    assert found.batches == []
    assert [one.part.split()[0] for one in found.unknown].count("use") == 1
    # three in a row, perhaps one that was on its way, and the sum of the rest
    assert 4 <= len(found.unknown) <= 5
    assert "left alone" in found.unknown[-1].why
    assert len(fake.asked) < 15


async def test_a_server_that_cannot_be_asked_at_all_is_an_error(fake: FakePrometheus) -> None:
    fake.faults = [lambda _: text("<html>", "text/html")]
    with pytest.raises(PrometheusError, match="web page"):
        await read(fake)


async def test_pods_that_cannot_be_listed_are_reported(fake: FakePrometheus) -> None:
    def refuses(asked: Asked) -> web.StreamResponse | None:
        is_named = asked.path.endswith("/series") and 'namespace="a"' in asked.form["match[]"]
        return refusal(403, "", "not for you") if is_named else None

    fake.faults = [refuses]
    found = await read(fake)
    assert found.who == [(B, "db")]
    (missing,) = found.unknown
    assert missing.part == "the pods of a"
    assert "not for you" in missing.why


async def test_pods_that_are_too_many_for_any_time_are_reported(fake: FakePrometheus) -> None:
    def refuses(asked: Asked) -> web.StreamResponse | None:
        is_named = asked.path.endswith("/series") and 'namespace="a"' in asked.form["match[]"]
        return refusal(422, "execution", "too many series") if is_named else None

    fake.faults = [refuses]
    found = await read(fake, history_s=8 * DAY)
    assert found.who == [(B, "db")]
    assert [one.part for one in found.unknown] == ["the pods of a"]
    assert len([each for each in fake.asked if each.path.endswith("/series")]) < 15


async def test_pods_that_are_listed_in_part_make_their_namespace_partial(fake: FakePrometheus) -> None:
    def refuses(asked: Asked) -> web.StreamResponse | None:
        form = asked.form
        if not asked.path.endswith("/series") or 'namespace="a"' not in form["match[]"]:
            return None
        if int(form["start"]) > NOW - SPAN // 2 - HOUR:
            return refusal(400, "bad_data", "odd")
        is_long = int(form["end"]) - int(form["start"]) > SPAN // 2
        return refusal(422, "execution", "too many series") if is_long else None

    fake.faults = [refuses]
    found = await read(fake)
    assert found.partial == {A: True, B: False}
    assert [one.part for one in found.unknown] == ["the pods of a"]


async def test_pods_are_listed_for_shorter_times_where_it_is_too_much(fake: FakePrometheus) -> None:
    def refuses(asked: Asked) -> web.StreamResponse | None:
        form = asked.form
        is_long = asked.path.endswith("/series") and int(form["end"]) - int(form["start"]) > 13 * HOUR
        return refusal(422, "execution", "too many series") if is_long else None

    fake.faults = [refuses]
    found = await read(fake)
    assert (found.who, found.unknown) == ([(A, "db"), (B, "db")], [])


@pytest.mark.slow
@pytest.mark.parametrize("most", [30, 11, 3])
async def test_chunks_are_halved_and_then_pods_until_the_server_agrees(
    fake: FakePrometheus, most: int
) -> None:
    def refuses(asked: Asked) -> web.StreamResponse | None:
        form = asked.form
        if "step" not in form:
            return None
        pods = form["query"].partition('pod=~"')[2].partition('"')[0].count("|") + 1
        steps = (int(form["end"]) - int(form["start"])) // int(form["step"]) + 1
        is_too_much = steps > 10 and pods * steps > most
        return (
            refusal(422, "execution", "query processing would load too many samples") if is_too_much else None
        )

    fake.faults = [refuses]
    found = await read(fake)
    assert found.unknown == []
    assert [len(each.memory) for each in (*found.replicas(A), *found.replicas(B))] == [len(TIMES)] * 3
    assert found.anomalies(A) == ()


@pytest.mark.slow
async def test_an_answer_with_too_many_series_is_asked_for_pod_by_pod(fake: FakePrometheus) -> None:
    found = await read(fake, limits=Limits(tries=1, most_series=2))
    # both matched pods of `db-0` come even then, and only what was asked for is taken
    assert found.unknown == []
    assert [len(each.memory) for each in (*found.replicas(A), *found.replicas(B))] == [len(TIMES)] * 3
    assert found.anomalies(A) == found.anomalies(B) == ()


async def test_of_half_the_pods_only_these_are_taken(fake: FakePrometheus) -> None:
    refused: list[str] = []

    def refuses_once(asked: Asked) -> web.StreamResponse | None:
        if "rate(" not in asked.form.get("query", "") or refused:
            return None
        refused.append(asked.form["query"])
        return refusal(422, "execution", "too many series")

    fake.faults = [refuses_once]
    found = await read(fake)
    # the half with db-0 of b matches that of a, too
    assert refused
    assert found.anomalies(A) == found.anomalies(B) == ()
    assert [len(each.cpu) for each in (*found.replicas(A), *found.replicas(B))] == [len(TIMES)] * 3


async def test_a_question_that_is_too_much_in_any_size_is_reported(fake: FakePrometheus) -> None:
    fake.faults = [when("rate(", refusal(422, "execution", "too many samples"))]
    found = await read(fake)
    assert all(found.partial.values())
    assert "no samples of CPU" in found.anomalies(A)
    assert all(one.part.startswith("CPU of pods in") for one in found.unknown)
    # nobody is asked for every pod and minute to hear the same; and what else there is to ask for is not cut up
    assert len(found.unknown) == 3
    assert len(fake.asked_for("rate(")) < 30
    assert len(fake.asked_for("max_over_time(container_memory")) == 2
    assert len(found.replicas(A)[0].memory) == len(TIMES)


async def test_values_that_make_no_sense_are_left_out_and_reported(fake: FakePrometheus) -> None:
    odd = {TIMES[3]: "NaN", TIMES[4]: "-5", TIMES[5]: "1e300", TIMES[6]: "+Inf"}
    fake.memory["a", "db-0", "db"] = lambda at: odd.get(at, 7)
    found = await read(fake)
    assert [sample.value for sample in found.replicas(A)[0].memory] == [7] * (len(TIMES) - 4)
    assert found.anomalies(A) == (
        "samples of memory that were left out: 2 below zero or beyond all measure, 2 not numbers",
    )
    assert not any(found.partial.values())


async def test_samples_out_of_order_or_out_of_time_are_left_out_and_reported(fake: FakePrometheus) -> None:
    labels = {"namespace": "b", "pod": "db-0", "container": "db"}
    values: list[list[object]] = [
        [TIMES[5], "1"],
        [TIMES[4], "1"],
        [TIMES[5], "1"],
        [2**40, "1"],
        [TIMES[0] - 1, "1"],
    ]
    fake.faults = [when("rate(", matrix((labels, values)))]
    found = await read(fake)
    assert [sample.at for sample in found.replicas(B)[0].cpu] == [TIMES[5]]
    assert "2 in the future" in found.anomalies(B)[0]
    assert "given twice" in found.anomalies(B)[0]
    assert "out of order" in found.anomalies(B)[0]


async def test_gaps_are_reported_in_all(fake: FakePrometheus) -> None:
    fake.memory["a", "db-1", "db"] = lambda at: 1 if at < TIMES[20] or at >= TIMES[32] else None
    found = await read(fake)
    assert found.anomalies(A) == ("gaps in the samples of memory of 1 of 2 replicas: 2h in all",)


async def test_what_the_server_warns_of_is_reported_once(fake: FakePrometheus) -> None:
    fake.warnings = ["a store is down"]
    found = await read(fake)
    assert [one.why for one in found.unknown] == [f"{fake.url} warns: a store is down"]


async def test_series_of_another_cluster_are_left_out_or_reported(fake: FakePrometheus) -> None:
    found = await read(fake, labels=(("cluster", 'x"'),))
    asked = [each.form.get("query", "") + each.form.get("match[]", "") for each in fake.asked[1:]]
    assert all('cluster="x\\""' in each for each in asked)
    assert found.unknown == []
    fake.clusters = ["north", "south"]
    found = await read(fake)
    assert "several clusters (north, south)" in found.unknown[0].why
    assert "REMUDA_PROMETHEUS_LABELS" in found.unknown[0].why


async def test_safety_workloads_of_which_two_clusters_have_samples_are_partial() -> None:
    """Also when no pod is in both: those of a Deployment have other names in each."""
    first, second = ("a", "web-5d4f8b7c9d-bcdfg", "db"), ("a", "web-5d4f8b7c9d-hjklm", "db")
    web = WorkloadId("a", "Deployment", "web")
    of = snapshot(workload(*web, "db", replicas=2), *WORLD.workloads)
    async with steady(first, second, ("b", "db-0", "db")) as fake:
        fake.cluster_of = {first: ["north"], second: ["south"], ("b", "db-0", "db"): ["north"]}
        found = await read(fake, of)
        assert found.partial == {web: True, B: False}
        assert "several clusters (north, south)" in found.unknown[0].why
        fake.cluster_of[second] = ["north"]
        found = await read(fake, of)
        assert found.partial == {web: False, B: False}
        assert found.unknown == []


async def test_values_of_which_none_is_a_number_are_reported(fake: FakePrometheus) -> None:
    fake.memory["b", "db-0", "db"] = lambda _: "NaN"
    left_out = f"samples of memory that were left out: {len(TIMES)} not numbers"
    found = await read(fake)
    assert found.anomalies(B) == ("no samples of memory", left_out)
    assert found.unknown == []
    fake.cpu["b", "db-0", "db"] = lambda _: None
    found = await read(fake)
    assert found.anomalies(B) == ("no samples of CPU", "no samples of memory", left_out)
    assert found.unknown == [Unknown(f"use of db of {B}", left_out)]


async def test_a_small_batch_at_a_time(fake: FakePrometheus) -> None:
    found = await read(fake, most=BatchLimits(series=2))
    assert [batch.who for batch in found.batches] == [[(A, "db")], [(B, "db")]]


async def test_more_replicas_than_a_batch_holds_are_read_in_longer_steps() -> None:
    most = BatchLimits(series=2, steps=SPAN // STEP)
    async with steady(*(("a", f"db-{number}", "db") for number in range(6))) as fake:
        found = await read(fake, snapshot(workload("a", "StatefulSet", "db", "db", replicas=6)), most=most)
    assert [len(each.memory) for each in found.replicas(A)] == [SPAN // STEP // 3] * 6
    assert found.anomalies(A) == ("many replicas: a sample every 1800 s, not every 600 s",)
    assert "[1800s]" in fake.asked_for("rate(")[0]["query"]


async def test_far_more_samples_than_expected_are_not_held(fake: FakePrometheus) -> None:
    found = await read(fake, most=BatchLimits(points=100))
    assert all(found.partial.values())
    assert any("were not read" in each for each in found.anomalies(A))


@pytest.mark.slow
async def test_thousands_of_short_pods_are_asked_for_by_the_beginning_of_their_names() -> None:
    load = WorkloadId("a", "CronJob", "load")
    keys = [("a", f"load-{29_000_000 + number}-bcdfg", "db") for number in range(300)]
    async with steady(*keys, ("a", "loader-0", "db")) as fake:
        found = await read(fake, snapshot(workload("a", "CronJob", "load", "db"), *WORLD.workloads))
    assert len(found.replicas(load)) == 300
    assert 'pod=~"load.*"' in fake.asked_for("rate(")[0]["query"]


@pytest.mark.parametrize(
    ("interval", "rate", "peak"), [(15, 60, 60), (30, 120, 60), (60, 240, 120), (120, 480, 240)]
)
async def test_windows_are_as_long_as_scrapes_ask_for(
    fake: FakePrometheus, interval: int, rate: int, peak: int
) -> None:
    fake.interval = interval
    await read(fake, history_s=HOUR, step_s=60)
    assert f"[{rate}s]" in fake.asked_for("rate(")[0]["query"]
    assert f"[{peak}s]" in fake.asked_for("max_over_time(container_memory")[0]["query"]


@pytest.mark.slow
async def test_no_range_is_longer_than_a_day_or_has_more_points_than_prometheus_gives(
    fake: FakePrometheus,
) -> None:
    await read(fake, history_s=3 * DAY, step_s=5)
    ranges = [(int(form["end"]) - int(form["start"]), int(form["step"])) for form in fake.asked_for("")]
    assert max(length for length, _ in ranges) < DAY
    assert max(length // step + 1 for length, step in ranges) <= 11_000


async def test_kills_that_only_pods_tell_of_are_there() -> None:
    kills = (
        Kill(A, "db", "db-0", NOW - 50, 77),
        Kill(A, "db", "db-0", NOW - SPAN - 1),
        Kill(A, "x", "db-0", NOW),
    )
    async with FakePrometheus() as fake:
        found = await read(fake, snapshot(*WORLD.workloads, kills=kills))
    assert found.who == [(A, "db")]
    assert [(kill.at, kill.value) for kill in found.replicas(A)[0].oom] == [(NOW - 50, 77)]
    assert found.anomalies(A) == ("no samples of CPU", "no samples of memory")


async def test_kills_are_as_many_as_must_have_been(fake: FakePrometheus) -> None:
    first, second = ("a", "db-0", "db"), ("a", "db-1", "db")
    begin = NOW - DAY
    # killed again and again for an hour
    fake.killed[first] = lambda at: 1 if begin <= at < begin + HOUR else None
    fake.requested[first] = lambda at: 100 if at < begin + HOUR // 2 else 200
    # one was killed at some time before, and one long after the history began
    fake.ended["b", "db-0", "db"] = lambda _: 1
    fake.ended[second] = lambda at: 1 if at >= begin else None
    found = await read(fake)
    kills = found.replicas(A)[0].oom
    assert [kill.value for kill in kills] == [100] * (len(kills) // 2) + [200] * (
        len(kills) - len(kills) // 2
    )
    # windows of 15 minutes with as much before them that rates need
    assert 3 <= len(kills) <= 12
    (kill,) = found.replicas(A)[1].oom
    assert begin <= kill.at < begin + 600
    assert found.replicas(B)[0].oom == []


@pytest.mark.slow
async def test_a_kill_is_reported_at_the_same_moment_whenever_it_is_asked_for(fake: FakePrometheus) -> None:
    killed = NOW - 6 * HOUR + 17
    fake.killed["a", "db-0", "db"] = lambda at: 1 if killed <= at < killed + 500 else None
    fake.ended["a", "db-1", "db"] = lambda at: 1 if at >= killed else None
    seen = set()
    for later in (0, 60, 120, 180, 3600):
        found = await read(fake, step_s=60, history_s=DAY, now=NOW + later)
        seen.add(tuple(tuple(kill.at for kill in each.oom) for each in found.replicas(A)))
    ((first, second),) = seen
    assert len(first) == len(second) == 1
    assert killed <= first[0] < killed + 300


async def test_who_was_killed_before_the_history_has_none() -> None:
    async with FakePrometheus() as fake:
        fake.memory["a", "db-0", "db"] = fake.cpu["a", "db-0", "db"] = lambda _: None
        fake.ended["a", "db-0", "db"] = lambda _: 1
        assert (await read(fake)).batches == []


async def test_without_workloads_nothing_is_read() -> None:
    async with FakePrometheus() as fake:
        assert (await read(fake, snapshot())).batches == []


async def test_a_history_that_makes_no_sense_is_bad_input(fake: FakePrometheus) -> None:
    with pytest.raises(BadInput, match="makes no sense"):
        await read(fake, history_s=10, step_s=60)


async def test_of_some_workloads_pods_of_others_are_not_taken_for_theirs() -> None:
    both = snapshot(workload("a", "StatefulSet", "db", "db"), workload("a", "StatefulSet", "db-0", "db"))
    async with steady(("a", "db-0", "db"), ("a", "db-0-0", "db")) as fake:
        found = await read(fake, both, only={A})
        assert found.who == [(A, "db")]
        assert len(found.replicas(A)) == 1


@pytest.mark.parametrize("metric", MADE)
async def test_pods_that_follow_each_other_under_one_name_are_told_apart(
    fake: FakePrometheus, metric: str
) -> None:
    """Of pods of another workload of that name in another namespace, and of what was there all the time, nothing is told."""
    made = [NOW - 9 * DAY, NOW - DAY - 123, NOW - 456]
    fake.made[metric] = {
        ("a", "db-0", ""): lambda at: max(each for each in made if each <= at),
        ("a", "db-1", ""): partial(_same, made[0]),
    }
    read_ = await read(fake)
    [of_a] = [batch for batch in read_.batches if batch.who[0][0] == A]
    assert {n: at.tolist() for n, at in of_a.columns.renewed.items()} == {0: made[1:]}
    assert not read_.unknown


async def test_the_most_exact_that_knows_when_a_pod_was_made_is_believed(fake: FakePrometheus) -> None:
    fake.made["kube_pod_created"] = {("a", "db-0", ""): partial(_same, NOW - DAY)}
    fake.made["kube_pod_start_time"] = {
        ("a", "db-0", ""): partial(_same, NOW - DAY + 5),
        ("a", "db-1", ""): partial(_same, NOW - DAY + 7),
    }
    renewed = (await read(fake)).batches[0].columns.renewed
    assert {n: at.tolist() for n, at in renewed.items()} == {0: [NOW - DAY], 1: [NOW - DAY + 7]}
    asked = fake.asked_for("kube_pod_start_time")
    assert asked
    assert not any("db-0" in each["query"] and 'namespace="a"' in each["query"] for each in asked)


@pytest.mark.parametrize("written", [-5.0, 0.0, float(NOW + DAY)])
async def test_a_pod_that_was_never_made_or_is_yet_to_be_is_no_other(
    fake: FakePrometheus, written: float
) -> None:
    fake.made["kube_pod_created"] = {("a", "db-0", ""): partial(_same, written)}
    assert not (await read(fake)).batches[0].columns.renewed


async def test_when_the_pods_of_a_deployment_were_made_is_not_asked_for() -> None:
    async with steady(("a", "db-5d4f8b7c9d-bcdfg", "db")) as fake:
        await read(fake, snapshot(workload("a", "Deployment", "db", "db")))
    assert not any(fake.asked_for(metric) for metric in MADE)


async def test_where_it_cannot_be_read_when_pods_were_made_it_is_reported(fake: FakePrometheus) -> None:
    fake.faults.append(when("kube_pod_created", refusal(422, "execution", "no")))
    read_ = await read(fake)
    assert any(each.part.startswith("when pods were made of pods in a") for each in read_.unknown)
    assert not any(read_.partial.values())
