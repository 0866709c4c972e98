"""
Use against request, limit and recommendation, as an inline SVG: an area, lines with their names at their ends, kills.

Coordinates are whole numbers and the time axis is drawn once for all plots, so that a page of thousands stays small.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from remuda.output.pages import page_text

WIDTH, HEIGHT = 984, 306
LEFT, RIGHT, TOP, BASE = 92, 300, 36, 264
_ACROSS, _UP = WIDTH - LEFT - RIGHT, BASE - TOP
#: between two names at the right
_APART = 25
_MOST_TICKS = 8
#: what is so many times above everything else is named at the top instead of flattening the rest
_FAR = 20
#: id of the time axis
AXIS = "t"
_HOUR_S, _DAY_S = 3_600, 86_400


class Window(Struct, frozen=True):
    """The time that all plots of a page show."""

    begin: int
    end: int
    #: points across a plot, at most
    columns: int = 155

    def x(self, at: int) -> int:
        """Where an instant is."""
        return LEFT + (at - self.begin) * _ACROSS // max(1, self.end - self.begin)


class Line(NamedTuple):
    """A bound to draw, and what to call it; the class says how it looks."""

    amount: int
    name: str
    look: str


def axis(window: Window) -> str:
    """The time axis, once for all plots: a line and a date for every day, or every few of them."""
    length = max(1, window.end - window.begin)
    is_short = length <= 2 * _DAY_S
    unit = 6 * _HOUR_S if is_short else _DAY_S
    every = unit * -(-length // (unit * _MOST_TICKS))
    ticks = range(-(-window.begin // unit) * unit, window.end + 1, every)
    lines = "".join(f"M{window.x(at)} {TOP}V{BASE}" for at in ticks)
    texts = "".join(
        f'<text x="{window.x(at)}" y="{BASE + 28}">{label}</text>'
        for at, label in zip(ticks, _moments(ticks, is_short=is_short), strict=True)
        if window.x(at) <= WIDTH - RIGHT - 20
    )
    return f'<g id="{AXIS}"><path class="g" d="{lines}"/><g class="m">{texts}</g></g>'


def _moments(ticks: Sequence[int], *, is_short: bool) -> Iterator[str]:
    """Days, with the month where it is a new one; of a short time the hours."""
    month = ""
    for at in ticks:
        when = datetime.fromtimestamp(at, tz=UTC)
        if is_short and at % _DAY_S:
            yield f"{when:%H:%M}"
            continue
        this = f"{when:%b}"
        yield f"{when.day} {this}" if this != month or is_short else str(when.day)
        month = this


class Plot(Struct, frozen=True):
    """What one drawing shows: amounts in equal steps of time, where None is a gap, beside bounds and kills."""

    heading: str
    subject: str
    write: Callable[[int], str]
    lines: Sequence[Line]
    begin: int = 0
    step: int = 1
    amounts: Sequence[int | None] = ()
    kills: Sequence[int] = ()
    #: whether amounts are marked in powers of two, or in steps of 1, 2 and 5
    is_binary: bool = False


def draw(plot: Plot, window: Window) -> str:
    """A drawing, which needs the `axis` of its window in the page."""
    runs = list(_runs(plot, window))
    peak = max((amount for run in runs for _, amount in run), default=0)
    near = _near(plot.lines, peak)
    top, ticks = _scale(max([peak, *(line.amount for line in near)], default=0), is_binary=plot.is_binary)

    def y(amount: int) -> int:
        return BASE - min(amount, top) * _UP // top

    inside = [at for at in plot.kills if window.begin <= at <= window.end]
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>'
        f"{page_text(_title(plot, peak, len(inside)))}</title>"
        f'<text class="h" y="20">{page_text(plot.heading)}</text>'
        f'<use href="#{AXIS}"/>{_grid(plot, ticks, y)}{_area(runs, y)}{_bounds(near, y)}{_killed(inside, window)}'
        f"{_labels(plot, runs, peak, near, y)}{'' if runs else _empty()}</svg>"
    )


def _near(lines: Sequence[Line], peak: int) -> list[Line]:
    """The lines that are drawn to scale: from the lowest up to where one is far above all before it."""
    found: list[Line] = []
    most = peak
    for line in sorted(lines):
        if 0 < most * _FAR < line.amount:
            break
        found.append(line)
        most = max(most, line.amount)
    return found


def _scale(most: int, *, is_binary: bool) -> tuple[int, list[int]]:
    """The amount at the top, and amounts to mark: whole steps of 1, 2 or 5, of memory powers of two."""
    most = max(most, 1)
    step = 1
    if is_binary:
        while step * 4 < most:
            step *= 2
    else:
        while step * 4 < most:
            step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    top = max(most + most // 16, 1)
    return top, list(range(0, top + 1, step))


@lru_cache(maxsize=64)
def _across(window: Window, begin: int, step: int, count: int) -> tuple[int, ...]:
    """Where the points of a series are, on columns; -1 is outside. Most series of a page have the same."""
    width = max(1, _ACROSS // window.columns)
    times = range(begin, begin + count * step, step)
    return tuple(
        LEFT + (window.x(at) - LEFT) // width * width if window.begin <= at <= window.end else -1
        for at in times
    )


def _runs(plot: Plot, window: Window) -> Iterator[list[tuple[int, int]]]:
    """Points without a gap between them: where, and the highest amount there. A gap is at least a column wide."""
    column_s = max(1, (window.end - window.begin) // window.columns)
    run: list[tuple[int, int]] = []
    missing = 0
    for x, amount in zip(
        _across(window, plot.begin, plot.step, len(plot.amounts)), plot.amounts, strict=True
    ):
        if amount is None or x < 0:
            missing += plot.step
            continue
        if missing and run and missing >= column_s:
            yield run
            run = []
        missing = 0
        if not run or run[-1][0] != x:
            run.append((x, amount))
        elif amount > run[-1][1]:
            run[-1] = (x, amount)
    if run:
        yield run


def _area(runs: Sequence[Sequence[tuple[int, int]]], y: Callable[[int], int]) -> str:
    drawn = []
    for run in runs:
        points = _corners([(x, y(amount)) for x, amount in run])
        x, last = points[0]
        pieces = [f"M{x} {BASE}V{last}l"]
        for across, up in points[1:] or [(x + 3, last)]:
            pieces += [_packed(across - x), _packed(up - last)]
            x, last = across, up
        drawn.append("".join(pieces).replace("l ", "l") + f"V{BASE}z")
    return f'<path class="u" d="{"".join(drawn)}"/>' if drawn else ""


def _corners(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The points without those on a straight line between their neighbours."""
    kept = list(points[:2])
    for x, y in points[2:]:
        (x0, y0), (x1, y1) = kept[-2:]
        if (y1 - y0) * (x - x1) == (y - y1) * (x1 - x0):
            kept[-1] = (x, y)
        else:
            kept.append((x, y))
    return kept


