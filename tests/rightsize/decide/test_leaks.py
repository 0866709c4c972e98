"""Leaks: what rises is called by its name, and not given more."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rightsize.decide.builders import (
    MI,
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

from remuda.model.times import Duration
from remuda.rightsize.decide.leaks import rise_of, since_drop
from remuda.rightsize.evidence import OomKill
from remuda.rightsize.objects import RightsizePolicySpec
from remuda.rightsize.workloads import Autoscaler

RISING = [300, 310, 320, 330, 340, 350, 360, 370]
LEAK = evidence(days=days(RISING))


@pytest.mark.parametrize(
    ("least", "a_day"),
    [
        pytest.param(RISING, 10, id="every day"),
        pytest.param([300, 310, 320, 330, 340], 10, id="five days are enough"),
        pytest.param([300, 310, 320, 330], None, id="four are not"),
        pytest.param([300] * 8, None, id="nothing rises"),
        pytest.param(RISING[::-1], None, id="it falls"),
        pytest.param([300, 310, 305, 330, 340, 335, 360, 370], 10, id="two of 28 pairs fall"),
        pytest.param([300, 305, 298, 304, 297, 306, 299, 303], None, id="noise"),
        pytest.param([300, 310, 320, 330, 335, 334], 8, id="fourteen of fifteen pairs"),
        pytest.param([300, 310, 320, 340, 335], None, id="nine of ten pairs are not more than nine tenths"),
        pytest.param([500, 520, 200, 210, 220, 230, 240, 250], 10, id="anew after a restart"),
        pytest.param([200, 300, 400, 500, 100, 110, 120, 130], None, id="too few days after a restart"),
        pytest.param([200, 220, 240, 260, 280, 150, 200, 220], 20, id="five days before a restart"),
        pytest.param([200, 220, 240, 260, 280, 150], 20, id="five days, and then a restart"),
        pytest.param([90, 200, 220, 100, 200, 220, 240, 260, 280, 150], 20, id="five days between restarts"),
        pytest.param([200, 220, 240, 260, 280, 150, 200, 199, 198], None, id="it rises no more"),
        pytest.param([200, 220, 240, 260, 280, 150, *[200] * 5], None, id="mended since"),
        pytest.param([200, 220, 240, 260, 280, 245, 246], None, id="what fell is not given back"),
    ],
)
def test_a_rise_is_the_median_slope_that_more_than_nine_of_ten_pairs_agree_on(
    least: list[int], a_day: int | None
) -> None:
    rise = rise_of(evidence(days=days(least), last=BEGIN + len(least) * DAY))
    assert (None if rise is None else rise.bytes_a_day // MI) == a_day


#: of one that fills its limit in four days
FED = [200, 300, 400, 60, 200, 300, 400, 60]


def killed_on(*which: int) -> tuple[OomKill, ...]:
    return tuple(OomKill(BEGIN + n * DAY + 3600, 512 * MI) for n in which)


@pytest.mark.parametrize(
    ("least", "kills", "a_day"),
    [
        pytest.param(FED, killed_on(3, 7), 100, id="on the days of the drops"),
        pytest.param(FED, killed_on(2, 6), 100, id="on the days before"),
        pytest.param(FED, killed_on(3), 100, id="the run after a kill counts as well"),
        pytest.param(FED, (), None, id="a cache that warms up"),
        pytest.param(FED, killed_on(1, 5), None, id="kills that are not what restarted it"),
        pytest.param([200, 300, 60, 200, 300, 60, 200, 300], killed_on(2, 5), None, id="three pairs"),
        pytest.param(
            [200, 300, 60, 200, 300, 60, 200, 300, 60, 200, 300], killed_on(2, 5, 8), 100, id="four pairs"
        ),
        pytest.param([300, 298, 301, 60, 300, 302, 299, 60], killed_on(3, 7), None, id="killed by spikes"),
        pytest.param([300, 301, 302, 60, 300, 301, 302, 60], killed_on(3, 7), None, id="it hardly rises"),
        pytest.param(
            [300, 60, 60, 300, 301, 302, 60, 60], killed_on(1, 2, 6, 7), None, id="killed day by day"
        ),
        pytest.param([200, 300, 400, 60, *[200] * 4], killed_on(3), None, id="mended since"),
        pytest.param([200, 300, 400, 60, 200, 300, 300, 60], killed_on(3, 7), None, id="five of six pairs"),
    ],
)
def test_a_rise_from_kill_to_kill_is_what_the_days_between_them_say_together(
    least: list[int], kills: tuple[OomKill, ...], a_day: int | None
) -> None:
    rise = rise_of(evidence(days=days(least), last=BEGIN + len(least) * DAY), kills)
    assert (None if rise is None else rise.bytes_a_day // MI) == a_day


def test_a_leak_that_ends_in_kills_is_called_one_and_is_not_fed() -> None:
    known = evidence(days=days(FED, [512] * 8), peak=512, kills=killed_on(3, 7))
    made = judge(workload(container(memory=512, memory_limit=512)), known=known)
    assert (the(made).risk, memory_of(the(made))) == ("leak", (512, 512))
    assert found(made, "leak").is_ == (
        "killed and restarted 2 times, and each time the least memory of a day rises by 100Mi a day: its limit of 512Mi is"
        " reached 3d2h after a restart"
    )
    assert found(made, "killed").fix.startswith("mend the leak")
    assert "killed and restarted 2 times, after which it is at 200Mi" in told(the(made), "leak")[0][1]


def test_a_limit_that_was_raised_for_a_leak_is_not_called_a_mended_one() -> None:
    known = evidence(days=days(FED, [512] * 8), peak=512, kills=killed_on(3, 7))
    made = judge(workload(container(memory=1024, memory_limit=1024)), known=known)
    assert (the(made).risk, memory_of(the(made))) == ("leak", (1024, 1024))
    assert found(made, "killed").fix.startswith("mend the leak")


def test_a_leak_that_was_restarted_in_time_is_told_as_that() -> None:
    known = evidence(days=days([200, 220, 240, 260, 280, 150, 200, 220]))
    assert found(judge(known=known), "leak").is_.startswith(
        "restarted 1 time, and each time the least memory of a day rises by 20Mi a day: its limit of 1Gi will be reached at"
    )


@given(
    st.sets(st.integers(0, 7)), st.integers(20, 2000), st.lists(st.integers(-20, 20), min_size=8, max_size=8)
)
def test_what_is_steady_but_for_kills_is_no_leak(which: set[int], level: int, noise: list[int]) -> None:
    """A fiftieth of noise, and a fresh start on each day of a kill."""
    least = [level // 4 if n in which else level + level * noise[n] // 1000 for n in range(8)]
    rise = rise_of(evidence(days=days(least)), killed_on(*which))
    assert rise is None or not rise.killed


def test_the_day_of_a_drop_is_not_counted_and_a_fall_by_a_tenth_is_no_drop() -> None:
    seen = days([100, 110, 98, 120])
    assert since_drop(seen) == seen[3:]
    level = days([100, 110, 99, 120])
    assert since_drop(level) == level


def test_days_that_are_known_in_part_do_not_count() -> None:
    assert rise_of(evidence(days=days(RISING), first=BEGIN + 7200, last=BEGIN + 5 * DAY + 7200)) is None
    assert rise_of(evidence(days=days(RISING), first=BEGIN + 3600, last=BEGIN + 5 * DAY - 3600)) is not None


def test_a_leak_is_called_one_and_memory_is_left_as_it_is() -> None:
    made = judge(workload(container(cpu=300)), known=LEAK)
    one = the(made)
    assert (one.risk, made.workloads[0].risk) == ("leak", "leak")
    assert memory_of(one) == (1024, 1024)
    assert one.recommended.requests.cpu_millicores == 100
    leak = found(made, "leak")
    assert leak.severity == "error"
    assert leak.is_ == (
        "the least memory of a day rises by 10Mi a day: its limit of 1Gi will be reached at 2026-03-14T09:36:00Z"
    )
    assert "not reached within 90d" in leak.should
    assert told(one, "leak")[0][1].startswith("the least of a day rises in 28 of 28 pairs of 8 days")


def test_a_leak_with_cpu_that_is_right_is_left_altogether() -> None:
    assert the(judge(known=LEAK)).verdict == "leave"


@pytest.mark.parametrize(
    ("every", "is_leak"),
    [pytest.param("65d", True, id="just before the review"), pytest.param("64d", False, id="just after it")],
)
def test_it_is_a_leak_when_it_comes_to_the_limit_before_the_next_review(every: str, is_leak: bool) -> None:
    policy = RightsizePolicySpec(review_every=Duration.parse(every))
    known = evidence(days=days(RISING), memory=(500, 450, 900))
    made = judge(workload(container(memory_limit=1024)), known=known, policy=policy)
    assert ("leak" in rules(made)) is is_leak


def test_where_only_a_lower_limit_would_be_reached_none_is_set() -> None:
    policy = RightsizePolicySpec(review_every=Duration.parse("40d"))
    made = judge(known=LEAK, policy=policy)
    assert memory_of(the(made)) == (1024, 1024)
    leak = found(made, "leak")
    assert leak.severity == "warning"
    assert "a limit of 672Mi will be reached at 2026-02-07T04:48:00Z" in leak.is_


def test_without_a_limit_the_one_it_would_get_counts() -> None:
    made = judge(workload(container(memory_limit=None)), known=LEAK)
    assert found(made, "leak").severity == "error"
    assert memory_of(the(made)) == (1024, None)


def test_a_leak_that_was_killed_is_a_leak_and_is_not_given_more() -> None:
    known = msgspec.structs.replace(LEAK, kills=(OomKill(BEGIN + DAY, 1024 * MI),))
    made = judge(known=known)
    assert (the(made).risk, memory_of(the(made))) == ("leak", (1024, 1024))
    assert found(made, "killed").fix.startswith("mend the leak")


def test_a_leak_that_an_autoscaler_counts_is_told_with_both_reasons() -> None:
    made = judge(known=LEAK, autoscalers=(Autoscaler("web", WEB, "memory"),))
    assert {"leak", "scaled-by-use"} <= rules(made)
    assert the(made).risk == "leak"
