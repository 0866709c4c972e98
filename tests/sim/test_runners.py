"""Seeded histories of CircleCI runners in virtual time: every rule holds at every change, and in the end all is served."""

import os
import subprocess
import sys
from collections import Counter

import pytest
from msgspec.structs import replace
from tests.builders import policy, settings
from tests.sim.runner_histories import removed_runners, unlisted_runners

from remuda.loop.loop import Pace
from remuda.model.times import MINUTE, SECOND
from remuda.pools.decide.model import Policy
from remuda.pools.policy import Setup
from remuda.sim.circle import Mood, Outage
from remuda.sim.faults import Fault
from remuda.sim.history import Summary
from remuda.sim.loop import run
from remuda.sim.runner_scenario import hostile_runners
from remuda.sim.runners import (
    Comes,
    Deletes,
    Kill,
    RunnerEvent,
    RunnerHistory,
    RunnerScenario,
    Vanishes,
    simulate_runners,
)
from remuda.sim.scenario import Reload, pool_setup, without
from remuda.sim.vms import Guests

#: those that together must show every kind of fault
TOGETHER = range(10, 26)
SEEDS = [seed for seed in range(30) if seed not in TOGETHER]
CHUNK = 4


def story(scenario: RunnerScenario, seed: int) -> Summary:
    summary = simulate_runners(scenario, seed)
    assert summary.jobs == summary.jobs_done + summary.jobs_failed
    return summary


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(SEEDS), CHUNK))
def test_hostile_histories_break_no_rule(first: int) -> None:
    """CircleCI lies or is silent, VMs crash or never register, processes die; `Violation` tells the seed."""
    for seed in SEEDS[first : first + CHUNK]:
        story(hostile_runners(seed), seed)


@pytest.mark.slow
def test_a_short_hostile_history_breaks_no_rule() -> None:
    story(hostile_runners(3, seconds=120), 3)


@pytest.mark.slow
def test_hostile_histories_are_hostile() -> None:
    """Seeds in which nothing happens would prove nothing; they break no rule either."""
    faults: Counter[str] = Counter()
    restarts = 0
    for seed in TOGETHER:
        summary = story(hostile_runners(seed), seed)
        faults.update(summary.faults)
        restarts += summary.restarts
    assert restarts > 5
    happened = {fault for fault, count in faults.items() if count}
    assert happened >= {
        *(f"api {kind}" for kind in ("error", "limited", "nonsense", "jump", "outage", "race", "slow")),
        "agent claims as it is asked to go",
        "asked to go with a task nobody knew of",
        "ledger lost",
        "provider.lowered crash",
    }


@pytest.mark.slow
def test_the_same_seed_gives_the_same_history_whatever_the_hash_seed() -> None:
    script = (
        "from remuda.sim.runner_scenario import *; from remuda.sim.runners import *;"
        "print(simulate_runners(hostile_runners(8, seconds=200), 8).digest)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in ("0", "99")
    }
    assert printed == {simulate_runners(hostile_runners(8, seconds=200), 8).digest}
    assert simulate_runners(hostile_runners(8, seconds=200), 9).digest not in printed


def small(
    *events: RunnerEvent, seconds: float = 120.0, rules: Policy | None = None, **world: object
) -> RunnerScenario:
    """One healthy pool of at most four VMs, whose idle ones go after twenty seconds."""
    rules = rules or policy(settings("a", max=4, idle_window=20 * SECOND))
    pools = {
        name: replace(pool_setup(pool, max_uses=1), source="circleci", provider="kubevirt")
        for name, pool in rules.pools.items()
    }
    guests = Guests(boot_s=5, install_s=5, spread=0, slowness_s=1)
    made = RunnerScenario(
        Setup(rules, pools), events, seconds, guests, Mood(), pace=Pace(interval=2, gap=0.2)
    )
    return replace(made, **world)


def tasks(
    count: int, job_class: str = "class-a", *, every: float = 0.0, seconds: float = 20.0
) -> list[Comes]:
    return [Comes(1 + every * number, job_class, seconds) for number in range(count)]


def test_each_task_of_a_quiet_day_gets_a_vm_of_its_own() -> None:
    summary = story(small(*tasks(3, every=15)), 1)
    assert (summary.jobs_done, summary.machines_created) == (3, 3)
    assert 10 < summary.wait_p50_s < 20


@pytest.mark.slow
def test_an_agent_that_claims_as_it_is_asked_to_go_ends_its_task_first() -> None:
    world = small(
        guests=Guests(boot_s=5, install_s=5, spread=0, spite=1),
        rules=policy(settings("a", max=4, headroom=2, idle_window=20 * SECOND)),
    )
    summary = story(replace(world, events=tuple(tasks(2))), 1)
    assert summary.faults["asked to go with a task nobody knew of"] > 0
    assert summary.jobs_failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("calls", [("unclaimed",), ("running",), ("agents",)], ids="silent: {}".format)
