"""
The record of the shard's loop, in the store that every loop shares.

A snapshot is a checkpoint or what changed since the cycle before; a plan is columns. Everything that is written is
taken before the first await, because the columns go on changing; packing it is the writer's work, not the loop's.
"""

import zlib

import msgspec
from msgspec.structs import replace

from remuda.fleet.history.packing import pack_record
from remuda.fleet.history.stored import StoredMemory, restore_memory, store_memory, store_plan
from remuda.fleet.journal import Journal
from remuda.fleet.memory import Memory
from remuda.fleet.names import Names
from remuda.fleet.plan import Plan
from remuda.fleet.policy import Policy
from remuda.fleet.snapshot import LOOP, Batch, FleetPlan, Snapshot, StoredBatch
from remuda.ledger.record import Entry, decode, digest, extend_cycle, unpack, write_cycle
from remuda.ledger.sql import Database
from remuda.ledger.store import DamagedRow, Store
from remuda.model import plans
from remuda.model.plans import Operation, Outcome
from remuda.model.times import Instant

_encode = msgspec.msgpack.Encoder().encode

#: A checkpoint is written again once what changed since is larger than it, and than this.
_LEAST_CHECKPOINT = 1 << 20


class FleetLedger:
    """Satisfies `remuda.loop.controller.Recorder` for a shard."""

    def __init__(self, store: Store, journal: Journal, names: Names) -> None:
        self._store, self._journal, self._names = store, journal, names
        self._open: dict[int, Operation[Batch]] = {}
        self._row: int | None = None
        #: bytes of the last checkpoint, and of what changed since; none while a checkpoint is due
        self._checkpoint: int | None = None
        self._since = 0
        self._policy: tuple[Policy, bytes, bytes] | None = None
        self._plan: tuple[Plan, bytes] | None = None
        self._memory: tuple[Memory, bytes] | None = None
        self._codes: dict[str, str] = {}
        #: memory, policy and plan of the last row
        self._last: tuple[bytes, bytes, bytes] | None = None
        store.read(self._load_operations)

    def memory(self) -> Memory:
        """What was remembered last, with the numbers of this process; an empty one when it cannot be read."""
        return self._store.read(self._load_memory)

    def _load_memory(self, db: Database) -> Memory:
        row = db.execute("SELECT data FROM memories WHERE loop = ?", (LOOP,)).fetchone()
        try:
            stored: StoredMemory = (
                unpack(row[0], StoredMemory, "the memory of the fleet") if row else StoredMemory()
            )
        except DamagedRow:
            return Memory()  # losing it only delays what destroys
        return restore_memory(stored, self._names)

    def _load_operations(self, db: Database) -> None:
        rows = db.execute(
            "SELECT id, action, outcome FROM operations WHERE loop = ? AND seen = 0 ORDER BY id", (LOOP,)
        )
        for number, action, outcome in rows.fetchall():
            what = f"operation {number}"
            stored: StoredBatch = decode(action, StoredBatch, what)
            batch = Batch(**msgspec.structs.asdict(stored))
            ended: Outcome | None = decode(outcome, Outcome, what) if outcome else None
            self._open[number] = Operation(number, batch, ended)

    def operations(self) -> tuple[Operation[Batch], ...]:
        """What is under way, and what ended since the last plan that saw it."""
        return tuple(self._open.values())

    async def record(
        self,
        seen: Snapshot,
        memory: Memory,
        policy: Policy,
        now: Instant,
        plan: plans.Plan[Batch],
        after: Memory,
        saw: tuple[Operation[Batch], ...],
    ) -> tuple[Operation[Batch], ...]:
        """Write the cycle and return the batches to start; while nothing changes, the last row is extended."""
        assert isinstance(plan, FleetPlan)
        is_due = self._checkpoint is None or self._since > max(self._checkpoint, _LEAST_CHECKPOINT)
        take = self._journal.checkpoint if is_due else self._journal.take
        record = take(is_complete=seen.is_complete)
        before, packed_policy = self._remembered(memory), self._decided_by(policy)
        planned = self._planned(plan.columns)
        judged = (before, packed_policy[0], planned)
        ended = [operation.id for operation in saw if operation.outcome is not None]
        row = self._row
        is_quiet = record.is_empty and judged == self._last and not plan.actions and not ended
        if (
            row is not None
            and is_quiet
            and await self._store.write(lambda db: extend_cycle(db, row, now), durable=False)
        ):
            return ()
        # Until it is written, what was taken from the journal is nowhere else: a failure asks for all of it.
        self._checkpoint, size = None, self._checkpoint
        codes = {reason.subject: reason.code for reason in plan.reasons}
        news = [reason for reason in plan.reasons if self._codes.get(reason.subject) != reason.code]
        news += [batch.reason for batch in plan.actions]
        remembered = self._remembered(after)
        entry = Entry(
            loop=LOOP,
            at=now,
            snapshot=b"",
            memory=before,
            policy=packed_policy,
            plan=planned,
            after=remembered,
            ended=tuple(ended),
            news=tuple(news),
            actions=tuple((batch.target, _encode(_stored(batch))) for batch in plan.actions),
        )

        def change(db: Database) -> tuple[int, tuple[int | None, ...], int]:
            snapshot = pack_record(record)
            packed = replace(
                entry, snapshot=snapshot, plan=zlib.compress(planned, 1), memory=zlib.compress(before, 1),
                after=zlib.compress(remembered, 1),
            )  # fmt: skip
            return *write_cycle(db, packed), len(snapshot)

        self._row, numbers, written = await self._store.write(change, durable=self._store.is_apart)
        self._checkpoint, self._since = (written, 0) if is_due else (size, self._since + written)
        self._codes, self._last = codes, judged
        for number in ended:
            self._open.pop(number, None)
        started = tuple(
            Operation(number, batch)
            for number, batch in zip(numbers, plan.actions, strict=True)
            if number is not None
        )
        self._open.update((operation.id, operation) for operation in started)
        return started

    async def finish(self, operation: Operation[Batch], outcome: Outcome) -> None:
        """Keep how a batch ended; the next plan sees it."""
        await self._store.write(
            lambda db: db.execute(
                "UPDATE operations SET outcome = ? WHERE id = ? AND outcome IS NULL",
                (_encode(outcome), operation.id),
            ),
            durable=self._store.is_apart,
        )
        # What it did to which machines is in the plan it was recorded with.
        self._open[operation.id] = Operation(operation.id, replace(operation.action, block=None), outcome)

    def _decided_by(self, policy: Policy) -> tuple[bytes, bytes]:
        if self._policy is None or self._policy[0] is not policy:
            data = _encode(policy)
            self._policy = (policy, digest(data), zlib.compress(data, 1))
        return self._policy[1:]

    def _remembered(self, memory: Memory) -> bytes:
        if self._memory is None or self._memory[0] is not memory:
            self._memory = (memory, _encode(store_memory(memory, self._names)))
        return self._memory[1]

    def _planned(self, plan: Plan) -> bytes:
        if self._plan is None or self._plan[0] is not plan:
            self._plan = (plan, _encode(store_plan(plan)))
        return self._plan[1]


def _stored(batch: Batch) -> StoredBatch:
    return StoredBatch(
        target=batch.target, expects=batch.expects, reason=batch.reason, op=batch.op, machines=batch.machines
    )
