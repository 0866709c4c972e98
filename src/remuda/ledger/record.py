"""
What a loop writes: the cycle it went through, the operations it starts, and how they ended.

A cycle is one transaction: the snapshot, the memory and policy it was judged with, the plan, the memory after it, and
the plan's operations. While nothing changes, the last row is extended instead. A crash after the transaction finds
the operations unfinished and carries them out again; a crash before it finds nothing and decides anew.
"""

import hashlib
import threading
import zlib
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from remuda.ledger.dialects import number_from
from remuda.ledger.sql import Database
from remuda.ledger.store import DamagedRow, Store
from remuda.model.plans import Action, Operation, Outcome, Plan, Reason
from remuda.model.times import Instant

S = TypeVar("S")
M = TypeVar("M")
P = TypeVar("P")
A = TypeVar("A", bound=Action)

_encode = msgspec.msgpack.Encoder().encode
#: by kind: there are a handful of them in a process
_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}
_making = threading.Lock()
#: times by which what is compressed grows again, about
_ROOM = 16


class Kinds(Struct, Generic[S, M, P, A], frozen=True):
    """The types of one job's records, so that the ledger can read back what it wrote."""

    snapshot: type[S]
    memory: type[M]
    policy: type[P]
    plan: type[Plan[A]]
    operation: type[Operation[A]]


def pack(value: object) -> bytes:
    """The stored form: msgpack, compressed."""
    return _compressed(_encode(value))


def _compressed(data: bytes) -> bytes:
    return zlib.compress(data, 1)  # pragma: no mutate - how hard it tries changes only the size


def unpack(data: bytes, kind: Any, what: str) -> Any:
    """
    Read a stored value; unknown fields of a newer writer are skipped, missing ones get their defaults.

    `DamagedRow` says that `what` cannot be read.
    """
    try:
        # Room for most of what comes out: a buffer that grows from small beginnings takes as long as the rest of it.
        plain = zlib.decompress(
            data, bufsize=max(zlib.DEF_BUF_SIZE, len(data) * _ROOM)
        )  # pragma: no mutate - only the time
    except zlib.error as error:
        raise DamagedRow(f"{what} cannot be read: {error}") from error
    return decode(plain, kind, what)


def decode(data: bytes, kind: Any, what: str) -> Any:
    """As `unpack`, for what is stored as it is."""
    try:
        return _decoder(kind).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedRow(f"{what} cannot be read: {error}") from error


def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    """
    What reads a kind, made by one thread at a time.

    While msgspec looks at a type for the first time, another thread that reads the same type finds it half known, and the
    process dies of a segmentation fault: the loop and who answers from the store read the same kinds.
    """
    found = _decoders.get(kind)
    if found is None:
        with _making:
            found = _decoders.setdefault(kind, msgspec.msgpack.Decoder(kind))
    return found


def digest(data: bytes) -> bytes:
    """Short and collision-free in practice; for equality only."""
    return hashlib.blake2b(data, digest_size=16).digest()  # pragma: no mutate - any length will do


class Entry(Struct, frozen=True, kw_only=True):
    """A cycle as it is written, whatever form a controller gives its snapshots and plans."""

    loop: str
    at: Instant
    snapshot: bytes
    memory: bytes
    #: its digest, and the policy itself
    policy: tuple[bytes, bytes]
    plan: bytes
    #: the memory after it
    after: bytes
    #: operations whose outcome this cycle saw
    ended: tuple[int, ...]
    #: reasons that were not so before
    news: tuple[Reason, ...]
    #: what is started: targets, and actions as they are stored
    actions: tuple[tuple[str, bytes], ...]
    #: no operation has a smaller id
    first_operation: int = 0


