"""Named steps that a crash could follow: nothing in production, the place for faults in tests."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

FaultPoint: TypeAlias = Callable[[str], Awaitable[None]]


async def no_fault(step: str) -> None:
    """Go on."""
