"""When which class is asked: every promise is checked over whole histories in virtual time."""

import random
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from remuda.sources.circleci.pace import LONG_S, SLOW_S, Host, Pace, Turn

Reply = Callable[[str, float], tuple[int, bool] | None]


class Call(Struct, frozen=True):
    at: float
    job_class: str
    calls: int
    lists: bool


def names(count: int) -> list[str]:
    return [f"org/{number:03}" for number in range(count)]


def quiet(_: str, __: float) -> tuple[int, bool]:
    return 1, False


def live(
    pace: Pace, seconds: float, reply: Reply = quiet, *, start: float = 0.0, latency: float = 0.0
) -> list[Call]:
    """Go through a history: `reply` gives a number and whether it is new, or None for a failure."""
    now, end = start, start + seconds
    calls: list[Call] = []
    waiting: list[tuple[float, str]] = []
    while now < end:
        while waiting and waiting[0][0] <= now:
            _, name = waiting.pop(0)
            given = reply(name, now)
            if given is None:
                pace.failed(name)
            else:
                pace.answered(name, now, is_zero=given[0] == 0, is_new=given[1])
        turn = pace.next(now)
        if isinstance(turn, Turn):
            calls.append(Call(now, turn.job_class, turn.calls, turn.lists))
            waiting.append((now + latency, turn.job_class))
        else:
            assert turn > 0
            now = min([now + turn, *(at for at, _ in waiting[:1])])
    return calls


def pace_of(count: int, rate: float = 20.0, seed: int = 0) -> Pace:
    pace = Pace(Host(rate), random.Random(seed))
    pace.serve(names(count), 0.0)
    return pace


def gaps(calls: list[Call], start: float, end: float) -> dict[str, list[float]]:
    """Seconds between the turns of each class, with those to the begin and the end of the history."""
    at = defaultdict(list)
    for call in calls:
        at[call.job_class].append(call.at)
    return {
        name: [b - a for a, b in zip([start, *times], [*times, end], strict=True)]
        for name, times in at.items()
    }


def busiest_second(calls: list[Call]) -> int:
    """The most calls in any window of a second."""
    most, first, held = 0, 0, 0
    for call in calls:
        held += call.calls
        while calls[first].at <= call.at - 1.0:
            held -= calls[first].calls
            first += 1
        most = max(most, held)
    return most


@pytest.mark.slow
@given(
    count=st.integers(1, 60),
    rate=st.sampled_from([1.0, 5.0, 20.0, 50.0]),
    latency=st.sampled_from([0.0, 0.05, 3.0]),
    seed=st.integers(0, 2**16),
)
def test_safety_no_second_has_more_calls_than_the_rate_and_one_class(
    count: int, rate: float, latency: float, seed: int
) -> None:
    """Whatever is answered, with pauses, holds, classes that come and go, and calls nobody planned."""
    dice = random.Random(seed)

    def reply(_: str, __: float) -> tuple[int, bool] | None:
        return None if dice.random() < 0.2 else (dice.randrange(3), dice.random() < 0.3)

    pace = pace_of(count, rate, seed)
    calls: list[Call] = []
    now = 0.0
    for _ in range(6):
        calls += live(pace, 20.0, reply, start=now, latency=latency)
        now += 20.0
        match dice.randrange(5):
            case 0:
                now += 3.0
            case 1:
                pace.hold(now, dice.choice([None, 7.0]))
            case 2:
                pace.serve(names(dice.randrange(1, 80)), now)
            case 3:
                for _ in range(10):
                    calls.append(Call(now + pace.reserve(now), "close", 1, lists=True))
            case _:
                now += 100.0  # the whole process stood still
    calls.sort(key=lambda call: call.at)
    assert busiest_second(calls) <= rate + 3