def write_cycle(db: Database, entry: Entry) -> tuple[int, tuple[int | None, ...]]:
    """Write a cycle and its operations; its id, and the id of each operation, None where the target is busy."""
    db.execute("INSERT INTO policies VALUES (?, ?) ON CONFLICT DO NOTHING", entry.policy)
    cycle: int = db.execute(
        "INSERT INTO cycles (loop, first_at, last_at, count, snapshot, memory, policy, plan)"
        " VALUES (?, ?, ?, 1, ?, ?, ?, ?) RETURNING id",
        (entry.loop, entry.at, entry.at, entry.snapshot, entry.memory, entry.policy[0], entry.plan),
    ).fetchone()[0]
    db.execute(
        "INSERT INTO memories VALUES (?, ?) ON CONFLICT (loop) DO UPDATE SET data = excluded.data",
        (entry.loop, entry.after),
    )
    db.executemany("UPDATE operations SET seen = 1 WHERE id = ?", [(number,) for number in entry.ended])
    db.executemany(
        "INSERT INTO stories (loop, subject, at, cycle, code, reason) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (entry.loop, reason.subject, entry.at, cycle, reason.code, _encode(reason))
            for reason in entry.news
        ],
    )
    if entry.first_operation and entry.actions:
        number_from(db, entry.first_operation)
    numbers: list[int | None] = []
    for target, action in entry.actions:
        number = db.execute(
            "INSERT INTO operations (loop, target, action, cycle, started_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING RETURNING id",
            (entry.loop, target, action, cycle, entry.at),
        ).fetchone()
        numbers.append(None if number is None else number[0])
    return cycle, tuple(numbers)


def extend_cycle(db: Database, row: int, now: Instant) -> bool:
    """Nothing changed since a cycle: it lasts. False when it is not there any more."""
    extended = db.execute(
        "UPDATE cycles SET last_at = CASE WHEN last_at < ? THEN ? ELSE last_at END, count = count + 1 WHERE id = ?",
        (now, now, row),
    )
    return extended.rowcount > 0


class Ledger(Generic[S, M, P, A]):
    """The record of one loop, in the store."""

    def __init__(self, store: Store, loop: str, kinds: Kinds[S, M, P, A]) -> None:
        self._store = store
        self._loop = loop
        self._kinds = kinds
        self._last: tuple[bytes, ...] = ()
        self._row: int | None = None
        #: the policy of the cycle before, and its digest and stored form
        self._policy: Any = None
        self._packed = (b"", b"")
        self._codes: dict[str, str] = store.read(self._load_codes)
        self._first = 0

    def number_from(self, first: int) -> None:
        """Let no operation from now on have a smaller id: another process may have used those, with its own store."""
        self._first = max(self._first, first)

    def memory(self) -> M:
        """What the loop remembered last, or its empty memory; a replica that led meanwhile may have written it."""
        self._last, self._row = (), None
        self._codes = self._store.read(self._load_codes)
        return self._store.read(self._load_memory)

    def _load_memory(self, db: Database) -> M:
        row = db.execute("SELECT data FROM memories WHERE loop = ?", (self._loop,)).fetchone()
        what = f"the memory of loop {self._loop}"
        read: M = unpack(row[0], self._kinds.memory, what) if row else self._kinds.memory()
        return read

    def operations(self) -> tuple[Operation[A], ...]:
        """What is under way, and what ended since the last plan that saw it, in the order it was started."""
        return self._store.read(self._load_operations)

    def _load_operations(self, db: Database) -> tuple[Operation[A], ...]:
        rows = db.execute(
            "SELECT id, action, outcome FROM operations WHERE loop = ? AND seen = 0 ORDER BY id",
            (self._loop,),
        ).fetchall()
        return tuple(self._operation(*row) for row in rows)

    def _operation(self, number: int, action: bytes, outcome: bytes | None) -> Operation[A]:
        body = {
            "id": number,
            "action": msgspec.Raw(action),
            "outcome": msgspec.Raw(outcome) if outcome else None,
        }
        read: Operation[A] = decode(_encode(body), self._kinds.operation, f"operation {number}")
        return read

    async def record(
        self,
        seen: S,
        memory: M,
        policy: P,
        now: Instant,
        plan: Plan[A],
        after: M,
        saw: tuple[Operation[A], ...],
    ) -> tuple[Operation[A], ...]:
        """Write the cycle and return the operations to start. An action whose target is busy is left out."""
        if self._policy is not policy:
            data = _encode(policy)
            self._policy, self._packed = policy, (digest(data), _compressed(data))
        encoded = (_encode(seen), _encode(memory), self._packed[0], _encode(plan))
        prints = tuple(digest(part) for part in encoded)
        ended = [operation.id for operation in saw if operation.outcome is not None]
        if prints == self._last and self._row is not None and not plan.actions and not ended:
            row = self._row
            if await self._store.write(lambda db: extend_cycle(db, row, now), durable=False):
                return ()
        news = [reason for reason in plan.reasons if self._codes.get(reason.subject) != reason.code]
        news += [action.reason for action in plan.actions]
        entry = Entry(
            loop=self._loop,
            at=now,
            snapshot=_compressed(encoded[0]),
            memory=_compressed(encoded[1]),
            policy=self._packed,
            plan=_compressed(encoded[3]),
            after=pack(after),
            ended=tuple(ended),
            news=tuple(news),
            actions=tuple((action.target, _encode(action)) for action in plan.actions),
            first_operation=self._first,
        )
        row, numbers = await self._store.write(
            lambda db: write_cycle(db, entry), durable=self._store.is_apart
        )
        self._row, self._last = row, prints
        self._codes = _codes(plan)
        return tuple(
            Operation(number, action)
            for number, action in zip(numbers, plan.actions, strict=True)
            if number is not None
        )

    async def finish(self, operation: Operation[A], outcome: Outcome) -> None:
        """Keep how an operation ended; the next plan sees it."""
        await self._store.write(
            lambda db: db.execute(
                "UPDATE operations SET outcome = ? WHERE id = ? AND outcome IS NULL",
                (_encode(outcome), operation.id),
            ),
            durable=self._store.is_apart,
        )

    def _load_codes(self, db: Database) -> dict[str, str]:
        row = db.execute(
            "SELECT plan FROM cycles WHERE id = (SELECT max(id) FROM cycles WHERE loop = ?)", (self._loop,)
        ).fetchone()
        try:
            return _codes(unpack(row[0], self._kinds.plan, "the last plan")) if row else {}
        except DamagedRow:
            return {}  # the price is that what holds is reported once more


