from typing import Any

import msgspec
import numpy as np
import pytest
from tests.fleet.builders import NOW, RACK, demand_of, fleet_of, machines, need, shape

from remuda.fleet.columns import Fleet
from remuda.fleet.decide import decide
from remuda.fleet.decide.engine import NUMPY
from remuda.fleet.demand import Demand
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Plan
from remuda.fleet.policy import Policy, Quota, Rails
from remuda.model.labels import Operator, Requirement
from remuda.model.machines import State
from remuda.model.shapes import DOLLAR, ZONE, Shape
from remuda.model.times import MINUTE, SECOND
from remuda.model.units import FleetNeed, Separation, Spread

IN_B = Requirement(ZONE, Operator.IN, ("b",))
SSD = Requirement("disk", Operator.IN, ("ssd",))
LIMITED = shape(provider="p", dollars=2)


def labelled(zone: str = "a", **labels: str) -> Shape:
    return msgspec.structs.replace(shape(zone), labels=labels)


def configured(number: int, of: Shape, name: str = "other", cluster: str = "c") -> list[Any]:
    return machines(number, of, State.CONFIGURED, cluster=cluster, need=name)


def decided(fleet: Fleet, demand: Demand, policy: Policy | None = None, memory: Memory | None = None) -> Plan:
    return decide(fleet, demand, memory or Memory(), policy or Policy(), NOW, engine=NUMPY)[0]


