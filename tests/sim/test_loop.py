"""The virtual-time loop: no sleeping, the same history for a seed, and no waiting for ever."""

import asyncio
import gc
import hashlib
import logging
import math
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from itertools import count
from typing import Any

import pytest

from remuda.sim.loop import DeadlockError, SimLoop, run


def now() -> float:
    return asyncio.get_running_loop().time()


async def busy_world(workers: int = 20) -> str:
    """The digest of what many workers do who meet at the same instants and share a queue."""
    trace: list[str] = []
    queue: asyncio.Queue[int] = asyncio.Queue(3)

    async def make(number: int) -> None:
        for step in range(5):
            await asyncio.sleep(step % 3)
            await queue.put(number * 10 + step)
            trace.append(f"{now()} put {number} {step}")

    async def take(number: int) -> None:
        for _ in range(5):
            item = await queue.get()
            await asyncio.to_thread(trace.append, f"{now()} {number} got {item}")

    async with asyncio.TaskGroup() as group:
        for number in range(workers):
            group.create_task(make(number))
            group.create_task(take(number))
    return hashlib.sha256("\n".join(trace).encode()).hexdigest()


def test_the_same_seed_gives_the_same_history() -> None:
    assert run(busy_world(), seed=7) == run(busy_world(), seed=7)


def test_other_seeds_give_other_histories() -> None:
    assert len({run(busy_world(), seed=seed) for seed in range(10)}) == 10


@pytest.mark.slow
def test_another_process_with_another_hash_seed_has_the_same_history() -> None:
    message = subprocess.run(
        [
            sys.executable,
            "-c",
            "import runpy, sys; names = runpy.run_path(sys.argv[1]); print(names['run'](names['busy_world'](), seed=7))",
            __file__,
        ],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert message.stdout.strip() == run(busy_world(), seed=7)


def test_a_year_passes_at_once() -> None:
    async def main() -> float:
        await asyncio.sleep(365 * 86_400)
        return now()

    began = time.monotonic()
    assert run(main()) == 365 * 86_400
    assert time.monotonic() - began < 60


def test_time_begins_where_it_is_set() -> None:
    async def main() -> tuple[float, float]:
        before = now()
        await asyncio.sleep(0.5)
        return before, now()

    assert run(main(), start=1_000.0) == (1_000.0, 1_000.5)


def test_time_stands_still_while_something_can_run() -> None:
    async def main() -> float:
        for _ in range(1_000):
            await asyncio.sleep(0)
        return now()

    assert run(main()) == 0.0


async def order_of(plan: Callable[[Callable[[int], None]], None]) -> tuple[int, ...]:
    seen: list[int] = []
    plan(seen.append)
    await asyncio.sleep(10)
    return tuple(seen)


def test_timers_of_the_same_instant_fire_in_a_seeded_order() -> None:
    def plan(note: Callable[[int], None]) -> None:
        for number in range(4):
            asyncio.get_running_loop().call_later(1, note, number)

    orders = {run(order_of(plan), seed=seed) for seed in range(300)}
    assert len(orders) == 24


def test_timers_of_different_instants_fire_in_order() -> None:
    def plan(note: Callable[[int], None]) -> None:
        for number in (2, 0, 3, 1):
            asyncio.get_running_loop().call_later(number, note, number)

    assert {run(order_of(plan), seed=seed) for seed in range(50)} == {(0, 1, 2, 3)}


def test_what_is_called_soon_keeps_its_order() -> None:
    def plan(note: Callable[[int], None]) -> None:
        loop = asyncio.get_running_loop()
        for number in range(4):
            (loop.call_soon_threadsafe if number % 2 else loop.call_soon)(note, number)

    assert {run(order_of(plan), seed=seed) for seed in range(50)} == {(0, 1, 2, 3)}


def test_what_a_callback_calls_soon_runs_after_what_was_ready_before() -> None:
    def plan(note: Callable[[int], None]) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: loop.call_soon(note, 2))
        loop.call_soon(note, 1)

    assert run(order_of(plan)) == (1, 2)


