"""The full world: the real queue and ledger, and a process that dies at any step and comes back."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from remuda.errors import BadInput, Unavailable
from remuda.ledger.identity import lineage, new_identity, renew
from remuda.ledger.store import InlineStore
from remuda.model.jobs import Finished, JobSpec, JobState, Run
from remuda.model.machines import State, number_of
from remuda.model.needs import Reading
from remuda.pools.decide.model import Override
from remuda.pools.decide.target import bounds_in_force
from remuda.pools.overrides import set_override
from remuda.pools.policy import Setup
from remuda.sim.history import Summary
from remuda.sim.pool_history import PoolHistory
from remuda.sim.process import OwnedMachines, Process, SimFiles
from remuda.sim.scenario import (
    Arrival,
    Backup,
    Event,
    Hand,
    Jump,
    Pause,
    Recovery,
    Reload,
    Scenario,
    changed,
)
from remuda.sources.queue import rows
from remuda.sources.queue.queue import POLL, Answer, Queue
from remuda.sources.queue.schema import TABLES

T = TypeVar("T")

_GROWING = frozenset({"pool.growing", "pool.backing-off", "pool.failing", "pool.waiting-for-room"})


class FullPoolHistory(PoolHistory):
    """The real queue and ledger, and a process that dies and comes back."""

    def __init__(self, scenario: Scenario, seed: int, queue: type[Queue] = Queue) -> None:
        super().__init__(scenario, seed)
        self._queue = queue
        self.store = InlineStore((TABLES,))
        self.identity = ""
        self._backup = InlineStore((TABLES,))
        self._ids = random.Random(f"identities {seed}")
        #: machine → the identity of the store when it was made
        self._made_by: dict[str, str] = {}
        self.process: Process | None = None
        self.lives = 0
        self.cycles = 0
        self._hands: set[str] = set()
        self._calls = 0
        self.watch.is_known = self._is_known
        self.watch.claimed = self._claimed

    def _is_known(self, run: Run, machine: str) -> bool:
        row = self.store.read(
            lambda db: db.execute(
                "SELECT machine FROM attempts WHERE store = ? AND job = ? AND attempt = ? AND finished_at IS NULL",
                run,
            ).fetchone()
        )
        return bool(row and row[0] == machine)

    def _claimed(self, machine: str) -> int | None:
        held = self.store.read(lambda db: rows.running_on(db, machine))
        return held.job if held and held not in self.watch.results else None

    def is_cancelled(self, run: Run) -> bool:
        """Whether someone asked for it to end."""
        return self.store.read(lambda db: rows.knows(db, run) and rows.is_cancelled(db, run.job))

    def begin(self) -> None:
        """Start the first process."""
        self.start(self._keep_up())

    async def _keep_up(self) -> None:
        while True:
            self.lives += 1
            self.watch.note("process", self.lives)
            self.identity = new_identity(self._ids)
            await self.store.write(lambda db: renew(db, self.identity, self.clock.now()))
            process = Process(
                self.store,
                OwnedMachines(self.provider, self._made_by, self.watch.foreign, self.identity),
                self.setup,
                self.watch,
                self.clock,
                self.faults,
                self.seed * 1_000 + self.lives,
                self.scenario.pace,
                self.identity,
                self._queue,
            )
            process.ledger.number_from(1 + max(map(number_of, self.watch.foreign), default=0))
            process.queue.adopt(
                name
                for name, machine in sorted(self.provider.machines.items())
                if name not in self.watch.foreign and machine.ready_at is not None and machine.ended is None
            )
            self.process = process
            await process.run()
            self.process = None
            self.cycles += process.loop.standing.cycles
            await asyncio.sleep(self.dice.uniform(0.1, 20))

    async def next(
        self, machine: str, finished: Finished | None, *, leaving: bool, ran: int | None = None
    ) -> Answer:
        """A machine's call, which may be lost on its way there or back."""
        await self.faults.fault_point("call.sent")
        if self.process is None:
            raise ConnectionRefusedError("no process answers")
        if machine in self.watch.foreign:
            await asyncio.sleep(POLL)
            raise Unavailable("it belongs to another store")
        process = self.process
        work = process.queue.next(machine, finished, leaving=leaving, ran=ran)
        answer = await process.answer(work, is_noticed=self.dice.random() >= self.scenario.unnoticed)
        await self.faults.fault_point("call.answered")
        return answer

    async def _running(self) -> Process:
        """The process, once it is there."""
        while True:
            if self.process is not None:
                return self.process
            await asyncio.sleep(1)

    async def happen(self, event: Event) -> None:
        """Let one event happen."""
        match event:
            case Arrival():
                self.start(self._submit(event))
            case Reload():
                self._follow(event.setup)
            case Hand():
                override = event.override
                if event.rolls_out:
                    template = self.setup.pools[event.pool].template
                    override = Override(finish_rollout=template, finish_rollout_at=self.clock.now())
                await self._set_override(event.pool, override)
            case Jump():
                self.watch.note("jump", event.ms)
                self.clock.jump(event.ms)
            case Pause():
                self.start(self._pause(event.seconds))
            case Backup():
                self._backup = self._copy(self.store)
            case Recovery():
                self._recover(self._copy(self._backup) if event.from_backup else InlineStore((TABLES,)))

    def _copy(self, store: InlineStore) -> InlineStore:
        copy = InlineStore()
        store.read(lambda db: copy.read(db.backup))
        return copy

    def _recover(self, store: InlineStore) -> None:
        """Kill the process and put another store in the place of its own."""
        if self.process is not None:
            self.process.die()
        self.store = store
        kept, runs = store.read(lineage), store.read(rows.all_runs)
        foreign = [
            machine
            for name, machine in self.provider.machines.items()
            if not kept.made(self._made_by[name], number_of(name))
        ]
        self.watch.restored(runs, foreign)
        numbers = {job.id for job in store.read(lambda db: rows.jobs(db, most=1_000_000))}
        first_runs = self.watch.first_runs
        self.arrivals = {number: at for number, at in self.arrivals.items() if number in numbers}
        self.watch.first_runs = {number: at for number, at in first_runs.items() if number in self.arrivals}

    def _follow(self, setup: Setup) -> None:
        self.watch.note("reload")
        self.setup = setup
        if self.process is not None:
            self.process.follow(setup)

    async def _set_override(self, pool: str, override: Override) -> None:
        self.watch.note("override", pool, override)
        self._hands.add(pool)
        await self.store.write(lambda db: set_override(db, pool, override, self.clock.now()))
        if self.process is not None:
            self.process.loop.wake()

    async def _pause(self, seconds: float) -> None:
        process = await self._running()
        process.loop.pause()
        await asyncio.sleep(seconds)
        process.loop.resume()

    async def _submit(self, arrival: Arrival) -> None:
        """Hand a job in as a careful client does: again with the same key until someone has taken it."""
        key = f"{arrival.at} {self.dice.random()}"
        job = rows.Submission(
            arrival.job_class,
            JobSpec(("run", str(arrival.seconds), str(arrival.exit_code), key)),
            arrival.priority,
            arrival.retries,
            key,
        )
        number, _ = await self._insist(lambda queue: queue.submit(job))
        if not self._has(number, key):
            return  # the store was lost with it, or an older copy restored
        self.arrivals[number] = arrival.at
        self.watch.note("job", number)
        if arrival.cancelled_after is not None:
            await asyncio.sleep(arrival.cancelled_after)
            if not self._has(number, key):
                return
            try:
                state = await self._insist(lambda queue: queue.cancel(number))
            except BadInput:
                if self._has(number, key):
                    raise
                return
            self.watch.note("cancel", number, state)

    def _has(self, number: int, key: str) -> bool:
        job = self.store.read(lambda db: rows.job(db, number))
        return job is not None and job.spec.command[3] == key

    async def _insist(self, work: Callable[[Queue], Coroutine[Any, Any, T]]) -> T:
        self._calls += 1
        try:
            while True:
                process = await self._running()
                try:
                    return await process.answer(work(process.queue))
                except (ConnectionError, Unavailable):
                    await asyncio.sleep(1)
        finally:
            self._calls -= 1

    async def calm(self) -> None:
        """Stop all faults, take all hands off and go back to the first configuration, with the last templates."""
        await super().calm()
        setup = self.scenario.setup
        for name in setup.pools:
            setup = changed(setup, name, template=self.setup.pools[name].template)
        self._follow(setup)
        for pool in sorted(self._hands):
            await self._set_override(pool, Override())

    def unrest(self) -> str:
        """Jobs that have not ended, operations under way, or machines on the move."""
        process = self.process
        if process is None or self._calls:
            return "no process answers"
        states = self.store.read(rows.state_counts)
        if states.get("waiting") or states.get("running"):
            return f"jobs are left: {states}; {self._describe(process)}"
        if process.ledger.operations():
            return f"operations are left: {process.ledger.operations()}"
        unsteady = [reason for reason in self.watch.reasons if reason.code in _GROWING]
        if unsteady:
            return f"pools still grow: {unsteady}"
        moving = [
            machine.name
            for machine in self.provider.machines.values()
            if machine.name not in self.watch.foreign
            and (machine.ended is not None or machine.story[-1] is State.CREATING)
        ]
        return f"machines are on the move: {moving}; {self._describe(process)}" if moving else ""

    def _describe(self, process: Process) -> str:
        return f"{process.loop.standing}, {self.watch.reasons}"

    async def check_end(self) -> None:
        """No job is lost, none reported wrong, no machine leaked, and everyone agrees on who is there."""
        self._check_jobs()
        known = {row.machine for row in self.store.read(rows.workers)}
        there = set(self.provider.machines) - self.watch.foreign
        if known != there:
            raise self.watch.broken(
                "no machine leaks",
                f"only the source knows {known - there}, only the provider {there - known}",
            )
        for name, policy in self.setup.policy.pools.items():
            bounds, _ = bounds_in_force(policy, Override(), self.clock.now())
            if self.watch.existing[name] < bounds.min:
                raise self.watch.broken(
                    "min", f"{name} rests with {self.watch.existing[name]} of at least {bounds.min}"
                )
        assert self.process is not None
        await self._check_mirror(self.process.queue)

    def _check_jobs(self) -> None:
        jobs = self.store.read(lambda db: rows.jobs(db, most=1_000_000))
        if len(jobs) != len(self.arrivals):
            raise self.watch.broken("no job is lost", f"{len(self.arrivals)} came and {len(jobs)} are known")
        for job in jobs:
            if job.state is JobState.SUCCEEDED and 0 not in self.watch.executed[job.spec.command]:
                raise self.watch.broken("no job is green that never ran", str(job))
            results = [self.watch.results.get(job.run(attempt)) for attempt in job.attempts]
            succeeded = any(result is not None and result.exit_code == 0 for result in results)
            if succeeded != (job.state is JobState.SUCCEEDED):
                raise self.watch.broken("a job is reported as it went", f"{job} with {results}")
            if job.state is JobState.FAILED and len(job.attempts) != job.retries + 1:
                raise self.watch.broken("every retry is used", str(job))
            if any(attempt.finished_at is None for attempt in job.attempts):
                raise self.watch.broken("attempts end", str(job))

    async def _check_mirror(self, queue: Queue) -> None:
        """What the queue keeps in memory is what the store holds."""
        fresh = Queue(self.store, SimFiles({}), self.clock, lambda: None)
        mirrored, stored = _plain(await queue.read()), _plain(await fresh.read())
        if mirrored != stored:
            raise self.watch.broken("the mirror is true", f"{mirrored} in memory, {stored} in the store")

    def summary(self) -> Summary:
        """What came of it."""
        states = self.store.read(rows.state_counts)
        process = self.process
        cycles = self.cycles + (process.loop.standing.cycles if process else 0)
        return self._summary(
            states.get("succeeded", 0),
            states.get("failed", 0),
            states.get("cancelled", 0),
            cycles,
            self.lives - 1,
        )

    async def end(self) -> None:
        """The last process dies too."""
        if self.process is not None:
            self.process.die()
        await super().end()


def _plain(reading: Reading) -> tuple[object, ...]:
    needs = {name: need for name, need in reading.needs.items() if need.unclaimed or need.running}
    return needs, {name: (at.job, at.uses, at.closed) for name, at in reading.workers.items()}
