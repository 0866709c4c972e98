"""`remuda replay`: what today's rules would have decided differently, for every job that kept records."""

from typing import TYPE_CHECKING

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import NotFound
from remuda.job import load
from remuda.ledger.replay import Difference, Replay
from remuda.output.show import Report

if TYPE_CHECKING:
    from remuda.objects.load import Objects


@click.command(cls=Command)
@click.option(
    "--since", default="1h", show_default=True, metavar="TIME", help="From a time, or how long ago."
)
@click.option("--until", metavar="TIME", help="To a time, or how long ago. Default: now.")
@click.option(
    "-f", "--file", "files", multiple=True, help="Changed objects, used instead of those of the same name."
)
@pass_session
def replay(session: Session, since: str, until: str | None, files: tuple[str, ...]) -> None:
    """
    What today's rules would have decided differently.

    Each recorded step goes through today's rules by itself, with the objects of then or, with -f, with changed ones.
    A difference is not carried on to the next step: the world went on as it did. Exits 1 when something differs.
    """
    from remuda.ledger.store import FILE, explained, reading

    begin, end, now = session.past(since), session.instant(until, session.now()), session.now()
    changed = session.load(files) if files else None

    def damaged(row: str) -> None:
        click.echo(f"{row}; it is left out", err=True)

    store = session.data_dir / FILE
    steps, cycles = 0, 0
    replays, differences = list[Replay](), list[Difference]()
    with reading(store) as db, explained(store):
        recorded = {row[0] for row in db.execute("SELECT DISTINCT loop FROM cycles")}
        for job in session.jobs:
            if not job.replay or not recorded.intersection(job.loops):
                continue
            replays.append(load(job.replay)(changed, now))
            for step in replays[-1].steps(db, begin, end, damaged):
                steps, cycles = steps + 1, cycles + step.cycles
                differences += step.differences
    if not steps:
        raise NotFound(f"nothing is recorded since {since}")
    if changed:
        _name_strangers(changed, replays)
    lines = [f"{steps} recorded steps ({cycles} cycles), {len(differences)} decided differently"]
    for item in differences:
        lines += ["", *item.lines]
    if differences:
        lines += ["", "One step each: a difference is not carried on to the next."]
    found = {"steps": steps, "cycles": cycles, "differences": [item.data for item in differences]}
    session.show(Report(found, lines=tuple(lines)))
    if differences:
        raise click.exceptions.Exit(1)


def _name_strangers(changed: "Objects", replays: list[Replay]) -> None:
    """Name the changed objects that change nothing of what is recorded; when that is all of them, refuse."""
    known = {(kind, name) for each in replays for kind, names in each.known().items() for name in names}
    used = {which for each in replays for which in each.used()}
    strangers = [item for item in changed if (item.kind, item.name) not in known | used]
    if not strangers:
        return
    names = ", ".join(sorted(name for _, name in known)) or "none"
    text = f"nothing recorded is called {', '.join(map(str, strangers))}; there is: {names}"
    if len(strangers) == len(changed):
        raise NotFound(text)
    click.echo(f"note: {text}", err=True)