def _codes(plan: Plan[Any]) -> dict[str, str]:
    return {reason.subject: reason.code for reason in plan.reasons}


class MemoryRecorder(Generic[S, M, P, A]):
    """The record of one loop, in memory alone: for dry runs and simulations. It keeps only what the next cycle needs."""

    def __init__(self, memory: M, *, starts: bool = True) -> None:
        """Without `starts` no operation is ever handed out: a dry run."""
        self._memory = memory
        self._starts = starts
        self._open: dict[int, Operation[A]] = {}
        self._next = 1

    def memory(self) -> M:
        """The memory it was given."""
        return self._memory

    def operations(self) -> tuple[Operation[A], ...]:
        """What is under way or not yet seen."""
        return tuple(self._open.values())

    async def record(
        self,
        seen: S,
        memory: M,
        policy: P,
        now: Instant,
        plan: Plan[A],
        after: M,
        saw: tuple[Operation[A], ...],
    ) -> tuple[Operation[A], ...]:
        """Number the plan's actions and forget what was seen."""
        del seen, memory, policy, now
        self._memory = after
        for operation in saw:
            if operation.outcome is not None:
                self._open.pop(operation.id, None)
        if not self._starts:
            return ()
        busy = {operation.action.target for operation in self._open.values() if operation.outcome is None}
        started = []
        for action in plan.actions:
            if action.target not in busy:
                operation = Operation(self._next, action)
                self._next += 1
                self._open[operation.id] = operation
                started.append(operation)
                busy.add(action.target)
        return tuple(started)

    async def finish(self, operation: Operation[A], outcome: Outcome) -> None:
        """Keep how it ended until a plan saw it."""
        self._open[operation.id] = Operation(operation.id, operation.action, outcome)
