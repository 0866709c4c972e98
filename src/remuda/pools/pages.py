"""The pages of pools: their part of Now, all pools, and one pool with everything that is known of it."""

import bisect
import itertools
from collections import Counter

from msgspec import Struct

from remuda.control.client import path_of
from remuda.control.routes import Call
from remuda.errors import BadInput
from remuda.model.times import DAY, HOUR, MINUTE, SECOND, Duration, Instant
from remuda.output.moments import age
from remuda.pools.history import Next, PoolSeries, PoolsHistory, StartTimes
from remuda.pools.views import MachineView, PoolsView, PoolView
from remuda.pools.why import Why
from remuda.web.chart import Chart, Series
from remuda.web.page import Alarm, Ask, Content

#: how much of the past is shown, by what it is called in the address
SPANS = {"15m": 15 * MINUTE, "1h": HOUR, "6h": 6 * HOUR, "24h": DAY, "7d": 7 * DAY}
_SPAN = "1h"
#: pools whose strips are drawn on Now; those that need attention come first
_MOST_STRIPS = 12
#: machines in the table of a pool
_MOST_MACHINES = 200
_STRIP_POINTS = 120
#: spans that strips begin with, while not more is recorded
_STRIP_SPANS = (5 * MINUTE, 15 * MINUTE, HOUR)
_STATES = ("busy", "idle", "creating", "unknown", "draining", "ended")
#: what a person should look at
ALARMING = frozenset(
    {
        "pool.backing-off",
        "pool.broken",
        "pool.failing",
        "pool.held-by-stale",
        "pool.over-ceiling",
        "pool.paused",
        "pool.provider-silent",
        "pool.source-silent",
    }
)
_EDGES = [
    100,
    200,
    500,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
]


class Bar(Struct, frozen=True):
    """One bar of a histogram: what it counts, how many, and its share of the largest in percent."""

    name: str
    count: int
    percent: int


async def now_panel(ask: Ask) -> Content | None:
    """All pools in numbers, and the last hours of those that matter most."""
    view = await ask.get("/v1/pools", PoolsView)
    if not view.seen_at:
        return None
    history = await _last_hours(ask, view.seen_at)
    series = {each.pool: each for each in history.pools}
    shown = sorted(view.pools, key=_urgency)[:_MOST_STRIPS]
    strips = [(pool, _strip(pool.name, series.get(pool.name), history.times)) for pool in shown]
    values = {
        "states": _states(view.machines),
        "waiting": sum(pool.waiting for pool in view.pools),
        "running": sum(pool.running for pool in view.pools),
        "strips": strips,
        "more": len(view.pools) - len(shown),
        "alarming": ALARMING,
    }
    alarms = tuple(Alarm(pool.why, f"/pools/{pool.name}") for pool in view.pools if pool.code in ALARMING)
    return Content("pools/now.html", values, alarms=alarms)


async def _last_hours(ask: Ask, until: Instant) -> PoolsHistory:
    """The last three hours, or all there is of them, closer by the shorter that is: who just began sees something move."""

    async def asked(span: int) -> PoolsHistory:
        found: PoolsHistory = await ask.get(
            "/v1/history/pools", PoolsHistory, since=until - span, until=until, points=_STRIP_POINTS
        )
        return found

    history = await asked(3 * HOUR)
    lived = until - history.times[0] if history.times else 3 * HOUR
    closer = next((span for span in _STRIP_SPANS if lived < span), None)
    return history if closer is None else await asked(closer)


def _urgency(pool: PoolView) -> tuple[bool, int, str]:
    return pool.code not in ALARMING, -(pool.waiting + pool.live), pool.name


def _states(machines: tuple[MachineView, ...]) -> dict[str, int]:
    counts = Counter(machine.state for machine in machines)
    return {state: counts[state] for state in _STATES} | {
        state: count for state, count in sorted(counts.items()) if state not in _STATES
    }


