"""The pools' part of the control API."""

import re
from collections.abc import Callable

from msgspec import UNSET, Struct, UnsetType, structs

from remuda.control.routes import Call, Route
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.ledger.sql import Database
from remuda.ledger.store import Store
from remuda.loop.clock import Clock
from remuda.pools.controller import PoolsController
from remuda.pools.decide.model import Override
from remuda.pools.history import (
    Next,
    PoolsHistory,
    StartTimes,
    pools_history,
    refuse_unknown,
    start_times,
    what_next,
)
from remuda.pools.overrides import overrides, set_override
from remuda.pools.policy import PoolSetup
from remuda.pools.ports import Provider
from remuda.pools.views import (
    Decision,
    MachineView,
    PoolsView,
    last_cycle,
    last_decisions,
    machine_view,
    pool_view,
    pools_view,
)
from remuda.pools.why import Why, why_machine, why_pool

_AT = {"at": "The instant asked about, in milliseconds since 1970; now by default."}
_FOREVER = 2**53


class Scale(Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds set by hand. What is left out stays as it is; null clears it."""

    min: int | UnsetType | None = UNSET
    max: int | UnsetType | None = UNSET


class Rollout(Struct, frozen=True, forbid_unknown_fields=True):
    """`immediate` removes machines of an older template now, busy or not."""

    immediate: bool = False


class UserData(Struct, frozen=True):
    """What a pool's machines are told at boot."""

    pool: str
    text: str


class Console(Struct, frozen=True):
    """The last of what a machine said."""

    machine: str
    text: str


_HOUR = 3_600_000
_SPAN = {
    "since": "The beginning, in milliseconds since 1970; an hour before the end by default.",
    "until": "The end, in milliseconds since 1970; the last record by default.",
    "points": "At most about so many moments; 240 by default.",
}


def _span(db: Database, call: Call) -> tuple[int, int, int]:
    """The span of time that is asked about, and in how many points."""
    cycle = last_cycle(db) if "until" not in call.query else None
    until = call.instant("until", cycle.last_at if cycle else _HOUR)
    points = call.query.get("points", "240")
    if not re.fullmatch(r"[0-9]{1,4}", points):
        raise BadInput(f"points wants a whole number, found {points!r}")
    return call.instant("since", max(0, until - _HOUR)), until, int(points)


def _history(db: Database, call: Call) -> PoolsHistory:
    return pools_history(db, *_span(db, call), only=call.names.get("pool"))


def _starts(db: Database, call: Call) -> StartTimes:
    since, until, _ = _span(db, call)
    found = start_times(db, call.names["pool"], since, until)
    if not found.times:
        refuse_unknown(db, call.names["pool"])
    return found


VIEWS: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/history/pools",
        "What all pools wanted and had over time.",
        PoolsHistory,
        view=_history,
        query=_SPAN,
    ),
    Route(
        "GET",
        "/v1/history/pools/{pool}",
        "What a pool wanted and had over time.",
        PoolsHistory,
        view=_history,
        query=_SPAN,
    ),
    Route(
        "GET",
        "/v1/history/pools/{pool}/starts",
        "How long a pool's machines took to become able to work.",
        StartTimes,
        view=_starts,
        query=_SPAN,
    ),
    Route(
        "GET",
        "/v1/pools/{pool}/next",
        "What a cycle now would decide for a pool.",
        Next,
        view=lambda db, call: what_next(db, call.names["pool"], call.instant("at", 0)),
        query=_AT,
    ),
    Route("GET", "/v1/pools", "All pools and machines.", PoolsView, view=lambda db, _: pools_view(db)),
    Route(
        "GET",
        "/v1/pools/{pool}",
        "One pool.",
        PoolsView,
        view=lambda db, call: pool_view(db, call.names["pool"]),
    ),
    Route(
        "GET",
        "/v1/machines/{machine}",
        "One machine.",
        MachineView,
        view=lambda db, call: machine_view(db, call.names["machine"]),
    ),
    Route(
        "GET",
        "/v1/decisions",
        "The last decisions, oldest first.",
        list[Decision],
        view=lambda db, _: last_decisions(db),
    ),
    Route(
        "GET",
        "/v1/why/pool/{pool}",
        "Why a pool has as many machines as it has.",
        Why,
        view=lambda db, call: why_pool(db, call.names["pool"], call.instant("at", _FOREVER)),
        query=_AT,
    ),
    Route(
        "GET",
        "/v1/why/machine/{machine}",
        "Why a machine was made or removed.",
        Why,
        view=lambda db, call: why_machine(db, call.names["machine"], call.instant("at", _FOREVER)),
        query=_AT,
    ),
)