@pytest.mark.parametrize(
    ("fleet", "needs", "policy", "code", "terms"),
    [
        pytest.param(
            fleet_of(machines(2, shape())),
            [need(requirements=(SSD,))],
            Policy(),
            "need.unknown-key",
            {"key": "disk", "where": "requirement"},
            id="a requirement over a key no machine has",
        ),
        pytest.param(
            fleet_of(machines(2, shape())),
            [need(count=2, same=RACK)],
            Policy(),
            "need.unknown-key",
            {"key": RACK, "where": "same"},
            id="a gang over a key no machine has",
        ),
        pytest.param(
            fleet_of(machines(2, shape())),
            [need(spread=Spread("floor"))],
            Policy(),
            "need.unknown-key",
            {"key": "floor", "where": "spread"},
            id="a spread over a key no machine has",
        ),
        pytest.param(
            fleet_of(machines(3, labelled("a", disk="ssd")), machines(2, labelled("b", disk="hdd"))),
            [need(requirements=(IN_B, SSD))],
            Policy(),
            "need.nothing-matches",
            {
                "machines": 5,
                "matching": 0,
                "failed": 0,
                "requirement": "topology.kubernetes.io/zone=b",
                "without": 3,
            },
            id="two requirements that no machine meets together",
        ),
        pytest.param(
            fleet_of(machines(2, shape(units=2)), machines(1, shape(units=3))),
            [FleetNeed("c", "n", {"cpu": 4_000}, 1)],
            Policy(),
            "need.nothing-matches",
            {"machines": 3, "matching": 3, "failed": 0, "resource": "cpu", "unit": 4_000, "largest": 3_000},
            id="a unit larger than any machine",
        ),
        pytest.param(
            fleet_of(machines(2, shape(), State.FAILED)),
            [need()],
            Policy(),
            "need.nothing-matches",
            {"machines": 0, "matching": 0, "failed": 2, "requirement": None, "without": 0},
            id="all that match have failed",
        ),
        pytest.param(
            fleet_of(),
            [need()],
            Policy(),
            "need.nothing-matches",
            {"machines": 0, "matching": 0, "failed": 0, "requirement": None, "without": 0},
            id="no machines at all",
        ),
        pytest.param(
            fleet_of(machines(3, LIMITED, State.SPECULATIVE)),
            [need(count=3)],
            Policy(rails=Rails(quotas=(Quota("p", 1),))),
            "need.capped-by-quota",
            {"provider": "p", "region": "", "instance_type": "", "most": 1},
            id="a quota",
        ),
        pytest.param(
            fleet_of(machines(3, LIMITED, State.SPECULATIVE)),
            [need(count=3)],
            Policy(rails=Rails(spending={"p": 3 * DOLLAR})),
            "need.capped-by-spending",
            {"provider": "p", "cap": 3 * DOLLAR},
            id="a spending cap",
        ),
        pytest.param(
            fleet_of(configured(10, shape())),
            [need("other", 10), need(count=3, cluster="d", priority=9)],
            Policy(),
            "need.capped-by-rail",
            {"machines": 2, "percent": 2},
            id="the rail on preemptions",
        ),
        pytest.param(
            fleet_of(machines(3, shape(rack="r")), machines(2, shape(rack="s"))),
            [need(count=4, same=RACK)],
            Policy(),
            "need.domain-too-small",
            {"key": RACK, "domain": "r", "units": 3, "wanted": 4},
            id="a gang larger than any domain",
        ),
        pytest.param(
            fleet_of(machines(5, shape("a")), machines(1, shape("b"))),
            [need(count=6, spread=Spread(ZONE, 1))],
            Policy(),
            "need.domain-too-small",
            {"key": ZONE, "domain": "b", "units": 1, "usable": 3, "wanted": 6},
            id="a spread that the smallest domain holds down",
        ),
        pytest.param(
            fleet_of(machines(5, shape("a")), machines(1, shape("b"))),
            [need(count=6, separation=Separation(2, ZONE))],
            Policy(),
            "need.domain-too-small",
            {"key": ZONE, "domain": "a", "units": 5, "usable": 3, "wanted": 6},
            id="a separation with too few domains",
        ),
        pytest.param(
            fleet_of(configured(4, shape())),
            [need("other", 4, priority=7), need(count=2, cluster="d", priority=7)],
            Policy(),
            "need.held-by-priority",
            {"matching": 4, "held": 4, "priority": 7},
            id="everything is held by an equal priority",
        ),
        pytest.param(
            fleet_of(machines(2, shape())),
            [need("other", 2, priority=8), need(count=2, cluster="d", priority=7)],
            Policy(),
            "need.held-by-priority",
            {"matching": 2, "held": 2, "priority": 7},
            id="everything went to a higher priority just now",
        ),
        pytest.param(
            fleet_of(configured(2, shape(rack="r")), machines(2, shape(rack="r")), machines(3, shape(rack="s"))),
            [need("other", 2), need(count=4, cluster="d", same=RACK)],
            Policy(),
            "need.fragmented",
            {"free": 5, "key": RACK, "domain": "s", "largest": 3, "wanted": 4},
            id="a gang for which enough is free, but not in one domain",
        ),
    ],
)  # fmt: skip
def test_the_reason_says_what_is_in_the_way(
    fleet: Fleet, needs: list[FleetNeed], policy: Policy, code: str, terms: dict[str, Any]
) -> None:
    plan = decided(fleet, demand_of(fleet, *needs), policy)
    found = [one for one in plan.shortfalls if fleet.names.needs[one.need] == "n"]
    assert [(one.reason.code, one.reason.terms) for one in found] == [(code, terms)]


def test_a_requirement_that_something_is_absent_makes_no_key_unknown() -> None:
    fleet = fleet_of(machines(1, shape()))
    absent = Requirement("disk", Operator.NOT_IN, ("hdd",))
    plan = decided(fleet, demand_of(fleet, need(requirements=(absent,))))
    assert plan.shortfalls == ()


def test_what_is_about_to_be_reclaimed_is_waited_for() -> None:
    fleet = fleet_of(configured(40, shape(), "gone"))
    plan = decided(fleet, demand_of(fleet, need("other", 0), need(count=3, cluster="d", priority=9)))
    (found,) = plan.shortfalls
    assert (found.units, found.reason.code, found.reason.terms) == (3, "need.waiting", {"coming": 3})


def test_a_machine_that_is_not_tried_yet_is_the_reason_and_the_time_is_reported() -> None:
    fleet = fleet_of(machines(1, shape()))
    fleet.delay(np.array([0]), NOW + SECOND)
    plan, memory = decide(fleet, demand_of(fleet, need(priority=4)), Memory(), Policy(), NOW, engine=NUMPY)
    (found,) = plan.shortfalls
    assert found.reason.code == "need.backing-off"
    assert found.reason.terms == {
        "matching": 1,
        "held": 0,
        "priority": 4,
        "backing_off": 1,
        "until": NOW + SECOND,
    }
    assert memory.settled is not None
    assert memory.settled.until == NOW + SECOND


