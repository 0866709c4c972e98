"""The source in virtual time: what it knows, since when it does not, and whom it asks."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.sources.circleci import loopback
from tests.sources.circleci.fake import Rig
from tests.sources.circleci.loopback import TOKEN, Circle, agent

from remuda.errors import NotFound, Unavailable
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log
from remuda.model.needs import Need, Worker
from remuda.model.times import MINUTE, SECOND
from remuda.sim.clock import MONDAY, SimClock
from remuda.sim.loop import run
from remuda.sources.circleci.client import Client
from remuda.sources.circleci.errors import CircleError
from remuda.sources.circleci.meters import CircleMeters
from remuda.sources.circleci.pace import Host
from remuda.sources.circleci.source import CircleCI

POOLS = {"a": "org/a"}
IDLE = Worker(MONDAY - 60 * SECOND, connected_at=MONDAY - 60 * SECOND)
BUSY = Worker(MONDAY - 30 * SECOND, "task", 1, connected_at=MONDAY - 60 * SECOND)
BROKEN = CircleError("asking for tasks: 500; it is asked again by itself", "broken")


@asynccontextmanager
async def polling(rig: Rig) -> AsyncIterator[None]:
    task = asyncio.create_task(rig.source.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def history(
    story: Callable[[Rig], Awaitable[None]], pools: dict[str, str] | None = None, rate: float = 20.0
) -> Rig:
    """Live through a story with a source that polls."""

    async def live() -> Rig:
        rig = Rig(SimClock(asyncio.get_running_loop()), pools or POOLS, rate)
        async with polling(rig):
            await story(rig)
        return rig

    return run(live())


def test_what_was_heard_is_reported_at_once_and_what_was_not_is_absent() -> None:
    async def story(rig: Rig) -> None:
        rig.api.counts["org/a"] = (3, 2)
        rig.api.workers["org/a"] = {"a-1": IDLE, "a-2": BUSY}
        first = await rig.source.read()
        assert (first.needs, first.workers, first.registering) == ({}, {}, frozenset())
        reading = await rig.attend(1)
        assert reading.needs == {"org/a": Need(3, 2)}
        assert reading.workers == {"a-1": IDLE, "a-2": BUSY}
        assert reading.registering == {"org/a"}
        assert rig.source.trouble() == {}

    rig = history(story)
    assert rig.api.is_closed
    assert rig.lines == []
    assert rig.metric("stale", **{"class": "org/a"}) == 0
    assert rig.metric("last_good_timestamp_seconds", **{"class": "org/a"}) == MONDAY / 1000 + 0.05
    assert rig.metric("requests_total", call="agents", outcome="ok") == 1


def test_a_class_is_asked_each_second_and_its_loop_woken_only_by_news() -> None:
    async def story(rig: Rig) -> None:
        await rig.attend(60)
        assert rig.api.count("unclaimed") == pytest.approx(60, abs=1)
        assert rig.api.count("running") == pytest.approx(60, abs=1)
        assert rig.api.count("agents") == pytest.approx(7, abs=1)
        assert rig.wakes == 2
        rig.api.counts["org/a"] = (1, 0)
        rig.api.workers["org/a"] = {"a-1": IDLE}
        await rig.attend(5)
        assert rig.wakes == 4
        assert await rig.need() == Need(1, 0)

    history(story)


@pytest.mark.parametrize("call", ["unclaimed", "running"])
def test_a_failed_count_holds_both_numbers_and_says_since_when(call: str) -> None:
    async def story(rig: Rig) -> None:
        rig.api.counts["org/a"] = (3, 2)
        await rig.attend(10)
        wakes = rig.wakes
        rig.api.counts["org/a"] = (0, 0)
        rig.api.errors[call] = BROKEN
        reading = await rig.attend(100)
        need = reading.needs["org/a"]
        assert (need.unclaimed, need.running, need.unsure_since) == (3, 2, None)
        assert need.stale_since is not None
        assert 9 * SECOND <= need.stale_since - MONDAY <= 10 * SECOND
        assert reading.registering == {"org/a"}
        assert rig.wakes == wakes + 1
        assert rig.logged() == {f"failed to get {call} tasks": 2}
        assert rig.lines[0]["class"] == "org/a"
        assert rig.lines[0]["error"] == str(BROKEN)
        assert str(BROKEN) in rig.source.trouble()["org/a"]
        assert rig.source.refusals() == {"org/a": str(BROKEN)}
        assert rig.metric("stale", **{"class": "org/a"}) == 1
        rig.api.errors.clear()
        await rig.attend(6)
        assert await rig.need() == Need(0, 0)
        assert rig.wakes == wakes + 2
        assert rig.logged()["CircleCI answers again"] == 1
        assert rig.source.trouble() == {}
        assert rig.source.refusals() == {}
        assert rig.metric("stale", **{"class": "org/a"}) == 0

    rig = history(story)
    assert (rig.metric("requests_total", call=call, outcome="broken") or 0) > 5


def test_a_class_that_never_answered_has_no_need_and_a_sentence() -> None:
    async def story(rig: Rig) -> None:
        for call in ("unclaimed", "running", "agents"):
            rig.api.errors[call] = BROKEN
        reading = await rig.attend(10)
        assert reading.needs == {}
        assert reading.registering == frozenset()
        assert str(BROKEN) in rig.source.trouble()["org/a"]

    assert history(story).logged() == {
        "failed to get unclaimed tasks": 1,
        "failed to get running tasks": 1,
        "failed to get agents": 1,
    }


def test_agents_that_are_not_known_make_the_need_unsure_since_the_start() -> None:
    async def story(rig: Rig) -> None:
        rig.api.counts["org/a"] = (1, 0)
        rig.api.errors["agents"] = BROKEN
        reading = await rig.attend(30)
        assert reading.needs["org/a"] == Need(1, 0, unsure_since=MONDAY)
        assert reading.registering == frozenset()

    history(story)


def test_agents_that_cannot_be_listed_any_more_are_kept_and_unsure() -> None:
    async def story(rig: Rig) -> None:
        rig.api.workers["org/a"] = {"a-1": IDLE}
        await rig.attend(30)
        wakes = rig.wakes
        rig.api.workers["org/a"] = {}
        rig.api.errors["agents"] = BROKEN
        reading = await rig.attend(30)
        need = reading.needs["org/a"]
        assert need.stale_since is None
        assert need.unsure_since is not None
        assert 20 * SECOND <= need.unsure_since - MONDAY <= 31 * SECOND
        assert reading.workers == {"a-1": IDLE}
        assert reading.registering == frozenset()
        assert rig.wakes == wakes + 1
        rig.api.errors.clear()
        reading = await rig.attend(15)
        assert (reading.needs["org/a"], reading.workers) == (Need(0, 0), {})
        assert reading.registering == {"org/a"}

    history(story)


def test_a_replica_that_does_not_read_asks_nobody_and_knows_that_its_numbers_are_old() -> None:
    async def story(rig: Rig) -> None:
        await asyncio.sleep(60)
        assert rig.api.asked == []
        rig.api.counts["org/a"] = (5, 5)
        await rig.attend(5)
        await asyncio.sleep(600)
        assert rig.api.asked[-1][0] <= 60 + 5 + 16
        assert rig.metric("stale", **{"class": "org/a"}) is None
        assert rig.source.trouble() == {}
        rig.api.counts["org/a"] = (0, 0)
        asked = len(rig.api.asked)
        reading = await rig.source.read()
        need = reading.needs["org/a"]
        assert (need.unclaimed, need.running) == (5, 5)
        assert need.stale_since is not None
        assert need.unsure_since is not None
        assert reading.registering == frozenset()
        assert (await rig.attend(1)).needs == {"org/a": Need(0, 0)}
        assert len(rig.api.asked) - asked <= 5

    assert history(story).lines == []


def test_an_answer_that_comes_when_nobody_reads_any_more_is_not_shown() -> None:
    async def story(rig: Rig) -> None:
        rig.api.latency = 8.0
        await rig.attend(20)
        assert rig.metric("stale", **{"class": "org/a"}) == 0
        await asyncio.sleep(60)
        assert rig.metric("stale", **{"class": "org/a"}) is None

    history(story)


def test_a_class_that_failed_before_a_short_pause_is_stale_after_it() -> None:
    async def story(rig: Rig) -> None:
        await rig.attend(3)
        rig.api.errors["running"] = BROKEN
        await rig.attend(2)
        await asyncio.sleep(15.5)
        assert rig.source.trouble() == {}
        assert (await rig.need()).stale_since is not None
        assert rig.source.trouble().keys() == {"org/a"}

    history(story)


def test_who_was_read_before_it_ran_polls_from_the_start() -> None:
    async def live() -> None:
        rig = Rig(SimClock(asyncio.get_running_loop()), POOLS)
        await rig.source.read()
        async with polling(rig):
            assert (await rig.attend(1)).needs == {"org/a": Need(0, 0)}

    run(live())


def test_another_kind_of_failure_is_logged_at_once_and_each_kind_once_a_minute() -> None:
    timeout = CircleError("no answer within 10 s", "timeout")

    async def story(rig: Rig) -> None:
        await rig.attend(3)
        rig.api.errors["unclaimed"] = BROKEN
        await rig.attend(2)
        rig.api.errors["unclaimed"] = timeout
        await rig.attend(2)
        assert [line["error"] for line in rig.lines] == [str(BROKEN), str(timeout)]
        for second in range(50):
            rig.api.errors["unclaimed"] = timeout if second % 2 else BROKEN
            await rig.attend(1)
        assert len(rig.lines) == 2

    history(story)


def test_a_host_that_wants_to_be_left_alone_is_and_all_classes_become_stale() -> None:
    async def story(rig: Rig) -> None:
        await rig.attend(10)
        rig.api.errors["unclaimed"] = CircleError(
            "429; leave it alone", "limited", is_limited=True, retry_after=120.0
        )
        await rig.attend(2)
        rig.api.errors.clear()
        asked = len(rig.api.asked)
        reading = await rig.attend(60)
        assert len(rig.api.asked) == asked
        assert all(need.stale_since is not None for need in reading.needs.values())
        assert rig.source.trouble().keys() == {"org/a", "org/b", "org/c"}
        # What CircleCI said itself, not the seconds that are left.
        assert set(rig.source.refusals().values()) == {"429; leave it alone"}
        with pytest.raises(Unavailable, match="left alone"):
            await rig.source.close("a-1")
        assert len(rig.api.asked) == asked
        reading = await rig.attend(80)
        assert all(need.stale_since is None for need in reading.needs.values())
        assert rig.source.trouble() == {}

    history(story, {"a": "org/a", "b": "org/b", "c": "org/c"})


@pytest.mark.slow
def test_no_second_has_more_requests_than_the_rate() -> None:
    async def story(rig: Rig) -> None:
        rig.api.latency = 3.0
        await rig.attend(60)
        closes = [asyncio.create_task(rig.source.close(f"p{number:02}-1")) for number in range(40)]
        await rig.attend(30)
        assert all([await close for close in closes])
        times = sorted(at for at, _, _ in rig.api.asked)
        for place, at in enumerate(times):
            assert sum(at <= other < at + 1 for other in times[place : place + 30]) <= 23

    history(story, {f"p{number:02}": f"org/{number:02}" for number in range(40)})


def test_an_agent_is_closed_when_a_new_look_finds_it_idle_or_does_not_find_it() -> None:
    async def story(rig: Rig) -> None:
        rig.api.workers["org/a"] = {"a-1": IDLE, "a-2": IDLE}
        await rig.attend(2)
        rig.api.workers["org/a"]["a-2"] = BUSY
        asked = rig.api.count("agents")
        assert await rig.source.close("a-1")
        assert not await rig.source.close("a-2")
        assert await rig.source.close("a-3")
        assert rig.api.count("agents") == asked + 3
        reading = await rig.source.read()
        assert {name: (worker.closed, worker.job) for name, worker in reading.workers.items()} == {
            "a-1": (True, None),
            "a-2": (True, "task"),
            "a-3": (True, None),
        }
        rig.api.workers["org/a"]["a-1"] = BUSY
        assert not await rig.source.close("a-1"), "it took a task in the meantime"

    history(story)


def test_who_closes_at_one_moment_shares_a_look_that_began_later() -> None:
    async def story(rig: Rig) -> None:
        rig.api.latency = 5.0
        rig.api.workers["org/a"] = {"a-1": IDLE}
        first = asyncio.create_task(rig.source.close("a-1"))
        await asyncio.sleep(2)
        rig.api.workers["org/a"]["a-1"] = BUSY
        rest = [asyncio.create_task(rig.source.close("a-1")) for _ in range(20)]
        await first
        assert await asyncio.gather(*rest) == [False] * 20
        assert rig.api.count("agents") == 2

    history(story)


def test_a_look_that_fails_closes_nothing() -> None:
    async def story(rig: Rig) -> None:
        rig.api.workers["org/a"] = {"a-1": IDLE}
        await rig.attend(2)
        rig.api.errors["agents"] = BROKEN
        with pytest.raises(Unavailable, match="500"):
            await rig.source.close("a-1")
        assert not (await rig.source.read()).workers["a-1"].closed

    history(story)


def test_a_machine_that_may_be_one_that_cannot_be_read_is_not_closed() -> None:
    async def story(rig: Rig) -> None:
        rig.api.workers["org/a"] = {"a-1": IDLE}
        rig.api.unreadable = 2
        assert await rig.source.close("a-1")
        with pytest.raises(Unavailable, match="2 agents of class org/a cannot be read"):
            await rig.source.close("a-2")
        await rig.attend(30)

    assert history(story).logged() == {"agents skipped": 1}


def test_a_machine_of_a_pool_nobody_knows_is_never_called_idle() -> None:
    async def story(rig: Rig) -> None:
        assert not await rig.source.close("other-1")
        assert rig.api.asked == []

    history(story)


def test_a_machine_of_a_pool_nobody_knows_is_looked_for_in_the_class_it_was_made_for() -> None:
    async def story(rig: Rig) -> None:
        rig.api.workers["org/a"] = {"other-1": BUSY, "other-2": IDLE}
        assert not await rig.source.close("other-1", 0, "org/a")
        assert await rig.source.close("other-2", 0, "org/a")
        assert {job_class for _, _, job_class in rig.api.asked} == {"org/a"}

    history(story)


def test_a_machine_of_a_pool_that_is_gone_is_still_looked_for() -> None:
    async def story(rig: Rig) -> None:
        rig.api.workers["org/a"] = {"a-1": BUSY}
        rig.api.counts["org/a"] = (1, 1)
        await rig.attend(2)
        rig.source.serve({"b": "org/b"})
        reading = await rig.attend(5)
        assert (reading.needs, reading.workers) == ({"org/b": Need(0, 0)}, {})
        assert not await rig.source.close("a-1")
        assert rig.metric("stale", **{"class": "org/a"}) is None
        assert {job_class for at, call, job_class in rig.api.asked if at > 3 and call != "agents"} == {
            "org/b"
        }

    history(story)


def test_a_class_that_goes_while_it_is_asked_leaves_nothing_behind() -> None:
    async def story(rig: Rig) -> None:
        await rig.source.read()
        await asyncio.sleep(0.01)
        rig.source.serve({})
        reading = await rig.attend(3)
        assert (reading.needs, reading.workers) == ({}, {})
        assert rig.metric("stale", **{"class": "org/a"}) is None

    history(story)


def test_the_agent_of_a_machine_that_is_gone_is_nobodys_and_a_namesake_is_new() -> None:
    async def story(rig: Rig) -> None:
        rig.api.workers["org/a"] = {"a-1": BUSY}
        await rig.attend(2)
        assert not await rig.source.close("a-1")
        await rig.source.forget("a-1")
        await rig.source.forget("a-1")
        assert (await rig.attend(30)).workers == {}
        assert await rig.source.close("a-1"), "the one that is listed is the old one"
        await rig.source.forget("a-1")
        after = Worker(MONDAY, connected_at=MONDAY)
        rig.api.workers["org/a"] = {"a-1": after}
        assert (await rig.attend(15)).workers == {"a-1": after}

    history(story)


def test_an_agent_that_was_taken_for_its_namesakes_is_not_hidden_for_ever() -> None:
    """
    A name can pass on before that is seen: then the next machine's agent is closed and forgotten for the first one's.

    It would boot for ever in the eyes of whoever waits for its agent.
    """

    async def story(rig: Rig) -> None:
        rig.api.workers["org/a"] = {"a-1": IDLE}
        await rig.attend(2)
        assert await rig.source.close("a-1", IDLE.since - MINUTE)
        await rig.source.forget("a-1")
        assert (await rig.attend(30)).workers == {}
        assert (await rig.attend(45)).workers == {"a-1": IDLE}
        assert await rig.source.close("a-1", IDLE.since - MINUTE)

    history(story)


def test_a_machine_that_vanished_after_it_was_closed_leaves_its_namesake_open() -> None:
    """Nobody forgets a machine that went by itself: its name alone must not close the next one."""

    async def story(rig: Rig) -> None:
        await rig.attend(2)
        assert await rig.source.close("a-1")
        closed = (await rig.source.read()).workers["a-1"]
        assert closed.closed
        assert closed.connected_at is not None, "a machine made later is not this one"
        after = Worker(MONDAY + MINUTE, connected_at=MONDAY + MINUTE)
        rig.api.workers["org/a"] = {"a-1": after}
        assert (await rig.attend(15)).workers == {"a-1": after}
        await rig.source.forget("a-1")
        assert (await rig.attend(15)).workers == {"a-1": after}, "it was the other one that is gone"

    history(story)


def test_workers_that_did_not_change_stay_the_same_objects() -> None:
    async def story(rig: Rig) -> None:
        rig.api.workers["org/a"] = {"a-1": IDLE, "a-2": IDLE}
        before = (await rig.attend(2)).workers
        rig.api.workers["org/a"] = {
            "a-1": Worker(IDLE.since, connected_at=IDLE.connected_at),
            "a-2": BUSY,
        }
        after = (await rig.attend(15)).workers
        assert after["a-1"] is before["a-1"]
        assert after["a-2"] == BUSY

    history(story)


def test_a_slow_listing_holds_up_no_count_and_no_second_one_waits_for_it() -> None:
    async def story(rig: Rig) -> None:
        rig.api.agents_latency = 25.0
        for turn in range(24):
            rig.api.counts["org/a"] = (turn, 0)
            reading = await rig.attend(1)
            assert turn < 2 or reading.needs["org/a"].unclaimed >= turn - 1
        assert rig.api.count("agents") == 1
        rig.api.agents_latency = 0.0
        await rig.attend(4)
        assert rig.api.count("agents") <= 3

    history(story)


def test_a_listing_of_a_class_that_two_pools_share_names_each_machine_once() -> None:
    """And the agent that connected last is the one, whatever class it is of."""

    async def story(rig: Rig) -> None:
        later = Worker(MONDAY, connected_at=MONDAY)
        rig.api.workers["org/a"] = {"a-1": later, "b-1": IDLE}
        rig.api.workers["org/b"] = {"a-1": BUSY, "c-1": BUSY}
        reading = await rig.attend(2)
        assert reading.workers == {"a-1": later, "b-1": IDLE, "c-1": BUSY}
        assert list(reading.needs) == ["org/a", "org/b"]

    history(story, {"a": "org/a", "b": "org/a", "c": "org/b"})


@pytest.mark.slow
def test_the_same_seed_gives_the_same_requests() -> None:
    async def story(rig: Rig) -> None:
        await rig.attend(60)

    pools = {f"p{number}": f"org/{number}" for number in range(30)}
    assert history(story, pools).api.asked == history(story, pools).api.asked


async def live_against(
    circle: Circle, token: Callable[[], str], story: Callable[[CircleCI], Coroutine[Any, Any, None]]
) -> list[str]:
    lines: list[str] = []
    clock = SystemClock()
    async with circle:
        source = CircleCI(
            Client(circle.url, token, clock),
            clock,
            random.Random(0),
            Log(clock, lines.append),
            lambda: None,
            CircleMeters(CollectorRegistry()),
            Host(10_000.0),
        )
        source.serve(POOLS)
        try:
            await story(source)
        finally:
            await source.refresh()
            await source._api.close()
    assert TOKEN not in "".join(lines)
    return lines


async def test_a_round_over_a_real_connection() -> None:
    circle = Circle()
    tasks = circle.tasks("org/a")
    tasks.unclaimed, tasks.running, tasks.agents = 2, 1, [agent("a-1", last_used="2026-01-05T00:00:00Z")]

    async def story(source: CircleCI) -> None:
        await source.refresh()
        reading = await source.read()
        assert reading.needs == {"org/a": Need(2, 1)}
        assert reading.workers["a-1"].job == "task"
        circle.faults["running"].append(loopback.html())
        tasks.unclaimed = tasks.running = 0
        await source.refresh()
        need = (await source.read()).needs["org/a"]
        assert (need.unclaimed, need.running) == (2, 1)
        assert need.stale_since is not None
        assert not await source.close("a-1")

    lines = await live_against(circle, lambda: TOKEN, story)
    assert "failed to get running tasks" in "".join(lines)


async def test_a_missing_secret_is_a_failure_like_any_other() -> None:
    secrets: list[str] = []

    def token() -> str:
        if not secrets:
            raise NotFound("there is no Secret circle in namespace ci")
        return secrets[0]

    async def story(source: CircleCI) -> None:
        await source.refresh()
        reading = await source.read()
        assert reading.needs == {}
        assert "there is no Secret circle in namespace ci" in source.trouble()["org/a"]
        secrets.append(TOKEN)
        await source.refresh()
        assert (await source.read()).needs == {"org/a": Need(0, 0)}
        assert source.trouble() == {}

    circle = Circle()
    circle.tasks("org/a")
    await live_against(circle, token, story)
