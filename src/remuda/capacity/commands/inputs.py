"""What every capacity command begins with: the world, from a cluster or from files, and the policies."""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.snapshot import SUMMARIES, Snapshot, summary_of
from remuda.control.command import Session
from remuda.control.connect import connect_cluster
from remuda.errors import BadInput
from remuda.model.times import Instant

C = TypeVar("C", bound=Callable[..., None])
R = TypeVar("R")
summary_option = click.option(
    "--summary",
    "summaries",
    multiple=True,
    metavar="FILE",
    help="What a kubelet said of its filesystems earlier, for nodes whose kubelets may not be asked.",
)


def sources(command: C) -> C:
    """The options that say what is read: `context`, `files`, `policy`, `summaries` and `at`."""
    for option in (
        click.option(
            "--at",
            metavar="TIME",
            help="Judge ages and expiries as if it were then, or so long ago. Default: now.",
        ),
        click.option(
            "--policy",
            multiple=True,
            metavar="FILE",
            help="The CapacityPolicies to judge by. Default: those the cluster keeps, if it is read.",
        ),
        summary_option,
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
    nodes: Iterable[str],
    at: str | None = None,
    summaries: tuple[str, ...] = (),
) -> Snapshot:
    """
    Read files, or the cluster without any; of a cluster the kubelets of these nodes are asked, too.

    Files count as read when they are judged as of, unless what they hold says when it was seen. `summaries` are files,
    too, which count for kubelets of a cluster that did not answer. `BadInput` with everything that is wrong with files.
    """
    if files and context:
        raise BadInput("--from reads files and --context a cluster: leave one of them out")
    now = session.now()
    with session.progress() as progress:
        if files:
            return _read(session, (*files, *summaries), session.instant(at, now), progress)
        recorded = _read(session, summaries, now, progress) if summaries else None
        progress("the cluster")
        asked = frozenset(nodes)
        snapshot = run_async(_collect(context, asked, now))
        return snapshot if recorded is None else _with_recorded(snapshot, recorded, asked)


def _read(
    session: Session, files: tuple[str, ...], now: Instant, progress: Callable[[str], None]
) -> Snapshot:
    from remuda.capacity.observe.files import read_files

    progress(", ".join(files))
    read = read_files(files, now)
    if read.problems:
        raise BadInput("\n".join(map(str, read.problems)))
    if not session.quiet:
        for note in read.notes:
            click.echo(note, err=True)
    return read.snapshot


def _with_recorded(snapshot: Snapshot, recorded: Snapshot, asked: frozenset[str]) -> Snapshot:
    """A world in which what kubelets said earlier stands for what they did not say now."""
    known = recorded.summaries | snapshot.summaries
    parts = {summary_of(node) for node in recorded.summaries}
    if asked <= known.keys():
        parts.add(SUMMARIES)
    unknown = tuple(item for item in snapshot.unknown if item.part not in parts)
    return replace(snapshot, summaries=known, unknown=unknown)


async def _collect(context: str | None, nodes: frozenset[str], now: Instant) -> Snapshot:
    from remuda.capacity.observe.cluster import collect

    async with connect_cluster(context) as client:
        return await collect(client, now, asks=nodes.__contains__)


def policies(session: Session, files: tuple[str, ...]) -> dict[str, CapacityPolicySpec]:
    """The policies of files by name; `BadInput` when there is none, or when two are for one label."""
    if not files:
        return {}
    found = [item for item in session.load(files) if item.kind == "CapacityPolicy"]
    if not found:
        raise BadInput(f"there is no CapacityPolicy in {', '.join(files)}")
    first: dict[str, Any] = {}
    twice = []
    for item in found:
        other = first.setdefault(item.spec.label.lower(), item)
        if other is not item:
            line, column = item.place("spec.label")
            twice.append(
                f"{item.file}:{line}:{column}: spec.label: {item.spec.label} has a policy already, {other.name}, "
                f"at {other.file}:{other.line}: a label has one"
            )
    if twice:
        raise BadInput("\n".join(twice))
    return {item.name: item.spec for item in found}


def overflow_nodes(known: dict[str, CapacityPolicySpec]) -> set[str]:
    """The nodes whose kubelets have something to say to gates."""
    return {item.node for policy in known.values() for item in policy.nodes.overflow}


def needed_policies(
    session: Session, named: tuple[str, ...], context: str | None, files: tuple[str, ...]
) -> dict[str, CapacityPolicySpec]:
    """The policies of files, or else those that the cluster keeps; `BadInput` when there is none."""
    if named:
        return policies(session, named)
    if files:
        raise BadInput("--from reads no cluster, and a policy is needed: give --policy FILE")
    found = run_async(_kept(context))
    if not found:
        raise BadInput("the cluster keeps no CapacityPolicy: give --policy FILE")
    return found


def known_policies(
    session: Session, named: tuple[str, ...], context: str | None, files: tuple[str, ...]
) -> dict[str, CapacityPolicySpec]:
    """The policies of files, or else those that the cluster keeps and lets us read, which may be none."""
    if named or files:
        return policies(session, named)
    from remuda.kube.errors import Forbidden

    try:
        return run_async(_kept(context))
    except Forbidden:
        if not session.quiet:
            words = "may not list capacitypolicies.remuda.dev: judged without those that the cluster keeps"
            click.echo(f"{words}; `remuda rbac capacity` prints what is needed", err=True)
        return {}


async def _kept(context: str | None) -> dict[str, CapacityPolicySpec]:
    from remuda.capacity.act import policies_in

    async with connect_cluster(context) as client:
        return await policies_in(client)


def run_async(work: Coroutine[Any, Any, R]) -> R:
    """Ask a cluster; files are read without an event loop, whose import takes longer than they do."""
    import asyncio

    return asyncio.run(work)
