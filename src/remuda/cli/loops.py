"""`remuda loops`: how the loops of a running Remuda fare."""

from typing import Any

import click

from remuda.control.command import Group, Session, pass_session
from remuda.output.moments import age
from remuda.output.show import Report, Table


@click.group(cls=Group)
def loops() -> None:
    """
    Look at loops, pause and resume them.

    A paused loop runs no cycle: nothing is made or removed, and operations under way go on. It stays paused over a
    restart.
    """


@loops.command("list")
@pass_session
def list_loops(session: Session) -> None:
    """How each loop fares."""
    from remuda.control.notices import refusals, show_notices

    health: dict[str, Any] = session.remuda.get("/v1/loops", dict[str, Any])
    rows = tuple(
        (
            loop["name"],
            loop["phase"],
            str(loop["cycles"]),
            age(session.now() - loop["last_success_at"]) if loop["last_success_at"] else "never",
            loop["error"] or "",
        )
        for loop in health["loops"]
    )
    lines = show_notices(session, refusals(health))
    session.show(
        Report(
            health, (Table(("LOOP", "PHASE", "CYCLES", "LAST SUCCESS", "ERROR"), rows, is_list=True),), lines
        )
    )


@loops.command()
@click.argument("name")
@pass_session
def pause(session: Session, name: str) -> None:
    """Run no cycle of a loop until it is resumed."""
    _change(session, name, "pause")


@loops.command()
@click.argument("name")
@pass_session
def resume(session: Session, name: str) -> None:
    """Run a paused loop again."""
    _change(session, name, "resume")


def _change(session: Session, name: str, verb: str) -> None:
    from remuda.control.client import path_of

    answer = session.remuda.post(path_of("v1", "loops", name, verb), {}, dict[str, Any])
    session.show(Report(answer, lines=(f"loop {name} {'is paused' if answer['paused'] else 'runs'}",)))
