"""
The live queue: jobs come in, idle machines pull them, and what each machine does is known exactly.

Counts and workers are mirrored in memory, changed only after the store has committed, so a look at the queue costs
nothing and is never ahead of the disk. A change that was begun goes through even when its caller has gone, or the
mirror would fall behind.
"""

import asyncio
import contextlib
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from msgspec import Struct, structs

from remuda.errors import BadInput
from remuda.ledger.store import Store, Write
from remuda.loop.clock import Clock
from remuda.loop.faults import FaultPoint, no_fault
from remuda.model.jobs import Finished, Job, JobState, Run, Selection
from remuda.model.machines import pool_of
from remuda.model.needs import Need, Reading, Worker
from remuda.sources.queue import rows
from remuda.sources.queue.output import OUTPUT_LIMIT, JobFiles
from remuda.sources.queue.secrets import read_secrets
from remuda.sources.queue.settle import CallForWork, Site, Terms, settle, settle_and_claim

#: a long poll is answered after so many seconds at the latest
POLL = 25.0
_GLANCE = 0.005
#: in the place of a job's number, for a machine of which nobody knows yet what it does
UNKNOWN = "unknown"
T = TypeVar("T")


class Work(Struct, frozen=True, omit_defaults=True):
    """A job as the shim gets it. It holds secrets: it is never stored or logged."""

    id: int
    attempt: int
    command: tuple[str, ...]
    env: dict[str, str]
    secrets: dict[str, str]
    #: what the paths of its output and result begin with
    files: str
    output_limit: int
    timeout_ms: int
    #: the store's identity, without which the numbers mean nothing
    store: str = ""
    #: of a queue that hosts share: the file that says how long it may run here, and the lease that must be in it
    lease: dict[str, str] = {}

    @property
    def run(self) -> Run:
        """Which attempt it is."""
        return Run(self.store, self.id, self.attempt)


class Answer(Struct, frozen=True, omit_defaults=True):
    """What a machine is told: `run` the job, `wait` and ask again, or `end`."""

    do: str
    job: Work | None = None


