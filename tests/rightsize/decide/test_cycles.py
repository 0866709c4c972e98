"""Lives from kill to kill: where one ends and the next begins, and what of it counts. Memory is in MiB."""

from collections.abc import Sequence
from math import comb

import pytest
from tests.rightsize.decide.builders import MI, evidence
from tests.rightsize.estimate.builders import BEGIN, DAY, HOUR

from remuda.rightsize.decide.cycles import rise_between_kills
from remuda.rightsize.decide.rises import Rise
from remuda.rightsize.evidence import Floor, OomKill

SIX = 6 * HOUR
#: the first life, of 30 hours, and what is there after it is over
FIRST = [200, 250, 300, 350, 400]
THEN = [345, 355, 365, 375, 385, 400]


def rise(
    least: Sequence[int | None], *killed: int, step: int = SIX, peak: int = 400, limit: int | None = None
) -> Rise | None:
    """Of one replica, killed so many seconds after the beginning."""
    floor = Floor(BEGIN, step, tuple(None if each is None else each * MI for each in least))
    kills = [OomKill(BEGIN + at, 0) for at in killed]
    return rise_between_kills(evidence(floors=(floor,), peak=peak), kills, limit)


@pytest.mark.parametrize(
    ("length", "skipped"),
    [
        pytest.param(30, 6, id="an hour of five"),
        pytest.param(20, 5, id="a fourth of three hours and twenty minutes"),
    ],
)
def test_what_a_life_fills_with_at_first_is_left_out_but_of_the_first_life(length: int, skipped: int) -> None:
    life = [100 + 10 * n for n in range(length)]
    peak = 100 + 10 * length
    every = (length + 1) * 600
    found = rise([*life, 50] * 3, every - 600, 2 * every - 600, 3 * every - 600, step=600, peak=peak)
    pairs = comb(length, 2) + 2 * comb(length - skipped, 2)
    lived = length * 600 + 2 * every
    assert found == Rise(
        BEGIN,
        BEGIN + 3 * every,
        lived // DAY,
        pairs,
        pairs,
        bytes_a_day=10 * 144 * MI,
        level=(100 + 10 * skipped) * MI,
        restarts=3,
        killed=3,
    )


