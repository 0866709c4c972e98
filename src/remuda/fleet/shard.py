"""
The controller of a fleet: it reads lists and reports, decides, and calls providers.

It believes its own calls at once, and of a list what was read after the last it did to a machine. When its process ends,
that is gone, and the next begins anew with what providers list and clusters report: a batch that another process began
is not carried on, because what became of it is in the lists.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from remuda.fleet import states
from remuda.fleet.act import begin_block
from remuda.fleet.columns import Fleet, Rows
from remuda.fleet.decide import decide
from remuda.fleet.demand import Demand
from remuda.fleet.journal import Journal
from remuda.fleet.memory import Memory
from remuda.fleet.names import Names
from remuda.fleet.observe import rollups
from remuda.fleet.observe.listed import Listed
from remuda.fleet.plan import EXPECTS, Block, Op, Plan
from remuda.fleet.policy import Policy
from remuda.fleet.ports import Answer, Call, Changes, Clusters, Provider, Report
from remuda.fleet.snapshot import LOOP, Batch, FleetPlan, Snapshot, plan_of
from remuda.loop.clock import Clock
from remuda.loop.loop import Pace
from remuda.model import plans
from remuda.model.plans import Operation, Outcome
from remuda.model.times import MINUTE, SECOND, Instant

#: the judgement: `remuda.fleet.decide.decide`, or what is to be shown to be wrong
Decide: TypeAlias = Callable[[Fleet, Demand, Memory, Policy, Instant], tuple[Plan, Memory]]

CYCLE = 10 * SECOND
PACE = Pace(interval=CYCLE / SECOND, gap=0.1)
_CALL_TIMEOUT_S = 30.0
_READ_TIMEOUT_S = 10.0
#: how long a cycle waits for lists that are slow; they are taken in a later one
_READ_PATIENCE_S = 0.2
_LONGEST_BACK_OFF = 5 * MINUTE
#: calls under way at the same time
_PARALLEL = 256


class Shard:
    """Satisfies `remuda.loop.controller.Controller`. One process has one; `epoch` must grow from each to the next."""

    name = LOOP

    def __init__(
        self,
        providers: Sequence[Provider],
        clusters: Clusters,
        clock: Clock,
        policy: Callable[[], Policy],
        epoch: int,
        judge: Decide = decide,
    ) -> None:
        """`policy` is asked for the rail on reports that drop, which are judged as they come."""
        self._providers, self._clusters, self._clock, self._policy = providers, clusters, clock, policy
        self._judge = judge
        self.epoch = epoch
        self.fleet = Fleet(Names(), incarnation=epoch)
        self.demand = Demand(self.fleet)
        self.journal = Journal(self.fleet, self.demand)
        self.listed = Listed(self.fleet)
        #: what to ask each provider with, and when its last list was read
        self.cursors: dict[str, str] = {}
        self._read_at: dict[str, Instant] = {}
        #: row → nothing is tried before, because something failed; and how often it did
        self.back_off: dict[int, Instant] = {}
        self._failures: dict[int, int] = {}
        self._believed: dict[str, tuple[object, ...]] = {}
        self._sequence = 0
        #: batches that were noted in the columns, and the calls of those that are still to be made
        self._begun: set[int] = set()
        self._calls: dict[int, list[tuple[int, Call]]] = {}
        #: rows, tokens, answers and when they came
        self._answers: tuple[list[int], list[int], list[Answer], list[Instant]] = ([], [], [], [])
        self._reads: dict[str, asyncio.Task[Changes]] = {}
        self._plan = FleetPlan()
        self._slots = asyncio.Semaphore(_PARALLEL)

    async def observe(self, operations: tuple[Operation[Batch], ...]) -> Snapshot:
        """Note what was begun and answered, then take what providers list and clusters report."""
        self._begun &= {operation.id for operation in operations}
        for operation in operations:
            if operation.outcome is None:
                self._begin(operation)
        self._take_answers()
        for provider, changes in await self._read():
            self._take(provider, changes)
        for report in self._clusters.take():
            self._hear(report)
        return Snapshot(self.fleet, self.demand, len(self.cursors) == len(self._providers))

    def decide(
        self, seen: Snapshot, memory: Memory, policy: Policy, now: Instant
    ) -> tuple[FleetPlan, Memory]:
        """Judge, once every provider was read since the start."""
        if not seen.is_complete:
            return FleetPlan(), memory
        columns, after = self._judge(seen.fleet, seen.demand, memory, policy, now)
        if columns is not self._plan.columns:
            self._plan = plan_of(columns, now)
        return self._plan, after

    async def act(self, operation: Operation[Batch]) -> Outcome:
        """Call providers for every machine of a batch; done means that every call was answered."""
        if operation.action.block is None:
            return Outcome(
                "refused", self._clock.now(), "another process began it; what became of it is in the lists"
            )
        self._begin(operation)
        calls = self._calls.pop(operation.id, [])
        answers: dict[Answer, int] = {}
        left = iter(calls)
        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(calls), _PARALLEL)):
                group.create_task(self._call_all(left, answers))
        failed = {answer.value: number for answer, number in sorted(answers.items())}
        accepted = failed.pop(Answer.ACCEPTED.value, 0)
        detail = ", ".join(f"{number} {answer}" for answer, number in failed.items())
        return Outcome("done", self._clock.now(), f"{accepted} accepted{', ' * bool(detail)}{detail}")

    def report(self, seen: Snapshot, plan: plans.Plan[Batch]) -> dict[str, object]:
        """The numbers a person debugs with."""
        assert isinstance(plan, FleetPlan)
        columns = plan.columns
        return {
            "machines": len(seen.fleet),
            "needs": len(seen.demand),
            "asked": columns.asked,
            "missing": columns.missing,
            "withheld": columns.withheld,
            "starts": sum(batch.machines for batch in plan.actions),
        }

    def stand_by(self) -> None:
        """Nothing is reported that another would contradict."""

    def _begin(self, operation: Operation[Batch]) -> None:
        """Note in the columns what a batch begins, once, and keep its calls until they are made."""
        block = operation.action.block
        if block is None or operation.id in self._begun:
            return
        self._begun.add(operation.id)
        calls = self._calls_of(block)
        begin_block(self.fleet, self.demand, block, self._clock.now())
        if calls:
            rows = np.array([row for row, _ in calls], np.int64)
            self.listed.fly(rows, np.array([call.token for _, call in calls], np.int64))
            self._calls[operation.id] = calls

    def _calls_of(self, block: Block) -> list[tuple[int, Call]]:
        """The calls for the machines of a block that are still as it expects, by row."""
        if block.op is Op.ADOPT:
            return []
        fleet, demand, names = self.fleet, self.demand, self.fleet.names
        fresh = fleet.state[block.rows] == EXPECTS[block.op]
        rows, needs, grace = block.rows[fresh], block.needs[fresh], block.grace[fresh]
        row_of = demand.row_of()
        calls = []
        for row, code, wait in zip(rows.tolist(), needs.tolist(), grace.tolist(), strict=True):
            self._sequence += 1
            token = (self.epoch << 40) + self._sequence
            machine = fleet.ids[row]
            if block.op is Op.ASSIGN:
                cluster = names.clusters[names.need_cluster[code]]
                priority = int(demand.priority[row_of[code]])
                call = Call(block.op, machine, token, cluster, names.needs[code], priority)
            else:
                call = Call(block.op, machine, token, grace=wait)
            calls.append((row, call))
        return calls

    async def _call_all(self, calls: Iterator[tuple[int, Call]], answers: dict[Answer, int]) -> None:
        for row, call in calls:
            async with self._slots:
                answer = await self._call(row, call)
            answers[answer] = answers.get(answer, 0) + 1
            rows, tokens, came, at = self._answers
            rows.append(row)
            tokens.append(call.token)
            came.append(answer)
            at.append(self._clock.now())

    async def _call(self, row: int, call: Call) -> Answer:
        provider = self.fleet.kinds.shapes[int(self.fleet.kind[row])].provider
        for each in self._providers:
            if each.name == provider:
                try:
                    async with asyncio.timeout(_CALL_TIMEOUT_S):
                        return await each.call(call)
                except TimeoutError:
                    return Answer.LOST
        return Answer.UNKNOWN

    def _take_answers(self) -> None:
        """Let lists be believed again of machines whose calls were answered, and hold back what failed."""
        (numbers, tokens, answers, at), self._answers = self._answers, ([], [], [], [])
        if not numbers:
            return
        rows = np.array(numbers, np.int64)
        mine = self.listed.land(rows, np.array(tokens, np.int64), np.array(at, np.int64)).tolist()
        gone = []
        for row, is_mine, answer, when in zip(numbers, mine, answers, at, strict=True):
            if answer is Answer.ACCEPTED:
                if self._failures and is_mine:
                    self._failures.pop(row, None)
            elif is_mine and answer is Answer.UNKNOWN:
                gone.append(row)
            elif is_mine:
                failures = self._failures[row] = self._failures.get(row, 0) + 1
                self.back_off[row] = when + min(CYCLE << min(failures, 6), _LONGEST_BACK_OFF)
        self._forget(np.array(gone, np.int64))

    async def _read(self) -> list[tuple[Provider, Changes]]:
        """The lists that have come; a provider that is slow is asked once at a time, and one that fails again."""
        for provider in self._providers:
            if provider.name not in self._reads:
                self._reads[provider.name] = asyncio.create_task(self._read_one(provider))
        await asyncio.wait(self._reads.values(), timeout=_READ_PATIENCE_S)
        found = []
        for provider in self._providers:
            read = self._reads[provider.name]
            if read.done():
                del self._reads[provider.name]
                if not read.cancelled() and read.exception() is None:
                    found.append((provider, read.result()))
        return found

    async def _read_one(self, provider: Provider) -> Changes:
        async with asyncio.timeout(_READ_TIMEOUT_S):
            return await provider.changes(self.cursors.get(provider.name, ""))

    def close(self) -> None:
        """Ask providers nothing more."""
        for read in self._reads.values():
            read.cancel()

    def _take(self, provider: Provider, changes: Changes) -> None:
        """Believe a list that is newer than the last: of each machine that nothing was done to since it was read."""
        if changes.read_at < self._read_at.get(provider.name, 0):
            return
        gone = self.fleet.rows_of(changes.gone)
        if changes.is_full:
            gone = np.concatenate([gone, self._unlisted(provider, changes)])
        believed = self.listed.take(provider.name, changes, gone[gone >= 0])
        self._forget(believed.gone)
        # What seemed to fail was done after all.
        for row in believed.rows[believed.same].tolist() if self.back_off else ():
            self.back_off.pop(row, None)
        self._hold_back(believed.rows)
        self._read_at[provider.name] = changes.read_at
        self.cursors[provider.name] = changes.cursor

    def _unlisted(self, provider: Provider, changes: Changes) -> Rows:
        """The machines of a provider that a full list does not name."""
        fleet = self.fleet
        fleet.kinds.columns()
        if provider.name not in fleet.kinds.providers or not fleet.rows:
            return np.zeros(0, np.int64)
        mine = fleet.kinds.provider[fleet.kind] == fleet.kinds.providers.index(provider.name)
        mine &= fleet.state != states.ABSENT
        there = fleet.rows_of(changes.ids)
        mine[there[there >= 0]] = False
        return np.flatnonzero(mine)

    def _forget(self, rows: Rows) -> None:
        if not len(rows):
            return
        self.fleet.remove([self.fleet.ids[row] for row in rows.tolist()])
        self.listed.forget(rows)
        for row in rows.tolist() if self._failures else ():
            self.back_off.pop(row, None)
            self._failures.pop(row, None)

    def _hold_back(self, rows: Rows) -> None:
        """Keep what failed from being tried again at once; a list that changes a machine's state ends the wait."""
        if not self.back_off:
            return
        now = self._clock.now()
        for row in rows.tolist():
            until = self.back_off.get(row)
            if until is None:
                continue
            if until <= now:
                del self.back_off[row]
            else:
                self.fleet.delay(np.array([row], np.int64), until)

    def _hear(self, report: Report) -> None:
        """Take a cluster's report, unless it says again what is believed already."""
        is_held = self.fleet.names.known_cluster(report.cluster) in self.demand.held
        if (is_held or self._believed.get(report.cluster) is not report.needs) and self._offer(report):
            self._believed[report.cluster] = report.needs

    def _offer(self, report: Report) -> bool:
        return rollups.offer(self.demand, self.fleet, report.cluster, report.needs, self._policy())