class PoolRoutes:
    """What changes pools. Each change is kept in the store before it is answered."""

    def __init__(
        self,
        job: PoolsController,
        providers: dict[str, Provider],
        store: Store,
        clock: Clock,
        wake: Callable[[], None],
        user_data: Callable[[PoolSetup], str | None] = lambda _: None,
    ) -> None:
        """`user_data` is what a pool's machines are given at boot, without secrets, where there is such a thing."""
        self._user_data = user_data
        self._job = job
        self._providers = providers
        self._store = store
        self._clock = clock
        self._wake = wake

    def routes(self) -> tuple[Route, ...]:
        """All of them."""
        return (
            *VIEWS,
            Route(
                "POST",
                "/v1/pools/{pool}/scale",
                "Set bounds by hand.",
                Override,
                handler=self.scale,
                body=Scale,
            ),
            Route("POST", "/v1/pools/{pool}/pause", "Make and remove nothing.", Override, handler=self.pause),
            Route(
                "POST",
                "/v1/pools/{pool}/resume",
                "End a pause, a drain or a rollout at once.",
                Override,
                handler=self.resume,
            ),
            Route(
                "POST",
                "/v1/pools/{pool}/drain",
                "Let idle machines go, busy ones finish.",
                Override,
                handler=self.drain,
            ),
            Route(
                "POST",
                "/v1/pools/{pool}/rollout",
                "Replace machines of an older template.",
                Override,
                handler=self.rollout,
                body=Rollout,
            ),
            Route(
                "GET",
                "/v1/machines/{machine}/console",
                "What a machine said last.",
                Console,
                handler=self.console,
            ),
            Route(
                "GET",
                "/v1/pools/{pool}/userdata",
                "What the pool's machines are told at boot; secrets are masked.",
                UserData,
                handler=self.userdata,
            ),
        )

    async def scale(self, call: Call) -> Override:
        """Set or clear bounds."""
        given: Scale = call.body
        for name, value in (("min", given.min), ("max", given.max)):
            if isinstance(value, int) and not 0 <= value <= 100_000:
                raise BadInput(f"{name} must be 0 to 100000, found {value}")

        def change(before: Override) -> Override:
            low = before.min if isinstance(given.min, UnsetType) else given.min
            high = before.max if isinstance(given.max, UnsetType) else given.max
            if low is not None and high is not None and low > high:
                raise BadInput(f"min {low} is more than max {high}")
            return structs.replace(before, min=low, max=high)

        return await self._change(call.names["pool"], change)

    async def pause(self, call: Call) -> Override:
        """Pause a pool."""
        return await self._change(call.names["pool"], lambda before: structs.replace(before, paused=True))

    async def resume(self, call: Call) -> Override:
        """Resume a pool that is paused or drained, and end an ordered rollout."""
        return await self._change(call.names["pool"], lambda before: Override(min=before.min, max=before.max))

    async def drain(self, call: Call) -> Override:
        """Drain a pool."""
        return await self._change(call.names["pool"], lambda before: structs.replace(before, draining=True))

    async def rollout(self, call: Call) -> Override:
        """Order a rollout of the machines there are at once, or end such an order."""
        setup = self._job.setups.get(call.names["pool"])
        template = setup.template if setup and call.body.immediate else None
        at = self._clock.now() if template else 0
        return await self._change(
            call.names["pool"],
            lambda before: structs.replace(before, finish_rollout=template, finish_rollout_at=at),
        )

    async def console(self, call: Call) -> Console:
        """Find the machine with any provider."""
        name = call.names["machine"]
        for provider in self._providers.values():
            try:
                listed = await provider.list()
            except Unavailable:
                continue  # another may have it
            if any(machine.name == name for machine in listed):
                return Console(name, (await provider.console(name)).decode(errors="replace"))
        raise NotFound(f"there is no machine {name} now")

    async def userdata(self, call: Call) -> UserData:
        """What new machines are told."""
        setup = self._setup(call.names["pool"])
        text = self._user_data(setup)
        if text is None:
            raise BadInput(f"machines of pool {setup.name} are not VMs: they have no user data")
        return UserData(setup.name, text)

    def _setup(self, pool: str) -> PoolSetup:
        if pool not in self._job.setups:
            known = ", ".join(sorted(self._job.setups)) or "none"
            raise NotFound(f"there is no pool {pool}; there is: {known}")
        return self._job.setups[pool]

    async def _change(self, pool: str, change: Callable[[Override], Override]) -> Override:
        setup = self._setup(pool)
        before = self._job.still_in_force(setup, self._store.read(overrides).get(pool, Override()))
        after, now = change(before), self._clock.now()
        await self._store.write(lambda db: set_override(db, pool, after, now))
        self._wake()
        return after
