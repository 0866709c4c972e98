"""How many machines a pool wants by itself."""

import pytest
from tests.builders import NOW, settings

from remuda.model.needs import Need
from remuda.model.times import HOUR, MINUTE
from remuda.pools.decide.census import Census
from remuda.pools.decide.model import Bounds, Hours, Override, PoolMemory, PoolPolicy
from remuda.pools.decide.target import Wish, bounds_in_force, falling_steps, give_way, wish
from remuda.rules.windows import Window

OFFICE = Hours(Window("0 8 * * MON-FRI", "0 18 * * MON-FRI", "UTC"), Bounds(4, 20, 2))
LUNCH = Hours(Window("0 12 * * *", "0 13 * * *", "UTC"), Bounds(1, 1))
NOON = NOW + 12 * HOUR


def wished(
    pool: PoolPolicy,
    need: Need | None,
    *,
    live: int = 0,
    ready: int | None = None,
    pending: int = 0,
    override: Override | None = None,
    memory: PoolMemory | None = None,
    now: int = NOW,
) -> Wish:
    ready = live if ready is None else ready
    census = Census([], [], old=0, ready=ready, live=live, taking_room=live, pending=pending)
    return wish(pool, need, override or Override(), memory or PoolMemory(), census, 0, now)


def test_what_may_have_been_counted_twice_is_never_held_as_wanted() -> None:
    """A creation under way may be seen already under another name; held as wanted, it would be made once more."""
    stale, slow = Need(0, 0, stale_since=NOW), settings(min=1, scale_down_delay=MINUTE)
    held = wished(slow, stale, live=3, pending=1)
    assert (held.wanted, held.steps) == (2, ((NOW, 2),))
    assert wished(slow, stale, live=3, pending=1, override=Override(paused=True)).steps == ((NOW, 2),)


@pytest.mark.parametrize(
    ("pool", "waiting", "running", "wanted", "held_by"),
    [
        pytest.param(settings(), 0, 0, 0, "demand", id="no tasks and no minimum want nothing"),
        pytest.param(settings(min=3), 0, 0, 3, "min", id="the minimum holds without tasks"),
        pytest.param(settings(min=3), 1, 1, 3, "min", id="the minimum holds with few tasks"),
        pytest.param(settings(), 4, 3, 7, "demand", id="each task wants a machine, waiting or running"),
        pytest.param(settings(), 9, 3, 10, "max", id="the maximum holds"),
        pytest.param(settings(), 7, 3, 10, "demand", id="exactly the maximum is demand"),
        pytest.param(settings(min=3), 3, 0, 3, "demand", id="exactly the minimum is demand"),
        pytest.param(settings(headroom=2), 3, 0, 5, "demand", id="headroom comes on top of tasks"),
        pytest.param(settings(headroom=2), 0, 0, 0, "demand", id="no headroom without tasks"),
        pytest.param(settings(headroom=2, min=3), 0, 0, 3, "min", id="no headroom on top of the minimum"),
        pytest.param(settings(headroom_percent=50), 3, 0, 5, "demand", id="a part of the load is rounded up"),
        pytest.param(settings(headroom_percent=25), 4, 4, 10, "demand", id="a part counts running tasks too"),
        pytest.param(settings(headroom=5), 8, 0, 10, "max", id="headroom stays under the maximum"),
        pytest.param(settings(max=0), 5, 0, 0, "max", id="a maximum of nothing allows nothing"),
    ],
)
def test_a_pool_wants_its_tasks_and_headroom_within_its_bounds(
    pool: PoolPolicy, waiting: int, running: int, wanted: int, held_by: str
) -> None:
    seen = wished(pool, Need(waiting, running))
    assert (seen.wanted, seen.held_by) == (wanted, held_by)


def test_a_wish_names_each_of_its_terms() -> None:
    seen = wished(settings(min=1, headroom=2, max_surge=4), Need(9, 3), live=3)
    assert seen == Wish(
        unclaimed=9,
        running=3,
        headroom=2,
        min=1,
        max=10,
        bounds_from="pool",
        promised=1,
        bounded=10,
        wanted=7,
        firm=7,
        held_by="surge",
        steps=(),
    )


@pytest.mark.parametrize(
    ("live", "ready", "surge", "wanted"),
    [
        pytest.param(0, 0, 2, 2, id="nothing is ready: as many as may surge"),
        pytest.param(3, 3, 2, 5, id="ready machines and the surge on top"),
        pytest.param(5, 3, 2, 5, id="those that boot count as the surge"),
        pytest.param(8, 3, 2, 8, id="what exists already is not wanted less for it"),
        pytest.param(9, 9, 2, 10, id="the surge is no goal"),
        pytest.param(0, 0, None, 10, id="no limit by default"),
    ],
)
def test_at_most_so_many_machines_boot_at_once(live: int, ready: int, surge: int | None, wanted: int) -> None:
    assert wished(settings(max_surge=surge), Need(10, 0), live=live, ready=ready).wanted == wanted


