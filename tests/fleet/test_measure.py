"""What is measured is a decision about a fleet that is there, and it is the right one."""

import numpy as np
import pytest

from remuda.errors import BadInput, InvariantError
from remuda.fleet import states
from remuda.fleet.decide import decide
from remuda.fleet.measure import START, check, complete, gangs_placed, measure, peak_rss_mb, spent
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Block, Op, Plan
from remuda.fleet.policy import Policy, Rails
from remuda.fleet.workloads import SIZES
from remuda.fleet.workloads.build import build
from remuda.fleet.workloads.workload import Expected, Workload

SMALL = {name: 6_000 if name == "realistic" else 2_500 for name in SIZES} | {"gangs": 2_400}


def planned(workload: Workload) -> Plan:
    plan, _ = decide(workload.fleet, workload.demand, Memory(), workload.policy, START)
    return plan


def assigned(rows: list[int], needs: list[int]) -> Plan:
    count = len(rows)
    group, grace = np.zeros(count, np.int32), np.zeros(count, np.int64)
    block = Block(Op.ASSIGN, "fleet.assigned", np.array(rows), np.array(needs, np.int32), group, {}, grace)
    return Plan((block,))


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_every_workload_comes_to_what_it_defines_with_both_engines(name: str) -> None:
    digests = set()
    for engine in ("numpy", "numba"):
        workload = build(name, SMALL[name])
        found = measure(workload, 5, engine)
        assert (found.workload, found.engine, found.cycles) == (name, engine, 5)
        assert found.machines == SMALL[name]
        assert found.needs == len(workload.asked)
        assert found.clusters == len(workload.names.clusters)
        if workload.changes is None and workload.expected.actions is not None:
            assert found.actions == workload.expected.actions
        for ms in (found.wall_ms, found.cpu_ms, found.quiet_ms):
            assert 0 <= ms.min <= ms.median <= ms.p99
        assert found.wall_ms.min > 0
        assert found.peak_rss_mb > 10
        assert (found.new_ids_ms is not None) == (name == "aggregate-warm")
        assert found.gangs_placed == (len(workload.asked) if name == "gangs" else None)
        digests.add(found.digest)
    assert len(digests) == 1


def test_an_engine_that_is_none_is_refused() -> None:
    with pytest.raises(BadInput, match="there is no engine 'fortran'"):
        measure(build("one-pool", 10), 5, "fortran")


@pytest.mark.parametrize(
    ("expected", "machines", "summary"),
    [
        pytest.param(Expected(1_000, 0), 999, "holds 1000 machines and counts 1000, and should hold 999", id="machines"),
        pytest.param(Expected(999, 0), 1_000, "has 1000 actions, and should have 999", id="actions"),
        pytest.param(Expected(1_000, 3), 1_000, "0 needs are unmet, and 3 should be", id="unmet"),
    ],
)  # fmt: skip
def test_a_wrong_number_is_reported_beside_the_right_one(
    expected: Expected, machines: int, summary: str
) -> None:
    workload = build("aggregate-cold", 1_000)
    plan = planned(workload)
    check(workload, plan, Expected(1_000, 0), 1_000)
    with pytest.raises(InvariantError, match=f"aggregate-cold: .*{summary}"):
        check(workload, plan, expected, machines)


def test_a_fleet_that_counts_wrong_is_found() -> None:
    workload = build("aggregate-cold", 1_000)
    plan = planned(workload)
    workload.fleet.state[3] = states.ABSENT
    workload.fleet.recount()
    with pytest.raises(InvariantError, match="holds 1000 machines and counts 999"):
        check(workload, plan, Expected(), 1_000)


def test_a_machine_that_is_given_twice_is_found() -> None:
    workload = build("aggregate-cold", 1_000)
    planned(workload)
    with pytest.raises(InvariantError, match="2 actions are for 1 machines"):
        check(workload, assigned([0, 0], [0, 5]), Expected(), 1_000)


def test_a_machine_that_does_not_fit_is_found() -> None:
    workload = build("aggregate-cold", 1_000)
    planned(workload)
    check(workload, assigned([0], [0]), Expected(), 1_000)
    with pytest.raises(InvariantError, match="1 of 2 machines do not fit"):
        check(workload, assigned([0, 1], [0, 0]), Expected(), 1_000)


@pytest.mark.parametrize(
    ("rows", "summary"),
    [
        pytest.param([0, 1, 2], "1 gangs are incomplete and 0 in more than one rack", id="incomplete"),
        pytest.param([0, 1, 2, 80], "0 gangs are incomplete and 1 in more than one rack", id="torn apart"),
    ],
)
def test_a_gang_that_is_not_whole_is_found(rows: list[int], summary: str) -> None:
    workload = build("gangs", 240)
    assert gangs_placed(workload, Plan()) == 0
    assert gangs_placed(workload, assigned([0, 1, 2, 3], [0] * 4)) == 1
    with pytest.raises(InvariantError, match=summary):
        gangs_placed(workload, assigned(rows, [0] * len(rows)))


def test_what_is_in_motion_comes_to_rest() -> None:
    workload = build("aggregate-warm", 50)
    fleet = workload.fleet
    fleet.change(np.arange(10), states.CONFIGURING, 1)
    fleet.change(np.arange(10, 20), states.DRAINING, 1, claim=4)
    fleet.change(np.arange(20, 30), states.CREATING, 1, claim=5)
    complete(fleet, 9)
    assert fleet.state[:30].tolist() == [states.CONFIGURED] * 10 + [states.IDLE] * 20
    assert fleet.need[10:20].tolist() == [-1] * 10
    assert fleet.claim[10:30].tolist() == [4] * 10 + [5] * 10
    assert fleet.since[:30].tolist() == [9] * 30


def test_a_plan_of_another_size_ends_the_measuring() -> None:
    workload = build("aggregate-cold", 500)
    workload.policy = Policy(rails=Rails(paused=True))
    with pytest.raises(InvariantError, match="aggregate-cold: the plan has 0 actions, and should have 500"):
        measure(workload)


def test_times_are_reported_as_least_median_and_nearly_worst() -> None:
    summary = spent([float(number) for number in range(200, 0, -1)])
    assert (summary.min, summary.median, summary.p99) == (1.0, 100.5, 198.0)
    summary = spent([3.0, 1.0, 2.0, 9.0, 5.0])
    assert (summary.min, summary.median, summary.p99) == (1.0, 3.0, 9.0)


def test_memory_is_reported_in_megabytes() -> None:
    assert 10 < peak_rss_mb() < 100_000