def test_nothing_goes_while_a_call_gets_no_answer(calls: tuple[str, ...]) -> None:
    """Four VMs serve, their tasks end, and the surplus stays as long as CircleCI does not say that it is one."""

    async def history() -> list[float]:
        rules = policy(settings("a", max=4, headroom=2, idle_window=20 * SECOND))
        mood = Mood(outages=(Outage(15, 200, calls),))
        world = RunnerHistory(small(*tasks(2, seconds=30), seconds=210, rules=rules, mood=mood), 1)
        try:
            assert (await world.live()).jobs_done == 2
        finally:
            await world.end()
        return world.watch.dismissals

    dismissals = run(history())
    assert dismissals, "they are surplus once it answers again"
    assert min(dismissals) > 210


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_a_plan_bounds_the_vms_of_all_its_pools(seed: int) -> None:
    """
    Twelve tasks wait and three may run; no decision counts more than these (`RunnerWatch`).

    VMs may be a few more for a while: those of the class that was asked about first, before the other one's tasks were
    known; one for a task that the older of two counts does not tell of yet; and one whose task has ended.
    """

    async def history() -> int:
        rules = policy(*(settings(name, max=9, idle_window=20 * SECOND) for name in "ab"))
        pools = {
            name: replace(pool, job_class=f"org/{name}", organisation="org")
            for name, pool in rules.pools.items()
        }
        rules = replace(rules, pools=pools, concurrency={"org": 3})
        events = [*tasks(6, "org/a"), *tasks(6, "org/b")]
        world = RunnerHistory(small(*events, rules=rules), seed)
        try:
            assert (await world.live()).jobs_done == 12
        finally:
            await world.end()
        return world.watch.most_together

    assert 3 <= run(history()) <= 5


@pytest.mark.slow
@pytest.mark.parametrize("loses_ledger", [pytest.param(True, id="lost"), pytest.param(False, id="kept")])
def test_a_process_that_is_killed_makes_nothing_twice(loses_ledger: bool) -> None:
    kills = [Kill(at, loses_ledger=loses_ledger) for at in (3.0, 20.0, 31.0)]
    events: list[RunnerEvent] = [*tasks(4, seconds=60), *kills]
    events.sort(key=lambda event: event.at)
    slow = {
        f"provider.{step}": Fault(delay=1, longest_delay_s=4) for step in ("create", "created", "deleted")
    }
    summary = story(small(*events, faults=slow), 2)
    assert (summary.jobs_done, summary.machines_created) == (4, 4)
    assert summary.restarts >= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 4, 9, 12])
def test_a_pool_that_is_removed_goes_whatever_goes_wrong(seed: int) -> None:
    story(removed_runners(seed), seed)


@pytest.mark.slow
def test_what_was_there_when_it_was_last_listed_may_be_replaced_within_the_delay() -> None:
    """A VM ended while the provider was silent: the pool held what it knew of, and made it whole afterwards."""
    story(hostile_runners(777_013), 777_013)


LISTS_NOBODY = Mood(outages=(Outage(60, 10**6, ("agents",)),))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trouble", "mood"),
    [
        pytest.param([Deletes(60.0, "class-a")], Mood(), id="the class is deleted"),
        pytest.param([], LISTS_NOBODY, id="the token may not list agents any more"),
        pytest.param([Kill(60.95)], Mood(), id="the process that knew of it dies"),
        pytest.param([Kill(60.95, loses_ledger=True)], Mood(), id="with its ledger"),
    ],
)
def test_vms_of_a_removed_pool_nobody_reports_are_powered_off_and_end_their_tasks_first(
    trouble: list[RunnerEvent], mood: Mood
) -> None:
    """Two VMs are warm as their pool is removed, and one of them claims a task that nobody hears of."""

    async def history() -> tuple[Summary, list[float]]:
        rules = policy(settings("a", min=2, max=2, idle_window=20 * SECOND), settings("b"))
        scenario = small(rules=rules, mood=mood)
        removal: list[RunnerEvent] = [*trouble, Reload(61.0, without(scenario.setup, "a"))]
        removal.sort(key=lambda event: event.at)
        events = (*removal, Comes(61.5, "class-a", 2_000.0))
        world = RunnerHistory(replace(scenario, events=events, seconds=1_000), 1)
        try:
            return await world.live(), world.watch.dismissals
        finally:
            await world.end()

    summary, dismissals = run(history())
    assert (summary.jobs_done, summary.jobs_failed, summary.machines_created) == (1, 0, 2)
    assert summary.faults["powered off unconfirmed"] == 2
    assert summary.faults["powered off unconfirmed with a task"] == 1
    assert min(dismissals) >= 660
    assert max(dismissals) < 720


@pytest.mark.slow
def test_idle_vms_of_a_removed_pool_that_can_be_asked_about_go_at_once() -> None:
    rules = policy(settings("a", min=2, max=2, idle_window=20 * SECOND), settings("b"))
    scenario = small(rules=rules, seconds=120)
    summary = story(replace(scenario, events=(Reload(61.0, without(scenario.setup, "a")),)), 1)
    assert summary.faults["powered off unconfirmed"] == 0
    assert summary.seconds < 300


