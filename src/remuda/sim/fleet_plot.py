"""A page that draws what happened in a simulated fleet: supply, demand, cost and churn over time, in one file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from remuda.model.times import HOUR, MINUTE
from remuda.sim.fleet_meter import Point
from remuda.sim.fleet_queue import START
from remuda.sim.fleet_summary import FleetSummary

_WIDTH, _HEIGHT = 960, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 10, 26
_TICKS = 4

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --soft: #66727f; --line: #d5dbe1; --paper: #fff;
  --c0: #2f6fb7; --c1: #e0a030; --c2: #9db2c8; --c3: #c4453c; --c4: #3b8f5f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --soft: #93a0ad; --line: #34404c; --paper: #161c22;
  --c0: #6ba5e7; --c1: #e8b75c; --c2: #5c7187; --c3: #e7766d; --c4: #68bd8d; } }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1rem; margin: 1.6rem 0 0.2rem; }
p { margin: 0.2rem 0 0.8rem; color: var(--soft); } svg { display: block; width: 100%; height: auto; }
text { font: 11px system-ui, sans-serif; fill: var(--soft); } .grid { stroke: var(--line); stroke-width: 1; }
table { border-collapse: collapse; margin-top: 0.6rem; } td, th { padding: 0.1rem 1.4rem 0.1rem 0; text-align: left;
  vertical-align: top; font-variant-numeric: tabular-nums; } th { font-weight: 500; color: var(--soft); }
.key { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px; margin: 0 0.35em 0 1em; }
code { font: 12px ui-monospace, monospace; overflow-wrap: anywhere; }
""".strip()


@dataclass(frozen=True, slots=True)
class Series:
    """One line or area: what it is called, its colour, and its value at each point."""

    name: str
    colour: int
    values: Sequence[int]


def page(summary: FleetSummary, points: Sequence[Point]) -> str:
    """The whole page. It loads nothing from elsewhere."""

    def values(of: Callable[[Point], int]) -> list[int]:
        return [of(point) for point in points]

    title = f"A simulated fleet: seed {summary.seed}, {summary.machines:,} machines, {summary.clusters:,} clusters"
    charts = [
        _chart("Supply", "machines by what they do; speculative ones are not drawn", points, [
            Series("configured", 0, values(lambda point: point.configured)),
            Series("on their way", 1, values(lambda point: point.moving)),
            Series("idle", 2, values(lambda point: point.idle)),
            Series("failed", 3, values(lambda point: point.failed)),
        ], stacked=True),
        _chart("Demand", "units asked for, and those that a machine serves", points, [
            Series("asked for", 1, values(lambda point: point.asked)),
            Series("served", 4, values(lambda point: point.served)),
        ]),
        _chart("Cost", "dollars an hour, and the least that what is served could cost", points, [
            Series("cost", 0, values(lambda point: point.cost // 10_000)),
            Series("lower bound", 4, values(lambda point: point.bound // 10_000)),
        ], scale=100),
        _chart("Churn", "actions since the last point", points, [
            Series("actions", 3, values(lambda point: point.actions)),
        ]),
    ]  # fmt: skip
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1><p>{summary.hours:g} hours, faults: {summary.fault_level}, then none until at rest"
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
    body = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in rows.items())
    return f"<table>{body}<tr><th>digest</th><td><code>{summary.digest}</code></td></tr></table>"


def _chart(
    title: str,
    caption: str,
    points: Sequence[Point],
    series: Sequence[Series],
    *,
    stacked: bool = False,
    scale: int = 1,
) -> str:
    """One drawing: areas on top of each other, or lines."""
    tops = [list(one.values) for one in series]
    if stacked:
        for upper, lower in zip(tops[1:], tops, strict=False):
            upper[:] = [value + below for value, below in zip(upper, lower, strict=True)]
    highest = max([1, *(value for top in tops for value in top)])
    first = points[0].at if points else START
    length = max(1, (points[-1].at if points else START) - first)
    across = [_LEFT + (point.at - first) * (_WIDTH - _LEFT - _RIGHT) // length for point in points]
    floor = _HEIGHT - _BOTTOM

    def height(value: int) -> int:
        return floor - value * (floor - _TOP) // highest

    drawn = []
    for one, top in reversed(list(zip(series, tops, strict=True))):
        line = " ".join(f"{x},{height(value)}" for x, value in zip(across, top, strict=True))
        if stacked and across:
            corners = f"{across[0]},{floor} {line} {across[-1]},{floor}"
            drawn.append(f'<polygon points="{corners}" fill="var(--c{one.colour})"/>')
        else:
            drawn.append(
                f'<polyline points="{line}" fill="none" stroke="var(--c{one.colour})" stroke-width="1.6"/>'
            )
    keys = "".join(
        f'<span class="key" style="background:var(--c{one.colour})"></span>{one.name}' for one in series
    )
    return (
        f"<h2>{title}</h2><p>{caption} {keys}</p>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{title}: {caption}">'
        f"{_grid(highest, scale, height)}{''.join(drawn)}{_hours(first - START, length)}</svg>"
    )


def _grid(highest: int, scale: int, height: Callable[[int], int]) -> str:
    lines = []
    for tick in range(_TICKS + 1):
        value = highest * tick // _TICKS
        y = height(value)
        shown = f"{value / scale:,.2f}" if scale > 1 and highest < 10 * scale else f"{value // scale:,}"
        lines.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{shown}</text>'
        )
    return "".join(lines)


def _hours(begun: int, length: int) -> str:
    """Times below the drawing, hours and minutes since the beginning."""
    marks = []
    for tick in range(_TICKS + 1):
        at = begun + length * tick // _TICKS
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * tick // _TICKS
        anchor = "start" if tick == 0 else "end" if tick == _TICKS else "middle"
        marks.append(
            f'<text x="{x}" y="{_HEIGHT - 8}" text-anchor="{anchor}">{at // HOUR}:{at % HOUR // MINUTE:02}</text>'
        )
    return "".join(marks)
