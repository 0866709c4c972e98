"""
CircleCI as a source: what it was last heard to say, and since when it says nothing.

Polling goes on in the background, and only while someone reads: a replica that stands by asks nobody. A failed call
changes no number. It marks the class stale, or unsure when it is the agents that are not known, until a good answer.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

from msgspec import structs

from remuda.errors import Unavailable
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.model.machines import pool_of, worker_name
from remuda.model.needs import Need, Reading, Worker
from remuda.model.times import SECOND, Instant, write_instant
from remuda.sources.circleci.agents import Listing, machine_of, newer
from remuda.sources.circleci.errors import CircleError
from remuda.sources.circleci.known import COUNTS, Known, Trouble
from remuda.sources.circleci.meters import CircleMeters
from remuda.sources.circleci.pace import Host, Pace, Turn

#: who has not read for so long does not need to know
ATTENTION_S = 15.0
_LOG_AGAIN_S = 60.0
_NAP_S = 5.0
#: An agent is hidden this long after its machine went. By then a namesake has an agent of its own, or was made too late
#: for the old one; and what was hidden by mistake, because the name had passed on unnoticed, is seen again.
_HIDDEN_S = 60.0
#: how finely it is messages that an agent goes on calling
_HEARD_EACH = 20 * SECOND
#: a difference of the clocks that a person should know of
_NOTABLE = 30 * SECOND
_FAILED = {
    "unclaimed": "failed to get unclaimed tasks",
    "running": "failed to get running tasks",
    "agents": "failed to get agents",
}
T = TypeVar("T")


class Api(Protocol):
    """The calls to one CircleCI. Whatever is no good answer is a `CircleError`."""

    async def unclaimed(self, job_class: str) -> int:
        """How many tasks wait."""
        ...

    async def running(self, job_class: str) -> int:
        """How many tasks run."""
        ...

    async def agents(self, job_class: str) -> Listing:
        """Who takes them."""
        ...

    async def close(self) -> None:
        """Let go of all connections; the next call opens new ones."""
        ...


class CircleCI:
    """
    The classes of one CircleCI. It satisfies the `Source` port.

    `run` must run for anything to become known. An agent cannot be messages to take no more work: `close` is true when it
    had none a moment ago, and whoever removes the machine then must let it end what it took since.
    """

    exact = False

    def __init__(
        self,
        api: Api,
        clock: Clock,
        rng: random.Random,
        log: Log,
        wake: Callable[[], None],
        meters: CircleMeters,
        host: Host | None = None,
    ) -> None:
        """A `host` that others ask too shares its rate with them."""
        self._api = api
        self._clock = clock
        self._log = log
        self._wake = wake
        self._meters = meters
        self._pace = Pace(host or Host(), rng)
        self._classes: dict[str, Known] = {}
        self._served: tuple[str, ...] = ()
        #: pool → class, also of pools that are gone: their machines may not be
        self._class_of: dict[str, str] = {}
        self._closed: dict[str, Instant] = {}
        #: machines that are gone → when their agent had connected, which is listed for hours, and until when it is hidden
        self._gone: dict[str, tuple[Instant, float]] = {}
        self._workers: dict[str, Worker] = {}
        self._read_mono: float | None = None
        self._poke = asyncio.Event()

    def serve(self, classes: Mapping[str, str]) -> None:
        """Set the class of each pool; classes of no pool are no longer asked for."""
        self._class_of.update(classes)
        before, self._served = self._served, tuple(sorted(set(classes.values())))
        now = self._clock.now()
        for name in self._served:
            if name not in before:
                self._classes[name] = Known(name, now)
        for name in set(before) - set(self._served):
            self._hide(self._classes.pop(name))
        self._pace.serve(self._served, self._clock.monotonic())
        self._join()
        self._poke.set()

    def serves(self, job_class: str) -> bool:
        """Whether a class is asked about."""
        return job_class in self._served

    async def read(self) -> Reading:
        """What is known, at once. A class that was never heard of is not among the needs."""
        now = self._clock.monotonic()
        if not self._is_attended(now):
            self._poke.set()
        self._read_mono = now
        if any(until <= now for _, until in self._gone.values()):
            self._gone = {name: entry for name, entry in self._gone.items() if entry[1] > now}
            self._join()
        needs, registering = {}, []
        for name in self._served:
            known = self._classes[name]
            is_sure = not self._is_unsure(known, now)
            if is_sure:
                registering.append(name)
            if known.counts is not None:
                is_stale = self._is_stale(known, now)
                self._show(known, is_stale=is_stale)
                needs[name] = Need(
                    *known.counts,
                    stale_since=known.good_at if is_stale else None,
                    unsure_since=None if is_sure else known.listed_at or known.served_at,
                )
        return Reading(needs, self._workers, frozenset(registering))

    async def close(
        self, machine: str, made_at: Instant = 0, job_class: str | None = None, boot: str = ""
    ) -> bool:
        """True when its agent has no task, or there is none of that name, by a listing that began after the call."""
        job_class = job_class or self._class_of.get(pool_of(machine))
        if job_class is None:
            return False  # nobody can say that it is idle
        known = self._classes.get(job_class) or Known(job_class, self._clock.now())
        listing = await self._list_anew(known)
        name = worker_name(machine, boot)
        worker = listing.workers.get(name)
        if worker is None or name == machine:
            worker = self._by_name(known, machine, made_at)
        if worker is None and listing.unreadable:
            message = f"{listing.unreadable} agents of class {job_class} cannot be read"
            raise Unavailable(f"closing machine {machine}: {message}, and it may be one of them")
        if name not in self._closed:
            self._closed[name] = self._clock.now()
            self._join()
            self._wake()
        return worker is None or worker.job is None

    def _by_name(self, known: Known, machine: str, made_at: Instant) -> Worker | None:
        """The agent that has a machine's name and may be that machine's."""
        listed = known.listing.workers.get(machine) if known.listing is not None else None
        if listed is None:
            return None
        worker = self._by_our_clock(known, machine, listed)
        is_own = self._is_alive(machine, worker) and worker.is_of(made_at, made_at)
        return worker if is_own else None

    async def forget(self, machine: str) -> None:
        """A machine is gone: it is not closed any more, and its agent, which stays listed, is nobody's."""
        names = [name for name in self._closed if machine_of(name) == machine]
        closed = [self._closed.pop(name) for name in names]
        if not names and machine not in self._workers:
            return
        for one in self._classes.values():
            listed = one.listing.workers.get(machine) if one.listing is not None else None
            if listed is None or not closed:
                continue
            agent = self._by_our_clock(one, machine, listed)
            # Who was not closed, or called later, may be another machine that has the name by now.
            if (agent.connected_at or 0) <= max(closed):
                until = self._clock.monotonic() + _HIDDEN_S
                self._gone[machine] = agent.connected_at or max(closed), until
        self._join()
        self._wake()

    def trouble(self) -> dict[str, str]:
        """A sentence for each class that CircleCI gives no good answers for; nothing on a replica that stands by."""
        now = self._clock.monotonic()
        if not self._is_attended(now):
            return {}
        messages = {}
        for name in self._served:
            known = self._classes[name]
            if known.troubles:
                since = self._clock.now() - round(
                    (now - min(t.since for t in known.troubles.values())) * SECOND
                )
                errors = "; ".join(dict.fromkeys(trouble.error for trouble in known.troubles.values()))
                messages[name] = f"since {write_instant(since)}: {errors}"
            elif known.good_at is not None and self._is_stale(known, now):
                messages[name] = f"not asked since {write_instant(known.good_at)}: {self._held(name, now)}"
        return messages

    def refusals(self) -> dict[str, str]:
        """By class, why its tasks cannot be counted: the same words for as long as the answer is the same."""
        return {
            name: known.troubles[call].refusal
            for name, known in self._classes.items()
            for call in reversed(COUNTS)
            if call in known.troubles and known.troubles[call].refusal
        }

    def heard_at(self) -> dict[str, Instant]:
        """By class, when its tasks were last counted."""
        return {name: known.good_at for name, known in self._classes.items() if known.good_at is not None}

    async def refresh(self) -> None:
        """Ask for all classes once now, with no more calls a second than ever, and return when all have ended."""
        async with asyncio.TaskGroup() as group:
            for name in self._served:
                turn = Turn(name, lists=True)
                await asyncio.sleep(self._pace.reserve(self._clock.monotonic(), turn.calls))
                group.create_task(self._round(turn))

    async def run(self) -> None:
        """Poll while someone reads, until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    now = self._clock.monotonic()
                    if not self._is_attended(now):
                        await self._stand_by()
                        continue
                    turn = self._pace.next(now)
                    if isinstance(turn, Turn):
                        group.create_task(self._round(turn))
                    else:
                        self._retell()
                        await self._nap(turn)
        finally:
            await self._api.close()

    def _is_attended(self, now: float) -> bool:
        return self._read_mono is not None and now - self._read_mono <= ATTENTION_S

    async def _stand_by(self) -> None:
        for known in self._classes.values():
            self._hide(known)
        self._poke.clear()
        await self._poke.wait()

    async def _nap(self, seconds: float) -> None:
        self._poke.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, _NAP_S)):
                await self._poke.wait()

    async def _round(self, turn: Turn) -> None:
        known = self._classes.get(turn.job_class)
        if known is None:
            return
        if turn.lists:
            await asyncio.gather(self._count(known), self._list(known))
        else:
            await self._count(known)

    async def _count(self, known: Known) -> None:
        """Ask for both counts at one moment, and take them together or not at all."""
        unclaimed, running = await asyncio.gather(
            self._ask("unclaimed", known, self._api.unclaimed),
            self._ask("running", known, self._api.running),
        )
        if self._classes.get(known.name) is not known:
            return  # nobody serves it any more
        now = self._clock.monotonic()
        if isinstance(unclaimed, CircleError) or isinstance(running, CircleError):
            self._pace.failed(known.name)
        else:
            is_new = known.counts != (unclaimed, running)
            # What was known until now may have been stale by its age alone.
            was_stale = self._is_stale(known, now)
            known.counts, known.good_at, known.good_mono = (unclaimed, running), self._clock.now(), now
            self._pace.answered(known.name, now, is_zero=unclaimed + running == 0, is_new=is_new)
            if is_new or was_stale:
                self._wake()
        if known.counts is not None:
            self._show(known, is_stale=self._is_stale(known, now))
        self._poke.set()

    async def _list_anew(self, known: Known) -> Listing:
        """A listing that began after this call; callers of one moment share it, also when it fails."""
        asked = self._clock.monotonic()
        async with known.lists:
            if known.tried_mono <= asked:
                await asyncio.sleep(self._pace.reserve(asked))
                await self._try_list(known)
        assert known.tried is not None
        if isinstance(known.tried, CircleError):
            raise CircleError(str(known.tried), known.tried.outcome)
        return known.tried

    async def _list(self, known: Known) -> None:
        if not known.lists.locked():  # else it is being listed
            async with known.lists:
                await self._try_list(known)

    async def _try_list(self, known: Known) -> None:
        known.tried_mono = self._clock.monotonic()
        began_at = self._clock.now()
        known.tried = await self._ask("agents", known, self._api.agents)
        if isinstance(known.tried, CircleError):
            return
        before, had_offset = known.listing, known.hearing.offset
        known.hearing.listen(known.tried.called_at, began_at, self._clock.now())
        if known.hearing.offset != had_offset:
            self._note_offset(known)
        was_unsure = self._is_unsure(known, self._clock.monotonic())
        known.listing = known.tried
        known.listed_at, known.listed_mono = self._clock.now(), self._clock.monotonic()
        if known.tried.unreadable and (before is None or before.unreadable != known.tried.unreadable):
            self._log.warning("agents skipped", **{"class": known.name, "unreadable": known.tried.unreadable})
        same = self._workers
        self._join()
        if before is None or same != self._workers or was_unsure:
            self._wake()

    async def _ask(self, call: str, known: Known, ask: Callable[[str], Awaitable[T]]) -> T | CircleError:
        """One call, with all that is messages of how it went; none while the host wants to be left alone."""
        now = self._clock.monotonic()
        if self._pace.held(now) > 0:
            error = CircleError(self._held(known.name, now), "held")
        else:
            try:
                answer = await ask(known.name)
            except CircleError as raised:
                error = raised
                self._meters.asked(call, error.outcome)
                if error.is_limited:
                    self._pace.hold(self._clock.monotonic(), error.retry_after)
            else:
                self._meters.asked(call, "ok")
                self._note_good(call, known)
                return answer
        self._note_failed(call, known, error)
        return error

    def _held(self, job_class: str, now: float) -> str:
        left = self._pace.held(now)
        message = (
            f"CircleCI wants to be left alone for {left:.0f} s more" if left else "no answer came in time"
        )
        return f"class {job_class}: {message}"

    def _note_failed(self, call: str, known: Known, error: CircleError) -> None:
        now = self._clock.monotonic()
        refusal = "" if error.outcome == "held" else str(error)
        trouble = known.troubles.get(call)
        if trouble is not None:
            is_other = error.outcome not in (trouble.outcome, "held")
            trouble.error, trouble.outcome = str(error), error.outcome
            trouble.refusal = refusal or trouble.refusal
            if is_other:
                self._log_trouble(call, known, trouble, now)
            return
        is_first = not any(name in known.troubles for name in (COUNTS if call in COUNTS else (call,)))
        trouble = known.troubles[call] = Trouble(str(error), error.outcome, now, {}, refusal)
        self._log_trouble(call, known, trouble, now)
        if is_first:
            self._wake()

    def _log_trouble(self, call: str, known: Known, trouble: Trouble, now: float) -> None:
        """Log what fails, each kind of failure once a minute."""
        logged = trouble.logged
        last = (
            max(logged.values(), default=None) if trouble.outcome == "held" else logged.get(trouble.outcome)
        )
        if last is None or now - last >= _LOG_AGAIN_S:
            logged[trouble.outcome] = now
            self._log.error(_FAILED[call], **{"class": known.name, "error": trouble.error})

    def _note_good(self, call: str, known: Known) -> None:
        trouble = known.troubles.pop(call, None)
        if trouble is not None:
            seconds = round(self._clock.monotonic() - trouble.since, 3)
            self._log.info(
                "CircleCI answers again", **{"class": known.name, "call": call, "after_seconds": seconds}
            )

    def _note_offset(self, known: Known) -> None:
        """Log a difference of the clocks that is worth correcting."""
        offset = known.hearing.offset or 0
        if abs(offset) >= _NOTABLE:
            self._log.warning(
                "CircleCI's clock is not ours", **{"class": known.name, "ahead_seconds": offset // SECOND}
            )

    def _retell(self) -> None:
        """Say once a minute what still fails."""
        now = self._clock.monotonic()
        for name in self._served:
            known = self._classes[name]
            for call, trouble in known.troubles.items():
                self._log_trouble(call, known, trouble, now)

    def _is_stale(self, known: Known, now: float) -> bool:
        return known.is_stale(now, self._pace.period(known.name, now))

    def _is_unsure(self, known: Known, now: float) -> bool:
        return known.is_unsure(now, self._pace.listing_period(now))

    def _is_alive(self, machine: str, worker: Worker) -> bool:
        """False for the agent of a machine that is gone: another one may have its name by now."""
        gone = self._gone.get(machine)
        return gone is None or worker.connected_at is None or worker.connected_at > gone[0]

    def _by_our_clock(self, known: Known, name: str, worker: Worker) -> Worker:
        """A listed worker by our own clock. One that has no more than a machine's name says when it last called."""
        heard_at = known.hearing.heard_at(name) if machine_of(name) == name else None
        if heard_at is not None:
            heard_at -= heard_at % _HEARD_EACH
        elif not known.hearing.offset:
            return worker
        connected_at = None if worker.connected_at is None else known.hearing.ours(worker.connected_at)
        return structs.replace(
            worker, since=known.hearing.ours(worker.since), connected_at=connected_at, heard_at=heard_at
        )

    def _join(self) -> None:
        """The workers of all classes; those that did not change stay the same objects."""
        found: dict[str, Worker] = {}
        listed: set[str] = set()
        for known in self._classes.values():
            if known.listing is not None:
                listed.update(known.listing.workers)
                for name, raw in known.listing.workers.items():
                    worker = self._by_our_clock(known, name, raw)
                    if self._is_alive(name, worker):
                        found[name] = newer(found.get(name), worker)
        for name, at in tuple(self._closed.items()):
            machine = machine_of(name)
            worker = found.get(name) or found.get(machine) or Worker(at, connected_at=at)
            if name == machine and (worker.connected_at or at) > at:
                del self._closed[name]  # another machine has the name by now
            else:
                found[name] = structs.replace(worker, closed=True)
        same = self._workers
        self._workers = {
            name: same[name] if same.get(name) == worker else worker for name, worker in sorted(found.items())
        }
        if all(known.listing is not None for known in self._classes.values()):
            self._gone = {name: entry for name, entry in self._gone.items() if name in listed}

    def _show(self, known: Known, *, is_stale: bool) -> None:
        if known.shown != (known.good_at, is_stale):
            self._meters.show(known.name, known.good_at, is_stale=is_stale)
            known.shown = (known.good_at, is_stale)

    def _hide(self, known: Known) -> None:
        if known.shown is not None:
            self._meters.forget(known.name)
            known.shown = None