def test_a_shortfall_reports_how_much_since_when_and_of_whom() -> None:
    fleet = fleet_of(machines(2, shape()))
    demand = demand_of(fleet, need("a", 5), need("b", 1, requirements=(SSD,)))
    plan, memory = decide(fleet, demand, Memory(), Policy(), NOW, engine=NUMPY)
    assert [(one.reason.subject, one.units, one.since) for one in plan.shortfalls] == [
        ("need/c/a", 3, NOW),
        ("need/c/b", 1, NOW),
    ]
    demand.put("c", (need("a", 6), need("z", 9)))
    plan, memory = decide(fleet, demand, memory, Policy(), NOW + MINUTE, engine=NUMPY)
    assert {one.reason.subject: one.since for one in plan.shortfalls} == {
        "need/c/a": NOW,
        "need/c/z": NOW + MINUTE,
    }
    assert memory.unmet.tolist() == sorted(memory.unmet.tolist())
    assert len(memory.unmet) == len(memory.unmet_since) == 2


def test_a_need_that_was_met_misses_something_since_it_does() -> None:
    fleet = fleet_of(configured(2, shape(), "a"))
    demand = demand_of(fleet, need("a", 2))
    _, memory = decide(fleet, demand, Memory(), Policy(), NOW, engine=NUMPY)
    assert (len(memory.unmet), len(memory.unmet_since)) == (0, 0)
    demand.put("c", (need("a", 3),))
    plan, _ = decide(fleet, demand, memory, Policy(), NOW + MINUTE, engine=NUMPY)
    assert [(one.units, one.since) for one in plan.shortfalls] == [(1, NOW + MINUTE)]


def test_a_spread_that_all_machines_would_just_serve_is_not_too_large_for_them() -> None:
    fleet = fleet_of(configured(2, shape("a")), configured(2, shape("b")))
    plan = decided(
        fleet, demand_of(fleet, need("other", 4), need(count=4, cluster="d", spread=Spread(ZONE, 1)))
    )
    assert [one.reason.code for one in plan.shortfalls] == ["need.held-by-priority"]


@pytest.mark.parametrize(
    ("state", "code"),
    [(State.SPECULATIVE, "need.backing-off"), (State.CONFIGURED, "need.held-by-priority")],
)
def test_what_is_not_tried_yet_is_idle_or_for_sale(state: State, code: str) -> None:
    fleet = fleet_of(configured(1, shape()) if state is State.CONFIGURED else machines(1, shape(), state))
    fleet.delay(np.array([0]), NOW + SECOND)
    asked = [need("other")] if state is State.CONFIGURED else []
    plan = decided(fleet, demand_of(fleet, *asked, need(cluster="d")))
    assert [one.reason.code for one in plan.shortfalls] == [code]


def test_a_separation_over_a_key_that_no_machine_has_is_the_reason() -> None:
    fleet = fleet_of(machines(2, shape()))
    plan = decided(fleet, demand_of(fleet, need(count=2, separation=Separation(1, "nonesuch"))))
    assert [(one.reason.code, one.reason.terms) for one in plan.shortfalls] == [
        ("need.unknown-key", {"key": "nonesuch", "where": "separation"})
    ]


def test_one_machine_for_sale_that_may_not_be_bought_is_the_reason() -> None:
    fleet = fleet_of(machines(1, shape(provider="p"), State.SPECULATIVE))
    plan = decided(fleet, demand_of(fleet, need()), Policy(rails=Rails(quotas=(Quota("p", 0),))))
    assert [one.reason.code for one in plan.shortfalls] == ["need.capped-by-quota"]


def test_a_clock_that_was_set_back_leaves_no_shortfall_in_the_future() -> None:
    fleet = fleet_of()
    demand = demand_of(fleet, need())
    _, memory = decide(fleet, demand, Memory(), Policy(), NOW, engine=NUMPY)
    plan, _ = decide(fleet, demand, memory, Policy(), NOW - MINUTE, engine=NUMPY)
    assert [one.since for one in plan.shortfalls] == [NOW - MINUTE]
