"""`remuda diagnose` without a word: every check that applies here, of every job, and a bundle for whoever helps."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import click

from remuda.control.command import Command, Session, pass_session
from remuda.diagnose.job import JOB
from remuda.errors import BadInput, NotFound, RemudaError
from remuda.job import load
from remuda.model.checks import CheckResult
from remuda.output.checks import exit_code, report_of

#: looks and judges; `progress` hears what is looked at next. Where it does not apply it says nothing
Checkup: TypeAlias = Callable[[Session, Callable[[str], None]], Iterable[CheckResult]]


#: seconds that a Remuda elsewhere has to answer
ANSWER_S = 10


@click.command(cls=Command, name="diagnose")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also collect what a maintainer would ask for, secrets removed, into a .tar.gz.",
)
@pass_session
def everything(session: Session, /, bundle: Path | None) -> None:
    """
    Find out why something does not do what is wanted, and what to do.

    Everything that applies here is checked: this data directory and who works with it, what this host allows, pools and
    their queue, and the cluster of the kubeconfig. Nothing is changed. Exit codes: 0 no problem, 1 problems, 2 bad input.
    """
    if session.server is not None:
        # Whoever gave an address that is wrong needs no list of all that cannot be seen there.
        session.timeout_s = ANSWER_S
        check_runs(session)
    with session.progress() as progress:
        found = tuple(check_everything(session, progress))
        if bundle is not None:
            from remuda.diagnose.bundle import write_bundle  # noqa: PLC0415 - only for a bundle

            write_bundle(session, bundle, found, progress)
    if bundle is not None and not session.quiet:
        click.echo(
            f"what a maintainer would ask for is in {bundle}; look it through before you hand it on", err=True
        )
    session.show(report_of(found))
    raise click.exceptions.Exit(exit_code(found))


def check_runs(session: Session) -> None:
    """Raise where the address that was given answers for nothing that runs."""
    try:
        session.remuda.get("/v1/loops", dict[str, Any])
    except NotFound:
        raise BadInput(
            f"nothing runs at {session.server}: what answers there shows what was recorded, as `remuda web` does; "
            "diagnose on its host, without --server"
        ) from None


def check_everything(session: Session, progress: Callable[[str], None]) -> Iterator[CheckResult]:
    """The checks of every job, those of causes first; one that cannot be made does not keep the others from being made."""
    others = (reference for job in session.jobs if job.name != JOB.name for reference in job.checkups)
    for reference in (*JOB.checkups, *others):
        check: Checkup = load(reference)
        try:
            yield from check(session, progress)
        except RemudaError as error:
            name = reference.rpartition(":")[2].removeprefix("check_").replace("_", "-")
            yield CheckResult(name, "unknown", "what it needs could not be read", (str(error),))
