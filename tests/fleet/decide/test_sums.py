"""Needs expressed as a sum: credited and served by the sum, exact in every resource."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.fleet import builders
from tests.fleet.builders import RACK, by_domain, fleet_of, machines, place, surplus, unmet, work_of

from remuda.fleet.decide.work import IDLE, SPECULATIVE
from remuda.fleet.policy import Policy, Quota, Rails
from remuda.model.machines import State
from remuda.model.plans import Reason
from remuda.model.shapes import DOLLAR, HIGHEST_AMOUNT, MILLION, FleetMachine, Shape
from remuda.model.units import FleetNeed


def shape(cpu: int, memory: int, *, dollars: int = 0, rack: str = "x", provider: str = "") -> Shape:
    return Shape(
        f"t{cpu}-{memory}",
        provider=provider,
        allocatable={"cpu": cpu, "memory": memory},
        labels={RACK: rack},
        price=dollars * DOLLAR,
    )


def total(cpu: int, memory: int, *, unit: tuple[int, int] = (1, 1), same: str = "") -> FleetNeed:
    largest = {"cpu": unit[0], "memory": unit[1]}
    return FleetNeed("c", "n", largest, None, {"cpu": cpu, "memory": memory}, same=same)


def held(number: int, of: Shape) -> list[FleetMachine]:
    return machines(number, of, State.CONFIGURED, cluster="c", need="n", prefix=f"h{of.instance_type}")


def test_what_is_missing_is_reported_in_parts_per_million_of_the_scarcest_resource() -> None:
    work = work_of(fleet_of(held(2, shape(4, 8))), total(10, 64))
    assert unmet(work) == 750_000
    work = work_of(fleet_of(held(2, shape(4, 32))), total(10, 64))
    assert unmet(work) == 200_000


def test_a_sum_that_lacks_the_last_bit_is_not_met() -> None:
    work = work_of(fleet_of(held(1, shape(HIGHEST_AMOUNT - 1, 1))), total(HIGHEST_AMOUNT, 1))
    assert unmet(work) == 1
    work = work_of(fleet_of(held(1, shape(HIGHEST_AMOUNT, 1))), total(HIGHEST_AMOUNT, 1))
    assert unmet(work) == 0


def test_sums_beyond_64_bits_are_exact() -> None:
    fleet = fleet_of(machines(20_000, shape(HIGHEST_AMOUNT, 1)))
    work = work_of(fleet, total(20_000 * HIGHEST_AMOUNT, 1))
    place(work)
    assert unmet(work) == 0
    assert builders.given(work).sum() == 20_000
    work = work_of(fleet, total(20_000 * HIGHEST_AMOUNT + 1, 1))
    place(work)
    assert unmet(work) == 1


def test_a_machine_without_room_for_the_largest_unit_does_not_count() -> None:
    fleet = fleet_of(held(2, shape(2, 2)), machines(9, shape(2, 2)), machines(1, shape(4, 4)))
    work = work_of(fleet, total(4, 4, unit=(3, 3)))
    assert unmet(work) == MILLION
    place(work)
    assert builders.given(work)[IDLE].tolist() == [0, 1]


def test_idle_machines_go_before_bought_ones_and_the_cheapest_for_what_is_used_first() -> None:
    fleet = fleet_of(
        machines(1, shape(8, 8, dollars=9)),
        machines(9, shape(4, 4, dollars=3), State.SPECULATIVE),
        machines(9, shape(16, 16, dollars=8), State.SPECULATIVE),
    )
    work = work_of(fleet, total(28, 28))
    place(work)
    assert builders.given(work)[IDLE].tolist() == [1, 0, 0]
    assert builders.given(work)[SPECULATIVE].tolist() == [0, 1, 1]


def test_two_resources_may_be_covered_by_two_kinds() -> None:
    fleet = fleet_of(machines(9, shape(8, 1, dollars=1)), machines(9, shape(1, 8, dollars=1)))
    work = work_of(fleet, total(18, 18))
    place(work)
    assert builders.given(work)[IDLE].tolist() == [2, 2]


def test_what_does_not_help_the_scarcest_resource_is_not_taken() -> None:
    fleet = fleet_of(machines(9, shape(8, 1)))
    work = work_of(fleet, total(16, 90))
    place(work)
    assert unmet(work) == 900_000
    assert builders.given(work)[IDLE].tolist() == [9]
    work = work_of(fleet_of(machines(9, shape(8, 0)), machines(1, shape(8, 2))), total(80, 2, unit=(1, 0)))
    place(work)
    assert unmet(work) == 0
    work = work_of(fleet_of(machines(9, shape(8, 0))), total(80, 2, unit=(1, 0)))
    place(work)
    assert unmet(work) == MILLION
    assert not len(work.picks.kind)


def test_a_sum_that_is_met_and_may_not_fit_is_noted_and_nothing_more_is_bought() -> None:
    fleet = fleet_of(held(4, shape(5, 5)), machines(9, shape(5, 5)))
    work = work_of(fleet, total(18, 18, unit=(3, 3)))
    assert unmet(work) == 0
    assert work.notes == [Reason("need.may-be-fragmented", "need/c/n", {"units": 6, "packed": 4})]
    place(work)
    assert not len(work.picks.kind)
    work = work_of(fleet_of(machines(9, shape(5, 5))), total(18, 18, unit=(3, 3)))
    place(work)
    assert len(work.notes) == 1
    work = work_of(fleet_of(held(3, shape(6, 6))), total(18, 18, unit=(3, 3)))
    assert work.notes == []


def test_a_sum_that_must_share_a_domain_gets_all_of_it_there_or_nothing() -> None:
    fleet = fleet_of(machines(3, shape(4, 4, rack="x")), machines(5, shape(4, 4, rack="y")))
    work = work_of(fleet, total(16, 16, same=RACK))
    place(work)
    assert by_domain(work, RACK) == {"y": 4}
    work = work_of(fleet, total(24, 24, same=RACK))
    before = work.free.copy()
    place(work)
    assert unmet(work) == MILLION
    assert (work.free == before).all()


def test_a_sum_that_is_in_a_domain_is_completed_there() -> None:
    fleet = fleet_of(
        held(1, shape(4, 4, rack="x")), machines(1, shape(4, 4, rack="x")), machines(5, shape(8, 8, rack="y"))
    )
    work = work_of(fleet, total(8, 8, same=RACK))
    assert unmet(work) == 500_000
    place(work)
    assert by_domain(work, RACK) == {"x": 1}


def test_what_is_in_another_domain_does_not_count_for_a_sum_that_must_share_one() -> None:
    fleet = fleet_of(
        held(1, shape(4, 4, rack="x")),
        held(2, shape(5, 5, rack="y")),
        machines(2, shape(5, 5, rack="y")),
    )
    work = work_of(fleet, total(14, 14, same=RACK))
    assert unmet(work) == MILLION - 10 * MILLION // 14
    assert surplus(work) == [1, 0]
    place(work)
    assert by_domain(work, RACK) == {"y": 1}


def test_kinds_under_one_quota_are_bought_within_it_together() -> None:
    kinds = [shape(4, 4, dollars=dollars, provider="p", rack="x") for dollars in (1, 2)]
    fleet = fleet_of(*(machines(3, kind, State.SPECULATIVE) for kind in kinds))
    policy = Policy(rails=Rails(quotas=(Quota("p", 4),)))
    work = work_of(fleet, total(24, 24), policy=policy)
    place(work)
    assert builders.given(work)[SPECULATIVE].tolist() == [3, 1]
    assert work.limits.left.tolist() == [0]
    assert work.limits.quota_bites.tolist() == [True]
    work = work_of(fleet, total(24, 24, same=RACK), policy=policy)
    place(work)
    assert not len(work.picks.kind)
    assert unmet(work) == MILLION
    assert work.limits.quota_bites.tolist() == [True]


def test_what_is_above_the_sum_is_spare_where_it_costs_most() -> None:
    fleet = fleet_of(held(3, shape(4, 4, dollars=1)), held(2, shape(8, 8, dollars=5)))
    work = work_of(fleet, total(13, 13))
    assert surplus(work) == [1, 1]


def test_a_resource_no_machine_has_leaves_everything_missing() -> None:
    asked = FleetNeed("c", "n", {"cpu": 1}, None, {"cpu": 4, "gpu": 1})
    work = work_of(fleet_of(machines(4, shape(4, 4))), asked)
    place(work)
    assert unmet(work) == MILLION
    assert not len(work.picks.kind)


def test_a_large_sum_is_served_in_few_steps() -> None:
    fleet = fleet_of(*(machines(3_000, shape(cpu, 4)) for cpu in (1, 2, 3)))
    work = work_of(fleet, total(15_000, 30_000))
    place(work)
    assert unmet(work) == 0
    assert len(work.picks.kind) <= 6


_SHAPES = st.builds(
    shape,
    st.integers(1, 4),
    st.integers(1, 4),
    dollars=st.integers(0, 3),
    rack=st.sampled_from("xy"),
    provider=st.sampled_from("pq"),
)
_STATES = st.sampled_from([State.IDLE, State.CREATING, State.SPECULATIVE, State.CONFIGURED])


@st.composite
def _fleets(draw: st.DrawFn) -> list[list[FleetMachine]]:
    groups = []
    for number in range(draw(st.integers(1, 4))):
        state = draw(_STATES)
        cluster, name = ("c", "n") if state is State.CONFIGURED else ("", "")
        of = draw(_SHAPES)
        groups.append(
            machines(draw(st.integers(1, 3)), of, state, cluster=cluster, need=name, prefix=f"g{number}")
        )
    return groups


_ASKED = st.builds(
    lambda cpu, memory, same: total(cpu, memory, same=same),
    st.integers(1, 16),
    st.integers(1, 16),
    st.sampled_from(["", RACK]),
)


@pytest.mark.slow
@given(groups=_fleets(), asked=_ASKED, quota=st.none() | st.integers(0, 3))
@examples(250)
def test_a_sum_has_as_much_as_can_be_had_and_no_machine_too_many(
    groups: list[list[FleetMachine]], asked: FleetNeed, quota: int | None
) -> None:
    rails = Rails(quotas=() if quota is None else (Quota("p", 0),))
    work = work_of(fleet_of(*groups), asked, policy=Policy(rails=rails))
    if quota is not None:
        work.limits.left[:] = quota
    row = work.demand.row("c", "n")
    mine = work.held_by_kind(row)
    codes, _ = work.fleet.kinds.domains(RACK)
    amounts = work.fleet.kinds.allocatable[
        :, [work.fleet.kinds.resources.index(name) for name in asked.total]
    ]
    want = np.array(list(asked.total.values()))

    def met(machines_by_kind: np.ndarray) -> int:
        return int(np.minimum(MILLION, machines_by_kind @ amounts * MILLION // want).min())

    ways = [np.array(way) for way in itertools.product(*(range(int(n) + 1) for n in work.free.sum(axis=0)))]
    if quota is not None:
        fixed = work.free[SPECULATIVE]
        counted = work.limits.counts[0]
        ways = [
            way for way in ways if np.maximum(way - work.free.sum(axis=0) + fixed, 0)[counted].sum() <= quota
        ]
    before = work.free.copy()
    needed = unmet(work)
    place(work)
    taken = before - work.free
    assert (work.free >= 0).all()
    if quota is not None:
        assert int((work.limits.counts @ taken[SPECULATIVE])[0]) <= quota
    after = mine + taken.sum(axis=0)
    if not asked.same:
        best = max(met(mine + way) for way in ways)
        assert unmet(work) == MILLION - met(after)
        if quota is None:
            assert met(after) == best
        for kind in np.flatnonzero(taken.sum(axis=0)).tolist():
            fewer = after.copy()
            fewer[kind] -= 1
            assert met(fewer) < met(after)
        return
    if unmet(work):
        assert not taken.any()
        assert unmet(work) == needed
    elif taken.any():
        home = np.unique(codes[np.flatnonzero(taken.sum(axis=0))])
        assert len(home) == 1
        assert met(np.where(codes == home[0], after, 0)) == MILLION
    if quota is None and not mine.any():
        could = any(
            met(np.where(codes == code, work.free.sum(axis=0) + taken.sum(axis=0), 0)) == MILLION
            for code in np.unique(codes).tolist()
        )
        assert (unmet(work) == 0) == could


def test_the_cheapest_of_very_many_domains_is_found() -> None:
    """Forty racks have enough; in the last one large machine costs less than four small ones elsewhere."""
    small = [
        one
        for number in range(39)
        for one in machines(4, builders.shape(rack=f"r{number:02}", units=1, dollars=3))
    ]
    large = machines(1, builders.shape(rack="r99", units=4, dollars=10))
    work = work_of(fleet_of(small, large), builders.need(count=None, total={"cpu": 4_000}, same=RACK))
    place(work)
    assert by_domain(work, RACK) == {"r99": 1}
