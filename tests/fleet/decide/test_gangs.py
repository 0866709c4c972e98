"""Gangs: all in one domain or nothing, completed where they are, given up after patience."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.fleet import builders
from tests.fleet.builders import (
    NOW,
    RACK,
    by_domain,
    fleet_of,
    machines,
    need,
    place,
    shape,
    surplus,
    unmet,
    work_of,
)

from remuda.fleet.decide import gangs
from remuda.fleet.decide.work import COMING, DRAINING, IDLE, SPECULATIVE, Work
from remuda.fleet.memory import Memory
from remuda.fleet.policy import Policy, Quota, Rails
from remuda.model.machines import State
from remuda.model.shapes import ZONE, FleetMachine
from remuda.model.times import MINUTE
from remuda.model.units import FleetNeed, Separation, Spread


def gang(count: int, name: str = "n") -> FleetNeed:
    return need(name, count, same=RACK)


def rack(number: int, name: str, state: State = State.IDLE, **more: int) -> list[FleetMachine]:
    return machines(number, shape(rack=name, **more), state)  # type: ignore[arg-type]


def members(number: int, name: str, *, of: str = "n", state: State = State.CONFIGURED) -> list[FleetMachine]:
    return machines(number, shape(rack=name), state, cluster="c", need=of)


def claimed(work_fleet: list[list[FleetMachine]], ids: str, name: str = "n") -> Work:
    """A scratch table in which the machines whose ids begin so are meant for a gang of four."""
    fleet = fleet_of(*work_fleet)
    code = fleet.names.need(fleet.names.cluster("c"), name)
    for row, machine in enumerate(fleet.ids):
        if machine.startswith(ids):
            fleet.claim[row] = code
    return work_of(fleet, gang(4, name))


def test_a_gang_is_placed_whole_in_the_tightest_domain() -> None:
    work = work_of(fleet_of(rack(9, "x"), rack(5, "y"), rack(3, "z")), gang(4))
    place(work)
    assert by_domain(work, RACK) == {"y": 4}
    assert unmet(work) == 0


def test_a_gang_that_fits_nowhere_takes_nothing() -> None:
    work = work_of(fleet_of(rack(3, "x"), rack(3, "y")), gang(4))
    before = work.free.copy()
    place(work)
    assert unmet(work) == 4
    assert (work.free == before).all()
    assert not len(work.picks.kind)


def test_the_cheaper_domain_goes_before_the_tighter() -> None:
    work = work_of(fleet_of(rack(9, "x", dollars=1), rack(4, "y", dollars=2)), gang(4))
    place(work)
    assert by_domain(work, RACK) == {"x": 4}


def test_a_domain_where_it_can_start_now_goes_before_one_where_it_must_wait() -> None:
    fleet = fleet_of(rack(2, "x"), rack(2, "x", State.CREATING), rack(4, "y", dollars=9))
    work = work_of(fleet, gang(4))
    place(work)
    assert by_domain(work, RACK) == {"y": 4}
    assert builders.given(work)[IDLE].sum() == 4


def test_a_wider_domain_where_it_can_start_now_goes_before_a_tight_one_where_it_must_wait() -> None:
    work = work_of(fleet_of(rack(4, "x", State.CREATING), rack(6, "y")), gang(4))
    place(work)
    assert by_domain(work, RACK) == {"y": 4}


def test_machines_of_two_units_each_are_counted_by_their_units() -> None:
    work = work_of(fleet_of(rack(9, "x", units=2), rack(3, "y", units=2)), gang(5))
    place(work)
    assert by_domain(work, RACK) == {"y": 3}
    assert unmet(work) == 0


def test_a_gang_whose_members_do_not_lie_as_it_asks_is_not_complete() -> None:
    """All four are in one rack and in one of its two zones, of which one unit counts."""
    there = machines(4, shape("a", rack="r"), State.CONFIGURED, cluster="c", need="n")
    work = work_of(
        fleet_of(there, machines(1, shape("b", rack="r"), State.CONFIGURED, cluster="d", need="m")),
        need(count=4, same=RACK, spread=Spread(ZONE, 1)),
    )
    assert unmet(work) == 3


def test_what_is_being_created_goes_before_what_would_be_bought() -> None:
    fleet = fleet_of(rack(4, "x", State.CREATING), rack(4, "y", State.SPECULATIVE))
    work = work_of(fleet, gang(4))
    place(work)
    assert not len(work.picks.kind)
    assert unmet(work) == 0
    assert work.free[COMING].sum() == 0
    assert work.free[SPECULATIVE].sum() == 4


@pytest.mark.parametrize(("state", "tier"), [(State.CREATING, COMING), (State.DRAINING, DRAINING)])
def test_while_a_machine_is_on_its_way_nothing_is_started_and_the_others_are_held_back(
    state: State, tier: int
) -> None:
    fleet = fleet_of(rack(3, "x"), machines(1, shape(rack="x"), state, cluster="other"))
    work = work_of(fleet, gang(4), need("m", 3, priority=-1))
    place_gang(work)
    assert not len(work.picks.kind)
    assert work.free[IDLE].sum() == 0
    assert work.free[tier].sum() == 0
    assert work.held_back.tolist() == [3]
    assert unmet(work) == 0


def place_gang(work: Work, name: str = "n") -> None:
    row = work.demand.row("c", name)
    gangs.place(work, work.order.tolist().index(row), row, work.held_by_kind(row))


def test_what_must_be_bought_is_bought_while_the_idle_wait() -> None:
    work = work_of(fleet_of(rack(3, "x"), rack(5, "x", State.SPECULATIVE)), gang(4))
    place(work)
    assert builders.given(work).sum(axis=1).tolist() == [0, 0, 1, 0]
    assert work.held_back.tolist() == [3]
    assert work.free[IDLE].sum() == 0
    assert unmet(work) == 0


def test_machines_meant_for_a_gang_say_where_it_is_completed() -> None:
    work = claimed([rack(2, "x", State.CREATING), rack(2, "x"), rack(9, "y")], "t1-a-x-0-creating")
    assert unmet(work) == 2
    place(work)
    assert not len(work.picks.kind)
    assert work.held_back.sum() == 2


def test_a_gang_starts_when_all_that_was_made_for_it_is_idle() -> None:
    work = claimed([machines(2, shape(rack="x"), prefix="mine"), rack(2, "x"), rack(9, "y")], "mine")
    place(work)
    assert by_domain(work, RACK) == {"x": 2}
    assert unmet(work) == 0


def test_a_broken_gang_is_completed_in_its_domain() -> None:
    work = work_of(fleet_of(members(3, "x"), rack(2, "x", dollars=5), rack(9, "y")), gang(4))
    assert unmet(work) == 1
    place(work)
    assert by_domain(work, RACK) == {"x": 1}
    gangs.repair(work)
    assert work.broken == {}


def test_a_broken_gang_that_cannot_be_completed_keeps_its_members_and_is_not_begun_elsewhere() -> None:
    work = work_of(fleet_of(members(3, "x"), rack(9, "y")), gang(4))
    place(work)
    gangs.repair(work)
    code = int(work.demand.code[work.demand.row("c", "n")])
    assert not len(work.picks.kind)
    assert unmet(work) == 1
    assert work.broken == {code: NOW}
    assert work.due == [NOW + 10 * MINUTE]
    assert not len(work.surplus)
    assert len(work.held.rows) == 3


def broken_since(minutes: int, *, state: State = State.CONFIGURED) -> Work:
    fleet = fleet_of(members(3, "x"), members(1, "x", of="other"), members(0, "x", state=state), rack(9, "y"))
    code = fleet.names.need(fleet.names.cluster("c"), "n")
    memory = Memory(broken={code: NOW - minutes * MINUTE})
    work = work_of(fleet, gang(5), need("other", 1), memory=memory)
    place(work)
    gangs.repair(work)
    return work


def test_patience_is_counted_from_when_a_gang_was_first_found_broken() -> None:
    work = broken_since(9)
    assert not len(work.surplus)
    assert work.due == [NOW + MINUTE]


def test_a_gang_that_was_broken_for_too_long_is_given_up_whole() -> None:
    work = broken_since(10)
    assert work.surplus.tolist() == [0, 1, 2]
    assert work.held.rows.tolist() == [3]
    assert unmet(work) == 5
    assert work.due == []
    assert list(work.broken.values()) == [NOW - 10 * MINUTE]


def test_a_clock_that_was_set_back_does_not_lengthen_patience_for_ever() -> None:
    assert list(broken_since(-60).broken.values()) == [NOW]


def test_a_member_that_is_being_configured_is_not_surplus() -> None:
    fleet = fleet_of(members(2, "x"), members(1, "x", state=State.CONFIGURING))
    code = fleet.names.need(fleet.names.cluster("c"), "n")
    work = work_of(fleet, gang(4), memory=Memory(broken={code: NOW - 11 * MINUTE}))
    place(work)
    gangs.repair(work)
    assert work.surplus.tolist() == [0, 1]
    assert not len(work.held.rows)


def test_a_gang_that_never_held_anything_is_not_broken() -> None:
    work = work_of(fleet_of(rack(3, "x")), gang(4))
    place(work)
    gangs.repair(work)
    assert work.broken == {}
    assert work.due == []


def test_members_in_two_domains_are_credited_where_most_are() -> None:
    work = work_of(fleet_of(members(1, "x"), members(3, "y"), rack(1, "y"), rack(9, "x")), gang(4))
    assert unmet(work) == 1
    assert surplus(work) == [1, 0]
    place(work)
    assert by_domain(work, RACK) == {"y": 1}


def test_a_gang_may_be_spread_and_separated_inside_its_domain() -> None:
    fleet = fleet_of(
        *(machines(3, shape(zone, rack=f"{zone}{i}")) for zone in "ab" for i in range(2 + (zone == "b")))
    )
    work = work_of(fleet, need(count=6, same=ZONE, separation=Separation(2, RACK)))
    place(work)
    assert by_domain(work, RACK) == {"b0": 2, "b1": 2, "b2": 2}
    work = work_of(fleet, need(count=6, same=ZONE, spread=Spread(RACK, 1)))
    place(work)
    assert by_domain(work, RACK) == {"a0": 3, "a1": 3}
    work = work_of(fleet, need(count=7, same=ZONE, separation=Separation(2, RACK)))
    place(work)
    assert unmet(work) == 7


def test_a_quota_is_not_passed_and_another_domain_is_tried() -> None:
    fleet = fleet_of(
        machines(4, shape(rack="x", units=1, provider="p"), State.SPECULATIVE),
        machines(4, shape(rack="x", units=1, dollars=1, provider="p"), State.SPECULATIVE),
        machines(6, shape(rack="y", dollars=9, provider="q"), State.SPECULATIVE),
    )
    rails = Rails(quotas=(Quota("p", 5),))
    work = work_of(fleet, gang(6), policy=Policy(rails=rails))
    place(work)
    assert by_domain(work, RACK) == {"y": 6}
    work = work_of(fleet, gang(7), policy=Policy(rails=rails))
    place(work)
    assert unmet(work) == 7
    assert work.limits.quota_bites.tolist() == [True]


def test_kinds_outside_a_quota_make_up_for_it_in_the_same_domain() -> None:
    fleet = fleet_of(
        *(machines(4, shape(rack="x", dollars=cost, provider="p"), State.SPECULATIVE) for cost in (1, 2)),
        machines(4, shape(rack="x", dollars=9, provider="q"), State.SPECULATIVE),
    )
    work = work_of(fleet, gang(8), policy=Policy(rails=Rails(quotas=(Quota("p", 5),))))
    place(work)
    assert builders.given(work)[SPECULATIVE].tolist() == [4, 1, 3]


def test_a_quota_that_binds_only_elsewhere_is_not_said_to_hold_a_gang_back() -> None:
    fleet = fleet_of(
        members(3, "x"),
        machines(1, shape(rack="x", provider="q"), State.FAILED),
        machines(1, shape(rack="y", provider="p"), State.SPECULATIVE),
    )
    work = work_of(fleet, gang(4), policy=Policy(rails=Rails(quotas=(Quota("p", 0),))))
    place(work)
    assert unmet(work) == 1
    assert work.limits.quota_bites.tolist() == [False]


@st.composite
def _fleets(draw: st.DrawFn) -> list[list[FleetMachine]]:
    groups = []
    for number in range(draw(st.integers(1, 6))):
        of = shape(
            rack=draw(st.sampled_from("xyz")),
            units=draw(st.integers(1, 3)),
            dollars=draw(st.integers(0, 3)),
            provider=draw(st.sampled_from("pq")),
        )
        state = draw(st.sampled_from([State.IDLE, State.CREATING, State.SPECULATIVE, State.DRAINING]))
        cluster = "other" if state is State.DRAINING else ""
        groups.append(machines(draw(st.integers(1, 4)), of, state, cluster=cluster, prefix=f"g{number}"))
    return groups


@pytest.mark.slow
@given(groups=_fleets(), counts=st.lists(st.integers(1, 8), min_size=1, max_size=4))
@examples(200)
def test_a_gang_is_placed_if_and_only_if_some_domain_can_complete_it(
    groups: list[list[FleetMachine]], counts: list[int]
) -> None:
    work = work_of(fleet_of(*groups), *(gang(count, f"n{i}") for i, count in enumerate(counts)))
    codes, values = work.fleet.kinds.domains(RACK)
    for at, row in enumerate(work.order.tolist()):
        fit = work.fit[int(work.demand.profile[row])]
        count = int(work.demand.count[row])
        units = [int((work.free.sum(axis=0) * fit)[codes == code].sum()) for code in range(len(values))]
        before = work.free.copy()
        gangs.place(work, at, row, work.held_by_kind(row))
        used = before - work.free
        assert (work.free >= 0).all()
        if max(units) < count:
            assert int(work.unmet[row]) == count
            assert not used.any()
            continue
        assert int(work.unmet[row]) == 0
        kinds = np.flatnonzero(used.sum(axis=0))
        assert len(np.unique(codes[kinds])) == 1
        assert int((used.sum(axis=0) * fit).sum()) >= count
        for kind in kinds.tolist():
            assert int((used.sum(axis=0) * fit).sum()) - int(fit[kind]) < count
        given_away = np.zeros_like(used)
        for first, _, each, kind, tier in work.picks.table().tolist():
            if first == at:
                given_away[tier, kind] += each
        waits = bool(used[COMING].any() or used[DRAINING].any())
        assert given_away[[COMING, DRAINING]].sum() == 0
        if waits:
            assert not given_away.any()
        else:
            assert (given_away[SPECULATIVE] == used[SPECULATIVE]).all()
            assert given_away[IDLE].sum() == (0 if used[SPECULATIVE].any() else used[IDLE].sum())


@pytest.mark.slow
@given(groups=_fleets(), counts=st.lists(st.integers(1, 8), min_size=1, max_size=3), left=st.integers(0, 6))
@examples(100)
def test_quotas_are_never_passed(groups: list[list[FleetMachine]], counts: list[int], left: int) -> None:
    work = work_of(
        fleet_of(*groups),
        *(gang(count, f"n{i}") for i, count in enumerate(counts)),
        policy=Policy(rails=Rails(quotas=(Quota("p", 0),))),
    )
    work.limits.left[:] = left
    place(work)
    bought = sum(builders.given(work, f"n{i}")[SPECULATIVE] for i in range(len(counts)))
    assert int((work.limits.counts @ bought)[0]) <= left
    assert (work.free >= 0).all()


def test_gangs_of_many_sizes_fill_racks_tightly() -> None:
    rng = Random(1)
    fleet = fleet_of(*(rack(8, f"r{number:03}") for number in range(40)))
    sizes = [rng.choice([1, 2, 4, 8]) for _ in range(75)]
    work = work_of(fleet, *(gang(size, f"n{i}") for i, size in enumerate(sizes)))
    place(work)
    assert sum(sizes) <= 320
    assert int((work.unmet > 0).sum()) <= 2
