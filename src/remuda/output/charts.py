"""Charts over time as inline SVG: lines, or areas on top of each other. Coordinates are whole numbers."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from remuda.model.times import HOUR, MINUTE, Instant
from remuda.output.pages import page_text

_WIDTH, _HEIGHT = 960, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 10, 26
_TICKS = 4

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
) -> str:
    """One drawing with its title; times are since the beginning, and values are shown divided by `scale`."""
    tops = [list(one.values) for one in series]
    if stacked:
        for upper, lower in zip(tops[1:], tops, strict=False):
            upper[:] = [value + below for value, below in zip(upper, lower, strict=True)]
    highest = max([1, *(value for top in tops for value in top)])
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
        f"{_grid(highest, scale, height)}{''.join(drawn)}{_hours(first, length)}</svg>"
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
