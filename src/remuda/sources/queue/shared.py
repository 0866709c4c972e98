"""
A queue that several hosts take from.

The store decides who gets a job; see `rows.take_next`. What waits is only known as of the last look, once a second and soon
after a job was handed in here; what runs on this host is known exactly.

Each job that waits is counted by one of the hosts that serve its class, in turn by its number, so that no two start a machine
for it. One that still waits after a while is counted by all: the host whose turn it was may be full, or failing.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct, structs

from remuda.errors import RemudaError
from remuda.ledger.sql import Database
from remuda.ledger.store import Store
from remuda.loop.clock import Clock
from remuda.loop.faults import FaultPoint, no_fault
from remuda.loop.logs import Log
from remuda.model.needs import Need, Reading
from remuda.model.times import Instant
from remuda.sources.queue import hosts, rows
from remuda.sources.queue.copies import Copies
from remuda.sources.queue.hosts import HostRow, Lookout, look_out
from remuda.sources.queue.queue import Queue
from remuda.sources.queue.settle import CallForWork, Site

T = TypeVar("T")

#: between two looks, and how soon after one comes the next when something happened here
_LOOK_S, _SOON_S = 1.0, 0.1
#: after so long each host counts a job that waits
PATIENCE_S = 15.0


class LeasedStore(Store, Protocol):
    """The store of a host that has a lease; `tenure` is its name."""

    @property
    def tenure(self) -> str:
        """Changes when another host had ended the lease."""
        ...


class Turn(Struct, frozen=True):
    """Which of the jobs of a class this host counts at first: each `of`-th one, beginning with `place`."""

    place: int
    of: int


class Waiting(Struct, frozen=True):
    """What waits of a class that this host may take, and how many of these it counts."""

    total: int
    counted: int
    newest: int


class Seen(Struct, frozen=True):
    """One look at the queue."""

    hosts: tuple[HostRow, ...]
    waiting: dict[str, Waiting]
    #: jobs that run here, with their attempts, and are no longer wanted
    cancelled: frozenset[tuple[int, int]]
    #: of the jobs that somebody waits for, how they are
    states: dict[int, tuple[str, int]]


class SharedQueue(Queue):
    """The queue on one of several hosts. `steady` is a clock that nobody sets, in seconds; `follow` must run beside it."""

    def __init__(
        self,
        store: LeasedStore,
        site: Site,
        clock: Clock,
        wake: Callable[[], None],
        log: Log,
        steady: Callable[[], float],
        fault_point: FaultPoint = no_fault,
        identity: str = "",
    ) -> None:
        self._leased, self._log, self._steady = store, log, steady
        self._tenure = store.tenure
        self._lookout = Lookout()
        self._soon = asyncio.Event()
        self._published: set[str] | None = None
        self._counted: Counter[str] = Counter()
        self._elsewhere: Counter[str] = Counter()
        self._stale_since: Instant | None = None
        self._served_elsewhere: frozenset[str] = frozenset()
        #: by the clock of this host, the newest job that was seen to wait then
        self._newest: deque[tuple[float, int]] = deque()
        self._states: dict[int, tuple[str, int]] = {}
        self._copies = Copies(site.files)
        super().__init__(store, site.files, clock, wake, fault_point, identity, site)

    async def follow(self) -> None:
        """Look at the queue again and again, and after hosts that are gone; until cancelled."""
        while True:
            self._soon.clear()
            try:
                await self.look_around()
                await self._copies.write(self._store)
            except RemudaError as error:
                if self._stale_since is None:
                    self._stale_since = self._clock.now()
                    self._log.error("the shared queue does not answer", error=str(error))
                    self._wake()
            await asyncio.sleep(_SOON_S)
            try:
                async with asyncio.timeout(_LOOK_S - _SOON_S):
                    await self._soon.wait()
            except TimeoutError:
                continue

    async def read(self) -> Reading:
        """What this host counts of what waits, what runs here, and its machines."""
        known = await super().read()
        needs = {
            name: Need(
                max(0, self._counted[name]),
                need.running,
                self._stale_since,
                elsewhere=max(0, self._elsewhere[name]),
            )
            for name, need in known.needs.items()
            if need.running or name in self._counted or name in self._served()
        }
        return Reading(needs, known.workers)

    async def submit(self, job: rows.Submission) -> tuple[int, bool]:
        """As in a queue of one host; one with secrets is for this host alone."""
        return await super().submit(self._bound(job))

    async def submit_batch(self, jobs: Sequence[rows.Submission]) -> list[tuple[int, bool]]:
        """As `submit`, all of them in one transaction."""
        return await super().submit_batch([self._bound(job) for job in jobs])

    def served_elsewhere(self) -> frozenset[str]:
        """The classes that hosts take jobs of, as of the last look."""
        return self._served_elsewhere

    def all_hosts(self) -> list[HostRow]:
        """Every host that takes from the queue, or did. It blocks."""
        return self._store.read(hosts.all_hosts)

    def _bound(self, job: rows.Submission) -> rows.Submission:
        # Of secrets only the paths are kept, and they are files of this host.
        return structs.replace(job, host=self._site.host) if job.spec.secret_files else job

    def _served(self) -> set[str]:
        return {terms.job_class for terms in self._terms.values()}

    def _add_waiting(self, job_class: str) -> None:
        super()._add_waiting(job_class)
        self._soon.set()

    async def _exchange(self, call: CallForWork) -> tuple[rows.WorkerRow, rows.Claim | None]:
        row, claim = await super()._exchange(call)
        if call.finished is not None:
            self._copies.add(call.finished)
        if claim is not None and not claim.again:
            self._counted[claim.job_class] -= 1
        elif claim is None and call.terms is not None and not row.closed:
            # Others were faster: until the next look nothing is there.
            self._waiting[call.terms.job_class] = 0
        return row, claim

    async def _forget(self, machine: str) -> None:
        run = self._given.get(machine)
        await super()._forget(machine)
        if run is not None and (ended := await asyncio.to_thread(self._files.result, run)) is not None:
            self._copies.add(ended)

    async def look_around(self) -> None:
        """Look at the queue once, and end the leases of hosts that are gone."""
        classes = self._served()
        if classes != self._published:
            host = self._site.host
            await self._store.write(lambda db: hosts.serve(db, host, classes))
            self._published = classes
        watched, old = tuple(self._changed), self._old()
        seen = await asyncio.to_thread(
            self._store.read, lambda db: look(db, self._site.host, classes, old, watched)
        )
        now = self._steady()
        if self._leased.tenure != self._tenure:
            self._log.warning("this host had lost its lease on the shared queue: it begins anew")
            self._tenure = self._leased.tenure
            self._published = None
            self.take_up(self._identity)
        self._take_in(seen, now)
        self._served_elsewhere = frozenset(
            name for row in seen.hosts if row.ended_at is None for name in row.classes
        )
        self._lookout, gone = look_out(self._lookout, seen.hosts, self._site.host, now)
        for row in gone:
            await self._end_lease(row)

    async def _end_lease(self, row: HostRow) -> None:
        now = self._clock.now()
        settled = await self._store.write(lambda db: hosts.end_lease(db, row, now))
        self._log.warning(
            "a host of the shared queue is gone", host=row.host, jobs=[each.job for each in settled]
        )
        self._soon.set()

    def _take_in(self, seen: Seen, now: float) -> None:
        before = (dict(self._counted), dict(self._elsewhere), self._stale_since)
        self._stale_since = None
        self._counted, self._elsewhere = Counter(), Counter()
        for name, waiting in seen.waiting.items():
            self._waiting[name] = waiting.total
            self._counted[name] = waiting.counted
            self._elsewhere[name] = waiting.total - waiting.counted
            if waiting.total:
                self._wake_machines(name, waiting.total)
        self._newest.append((now, max((each.newest for each in seen.waiting.values()), default=0)))
        self._unwanted |= {run for run in self._given.values() if (run.job, run.attempt) in seen.cancelled}
        for number, _ in seen.cancelled:
            self._signal_change(number)
        for number, state in seen.states.items():
            if self._states.get(number, state) != state:
                self._signal_change(number)
        self._states = seen.states
        if (dict(self._counted), dict(self._elsewhere), self._stale_since) != before:
            self._wake()

    def _old(self) -> int:
        """The newest job that waits for longer than each host has patience."""
        old, horizon = 0, self._steady() - PATIENCE_S
        while self._newest and self._newest[0][0] <= horizon:
            old = self._newest[0][1]
            if len(self._newest) > 1 and self._newest[1][0] <= horizon:
                self._newest.popleft()
            else:
                break
        return old


def turn_of(host: str, job_class: str, found: Iterable[HostRow]) -> Turn:
    """A host's place among those that take jobs of a class and have a lease."""
    others = {each.host for each in found if each.ended_at is None and job_class in each.classes}
    return Turn(sorted(others | {host}).index(host), len(others | {host}))


