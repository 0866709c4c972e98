"""Charts over time as inline SVG: lines, or areas on top of each other. Coordinates are whole numbers."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import count

from msgspec import Struct

from remuda.model.times import DAY, HOUR, MINUTE, SECOND, Instant
from remuda.output.pages import page_text

_WIDTH, _HEIGHT = 960, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 10, 26
#: marks along each axis, at most
_TICKS = 5
_TIME_TICKS = 7
_TIME_STEPS = (
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)),
    *(n * DAY for n in (1, 2, 7, 14, 28)),
)

#: what a page with charts needs among its styles: colours by number, grid and keys
CHART_STYLE = """
:root { --c0: #2f6fb7; --c1: #e0a030; --c2: #9db2c8; --c3: #c4453c; --c4: #3b8f5f; --grid: #d5dbe1; --mark: #66727f; }
@media (prefers-color-scheme: dark) { :root { --c0: #6ba5e7; --c1: #e8b75c; --c2: #5c7187; --c3: #e7766d; --c4: #68bd8d;
  --grid: #34404c; --mark: #93a0ad; } }
svg { display: block; width: 100%; height: auto; } text { font: 11px system-ui, sans-serif; fill: var(--mark); }
.grid { stroke: var(--grid); stroke-width: 1; }
.key { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px; margin: 0 0.35em 0 1em; }
.k0 { background: var(--c0); } .k1 { background: var(--c1); } .k2 { background: var(--c2); }
.k3 { background: var(--c3); } .k4 { background: var(--c4); }
""".strip()


class Series(Struct, frozen=True):
    """One line or area: what it is called, its colour (0 to 4), and its value at each point."""

    name: str
    colour: int
    values: Sequence[int]


def chart(
    title: str,
    caption: str,
    times: Sequence[Instant],
    series: Sequence[Series],
    *,
    stacked: bool = False,
    scale: int = 1,
    unit: str = "",
    dated: bool = False,
) -> str:
    """
    One drawing with its title; values are shown divided by `scale`, with a unit such as `%`, ` h` or `$` before them.

    Times are since the beginning, or with `dated` instants, which are shown in UTC.
    """
    tops = [list(one.values) for one in series]
    if stacked:
        for upper, lower in zip(tops[1:], tops, strict=False):
            upper[:] = [value + below for value, below in zip(upper, lower, strict=True)]
    ticks = round_ticks(max([1, *(value for top in tops for value in top)]), scale)
    highest = ticks[-1]
    first, last = (times[0], times[-1]) if times else (0, 0)
    length = max(1, last - first)
    across = [_LEFT + (at - first) * (_WIDTH - _LEFT - _RIGHT) // length for at in times]
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
    keys = "".join(f'<span class="key k{one.colour}"></span>{page_text(one.name)}' for one in series)
    what = page_text(f"{title}: {caption}")
    return (
        f"<h2>{page_text(title)}</h2><p>{page_text(caption)} {keys}</p>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{what}">'
        f"{_grid(ticks, scale, unit, height)}{''.join(drawn)}{_moments(first, last, dated=dated)}</svg>"
    )


def round_ticks(highest: int, scale: int = 1) -> list[int]:
    """Marks from 0 to at least `highest`; shown divided by `scale`, they are steps of 1, 2 or 5 times a power of ten."""
    size = next(each for each in _sizes(scale) if each * _TICKS >= highest)
    return list(range(0, -(-highest // size) * size + 1, size))


def _sizes(scale: int) -> Iterator[int]:
    """Steps that are round when they are shown, the smallest first; parts of one only where they are whole values."""
    for power in count(-len(str(scale))):
        for times in (1, 2, 5):
            size, rest = divmod(scale * times * 10 ** max(0, power), 10 ** max(0, -power))
            if size and not rest:
                yield size


def _grid(ticks: Sequence[int], scale: int, unit: str, height: Callable[[int], int]) -> str:
    lines = []
    is_whole = all(value % scale == 0 for value in ticks)
    for value in ticks:
        y = height(value)
        shown = f"{value // scale:,}" if is_whole else f"{value / scale:,.2f}"
        lines.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{_with_unit(shown, unit)}</text>'
        )
    return "".join(lines)


def _with_unit(shown: str, unit: str) -> str:
    return page_text(f"{unit}{shown}" if unit == "$" else f"{shown}{unit}")


def _moments(first: Instant, last: Instant, *, dated: bool) -> str:
    """Times below the drawing, at round ones: hours and minutes since the beginning, or days and hours in UTC."""
    length = max(1, last - first)
    step = next((each for each in _TIME_STEPS if length // each < _TIME_TICKS), None)
    if step is None:
        step = -(-length // (_TIME_TICKS * DAY)) * DAY
    marks = []
    for at in range(-(-first // step) * step, last + 1, step):
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * (at - first) // length
        anchor = "start" if x < _LEFT + 20 else "end" if x > _WIDTH - _RIGHT - 20 else "middle"
        shown = _date(at, step) if dated else f"{at // HOUR}:{at % HOUR // MINUTE:02}"
        marks.append(f'<text x="{x}" y="{_HEIGHT - 8}" text-anchor="{anchor}">{shown}</text>')
    return "".join(marks)


def _date(at: Instant, step: int) -> str:
    """The day, or within days the time of day."""
    when = datetime.fromtimestamp(at / SECOND, tz=UTC)
    if step < DAY and at % DAY:
        return f"{when:%H:%M}"
    return f"{when.day} {when:%b}"
