"""Spreads and separations: what counts, and which machines are given."""

import itertools
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.fleet import builders
from tests.fleet.builders import (
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

from remuda.fleet.decide import domains
from remuda.fleet.decide.work import IDLE, SPECULATIVE, Work
from remuda.fleet.policy import Policy, Quota, Rails
from remuda.model.machines import State
from remuda.model.shapes import DOLLAR, ZONE, FleetMachine
from remuda.model.units import FleetNeed, Separation, Spread, Unsatisfiable

ANYWAY = Unsatisfiable.SCHEDULE_ANYWAY


def spread(count: int, skew: int = 1, when: Unsatisfiable = Unsatisfiable.DO_NOT_SCHEDULE) -> FleetNeed:
    return need(count=count, spread=Spread(ZONE, skew, when))


@pytest.mark.parametrize(
    ("held", "skew", "counts"),
    [
        ((3, 3, 3), 1, 9),
        ((5, 1, 1), 1, 4),
        ((5, 5, 0), 1, 2),
        ((5, 5, 0), 3, 6),
        ((2, 1, 0), 1, 2),
    ],
)
def test_units_above_the_least_domain_plus_the_skew_do_not_count(
    held: tuple[int, ...], skew: int, counts: int
) -> None:
    fleet = fleet_of(
        *(
            machines(1, shape(zone)) + machines(number, shape(zone), State.CONFIGURED, cluster="c", need="n")
            for zone, number in zip("abc", held, strict=True)
        )
    )
    work = work_of(fleet, spread(100, skew))
    assert unmet(work) == 100 - counts


def test_a_domain_whose_machines_all_failed_does_not_count() -> None:
    failed = machines(4, shape("c"), State.FAILED)
    fleet = fleet_of(machines(2, shape("a")), machines(2, shape("b")), failed)
    work = work_of(fleet, spread(4))
    place(work)
    assert unmet(work) == 0
    assert by_domain(work, ZONE) == {"a": 2, "b": 2}


def test_a_domain_that_has_nothing_free_holds_the_others_down() -> None:
    busy = machines(4, shape("c"), State.CONFIGURED, cluster="other", need="x")
    fleet = fleet_of(machines(9, shape("a")), machines(9, shape("b")), busy)
    work = work_of(fleet, spread(9), need("x", 4, cluster="other"))
    place(work)
    assert by_domain(work, ZONE) == {"a": 1, "b": 1}
    assert unmet(work) == 7


def test_no_machine_is_given_to_raise_a_minimum_that_cannot_be_raised() -> None:
    fleet = fleet_of(*(machines(number, shape(zone)) for zone, number in (("a", 9), ("b", 9), ("c", 2))))
    work = work_of(fleet, spread(30, 2))
    place(work)
    assert by_domain(work, ZONE) == {"a": 4, "b": 4, "c": 2}
    assert unmet(work) == 20


def test_idle_machines_go_before_speculative_ones_and_cheap_before_dear() -> None:
    fleet = fleet_of(
        machines(1, shape("a", dollars=5)),
        machines(9, shape("a", dollars=1), State.SPECULATIVE),
        machines(9, shape("b", dollars=2), State.SPECULATIVE),
        machines(9, shape("b", dollars=3), State.SPECULATIVE),
    )
    work = work_of(fleet, spread(4))
    place(work)
    table = builders.given(work)
    assert table[IDLE].tolist() == [1, 0, 0, 0]
    assert table[SPECULATIVE].tolist() == [0, 1, 2, 0]


def test_what_is_left_goes_to_the_machine_that_costs_least_for_it() -> None:
    large, small = shape(units=8, dollars=4), shape(units=1, dollars=1)
    work = work_of(fleet_of(machines(9, large), machines(9, small)), spread(17))
    place(work)
    assert builders.given(work)[IDLE].tolist() == [2, 1]


def test_a_cheap_domain_takes_all_that_the_skew_allows() -> None:
    fleet = fleet_of(machines(9, shape("a", dollars=1)), machines(9, shape("b", dollars=9)))
    work = work_of(fleet, spread(5, 3))
    place(work)
    assert by_domain(work, ZONE) == {"a": 4, "b": 1}


def test_schedule_anyway_levels_domains_at_equal_cost_and_takes_the_rest_anywhere() -> None:
    fleet = fleet_of(
        machines(2, shape("a"), State.CONFIGURED, cluster="c", need="n"),
        machines(9, shape("a")),
        machines(2, shape("b")),
        machines(9, shape("c")),
    )
    work = work_of(fleet, spread(8, 1, ANYWAY))
    place(work)
    assert by_domain(work, ZONE) == {"a": 1, "b": 2, "c": 3}
    work = work_of(fleet, spread(20, 1, ANYWAY))
    place(work)
    assert by_domain(work, ZONE) == {"a": 7, "b": 2, "c": 9}
    assert unmet(work) == 0


def test_schedule_anyway_takes_the_cheaper_machine_before_the_lower_domain() -> None:
    fleet = fleet_of(machines(5, shape("a", dollars=1)), machines(5, shape("b", dollars=2)))
    work = work_of(fleet, spread(4, 1, ANYWAY))
    place(work)
    assert by_domain(work, ZONE) == {"a": 4}


def test_a_separation_takes_no_more_from_a_domain_than_count_there() -> None:
    fleet = fleet_of(*(machines(9, shape("a", rack=f"r{rack}", dollars=rack)) for rack in range(4)))
    work = work_of(fleet, need(count=20, separation=Separation(3, RACK)))
    place(work)
    assert by_domain(work, RACK) == {"r0": 3, "r1": 3, "r2": 3, "r3": 3}
    assert unmet(work) == 8
    work = work_of(fleet, need(count=7, separation=Separation(3, RACK)))
    place(work)
    assert by_domain(work, RACK) == {"r0": 3, "r1": 3, "r2": 1}


def test_a_spread_over_zones_with_a_separation_by_rack_keeps_both() -> None:
    fleet = fleet_of(*(machines(9, shape(zone, rack=f"{zone}{rack}")) for zone in "ab" for rack in range(3)))
    both = need(count=10, spread=Spread(ZONE, 1), separation=Separation(2, RACK))
    work = work_of(fleet, both)
    place(work)
    assert unmet(work) == 0
    assert max(by_domain(work, RACK).values()) == 2
    assert by_domain(work, ZONE) == {"a": 5, "b": 5}


def test_a_quota_over_all_domains_is_shared_between_them() -> None:
    fleet = fleet_of(*(machines(9, shape(zone, provider="p"), State.SPECULATIVE) for zone in "ab"))
    work = work_of(fleet, spread(10), policy=Policy(rails=Rails(quotas=(Quota("p", 5),))))
    place(work)
    assert sorted(by_domain(work, ZONE).values()) == [2, 3]
    assert len(work.picks.kind) == 2
    assert unmet(work) == 5
    assert work.limits.quota_bites.tolist() == [True]


def test_other_kinds_make_up_for_what_a_quota_holds_back() -> None:
    fleet = fleet_of(
        *(machines(9, shape(zone, provider="p", dollars=1), State.SPECULATIVE) for zone in "abc"),
        *(machines(9, shape(zone, provider="q", dollars=7), State.SPECULATIVE) for zone in "abc"),
    )
    work = work_of(fleet, spread(6), policy=Policy(rails=Rails(quotas=(Quota("p", 4),))))
    place(work)
    assert unmet(work) == 0
    assert builders.given(work)[SPECULATIVE][:3].sum() == 4


def test_a_spending_cap_bounds_what_is_bought() -> None:
    fleet = fleet_of(*(machines(9, shape(zone, provider="p", dollars=2), State.SPECULATIVE) for zone in "ab"))
    work = work_of(fleet, spread(10), policy=Policy(rails=Rails(spending={"p": 9 * DOLLAR})))
    place(work)
    assert by_domain(work, ZONE) == {"a": 2, "b": 2}
    assert work.limits.money_bites.tolist() == [True]


def test_what_only_the_spread_keeps_from_counting_is_not_spare() -> None:
    held = [machines(5, shape(zone), State.CONFIGURED, cluster="c", need="n") for zone in "ab"]
    fleet = fleet_of(*held, machines(1, shape("c"), State.CREATING))
    work = work_of(fleet, spread(10))
    row = work.demand.row("c", "n")
    assert domains.usable(work, row, work.held_by_kind(row)) == 2
    assert surplus(work) == [0, 0, 0]


def test_what_is_above_the_count_is_spare_where_it_costs_most() -> None:
    held = [
        machines(4, shape(zone, dollars=dollars), State.CONFIGURED, cluster="c", need="n")
        for zone, dollars in (("a", 1), ("b", 9))
    ]
    work = work_of(fleet_of(*held), spread(5))
    assert surplus(work) == [1, 2]


def test_a_need_of_many_units_is_served_in_few_steps() -> None:
    fleet = fleet_of(*(machines(4_000, shape(zone, units=units)) for zone in "abc" for units in (1, 2)))
    work = work_of(fleet, spread(10_000))
    place(work)
    assert unmet(work) == 0
    assert len(work.picks.kind) <= 6


_TIERS = st.sampled_from([State.IDLE, State.CREATING, State.SPECULATIVE])


@st.composite
def _groups(draw: st.DrawFn, most_fit: int) -> list[list[FleetMachine]]:
    groups = []
    for number in range(draw(st.integers(1, 4))):
        of = shape(
            draw(st.sampled_from("abc")),
            rack=draw(st.sampled_from("xy")),
            units=draw(st.integers(1, most_fit)),
            dollars=draw(st.integers(0, 3)),
            provider=draw(st.sampled_from("pq")),
        )
        groups.append(machines(draw(st.integers(1, 3)), of, draw(_TIERS), prefix=f"g{number}"))
        if draw(st.integers(0, 2)) == 0:
            more = machines(
                draw(st.integers(1, 2)), of, State.CONFIGURED, cluster="c", need="n", prefix=f"h{number}"
            )
            groups.append(more)
    return groups


def _needs() -> st.SearchStrategy[FleetNeed]:
    strict = st.builds(spread, st.integers(1, 9), st.integers(1, 3))
    loose = st.builds(lambda count: spread(count, 1, ANYWAY), st.integers(1, 9))
    apart = st.builds(
        lambda count, most: need(count=count, separation=Separation(most, ZONE)),
        st.integers(1, 9),
        st.integers(1, 3),
    )
    both = st.builds(
        lambda count, most: need(count=count, spread=Spread(ZONE, 1), separation=Separation(most, ZONE)),
        st.integers(1, 9),
        st.integers(1, 3),
    )
    return st.one_of(strict, loose, apart, both)


def _every_choice(work: Work) -> list[np.ndarray]:
    free = work.free.sum(axis=0)
    return [np.array(pick) for pick in itertools.product(*(range(int(number) + 1) for number in free))]


@pytest.mark.slow
@given(groups=_groups(most_fit=3), asked=_needs())
@examples(150)
def test_as_many_units_count_as_any_choice_of_machines_allows(
    groups: list[list[FleetMachine]], asked: FleetNeed
) -> None:
    work = work_of(fleet_of(*groups), asked)
    row = work.demand.row("c", "n")
    held = work.held_by_kind(row)
    layout = domains.layout_of(work, row)
    best = min(asked.count or 0, layout.usable(held + work.free.sum(axis=0)))
    before = work.free.copy()
    place(work)
    taken = builders.given(work)
    assert (work.free == before - taken).all()
    assert (work.free >= 0).all()
    after = held + taken.sum(axis=0)
    assert unmet(work) == (asked.count or 0) - min(asked.count or 0, layout.usable(after))
    assert min(asked.count or 0, layout.usable(after)) == max(
        best, min(asked.count or 0, layout.usable(held))
    )
    for kind in np.flatnonzero(taken.sum(axis=0)).tolist():
        fewer = after.copy()
        fewer[kind] -= 1
        assert layout.usable(fewer) < min(asked.count or 0, layout.usable(after))


@pytest.mark.slow
@given(groups=_groups(most_fit=1), asked=_needs())
@examples(150)
def test_machines_of_one_unit_are_chosen_at_the_least_cost(
    groups: list[list[FleetMachine]], asked: FleetNeed
) -> None:
    idle = [[_idle(machine) for machine in group] for group in groups]
    work = work_of(fleet_of(*idle), asked)
    row = work.demand.row("c", "n")
    held = work.held_by_kind(row)
    layout = domains.layout_of(work, row)
    price = work.fleet.kinds.price
    goal = min(asked.count or 0, layout.usable(held + work.free.sum(axis=0)))
    least = min(
        int((choice * price).sum()) for choice in _every_choice(work) if layout.usable(held + choice) >= goal
    )
    place(work)
    assert int((builders.given(work).sum(axis=0) * price).sum()) == least


def _idle(machine: FleetMachine) -> FleetMachine:
    if machine.state is State.CONFIGURED:
        return machine
    return FleetMachine(machine.id, State.IDLE, machine.shape)


@pytest.mark.slow
@given(
    groups=_groups(most_fit=2),
    asked=_needs(),
    quotas=st.lists(st.tuples(st.sampled_from("pq"), st.integers(0, 4)), max_size=2),
    cap=st.none() | st.integers(0, 6),
)
@example(
    groups=[machines(3, shape("a", provider="p"), State.SPECULATIVE)],
    asked=spread(2),
    quotas=[("p", 0)],
    cap=None,
)
@examples(150)
def test_limits_are_never_passed(
    groups: list[list[FleetMachine]], asked: FleetNeed, quotas: list[tuple[str, int]], cap: int | None
) -> None:
    fleet = fleet_of(*groups)
    rails = Rails(
        quotas=tuple(Quota(provider, most + 20) for provider, most in quotas),
        spending={} if cap is None else {"p": cap * DOLLAR},
    )
    work = work_of(fleet, asked, policy=Policy(rails=rails))
    work.limits = replace(work.limits, left=np.array([most for _, most in quotas], np.int64))
    left, money = work.limits.left.copy(), work.limits.money.copy()
    place(work)
    bought = builders.given(work)[SPECULATIVE]
    assert (work.limits.counts @ bought <= left).all()
    assert (work.limits.left == left - work.limits.counts @ bought).all()
    for provider, room in enumerate(money.tolist()):
        spent = int((bought * fleet.kinds.price)[fleet.kinds.provider == provider].sum())
        assert room < 0 or spent <= room
    row = work.demand.row("c", "n")
    after = work.held_by_kind(row) + builders.given(work).sum(axis=0)
    assert unmet(work) == max(0, (asked.count or 0) - domains.usable(work, row, after))


@pytest.mark.slow
@given(groups=_groups(most_fit=1), asked=_needs(), left=st.integers(0, 4))
@examples(150)
def test_as_many_machines_of_one_unit_count_as_a_quota_allows(
    groups: list[list[FleetMachine]], asked: FleetNeed, left: int
) -> None:
    work = work_of(fleet_of(*groups), asked, policy=Policy(rails=Rails(quotas=(Quota("p", 0),))))
    work.limits.left[:] = left
    row = work.demand.row("c", "n")
    held, others = work.held_by_kind(row), work.free.sum(axis=0) - work.free[SPECULATIVE]
    allowed = [
        way
        for way in _every_choice(work)
        if int(np.maximum(way - others, 0)[work.limits.counts[0]].sum()) <= left
    ]
    best = max(domains.usable(work, row, held + way) for way in allowed)
    place(work)
    assert unmet(work) == max(0, (asked.count or 0) - best)


@pytest.mark.parametrize("seed", range(20))
def test_of_the_kinds_of_a_cell_the_first_count_until_it_is_full(seed: int) -> None:
    rng = Random(seed)
    cell = [rng.randrange(3) for _ in range(6)]
    units = [rng.randrange(4) for _ in cell]
    most = rng.randint(0, 6)
    left = dict.fromkeys(cell, most)
    expected = []
    for number, amount in zip(cell, units, strict=True):
        expected.append(min(amount, left[number]))
        left[number] -= expected[-1]
    assert domains._clipped(np.array(cell), np.array(units), most).tolist() == expected
