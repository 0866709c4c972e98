"""`remuda up`: everything in one process."""

import asyncio
import contextlib
import random
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput

if TYPE_CHECKING:
    from remuda.app import App, Options
    from remuda.cluster.replica import ReplicaConfig
    from remuda.job import Jobs
    from remuda.loop.clock import SystemClock
    from remuda.loop.logs import Log
    from remuda.runtime import SharedPlace
    from remuda.web.dashboard import WebOptions

#: what a lease may be: shorter ones end by chance, longer ones keep jobs from being tried again
_SHORTEST_LEASE, _LONGEST_LEASE = 5_000, 3_600_000
#: a log that is longer begins anew with the next start
_LONGEST_LOG = 16 * 1024 * 1024


@click.command(cls=Command)
@click.argument("files", nargs=-1, metavar="[FILE…]")
@click.option("--cluster", is_flag=True, help="Take the objects from the API server instead of files.")
@click.option(
    "--namespace", metavar="NAME", help="With --cluster: whose objects. Default: the one we run in."
)
@click.option("--context", metavar="NAME", help="With --cluster: another context of the kubeconfig.")
@click.option(
    "--health-port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="GET /ready and /metrics; 0 for any free port.",
)
@click.option(
    "--live-port",
    type=click.IntRange(0, 65535),
    default=8001,
    show_default=True,
    help="GET /live; 0 for any free port.",
)
@click.option("--address", default="127.0.0.1", show_default=True, help="Where health and metrics listen.")
@click.option(
    "--web-port",
    type=click.IntRange(0, 65535),
    help="The dashboard and the HTTP API. Default: 8420, or any free port where that is taken.",
)
@click.option("--web-address", default="127.0.0.1", show_default=True, help="Where the dashboard listens.")
@click.option(
    "--web-access",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Who may see and change things beside the owner of the link: tokens, or a proxy that knows people.",
)
@click.option(
    "--web-token",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The owner's token, in a file that all replicas have: those that stand by pass on what they are asked to the one"
    " that leads. Default: a token of its own in the data directory.",
)
@click.option("--no-web", is_flag=True, help="No dashboard.")
@click.option("--open", "opens", is_flag=True, help="Open the dashboard in a browser.")
@click.option(
    "--interval",
    type=click.FloatRange(0.05, 3600),
    default=1.0,
    show_default=True,
    help="Seconds between cycles when nothing wakes the loop.",
)
@click.option(
    "--keep",
    default="7d",
    show_default=True,
    metavar="DURATION",
    help="How long history and ended jobs are kept.",
)
@click.option(
    "--keep-size", default="256Mi", show_default=True, metavar="SIZE", help="The most history that is kept."
)
@click.option(
    "--keep-output",
    default="2Gi",
    show_default=True,
    metavar="SIZE",
    help="The most output of ended jobs that is kept; beyond it the oldest jobs are forgotten.",
)
@click.option(
    "--queue-lease",
    default="2m",
    show_default=True,
    metavar="DURATION",
    help="With --queue: how long after its last sign of life the jobs of this host may be taken by another.",
)
@click.option("--dry-run", is_flag=True, help="Observe and decide, but change nothing.")
@pass_session
def up(
    session: Session,
    files: tuple[str, ...],
    cluster: bool,
    namespace: str | None,
    context: str | None,
    health_port: int,
    live_port: int,
    address: str,
    web_port: int | None,
    web_address: str,
    web_access: Path | None,
    web_token: Path | None,
    no_web: bool,
    opens: bool,
    interval: float,
    keep: str,
    keep_size: str,
    keep_output: str,
    queue_lease: str,
    dry_run: bool,
) -> None:
    """
    Run everything in one process until stopped.

    FILE… are the objects to keep: YAML or JSON files, or directories of them. They are read again on SIGHUP and when
    they change; files with a problem are refused and the old ones stay.

    With --cluster they are the objects of a namespace instead; of several replicas one leads, and the others stand by.

    On a terminal there is a live view; in a pipe, JSON lines on stderr. Ctrl-C stops Remuda and leaves its machines
    running for the next start; machines without work end by themselves after ten minutes.
    """
    from remuda.app import App, Options
    from remuda.ledger.retention import Retention
    from remuda.loop.clock import SystemClock
    from remuda.loop.logs import Log, take_over_logging, to_stream
    from remuda.loop.loop import Pace
    from remuda.model.quantities import Quantity
    from remuda.model.times import Duration

    try:
        retention = Retention(
            Duration.parse(keep), Quantity.parse(keep_size).bytes, Quantity.parse(keep_output).bytes
        )
    except ValueError as error:
        raise BadInput(str(error)) from None
    if bool(files) == cluster:
        raise BadInput("say either FILE…, or --cluster to take the objects from the API server")
    if not cluster and (namespace or context):
        raise BadInput("--namespace and --context belong to --cluster")
    clock = SystemClock()
    options = Options(
        files=files,
        data_dir=session.data_dir,
        health_port=health_port,
        live_port=live_port,
        address=address,
        retention=retention,
        pace=Pace(interval=interval),
        cluster=_replica(clock, namespace, context) if cluster else None,
        web=None if no_web or dry_run else _web(web_address, web_port, web_access, web_token),
        store=session.address,
        queue=_shared_queue(session, queue_lease, cluster=cluster, dry_run=dry_run),
    )
    if dry_run:
        _show_plan(session, options, clock)
        return

    live_view = next((job.live_view for job in session.jobs if job.live_view), None)
    watches = live_view is not None and sys.stdout.isatty() and not session.quiet and session.form == "table"
    write = _to_file(session.data_dir) if watches else to_stream()
    log = Log(clock, write)
    take_over_logging(log)

    async def main(stop: asyncio.Event) -> None:
        if options.cluster is not None and not await _is_fit(options.cluster, session.jobs, clock, stop):
            return
        app = App(options, clock, random.Random(), log, jobs=session.jobs)
        aside = set[asyncio.Future[object]]()

        def hang_up() -> None:
            if watches and not sys.stdout.isatty():
                stop.set()  # the terminal is gone: nobody asks for a reload
            else:
                reload: asyncio.Future[object] = asyncio.ensure_future(app.reload())
                aside.add(reload)
                reload.add_done_callback(aside.discard)

        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hang_up)
        # The link holds the token: it is for a terminal, and never for a log.
        is_shown = sys.stderr.isatty() and not watches and not session.quiet
        if opens or is_shown:
            aside.add(asyncio.ensure_future(_present(app, is_shown=is_shown, opens=opens)))
        if not watches or live_view is None:
            await app.run(stop)
            return
        view = asyncio.create_task(_watch(session, live_view, clock, stop, log, lambda: app.web_link))
        try:
            await app.run(stop)
        finally:
            stop.set()
            await view
        with contextlib.suppress(OSError):  # the terminal may be gone
            click.echo("stopped; machines stay for the next `remuda up`, those without a job for ten minutes")

    asyncio.run(_until_stopped(main))