def lived(scenario: RunnerScenario, seed: int = 1) -> tuple[Summary, list[float]]:
    """What came of a history, and when VMs were told to go before it calmed down."""

    async def history() -> tuple[Summary, list[float]]:
        world = RunnerHistory(scenario, seed)
        try:
            summary = await world.live()
        finally:
            await world.end()
        return summary, [at for at in world.watch.dismissals if at < scenario.seconds]

    return run(history())


WARM = policy(settings("a", min=6, max=6, idle_window=20 * SECOND, boot_timeout=3 * MINUTE))
PLAIN = Guests(boot_s=5, install_s=5, spread=0, slowness_s=1, plain_name=1)


@pytest.mark.slow
@pytest.mark.parametrize("skew_s", [-7_200, -60, -20, 60, 7_200], ids="{} s ahead".format)
@pytest.mark.parametrize("plain_name", [0, 1], ids=["agents tell their boot", "agents have the VM's name"])
@pytest.mark.parametrize("restarts", [0, 1], ids=["one process", "restarted"])
def test_no_vm_goes_because_clocks_differ(skew_s: float, plain_name: float, restarts: int) -> None:
    """Six VMs, three of them at work for an hour, idle or busy for far longer than a boot may take."""
    kills = [Kill(400.0, loses_ledger=True), Kill(900.0)] if restarts else []
    scenario = small(
        *tasks(3, seconds=3_600),
        *kills,
        seconds=2_400,
        rules=WARM,
        mood=Mood(skew_s=skew_s, lag_s=10),
        guests=replace(PLAIN, plain_name=plain_name),
    )
    summary, dismissals = lived(scenario)
    assert dismissals == []
    assert (summary.jobs_done, summary.jobs_failed) == (3, 0)
    assert summary.machines_created == 6 + 3, "those that had a task are replaced"


@pytest.mark.slow
@pytest.mark.parametrize("plain_name", [0, 1], ids=["agents tell their boot", "agents have the VM's name"])
def test_no_vm_goes_because_its_name_had_an_agent_before(plain_name: float) -> None:
    """CircleCI has one record for all agents of a name; every VM but the first six has the name of an earlier one."""
    waves = [Comes(at, "class-a", 30.0) for at in (10.0, 200.0, 400.0) for _ in range(6)]
    long = [Comes(700.0, "class-a", 2_000.0) for _ in range(3)]
    scenario = small(
        *waves,
        *long,
        seconds=2_400,
        rules=WARM,
        mood=Mood(by_name=True),
        guests=replace(PLAIN, plain_name=plain_name),
    )
    summary, dismissals = lived(scenario)
    assert dismissals == []
    assert summary.jobs_failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("short_grace", [0, 1], ids=["VMs end their tasks first", "VMs have no grace"])
def test_an_empty_listing_ends_no_task(short_grace: float) -> None:
    """It is a good answer, for longer than a boot may take; three of six VMs work meanwhile."""
    scenario = small(
        *tasks(3, seconds=1_200),
        seconds=1_000,
        rules=WARM,
        mood=Mood(outages=(Outage(100.0, 900.0, is_empty=True),)),
        guests=replace(PLAIN, plain_name=0, short_grace=short_grace),
    )
    summary, dismissals = lived(scenario)
    assert summary.jobs_failed == 0
    assert dismissals == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [5, 8, 12])
def test_a_vm_that_no_listing_shows_stays_while_a_task_may_run_on_it(seed: int) -> None:
    """In each of these histories a VM would go if the number of running tasks were not looked at before it is ended."""
    summary = story(unlisted_runners(seed), seed)
    assert summary.faults["api unlisted agent"] > 0
    assert summary.faults["powered off unconfirmed with a task"] == 0


@pytest.mark.slow
def test_a_vm_whose_agent_is_never_listed_ends_its_task_first() -> None:
    scenario = small(*tasks(1, seconds=600), seconds=500, rules=WARM, mood=Mood(unlisted=1.0))
    summary, dismissals = lived(scenario)
    assert (summary.jobs_done, dismissals) == (1, [])


@pytest.mark.slow
def test_a_vm_whose_agent_never_calls_is_powered_off_after_its_boot_timeout() -> None:
    rules = policy(settings("a", min=2, max=4, idle_window=20 * SECOND, boot_timeout=3 * MINUTE))
    mute = replace(PLAIN, plain_name=0, mute=1)
    summary, dismissals = lived(small(seconds=400, rules=rules, guests=mute))
    assert min(dismissals) >= 180
    assert summary.machines_created > 2


def test_a_vm_that_vanishes_is_replaced() -> None:
    rules = policy(settings("a", min=2, max=4, idle_window=20 * SECOND))
    summary = story(small(Vanishes(40.0), rules=rules), 1)
    assert summary.machines_created == 3