@pytest.mark.parametrize(
    ("hours", "now", "bounds", "origin"),
    [
        pytest.param((), NOON, Bounds(0, 10), "pool", id="without windows the pool's own hold"),
        pytest.param((OFFICE,), NOON, Bounds(4, 20, 2), "window 1", id="an open window wins whole"),
        pytest.param((OFFICE,), NOON + 8 * HOUR, Bounds(0, 10), "pool", id="a closed window says nothing"),
        pytest.param((LUNCH, OFFICE), NOON, Bounds(1, 1), "window 1", id="the first open window wins"),
        pytest.param(
            (LUNCH, OFFICE),
            NOON + HOUR,
            Bounds(4, 20, 2),
            "window 2",
            id="the next one follows when it closes",
        ),
    ],
)
def test_windows_change_the_bounds(hours: tuple[Hours, ...], now: int, bounds: Bounds, origin: str) -> None:
    assert bounds_in_force(settings(hours=hours), Override(), now) == (bounds, origin)
    seen = wished(settings(hours=hours), Need(0, 0), now=now)
    assert (seen.min, seen.max, seen.bounds_from) == (bounds.min, bounds.max, origin)


@pytest.mark.parametrize(
    ("override", "bounds", "promised"),
    [
        pytest.param(
            Override(min=5), Bounds(5, 10, 1), 2, id="a raised minimum is no promise of the ceiling"
        ),
        pytest.param(Override(min=1), Bounds(1, 10, 1), 1, id="a lowered minimum lowers the promise"),
        pytest.param(Override(max=5), Bounds(2, 5, 1), 2, id="a maximum by hand leaves the minimum"),
        pytest.param(Override(min=12), Bounds(12, 12, 1), 2, id="a minimum by hand lifts the maximum"),
        pytest.param(Override(max=1), Bounds(1, 1, 1), 1, id="a maximum by hand presses the minimum down"),
        pytest.param(
            Override(min=8, max=4), Bounds(4, 4, 1), 2, id="of two that contradict the maximum holds"
        ),
        pytest.param(Override(min=3, max=4), Bounds(3, 4, 1), 2, id="both by hand"),
        pytest.param(Override(draining=True), Bounds(0, 0), 0, id="a drained pool wants nothing"),
        pytest.param(Override(draining=True, min=4), Bounds(0, 0), 0, id="draining beats bounds"),
    ],
)
def test_what_an_operator_sets_beats_the_pools_own_words(
    override: Override, bounds: Bounds, promised: int
) -> None:
    mine = settings(min=2, headroom=1)
    assert bounds_in_force(mine, override, NOW) == (bounds, "override")
    seen = wished(mine, Need(0, 0), override=override)
    assert (seen.min, seen.max, seen.bounds_from, seen.promised) == (
        bounds.min,
        bounds.max,
        "override",
        promised,
    )


def test_an_override_that_sets_no_bound_leaves_the_windows_in_force() -> None:
    mine = settings(hours=(OFFICE,))
    assert bounds_in_force(mine, Override(finish_rollout="t"), NOON) == (Bounds(4, 20, 2), "window 1")


def test_a_guarantee_larger_than_the_minimum_is_the_promise() -> None:
    assert wished(settings(min=1, guaranteed=4), Need(0, 0)).promised == 4


@pytest.mark.parametrize(
    ("need", "override", "wanted", "held_by"),
    [
        pytest.param(None, Override(), 5, "stale", id="a silent source shrinks nothing"),
        pytest.param(Need(0, 1, NOW), Override(), 5, "stale", id="a stale source shrinks nothing"),
        pytest.param(Need(7, 1, NOW), Override(), 8, "demand", id="a stale source may still want more"),
        pytest.param(None, Override(draining=True), 0, "demand", id="an operator may drain a silent pool"),
        pytest.param(
            Need(9, 0), Override(paused=True), 5, "paused", id="a paused pool wants no more than it has"
        ),
        pytest.param(
            Need(0, 0), Override(paused=True), 5, "paused", id="a paused pool wants no fewer than it has"
        ),
    ],
)
def test_without_fresh_news_or_while_paused_a_pool_wants_what_it_has(
    need: Need | None, override: Override, wanted: int, held_by: str
) -> None:
    seen = wished(settings(), need, live=5, override=override)
    assert (seen.wanted, seen.held_by) == (wanted, held_by)


