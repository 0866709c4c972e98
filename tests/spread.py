"""
Which tests run in one process, one after the other: those that share what takes long to make.

Without it every process of a run starts every server, and each of them costs CPU for as long as it runs. Long histories
share nothing and are spread one by one. Quick tests go file by file.
"""

import inspect
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pytest

#: these only look for something, and look again in no time
FINDERS = frozenset({"programs", "browser_program", "image_base", "guest_image", "commit"})
#: all processes of a run share one of these on disk, or make their own in a second
BY_DISK = frozenset({"guest_props", "idle_guest"})


class Shared(NamedTuple):
    """A fixture that more than one test gets: what it is called, for how long it lives, whether something runs meanwhile."""

    name: str
    scope: str
    runs: bool


def group_of(file: str, shared: Iterable[Shared], *, is_slow: bool) -> str | None:
    """The group of a test; None for one that can run anywhere."""
    if not is_slow:
        return file
    dear = [one for one in shared if one.scope in {"module", "session"} and one.name not in FINDERS | BY_DISK]
    servers = [one.name for one in dear if one.scope == "session" and one.runs]
    if not servers:
        return file if dear else None
    # of two the one that takes longer to start, which is named later
    server = max(servers)
    # Tests of whole processes lie beside the rooms and take longest: in one row with the rooms' they would be the last to end.
    return server if file.count("/") > 1 else f"{server} for processes"


def order_of(group: str | None, *, is_slow: bool) -> int:
    """Long rows of tests first, then long tests: last, they would keep one process busy while the others are idle."""
    if not is_slow:
        return 2
    return 1 if group is None or group.endswith(".py") else 0


def shared_by(item: pytest.Item) -> Iterator[Shared]:
    """The fixtures of a test that come from our own files, its own first."""
    found = getattr(item, "_fixtureinfo", None)
    for name, definitions in found.name2fixturedefs.items() if found else ():
        made = definitions[-1]
        if made.func.__module__.startswith("tests."):
            yield Shared(name, made.scope, inspect.isgeneratorfunction(made.func))


def spread(items: list[pytest.Item]) -> None:
    """Mark tests with their groups, and sort them by when they should begin."""
    order = {}
    for item in items:
        is_slow = item.get_closest_marker("slow") is not None
        group = group_of(item.nodeid.partition("::")[0], shared_by(item), is_slow=is_slow)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))
        order[item] = order_of(group, is_slow=is_slow)
    items.sort(key=order.__getitem__)
