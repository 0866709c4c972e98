"""The watch over a simulated fleet: each rule it keeps can be broken, and it says so."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.errors import InvariantError
from remuda.fleet.columns import Fleet
from remuda.fleet.kinds import Kinds
from remuda.fleet.names import Names
from remuda.fleet.plan import Block, Op, Plan
from remuda.fleet.policy import Policy, Quota, Rails
from remuda.fleet.profiles import Profiles
from remuda.model.labels import Operator, Requirement
from remuda.model.machines import State
from remuda.model.shapes import ZONE, CapacityType, FleetMachine, Shape
from remuda.model.times import MINUTE, SECOND
from remuda.model.units import FleetNeed, Separation, Spread
from remuda.sim.fleet_fits import is_met, units_on, usable
from remuda.sim.fleet_process import WatchedShard
from remuda.sim.fleet_queue import Queue
from remuda.sim.fleet_rules import RULES, Seen
from remuda.sim.fleet_watch import FleetWatch

RACK = "rack"
NOW = 10_000 * MINUTE


def shape(zone: str = "a", **more: Any) -> Shape:
    """Room for four units."""
    offered: dict[str, Any] = {"zone": zone, "provider": "p", "allocatable": {"cpu": 4_000}, "price": 5}
    return Shape("t4", **{**offered, **more})


def need(name: str = "n", count: int = 4, priority: int = 1_000, **more: Any) -> FleetNeed:
    return FleetNeed("c", name, {"cpu": 1_000}, count, priority=priority, **more)


class Scene:
    """A fleet and what it was told, and then a plan that is not the engine's."""

    def __init__(self, *needs: FleetNeed, policy: Policy | None = None) -> None:
        self.fleet = Fleet(Names(), 1)
        self.policy = policy or Policy()
        self.reported: dict[str, dict[str, FleetNeed]] = {"c": {}, "d": {}}
        for each in needs:
            self.reported[each.cluster][each.name] = each
            self.fleet.names.need(self.fleet.names.cluster(each.cluster), each.name)

    def machine(
        self, name: str, state: State = State.IDLE, serves: str = "", claim: str = "", **more: Any
    ) -> str:
        cluster, _, own = serves.partition("/")
        noted = self.reported.get(cluster, {}).get(own)
        machine = FleetMachine(
            name,
            state,
            more.pop("shape", shape()),
            cluster,
            own,
            noted.priority if noted else 0,
            NOW - 30 * MINUTE,
        )
        row = self.fleet.upsert([machine])
        if claim:
            self.fleet.claim[row] = self.code(claim)
        return name

    def since(self, name: str, ago: int) -> str:
        self.fleet.since[self.fleet.row(name)] = NOW - ago
        return name

    def code(self, whose: str) -> int:
        cluster, _, name = whose.partition("/")
        return self.fleet.names.need(self.fleet.names.cluster(cluster), name) if whose else -1

    def plan(self, *acts: tuple[Op, str, str], grace: int | None = None) -> Plan:
        blocks = []
        for op, name, whose in acts:
            drained = 600_000 if op in {Op.PREEMPT, Op.RECLAIM} else 0
            blocks.append(
                Block(
                    op, "fleet.told", np.array([self.fleet.row(name)], np.int64), np.array([self.code(whose)], np.int32),
                    np.zeros(1, np.int32), {}, np.array([drained if grace is None else grace], np.int64),
                )
            )  # fmt: skip
        return Plan(tuple(blocks))

    def flaws(self, *acts: tuple[Op, str, str], grace: int | None = None) -> list[str]:
        seen = Seen(self.fleet, self.plan(*acts, grace=grace), self.policy, NOW, self.reported)
        return [rule for rule, check in RULES.items() if list(check(seen))]


def twice(scene: Scene) -> Sequence[Any]:
    name = scene.machine("m")
    return (Op.ASSIGN, name, "c/n"), (Op.RELEASE, name, "")


def in_the_wrong_state(scene: Scene) -> Sequence[Any]:
    return [(Op.ASSIGN, scene.machine("m", State.CONFIGURED, "c/n"), "c/n")]


