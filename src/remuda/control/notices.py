"""
What must be said before any answer about what was decided: that nobody decides now, and why.

Answers come from the last recorded cycle. When nothing runs, or the loop is paused or fails, they are about the past.
"""

from typing import Any

import click

from remuda.control.client import NothingRuns, Remuda
from remuda.control.command import Session
from remuda.model.times import Instant
from remuda.output.moments import clock_time
from remuda.output.show import one_line

#: a loop that runs and has seen nothing new for so many milliseconds is slow
_OLD = 10_000


def notices(remuda: Remuda, loop: str, seen_at: Instant, now: Instant) -> tuple[str, ...]:
    """Why an answer of a loop, as of `seen_at`, may not be what is so now; a line each, nothing when all is well."""
    as_of = f"this is as of {clock_time(seen_at, now)}" if seen_at else "nothing is recorded yet"
    try:
        health: dict[str, Any] = remuda.get("/v1/loops", dict[str, Any])
    except NothingRuns as nothing:
        return (f"{nothing}; nothing is decided, and {as_of}",)
    found = next((item for item in health["loops"] if item["name"] == loop), None)
    if found is None:
        return refusals(health)
    is_late = bool(seen_at) and now - seen_at > _OLD
    line = standing(found, health.get("details", {}), as_of, is_late=is_late)
    return (*([line] if line else []), *refusals(health))


def show_notices(session: Session, lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines that a person's answer begins with; whoever asks for another form finds them on stderr."""
    if session.form == "table":
        return () if session.quiet else lines
    for line in lines:
        click.echo(line, err=True)
    return ()


def refusals(health: dict[str, Any]) -> tuple[str, ...]:
    """That the configuration in force is not the one in the files."""
    refused = health.get("details", {}).get("refused_reload")
    if not refused:
        return ()
    first, *more = str(refused).splitlines()
    rest = f" (and {len(more)} more)" if more else ""
    return (f"the last reload was refused, and the configuration from before it is in force: {first}{rest}",)


def standing(loop: dict[str, Any], details: dict[str, Any], as_of: str, *, is_late: bool) -> str:
    """What keeps a loop from deciding, and since when its answers are old; nothing when all is well."""
    name, as_of = loop["name"], f"; {as_of}" if as_of else ""
    match loop["phase"]:
        case "paused":
            return f"loop {name} is paused and decides nothing{as_of}; resume it with `remuda loops resume {name}`"
        case "standby":
            return f"this replica stands by, and {details.get('leader') or 'nobody'} leads{as_of}"
        case "failing" | "broken":
            return f"loop {name} is {loop['phase']}: {one_line(loop['error'] or 'no reason is known')}{as_of}"
        case "starting":
            return f"loop {name} has not finished its first cycle{as_of}"
        case "stopped":
            return f"loop {name} is stopped and decides nothing{as_of}"
        case _:
            return f"loop {name} is slow{as_of}" if is_late else ""