def _packed(number: int) -> str:
    """A number after another: a sign parts them as well as a blank."""
    return str(number) if number < 0 else f" {number}"


def _grid(plot: Plot, ticks: Sequence[int], y: Callable[[int], int]) -> str:
    path = "".join(f"M{LEFT} {y(tick)}h{_ACROSS}" for tick in ticks)
    texts = "".join(f'<text x="{LEFT - 8}" y="{y(tick) + 7}">{plot.write(tick)}</text>' for tick in ticks)
    return f'<path class="g" d="{path}"/><g class="e">{texts}</g>'


def _bounds(lines: Sequence[Line], y: Callable[[int], int]) -> str:
    return "".join(f'<path class="{line.look}" d="M{LEFT} {y(line.amount)}h{_ACROSS}"/>' for line in lines)


def _killed(kills: Sequence[int], window: Window) -> str:
    if not kills:
        return ""
    places = sorted({window.x(at) for at in kills})
    path = "".join(f"M{x} {BASE}V{TOP}m-8-8l16 16m0-16l-16 16" for x in places)
    x = places[-1]
    anchor, x = ("end", x - 14) if x > LEFT + _ACROSS // 2 else ("start", x + 14)
    message = "OOM kill" if len(kills) == 1 else f"{len(kills)} OOM kills"
    return f'<path class="k" d="{path}"/><text class="k" x="{x}" y="{TOP - 10}" text-anchor="{anchor}">{message}</text>'


def _labels(
    plot: Plot,
    runs: Sequence[Sequence[tuple[int, int]]],
    peak: int,
    near: Sequence[Line],
    y: Callable[[int], int],
) -> str:
    """Names at the right of what they name, pushed apart where they would be on top of each other."""
    labels = [(y(line.amount), f"{line.name} {plot.write(line.amount)}", line.look) for line in near]
    labels += [
        (TOP, f"↑ {line.name} {plot.write(line.amount)}", line.look)
        for line in plot.lines
        if line not in near
    ]
    if runs:
        labels.append((y(runs[-1][-1][1]), f"use, to {plot.write(peak)}", "u"))
    labels.sort()
    places = _apart([place for place, _, _ in labels])
    end = WIDTH - RIGHT
    leads = "".join(
        f"M{end} {y0}l14{_packed(y1 - y0)}" for (y0, _, _), y1 in zip(labels, places, strict=True) if y0 != y1
    )
    texts = "".join(
        f'<text class="{look}" x="{end + 18}" y="{place + 7}">{name}</text>'
        for (_, name, look), place in zip(labels, places, strict=True)
    )
    return (f'<path class="g" d="{leads}"/>' if leads else "") + texts


def _apart(places: Sequence[int]) -> list[int]:
    """Sorted places, moved as little as it takes to be `_APART` and to stay in the drawing."""
    found = list(places)
    for n in range(1, len(found)):
        found[n] = max(found[n], found[n - 1] + _APART)
    beyond = max(0, found[-1] - BASE) if found else 0
    if beyond:
        found[-1] -= beyond
        for n in range(len(found) - 2, -1, -1):
            found[n] = min(found[n], found[n + 1] - _APART)
    return found


def _empty() -> str:
    return f'<text class="c" x="{LEFT + _ACROSS // 2}" y="{(TOP + BASE) // 2}">no samples to plot</text>'


def _title(plot: Plot, peak: int, kills: int) -> str:
    bounds = [f"{line.name} {plot.write(line.amount)}" for line in plot.lines]
    used = f"used up to {plot.write(peak)}" if peak else "no use to plot"
    killed = [f"OOM-killed {kills} time{'s' * (kills != 1)}"] if kills else []
    return f"{plot.heading} of {plot.subject}: {'; '.join([used, *bounds, *killed])}"
