"""Kills for want of memory raise, once."""

from typing import Any

import pytest
from tests.rightsize.decide.builders import (
    MI,
    NOW,
    WEB,
    container,
    days,
    evidence,
    found,
    judge,
    memory_of,
    rules,
    the,
    told,
    workload,
)
from tests.rightsize.estimate.builders import BEGIN, DAY

from remuda.rightsize.evidence import Evidence, OomKill
from remuda.rightsize.workloads import Kill

#: in the day whose peak is the highest
AT = BEGIN + 3 * DAY + 60


def little(**fields: Any) -> Evidence:
    """So little use that only kills matter."""
    return evidence((260, 255, 270), peak=90, **fields)


def kill(requested: int | None, at: int = AT, part: str = "main") -> Kill:
    return Kill(WEB, part, "web-0", at, None if requested is None else requested * MI)


@pytest.mark.parametrize(
    ("request_now", "limit_now", "kills", "limit"),
    [
        pytest.param(256, 256, [256], 368, id="100Mi more than was requested: 356Mi in steps"),
        pytest.param(1000, 1000, [1000], 1216, id="a fifth more than was requested: 1200Mi in steps"),
        pytest.param(256, 1024, [256], 1280, id="a fifth more than the limit it still has"),
        pytest.param(256, 1024, [None], 1280, id="not known what it had: as if nothing was changed"),
        pytest.param(512, 2048, [256], 368, id="a size that was changed since counts for what it was"),
        pytest.param(256, None, [256], 368, id="without a limit"),
        pytest.param(256, 256, [256, 200, None], 368, id="the one that asks for the most"),
    ],
)
def test_a_kill_raises_to_more_than_was_used(
    request_now: int, limit_now: int | None, kills: list[int | None], limit: int
) -> None:
    made = judge(
        workload(container(memory=request_now, memory_limit=limit_now)),
        known=little(days=days([50] * 8, [90] * 8)),
        kills=tuple(kill(each, AT + 60 * n) for n, each in enumerate(kills)),
    )
    assert memory_of(the(made))[1] == limit
    assert told(the(made), "kills")[0][1].startswith(f"killed {len(kills)} time")


def test_a_kill_counts_the_peak_of_its_day_as_used() -> None:
    known = little(days=days([50] * 8, [90, 90, 90, 600, 90, 90, 90, 90]))
    one = the(judge(workload(container(memory=256, memory_limit=256)), known=known, kills=(kill(256),)))
    assert memory_of(one)[1] == 720
    assert "600Mi used (the peak of that day)" in told(one, "kills")[0][1]


@pytest.mark.parametrize("in_samples", [True, False])
def test_a_kill_is_one_whether_samples_or_pods_tell_it(in_samples: bool) -> None:
    told_by = (OomKill(AT, 256 * MI),)
    known = little(kills=told_by if in_samples else ())
    made = judge(
        workload(container(memory=256, memory_limit=256)),
        known=known,
        kills=() if in_samples else (kill(256),),
    )
    assert (the(made).risk, the(made).verdict) == ("will-oom", "raise")
    one = found(made, "killed")
    assert (one.severity, one.field) == (
        "error",
        "spec.template.spec.containers[main].resources.limits.memory",
    )
    assert one.is_.startswith("killed for want of memory 1 time, last at 2026-01-04T00:01:00Z, with")


def test_a_kill_told_twice_is_one() -> None:
    known = little(kills=(OomKill(AT, 256 * MI),))
    made = judge(workload(container(memory=256, memory_limit=256)), known=known, kills=(kill(None),))
    assert "killed for want of memory 1 time," in found(made, "killed").is_


@pytest.mark.parametrize(("at", "is_killed"), [(NOW - 8 * DAY, True), (NOW - 8 * DAY - 1, False)])
def test_a_kill_before_the_history_is_none(at: int, is_killed: bool) -> None:
    assert ("killed" in rules(judge(kills=(kill(256, at),)))) is is_killed


def test_a_kill_of_a_sibling_is_none() -> None:
    made = judge(workload(container(), container("side")), kills=(kill(256, part="side"),))
    assert the(made, part="main").risk == ""
    assert the(made, part="side").rules == ("killed",)


def test_a_kill_that_was_mended_since_is_told_and_no_risk() -> None:
    made = judge(workload(container(memory=512, memory_limit=2048)), known=little(), kills=(kill(256),))
    assert (the(made).risk, found(made, "killed").severity) == ("", "info")


def test_a_kill_without_a_limit_is_a_risk() -> None:
    made = judge(workload(container(memory_limit=None)), kills=(kill(1024),))
    assert (the(made).risk, found(made, "killed").severity) == ("will-oom", "error")


@pytest.mark.parametrize(
    ("peak", "limit"),
    [
        pytest.param(610, 672, id="a peak within the rule is nothing"),
        pytest.param(615, 688, id="a tenth above the peak, in steps"),
        pytest.param(2000, 2240, id="a high one"),
    ],
)
def test_memory_is_never_less_than_a_tenth_above_the_highest_use(peak: int, limit: int) -> None:
    assert memory_of(the(judge(known=evidence(peak=peak))))[1] == limit


@pytest.mark.parametrize(
    ("limit", "is_risk"),
    [pytest.param(439, True, id="a byte too little"), pytest.param(440, False, id="enough")],
)
def test_a_limit_below_what_was_used_with_a_tenth_will_kill(limit: int, is_risk: bool) -> None:
    made = judge(workload(container(memory=200, memory_limit=limit)))
    assert (the(made).risk == "will-oom") is is_risk
    assert ("limit-below-use" in rules(made)) is is_risk
