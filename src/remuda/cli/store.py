"""`remuda store`: what is in the data directory that is not this store's own."""

import click

from remuda.backends.foreign import Clean, Cleaned, ForeignView
from remuda.control.command import Group, Session, confirm, pass_session
from remuda.errors import RemudaError
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
@click.option(
    "--even-busy", is_flag=True, help="Also machines that work, or that have not said what they do."
)
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
    lines += [f"kept {name}: it is busy; --even-busy ends what it does" for name in done.kept]
    session.show(Report(done, lines=tuple(lines)))
    if done.problems:
        raise RemudaError("; ".join(done.problems))