def too_soon_after_a_failure(scene: Scene) -> Sequence[Any]:
    name = scene.machine("m")
    scene.fleet.delay(np.array([scene.fleet.row(name)]), NOW + 1)
    return [(Op.ASSIGN, name, "c/n")]


def for_nobody(scene: Scene) -> Sequence[Any]:
    return [(Op.ASSIGN, scene.machine("m"), "c/gone")]


def where_it_does_not_fit(scene: Scene) -> Sequence[Any]:
    return [(Op.ASSIGN, scene.machine("m", shape=shape(allocatable={"cpu": 500})), "c/n")]


def adopted_by_another_cluster(scene: Scene) -> Sequence[Any]:
    scene.reported["d"]["o"] = FleetNeed("d", "o", {"cpu": 1_000})
    return [(Op.ADOPT, scene.machine("m", State.CONFIGURED, "c/n"), "d/o")]


def drained_for_an_equal(scene: Scene) -> Sequence[Any]:
    scene.reported["c"]["same"] = need("same")
    return [(Op.PREEMPT, scene.machine("m", State.CONFIGURED, "c/n"), "c/same")]


def drained_for_a_lower(scene: Scene) -> Sequence[Any]:
    scene.reported["c"]["low"] = need("low", priority=5)
    return [(Op.PREEMPT, scene.machine("m", State.CONFIGURED, "c/n"), "c/low")]


def drained_in_part(scene: Scene) -> Sequence[Any]:
    scene.reported["c"]["gang"] = need("gang", 8, same=ZONE)
    scene.reported["c"]["high"] = need("high", priority=50_000)
    scene.machine("other", State.CONFIGURED, "c/gang")
    return [(Op.PREEMPT, scene.machine("m", State.CONFIGURED, "c/gang"), "c/high")]


def beyond_a_quota(scene: Scene) -> Sequence[Any]:
    scene.policy = Policy(rails=Rails(quotas=(Quota("p", 1),)))
    scene.machine("there", State.FAILED)
    return [(Op.CREATE, scene.machine("m", State.SPECULATIVE), "c/n")]


def beyond_a_cap(scene: Scene) -> Sequence[Any]:
    scene.policy = Policy(rails=Rails(spending={"p": 9}))
    scene.machine("there", State.CONFIGURED, "c/n")
    scene.reported["c"]["n"] = need(count=8)
    return [(Op.CREATE, scene.machine("m", State.SPECULATIVE), "c/n")]


def a_gang_without_an_end(scene: Scene) -> Sequence[Any]:
    scene.reported["c"]["gang"] = need("gang", 8, same=ZONE)
    scene.machine("elsewhere", shape=shape("b"))
    return [(Op.ASSIGN, scene.machine("m"), "c/gang")]


def taken_back_from_who_lacks_it(scene: Scene) -> Sequence[Any]:
    return [(Op.RECLAIM, scene.machine("m", State.CONFIGURED, "c/n"), "")]


def given_back_although_claimed(scene: Scene) -> Sequence[Any]:
    name = scene.machine("m", claim="c/n", shape=shape(capacity_type=CapacityType.SPOT))
    return [(Op.RELEASE, scene.since(name, 5 * MINUTE), "")]


def given_back_although_owned(scene: Scene) -> Sequence[Any]:
    return [(Op.RELEASE, scene.machine("m"), "")]


def bought_twice(scene: Scene) -> Sequence[Any]:
    scene.machine("coming", State.CREATING, claim="c/n")
    return [(Op.CREATE, scene.machine("m", State.SPECULATIVE), "c/n")]


