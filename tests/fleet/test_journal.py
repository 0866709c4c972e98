"""What is recorded of a fleet and its demand restores them: equal columns, and the same plan to the byte."""

import zlib
from collections.abc import Callable
from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.fleet.generate import ALL, by_cluster, draw_machines, draw_needs
from tests.fleet.world import STEP, LivingFleet, draw_world

from remuda.fleet import states
from remuda.fleet.columns import COLUMNS
from remuda.fleet.decide import decide
from remuda.fleet.history.packing import CHECKPOINT, pack_record, unpack_counted, unpack_record
from remuda.fleet.history.stored import (
    StoredMemory,
    StoredPlan,
    restore_memory,
    restore_plan,
    store_memory,
    store_plan,
)
from remuda.fleet.journal import Journal, Record, Restored
from remuda.fleet.memory import Memory
from remuda.ledger.store import DamagedRow

DEMAND = (
    "code", "cluster", "profile", "priority", "count", "arrival", "interruption_penalty", "reclamation_penalty",
)  # fmt: skip


def again(record: Record) -> Record:
    """As it is read from a store."""
    read = unpack_record(pack_record(record), "it")
    assert read == msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=Record)
    return read


def disturb(world: LivingFleet, rng: Random) -> None:
    """Whatever can happen to a fleet between two decisions."""
    fleet, demand = world.fleet, world.demand
    needs = list(world.needs.values())
    match rng.randrange(7):
        case 0 if needs:
            fleet.upsert(draw_machines(rng, 4, needs))
        case 1:
            there = [name for name in fleet.ids if name]
            fleet.remove(rng.sample(there, min(2, len(there))))
        case 2:
            for cluster, asked in by_cluster(draw_needs(rng, 3, ALL)).items():
                demand.put(cluster, asked)
        case 3 if len(demand):
            rows = np.array([rng.randrange(len(demand))])
            demand.recount(rows, demand.count[rows] + 1)
        case 4:
            demand.forget(f"c{rng.randrange(3)}")
        case 5 if len(fleet):
            fleet.delay(np.array([rng.randrange(fleet.rows)]), world.now + STEP)
        case _:
            world.complete()


@pytest.mark.slow
@examples(100)
@given(st.integers(0, 2**32 - 1))
def test_a_checkpoint_and_the_changes_after_it_restore_what_was_decided_on(seed: int) -> None:
    rng = Random(seed)
    world = draw_world(seed)
    journal = Journal(world.fleet, world.demand)
    restored = Restored()
    for cycle in range(8):
        take = journal.take if cycle else journal.checkpoint
        restored.apply(again(take(is_complete=True)))
        for name in COLUMNS:
            assert getattr(restored.fleet, name).tolist() == getattr(world.fleet, name).tolist(), name
        for name in DEMAND:
            assert getattr(restored.demand, name).tolist() == getattr(world.demand, name).tolist(), name
        assert restored.fleet.ids == world.fleet.ids
        assert restored.demand.heard == world.demand.heard
        before = restore_memory(store_memory(world.memory, world.fleet.names), restored.fleet.names)
        now = world.now
        plan = world.decide()
        replayed, _ = decide(restored.fleet, restored.demand, before, world.policy, now)
        assert replayed.digest() == plan.digest()
        world.begin(plan)
        disturb(world, rng)
        world.now += STEP
        if cycle == 4:
            restored = Restored()
            restored.apply(again(journal.checkpoint(is_complete=True)))


def test_nothing_is_recorded_while_nothing_changes() -> None:
    world = draw_world(1)
    journal = Journal(world.fleet, world.demand)
    assert not journal.checkpoint(is_complete=True).is_empty
    assert journal.take(is_complete=True).is_empty
    world.fleet.delay(np.array([0]), 5)
    assert not journal.take(is_complete=True).is_empty


@pytest.mark.slow
@examples(50)
@given(st.integers(0, 2**32 - 1))
def test_plans_and_memories_are_read_as_they_were_written(seed: int) -> None:
    world = draw_world(seed)
    plan = world.decide()
    names = world.fleet.names
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(store_plan(plan)), type=StoredPlan)
    assert restore_plan(stored, names).digest() == plan.digest()
    packed = msgspec.msgpack.encode(store_memory(world.memory, names))
    memory = restore_memory(msgspec.msgpack.decode(packed, type=StoredMemory), names)
    assert memory.unmet.tolist() == world.memory.unmet.tolist()
    assert memory.unmet_since.tolist() == world.memory.unmet_since.tolist()
    assert (memory.preempted, memory.broken, memory.written) == (
        world.memory.preempted,
        world.memory.broken,
        world.memory.written,
    )
    assert memory.settled is None
    assert restore_memory(StoredMemory(), names).unmet.tolist() == Memory().unmet.tolist()


def test_a_checkpoint_that_was_written_as_one_piece_is_read_as_well() -> None:
    world = draw_world(1)
    record = Journal(world.fleet, world.demand).checkpoint(is_complete=True)
    before = CHECKPOINT + zlib.compress(msgspec.msgpack.encode(record), 1)
    assert unpack_record(before, "it") == again(record)
    assert unpack_counted(before, "it") == unpack_counted(pack_record(record), "it")


@pytest.mark.parametrize("read", [unpack_record, unpack_counted])
def test_a_record_that_is_cut_off_or_is_none_is_damaged(read: Callable[[bytes, str], object]) -> None:
    world = draw_world(1)
    whole = pack_record(Journal(world.fleet, world.demand).checkpoint(is_complete=True))
    for data in (whole[:60], b"Cx", b"", CHECKPOINT + zlib.compress(b"\xc1")):
        with pytest.raises(DamagedRow, match="the one cannot be read"):
            read(data, "the one")


def test_what_is_counted_is_in_the_checksum_at_the_end() -> None:
    world = draw_world(1)
    journal = Journal(world.fleet, world.demand)
    ends = set()
    for state in (states.IDLE, states.FAILED, states.CREATING):
        world.fleet.state[0] = state
        ends.add(pack_record(journal.checkpoint(is_complete=True))[-4:])
    assert len(ends) == 3
