"""`remuda diagnose`: why pools do not do what is wanted of them, and whether workloads are measured."""

import asyncio
import os
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remuda.control.command import Command, Session, pass_session
from remuda.diagnose.job import JOB
from remuda.errors import BadInput, NotFound, RemudaError
from remuda.job import load
from remuda.model.checks import CheckResult
from remuda.output.checks import exit_code, report_of

if TYPE_CHECKING:
    from remuda.diagnose.measurements import Measurements
    from remuda.diagnose.snapshot import Snapshot

_TIMEOUT_S = 15.0


def _options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option(
            "--namespace", metavar="NAME", help="Whose pools. Default: the kubeconfig's, or our own."
        ),
        click.option("--context", metavar="NAME", help="Another context of the kubeconfig."),
        click.option(
            "--bundle",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Also write what was seen, secrets removed, to a file (.gz compresses).",
        ),
        click.option(
            "--from",
            "source",
            type=click.Path(path_type=Path, dir_okay=False, exists=True),
            metavar="FILE",
            help="Look at a bundle instead of a cluster.",
        ),
    ):
        command = option(command)
    return command


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="[POOL…]")
@_options
@pass_session
def pools(session: Session, /, names: tuple[str, ...], **options: Any) -> None:
    """
    Check pools, from the controller down to their guests.

    All pools of a namespace, or some by name. Each check says what was seen, a verdict, and how to fix it; of several
    problems fix the first one first.
    """
    from remuda.diagnose.decide import judge_pools

    snapshot = _look(session, **options)
    if unknown := sorted(set(names) - {pool.name for pool in snapshot.pools}):
        known = ", ".join(pool.name for pool in snapshot.pools) or "none"
        raise NotFound(
            f"there is no pool {', '.join(unknown)} in namespace {snapshot.namespace}; there is: {known}"
        )
    _show(session, judge_pools(snapshot, names))


@click.command(cls=Command)
@_options
@pass_session
def kubevirt(session: Session, /, **options: Any) -> None:
    """
    Check KubeVirt: whether it is whole, and nodes can run VMs.

    It needs no pool, so it also shows beforehand whether a cluster will do.
    """
    from remuda.diagnose.decide import judge_kubevirt

    _show(session, judge_kubevirt(_look(session, **options)))


@click.command(cls=Command)
@click.argument("files", nargs=-1, metavar="[FILE…]")
@pass_session
def host(session: Session, /, files: tuple[str, ...]) -> None:
    """
    Check how jobs that run as processes are separated and limited here.

    FILES are the objects that remuda up gets, or will get: their pools are judged by what this host allows to the user
    that you are. Without any, only the host is. What works is tried, and nothing is left behind.
    """
    from remuda.diagnose.decide.host import judge_host
    from remuda.objects.load import Objects

    loaded = session.jobs.load(files) if files else None
    if loaded is not None and loaded.problems:
        raise BadInput("\n".join(str(problem) for problem in loaded.problems))
    _, look_at_host = _backends(session)
    with session.progress() as progress:
        progress("what this host allows")
        found = look_at_host(Objects() if loaded is None else loaded.objects, session.data_dir)
    _show(session, judge_host(found))


@click.command(cls=Command)
@click.option(
    "--prometheus",
    envvar="PROMETHEUS_URL",
    metavar="URL",
    help="Ask this Prometheus, too. Default: $PROMETHEUS_URL.",
)
@click.option("--context", metavar="NAME", help="Another context of the kubeconfig.")
@pass_session
def metrics(session: Session, /, prometheus: str | None, context: str | None) -> None:
    """
    Check whether workloads are measured well enough to size them.

    Prometheus and how far back its samples go, metrics-server, the recommender and VPA objects. A review needs only
    one of them.
    """
    from remuda.diagnose.decide.metrics import judge_metrics

    with session.progress() as progress:
        snapshot = asyncio.run(_measure(session, prometheus, context, progress))
    _show(session, judge_metrics(snapshot))


async def _measure(
    session: Session, prometheus: str | None, context: str | None, progress: Callable[[str], None]
) -> "Measurements":
    from msgspec.structs import replace

    from remuda.control.connect import connect_cluster
    from remuda.diagnose.observe.measurements import Measuring, ask, unseen
    from remuda.prometheus.client import connect

    now = session.now()
    asked = None
    if prometheus:
        progress("Prometheus")
        async with connect(prometheus) as server:
            asked = await ask(server, now)
    try:
        async with connect_cluster(context) as client:
            snapshot = await Measuring(client, progress).look(now)
    except RemudaError as error:
        if asked is None:
            raise
        snapshot = unseen(now, str(error))
    return replace(snapshot, prometheus=asked)


def _backends(session: Session) -> tuple[Any, Any]:
    """What asks CircleCI, and what looks at this host."""
    ask_circleci, look_at_host = session.jobs.backends[JOB.name]
    return load(ask_circleci.make), load(look_at_host.make)


def _show(session: Session, findings: Iterable[CheckResult]) -> None:
    found = tuple(findings)
    session.show(report_of(found))
    raise click.exceptions.Exit(exit_code(found))


def _look(
    session: Session, namespace: str | None, context: str | None, bundle: Path | None, source: Path | None
) -> "Snapshot":
    from remuda.diagnose.observe.bundle import read_bundle, write_bundle

    if source is not None:
        if namespace or context or bundle:
            raise BadInput("--from looks at a file: leave out --namespace, --context and --bundle")
        return read_bundle(source)
    with session.progress() as progress:
        snapshot = asyncio.run(_collect(session, namespace, context, progress))
    if bundle is not None:
        write_bundle(bundle, snapshot)
        if not session.quiet:
            click.echo(f"what was seen is in {bundle}; look it through before you hand it on", err=True)
    return snapshot


async def _collect(
    session: Session, namespace: str | None, context: str | None, progress: Callable[[str], None]
) -> "Snapshot":
    from remuda.diagnose.observe.cluster import Collector
    from remuda.kube.client import Client
    from remuda.kube.config import choose_namespace, find_access
    from remuda.loop.clock import SystemClock

    clock = SystemClock()
    access = find_access(os.environ, clock, context=context)
    chosen = choose_namespace(os.environ, access, namespace)
    async with Client(access, clock, random.Random(), timeout=_TIMEOUT_S) as client:
        needs = session.jobs.permissions()["up"]
        ask_circleci, _ = _backends(session)
        return await Collector(client, chosen, ask_circleci, progress, needs).collect(session.now())
