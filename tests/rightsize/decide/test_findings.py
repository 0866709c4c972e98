"""The table of rules, and the form of what is found."""

import ast
from pathlib import Path

import msgspec
import pytest
from tests.rightsize.decide.builders import container, evidence, judge, rules, size, workload

from remuda.model.findings import SEVERITIES
from remuda.rightsize.codes import RULES
from remuda.rightsize.decide import findings
from remuda.rightsize.review import Review
from remuda.rightsize.snapshot import Ask, Container, LimitRange, Unknown

ROOM = Path(findings.__file__).parent


def used_rules() -> set[str]:
    """First arguments of `finding(…)` and `….find(…)` in the source."""
    named = set()
    for path in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Name(id="finding") | ast.Attribute(attr="find"),
                    args=[ast.Constant(value=str(rule)), *_],
                ):
                    named.add(rule)
    return named


def test_every_rule_is_in_the_table_and_reported_somewhere() -> None:
    assert set(RULES) == used_rules()


def test_the_gravest_come_first() -> None:
    made = judge(
        workload(container(memory=900, memory_limit=100, cpu_limit=50)),
        known=evidence(anomalies=("a gap",)),
        unknown=(Unknown("quotas", "403"), Unknown("limitranges", "403")),
    )
    order = [SEVERITIES.index(each.severity) for each in made.findings]
    assert order == sorted(order)
    assert {0, 1, 2} == set(order)
    assert [each.object for each in made.findings if each.rule == "not-read"] == ["limitranges", "quotas"]


def test_findings_that_differ_in_their_numbers_alone_have_an_order_of_their_own() -> None:
    ranges = [LimitRange("shop", "pods", "Pod", most=Ask(None, most * 2**20)) for most in (90, 110)]
    one, other = (judge(limit_ranges=each) for each in (tuple(ranges), tuple(reversed(ranges))))
    assert len(one.findings) == 2
    assert one == other


def test_a_container_names_the_rules_of_its_findings() -> None:
    made = judge(workload(container(cpu_limit=500)), known=evidence(anomalies=("a gap",)))
    assert set(made.workloads[0].containers[0].rules) == rules(made) == {"cpu-limit", "odd-samples"}


def test_a_review_is_written_and_read_again_as_it_is() -> None:
    made = judge(workload(container(cpu_limit=500)))
    assert msgspec.json.decode(msgspec.json.encode(made), type=Review) == made


def test_what_patches_need_of_a_template_comes_along() -> None:
    one = Container("main", size(100, 500, None, 672), {"x/gpu": "1"}, other_requests={"x/gpu": "1"}, index=2)
    item = msgspec.structs.replace(workload(one, container("bare")), init_containers=("first", "second"))
    made = judge(item)
    assert made.workloads[0].init_containers == ("first", "second")
    assert [(each.others, each.other_requests, each.index) for each in made.workloads[0].containers] == [
        ({"x/gpu": "1"}, {"x/gpu": "1"}, 2),
        ({}, {}, None),
    ]


@pytest.mark.parametrize("strategy", ["vpa", "krr"])
def test_how_sizes_are_written_comes_along_whether_or_not_they_are_judged(strategy: str) -> None:
    as_written = {"requests": {"cpu": "0.1"}}
    names = ("main", "bare")
    made = judge(workload(*(Container(name, written=as_written) for name in names)), strategy=strategy)
    assert [each.written for each in made.workloads[0].containers] == [as_written] * 2
