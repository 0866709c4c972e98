"""By KRR's rule or another one: both rules are shown, bounds from outside are the same."""

import pytest
from tests.rightsize.decide.builders import (
    MI,
    container,
    estimate,
    evidence,
    judge,
    memory_of,
    size,
    steps_of,
    the,
    workload,
)

from remuda.rightsize.estimate.estimator import Amounts, Estimate
from remuda.rightsize.evidence import OomKill
from remuda.rightsize.snapshot import Ask, LimitRange


def krr(cpu: int, memory: int) -> Estimate:
    amounts = Amounts(cpu, memory * MI)
    return Estimate(amounts, amounts, amounts)


@pytest.mark.parametrize("tier", ["0", "4"])
def test_krr_requests_its_limit_whatever_the_tier(tier: str) -> None:
    one = the(judge(workload(tier=tier), known=evidence(krr=krr(90, 460)), strategy="krr"))
    assert one.recommended == size(90, 460, None, 460)
    assert one.krr_rule == one.recommended
    assert steps_of(one, "memory")[0] == (
        "KRR 460Mi",
        "the highest sample with 15 %, rounded up to whole megabytes, at least 100 of them",
    )


def test_both_rules_are_shown_whatever_the_strategy() -> None:
    known = evidence(krr=krr(90, 460))
    by_vpa, by_krr = the(judge(known=known)), the(judge(known=known, strategy="krr"))
    assert (by_vpa.vpa_rule, by_vpa.krr_rule) == (by_krr.vpa_rule, by_krr.krr_rule)
    assert by_vpa.vpa_rule == size(100, 500, None, 672)
    assert by_vpa.krr_rule == size(90, 460, None, 460)
    assert the(judge(known=evidence(krr=None))).krr_rule is None


def test_kills_and_limit_ranges_bound_krr_as_well() -> None:
    known = evidence(krr=krr(90, 460), kills=(OomKill(1_767_600_000, 600 * MI),))
    small = workload(container(memory=600, memory_limit=600))
    assert memory_of(the(judge(small, known=known, strategy="krr"))) == (720, 720)
    most = LimitRange("shop", "x", "Container", most=Ask(80, 700 * MI))
    one = the(judge(small, known=known, strategy="krr", limit_ranges=(most,)))
    assert (memory_of(one), one.recommended.requests.cpu_millicores) == ((700, 700), 80)


def test_krr_keeps_what_is_near() -> None:
    near = workload(container(cpu=95, memory=480, memory_limit=480))
    assert the(judge(near, known=evidence(krr=krr(90, 460)), strategy="krr")).verdict == "keep"


def test_another_strategy_is_taken_for_its_bounds_as_the_recommenders_are() -> None:
    other = estimate((300, 280, 400), (50, 40, 60))
    one = the(judge(known=evidence(other=other, peak=100), strategy="mine"))
    assert one.recommended == size(50, 300, None, 480)
    assert steps_of(one, "memory")[0] == ("target 300Mi", "by the strategy mine")
    assert one.vpa_rule == size(100, 500, None, 672)