def test_a_cancelled_callback_or_timer_does_not_run_and_does_not_move_time() -> None:
    async def main() -> tuple[list[str], float]:
        seen: list[str] = []
        loop = asyncio.get_running_loop()
        loop.call_soon(seen.append, "soon").cancel()
        loop.call_later(1, seen.append, "later").cancel()
        await asyncio.sleep(0.5)
        woken = loop.create_future()
        loop.call_later(5, woken.set_result, None)
        await woken
        return seen, now()

    assert run(main()) == ([], 5.5)


def test_a_timer_cancelled_by_another_of_the_same_instant_does_not_run() -> None:
    async def main() -> list[int]:
        seen: list[int] = []
        loop = asyncio.get_running_loop()
        timers: list[asyncio.TimerHandle] = []

        def fire(number: int) -> None:
            seen.append(number)
            for timer in timers:
                timer.cancel()

        timers += [loop.call_later(1, fire, number) for number in range(5)]
        await asyncio.sleep(2)
        return seen

    assert {len(run(main(), seed=seed)) for seed in range(20)} == {1}


def test_a_timeout_ends_what_takes_too_long() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3):
                await asyncio.sleep(60)
        async with asyncio.timeout(60):
            await asyncio.sleep(1)
        return now()

    assert run(main()) == 4.0


def test_a_cancelled_task_cleans_up_in_virtual_time() -> None:
    async def main() -> float:
        async def work() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(2)

        task = asyncio.create_task(work())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return now()

    assert run(main()) == 3.0


def test_a_task_group_cancels_the_others_when_one_fails() -> None:
    ended: list[float] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(now())

    async def fail() -> None:
        await asyncio.sleep(1)
        raise LookupError

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(work())
            group.create_task(fail())

    with pytest.raises(ExceptionGroup) as failed:
        run(main())
    assert failed.group_contains(LookupError)
    assert ended == [1.0]


def test_a_group_cancels_its_tasks_in_an_order_that_memory_addresses_do_not_change() -> None:
    async def main(clutter: int) -> tuple[str, ...]:
        ended: list[str] = []
        kept: list[object] = []

        async def work(name: str) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(name)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1), asyncio.TaskGroup() as group:
                for number in range(9):
                    kept.append([asyncio.sleep for _ in range(clutter * number)])
                    kept.append(group.create_task(work(str(number))))
        return tuple(ended)

    assert len({run(main(clutter)) for clutter in range(6)}) == 1


def test_tasks_are_numbered_afresh_in_each_run() -> None:
    async def main() -> list[str]:
        async def nothing() -> None: ...

        tasks = [asyncio.create_task(nothing()), asyncio.create_task(nothing(), name="mine")]
        await asyncio.gather(*tasks)
        return [task.get_name() for task in tasks]

    assert run(main()) == run(main()) == ["task-2", "mine"]


def test_a_deadlock_names_the_tasks_that_wait_and_where() -> None:
    async def wait_for_godot() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(wait_for_godot(), name="vladimir")
            await asyncio.sleep(3)

    with pytest.raises(DeadlockError) as stuck:
        run(main())
    message = str(stuck.value)
    assert message.startswith("simulation stuck at 3 s: nothing is scheduled, and these wait for ever:\n")
    assert "\n  vladimir at test_loop.py:" in message
    assert "wait_for_godot → locks.py:" in message
    assert "\n  task-1 at test_loop.py:" in message


@pytest.mark.parametrize(
    "wait",
    [
        pytest.param(lambda: asyncio.sleep(math.inf), id="sleeping for ever"),
        pytest.param(lambda: asyncio.Queue[int]().get(), id="an empty queue"),
        pytest.param(lambda: asyncio.gather(asyncio.Event().wait()), id="a future"),
    ],
)
def test_waiting_for_ever_is_a_deadlock(wait: Callable[[], Any]) -> None:
    async def main() -> None:
        cancelled = asyncio.get_running_loop().call_later(5, print)
        cancelled.cancel()
        await wait()

    with pytest.raises(DeadlockError, match="at 0 s"):
        run(main())


