"""Named steps that a crash could follow: nothing in production, the place for faults in tests."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

Reach: TypeAlias = Callable[[str], Awaitable[None]]


async def pass_by(step: str) -> None:
    """Go on."""