@pytest.mark.slow
@given(count=st.integers(1, 80), rate=st.sampled_from([2.0, 20.0, 100.0]), seed=st.integers(0, 100))
def test_liveness_every_class_has_its_turn(count: int, rate: float, seed: int) -> None:
    """Two counts for each class, and the agents of those that changed, take their time and no more."""
    dice = random.Random(seed)
    pace = pace_of(count, rate, seed)
    seconds = max(30.0, count * 12 / rate)
    calls = live(pace, seconds, lambda *_: (1, dice.random() < 0.3))
    longest = max(1.0, 2 * count / rate)
    by_class = gaps(calls, 0.0, seconds)
    assert len(by_class) == count
    assert max(max(times) for times in by_class.values()) <= 2 * longest
    assert seconds / longest / 2 <= min(len(times) for times in by_class.values())


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_every_class_is_asked_each_second_while_there_is_room(count: int) -> None:
    """In the first turns all list their agents, which takes a place each."""
    by_class = gaps(live(pace_of(count), 60.0), 0.0, 60.0)
    for times in by_class.values():
        assert times[1:-1] == pytest.approx([1.0] * (len(times) - 2), abs=0.4)
        assert times[5:-1] == pytest.approx([1.0] * (len(times) - 6), abs=0.2)
        assert 59 <= len(times) - 1 <= 61


def test_classes_are_spread_over_the_interval() -> None:
    calls = live(pace_of(4), 10.0)
    assert [call.at for call in calls[:9]] == pytest.approx([0.25 * turn for turn in range(9)])


@pytest.mark.slow
def test_beyond_the_rate_all_wait_longer_by_the_same_factor() -> None:
    """Two counts a turn, agents in a tenth of the turns: 100 classes need 210 calls where 20 are allowed."""
    by_class = gaps(live(pace_of(100), 600.0), 0.0, 600.0)
    turns = {len(times) for times in by_class.values()}
    assert max(turns) - min(turns) <= 1
    for times in by_class.values():
        assert sum(times[2:-1]) / len(times[2:-1]) == pytest.approx(10.5, rel=0.05)


def test_agents_are_listed_now_and_then_and_soon_when_numbers_are_new() -> None:
    still = [call.at for call in live(pace_of(1), 60.0) if call.lists]
    assert still[0] == 0.0
    assert 0.0 < still[1] <= 10.0, "their rhythms are not all the same"
    assert still[2:] == pytest.approx([still[1] + 10.0 * turn for turn in range(1, len(still) - 1)])
    new_at = still[2] + 4.0
    moved = [call.at for call in live(pace_of(1), 60.0, lambda _, now: (1, now == new_at)) if call.lists]
    assert moved[:5] == pytest.approx([*still[:3], new_at + 1.0, new_at + 11.0])
    moving = [call.at for call in live(pace_of(1), 19.0, lambda *_: (1, True)) if call.lists]
    assert moving[1:] == pytest.approx([moving[1] + 2.0 * turn for turn in range(len(moving) - 1)])
    assert len(moving) >= 9


def test_a_class_without_tasks_for_long_is_asked_less_often_and_at_once_faster_when_it_changes() -> None:
    back = LONG_S + 102.0
    calls = live(pace_of(1), back + 20, lambda _, now: (int(now > back), False))
    at = [call.at for call in calls]
    before = [b - a for a, b in pairwise(at) if b < LONG_S]
    assert before == pytest.approx([1.0] * len(before))
    slow = [b - a for a, b in pairwise(at) if LONG_S + 5 < b < back]
    assert slow == pytest.approx([SLOW_S] * len(slow))
    after = [b - a for a, b in pairwise(at) if a > back]
    assert after == pytest.approx([1.0] * len(after))


@pytest.mark.slow
def test_classes_at_rest_leave_room_for_the_others() -> None:
    pace = pace_of(30)
    live(pace, LONG_S + 60, lambda name, _: (int(name < "org/005"), False))
    calls = live(pace, 60.0, lambda name, _: (int(name < "org/005"), False), start=LONG_S + 60)
    by_class = gaps(calls, LONG_S + 60, LONG_S + 120)
    assert len(by_class["org/000"]) == pytest.approx(60 / 1.15, rel=0.15)
    assert len(by_class["org/029"]) == pytest.approx(12 / 1.15, abs=2)


