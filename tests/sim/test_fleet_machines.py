"""The truth of a simulated fleet: providers that take their time, traces that demand follows, and a shard that believes."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from remuda.fleet import states
from remuda.fleet.decide import decide
from remuda.fleet.plan import Op
from remuda.fleet.ports import Report
from remuda.fleet.shard import CYCLE
from remuda.model.times import HOUR, MINUTE, SECOND
from remuda.model.units import FleetNeed
from remuda.sim.fleet_clusters import Cluster
from remuda.sim.fleet_faults import MILLION, Fault, Faults, Rates
from remuda.sim.fleet_history import FleetHistory
from remuda.sim.fleet_machines import Call, SimulatedMachines
from remuda.sim.fleet_queue import START, Queue
from remuda.sim.fleet_scenario import Request, scenario
from remuda.sim.fleet_traces import burst, gangs, steady, storm, wave

pytestmark = pytest.mark.slow

ALWAYS = MILLION


class Recorder:
    """Who is told of changes, and keeps them."""

    def __init__(self) -> None:
        self.nodes: dict[int, int] = {}
        self.notes: list[tuple[object, ...]] = []

    def note(self, *words: object) -> None:
        self.notes.append(words)

    def joined(self, machine: int, cluster: int) -> None:
        self.nodes[machine] = cluster

    def left(self, machine: int) -> None:
        self.nodes.pop(machine, None)

    def drains(self, machine: int, op: Op) -> None:
        self.notes.append(("drains", machine, op))


class Place:
    """A world without a shard."""

    def __init__(self, **chances: int) -> None:
        self.queue = Queue()
        rates = Rates({Fault(name.replace("_", "-")): chance for name, chance in chances.items()})
        self.faults = Faults(1, rates)
        self.recorder = Recorder()
        self.world = SimulatedMachines(
            scenario(Request(1, faults="none")), self.queue, self.faults, self.recorder
        )
        self._token = 0

    def first(self, state: int) -> int:
        return int(np.flatnonzero(self.world.state == state)[0])

    def call(self, op: Op, machine: int, **more: Any) -> str:
        self._token += 1
        token = more.pop("token", self._token)
        return self.world.call(Call(op, machine, token, int(self.world.generation[machine]), **more))

    def state(self, machine: int) -> int:
        return int(self.world.state[machine])

    def wait(self, length: int) -> None:
        self.queue.run(self.queue.now + length)


def test_a_machine_goes_through_its_life_in_its_own_time() -> None:
    place = Place()
    machine = place.first(states.SPECULATIVE)
    for op, through, end in (
        (Op.CREATE, states.CREATING, states.IDLE),
        (Op.ASSIGN, states.CONFIGURING, states.CONFIGURED),
        (Op.RECLAIM, states.DRAINING, states.IDLE),
        (Op.RELEASE, states.DELETING, states.SPECULATIVE),
    ):
        assert place.call(op, machine, cluster=3, need=4, grace=MINUTE) == "accepted"
        assert place.state(machine) == through
        place.wait(20 * MINUTE)
        assert place.state(machine) == end
        assert place.recorder.nodes == ({machine: 3} if end == states.CONFIGURED else {})
    assert place.world.cluster[machine] == place.world.need[machine] == -1


def test_a_call_that_comes_twice_or_late_does_nothing() -> None:
    place = Place()
    machine = place.first(states.IDLE)
    assert place.call(Op.ASSIGN, machine, cluster=1, token=50) == "accepted"
    place.wait(10 * MINUTE)
    assert place.call(Op.RECLAIM, machine, grace=SECOND, token=60) == "accepted"
    place.wait(10 * MINUTE)
    assert place.state(machine) == states.IDLE
    assert place.call(Op.RECLAIM, machine, grace=SECOND, token=60) == "accepted"
    assert place.call(Op.ASSIGN, machine, cluster=1, token=50) == "fenced"
    assert place.state(machine) == states.IDLE


def test_a_call_out_of_place_is_refused() -> None:
    place = Place()
    idle, speculative = place.first(states.IDLE), place.first(states.SPECULATIVE)
    assert place.call(Op.RELEASE, speculative) == "refused"
    assert place.call(Op.CREATE, idle) == "refused"
    assert place.call(Op.PREEMPT, idle, grace=SECOND) == "refused"


@pytest.mark.parametrize(
    ("fault", "op", "begins"),
    [
        ("create_fails", Op.CREATE, states.SPECULATIVE),
        ("configure_fails", Op.ASSIGN, states.IDLE),
        ("never_joins", Op.ASSIGN, states.IDLE),
        ("delete_fails", Op.RELEASE, states.IDLE),
    ],
)
def test_what_fails_waits_for_a_person_and_can_be_made_again(fault: str, op: Op, begins: int) -> None:
    place = Place(**{fault: ALWAYS})
    machine = place.first(begins)
    assert place.call(op, machine, cluster=1) == "accepted"
    seen = []
    for _ in range(60 * 6):
        place.wait(10 * SECOND)
        seen.append(place.state(machine))
    assert states.FAILED in seen
    assert seen[-1] == states.SPECULATIVE
    assert not place.recorder.nodes
    assert place.faults.counts == {fault.replace("_", "-"): 1}


def test_a_node_that_joins_late_joins() -> None:
    place = Place(joins_late=ALWAYS)
    machine = place.first(states.IDLE)
    place.call(Op.ASSIGN, machine, cluster=1)
    place.wait(MINUTE - 1)
    assert place.state(machine) == states.CONFIGURING
    place.wait(30 * MINUTE)
    assert place.state(machine) in {states.CONFIGURED, states.SPECULATIVE}


def test_an_outage_answers_errors_and_a_restart_fails_what_is_under_way() -> None:
    place = Place()
    machine = place.first(states.IDLE)
    place.world.down_until = [place.queue.now + MINUTE] * 3
    assert place.call(Op.ASSIGN, machine, cluster=1) == "error"
    place.world.calm()
    assert place.call(Op.ASSIGN, machine, cluster=1) == "accepted"
    for _ in range(20):
        place.world.restart_provider()
    assert place.state(machine) == states.FAILED


def test_a_forgotten_machine_comes_back_under_another_id() -> None:
    place = Place()
    [machine] = place.world.forget(1)
    assert place.state(machine) == states.ABSENT
    provider = int(place.world.provider[machine])
    assert place.world.id(machine, 0) not in place.world.changes(provider, "").ids
    assert place.world.changes(provider, "0").gone == [place.world.id(machine, 0)]
    assert place.call(Op.CREATE, machine) == "unknown"
    place.wait(11 * MINUTE)
    assert place.state(machine) == states.SPECULATIVE
    assert place.world.id(machine, int(place.world.generation[machine])).endswith("-1")
    stale = Call(Op.CREATE, machine, 1_000, 0)
    assert place.world.call(stale) == "unknown"


def test_spot_machines_are_taken_away_and_come_back_as_speculative() -> None:
    place = Place()
    shapes = place.world.shapes
    spots = [m for m in range(len(place.world.state)) if shapes[place.world.shape[m]].interruption]
    for machine in spots:
        place.call(Op.CREATE, machine)
    place.wait(20 * MINUTE)
    before = np.count_nonzero(place.world.state[spots] == states.IDLE)
    place.world.interrupt_spot(600)
    taken = place.faults.counts[Fault.SPOT_INTERRUPTION]
    assert taken > 0
    place.wait(5 * MINUTE)
    assert np.count_nonzero(place.world.state[spots] == states.IDLE) == before - taken


def test_a_price_change_makes_another_shape_and_a_new_version_of_the_list() -> None:
    place = Place()
    before = [place.world.changes(provider, "") for provider in range(3)]
    place.world.change_price()
    after = [place.world.changes(provider, before[provider].cursor) for provider in range(3)]
    [changed] = [provider for provider in range(3) if len(after[provider])]
    assert before[changed].cursor != after[changed].cursor
    assert len({int(shape) for shape in after[changed].shape}) == 1
    assert all(name in before[changed].ids for name in after[changed].ids)


def test_a_list_that_was_read_stays_as_it_was_read() -> None:
    place = Place()
    machine = place.first(states.IDLE)
    provider = int(place.world.provider[machine])
    listing = place.world.changes(provider, "")
    place.call(Op.ASSIGN, machine, cluster=1)
    spot = listing.ids.index(place.world.id(machine, 0))
    assert listing.state[spot] == states.IDLE
    changed = place.world.changes(provider, listing.cursor)
    assert (list(changed.ids), changed.state.tolist()) == ([listing.ids[spot]], [states.CONFIGURING])


UNIT = FleetNeed("c", "n", {"cpu": 1_000}, 48)


class Clock:
    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> int:
        return self.at

    def follow(self, trace: Any, length: int) -> list[tuple[int, tuple[FleetNeed, ...]]]:
        """What a trace asks for over a time."""
        recorder = []
        while self.at < START + length:
            needs, wait = next(trace)
            recorder.append((self.at - START, needs))
            if not wait:
                break
            self.at += wait
        return recorder


def test_steady_demand_is_steady() -> None:
    clock = Clock()
    assert clock.follow(steady(UNIT, clock), HOUR) == [(0, (replace(UNIT, arrival=START),))]


def test_a_wave_goes_up_and_down_between_its_bounds() -> None:
    clock = Clock()
    counts = [needs[0].count or 0 for _, needs in clock.follow(wave(UNIT, clock, 12, HOUR, 0), 2 * HOUR)]
    assert (min(counts), max(counts)) == (12, 48)
    assert len(set(counts)) > 12


def test_a_burst_is_short_and_a_storm_renames_what_it_asks_for() -> None:
    clock = Clock()
    recorder = clock.follow(burst(UNIT, clock, random.Random(1), 20 * MINUTE), 3 * HOUR)
    assert {needs[0].count for _, needs in recorder} == {6, 48}
    clock = Clock()
    recorder = clock.follow(storm(UNIT, clock, random.Random(1), 20 * MINUTE), 3 * HOUR)
    assert all(sum(need.count or 0 for need in needs) == 48 for _, needs in recorder)
    assert len({need.name for _, needs in recorder for need in needs}) > 5
    assert any(len(needs) == 2 for _, needs in recorder)


def test_gangs_come_and_go_under_names_of_their_own() -> None:
    clock = Clock()
    recorder = clock.follow(gangs(replace(UNIT, count=6), clock, random.Random(1), 3 * MINUTE, 2), 3 * HOUR)
    assert {len(needs) for _, needs in recorder} <= {0, 1, 2}
    names = [need.name for _, needs in recorder for need in needs]
    assert len(set(names)) > 10
    assert all(2 <= (need.count or 0) <= 6 for _, needs in recorder for need in needs)


def test_a_cluster_reports_at_intervals_and_when_its_needs_change_unless_it_is_silent() -> None:
    made = scenario(Request(3, faults="none"))
    queue, faults = Queue(), Faults(3, made.rates)
    heard: list[tuple[int, tuple[FleetNeed, ...]]] = []
    asked: list[int] = []
    cluster = Cluster(
        0, made, queue, faults, lambda _, needs: heard.append((queue.now, needs)), lambda *_: asked.append(queue.now)
    )  # fmt: skip
    queue.run(START + 10 * MINUTE)
    assert len(heard) >= 60
    assert heard[-1][1] == cluster.needs
    assert len(asked) < len(heard)
    cluster.fall_silent(5 * MINUTE)
    before = len(heard)
    queue.run(START + 15 * MINUTE - 1)
    assert len(heard) == before
    queue.run(START + 16 * MINUTE)
    assert len(heard) > before


def test_happenings_come_in_the_order_of_time_and_then_of_asking() -> None:
    queue, seen = Queue(), list[str]()
    queue.after(5, seen.append, "c")
    queue.after(1, seen.append, "a")
    queue.after(1, seen.append, "b")
    queue.at(0, seen.append, "at once")
    queue.run(START + 4)
    assert seen == ["at once", "a", "b"]
    assert (queue.now, queue.step) == (START + 4, 3)


def test_dice_of_one_fault_do_not_move_those_of_another() -> None:
    both = Faults(1, Rates({Fault.CALL_LOST: MILLION // 2, Fault.REPLY_LOST: MILLION // 2}))
    alone = Faults(1, Rates({Fault.CALL_LOST: MILLION // 2}))
    rolled = [(both.strikes(Fault.CALL_LOST), both.strikes(Fault.REPLY_LOST))[0] for _ in range(50)]
    assert rolled == [alone.strikes(Fault.CALL_LOST) for _ in range(50)]
    assert both.counts[Fault.CALL_LOST] == sum(rolled)
    both.stop()
    assert not any(both.strikes(Fault.CALL_LOST) for _ in range(50))


@pytest.fixture
def lived() -> Iterator[FleetHistory]:
    """A quiet world some minutes on."""
    with FleetHistory(Request(2, faults="none"), decide) as history:
        history.queue.run(START + 5 * MINUTE)
        yield history


def test_a_shard_that_dies_begins_anew_with_what_providers_list(lived: FleetHistory) -> None:
    process = lived.process
    before, serving = process.shard, int(np.count_nonzero(lived.world.state == states.CONFIGURED))
    assert serving > 5
    process.die()
    assert not process.is_up
    lived.queue.run(lived.queue.now + MINUTE)
    assert process.is_up
    assert process.shard is not before
    assert process.shard.fleet.incarnation > before.fleet.incarnation
    assert np.count_nonzero(lived.world.state == states.CONFIGURED) >= serving // 2


def test_a_forgotten_machine_is_forgotten_by_the_shard_within_one_cycle(lived: FleetHistory) -> None:
    gone = [lived.world.id(machine, 0) for machine in lived.world.forget(3)]
    assert all(lived.process.shard.fleet.row(name) >= 0 for name in gone)
    lived.queue.run(lived.queue.now + CYCLE)
    assert [lived.process.shard.fleet.row(name) for name in gone] == [-1, -1, -1]


def test_what_is_adopted_stays_adopted_whatever_lists_say(lived: FleetHistory) -> None:
    shard = lived.process.shard
    row = int(np.flatnonzero(shard.fleet.state == states.CONFIGURED)[0])
    cluster = shard.fleet.names.clusters[int(shard.fleet.cluster[row])]
    adopted = replace(UNIT, cluster=cluster, name="adopter", count=1)
    shard._offer(Report(cluster, (*lived.clusters[int(cluster[1:])].needs, adopted)))
    shard.fleet.need[row] = code = shard.fleet.names.need(int(shard.fleet.cluster[row]), "adopter")
    [machine] = shard.machine(np.array([row]))
    lived.world.since[machine] += 1
    lived.world.touch(np.array([machine]))
    provider = lived.process.providers[int(lived.world.provider[machine])]
    shard._take(provider, lived.world.changes(provider.number, shard.cursors[provider.name]))
    assert shard.fleet.since[row] == lived.world.since[machine]
    assert shard.fleet.need[row] == code
