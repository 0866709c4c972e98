"""A page that draws what happened in a simulated fleet: supply, demand, cost and churn over time, in one file."""

from collections.abc import Callable, Sequence

from remuda.output.charts import CHART_STYLE, Series, chart
from remuda.output.pages import page_head, page_text
from remuda.sim.fleet_meter import Point
from remuda.sim.fleet_queue import START
from remuda.sim.fleet_summary import FleetSummary

_STYLE = (
    """
:root { color-scheme: light dark; --ink: #1c2733; --soft: #66727f; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --soft: #93a0ad; --paper: #161c22; } }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1rem; margin: 1.6rem 0 0.2rem; }
p { margin: 0.2rem 0 0.8rem; color: var(--soft); }
table { border-collapse: collapse; margin-top: 0.6rem; } td, th { padding: 0.1rem 1.4rem 0.1rem 0; text-align: left;
  vertical-align: top; font-variant-numeric: tabular-nums; } th { font-weight: 500; color: var(--soft); }
code { font: 12px ui-monospace, monospace; overflow-wrap: anywhere; }
""".strip()
    + CHART_STYLE
)


def page(summary: FleetSummary, points: Sequence[Point]) -> str:
    """The whole page. It loads nothing from elsewhere."""

    def values(of: Callable[[Point], int]) -> list[int]:
        return [of(point) for point in points]

    times = [point.at - START for point in points]
    title = f"A simulated fleet: seed {summary.seed}, {summary.machines:,} machines, {summary.clusters:,} clusters"
    charts = [
        chart("Supply", "machines by what they do; speculative ones are not drawn", times, [
            Series("configured", 0, values(lambda point: point.configured)),
            Series("on their way", 1, values(lambda point: point.moving)),
            Series("idle", 2, values(lambda point: point.idle)),
            Series("failed", 3, values(lambda point: point.failed)),
        ], stacked=True),
        chart("Demand", "units asked for, and those that a machine serves", times, [
            Series("asked for", 1, values(lambda point: point.asked)),
            Series("served", 4, values(lambda point: point.served)),
        ]),
        chart("Cost", "dollars an hour, and the least that what is served could cost", times, [
            Series("cost", 0, values(lambda point: point.cost // 10_000)),
            Series("lower bound", 4, values(lambda point: point.bound // 10_000)),
        ], scale=100),
        chart("Churn", "actions since the last point", times, [
            Series("actions", 3, values(lambda point: point.actions)),
        ]),
    ]  # fmt: skip
    return (
        f"{page_head(title, _STYLE)}<body>"
        f"<h1>{page_text(title)}</h1><p>{summary.hours:g} hours, faults: {summary.fault_level}, then none until at rest"
        f"</p>{_numbers(summary)}{''.join(charts)}</body></html>\n"
    )


def _numbers(summary: FleetSummary) -> str:
    def listed(counts: dict[str, int] | dict[str, float]) -> str:
        return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"

    rows = {
        "bind latency": f"p50 {summary.bind_p50_s:,.1f} s, p99 {summary.bind_p99_s:,.1f} s",
        "cost": f"${summary.cost_per_hour:,.2f} an hour, {summary.cost_ratio:.2f} × the lower bound",
        "actions": f"{listed(summary.actions)}; {summary.churn:g} per machine and hour",
        "short": f"unit-minutes by priority: {listed(summary.shortfall_minutes)}",
        "rails": listed(summary.rail_trips),
        "faults": listed(summary.faults),
        "at rest": f"{summary.converged_s:,.0f} s after faults stopped, {summary.needs_unmet} of {summary.needs} needs unmet",
    }
    body = "".join(f"<tr><th>{name}</th><td>{page_text(text)}</td></tr>" for name, text in rows.items())
    return f"<table>{body}<tr><th>digest</th><td><code>{summary.digest}</code></td></tr></table>"