@pytest.mark.parametrize(
    ("breaks", "rule"),
    [
        (twice, "an action finds what it expects"),
        (in_the_wrong_state, "an action finds what it expects"),
        (too_soon_after_a_failure, "an action finds what it expects"),
        (for_nobody, "what is given is asked for and fits"),
        (where_it_does_not_fit, "what is given is asked for and fits"),
        (adopted_by_another_cluster, "what is given is asked for and fits"),
        (drained_for_an_equal, "no machine is drained for an equal or lower priority"),
        (drained_for_a_lower, "no machine is drained for an equal or lower priority"),
        (drained_in_part, "gangs are preempted whole"),
        (beyond_a_quota, "no quota and no cap is exceeded"),
        (beyond_a_cap, "no quota and no cap is exceeded"),
        (a_gang_without_an_end, "no gang is started that cannot be completed"),
        (taken_back_from_who_lacks_it, "nothing is deleted that some need claims"),
        (given_back_although_claimed, "nothing is deleted that some need claims"),
        (given_back_although_owned, "nothing is deleted that some need claims"),
        (bought_twice, "nothing is bought twice"),
    ],
)
def test_a_plan_that_breaks_a_rule_is_found_out(breaks: Callable[[Scene], Any], rule: str) -> None:
    scene = Scene(need())
    assert rule in scene.flaws(*breaks(scene))


def test_a_plan_that_keeps_every_rule_is_passed() -> None:
    high = need("high", 2, priority=2_000_000)
    scene = Scene(need(), need("new", 8), high, need("gang", 8, same=ZONE))
    scene.machine("keeps", State.CONFIGURED, "c/n")
    acts = [
        (Op.ADOPT, scene.machine("m1", State.CONFIGURED, "c/old"), "c/new"),
        (Op.ASSIGN, scene.machine("m2"), "c/new"),
        (Op.CREATE, scene.machine("m4", State.SPECULATIVE, shape=shape("b")), "c/gang"),
        (Op.ASSIGN, scene.machine("m5", claim="c/gang", shape=shape("b")), "c/gang"),
        (Op.RECLAIM, scene.machine("m6", State.CONFIGURED, "c/n"), ""),
        (Op.RELEASE, scene.machine("m7", shape=shape(capacity_type=CapacityType.ON_DEMAND)), ""),
    ]
    assert scene.flaws(*acts) == []
    scene.reported["d"]["low"] = FleetNeed("d", "low", {"cpu": 1_000}, 4, priority=1)
    assert (
        scene.flaws((Op.PREEMPT, scene.machine("m8", State.CONFIGURED, "d/low"), "c/high"), grace=10_000)
        == []
    )
    assert scene.flaws((Op.PREEMPT, "m8", "c/high"), grace=9_000) != []


class Hall:
    """A watch with a clock a test can move, and a shard that is only what the watch looks at."""

    def __init__(self, count: int = 40, **rails: Any) -> None:
        self.queue = Queue()
        self.queue.now = NOW
        self.watch = FleetWatch(self.queue, 7)
        self.scene = Scene(need(count=1))
        policy = Policy(rails=Rails(**rails))
        for number in range(count):
            self.scene.machine(f"m{number}", State.CONFIGURED, "c/gone")
        self.shard = cast(
            WatchedShard,
            SimpleNamespace(
                fleet=self.scene.fleet,
                policy=policy,
                epoch=1,
                remembers=False,
                machine=lambda rows: rows.tolist(),
            ),
        )
        self.watch.started(self.shard)
        self.watch.heard("c", (need(count=1),), believed=True)

    def asks_for_more(self) -> None:
        """Two needs of different priorities that nobody could ever serve."""
        self.watch.reported["c"]["high"] = need("high", 400, priority=2_000)
        self.watch.reported["c"]["gone"] = need("gone", 400, priority=5)

    def restarts(self, *drains: int, remembers: bool) -> None:
        """Another process begins, while some machines drain."""
        self.queue.now += 10 * SECOND
        self.scene.fleet.change(np.array(drains), 6, NOW + SECOND)
        self.shard.remembers = remembers
        self.watch.started(self.shard)
        self.watch.heard("c", (need(count=1),), believed=True)

    def decided(self, *acts: tuple[Op, str, str]) -> None:
        self.watch.decided(self.shard, self.scene.plan(*acts))

    def reclaims(self, *numbers: int) -> None:
        self.decided(*((Op.RECLAIM, f"m{number}", "") for number in numbers))