def test_days_of_lives_are_counted_from_the_first_to_the_last_step_of_each() -> None:
    # 15 steps of six hours, then 16 and 16 with the step of the kill
    life = [100 + 10 * n for n in range(15)]
    found = rise([*life, 50] * 3, peak=240, limit=240 * MI)
    assert found is not None
    assert (found.first, found.last, found.days) == (BEGIN, BEGIN + 12 * DAY, (15 + 16 + 16) * 6 // 24)


@pytest.mark.parametrize(
    ("killed", "is_seen"),
    [
        pytest.param(4 * SIX - 900, True, id="a quarter of an hour before the step before it"),
        pytest.param(4 * SIX - 901, False, id="sooner"),
        pytest.param(6 * SIX + 900, True, id="a quarter of an hour after its step"),
        pytest.param(6 * SIX + 901, False, id="later"),
    ],
)
def test_a_small_fall_is_a_restart_where_a_kill_is_reported_about_then(killed: int, is_seen: bool) -> None:
    assert (rise([*FIRST, 340, *THEN], killed) is not None) is is_seen


@pytest.mark.parametrize(
    ("here", "is_seen"),
    [
        pytest.param(360, False, id="a fall by a tenth"),
        pytest.param(359, True, id="by more"),
    ],
)
def test_a_restart_gives_back_more_than_a_tenth(here: int, is_seen: bool) -> None:
    then = [here + 5, here + 10, here + 20, here + 30, here + 40, here + 60]
    assert (rise([*FIRST, here, *then], 5 * SIX, peak=420) is not None) is is_seen


@pytest.mark.parametrize(
    ("limit", "is_seen"),
    [
        pytest.param(450 * MI, True, id="from nine tenths of it"),
        pytest.param(450 * MI + 1, False, id="from a byte less"),
        pytest.param(None, False, id="no limit"),
    ],
)
def test_what_falls_from_near_its_limit_was_killed_though_nobody_says_so(
    limit: int | None, is_seen: bool
) -> None:
    least = [200, 250, 300, 350, 405, 340, *THEN, 405]
    assert (rise([*least], limit=limit, peak=405) is not None) is is_seen


@pytest.mark.parametrize(
    ("peak", "here", "is_seen"),
    [
        pytest.param(533, 299, True, id="from three fourths of the peak to below three fourths of that"),
        pytest.param(534, 299, False, id="from less than three fourths of the peak"),
        pytest.param(533, 300, False, id="to no less than three fourths"),
    ],
)
def test_a_fall_like_one_of_a_kill_is_one_where_there_are_kills(peak: int, here: int, is_seen: bool) -> None:
    then = [310, 325, 340, 355, 375, 400]
    assert (rise([*FIRST, here, *then], 999 * DAY, peak=peak) is not None) is is_seen
    assert rise([*FIRST, here, *then], peak=peak) is None


@pytest.mark.parametrize(("length", "is_leak"), [(12, True), (11, False)])
def test_lives_of_two_hours_are_long_enough(length: int, is_leak: bool) -> None:
    life = [100 + 10 * n for n in range(length)]
    least = [*life, *[50, *life[1:]] * 4]
    assert (rise(least, step=600, peak=life[-1], limit=life[-1] * MI) is not None) is is_leak


@pytest.mark.parametrize(
    ("lives", "is_leak"),
    [
        pytest.param("llll", True, id="four of four"),
        pytest.param("lell", True, id="three of four"),
        pytest.param("ell", False, id="two of three"),
        pytest.param("llle", False, id="the last one does not"),
        pytest.param("leell", False, id="three of five"),
    ],
)
def test_three_of_four_lives_gather_and_the_last_one_is_among_them(lives: str, is_leak: bool) -> None:
    even = [300, 298, 301, 299, 300]
    least = [n for life in lives for n in (*(FIRST if life == "l" else even), 100)]
    killed = [(6 * n + 5) * SIX for n in range(len(lives))]
    assert (rise(least, *killed) is not None) is is_leak


@pytest.mark.parametrize(
    ("length", "is_leak"), [pytest.param(5, True, id="as old"), pytest.param(4, False, id="younger")]
)
def test_the_life_that_is_on_counts_once_it_is_as_old_as_those_that_ended(length: int, is_leak: bool) -> None:
    on = [210, 280, 330, 400][: length - 1]
    assert (rise([*FIRST, 100, *on], 5 * SIX) is not None) is is_leak


@pytest.mark.parametrize(
    ("life", "peak", "is_leak"),
    [
        pytest.param([200, 270, 300], 300, True, id="three tenths of it in the second half"),
        pytest.param([200, 271, 300], 300, False, id="less in the second half: it fills up"),
        pytest.param(
            [200, 205, 210, 270, 280, 300], 300, True, id="the second half of six begins with the fourth"
        ),
        pytest.param([200, 205, 210, 271, 280, 300], 300, False, id="and not before"),
        pytest.param([200, 210, 221], 221, True, id="more than a tenth is gathered"),
        pytest.param([200, 210, 220], 220, False, id="a tenth"),
        pytest.param([200, 250, 300], 400, True, id="three fourths of what it is killed at are there"),
        pytest.param([200, 250, 300], 401, False, id="less is there"),
        pytest.param([200, None, 300], 300, False, id="too few steps"),
        pytest.param([250, 240, 300], 300, False, id="a third of the pairs falls"),
    ],
)
def test_a_life_gathers_that_rises_to_its_end_and_ends_full(
    life: list[int | None], peak: int, is_leak: bool
) -> None:
    steps = [*life, 100] * 3
    killed = [((len(life) + 1) * n + len(life)) * 12 * HOUR for n in range(3)]
    assert (rise(steps, *killed, step=12 * HOUR, peak=peak) is not None) is is_leak


def test_lives_of_a_day_are_not_over_a_day_and_need_a_third() -> None:
    day, more = [200, 270, 330, 400], [200, 250, 300, 350, 400]
    assert rise([*day, *[100, *day[1:]]], 4 * SIX, 8 * SIX) is None
    assert rise([*day, *[100, *day[1:]] * 2], 4 * SIX, 8 * SIX) is not None
    assert rise([*more, *[100, *more[1:]]], 5 * SIX, 10 * SIX) is not None


def test_a_kill_after_the_first_step_ends_a_life_and_steps_alike_are_no_rise() -> None:
    life = [200, 300, 300, 350, 400]
    found = rise([400, *[100, *life] * 4], SIX, *((6 * n + 7) * SIX for n in range(4)))
    assert found is not None
    assert (found.killed, found.restarts) == (4, 4)
    assert (found.rising, found.pairs) == (4 * 9, 4 * 10)


def test_85_of_100_pairs_are_enough() -> None:
    """Of 16 steps that rise there are 120 pairs; six of them turned round make 15 that fall, three more 3: 18 are 15 %."""
    rising = [200 + 10 * n for n in range(16)]
    enough = [*rising[:2], *rising[2:8][::-1], rising[8], *rising[9:12][::-1], *rising[12:]]
    too_few = [*enough[:14], 350, 340]
    for life, is_leak in ((enough, True), (too_few, False)):
        steps = [*life, 100] * 3
        killed = [(17 * n + 16) * SIX for n in range(3)]
        assert (rise(steps, *killed, peak=350) is not None) is is_leak


def test_of_several_replicas_the_one_that_was_killed_most_often_speaks() -> None:
    def floor(start: int, lives: int) -> Floor:
        life = [start, start + 50, start + 100, start + 150, start + 200]
        return Floor(BEGIN, SIX, tuple(n * MI for n in [*life, 10] * lives))

    some = (floor(200, 2), floor(100, 4), floor(150, 3))
    kills = [OomKill(BEGIN + (6 * n + 5) * SIX, 0) for n in range(4)]
    found = rise_between_kills(evidence(floors=some, peak=400), kills, None)
    assert found is not None
    assert (found.killed, found.level) == (4, 100 * MI)


def pods(*lives: Sequence[int], apart: int = SIX) -> tuple[Floor, ...]:
    """One pod after the other, each with the memory of its life."""
    found, begin = list[Floor](), BEGIN
    for life in lives:
        found.append(Floor(begin, SIX, tuple(n * MI for n in life)))
        begin = found[-1].end + apart
    return tuple(found)


@pytest.mark.parametrize(
    ("late", "is_leak"),
    [
        pytest.param(0, True, id="at its end"),
        pytest.param(SIX + 900, True, id="a step and a quarter of an hour after it"),
        pytest.param(SIX + 901, False, id="later"),
        pytest.param(-SIX - 900, True, id="a step and a quarter of an hour before it"),
        pytest.param(-SIX - 901, False, id="earlier"),
    ],
)
def test_kills_that_each_bring_a_new_pod_are_lives_of_pods_that_follow_each_other(
    late: int, is_leak: bool
) -> None:
    some = pods(*[FIRST] * 4, apart=3 * SIX)
    kills = [OomKill(floor.end + late, 0) for floor in some[:3]]
    found = rise_between_kills(evidence(floors=some, peak=400), kills, None)
    assert (found is not None) is is_leak
    if found is not None:
        assert (found.killed, found.level, found.first, found.last) == (3, 200 * MI, BEGIN, some[-1].end)


def test_pods_that_end_without_a_kill_or_with_none_to_follow_were_not_killed() -> None:
    some = pods(*[FIRST] * 4)
    assert rise_between_kills(evidence(floors=some, peak=400), [], 400 * MI) is None
    together = tuple(Floor(BEGIN, SIX, floor.least) for floor in some)
    kills = [OomKill(together[0].end, 0)]
    assert rise_between_kills(evidence(floors=together, peak=400), kills, None) is None


def test_runs_of_a_job_are_not_compared_with_each_other() -> None:
    some = pods(*[FIRST] * 4)
    known, kills = evidence(floors=some, peak=400), [OomKill(floor.end, 0) for floor in some]
    assert rise_between_kills(known, kills, None) is not None
    assert rise_between_kills(known, kills, None, is_job=True) is None


def test_a_kill_within_a_pod_and_one_that_ended_it_are_both_counted() -> None:
    day = [200, 270, 330, 400]
    some = pods([*day, 100, *day[1:]], day, day)
    kills = [OomKill(BEGIN + 4 * SIX, 0), *(OomKill(floor.end, 0) for floor in some[:2])]
    found = rise_between_kills(evidence(floors=some[::-1], peak=400), kills, None)
    assert found is not None
    assert (found.killed, found.restarts) == (3, 3)