def test_demand_must_stay_low_for_the_delay_before_a_pool_wants_less() -> None:
    mine, memory, counts = settings(scale_down_delay=5 * MINUTE), PoolMemory(), []
    for minute, tasks in enumerate([8, 8, 3, 3, 5, 3, 3, 3, 3, 3, 3, 3]):
        seen = wished(mine, Need(tasks, 0), live=8, memory=memory, now=NOW + minute * MINUTE)
        memory = PoolMemory(wanted=seen.steps)
        counts.append(seen.wanted)
    assert counts == [8, 8, 8, 8, 8, 8, 8, 5, 5, 5, 3, 3]


@pytest.mark.parametrize(
    ("before", "wanted", "live", "steps"),
    [
        pytest.param(
            (), 3, 5, ((NOW, 5), (NOW, 3)), id="with nothing remembered what exists was wanted until now"
        ),
        pytest.param((), 5, 5, ((NOW, 5),), id="nothing remembered and nothing to lose"),
        pytest.param((), 9, 5, ((NOW, 9),), id="nothing remembered and more wanted"),
        pytest.param(((NOW - 9, 5),), 5, 5, ((NOW - 9, 5),), id="a quiet pool remembers the same"),
        pytest.param(((NOW - 9, 5),), 7, 5, ((NOW, 7),), id="a rise forgets what was lower"),
        pytest.param(
            ((NOW - 9, 7), (NOW - 5, 3)),
            5,
            7,
            ((NOW - 9, 7), (NOW - 5, 5)),
            id="a rise below the highest does not keep it",
        ),
        pytest.param(
            ((NOW - 200, 7), (NOW - 100, 3)),
            3,
            7,
            ((NOW - 100, 3),),
            id="a step is over a delay after the next began",
        ),
        pytest.param(
            ((NOW - 200, 7), (NOW - 99, 3)), 3, 7, ((NOW - 200, 7), (NOW - 99, 3)), id="not a moment before"
        ),
        pytest.param(((NOW + 900, 5),), 5, 5, ((NOW, 5),), id="a clock that went back counts from now"),
        pytest.param(
            ((NOW + 900, 5), (NOW + 950, 2)), 2, 5, ((NOW, 5), (NOW, 2)), id="and waits the whole delay"
        ),
    ],
)
def test_steps_keep_the_highest_number_wanted_within_the_delay(
    before: tuple[tuple[int, int], ...], wanted: int, live: int, steps: tuple[tuple[int, int], ...]
) -> None:
    assert falling_steps(before, wanted, live, NOW, 100) == steps


@pytest.mark.parametrize(
    ("steps", "override", "wanted", "held_by"),
    [
        pytest.param(((NOW - 5, 8), (NOW - 1, 2)), Override(), 8, "delay", id="the delay holds"),
        pytest.param(
            ((NOW - 5, 99), (NOW - 1, 2)), Override(), 10, "delay", id="but never above the maximum"
        ),
        pytest.param(
            ((NOW - 5, 8), (NOW - 1, 2)), Override(max=2), 2, "demand", id="nor above one set by hand"
        ),
        pytest.param(
            ((NOW - 5, 8), (NOW - 1, 0)), Override(draining=True), 0, "max", id="draining does not wait"
        ),
        pytest.param(
            ((NOW - 5, 8), (NOW - 1, 3)), Override(paused=True), 3, "paused", id="pausing makes nothing"
        ),
    ],
)
def test_the_delay_holds_within_bounds_and_not_against_a_hand(
    steps: tuple[tuple[int, int], ...], override: Override, wanted: int, held_by: str
) -> None:
    mine, memory = settings(scale_down_delay=MINUTE), PoolMemory(wanted=steps)
    seen = wished(mine, Need(2, 0), live=3, override=override, memory=memory)
    assert (seen.wanted, seen.held_by) == (wanted, held_by)


@pytest.mark.parametrize(
    ("most", "left"),
    [
        pytest.param(2, ((1, 2), (3, 1)), id="what is held is lowered, and steps above it are over"),
        pytest.param(3, ((1, 3), (3, 1)), id="so is a step of the same height, which would hold nothing"),
        pytest.param(0, ((1, 1),), id="what is wanted now is never given away"),
    ],
)
def test_what_was_given_away_is_not_held_any_more(most: int, left: tuple[tuple[int, int], ...]) -> None:
    assert give_way(((1, 5), (2, 3), (3, 1)), most) == left
