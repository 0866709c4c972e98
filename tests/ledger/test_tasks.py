"""What became of changes, told from the thread that writes."""

import asyncio
import threading
from collections.abc import Callable, Sequence

import pytest

from remuda.errors import Unavailable
from remuda.ledger.tasks import Result, Task, answer, fail


def task(future: "asyncio.Future[int] | None") -> Task:
    return Task(lambda _: None, durable=True, future=future)


def in_another_thread(tell: Callable[[], None]) -> None:
    thread = threading.Thread(target=tell)
    thread.start()
    thread.join()


async def test_all_who_wait_are_told_at_once_each_their_own() -> None:
    loop = asyncio.get_running_loop()
    good, bad, gone = (loop.create_future() for _ in range(3))
    gone.cancel()
    results: Sequence[Result] = [(1, None), (None, ValueError("bad")), (3, None), (None, None)]
    batch = [task(good), task(bad), task(gone), task(None)]
    in_another_thread(lambda: answer(batch, results))
    assert not good.done()
    await asyncio.sleep(0)
    assert good.result() == 1
    assert gone.cancelled()
    with pytest.raises(ValueError, match="bad"):
        bad.result()


async def test_those_of_a_batch_that_failed_are_all_told_so() -> None:
    futures = [asyncio.get_running_loop().create_future() for _ in range(2)]
    in_another_thread(lambda: fail([task(each) for each in futures], Unavailable("full")))
    await asyncio.sleep(0)
    for each in futures:
        with pytest.raises(Unavailable, match="full"):
            each.result()


def test_those_of_a_loop_that_is_closed_do_not_stop_the_writer() -> None:
    loop = asyncio.new_event_loop()
    future = loop.create_future()
    loop.close()
    answer([task(future)], [(1, None)])
    assert not future.done()