class Queue:
    """
    The queue of one data directory. It satisfies the `Source` port.

    `identity` is the store's: jobs are given out under it, and a result counts only under the one of its order.
    """

    exact = True

    def __init__(
        self,
        store: Store,
        files: JobFiles,
        clock: Clock,
        wake: Callable[[], None],
        fault_point: FaultPoint = no_fault,
        identity: str = "",
        site: Site | None = None,
    ) -> None:
        """`site` is this host, as the queue sees it; without it, the only one."""
        self._store = store
        self._files = files
        self._site = site or Site(files)
        self._clock = clock
        self._wake = wake
        self._fault_point = fault_point
        self._terms: dict[str, Terms] = {}
        self._idle: dict[str, deque[asyncio.Future[None]]] = defaultdict(deque)
        self._changed: WeakValueDictionary[int, asyncio.Event] = WeakValueDictionary()
        self._begun: set[asyncio.Task[Any]] = set()
        #: machines that do what the store does not know of, and what that is as far as they said
        self._doing: dict[str, str] = {}
        self._waiting: Counter[str] = Counter()
        #: by class, how many machines are just taking a job, or finding that there is none
        self._asking: Counter[str] = Counter()
        self._running: Counter[str] = Counter()
        self._workers: dict[str, Worker] = {}
        #: what each machine was given by this process, and which of it is not wanted any more; so that nobody need ask the store
        self._given: dict[str, Run] = {}
        self._unwanted: set[Run] = set()
        self.take_up(identity)

    def take_up(self, identity: str) -> None:
        """Go by what the store says, which another process may have written, and give out jobs under an identity."""
        self._identity, prefix = identity, self._site.prefix
        self._given, self._unwanted = {}, set()
        self._waiting = Counter(self._store.read(rows.waiting_counts))
        self._running = Counter()
        self._workers = {
            row.machine: Worker(row.since, None, row.uses, row.closed)
            for row in self._store.read(lambda db: rows.workers(db, prefix))
        }
        for machine, number, job_class in self._store.read(lambda db: rows.running(db, prefix)):
            known = self._workers.get(machine, Worker(self._clock.now()))
            self._workers[machine] = structs.replace(known, job=str(number))
            self._running[job_class] += 1

    def adopt(self, machines: Iterable[str]) -> None:
        """Take machines of an earlier run for busy until they say what they do: the store may be older than they."""
        self._doing.update(dict.fromkeys(machines, UNKNOWN))

    def elsewhere(self) -> tuple[str, ...]:
        """Machines that may be busy for another store."""
        return tuple(sorted(self._doing))

    def running(self) -> set[str]:
        """The numbers of the jobs that run here, and words where one is not known."""
        return {worker.job for worker in self._workers.values() if worker.job} | set(self._doing.values())

    def serve(self, terms: dict[str, Terms]) -> None:
        """Set what each pool's machines may take; machines of other pools are told to end."""
        self._terms = terms
        for idle in self._idle.values():
            _wake_idle(idle, len(idle))

    async def read(self) -> Reading:
        """The need of every class and every machine that pulls, exactly as they are."""
        classes = (
            {terms.job_class for terms in self._terms.values()} | set(self._waiting) | set(self._running)
        )
        needs = {name: Need(self._waiting[name], self._running[name]) for name in sorted(classes)}
        workers = dict(self._workers)
        for machine, job in self._doing.items():
            known = workers.get(machine) or Worker(self._clock.now())
            workers[machine] = structs.replace(known, job=known.job or job)
        return Reading(needs, dict(sorted(workers.items())))

    async def close(
        self, machine: str, made_at: int = 0, job_class: str | None = None, boot: str = ""
    ) -> bool:
        """Give a machine no more work; True when it has none now. Names are not used twice here."""
        del made_at, job_class, boot
        return await self._go_through(self._close(machine))

    async def _close(self, machine: str) -> bool:
        now, key = self._clock.now(), self._site.prefix + machine
        is_free = await self._store.write(lambda db: rows.close(db, key, now))
        self._note_closed(machine)
        return is_free and machine not in self._doing

    async def forget(self, machine: str) -> None:
        """
        A machine is gone. What it was working on is settled by the result it left, else it counts as lost.

        Lost is retried or failed by the job's own policy, visibly, as one more attempt.
        """
        await self._go_through(self._forget(machine))

    async def _forget(self, machine: str) -> None:
        now = self._clock.now()
        terms = self._terms.get(pool_of(machine))
        settled = await self._store.write(lambda db: settle(db, machine, self._site, terms, now))
        await self._fault_point("queue.forgot")
        self._workers.pop(machine, None)
        self._doing.pop(machine, None)
        if settled is not None:
            self._note_settled(settled)
        self._given.pop(machine, None)
        self._wake()

    async def submit(self, job: rows.Submission) -> tuple[int, bool]:
        """Take a job in; its id, and False when it was handed in before."""
        return await self._go_through(self._submit(job))

    async def _submit(self, job: rows.Submission) -> tuple[int, bool]:
        now = self._clock.now()
        number, is_new = await self._store.write(lambda db: rows.submit(db, job, now))
        await self._fault_point("queue.submitted")
        if is_new:
            self._add_waiting(job.job_class)
        return number, is_new

    async def submit_batch(self, jobs: Sequence[rows.Submission]) -> list[tuple[int, bool]]:
        """As `submit`, all of them in one transaction."""
        return await self._go_through(self._submit_batch(jobs))

    async def _submit_batch(self, jobs: Sequence[rows.Submission]) -> list[tuple[int, bool]]:
        now = self._clock.now()
        taken = await self._store.write(lambda db: [rows.submit(db, job, now) for job in jobs])
        await self._fault_point("queue.submitted")
        for job, (_, is_new) in zip(jobs, taken, strict=True):
            if is_new:
                self._add_waiting(job.job_class)
        return taken

    async def select(self, which: Selection) -> list[int]:
        """The numbers of jobs that are as asked, the oldest first."""
        return await asyncio.to_thread(
            self._store.read,
            lambda db: rows.numbers(db, states=which.states, job_class=which.job_class, up_to=which.up_to),
        )

    async def cancel(self, number: int) -> JobState:
        """End a job: at once while it waits, through its machine while it runs. Return its state before."""
        return await self._go_through(self._cancel(number))

    async def _cancel(self, number: int) -> JobState:
        now = self._clock.now()
        found = await self._store.write(lambda db: rows.cancel(db, number, now))
        if found is None:
            raise BadInput(f"there is no job {number}")
        state, job_class = found
        if state is JobState.WAITING:
            self._waiting[job_class] -= 1
            self._wake()
        elif state is JobState.RUNNING:
            self._unwanted |= {run for run in self._given.values() if run.job == number}
        self._signal_change(number)
        return state

    async def retry(self, number: int) -> JobState:
        """Let an ended job run once more. Return its state before."""
        return await self._go_through(self._retry(number))

    async def _retry(self, number: int) -> JobState:
        now = self._clock.now()
        found = await self._store.write(lambda db: rows.retry(db, number, now))
        if found is None:
            raise BadInput(f"there is no job {number}")
        state, job_class = found
        if state.is_end:
            self._add_waiting(job_class)
            self._signal_change(number)
        return state

    async def next(
        self,
        machine: str,
        finished: Finished | None,
        *,
        leaving: bool,
        ran: int | None = None,
        retires: bool = False,
    ) -> Answer:
        """
        A machine asks for work, telling how its last job ended. Waits up to `POLL` seconds for some.

        Safe to repeat: a machine that never heard the answer gets the same job with the same attempt again. `ran` is
        how many jobs it has begun. One that `retires` gets no new job.
        """
        deadline = self._clock.monotonic() + POLL
        if self._doing.pop(machine, None) is not None:
            self._wake()
        try:
            while True:
                terms = None if retires else self._terms.get(pool_of(machine))
                answer = await self._ask(machine, terms, finished, ran, leaving=leaving)
                if answer is not None:
                    return answer
                assert terms is not None
                finished = None
                left = deadline - self._clock.monotonic()
                if left <= 0 or not await self._wait_for_work(terms.job_class, left):
                    return Answer("wait")
        finally:
            self._pass_on(machine)

    async def watch(self, machine: str, run: Run) -> str:
        """
        A machine asks whether its job is still wanted; `cancel` or, after a while, `continue`.

        An attempt that this store has not given to it goes on: it is another store's, and the machine is busy with it.
        """
        # Before anything is asked: what happens meanwhile must not be missed.
        changed = self._event(run.job)
        is_ours, is_known, is_cancelled = await self._standing(machine, run)
        if is_ours:
            self._doing.pop(machine, None)
        elif not is_known:
            # One that it knows has ended, and this is an old question.
            self._doing[machine] = f"{run.job} of another store"
            self._wake()
        if not (is_ours and is_cancelled):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL):
                    await changed.wait()
        is_ours, _, is_cancelled = await self._standing(machine, run)
        return "cancel" if is_ours and is_cancelled else "continue"

    async def _standing(self, machine: str, run: Run) -> tuple[bool, bool, bool]:
        """Whether an attempt is the one that the machine has, is known at all, and is not wanted any more."""
        if self._given.get(machine) == run:
            return True, True, run in self._unwanted
        key = self._site.prefix + machine
        return await self._look(
            lambda db: (
                rows.running_on(db, key) == run,
                rows.knows(db, run),
                rows.is_cancelled(db, run.job),
            )
        )

    async def job(self, number: int) -> Job | None:
        """One job as it is now."""
        return await self._look(lambda db: rows.job(db, number))

    async def _look(self, question: Write[T]) -> T:
        """Ask the store; one across a network does not keep everything else waiting."""
        if self._store.is_apart:
            return await asyncio.to_thread(self._store.read, question)
        return self._store.read(question)

    async def changed(self, number: int, timeout: float) -> None:
        """Return when a job changed, or after `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._event(number).wait()

    async def _ask(
        self, machine: str, terms: Terms | None, finished: Finished | None, ran: int | None, *, leaving: bool
    ) -> Answer | None:
        """Settle the last job, then claim the next one that can be started, or end; None when there is no work."""
        known = self._workers.get(machine)
        is_idle = known is not None and known.job is None and not known.closed
        if (
            is_idle
            and terms is not None
            and finished is None
            and not (leaving or self._is_any_left(terms.job_class))
        ):
            return None
        while True:
            call = CallForWork(machine, terms, finished, ran, leaving, self._identity)
            row, claim = await self._go_through(self._exchange(call))
            if claim is None:
                return Answer("end") if row.closed else None
            try:
                return Answer("run", await self._prepare(claim, terms))
            except BadInput as problem:
                now = self._clock.now()
                finished = Finished(
                    claim.job, claim.attempt, "unstartable", 126, str(problem), now, now, store=claim.store
                )
                ran = None  # it never heard of this one

    async def _exchange(self, call: CallForWork) -> tuple[rows.WorkerRow, rows.Claim | None]:
        """One transaction, and the mirror after it."""
        now, machine = self._clock.now(), call.machine
        is_new = machine not in self._workers
        asked_for = call.terms.job_class if call.terms else ""
        self._asking[asked_for] += 1
        try:
            ended, row, claim = await self._store.write(
                lambda db: settle_and_claim(db, call, self._site, now)
            )
            await self._fault_point("queue.exchanged")
        finally:
            self._asking[asked_for] -= 1
        settled = bool(ended)
        for each in ended:
            self._given.pop(machine, None)
            self._note_settled(each)
        known = Worker(row.since, None, row.uses, row.closed)
        if claim is None:
            self._workers[machine] = known
            if is_new or settled:
                self._wake()
            return row, None
        self._workers[machine] = structs.replace(known, job=str(claim.job))
        if not claim.again:
            self._given[machine] = Run(claim.store, claim.job, claim.attempt)
            self._waiting[claim.job_class] -= 1
            self._running[claim.job_class] += 1
            self._signal_change(claim.job)
        self._wake()
        return row, claim

    async def _prepare(self, claim: rows.Claim, terms: Terms | None) -> Work:
        spec = claim.spec
        if spec == rows.DAMAGED:
            raise BadInput("what to run is damaged in the store")
        secrets = await asyncio.to_thread(read_secrets, spec.secret_files) if spec.secret_files else {}
        return Work(
            id=claim.job,
            attempt=claim.attempt,
            command=spec.command,
            env=spec.env,
            secrets=secrets,
            files=self._files.stem(Run(claim.store, claim.job, claim.attempt)),
            output_limit=OUTPUT_LIMIT,
            timeout_ms=spec.timeout or (terms.job_timeout if terms else 0),
            store=claim.store,
            lease={"file": self._site.lease_file, "tenure": claim.tenure} if claim.tenure else {},
        )

    async def _wait_for_work(self, job_class: str, timeout: float) -> bool:
        """Wait until there may be a job of the class; each job wakes one machine."""
        if self._is_any_left(job_class):
            # A job came while we asked.
            await asyncio.sleep(_GLANCE)
            return True
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = self._idle[job_class]
        line.append(place)
        try:
            async with asyncio.timeout(timeout):
                await place
        except TimeoutError:
            return False
        finally:
            with contextlib.suppress(ValueError):
                line.remove(place)
        return True

    def _pass_on(self, machine: str) -> None:
        """Whoever leaves may have been woken for a job it did not take: let that wake someone else."""
        terms = self._terms.get(pool_of(machine))
        if terms is not None and self._is_any_left(terms.job_class):
            _wake_idle(self._idle[terms.job_class], 1)

    def _is_any_left(self, job_class: str) -> bool:
        """True when more jobs wait than machines are just asking for: who asks beside them would find nothing."""
        return self._waiting[job_class] > self._asking[job_class]

    async def _go_through(self, change: Coroutine[Any, Any, T]) -> T:
        """Cancelling the caller does not stop the change."""
        task = asyncio.get_running_loop().create_task(change)
        self._begun.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._begun.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asked has it, or has gone

    def _wake_machines(self, job_class: str, count: int) -> None:
        _wake_idle(self._idle[job_class], count)

    def _add_waiting(self, job_class: str) -> None:
        self._waiting[job_class] += 1
        _wake_idle(self._idle[job_class], 1)
        self._wake()

    def _note_settled(self, settled: rows.Settled) -> None:
        self._running[settled.job_class] -= 1
        self._unwanted = {run for run in self._unwanted if run.job != settled.job}
        if settled.state is JobState.WAITING:
            self._add_waiting(settled.job_class)
        self._signal_change(settled.job)

    def _note_closed(self, machine: str) -> None:
        known = self._workers.get(machine, Worker(self._clock.now()))
        self._workers[machine] = structs.replace(known, closed=True)
        terms = self._terms.get(pool_of(machine))
        if terms is not None:
            # Whoever waits asks again; the closed one is told to end.
            line = self._idle[terms.job_class]
            _wake_idle(line, len(line))
        self._wake()

    def _event(self, number: int) -> asyncio.Event:
        event = asyncio.Event()
        return self._changed.setdefault(number, event)

    def _signal_change(self, number: int) -> None:
        event = self._changed.pop(number, None)
        if event is not None:
            event.set()


def _wake_idle(line: deque[asyncio.Future[None]], count: int) -> None:
    while line and count:
        place = line.popleft()
        if not place.done():
            place.set_result(None)
            count -= 1
