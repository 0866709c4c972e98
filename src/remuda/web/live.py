"""
Pages that move: one drawing a second for each page that somebody watches, however many watch it.

Whoever watches gets the regions that changed since what they have. A reader who is slower than the page misses drawings,
never the last one.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct

from remuda.errors import RemudaError

#: by id, the HTML of the regions of a page
Regions: TypeAlias = dict[str, str]
Draw: TypeAlias = Callable[[], Awaitable[Regions]]


class Drawing(Struct, frozen=True):
    """A page as it is now: its regions, or why it cannot be drawn."""

    number: int
    regions: Regions
    problem: str = ""


class _Watched:
    """One page, drawn while somebody watches."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.watchers = 0
        self.drawing = Drawing(0, {})
        self.changed = asyncio.Condition()
        self.task: asyncio.Task[None] | None = None

    async def run(self, every_s: float) -> None:
        while True:
            try:
                regions, problem = await self.draw(), ""
            except RemudaError as error:
                regions, problem = self.drawing.regions, str(error)
            if (regions, problem) != (self.drawing.regions, self.drawing.problem):
                self.drawing = Drawing(self.drawing.number + 1, regions, problem)
                async with self.changed:
                    self.changed.notify_all()
            await asyncio.sleep(every_s)


class Hub:
    """All pages that are watched."""

    def __init__(self, every_s: float = 1.0) -> None:
        self._every_s = every_s
        self._pages: dict[str, _Watched] = {}

    @property
    def watchers(self) -> int:
        """How many watch a page."""
        return sum(page.watchers for page in self._pages.values())

    async def watch(
        self, key: str, draw: Draw, still_alive_s: float
    ) -> AsyncGenerator[tuple[Regions, str] | None, None]:
        """
        What changes of a page, as long as it is asked for: regions, and why they can no longer be drawn.

        First comes everything. None comes now and then when nothing changes, so that a reader who has gone is noticed.
        """
        page = self._pages.setdefault(key, _Watched(draw))
        page.watchers += 1
        if page.task is None:
            page.task = asyncio.create_task(page.run(self._every_s), name=f"page {key}")
        seen = Drawing(0, {})
        try:
            while True:
                try:
                    async with asyncio.timeout(still_alive_s), page.changed:
                        while page.drawing.number == seen.number:
                            await page.changed.wait()
                except TimeoutError:
                    yield None
                    continue
                now = page.drawing
                fresh = {name: html for name, html in now.regions.items() if seen.regions.get(name) != html}
                seen = now
                yield fresh, now.problem
        finally:
            page.watchers -= 1
            if not page.watchers:
                self._pages.pop(key, None)
                page.task.cancel()
