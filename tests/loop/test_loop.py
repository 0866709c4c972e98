"""One supervised loop, in virtual time."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable

import pytest
from tests.loop.toy import TOY_KINDS, Memory, Policy, Rig, Seen, Turn, steady, turn, virtually

from remuda.errors import InvariantError, Unavailable
from remuda.ledger.record import Ledger, MemoryRecorder
from remuda.ledger.store import InlineStore
from remuda.loop.loop import Pace, Phase
from remuda.model.plans import Operation, Outcome, Plan, Reason
from remuda.model.times import HOUR
from remuda.sim.faults import Crash

EXACT = Pace(jitter=0)


def fail() -> None:
    raise Unavailable("the world is away")


def sleeping(seconds: float) -> Callable[..., Awaitable[None]]:
    async def step(*_: object) -> None:
        await asyncio.sleep(seconds)

    return step


# When a cycle begins.


@virtually
async def test_a_quiet_loop_runs_at_its_interval() -> None:
    rig = Rig(Pace(interval=5, jitter=0))
    await rig.run_for(21)
    assert rig.toy.began == [0, 5, 10, 15, 20]


@virtually
async def test_an_interval_is_from_start_to_start() -> None:
    rig = Rig(Pace(interval=5, jitter=0))
    rig.toy.on_observe = sleeping(2)
    await rig.run_for(11)
    assert rig.toy.began == [0, 5, 10]


@virtually
async def test_jitter_stretches_and_shrinks_the_interval_within_its_bounds() -> None:
    rig = Rig(Pace(interval=10, jitter=0.1))
    await rig.run_for(5_000)
    gaps = [after - before for before, after in zip(rig.toy.began, rig.toy.began[1:], strict=False)]
    assert 9 <= min(gaps) < 9.2
    assert 10.8 < max(gaps) <= 11.001


@virtually
async def test_a_wake_begins_a_cycle_at_once() -> None:
    rig = Rig(Pace(interval=100, jitter=0))
    asyncio.get_running_loop().call_later(3, rig.loop.wake)
    await rig.run_for(50)
    assert rig.toy.began == [0, 3]


@virtually
async def test_wakes_during_a_cycle_give_one_more_however_many_there_are() -> None:
    rig = Rig(Pace(interval=100, jitter=0))
    rig.toy.on_observe = sleeping(10)
    for at in range(1, 10):
        asyncio.get_running_loop().call_later(at, rig.loop.wake)
    await rig.run_for(90)
    assert rig.toy.began == [0, 10]


@virtually
async def test_between_two_starts_there_is_always_the_gap() -> None:
    rig = Rig(Pace(interval=100, gap=2, jitter=0))
    for at in range(1, 100):
        asyncio.get_running_loop().call_later(at / 10, rig.loop.wake)
    await rig.run_for(50)
    assert rig.toy.began == [0, 2, 4, 6, 8, 10]


@virtually
async def test_a_cycle_longer_than_the_interval_is_counted_and_followed_by_the_next_at_once() -> None:
    rig = Rig(Pace(interval=1, jitter=0))
    rig.toy.on_observe = sleeping(3)
    await rig.run_for(10)
    assert rig.toy.began == [0, 3, 6, 9]
    assert rig.metric("remuda_loop_overruns_total") == 3
    assert rig.metric("remuda_loop_lag_seconds") == pytest.approx(2)
    assert rig.metric("remuda_loop_cycle_seconds_sum") == pytest.approx(9)


@virtually
async def test_setting_the_wall_clock_changes_no_interval() -> None:
    rig = Rig(Pace(interval=5, jitter=0))
    later = asyncio.get_running_loop().call_later
    later(7, rig.clock.jump, -24 * HOUR)
    later(12, rig.clock.jump, 48 * HOUR)
    await rig.run_for(21)
    assert rig.toy.began == [0, 5, 10, 15, 20]
    assert rig.loop.standing.last_success_at == rig.clock.now() - 1_000


@virtually
async def test_a_changed_policy_is_followed_from_the_next_cycle_on() -> None:
    rig = Rig(Pace(interval=100, jitter=0))
    asyncio.get_running_loop().call_later(3, rig.loop.follow, Policy(99))
    await rig.run_for(10)
    assert [policy for _, policy in rig.toy.judged] == [Policy(), Policy(99)]


# What goes wrong.


@virtually
async def test_errors_are_waited_out_longer_each_time_up_to_a_limit() -> None:
    rig = Rig(Pace(interval=1, jitter=0, first_backoff=1, longest_backoff=10))
    rig.toy.on_decide = fail
    await rig.run_for(46)
    assert rig.toy.began == [0, 1, 3, 7, 15, 25, 35, 45]
    assert rig.loop.standing.errors_in_a_row == 8
    assert rig.metric("remuda_loop_errors_total") == 8
    logged = rig.messages("cycle failed")
    assert [line["next_try_s"] for line in logged] == [1, 2, 4, 8, 10, 10, 10, 10]
    assert logged[0]["error"] == "Unavailable: the world is away"


@virtually
async def test_the_wait_never_overflows() -> None:
    rig = Rig(Pace(jitter=0, longest_backoff=60))
    rig.toy.on_decide = fail
    await rig.run_for(200 * 60)
    assert rig.messages("cycle failed")[-1]["next_try_s"] == 60


@virtually
async def test_back_off_is_jittered_too() -> None:
    rig = Rig(Pace(jitter=0.1, first_backoff=10, longest_backoff=10))
    rig.toy.on_decide = fail
    await rig.run_for(2_000)
    gaps = {round(b - a, 6) for a, b in zip(rig.toy.began, rig.toy.began[1:], strict=False)}
    assert len(gaps) > 100
    assert min(gaps) >= 9
    assert max(gaps) <= 11


@virtually
async def test_one_success_ends_the_back_off() -> None:
    rig = Rig(Pace(interval=5, jitter=0, first_backoff=1))
    failing = iter([True, True, False, True])
    rig.toy.on_decide = lambda: fail() if next(failing, False) else None
    phases: list[Phase] = []
    for at in (2, 4, 8.5, 15):
        asyncio.get_running_loop().call_later(at, lambda: phases.append(rig.loop.standing.phase))
    await rig.run_for(16)
    assert rig.toy.began == [0, 1, 3, 8, 9, 14]
    assert phases == [Phase.FAILING, Phase.RUNNING, Phase.FAILING, Phase.RUNNING]
    assert rig.loop.standing.last_error is None
    assert rig.loop.standing.errors_in_a_row == 0


@virtually
async def test_wakes_do_not_shorten_a_back_off() -> None:
    rig = Rig(Pace(interval=100, jitter=0, first_backoff=10))
    rig.toy.on_decide = fail
    for at in range(9):
        asyncio.get_running_loop().call_later(at, rig.loop.wake)
    await rig.run_for(15)
    assert rig.toy.began == [0, 10]


@virtually
async def test_a_person_who_changes_something_need_not_wait_for_a_back_off() -> None:
    rig = Rig(Pace(interval=100, jitter=0, first_backoff=10))
    rig.toy.on_decide = fail
    asyncio.get_running_loop().call_later(3, rig.loop.follow, Policy())
    await rig.run_for(15)
    assert rig.toy.began == [0, 3]


@virtually
async def test_a_world_that_cannot_be_seen_in_time_is_an_error() -> None:
    rig = Rig(Pace(jitter=0, observe_timeout=7))
    rig.toy.on_observe = sleeping(1_000)
    await rig.run_for(8)
    assert rig.toy.began == [0, 7]
    assert rig.loop.standing.last_error == "Unavailable: observing was not done after 7 s"


@virtually
async def test_a_timeout_of_the_adapter_itself_is_reported_as_it_is() -> None:
    rig = Rig(EXACT)

    async def slow_peer() -> None:
        raise TimeoutError("peer took 3 s")

    rig.toy.on_observe = slow_peer
    await rig.run_for(0.5)
    assert rig.loop.standing.last_error == "TimeoutError: peer took 3 s"


@virtually
async def test_a_broken_invariant_stops_the_loop_for_good_and_says_so() -> None:
    rig = Rig(EXACT)

    def broken() -> None:
        if len(rig.toy.began) == 3:
            raise InvariantError("two machines have one name")

    rig.toy.on_decide = broken
    await rig.loop.run()
    assert rig.toy.began == [0, 1, 2]
    assert rig.loop.standing.phase is Phase.BROKEN
    assert rig.loop.standing.last_error == "two machines have one name"
    assert rig.lines[-1]["msg"] == "loop is broken and stays stopped"
    assert rig.metric("remuda_loop_errors_total") == 1


@virtually
async def test_a_cycle_that_cannot_be_recorded_starts_nothing_and_forgets_what_it_learned() -> None:
    class Full(MemoryRecorder[Seen, Memory, Policy, Turn]):
        full = True

        async def record(self, *args: object, **kwargs: object) -> tuple[Operation[Turn], ...]:
            if self.full:
                raise Unavailable("disk full")
            return await super().record(*args, **kwargs)  # type: ignore[arg-type]

    recorder = Full(Memory(5))
    rig = Rig(EXACT, recorder)
    rig.toy.learns = True
    rig.toy.plans = [Plan((turn("a"),))] * 3
    task = asyncio.get_running_loop().create_task(rig.loop.run())
    await asyncio.sleep(2)
    assert rig.toy.acted == []
    assert [memory for memory, _ in rig.toy.judged] == [Memory(5), Memory(5)]
    recorder.full = False
    await asyncio.sleep(1.5)
    assert [target for _, _, target in rig.toy.acted] == ["a"]
    task.cancel()
    await asyncio.wait([task])


# Acting.


@virtually
async def test_a_plan_is_carried_out_beside_the_cycles_and_its_outcome_wakes_the_loop() -> None:
    rig = Rig(Pace(interval=100, jitter=0))
    rig.toy.plans = [Plan((turn("a"), turn("b")))]
    rig.toy.on_act = sleeping(30)
    await rig.run_for(150)
    assert rig.toy.acted == [(0, 1, "a"), (0, 2, "b")]
    assert rig.toy.began == [0, 30, 130]
    assert [operation.outcome for operation in rig.toy.saw[1]] == [
        Outcome("done", rig.clock.now() - 120_000)
    ] * 2
    assert rig.toy.saw[2] == ()


@virtually
async def test_only_so_many_operations_run_at_the_same_time() -> None:
    rig = Rig(Pace(interval=1_000, jitter=0, parallel=3))
    rig.toy.plans = [Plan(tuple(turn(str(number)) for number in range(7)))]
    rig.toy.on_act = sleeping(10)
    await rig.run_for(100)
    assert [at for at, _, _ in rig.toy.acted] == [0, 0, 0, 10, 10, 10, 20]


async def refuse(operation: Operation[Turn]) -> None:
    raise RuntimeError("it will not")


async def give_up(operation: Operation[Turn]) -> None:
    raise TimeoutError("peer took 3 s")


@pytest.mark.parametrize(
    ("act", "detail"),
    [
        pytest.param(refuse, "RuntimeError: it will not", id="an error is an outcome"),
        pytest.param(sleeping(10_000), "not done after 20 s", id="a time-out is an outcome"),
        pytest.param(give_up, "TimeoutError: peer took 3 s", id="a time-out of its own is told as it is"),
    ],
)
@virtually
async def test_a_failed_operation_is_an_outcome_that_the_next_plan_sees(
    act: Callable[[Operation[Turn]], Awaitable[None]], detail: str
) -> None:
    rig = Rig(Pace(interval=1_000, jitter=0, act_timeout=20))
    rig.toy.plans = [Plan((turn("a"),))]
    rig.toy.on_act = act
    await rig.run_for(100)
    assert len(rig.toy.saw) == 2
    outcome = rig.toy.saw[1][0].outcome
    assert outcome is not None
    assert (outcome.status, outcome.detail) == ("failed", detail)
    (line,) = rig.messages("operation did not happen")
    assert (line["target"], line["detail"], line["operation"]) == ("a", detail, 1)
    assert rig.loop.standing.phase is Phase.STOPPED


@virtually
async def test_an_outcome_is_not_lost_to_a_full_disk() -> None:
    class Full(MemoryRecorder[Seen, Memory, Policy, Turn]):
        tries = 0

        async def finish(self, operation: Operation[Turn], outcome: Outcome) -> None:
            self.tries += 1
            if self.tries < 5:
                raise Unavailable("disk full")
            await super().finish(operation, outcome)

    rig = Rig(Pace(interval=1_000, jitter=0, first_backoff=1, longest_backoff=4), Full(Memory()))
    rig.toy.plans = [Plan((turn("a"),))]
    await rig.run_for(100)
    assert rig.toy.began == [0, 1 + 2 + 4 + 4]
    assert len(rig.toy.acted) == 1
    assert rig.toy.saw[1][0].outcome is not None
    assert len(rig.messages("cannot keep an outcome yet")) == 4


@virtually
async def test_a_report_that_fails_does_not_leave_operations_recorded_and_not_started() -> None:
    rig = Rig(EXACT)
    rig.toy.plans = [Plan((turn("a"),))]

    def broken() -> None:
        raise RuntimeError("no such gauge")

    rig.toy.on_report = broken
    await rig.run_for(0.5)
    assert [target for _, _, target in rig.toy.acted] == ["a"]
    assert rig.loop.standing.last_error == "RuntimeError: no such gauge"


@virtually
async def test_operations_found_unfinished_at_the_start_are_carried_out_again_and_ended_ones_are_not() -> (
    None
):
    store = InlineStore()
    before: Ledger[Seen, Memory, Policy, Turn] = Ledger(store, "toy", TOY_KINDS)
    plan = Plan((turn("ended"), turn("unfinished")))
    ended, unfinished = await before.record(Seen(), Memory(), Policy(), 1, plan, Memory(), ())
    await before.finish(ended, Outcome("done", 2))
    rig = Rig(EXACT, Ledger(store, "toy", TOY_KINDS))
    await rig.run_for(1.5)
    assert rig.toy.acted == [(0, unfinished.id, "unfinished")]
    assert {operation.action.target for operation in rig.toy.saw[0]} == {"ended", "unfinished"}
    assert rig.recorder.operations() == ()


# Stopping, pausing, dry runs.


@virtually
async def test_a_stop_waits_for_operations_under_way() -> None:
    rig = Rig(Pace(interval=100, jitter=0, stop_grace=10))
    rig.toy.plans = [Plan((turn("a"),))]
    rig.toy.on_act = sleeping(5)
    await rig.run_for(1)
    assert rig.clock.monotonic() == 5
    assert rig.recorder.operations()[0].outcome is not None
    assert rig.loop.standing.phase is Phase.STOPPED


@virtually
async def test_a_stop_gives_up_after_its_grace_and_leaves_the_rest_for_the_next_start() -> None:
    rig = Rig(Pace(interval=100, jitter=0, stop_grace=10))
    rig.toy.plans = [Plan((turn("a"),))]
    cancelled = []

    async def long(operation: Operation[Turn]) -> None:
        try:
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            cancelled.append(operation.id)
            raise

    rig.toy.on_act = long
    await rig.run_for(1)
    assert rig.clock.monotonic() == 11
    assert cancelled == [1]
    assert rig.recorder.operations()[0].outcome is None


@virtually
async def test_a_stop_in_the_middle_of_a_cycle_ends_it() -> None:
    rig = Rig(EXACT)
    rig.toy.on_observe = sleeping(20)
    await rig.run_for(1)
    assert rig.clock.monotonic() == 1
    assert rig.loop.standing.phase is Phase.STOPPED
    assert rig.loop.standing.in_cycle_since is None


@virtually
async def test_a_paused_loop_runs_no_cycle_until_it_is_resumed() -> None:
    rig = Rig(Pace(interval=1, jitter=0))
    rig.toy.plans = [steady(), Plan((turn("a"),))]
    rig.toy.on_act = sleeping(5)
    later = asyncio.get_running_loop().call_later
    later(1.5, rig.loop.pause)
    phases: list[Phase] = []
    for at in (2, 5, 99):
        later(at, lambda: phases.append(rig.loop.standing.phase))
    later(3, rig.loop.wake)
    later(100, rig.loop.resume)
    await rig.run_for(100.5)
    assert rig.toy.began == [0, 1, 100]
    assert phases == [Phase.PAUSED] * 3
    assert rig.toy.saw[2][0].outcome is not None, "operations under way go on"
    assert rig.metric("remuda_loop_lag_seconds") == 0


@virtually
@pytest.mark.parametrize("paused", [pytest.param(False, id="running"), pytest.param(True, id="paused")])
async def test_a_loop_that_may_not_act_any_more_stands_by_and_says_so_once(paused: bool) -> None:
    rig = Rig(EXACT)
    later = asyncio.get_running_loop().call_later

    def lose() -> None:
        rig.may_act = False
        rig.loop.wake()

    if paused:
        later(1.2, rig.loop.pause)
    later(1.5, lose)
    await rig.run_for(5)
    assert rig.toy.began == [0, 1]
    assert rig.toy.stood_by == [1.5]


@virtually
async def test_an_operation_that_was_dropped_in_a_moment_without_leave_is_taken_up_again() -> None:
    async def flicker(step: str) -> None:
        # Leave is lost when it is asked for once more, and is back before the loop looks again.
        rig.may_act = step != "loop.acting" or bool(rig.toy.saw[1:])

    rig = Rig(EXACT, fault_point=flicker)
    rig.toy.plans = [Plan((turn("a"),), ())]

    def regain() -> None:
        rig.may_act = True

    asyncio.get_running_loop().call_later(0.5, regain)
    await rig.run_for(5)
    assert [target for _, _, target in rig.toy.acted] == ["a"]


@virtually
async def test_a_loop_that_loses_its_leave_while_it_looks_decides_nothing() -> None:
    rig = Rig(EXACT)

    async def lose() -> None:
        rig.may_act = len(rig.toy.began) < 2

    rig.toy.on_observe = lose
    await rig.run_for(5)
    assert rig.toy.began == [0, 1]
    assert len(rig.toy.judged) == 1
    assert len([line for line in rig.lines if line["msg"] == "cycle"]) == 1


@virtually
async def test_a_loop_that_never_acted_has_nothing_to_take_back() -> None:
    rig = Rig(EXACT)
    rig.may_act = False
    await rig.run_for(5)
    assert (rig.toy.began, rig.toy.stood_by) == ([], [])


@virtually
async def test_a_loop_that_starts_paused_does_not_look() -> None:
    rig = Rig(EXACT)
    rig.loop.pause()
    await rig.run_for(100)
    assert rig.toy.began == []


@virtually
async def test_a_dry_run_decides_and_does_nothing() -> None:
    recorder: MemoryRecorder[Seen, Memory, Policy, Turn] = MemoryRecorder(Memory(), starts=False)
    rig = Rig(EXACT, recorder)
    rig.toy.plans = [Plan((turn("a"),), (Reason("toy.x", "toy/a"),))]
    plan = await rig.loop.cycle()
    assert [action.target for action in plan.actions] == ["a"]
    assert rig.toy.acted == []
    rig.toy.plans = [Plan((turn("a"),))] * 3
    await rig.run_for(3.5)
    assert rig.toy.acted == []


# What is remembered, told and measured.


@virtually
async def test_memory_goes_from_cycle_to_cycle_and_over_a_restart() -> None:
    store = InlineStore()
    remembered: list[int] = []
    for _ in range(2):
        rig = Rig(EXACT, Ledger(store, "toy", TOY_KINDS))
        rig.toy.learns = True
        await rig.run_for(2.5)
        remembered += [memory.count for memory, _ in rig.toy.judged]
    assert remembered == [0, 1, 2, 3, 4, 5]


@virtually
async def test_there_is_a_line_for_each_changed_cycle_and_else_one_a_minute() -> None:
    rig = Rig(Pace(interval=1, jitter=0))
    later = asyncio.get_running_loop().call_later
    later(100.5, setattr, rig.toy, "value", 1)
    later(110.5, rig.toy.plans.append, Plan((turn("a"),)))
    await rig.run_for(180)
    logged = [(line["time"][14:19], line["value"], line["actions"]) for line in rig.messages("cycle")]
    assert logged == [
        ("00:00", 0, 0),
        ("01:00", 0, 0),
        ("01:41", 1, 0),
        ("01:51", 1, 1),
        ("02:51", 1, 0),
    ]
    assert rig.messages("cycle")[0]["loop"] == "toy"


@virtually
async def test_setting_the_wall_clock_neither_silences_nor_floods_the_log() -> None:
    rig = Rig(Pace(interval=1, jitter=0))
    asyncio.get_running_loop().call_later(30.5, rig.clock.jump, -5 * HOUR)
    await rig.run_for(130)
    assert len(rig.messages("cycle")) == 3


@virtually
async def test_every_loop_exports_how_it_fares() -> None:
    rig = Rig(Pace(interval=1, jitter=0))
    rig.toy.plans = [steady(), Plan((turn("a"), turn("b")))]
    await rig.run_for(1.02)
    assert rig.metric("remuda_loop_cycle_seconds_count") == 2
    assert rig.metric("remuda_loop_plan_actions_sum") == 2
    assert rig.metric("remuda_loop_errors_total") == 0
    assert rig.metric("remuda_loop_last_success_timestamp_seconds") == (rig.clock.now() - 20) / 1_000


@virtually
async def test_the_cycle_under_way_can_be_seen_from_outside() -> None:
    rig = Rig(Pace(interval=100, jitter=0))
    rig.toy.on_observe = sleeping(5)
    seen: list[float | None] = []
    for at in (3, 7):
        asyncio.get_running_loop().call_later(at, lambda: seen.append(rig.loop.standing.in_cycle_since))
    await rig.run_for(10)
    assert seen == [0, None]


# Crashes.


@pytest.mark.parametrize("step", ["loop.decided", "loop.recorded", "loop.acting", "loop.acted"])
@virtually
async def test_after_a_crash_at_any_step_the_next_process_carries_on(step: str) -> None:
    """`act` may be repeated, because it is idempotent; an operation is never lost and never two at once."""
    store = InlineStore()

    async def crash(reached: str) -> None:
        if reached == step:
            raise Crash(step)

    first = Rig(EXACT, Ledger(store, "toy", TOY_KINDS), fault_point=crash)
    first.toy.plans = [Plan((turn("a"),))]
    with pytest.raises(BaseException) as caught:
        await first.loop.run()
    assert not isinstance(caught.value, Exception)

    second = Rig(EXACT, Ledger(store, "toy", TOY_KINDS))
    second.toy.plans = [Plan((turn("a"),))]
    await second.run_for(1.5)
    ends = store.read(
        lambda db: db.execute("SELECT target, outcome IS NOT NULL, seen FROM operations").fetchall()
    )
    assert ends == [("a", 1, 1)]
    acted = len(first.toy.acted) + len(second.toy.acted)
    assert acted == (2 if step == "loop.acted" else 1)


@virtually
async def test_a_store_that_fails_while_the_loop_starts_is_an_error_of_this_loop() -> None:
    class Broken(MemoryRecorder[Seen, Memory, Policy, Turn]):
        def operations(self) -> tuple[Operation[Turn], ...]:
            raise sqlite3.OperationalError("disk I/O error")

    rig = Rig(EXACT, Broken(Memory()))
    with pytest.raises(ExceptionGroup):
        await rig.loop.run()
    assert rig.loop.standing.phase is Phase.STOPPED


@virtually
async def test_a_store_that_does_not_answer_while_the_loop_starts_is_asked_again() -> None:
    class Slow(MemoryRecorder[Seen, Memory, Policy, Turn]):
        asked = 0

        def memory(self) -> Memory:
            self.asked += 1
            if self.asked in {2, 3}:  # the first is asked before the loop runs
                raise Unavailable("the server does not answer")
            return super().memory()

    recorder = Slow(Memory())
    rig = Rig(EXACT, recorder)
    await rig.run_for(4.5)
    assert recorder.asked == 4
    assert rig.loop.standing.last_error is None
    assert rig.toy.saw, "it went on by itself"


@virtually
async def test_a_loop_that_begins_anew_goes_by_what_another_process_recorded() -> None:
    store = InlineStore()
    rig = Rig(EXACT, Ledger(store, "toy", TOY_KINDS))

    async def lead_elsewhere() -> None:
        other = Ledger(store, "toy", TOY_KINDS)
        await other.record(Seen(7), Memory(), Policy(), 5, Plan((turn("b"),)), Memory(41), ())
        rig.loop.begin_anew()

    rig.toy.on_observe = sleeping(0.1)
    led = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(
        1.5, lambda: led.set_result(asyncio.ensure_future(lead_elsewhere()))
    )
    await rig.run_for(3.5)
    await (await led)
    assert [target for _, _, target in rig.toy.acted] == ["b"], "what it left unfinished is carried out"
    counts = [memory.count for memory, _ in rig.toy.judged]
    assert (counts[:2], set(counts[2:])) == ([0, 0], {41}), "its memory is gone on with"