async def _present(app: "App", *, is_shown: bool, opens: bool) -> None:
    """Show the link of the dashboard on the terminal, and open it in a browser where that is wanted."""
    from remuda.web.opening import open_browser

    await app.is_up.wait()
    if app.web_link and is_shown:
        click.echo(f"dashboard: {app.web_link}", err=True)
    if app.web_link and opens:
        await asyncio.to_thread(open_browser, app.web_link)


def _web(address: str, port: int | None, access: Path | None, token: Path | None) -> "WebOptions | None":
    """The dashboard, where what it is drawn with is installed."""
    import importlib.util

    if importlib.util.find_spec("jinja2") is None:
        click.echo(
            "no dashboard: it needs `pip install 'remuda[web]'`; --no-web leaves this line out", err=True
        )
        return None
    from remuda.web.dashboard import WebOptions

    return WebOptions(address, port, access, token)


def _shared_queue(session: Session, lease: str, *, cluster: bool, dry_run: bool) -> "SharedPlace | None":
    """The queue that this host shares with others, where one was named."""
    from remuda.model.times import Duration
    from remuda.runtime import SharedPlace

    try:
        length = Duration.parse(lease)
    except ValueError as error:
        raise BadInput(f"--queue-lease: {error}") from None
    if not _SHORTEST_LEASE <= length <= _LONGEST_LEASE:
        raise BadInput(f"--queue-lease wants 5s to 1h, found {lease}")
    address = session.queue_address
    if address is None:
        return None
    if cluster:
        raise BadInput(
            "--queue is for hosts: the replicas of a cluster share the queue of their store, and one gives out jobs"
        )
    if dry_run:
        raise BadInput(
            "--dry-run cannot look into a queue that hosts share: leave out --queue and REMUDA_QUEUE"
        )
    return SharedPlace(address, int(length))


