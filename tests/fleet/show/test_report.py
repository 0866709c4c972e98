"""What is said of a decision: every reason in words with its numbers, whatever the fleet."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import pytest
from tests.fleet.builders import NOW, machines, need, requirements, shape
from tests.fleet.generate import ALL, START, by_cluster, draw_machines, draw_needs, draw_policy

from remuda.fleet.codes import CODES as FLEET_CODES
from remuda.fleet.inputs import Inputs
from remuda.fleet.plan import Op
from remuda.fleet.policy import Policy, Rails
from remuda.fleet.show.report import DescribedReason, PlanReport, describe, report
from remuda.fleet.show.why import why_need
from remuda.fleet.show.wording import amounts_text, kind_text, rules_of
from remuda.fleet.trial import Trial, try_out
from remuda.model.machines import State
from remuda.model.plans import Reason
from remuda.model.shapes import CapacityType, FleetMachine, Shape
from remuda.model.units import PINNED, FleetNeed, Separation, Spread, Unsatisfiable
from remuda.output.words import dollars, sentence

SOURCE = Path(__file__).parents[3] / "src" / "remuda" / "fleet"
_CODE = re.compile(r"(fleet|need|rail)\.[a-z]+(-[a-z]+)*")
#: a dash in the place of a term
_DASH = re.compile(r"(?<![^\s(])-(?![^\s,:;)])")


def trial(
    supply: list[FleetMachine],
    *needs: FleetNeed,
    policy: Policy | None = None,
    now: int = NOW,
    heard: bool = True,
) -> Trial:
    reports = {cluster: tuple(each) for cluster, each in by_cluster(needs).items()} if heard else {}
    return try_out(Inputs(tuple(supply), reports, policy or Policy(), (), ()), now)


def drawn(seed: int) -> Trial:
    rng = Random(seed)
    needs = draw_needs(rng, 6, ALL)
    return trial(draw_machines(rng, 20, needs), *needs, policy=draw_policy(rng), now=START)


@cache
def reports() -> tuple[tuple[Trial, PlanReport], ...]:
    return tuple((each, describe(each)) for each in map(drawn, range(60)))


def test_every_code_written_in_the_source_is_in_the_list_and_every_one_of_the_list_is_written() -> None:
    written = {
        node.value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _CODE.fullmatch(node.value)
    }
    assert written == set(FLEET_CODES)


@pytest.mark.slow
def test_every_reason_is_reported_with_its_numbers() -> None:
    seen: Counter[str] = Counter()
    for _, each in reports():
        reasons: list[tuple[Reason | DescribedReason, str]] = [
            (action.reason, action.told) for action in each.actions
        ]
        reasons += [(short.reason, short.reason.told) for short in each.shortfalls]
        reasons += [(reason, reason.told) for reason in (*each.rails, *each.notes)]
        for reason, text in reasons:
            seen[reason.code] += 1
            assert reason.code in FLEET_CODES
            assert not _DASH.search(text), text
            assert "{" not in text
            assert "None" not in text
            name = reason.subject.partition("/")[2] or reason.subject
            assert text.startswith(f"{name} ")
    assert len(seen) > 12, seen


@pytest.mark.slow
def test_what_a_program_gets_is_the_whole_plan() -> None:
    for each, said in reports():
        assert len(said.actions) == len(each.plan)
        assert [(action.id, action.op, action.expects, action.grace) for action in said.actions] == [
            (action.target, action.op, action.expects, action.grace)
            for action in each.plan.actions(each.fleet)
        ]
        assert len(said.shortfalls) == len(each.plan.shortfalls)
        assert {answer.subject for answer in said.needs} == {
            f"need/{need.cluster}/{need.name}" for need in each.needs.values()
        }
        assert sum(said.counts.values()) == len(said.actions)


@pytest.mark.slow
def test_the_groups_of_a_table_are_all_the_actions() -> None:
    for each, said in reports():
        tables = {table.title: table for table in report(each, "table").tables}
        rows = tables["actions"].rows if "actions" in tables else ()
        assert sum(int(row[2].replace(",", "")) for row in rows) == len(said.actions)
        assert len(rows) == len({(*row[:2], *row[3:]) for row in rows})
        assert len(tables["shortfalls"].rows if "shortfalls" in tables else ()) == len(said.shortfalls)


@pytest.mark.slow
def test_what_a_need_holds_and_is_given_is_what_it_asks_for_or_misses() -> None:
    for each, said in reports():
        for code, answer in zip(each.needs, said.needs, strict=True):
            asked = each.needs[code]
            labels = Counter(step.label for step in answer.steps)
            assert labels["asks"] == labels["matches"] == 1
            assert labels["missing"] == (code in each.shortfalls) == bool(answer.code)
            given = sum(
                len(places)
                for block, places in each.parts.get(code, ())
                if block.op in {Op.ADOPT, Op.ASSIGN, Op.CREATE}
            )
            shown = sum(
                int(step.text.split()[0].replace(",", ""))
                for step in answer.steps
                if step.label in {"adopts", "given", "made"}
            )
            assert given == shown, asked


def steps(found: Trial, code: int = 0) -> dict[str, list[tuple[str, str]]]:
    grouped: dict[str, list[tuple[str, str]]] = {}
    for step in why_need(found, code, changes=True).steps:
        grouped.setdefault(step.label, []).append((step.text, step.remark))
    return grouped


def test_a_need_is_given_the_cheapest_and_what_is_dearer_is_named() -> None:
    cheap, dear = shape("a", units=2, dollars=1), shape("b", units=1, dollars=3)
    found = steps(trial([*machines(1, cheap), *machines(4, dear)], need(count=2)))
    assert found["asks"] == [("2 units of cpu 1", "priority 0")]
    assert found["matches"] == [("5 of 5 machines would do", "no requirement but the size")]
    assert found["given"] == [("1 machine of t2 in a", "2 units each at $1.00 an hour, 0% of it unused")]
    assert found["left"] == [("4 machines of t1 in b, idle", "1 unit each at $3.00 an hour")]


def test_what_an_interruption_costs_is_reported() -> None:
    spot = Shape(
        "s", capacity_type=CapacityType.SPOT, allocatable={"cpu": 1_000}, price=100_000, interruption=50_000
    )
    found = steps(trial(machines(1, spot), need(interruption_penalty=10_000_000)))
    assert found["given"] == [
        (
            "1 machine of s, spot",
            "1 unit each at $0.10 an hour + $0.50 for what an interruption costs, 0% of it unused",
        )
    ]


def test_a_need_that_misses_something_shows_what_would_change_it() -> None:
    here = machines(2, shape("a"), State.CONFIGURED, cluster="d", need="other")
    there = machines(1, shape("b"))
    wants = need(count=1, requirements=requirements("topology.kubernetes.io/zone=a"))
    found = trial([*here, *there], wants, need("other", 2, cluster="d", priority=5))
    code = next(code for code, each in found.needs.items() if each.name == "n")
    assert steps(found, code)["missing"] == [
        ("1 of 1 unit", "c/n finds 2 machines that would do, and 2 are held by equal or higher priority")
    ]
    assert steps(found, code)["changes"] == [
        ("without topology.kubernetes.io/zone=a", "gives all of it"),
        ("a priority of 6", "gives all of it"),
    ]


def test_a_victim_and_its_preemptor_name_each_other() -> None:
    supply = machines(1, shape(), State.CONFIGURED, cluster="d", need="low")
    found = trial(supply, need("high", priority=2_000_000), need("low", cluster="d"))
    codes = {each.name: code for code, each in found.needs.items()}
    assert steps(found, codes["high"])["preempts"][0][0] == "1 machine of d/low"
    assert "in 10s at most" in steps(found, codes["high"])["preempts"][0][1]
    assert not {"holds", "awaits"} & steps(found, codes["low"]).keys()
    assert steps(found, codes["low"])["loses"] == [("1 machine", "preempted by c/high")]
    assert why_need(found, codes["low"], changes=False).headline.endswith(
        "loses some of it to a higher priority"
    )


def test_what_a_need_waits_for_is_reported() -> None:
    supply = [*machines(1, shape()), *machines(1, shape(), State.CREATING)]
    found = trial(supply, need(count=2))
    assert found.plan.shortfalls == ()
    assert steps(found)["awaits"][0][0] == "1 unit"


def test_a_pinned_need_shows_what_its_machine_costs() -> None:
    spot = Shape("s", allocatable={"cpu": 1_000}, price=100_000, interruption=1)
    found = trial(machines(1, spot), need(interruption_penalty=PINNED))
    assert "which nothing outweighs" in steps(found)["given"][0][1]
    assert (
        describe(found).actions[0].told.endswith("is given to c/n: 1 unit at a cost that nothing outweighs")
    )


def test_how_units_lie_to_each_other_is_reported() -> None:
    apart = need(separation=Separation(1))
    level = need(
        same="rack", spread=Spread("zone", 2, Unsatisfiable.SCHEDULE_ANYWAY), separation=Separation(3, "rack")
    )
    assert rules_of(apart) == ["at most 1 on one machine"]
    assert rules_of(level) == [
        "all in one rack, all of them or none",
        "level over zone, at most 2 apart, as far as possible",
        "at most 3 in one rack",
    ]


def test_a_need_expressed_as_a_sum_is_described_in_amounts() -> None:
    big = Shape("m", allocatable={"cpu": 4_000, "memory": 8 << 30})
    supply = machines(1, big, State.CONFIGURED, cluster="c", need="n")
    wants = FleetNeed("c", "n", {"cpu": 1_000, "memory": 1 << 30}, None, {"cpu": 16_000, "memory": 8 << 30})
    found = steps(trial(supply, wants))
    assert found["asks"][0][0] == "cpu 16, memory 8Gi in sum, the largest unit cpu 1, memory 1Gi"
    assert found["holds"][0][0] == "1 machine, cpu 4, memory 8Gi"
    assert found["missing"][0][0] == "75% of the sum"


def test_a_paused_fleet_shows_what_is_withheld() -> None:
    found = describe(trial(machines(1, shape()), need(), policy=Policy(rails=Rails(paused=True))))
    assert (found.actions, found.withheld) == ((), 1)
    assert [reason.told for reason in found.rails] == ["fleet is paused: 1 action is withheld"]


def test_a_cluster_that_was_not_heard_keeps_its_machines() -> None:
    found = describe(trial(machines(2, shape(), State.CONFIGURED, cluster="d", need="x"), heard=False))
    assert found.actions == ()
    assert [reason.told for reason in found.rails] == [
        "d was not heard since the start: 2 machines that no need claims stay"
    ]


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "$0.00"),
        (340_000, "$0.34"),
        (3_500, "$0.0035"),
        (1_250_000_000, "$1,250.00"),
        (-500_000, "-$0.50"),
        (10**13, "pinned"),
    ],
)
def test_sums_are_written_short(micros: int, text: str) -> None:
    assert dollars(micros) == text


def test_kinds_and_amounts_are_written_short() -> None:
    assert kind_text(Shape("m", zone="z", region="r", capacity_type=CapacityType.SPOT)) == "m in z, spot"
    assert kind_text(Shape("m", region="r")) == "m in r"
    assert (
        amounts_text({"cpu": 1_500, "memory": 16 << 30, "nvidia.com/gpu": 8})
        == "cpu 1500m, memory 16Gi, nvidia.com/gpu 8"
    )


@pytest.mark.parametrize("code", FLEET_CODES)
def test_a_reason_without_its_terms_is_still_a_sentence(code: str) -> None:
    assert sentence(Reason(code, "need/c/n")).startswith("c/n ")
