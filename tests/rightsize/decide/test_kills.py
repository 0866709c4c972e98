"""OOM kills raise, once."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
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
    steps_of,
    the,
    workload,
)
from tests.rightsize.estimate.builders import BEGIN, DAY

from remuda.rightsize.decide import words
from remuda.rightsize.evidence import Evidence, OomKill
from remuda.rightsize.snapshot import Ask, Container, Kill, LimitRange

#: in the day whose peak is the highest
AT = BEGIN + 3 * DAY + 60


def little(**fields: Any) -> Evidence:
    """So little use that only kills matter."""
    return evidence((90, 80, 100), peak=90, **fields)


def kill(requested: int | None, at: int = AT, part: str = "main", limit: int | None = None) -> Kill:
    asked = (None if each is None else each * MI for each in (requested, limit))
    return Kill(WEB, part, "web-0", at, *asked)


@pytest.mark.parametrize(
    ("request_now", "limit_now", "kills", "limit"),
    [
        pytest.param(256, 256, [256], 368, id="100Mi more than was requested: 356Mi in steps"),
        pytest.param(1000, 1000, [1000], 1216, id="a fifth more than was requested: 1200Mi in steps"),
        pytest.param(
            256, 1024, [256], 1024, id="a limit that may have been raised since is not what was used"
        ),
        pytest.param(256, 1024, [None], 1024, id="nor is it where nothing is known, and it is not lowered"),
        pytest.param(512, 2048, [256], 2048, id="who was killed is not given less"),
        pytest.param(
            95, 100, [None], 208, id="a limit that the peak of that day came near to: 200Mi in steps"
        ),
        pytest.param(105, 105, [None], 208, id="from 85 % on: 205Mi in steps"),
        pytest.param(106, 106, [None], 192, id="and not below: 100Mi more than the peak, 190Mi in steps"),
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
    assert steps_of(the(made), "kills")[0][1].startswith(f"killed {len(kills)} time")


def test_a_kill_counts_the_peak_of_its_day_as_used() -> None:
    known = little(days=days([50] * 8, [90, 90, 90, 600, 90, 90, 90, 90]))
    one = the(judge(workload(container(memory=256, memory_limit=256)), known=known, kills=(kill(256),)))
    assert memory_of(one)[1] == 720
    assert "600Mi used (the peak of that day)" in steps_of(one, "kills")[0][1]


@pytest.mark.parametrize("in_samples", [True, False])
def test_a_kill_is_one_whether_samples_or_pods_tell_it(in_samples: bool) -> None:
    reported = (OomKill(AT, 256 * MI),)
    known = little(kills=reported if in_samples else ())
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
    assert one.is_.startswith("OOM-killed 1 time, last at 2026-01-04T00:01:00Z, with")


def test_of_a_kill_that_is_reported_twice_the_higher_amounts_count() -> None:
    known = little(kills=(OomKill(AT, 256 * MI, 300 * MI),))
    for one in (kill(200, limit=512), kill(700, limit=200)):
        made = judge(workload(container(memory=2000, memory_limit=2000)), known=known, kills=(one,))
        most = max(one.requested or 0, one.limit or 0) // MI
        assert f"{most}Mi used" in steps_of(the(made), "kills")[0][1]


@pytest.mark.parametrize(
    ("peak", "limit"),
    [
        pytest.param(85, 208, id="85 % of the limit: it ran into it, and 100Mi more are 200Mi in steps"),
        pytest.param(84, 192, id="less: 100Mi more than the highest peak, 190Mi in steps"),
    ],
)
def test_a_peak_of_85_percent_of_the_limit_ran_into_it(peak: int, limit: int) -> None:
    known = little(days=days([50] * 8, [peak] * 8))
    made = judge(workload(container(memory=95, memory_limit=100)), known=known, kills=(kill(90),))
    assert memory_of(the(made))[1] == limit


@pytest.mark.parametrize(("limit", "severity"), [(356, "warning"), (355, "error")])
def test_a_limit_of_just_what_a_kill_asks_for_is_enough(limit: int, severity: str) -> None:
    known = little(days=days([50] * 8, [90] * 8))
    made = judge(workload(container(memory=256, memory_limit=limit)), known=known, kills=(kill(256),))
    assert found(made, "killed").severity == severity


def test_a_kill_reported_twice_is_one() -> None:
    known = little(kills=(OomKill(AT, 256 * MI),))
    made = judge(workload(container(memory=256, memory_limit=256)), known=known, kills=(kill(None),))
    assert "OOM-killed 1 time," in found(made, "killed").is_


@pytest.mark.parametrize(("at", "is_killed"), [(NOW - 8 * DAY, True), (NOW - 8 * DAY - 1, False)])
def test_a_kill_before_the_history_is_none(at: int, is_killed: bool) -> None:
    assert ("killed" in rules(judge(kills=(kill(256, at),)))) is is_killed


def test_a_kill_of_a_sibling_is_none() -> None:
    made = judge(workload(container(), container("side")), kills=(kill(256, part="side"),))
    assert the(made, part="main").risk == ""
    assert the(made, part="side").rules == ("killed",)


def test_a_kill_whose_cause_was_fixed_since_is_reported_and_no_risk() -> None:
    made = judge(workload(container(memory=512, memory_limit=2048)), known=little(), kills=(kill(256),))
    assert (the(made).risk, found(made, "killed").severity) == ("", "info")


def test_a_kill_with_a_limit_that_may_have_been_raised_since_is_reported_as_that() -> None:
    one = found(judge(workload(container(memory=256)), known=little(), kills=(kill(None),)), "killed")
    assert one.severity == "warning"
    assert one.is_.endswith("with 400Mi used (the peak of that day); the limit is 1Gi")
    assert one.fix == (
        "nothing, if its limit has been raised since the kill; if not, raise it by a fifth: which limit it ran into is not"
        " known"
    )


def test_a_kill_of_which_nothing_tells_the_use_is_a_risk_whatever_the_limit() -> None:
    known = little(memory_samples=0, memory_peak=0, days=())
    made = judge(known=known, kills=(kill(None),))
    assert (the(made).risk, memory_of(the(made))) == ("will-oom", (1024, 1024))
    assert found(made, "killed").fix.startswith("raise its memory limit: by how much is unknown")


@pytest.mark.parametrize("in_samples", [True, False])
def test_a_kill_at_a_limit_that_its_pod_tells_raises_it_once(in_samples: bool) -> None:
    known = little(kills=(OomKill(AT, 256 * MI),) if in_samples else ())
    at_limit = kill(256, limit=512)
    first = judge(workload(container(memory=256, memory_limit=512)), known=known, kills=(at_limit,))
    assert (the(first).risk, memory_of(the(first))[1]) == ("will-oom", 624)
    one = found(first, "killed")
    assert (one.severity, one.fix) == ("error", "raise its memory limit to 624Mi")
    assert "with 512Mi used (its limit then, which it ran into)" in one.is_
    again = judge(workload(Container("main", the(first).recommended)), known=known, kills=(at_limit,))
    assert (the(again).risk, the(again).recommended) == ("", the(first).recommended)
    assert (found(again, "killed").severity, found(again, "killed").fix) == (
        "info",
        "nothing: its size has been changed since",
    )


def test_where_the_limit_of_a_kill_is_known_it_is_not_called_uncertain() -> None:
    item = workload(container(memory=256, memory_limit=2048))
    one = the(judge(item, known=little(), kills=(kill(256, limit=512),)))
    assert steps_of(one, "kills")[-1][1] == "who was killed within the history is not given less"
    one = the(judge(item, known=little(), kills=(kill(256, limit=512), kill(256, AT + 60))))
    assert steps_of(one, "kills")[-1][1].endswith("which limit it ran into is not certain")


def test_the_same_kill_does_not_raise_again_and_again() -> None:
    known = evidence(
        (290, 280, 330), peak=240, days=days([200] * 8, [240] * 8), kills=(OomKill(NOW - DAY, 0),)
    )
    first = the(judge(workload(container(memory=250, memory_limit=256)), known=known))
    assert (first.risk, memory_of(first)) == ("will-oom", (290, 400))
    assert "256Mi used (its limit, near which it came with 240Mi that day)" in steps_of(first, "kills")[0][1]
    made = judge(workload(Container("main", first.recommended)), known=known)
    assert (the(made).risk, the(made).verdict, the(made).recommended) == ("", "keep", first.recommended)
    assert "240Mi used (the peak of that day)" in found(made, "killed").is_


@given(
    st.tuples(*[st.integers(20, 9000)] * 3).map(sorted),
    st.tuples(st.none() | st.integers(10, 9000), st.none() | st.integers(10, 9000)),
    st.integers(0, 9000),
    st.lists(
        st.tuples(st.integers(0, 8 * DAY), *[st.none() | st.integers(1, 9000)] * 2),
        max_size=3,
    ),
    st.sampled_from([None, "1", "4"]),
    st.sampled_from(["vpa", "krr"]),
    st.sampled_from([0.1, 8.0]),
)
def test_a_review_of_what_followed_a_review_changes_nothing(
    memory: list[int],
    asked: tuple[int | None, int | None],
    peak: int,
    kills: list[tuple[int, int | None, int | None]],
    tier: str | None,
    strategy: str,
    confidence: float,
) -> None:
    lower, target, upper = memory
    known = evidence((target, lower, upper), peak=peak, days=days([0] * 8, [peak] * 8), confidence=confidence)
    snapshot: Any = {
        "known": known,
        "strategy": strategy,
        "kills": tuple(kill(each, BEGIN + at, limit=limit) for at, each, limit in kills),
    }
    first = the(judge(workload(container(memory=asked[0], memory_limit=asked[1]), tier=tier), **snapshot))
    again = the(judge(workload(Container("main", first.recommended), tier=tier), **snapshot))
    assert again.recommended == first.recommended
    assert again.verdict in {"keep", "leave"}
    if first.recommended.limits.memory_bytes is not None and "killed" in first.rules and known.memory_peak:
        assert again.risk == ""


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


@pytest.mark.parametrize(("most", "number"), [(None, "672Mi"), (384, "384Mi")])
def test_a_limit_below_the_use_is_to_be_raised_to_the_number_that_is_recommended(
    most: int | None, number: str
) -> None:
    bounds = () if most is None else (LimitRange("shop", "x", "Container", most=Ask(None, most * MI)),)
    made = judge(workload(container(memory=200, memory_limit=300)), limit_ranges=bounds)
    assert found(made, "limit-below-use").fix == f"raise its memory limit to {number}"
    assert words.memory(the(made).recommended.limits.memory_bytes) == number


def test_a_number_to_type_is_a_quantity() -> None:
    known = evidence(peak=4000)
    made = judge(workload(container(memory=200, memory_limit=300)), known=known, strategy="krr")
    assert found(made, "limit-below-use").fix == "raise its memory limit to 4600Mi"
    bound = LimitRange("shop", "x", "Container", most=Ask(None, 2 * 10**9))
    made = judge(workload(container(memory=200, memory_limit=300)), known=known, limit_ranges=(bound,))
    assert found(made, "limit-below-use").fix == "raise its memory limit to 2G"
