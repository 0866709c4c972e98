"""The loops' part of the control API: how they fare, and pausing them."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from remuda.control.routes import Call, Route
from remuda.errors import NotFound
from remuda.ledger.sql import Database
from remuda.ledger.store import Store
from remuda.loop.clock import Clock
from remuda.loop.health import Health
from remuda.loop.loop import Loop
from remuda.model.times import Instant

_PAUSED = "paused-loop/"


class LoopChanged(Struct, frozen=True):
    """Whether the loop is paused now."""

    loop: str
    paused: bool


def paused_loops(db: Database) -> set[str]:
    """Loops that an operator paused; they stay so over a restart."""
    rows = db.execute("SELECT name FROM settings WHERE name LIKE 'paused-loop/%'").fetchall()
    return {name.removeprefix(_PAUSED) for (name,) in rows}


class Recorded(Struct, frozen=True):
    """From when to when decisions are recorded; both 0 while there are none."""

    since: Instant
    until: Instant


def recorded(db: Database) -> Recorded:
    """The span of the whole history."""
    since, until = db.execute("SELECT min(first_at), max(last_at) FROM cycles").fetchone()
    return Recorded(since or 0, until or 0)


#: what can be read also when nothing runs
VIEWS: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/recorded",
        "From when to when decisions are recorded.",
        Recorded,
        view=lambda db, _: recorded(db),
    ),
)


class LoopRoutes:
    """Shows loops and pauses them, durably."""

    def __init__(
        self,
        loops: Sequence[Loop[Any, Any, Any, Any]],
        store: Store,
        clock: Clock,
        health: Callable[[], Health],
    ) -> None:
        """`health` is what `/ready` answers."""
        self._health = health
        self._loops = {loop.name: loop for loop in loops}
        self._store = store
        self._clock = clock

    def routes(self) -> tuple[Route, ...]:
        """All of them."""
        return (
            *VIEWS,
            Route("GET", "/v1/loops", "How the loops fare.", Health, handler=self.show),
            Route(
                "POST",
                "/v1/loops/{loop}/pause",
                "Run no cycle until resumed.",
                LoopChanged,
                handler=self.pause,
            ),
            Route("POST", "/v1/loops/{loop}/resume", "Run cycles again.", LoopChanged, handler=self.resume),
        )

    async def show(self, call: Call) -> Health:
        """As `/ready` does."""
        del call
        return self._health()

    async def pause(self, call: Call) -> LoopChanged:
        """Pause a loop."""
        loop, now = self._find(call), self._clock.now()
        await self._store.write(
            lambda db: db.execute(
                "INSERT INTO settings VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET set_at = excluded.set_at",
                (_PAUSED + loop.name, b"", now),
            )
        )
        loop.pause()
        return LoopChanged(loop.name, paused=True)

    async def resume(self, call: Call) -> LoopChanged:
        """Resume a loop."""
        loop = self._find(call)
        await self._store.write(
            lambda db: db.execute("DELETE FROM settings WHERE name = ?", (_PAUSED + loop.name,))
        )
        loop.resume()
        return LoopChanged(loop.name, paused=False)

    def _find(self, call: Call) -> Loop[Any, Any, Any, Any]:
        found = self._loops.get(call.names["loop"])
        if found is None:
            raise NotFound(
                f"there is no loop {call.names['loop']}; there is: {', '.join(sorted(self._loops))}"
            )
        return found
