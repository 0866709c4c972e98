"""A page of what happened in a simulated fleet: supply, demand, cost and churn over time, in one file."""

from collections.abc import Callable, Sequence

from remuda.model.times import HOUR
from remuda.sim.fleet_meter import Point
from remuda.sim.fleet_queue import START
from remuda.sim.fleet_scenario import Request
from remuda.sim.fleet_summary import FleetSummary
from remuda.web.chart import Chart, Series
from remuda.web.page import Content
from remuda.web.standalone import write_page

_CENT = 10_000


def page(summary: FleetSummary, points: Sequence[Point]) -> str:
    """The whole page. It loads nothing from elsewhere, and is the same for the same history."""
    request = Request(summary.seed, summary.machines, summary.clusters, summary.hours, summary.fault_level)
    title = f"A simulated fleet: seed {summary.seed}, {summary.machines:,} machines, {summary.clusters:,} clusters"
    values = {"summary": summary, "numbers": _numbers(summary), "charts": _charts(points)}
    ended = START + round(summary.hours * HOUR)
    return write_page(
        Content("sim/fleet.html", values, title),
        ["remuda.sim"],
        ended,
        f"remuda simulate fleet {request.words()}",
    )


def _charts(points: Sequence[Point]) -> list[tuple[Chart, str]]:
    """Each with what it shows, in a line."""

    def values(of: Callable[[Point], int]) -> list[int]:
        return [of(point) for point in points]

    times = [point.at - START for point in points]
    supply = (
        Series("configured", "configured", values(lambda point: point.configured)),
        Series("on their way", "creating", values(lambda point: point.moving)),
        Series("idle", "idle", values(lambda point: point.idle)),
        Series("failed", "failed", values(lambda point: point.failed)),
    )
    demand = (
        Series("asked for", "demand", values(lambda point: point.asked)),
        Series("served", "busy", values(lambda point: point.served)),
    )
    cost = (
        Series("cost", "busy", values(lambda point: point.cost // _CENT)),
        Series("lower bound", "good", values(lambda point: point.bound // _CENT), is_dashed=True),
    )
    churn = (Series("actions", "limit", values(lambda point: point.actions)),)
    return [
        (
            Chart("Supply", "machines", times, supply, is_stacked=True, is_elapsed=True),
            "machines by what they do; speculative ones are not drawn",
        ),
        (
            Chart("Demand", "units", times, demand, is_elapsed=True),
            "units asked for, and those that a machine serves",
        ),
        (
            Chart("Cost", "$", times, cost, scale=0.01, is_elapsed=True),
            "dollars an hour, and the least that what is served could cost",
        ),
        (Chart("Churn", "actions", times, churn, is_elapsed=True), "actions since the last point"),
    ]


def _numbers(summary: FleetSummary) -> dict[str, str]:
    def listed(counts: dict[str, int] | dict[str, float]) -> str:
        return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"

    return {
        "bind latency": f"p50 {summary.bind_p50_s:,.1f} s, p99 {summary.bind_p99_s:,.1f} s",
        "cost": f"${summary.cost_per_hour:,.2f} an hour, {summary.cost_ratio:.2f} × the lower bound",
        "actions": f"{listed(summary.actions)}; {summary.churn:g} per machine and hour",
        "short": f"unit-minutes by priority: {listed(summary.shortfall_minutes)}",
        "rails": listed(summary.rail_trips),
        "faults": listed(summary.faults),
        "at rest": f"{summary.converged_s:,.0f} s after faults stopped, {summary.needs_unmet} of {summary.needs} needs unmet",
    }
