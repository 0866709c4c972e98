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
    floors,
    found,
    judge,
    memory_of,
    rules,
    steps_of,
    the,
    workload,
)
from tests.rightsize.estimate.builders import BEGIN, DAY

from remuda.model.times import Duration
from remuda.rightsize.decide.leaks import Least, daily, rise_of, runs_of
from remuda.rightsize.evidence import Floor, OomKill
from remuda.rightsize.objects import RightsizePolicySpec
from remuda.rightsize.snapshot import Autoscaler

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
        pytest.param(
            [300, 310, 320, 330, 335, 334], 2, id="fourteen of fifteen pairs; recent days say how fast"
        ),
        pytest.param([100, 500, 510, 520, 530, 540, 550, 560], 10, id="the first day is not like the others"),
        pytest.param([300, 310, 320, 340, 335], None, id="nine of ten pairs are not more than nine tenths"),
        pytest.param([500, 520, 200, 210, 220, 230, 240, 250], 10, id="anew after a restart"),
        pytest.param([200, 300, 400, 500, 100, 110, 120, 130], None, id="too few days after a restart"),
        pytest.param([200, 220, 240, 260, 280, 150, 200, 220], 20, id="five days before a restart"),
        pytest.param([200, 220, 240, 260, 280, 150], 20, id="five days, and then a restart"),
        pytest.param([90, 200, 220, 100, 200, 220, 240, 260, 280, 150], 20, id="five days between restarts"),
        pytest.param([200, 220, 240, 260, 280, 150, 200, 199, 198], None, id="it rises no more"),
        pytest.param([200, 220, 240, 260, 280, 150, *[200] * 5], None, id="mended since"),
        pytest.param([200, 220, 240, 260, 280, 245, 246], None, id="what fell is not given back"),
        pytest.param([180, 200, 220, 240, 260, 200, 210, 230], 20, id="but for a tenth of what it is then"),
        pytest.param([180, 200, 220, 240, 260, 201, 210, 230], None, id="but for more"),
        pytest.param(
            [200, 220, 240, 260, 300, 298, 296, 299, *[150, 200, 220, 240, 260] * 3],
            None,
            id="it had come to rest before it was restarted",
        ),
    ],
)
def test_a_rise_is_the_median_slope_that_more_than_nine_of_ten_pairs_agree_on(
    least: list[int], a_day: int | None
) -> None:
    rise = rise_of(evidence(days=days(least)))
    assert (None if rise is None else rise.bytes_a_day // MI) == a_day


@pytest.mark.parametrize(
    ("least", "rests_at"),
    [
        pytest.param([632, 865, 950, 982, 993, 997, 999], 1000, id="a cache that is full since days"),
        pytest.param([118, 221, 313, 393, 465, 528, 583, 632], 1000, id="one that takes eight days"),
    ],
)
def test_what_slows_down_comes_to_rest(least: list[int], rests_at: int) -> None:
    rise = rise_of(evidence(days=days(least)))
    assert rise is not None
    assert rise.ceiling is not None
    assert rise.ceiling == pytest.approx(rests_at * MI, rel=0.1)
    assert rise.reaches(rise.ceiling + 1) is None


def test_a_cache_that_has_filled_up_is_no_leak_and_is_sized() -> None:
    known = evidence(days=days([40, 632, 865, 950, 982, 993, 997, 999]), memory=(1181, 1181, 1329), peak=1000)
    made = judge(workload(container(memory=1400, memory_limit=1400)), known=known)
    assert "leak" not in rules(made)
    assert memory_of(the(made)) == (1181, 1600)


def test_versions_that_are_larger_each_and_even_within_are_no_leak() -> None:
    some = tuple(Floor(BEGIN + n * DAY, 3600, ((300 + 20 * n) * MI,) * 24) for n in range(8))
    known = evidence(days=days([300 + 20 * n for n in range(8)]), floors=some, replicas=8)
    assert rise_of(known) is None
    assert "leak" not in rules(judge(known=known))


def test_one_replica_that_leaks_among_even_ones_is_a_leak() -> None:
    some = floors(RISING) + floors([500] * 8) + floors([501, 500] * 4)
    rise = rise_of(evidence(floors=some, replicas=3))
    assert rise is not None
    assert rise.bytes_a_day == 10 * MI


def test_of_many_replicas_one_that_rises_by_chance_is_no_leak() -> None:
    """Five days rise once in 120 times by chance: among ten replicas that is no surprise, and eight days are."""
    five = floors([300, 310, 320, 330, 340])
    assert rise_of(evidence(floors=five)) is not None
    assert rise_of(evidence(floors=five + floors([300] * 5) * 9, replicas=10)) is None
    assert rise_of(evidence(floors=floors(RISING) + floors([300] * 8) * 9, replicas=10)) is not None


def killed_on(*which: int) -> tuple[OomKill, ...]:
    """On some days, an hour after they began."""
    return tuple(OomKill(BEGIN + n * DAY + 3600, 512 * MI) for n in which)


#: in steps of six hours: of one that fills its limit in four days
LIFE = [200, 215, 230, 245, 260, 280, 300, 320, 340, 360, 380, 400, 420, 450, 480]
FED = [*LIFE, 60, *LIFE, 60]
EVEN = [300, 298, 301, 299, 300, 302, 299, 301, 300, 298, 302, 300, 299, 301, 300]
FULL = [200, 330, 400, 440, 465, 480, 485, 488, 489, 489, 490, 490, 490, 490, 490]


@pytest.mark.parametrize(
    ("least", "kills", "is_leak"),
    [
        pytest.param(FED, killed_on(4, 8), True, id="on the days of the drops"),
        pytest.param(FED, (OomKill(BEGIN + 90 * 3600, 0), OomKill(BEGIN + 186 * 3600, 0)), True, id="before"),
        pytest.param(FED, killed_on(4), True, id="only one of the kills is told"),
        pytest.param([*LIFE, 60, *LIFE], killed_on(4), True, id="the life after a kill counts as well"),
        pytest.param([*LIFE, 60, 200, 210], killed_on(4), False, id="one life is not enough"),
        pytest.param(FED, killed_on(2, 6), True, id="others are told"),
        pytest.param([*FULL, 60, *FULL, 60], killed_on(4, 8), False, id="a cache that fills up"),
        pytest.param([*EVEN, 60, *EVEN, 60], killed_on(4, 8), False, id="killed by spikes"),
        pytest.param([*LIFE, 60, *EVEN, 60, *EVEN, 60], killed_on(4, 8, 12), False, id="one of three lives"),
        pytest.param([*LIFE, 60, *LIFE, 60, *EVEN], killed_on(4, 8), False, id="repaired since"),
        pytest.param(
            [*[*LIFE, 60] * 3, *EVEN],
            killed_on(4, 8, 12),
            False,
            id="repaired since, after three of four lives",
        ),
        pytest.param([*LIFE, 60, *LIFE, 60, *EVEN[:9]], killed_on(4, 8), True, id="too soon to tell"),
        pytest.param(
            [*(each // 2 for each in LIFE), 30] * 2,
            killed_on(4, 8),
            False,
            id="killed at twice of what it gathered",
        ),
        pytest.param(
            [*range(300, 315), 60, *range(300, 315), 60], killed_on(4, 8), False, id="it hardly rises"
        ),
    ],
)
def test_a_rise_from_kill_to_kill_is_what_the_lives_between_them_have_in_common(
    least: list[int], kills: tuple[OomKill, ...], is_leak: bool
) -> None:
    rise = rise_of(evidence(floors=floors(least, DAY // 4), peak=512), kills)
    assert (rise is not None) is is_leak
    assert rise is None or 70 * MI < rise.bytes_a_day < 90 * MI


def test_a_fast_leak_needs_three_lives_and_is_known_by_its_limit_even_where_no_kill_is_reported() -> None:
    day = [150 + 2 * n for n in range(47)]
    for lives, is_leak in ((2, False), (3, True), (7, True)):
        known = evidence(floors=floors([*day, 100] * lives, DAY // 48), peak=250)
        assert (rise_of(known, limit=256 * MI) is not None) is is_leak
    assert rise_of(evidence(floors=floors([*day, 100] * 7, DAY // 48), peak=250), limit=512 * MI) is None


def test_what_is_killed_within_two_hours_is_no_leak() -> None:
    kills = tuple(OomKill(BEGIN + n * 5400 + 300, 0) for n in range(1, 9))
    steps = [100, 150, 200, 250, 300, 350, 400, 450, 500]
    assert rise_of(evidence(floors=floors(steps * 8, 600), peak=512), kills) is None


def test_a_daily_saw_tooth_with_kills_is_a_leak_and_is_not_fed() -> None:
    day = [150 + 2 * n for n in range(48)]
    known = evidence(floors=floors(day * 8, DAY // 48), peak=250, kills=killed_on(*range(1, 8)))
    made = judge(workload(container(memory=256, memory_limit=256)), known=known)
    assert (the(made).risk, memory_of(the(made))) == ("leak", (256, 256))


def test_a_leak_that_ends_in_kills_is_called_one_and_is_not_fed() -> None:
    known = evidence(floors=floors(FED, DAY // 4), peak=512, kills=killed_on(4, 8))
    made = judge(workload(container(memory=512, memory_limit=512)), known=known)
    assert (the(made).risk, memory_of(the(made))) == ("leak", (512, 512))
    assert found(made, "leak").is_ == (
        "killed and restarted 2 times, and each time the memory that it never falls below rises by 80Mi a day: its limit of"
        " 512Mi is reached 3d21h after a restart"
    )
    assert found(made, "killed").fix.startswith("fix the leak")
    [(text, remark)] = steps_of(the(made), "leak")
    assert text == "+80Mi a day: its limit of 512Mi is reached 3d21h after a restart"
    assert "killed and restarted 2 times, after which it is at 200Mi" in remark


def test_a_limit_that_was_raised_for_a_leak_is_not_called_a_fixed_one() -> None:
    known = evidence(floors=floors(FED, DAY // 4), peak=512, kills=killed_on(4, 8))
    made = judge(workload(container(memory=1024, memory_limit=1024)), known=known)
    assert (the(made).risk, memory_of(the(made))) == ("leak", (1024, 1024))
    assert found(made, "killed").fix.startswith("fix the leak")


def test_a_leak_that_was_restarted_in_time_is_reported_as_that() -> None:
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


def leasts(*amounts: int) -> tuple[Least, ...]:
    return tuple(Least(BEGIN + n * DAY, amount) for n, amount in enumerate(amounts))


def test_the_day_of_a_drop_is_not_counted_and_a_fall_by_a_tenth_is_no_drop() -> None:
    assert runs_of(leasts(100, 110, 98, 120)) == [leasts(100, 110), leasts(100, 110, 98, 120)[3:]]
    assert runs_of(leasts(100, 110, 99, 120)) == [leasts(100, 110, 99, 120)]
    assert runs_of(leasts(100, 50, 20)) == [leasts(100), (), ()]


def test_days_that_are_known_in_part_do_not_count() -> None:
    [whole] = floors([300] * 48, 3600)
    assert [day.at for day in daily(whole)] == [BEGIN, BEGIN + DAY]
    [later] = floors([300] * 44, 3600, BEGIN + 3 * 3600)
    assert [day.at for day in daily(later)] == [BEGIN + DAY]
    [soon] = floors([300] * 44, 3600, BEGIN + 2 * 3600)
    assert [day.at for day in daily(soon)] == [BEGIN, BEGIN + DAY]
    gaps = Floor(BEGIN, 3600, (300, None, None) * 8)
    assert daily(gaps) == ()


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
    assert steps_of(one, "leak")[0][1].startswith(
        "the least memory of a day rises in 28 of 28 pairs of 8 days"
    )


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
    assert found(made, "killed").fix.startswith("fix the leak")


@pytest.mark.parametrize(
    ("limit", "when"),
    [
        pytest.param(370, "is reached", id="it is there"),
        pytest.param(380, "is reached", id="a day later, which is now"),
        pytest.param(390, "will be reached at 2026-01-10T00:00:00Z", id="two days later, which is tomorrow"),
    ],
)
def test_a_leak_says_when_it_is_at_the_limit(limit: int, when: str) -> None:
    made = judge(workload(container(memory=limit, memory_limit=limit)), known=LEAK)
    assert steps_of(the(made), "leak")[0][0] == f"+10Mi a day: its limit of {limit}Mi {when}"
    assert found(made, "leak").is_.endswith(f"its limit of {limit}Mi {when}")


def test_a_rise_by_a_byte_a_day_is_one() -> None:
    some = (Floor(BEGIN, DAY, tuple(range(1000, 1008))),)
    rise = rise_of(evidence(floors=some))
    assert rise is not None
    assert rise.bytes_a_day == 1


def test_of_a_leak_whose_limit_is_below_the_use_the_leak_is_to_be_fixed() -> None:
    made = judge(workload(container(memory=300, memory_limit=430)), known=LEAK)
    assert found(made, "limit-below-use").fix.startswith("fix the leak")


def test_a_leak_that_an_autoscaler_counts_is_reported_with_both_reasons() -> None:
    made = judge(known=LEAK, autoscalers=(Autoscaler("web", WEB, "memory"),))
    assert {"leak", "scaled-by-use"} <= rules(made)
    assert the(made).risk == "leak"


@pytest.mark.parametrize(("limit", "is_leak"), [(1280, True), (1281, False)])
def test_a_limit_that_is_reached_on_the_day_of_the_next_review_is_a_leak(limit: int, is_leak: bool) -> None:
    """From 370Mi on the seventh day, by 10Mi a day: 910Mi more on the day of the review, 90 days after the eighth."""
    known = evidence(days=days(RISING), memory=(500, 450, 1100))
    made = judge(workload(container(memory_limit=limit)), known=known)
    assert ("leak" in rules(made)) is is_leak


def test_of_replicas_that_rise_the_fastest_is_the_leak() -> None:
    faster = [300 + 20 * n for n in range(8)]
    for some in (floors(RISING) + floors(faster), floors(faster) + floors(RISING)):
        rise = rise_of(evidence(floors=some, replicas=2))
        assert rise is not None
        assert rise.bytes_a_day == 20 * MI


def test_the_least_of_a_day_is_its_lowest_step() -> None:
    [day] = daily(Floor(BEGIN, DAY // 4, (300, 280, None, 310)))
    assert day == Least(BEGIN, 280)