def impatient_runner() -> asyncio.Runner:
    def make() -> SimLoop:
        loop = SimLoop()
        loop.most_rounds_at_once = 1_000
        return loop

    return asyncio.Runner(loop_factory=make)


def test_waking_each_other_for_ever_is_an_error_too() -> None:
    async def spin() -> None:
        for _ in count():
            await asyncio.sleep(0)

    with (
        impatient_runner() as runner,
        pytest.raises(DeadlockError, match="time stood still"),
    ):
        runner.run(spin())


@pytest.mark.slow
def test_many_rounds_are_no_livelock_while_time_moves() -> None:
    async def main() -> float:
        for _ in range(100):
            await asyncio.sleep(1)
            for _ in range(500):
                await asyncio.sleep(0)
        return now()

    with impatient_runner() as runner:
        assert runner.run(main()) == 100.0


def test_a_thread_runs_at_once_and_answers_after_the_caller_waited() -> None:
    async def main() -> list[str]:
        seen: list[str] = []

        def work() -> str:
            seen.append("thread")
            return "answer"

        asyncio.get_running_loop().call_soon(seen.append, "another")
        seen.append(await asyncio.to_thread(work))
        return seen

    assert run(main()) == ["thread", "another", "answer"]


def test_what_a_thread_raises_reaches_the_caller() -> None:
    async def main() -> None:
        await asyncio.to_thread(int, "x")

    with pytest.raises(ValueError, match="invalid literal"):
        run(main())


def test_an_answer_nobody_waits_for_any_more_is_dropped() -> None:
    async def main() -> str:
        asyncio.get_running_loop().run_in_executor(None, str).cancel()
        await asyncio.sleep(1)
        return "fine"

    assert run(main()) == "fine"


def test_what_a_callback_raises_stops_the_run() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_later(1, int, "x")
        await asyncio.sleep(2)

    with pytest.raises(ValueError, match="invalid literal"):
        run(main())


def test_what_a_forgotten_task_raised_is_logged() -> None:
    logged: list[str] = []
    listener = logging.Handler()
    listener.emit = lambda record: logged.append(record.getMessage())  # type: ignore[method-assign]

    async def fail() -> None:
        raise LookupError

    async def main() -> None:
        asyncio.create_task(fail())  # noqa: RUF006 - forgotten on purpose
        await asyncio.sleep(1)
        gc.collect()

    logging.getLogger("asyncio").addHandler(listener)
    try:
        run(main())
    finally:
        logging.getLogger("asyncio").removeHandler(listener)
    assert any("Task exception was never retrieved" in text for text in logged)


def test_what_main_raises_is_raised() -> None:
    async def main() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        run(main())


def test_tasks_left_behind_are_cancelled() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    async def main() -> asyncio.Task[None]:
        left = asyncio.create_task(work())
        await asyncio.sleep(0)
        return left

    assert run(main()).cancelled()
    assert ended == ["cancelled"]


def test_an_async_generator_left_half_way_is_closed() -> None:
    ended: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(1)
            ended.append("closed")

    async def main() -> None:
        async for _ in numbers():
            break
        await asyncio.sleep(5)

    run(main())
    assert ended == ["closed"]


async def connect() -> None:
    await asyncio.open_connection("localhost", 1)


async def start_process() -> None:
    await asyncio.create_subprocess_exec("true")


@pytest.mark.parametrize(
    "attempt", [pytest.param(connect, id="a socket"), pytest.param(start_process, id="a process")]
)
def test_there_is_no_real_io(attempt: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with pytest.raises(NotImplementedError):
        run(attempt())
