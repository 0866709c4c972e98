"""From a template and its values to HTML, which says nothing that the values did not mean: everything is escaped."""

import functools
import re
from collections.abc import Iterable
from typing import Any

import msgspec
from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup

from remuda.model.times import Instant, write_duration, write_instant
from remuda.output.moments import age, clock_time
from remuda.output.show import one_line

_FRAME = "remuda.web"
#: a region of a page that is sent again when it changes: `<section id="pools" data-live>` up to the end that names it
_REGION = re.compile(r'<(\w+) id="([\w-]+)" data-live\b.*?<!--/\2-->', re.DOTALL)


def environment(packages: Iterable[str]) -> Environment:
    """Templates of the frame by their names, those of a job as `JOB/name.html`; packages are the jobs' by their names."""
    rooms = {package.rpartition(".")[2]: PackageLoader(package) for package in packages}
    made = Environment(
        loader=ChoiceLoader([PackageLoader(_FRAME), PrefixLoader(rooms)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["age"] = age
    made.filters["duration"] = write_duration
    made.filters["json"] = _json
    made.filters["line"] = one_line
    made.filters["plural"] = _plural
    made.filters["since"] = _since
    made.filters["moment"] = _moment
    made.globals["parts"] = made.get_template("parts.html").module
    return made


def _json(value: Any) -> str:
    """For an attribute: its quotes are escaped by the template."""
    return msgspec.json.encode(value, enc_hook=str).decode()


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