def _strip(name: str, series: PoolSeries | None, times: list[Instant]) -> Chart:
    """A pool's last hours, small: what was asked for, what there was, and what the ceiling gave."""
    return _supply_chart(f"{name}: machines over the last hours", series, times, is_small=True)


def _supply_chart(
    title: str, series: PoolSeries | None, times: list[Instant], *, is_small: bool = False
) -> Chart:
    lines = (
        [
            Series("machines", "supply", series.live, is_area=True),
            Series("busy", "busy", series.busy, is_area=True),
            Series("demand", "demand", series.demand),
            Series("share of the ceiling", "limit", series.grant, is_dashed=True),
        ]
        if series
        else []
    )
    kept = tuple(line for line in lines if any(value is not None for value in line.values))
    return Chart(
        title=title,
        unit="machines",
        times=times,
        series=kept,
        notes=() if is_small or series is None else tuple(series.why),
        is_small=is_small,
    )


async def pools_page(ask: Ask, call: Call) -> Content:
    """All pools in a table."""
    del call
    view = await ask.get("/v1/pools", PoolsView)
    return Content("pools/pools.html", {"view": view, "alarming": ALARMING}, title="Pools")


async def pool_page(ask: Ask, call: Call) -> Content:
    """One pool: why it is as it is, its past, its machines, and what comes next."""
    name, span = call.names["pool"], call.query.get("span", _SPAN)
    if span not in SPANS:
        raise BadInput(f"span wants one of {', '.join(SPANS)}, found {span!r}")
    view = await ask.get(path_of("v1", "pools", name), PoolsView)
    why = await ask.get(path_of("v1", "why", "pool", name), Why)
    until = view.seen_at
    asked = {"since": max(0, until - SPANS[span]), "until": until, "points": 240}
    history = await ask.get(path_of("v1", "history", "pools", name), PoolsHistory, **asked)
    starts = await ask.get(path_of("v1", "history", "pools", name, "starts"), StartTimes, **asked)
    coming = await ask.get(path_of("v1", "pools", name, "next"), Next, at=until)
    pool = view.pools[0]
    machines = sorted(view.machines, key=lambda each: (_order(each.state), each.since, each.name))
    values = {
        "pool": pool,
        "seen_at": view.seen_at,
        "why": why,
        "chart": _supply_chart(
            f"Supply and demand of {name}", history.pools[0] if history.pools else None, history.times
        ),
        "machines": machines[:_MOST_MACHINES],
        "machine_count": len(machines),
        "states": _states(view.machines),
        "starts": histogram(starts.times),
        "start_count": len(starts.times),
        "median": brief(starts.times[len(starts.times) // 2]) if starts.times else "",
        "coming": coming,
        "span": span,
        "spans": tuple(SPANS),
        "is_alarming": pool.code in ALARMING,
        "new": pool.live - pool.old,
    }
    return Content("pools/pool.html", values, title=name)


def brief(ms: int) -> str:
    """A length of time that may be shorter than a second: `160ms`, `1.2s`, `3m40s`."""
    if ms < SECOND:
        return f"{ms}ms"
    return f"{ms / SECOND:.1f}s" if ms < 10 * SECOND else age(ms)


def _order(state: str) -> int:
    return _STATES.index(state) if state in _STATES else len(_STATES)


def histogram(times: list[int]) -> tuple[Bar, ...]:
    """Durations in milliseconds by how long they were; empty bars at both ends are left out."""
    counts = Counter(bisect.bisect_right(_EDGES, each) for each in times)
    if not counts:
        return ()
    most = max(counts.values())
    names = [f"< {Duration(_EDGES[0])}"]
    names += [f"{Duration(low)}–{Duration(high)}" for low, high in itertools.pairwise(_EDGES)]
    names.append(f"≥ {Duration(_EDGES[-1])}")
    return tuple(
        Bar(names[place], counts[place], counts[place] * 100 // most)
        for place in range(min(counts), max(counts) + 1)
    )
