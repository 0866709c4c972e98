"""The stored forms of a fleet's plan and memory: columns as bytes, and names instead of numbers where they outlive a process."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from remuda.fleet.memory import Memory, Window
from remuda.fleet.names import Names
from remuda.fleet.plan import Block, Op, Plan, Shortfall
from remuda.model.plans import Reason, Term
from remuda.model.times import Instant


class StoredBlock(Struct, frozen=True):
    """Columns of actions; rows and needs are numbers of the snapshot they were decided on."""

    op: int
    code: str
    rows: bytes
    needs: bytes
    group: bytes
    terms: dict[str, bytes]
    grace: bytes


class StoredShortfalls(Struct, frozen=True):
    """What is missing: a column each, and one reason for all that have it in common."""

    needs: bytes = b""
    units: bytes = b""
    since: bytes = b""
    group: bytes = b""
    #: code and terms; the subject is the need
    reasons: list[tuple[str, dict[str, Term]]] = []


class StoredPlan(Struct, frozen=True):
    """A whole plan."""

    blocks: list[StoredBlock] = []
    shortfalls: StoredShortfalls = StoredShortfalls()
    rails: tuple[Reason, ...] = ()
    notes: tuple[Reason, ...] = ()
    withheld: int = 0
    asked: int = 0
    missing: int = 0


class StoredMemory(Struct, frozen=True):
    """A memory by names, for a process that numbers them anew."""

    #: (cluster, need)
    unmet: list[tuple[str, str]] = []
    unmet_since: bytes = b""
    reclaimed: dict[str, Window] = {}
    preempted: Window = ()
    broken: list[tuple[str, str, Instant]] = []
    written: bool = False


def store_plan(plan: Plan) -> StoredPlan:
    """The stored form of a plan."""
    blocks = [
        StoredBlock(
            int(block.op),
            block.code,
            _bytes(block.rows, np.int32),
            _bytes(block.needs, np.int32),
            _bytes(block.group, np.int32),
            {name: _bytes(column, np.int64) for name, column in block.terms.items()},
            _bytes(block.grace, np.int64),
        )
        for block in plan.blocks
    ]
    return StoredPlan(
        blocks,
        _store_shortfalls(plan.shortfalls),
        plan.rails,
        plan.notes,
        plan.withheld,
        plan.asked,
        plan.missing,
    )


def restore_plan(stored: StoredPlan, names: Names) -> Plan:
    """The plan again, with the names of its snapshot."""
    blocks = tuple(
        Block(
            Op(block.op),
            block.code,
            _array(block.rows, np.int32, np.int64),
            _array(block.needs, np.int32),
            _array(block.group, np.int32),
            {name: _array(column, np.int64) for name, column in block.terms.items()},
            _array(block.grace, np.int64),
        )
        for block in stored.blocks
    )
    short = stored.shortfalls
    columns = (
        _array(short.needs, np.int32).tolist(),
        _array(short.units, np.int64).tolist(),
        _array(short.since, np.int64).tolist(),
        _array(short.group, np.int32).tolist(),
    )
    shortfalls = []
    for need, units, since, group in zip(*columns, strict=True):
        code, terms = short.reasons[group]
        shortfalls.append(Shortfall(need, units, since, Reason(code, names.subject(need), terms)))
    return Plan(
        blocks, tuple(shortfalls), stored.rails, stored.notes, stored.withheld, stored.asked, stored.missing
    )


def store_memory(memory: Memory, names: Names) -> StoredMemory:
    """The memory by names. That nothing need be decided again is not kept: finding out costs one decision."""
    return StoredMemory(
        [_need(names, number) for number in memory.unmet.tolist()],
        _bytes(memory.unmet_since, np.int64),
        {names.clusters[number]: window for number, window in memory.reclaimed.items() if window},
        memory.preempted,
        [(*_need(names, number), at) for number, at in memory.broken.items()],
        memory.written,
    )


def restore_memory(stored: StoredMemory, names: Names) -> Memory:
    """The memory with the numbers of `names`, which gives new ones to what it never heard of."""
    codes = np.array([names.need(names.cluster(cluster), name) for cluster, name in stored.unmet], np.int32)
    since = _array(stored.unmet_since, np.int64)
    order = np.argsort(codes, kind="stable")
    return Memory(
        None,
        codes[order],
        since[order],
        {names.cluster(name): window for name, window in stored.reclaimed.items()},
        stored.preempted,
        {names.need(names.cluster(cluster), name): at for cluster, name, at in stored.broken},
        stored.written,
    )


def _need(names: Names, number: int) -> tuple[str, str]:
    return names.clusters[names.need_cluster[number]], names.needs[number]


def _store_shortfalls(shortfalls: Sequence[Shortfall]) -> StoredShortfalls:
    if not shortfalls:
        return StoredShortfalls()
    places: dict[int, int] = {}
    reasons: list[tuple[str, dict[str, Term]]] = []
    group = []
    for each in shortfalls:
        # Needs that are alike share their terms, so that the identity of these distinguishes the groups.
        place = places.setdefault(id(each.reason.terms), len(reasons))
        if place == len(reasons):
            reasons.append((each.reason.code, each.reason.terms))
        group.append(place)
    return StoredShortfalls(
        np.array([each.need for each in shortfalls], np.int32).tobytes(),
        np.array([each.units for each in shortfalls], np.int64).tobytes(),
        np.array([each.since for each in shortfalls], np.int64).tobytes(),
        np.array(group, np.int32).tobytes(),
        reasons,
    )


def _bytes(column: Any, kind: Any) -> bytes:
    return np.ascontiguousarray(column, kind).tobytes()


def _array(data: bytes, kind: Any, as_type: Any = None) -> Any:
    return np.frombuffer(data, kind).astype(as_type or kind)
