"""Waiting for what comes true in its own time."""

import asyncio
from collections.abc import Awaitable, Callable

#: what a loaded machine of two cores may need
PATIENCE_S = 60.0


async def eventually(look: Callable[[], Awaitable[bool]]) -> None:
    """Return once `look` says so; `TimeoutError` when it never does."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if await look():
                return
            await asyncio.sleep(0.002)
