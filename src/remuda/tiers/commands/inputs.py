"""What every command about tiers begins with: the world, from a cluster or from files, and the policies."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

import click

from remuda.control.command import Session
from remuda.control.connect import connect_cluster
from remuda.errors import BadInput
from remuda.model.times import Instant

if TYPE_CHECKING:  # not for --help
    from remuda.rules.tiers import TierPolicy
    from remuda.tiers.snapshot import Snapshot

C = TypeVar("C", bound=Callable[..., None])


def sources(command: C) -> C:
    """The options that say what is read: `context`, `files` and `policy`."""
    for option in (
        click.option(
            "--policy",
            multiple=True,
            metavar="FILE",
            help="The TierPolicies to judge by. Default: those the cluster keeps, or the built-in one.",
        ),
        click.option(
            "--from",
            "files",
            multiple=True,
            metavar="FILE",
            help="Files or directories of what kubectl get -o json prints, or - for standard input, instead of a cluster.",
        ),
        click.option("--context", metavar="NAME", help="Another context of the kubeconfig."),
    ):
        command = option(command)
    return command


def look(
    session: Session,
    context: str | None,
    files: tuple[str, ...],
    policy: tuple[str, ...],
    kubelets: Iterable[str] = (),
) -> "tuple[Snapshot, tuple[TierPolicy, ...]]":
    """
    Read files, or the cluster without any, and the policies; of a cluster the kubelets of these nodes are asked, too.

    `BadInput` with everything that is wrong with files.
    """
    if files and context:
        raise BadInput("--from reads files and --context a cluster: leave one of them out")
    from remuda.tiers.commands.policies import policies_of_files

    named = policies_of_files(session, policy)
    with session.progress() as progress:
        if files:
            progress(", ".join(files))
            return _read(session, files, session.now()), named
        progress("the cluster")
        import asyncio

        return asyncio.run(_collect(session, context, named if policy else (), tuple(kubelets)))


def _read(session: Session, files: tuple[str, ...], now: Instant) -> "Snapshot":
    from remuda.tiers.observe.files import read_files

    read = read_files(files, now)
    if read.problems:
        raise BadInput("\n".join(map(str, read.problems)))
    if not session.quiet:
        for note in read.notes:
            click.echo(note, err=True)
    return read.snapshot


async def _collect(
    session: Session, context: str | None, named: "tuple[TierPolicy, ...]", kubelets: tuple[str, ...]
) -> "tuple[Snapshot, tuple[TierPolicy, ...]]":
    from remuda.kube.errors import Forbidden
    from remuda.tiers.commands.policies import policies_in, policies_of_files
    from remuda.tiers.observe.cluster import collect

    async with connect_cluster(context) as client:
        snapshot = await collect(client, session.now(), asks=kubelets)
        try:
            return snapshot, named or await policies_in(client)
        except Forbidden:
            if not session.quiet:
                words = "may not list tierpolicies.remuda.dev: judged by the built-in tiers"
                click.echo(f"{words}; `remuda rbac tiers` prints what is needed", err=True)
            return snapshot, policies_of_files(session, ())
