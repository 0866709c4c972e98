"""`remuda store`: what another store left in the data directory, and a store that is damaged."""

from pathlib import Path

import click

from remuda.backends.foreign import Clean, Cleaned, ForeignView
from remuda.control.command import Group, Session, confirm, pass_session
from remuda.errors import BadInput, RemudaError
from remuda.output.moments import age
from remuda.output.show import Report, Table


@click.group(cls=Group)
def store() -> None:
    """Look after the store of a data directory."""


@store.command()
@pass_session
def foreign(session: Session) -> None:
    """
    List what another store left there.

    After a store was moved away, or an older copy restored, machines and output of before may still be there. They are
    kept and never taken for this store's own; `remuda store clean` removes them.
    """
    found = session.remuda.get("/v1/foreign", ForeignView)
    now = session.now()
    machines = tuple(
        (
            item.name,
            item.store or "older",
            "ended" if item.ended else "busy" if item.is_busy else "idle",
            age(now - item.created_at),
            "-" if item.pid is None else str(item.pid),
        )
        for item in found.machines
    )
    files = tuple((item.store or "older", str(item.attempts), str(item.bytes)) for item in found.files)
    session.show(
        Report(
            found,
            (
                Table(
                    ("MACHINE", "STORE", "STATE", "AGE", "PID"), machines, title="machines", note="nothing"
                ),
                Table(("STORE", "ATTEMPTS", "BYTES"), files, title="output of jobs", note="nothing"),
            ),
            (f"this store is {found.identity}",),
        )
    )


@store.command()
@click.option("--even-busy", is_flag=True, help="Also machines that are busy, or whose state is unknown.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_session
def clean(session: Session, even_busy: bool, yes: bool) -> None:
    """
    Remove what another store left there.

    Foreign machines that work, or that have not said what they do, are kept unless --even-busy is said.
    """
    found = session.remuda.get("/v1/foreign", ForeignView)
    attempts = sum(item.attempts for item in found.files)
    if not found.machines and not attempts:
        session.show(Report(Cleaned((), 0), lines=("another store left nothing here",)))
        return
    confirm(
        f"Remove {len(found.machines)} machines and the output of {attempts} attempts of another store?",
        yes=yes,
    )
    done = session.remuda.post("/v1/foreign/clean", Clean(even_busy), Cleaned)
    lines = [f"removed {len(done.machines)} machines and the output of {done.attempts} attempts"]
    foreign = {machine.name for machine in found.machines}
    lines += [
        f"kept {name}: it is busy; --even-busy ends what it does"
        if name in foreign
        else f"machine {name} of this store still works on a job of another"
        for name in done.kept
    ]
    if done.kept and attempts:
        lines.append("kept all output: what is busy may still write some; clean again when it has ended")
    session.show(Report(done, lines=tuple(lines)))
    if done.problems:
        raise RemudaError("; ".join(done.problems))


@store.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_session
def salvage(session: Session, yes: bool) -> None:
    """
    Make a new store of what can still be read of a damaged one.

    Only while nothing runs. The damaged store is kept beside the new one, and what could not be read is listed. A
    machine or an attempt that the new store does not know is foreign: see `remuda store foreign`.
    """
    from remuda.datadir import DataDir
    from remuda.ledger.salvage import salvage as read_what_can_be
    from remuda.ledger.store import FILE

    if session.home != session.data_dir:
        raise BadInput(f"{session.home} is no file: a damaged database is mended with its server's own tools")
    path = session.data_dir / FILE
    if not path.exists():
        raise BadInput(f"there is no store at {path}")
    home = DataDir(session.data_dir)
    try:
        confirm(f"Make a new store of what can be read of {path}? The old one is kept beside it.", yes=yes)
        draft = path.with_name(f"{FILE}.salvaged")
        _remove(draft)
        found = read_what_can_be(path, draft, session.jobs.tables())
        number = next(n for n in range(1, 1_000) if not path.with_name(f"{FILE}.damaged-{n}").exists())
        kept = path.with_name(f"{FILE}.damaged-{number}")
        for ending in ("-wal", "-shm", ""):
            if (part := path.with_name(FILE + ending)).exists():
                part.rename(kept.with_name(kept.name + ending))
        draft.rename(path)
    finally:
        home.release()
    rows = tuple((each.table, str(each.kept), ", ".join(each.unreadable) or "-") for each in found)
    table = Table(("TABLE", "ROWS KEPT", "NOT READABLE"), rows)
    session.show(Report(found, (table,), (f"the damaged store is now {kept}",)))


def _remove(draft: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        draft.with_name(draft.name + ending).unlink(missing_ok=True)