def _replica(clock: "SystemClock", namespace: str | None, context: str | None) -> "ReplicaConfig":
    """Which cluster, which namespace, and who we are: the pod's name, else the host's."""
    import os
    import socket

    from remuda.cluster.replica import ReplicaConfig
    from remuda.kube.config import choose_namespace, find_access

    access = find_access(os.environ, clock, context=context)
    identity = os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}"
    return ReplicaConfig(
        access,
        choose_namespace(os.environ, access, namespace),
        identity,
        pod_address=os.environ.get("POD_IP", ""),
    )


async def _is_fit(replica: "ReplicaConfig", jobs: "Jobs", clock: "SystemClock", stop: asyncio.Event) -> bool:
    """True when `up` will work in the cluster, `BadInput` when it will not; False when we are to stop meanwhile."""
    from remuda.cluster.preflight import check_cluster

    checking = asyncio.create_task(check_cluster(replica, jobs, clock, random.Random()))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((checking, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if checking.done():
        await checking
        return True
    checking.cancel()
    return False


def _show_plan(session: Session, options: "Options", clock: "SystemClock") -> None:
    """What one cycle would do."""
    from remuda.dryrun import dry_run
    from remuda.loop.logs import Log
    from remuda.output.show import Report, Table
    from remuda.output.words import sentence

    plan, problems = asyncio.run(
        dry_run(options, session.jobs, clock, random.Random(), Log(clock, lambda _: None))
    )
    for problem in problems:
        click.echo(f"not accepted: {problem}", err=True)
    acts = tuple((type(item).__name__.lower(), item.target, sentence(item.reason)) for item in plan.actions)
    lines = tuple(sentence(reason) for reason in plan.reasons)
    table = Table(("ACTION", "TARGET", "WHY"), acts, title="would do", note="nothing to do")
    session.show(Report(plan, (table,), lines))


async def _watch(
    session: Session,
    view: str,
    clock: "SystemClock",
    stop: asyncio.Event,
    log: "Log",
    link: Callable[[], str],
) -> None:
    """Draw the view; nothing that goes wrong with it harms what runs."""
    from remuda.job import load

    try:
        await load(view)(session, clock, stop, link=link)
    except Exception as error:  # noqa: BLE001 - see above
        message = f"the live view failed ({type(error).__name__}: {error})"
        log.error(message)
        with contextlib.suppress(OSError):
            click.echo(f"{message}; remuda goes on until Ctrl-C", err=True)


async def _until_stopped(main: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await main(stop)


def _to_file(data_dir: Path) -> Callable[[str], object]:
    """While the view has the terminal, log lines go to a file; it is opened with the first of them."""
    files: list[TextIO] = []

    def write(line: str) -> None:
        with contextlib.suppress(OSError):  # a full disk must not stop what runs
            if not files:
                path = data_dir / "remuda.log"
                is_long = path.exists() and path.stat().st_size > _LONGEST_LOG
                files.append(path.open("w" if is_long else "a", encoding="utf-8", buffering=1))
            files[0].write(line)

    return write