def look(db: Database, host: str, classes: Iterable[str], old: int, watched: Iterable[int]) -> Seen:
    """Read what a host must know, as of one moment. Jobs up to `old` are counted by every host."""
    waiting, found = dict[str, Waiting](), tuple(hosts.all_hosts(db))
    for name in sorted(classes):
        turn = turn_of(host, name, found)
        row = db.execute(
            "SELECT count(*), count(*) FILTER (WHERE host = ? OR id <= ? OR id % ? = ?), coalesce(max(id), 0)"
            " FROM jobs WHERE class = ? AND state = 'waiting' AND (host IS NULL OR host = ?)",
            (host, old, turn.of, turn.place, name, host),
        ).fetchone()
        waiting[name] = Waiting(*row)
    prefix = f"{host}/"
    cancelled = db.execute(
        "SELECT id, attempt FROM jobs WHERE state = 'running' AND cancelled = 1 AND substr(machine, 1, ?) = ?",
        (len(prefix), prefix),
    ).fetchall()
    asked = list(watched)
    states = (
        db.execute(
            f"SELECT id, state, attempt FROM jobs WHERE id IN ({', '.join('?' * len(asked))})",  # noqa: S608
            asked,
        ).fetchall()
        if asked
        else []
    )
    return Seen(
        found,
        waiting,
        frozenset((number, attempt) for number, attempt in cancelled),
        {number: (state, attempt) for number, state, attempt in states},
    )
