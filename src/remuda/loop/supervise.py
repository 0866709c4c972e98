"""Several loops in one process: one that fails does not take the others down."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Phase


async def run_loops(loops: Sequence[Loop[Any, Any, Any, Any]], stop: asyncio.Event, log: Log) -> None:
    """Run all loops until `stop` is set, then let each wind down. A loop that breaks stays down, and its error is logged."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_guard(loop, log), name=f"loop {loop.name}") for loop in loops]
        await stop.wait()
        for task in tasks:
            task.cancel()


async def _guard(loop: Loop[Any, Any, Any, Any], log: Log) -> None:
    try:
        await loop.run()
    except Exception as error:  # noqa: BLE001 - a loop that dies must not take its neighbours with it
        loop.standing.phase = Phase.BROKEN
        loop.standing.last_error = "; ".join(_messages(error))
        log.error("loop died", loop=loop.name, error=loop.standing.last_error)


def _messages(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _messages(part)
    else:
        yield f"{type(error).__name__}: {error}"