def test_a_class_that_only_fails_is_asked_less_often_until_it_answers() -> None:
    calls = live(pace_of(1), 60.0, lambda _, now: None if now < 30 else (1, False))
    at = [call.at for call in calls]
    between = [b - a for a, b in pairwise(at) if b < 30]
    assert between[0] == pytest.approx(1.0)
    assert between[3:] == pytest.approx([SLOW_S] * len(between[3:]), abs=SLOW_S / 2)
    assert len(between) < 10
    assert at[-5:] == pytest.approx([at[-1] - 4, at[-1] - 3, at[-1] - 2, at[-1] - 1, at[-1]])


def test_a_class_is_not_asked_again_before_it_answered() -> None:
    calls = live(pace_of(2), 60.0, latency=7.0)
    for times in gaps(calls, 0.0, 60.0).values():
        assert min(times[1:-1]) >= 7.0


@pytest.mark.parametrize("pause", [2.0, 3.7, 20.0, 1_000.05])
def test_no_pause_ends_in_a_burst_and_after_a_long_one_classes_are_spread_anew(pause: float) -> None:
    pace = pace_of(4)
    live(pace, 10.0)
    calls = live(pace, 20.0, start=10.0 + pause)
    assert busiest_second(calls) <= 12
    at = [call.at for call in calls if call.at > 20.0 + pause]
    assert max(b - a for a, b in pairwise(at)) <= 0.75
    if pause > 5:
        assert [b - a for a, b in pairwise(at)] == pytest.approx([0.25] * (len(at) - 1), abs=0.05)


def test_a_class_that_is_new_is_asked_at_once() -> None:
    pace = pace_of(3)
    live(pace, 10.0)
    pace.serve([*names(3), "org/new"], 10.0)
    calls = live(pace, 1.0, start=10.0)
    assert next(call.at for call in calls if call.job_class == "org/new") < 10.2


def test_a_class_that_is_gone_is_not_asked_and_its_late_answer_changes_nothing() -> None:
    pace = pace_of(3)
    assert isinstance(pace.next(0.0), Turn)
    pace.serve(names(3)[1:], 0.0)
    pace.answered("org/000", 0.1, is_zero=False, is_new=True)
    pace.failed("org/000")
    assert {call.job_class for call in live(pace, 5.0, start=0.1)} == {"org/001", "org/002"}


def test_without_classes_nobody_is_asked() -> None:
    assert pace_of(0).next(0.0) == 60.0


def test_a_host_that_wants_to_be_left_alone_is() -> None:
    pace = pace_of(3)
    live(pace, 10.0)
    pace.hold(10.0, 30.0)
    assert 30.0 <= pace.held(10.0) <= 33.0
    calls = live(pace, 60.0, start=10.0)
    assert 40.0 <= calls[0].at <= 44.0
    assert busiest_second(calls) <= 23
    assert pace.held(calls[0].at) == 0


def test_a_host_that_does_not_say_for_how_long_is_left_alone_ever_longer() -> None:
    pace = pace_of(1)
    now, holds = 0.0, []
    for _ in range(10):
        pace.hold(now, None)
        pace.hold(now, None)  # several calls were under way
        holds.append(pace.held(now))
        now += holds[-1]
    assert 1.0 <= holds[0] <= 2.2
    assert holds[4] > 4 * holds[0]
    assert 30.0 <= holds[-1] <= 66.0
    pace.answered("org/000", now, is_zero=True, is_new=False)
    pace.hold(now, None)
    assert pace.held(now) <= 2.2


def test_the_same_seed_gives_the_same_history() -> None:
    def history(seed: int) -> list[Call]:
        pace = pace_of(7, seed=seed)
        calls = live(pace, 20.0)
        pace.hold(20.0, None)
        return calls + live(pace, 20.0, start=20.0)

    assert history(1) == history(1)
    assert history(1) != history(2)