def test_reclaims_are_counted_by_the_minute_and_the_cluster() -> None:
    hall = Hall()
    hall.reclaims(1, 2)
    hall.queue.now += 59 * SECOND
    with pytest.raises(
        InvariantError, match=r"^seed 7, step 0 at .*: reclaims a minute: 3 of at most 2 from c"
    ):
        hall.reclaims(3)
    Hall(reclaim_percent=None).reclaims(*range(40))
    later = Hall()
    later.reclaims(1, 2)
    later.queue.now += MINUTE
    later.reclaims(3, 4)


def test_what_drained_before_a_shard_started_counts_for_its_rails() -> None:
    for remembers in (True, False):
        hall = Hall()
        hall.reclaims(5, 6)
        hall.restarts(5, 6, remembers=remembers)
        with pytest.raises(InvariantError, match="reclaims a minute"):
            hall.reclaims(3)


def test_what_drains_by_itself_counts_for_the_rails_of_a_shard_that_lost_its_memory_and_of_no_other() -> None:
    """A provider that takes spot machines back drains them too, and who does not remember cannot tell."""
    hall = Hall()
    hall.restarts(5, 6, remembers=True)
    hall.reclaims(3)
    hall = Hall()
    hall.restarts(5, 6, remembers=False)
    with pytest.raises(InvariantError, match="reclaims a minute"):
        hall.reclaims(3)


def test_what_a_plan_preempted_before_a_shard_started_is_no_reclaim() -> None:
    hall = Hall(count=100)
    hall.asks_for_more()
    hall.decided(*((Op.PREEMPT, f"m{number}", "c/high") for number in (5, 6)))
    hall.restarts(5, 6, remembers=True)
    hall.reclaims(3)
    hall.asks_for_more()
    with pytest.raises(InvariantError, match="preemptions a minute: 3 of at most 2"):
        hall.decided((Op.PREEMPT, "m7", "c/high"))


def test_a_machine_that_is_drained_without_an_order_is_found_out() -> None:
    hall = Hall()
    hall.reclaims(1)
    hall.watch.drains(1, Op.RECLAIM)
    for machine, op in ((2, Op.RECLAIM), (1, Op.PREEMPT)):
        with pytest.raises(InvariantError, match=f"nothing drains without an order: machine {machine}"):
            hall.watch.drains(machine, op)
    hall.queue.now += 5 * MINUTE
    with pytest.raises(InvariantError, match="nothing drains without an order: machine 1"):
        hall.watch.drains(1, Op.RECLAIM)


def test_the_order_of_a_plan_that_was_lost_with_its_process_is_none() -> None:
    hall = Hall()
    hall.reclaims(1)
    hall.watch.unrecorded()
    with pytest.raises(InvariantError, match="nothing drains without an order: machine 1"):
        hall.watch.drains(1, Op.RECLAIM)


def test_an_order_holds_when_the_plan_that_repeats_it_is_lost_with_its_process() -> None:
    """Its call may be late, as in the history of seed 29."""
    hall = Hall()
    hall.reclaims(1)
    hall.queue.now += 50 * SECOND
    hall.reclaims(1)
    hall.watch.unrecorded()
    hall.watch.drains(1, Op.RECLAIM)
    hall.queue.now += 4 * MINUTE
    with pytest.raises(InvariantError, match="nothing drains without an order: machine 1"):
        hall.watch.drains(1, Op.RECLAIM)


def test_nothing_is_reclaimed_from_a_cluster_that_was_not_heard_since_the_start() -> None:
    hall = Hall()
    hall.watch.started(hall.shard)
    with pytest.raises(InvariantError, match="nothing is reclaimed from a cluster not heard: c"):
        hall.reclaims(1)


def test_preemptions_are_counted_by_the_minute() -> None:
    hall = Hall(count=100)
    hall.asks_for_more()
    acts = [(Op.PREEMPT, f"m{number}", "c/high") for number in range(3)]
    hall.decided(*acts[:2])
    with pytest.raises(InvariantError, match="preemptions a minute: 3 of at most 2"):
        hall.decided(acts[2])


