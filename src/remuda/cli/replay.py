"""`remuda replay`: what today's rules would have decided differently, for every job that kept records."""

from collections.abc import Iterator
from pathlib import Path

import click

from remuda.control.command import Command, Session, pass_session
from remuda.output.show import Report


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
    from remuda.control.replay import Question, Replayed, data_of, lines_of, replay_recorded
    from remuda.ledger.place import place_of, reading

    span = session.past(since), session.instant(until, session.now())
    changed = session.load(files) if files else None
    if session.server is not None:
        # They were read whole and without problems just now.
        texts = [path.read_text(encoding="utf-8") for name in files for path in _files(Path(name))]
        found = session.remuda.post("/v1/replay", Question(*span, "\n---\n".join(texts)), Replayed)
    else:
        with reading(place_of(session.home)) as db:
            found = replay_recorded(db, session.jobs, changed, span, session.now())
    for row in found.damaged:
        click.echo(f"{row}; it is left out", err=True)
    if found.strangers:
        click.echo(f"note: {found.strangers}", err=True)
    session.show(Report(data_of(found), lines=tuple(lines_of(found))))
    if found.differences:
        raise click.exceptions.Exit(1)


def _files(path: Path) -> Iterator[Path]:
    """A file, or those of a directory that hold objects."""
    if path.is_dir():
        yield from sorted(each for each in path.iterdir() if each.suffix in {".yaml", ".yml", ".json"})
    else:
        yield path
