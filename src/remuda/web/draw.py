"""From a template and its values to HTML, which says nothing that the values did not mean: everything is escaped."""

import functools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from jinja2 import (
    BaseLoader,
    ChoiceLoader,
    DictLoader,
    Environment,
    PackageLoader,
    PrefixLoader,
    StrictUndefined,
)
from markupsafe import Markup

from remuda.model.amount_texts import bytes_text, cores, trimmed
from remuda.model.times import HOUR, MINUTE, Instant, write_duration, write_instant
from remuda.output.moments import age, clock_time
from remuda.output.show import one_line
from remuda.web.chart import MOST_ROWS, Chart

_FRAME = "remuda.web"
#: a region of a page that is sent again when it changes: `<section id="pools" data-live>` up to the end that names it
_REGION = re.compile(r'<(\w+) id="([\w-]+)" data-live\b.*?<!--/\2-->', re.DOTALL)


def environment(packages: Iterable[str], frame: str = "frame.html") -> Environment:
    """
    Templates of the frame by their names, those of a job as `JOB/name.html`; packages are the jobs' by their names.

    With another `frame`, that one is around every page that asks for `frame.html`. Whoever asks for the same gets the same:
    its templates are compiled once in a process, and nothing may be added to it.
    """
    return _environment(tuple(packages), frame)


@functools.cache
def _environment(packages: Sequence[str], frame: str) -> Environment:
    rooms = {package.rpartition(".")[2]: PackageLoader(package) for package in packages}
    loaders: list[BaseLoader] = [PackageLoader(_FRAME), PrefixLoader(rooms)]
    if frame != "frame.html":
        loaders.insert(0, DictLoader({"frame.html": f'{{% extends "{frame}" %}}'}))
    made = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["age"] = age
    made.filters["alongside"] = _alongside
    made.filters["amount"] = _amount
    made.filters["elapsed"] = _elapsed
    made.filters["duration"] = write_duration
    made.filters["json"] = _json
    made.filters["json_in_single_quotes"] = _json_in_single_quotes
    made.filters["line"] = one_line
    made.filters["plural"] = _plural
    made.filters["since"] = _since
    made.filters["moment"] = _moment
    # also for macros, which see no values of a page
    made.globals["is_file"] = frame != "frame.html"
    made.globals["parts"] = made.get_template("parts.html").module
    return made


def _harmless(value: Any) -> Any:
    """What others wrote without characters that hide or turn around what is beside them; lines stay lines."""
    if type(value) is not str or value.isprintable():
        return value
    return "".join(c if c.isprintable() or c in "\n\t" else " " if c.isspace() else "�" for c in value)


def _json(value: Any) -> str:
    """For an attribute: its quotes are escaped by the template."""
    return msgspec.json.encode(value, enc_hook=_plain).decode()


def _json_in_single_quotes(value: Any) -> Markup:
    """For an attribute in single quotes, in which its own need not be escaped: of a large one that is a part that counts."""
    text = _json(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;")
    return Markup(text)  # noqa: S704 - escaped above


def _plain(value: Any) -> Any:
    if isinstance(value, range):
        return {"begin": value.start, "step": value.step, "count": len(value)}
    return str(value)


def _amount(value: float | None, unit: str) -> str:
    """A value of a chart in words, as its script writes it."""
    if value is None:
        return "—"
    match unit:
        case "bytes":
            return bytes_text(round(value))
        case "millicores":
            return f"{round(value)}m" if value < 10_000 and value % 1_000 else cores(round(value))
        case "$":
            return f"${_number(value)}"
    return f"{_number(value)} {unit}".rstrip()


def _number(value: float) -> str:
    """To two decimals, below one to as many as it takes."""
    digits = 2 - math.floor(math.log10(abs(value))) if 0 < abs(value) < 1 else 2
    return trimmed(f"{value:,.{digits}f}")


def _alongside(charts: Sequence[Chart], most: int = MOST_ROWS) -> Iterator[tuple[Any, ...]]:
    """Rows of a table: a moment, and the values of every line of charts that have the same moments."""
    for rows in zip(*(chart.rows(most) for chart in charts), strict=True):
        texts = (
            _amount(value, chart.unit)
            for chart, (_, values) in zip(charts, rows, strict=True)
            for value in values
        )
        yield rows[0][0], *texts


def _elapsed(at: Instant) -> str:
    """A moment since a beginning, in hours and minutes."""
    return f"{at // HOUR}:{at % HOUR // MINUTE:02}"


def _plural(count: int, one: str, more: str = "") -> str:
    """`1 machine`, `3 machines`, `1,204 machines`."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def _since(at: Instant) -> Markup:
    """An instant that the page shows as how long ago it was, and counts on: what is sent does not change with time."""
    return Markup('<time datetime="{}" data-since="{}">{}</time>').format(
        write_instant(at), at, clock_time(at, 0)
    )


def _moment(at: Instant) -> Markup:
    """An instant that the page shows in the time zone of who looks."""
    return Markup('<time datetime="{}" data-at="{}">{}</time>').format(
        write_instant(at), at, clock_time(at, 0)
    )


@functools.lru_cache(maxsize=256)
def _cached(html: str) -> tuple[tuple[str, str], ...]:
    return tuple((found[2], found[0]) for found in _REGION.finditer(html))


def regions(html: str) -> dict[str, str]:
    """The parts of a page that are sent when they change, by their ids."""
    return dict(_cached(html))