def test_nothing_is_done_while_paused() -> None:
    with pytest.raises(InvariantError, match="nothing is done while paused"):
        Hall(paused=True).reclaims(1)


def test_a_machine_that_joins_a_second_cluster_is_found_out() -> None:
    watch = Hall().watch
    watch.joined(3, 1)
    watch.left(3)
    watch.joined(3, 2)
    with pytest.raises(InvariantError, match="no machine serves two clusters: machine 3: 2 and 1"):
        watch.joined(3, 1)


def test_a_report_of_little_is_believed_at_the_third_time_and_not_before_or_after() -> None:
    many = tuple(need(f"n{number}") for number in range(20))
    for times, believed in ((1, True), (2, True), (3, False)):
        watch = Hall().watch
        watch.heard("c", many, believed=True)
        for _ in range(times - 1):
            watch.heard("c", many[:1], believed=False)
        with pytest.raises(InvariantError, match="believed at the third time"):
            watch.heard("c", many[:1], believed=believed)


def test_a_report_of_as_much_as_before_is_believed() -> None:
    watch = Hall().watch
    with pytest.raises(InvariantError, match="a report of as much as before is believed"):
        watch.heard("c", (need(count=2),), believed=False)


def test_the_digest_is_of_everything_that_was_noted() -> None:
    one, same, other = Hall().watch, Hall().watch, Hall().watch
    one.note("x", 1)
    same.note("x", 1)
    other.note("x", 2)
    assert one.digest == same.digest != other.digest


REQUIREMENTS = st.sampled_from(
    [
        (),
        (Requirement(ZONE, Operator.IN, ("a",)),),
        (Requirement(RACK, Operator.EXISTS),),
        (Requirement("gen", Operator.GT, ("2",)), Requirement(ZONE, Operator.NOT_IN, ("b",))),
    ]
)


@given(
    unit=st.dictionaries(st.sampled_from(["cpu", "memory", "gpu"]), st.integers(1, 5_000), min_size=1),
    offered=st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(0, 9_000)),
    labels=st.dictionaries(st.sampled_from([RACK, "gen"]), st.sampled_from(["1", "3"])),
    zone=st.sampled_from(["", "a", "b"]),
    requirements=REQUIREMENTS,
    same=st.sampled_from(["", RACK, ZONE]),
    separation=st.sampled_from([None, Separation(2), Separation(2, RACK)]),
)
def test_what_fits_is_the_same_in_both_reckonings(
    unit: dict[str, int],
    offered: dict[str, int],
    labels: dict[str, str],
    zone: str,
    requirements: tuple[Requirement, ...],
    same: str,
    separation: Separation | None,
) -> None:
    """The engine's table and the watch's own, made apart from each other."""
    one = FleetNeed("c", "n", unit, 3, requirements=requirements, same=same, separation=separation)
    offers = Shape("t", zone=zone, allocatable=offered, labels=labels)
    kinds = Kinds()
    kinds.number(offers)
    profiles = Profiles(kinds)
    profiles.number(one)
    profiles.tables()
    assert units_on(one, offers) == profiles.fit[0, 0]


def test_what_counts_depends_on_where_it_lies() -> None:
    a, b = shape("a"), shape("b")
    held = [(a, 4), (a, 4), (b, 4)]
    assert usable(need(count=12), held) == 12
    assert usable(need(count=12, same=ZONE), held) == 8
    assert usable(need(count=12, spread=Spread(ZONE, 1)), held) == 9
    assert usable(need(count=12, spread=Spread(ZONE, 1)), held, ["a", "b", "c"]) == 2
    assert usable(need(count=12, separation=Separation(3, ZONE)), held) == 6
    by_sum = FleetNeed("c", "n", {"cpu": 1_000}, None, {"cpu": 12_000})
    assert is_met(by_sum, held)
    assert not is_met(by_sum, held[1:])
