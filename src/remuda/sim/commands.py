"""`remuda simulate`: the same judgement against a simulated world."""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput, InvariantError
from remuda.output.show import Report, Table

if TYPE_CHECKING:
    from remuda.fleet.shard import Decide
    from remuda.sim.fleet_scenario import Level, Request
    from remuda.sim.fleet_summary import FleetSummary
    from remuda.sim.history import Summary


def _seeds(command: Callable[..., None]) -> Callable[..., None]:
    """Which histories to live through."""
    most = click.IntRange(1, 1_000_000)
    command = click.option(
        "--seeds", type=most, default=1, show_default=True, help="How many seeds, one after another."
    )(command)
    return click.option(
        "--seed", type=click.IntRange(0), default=1, show_default=True, help="The first seed."
    )(command)


@click.command(cls=Command)
@_seeds
@click.option(
    "--world",
    type=click.Choice(["hostile", "day"]),
    default="hostile",
    show_default=True,
    help="hostile: half an hour in which everything goes wrong. day: a working day of many jobs.",
)
@click.option(
    "--pools",
    "pool_count",
    type=click.IntRange(1, 1_000),
    default=50,
    show_default=True,
    help="Pools of a day.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 10_000_000), default=100_000, show_default=True, help="Jobs of a day."
)
@click.option(
    "--from-ledger",
    is_flag=True,
    help="Live through what is recorded again, with the jobs and settings of then.",
)
@click.option(
    "--since",
    default="7d",
    show_default=True,
    metavar="TIME",
    help="With --from-ledger: from a time, or how long ago.",
)
@click.option("--until", metavar="TIME", help="With --from-ledger: to a time, or how long ago. Default: now.")
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    help="With --from-ledger: changed objects, used instead of those of the same name.",
)
@pass_session
def pools(
    session: Session,
    seed: int,
    seeds: int,
    world: str,
    pool_count: int,
    jobs: int,
    from_ledger: bool,
    since: str,
    until: str | None,
    files: tuple[str, ...],
) -> None:
    """
    Pools, their queue and their machines, with faults and crashes.

    Rules that must always hold are checked at every change: no busy machine is removed, no bound or ceiling is broken,
    no job is lost or run twice unseen. A broken rule ends it with exit code 1 and the seed that shows it again.

    With --from-ledger there are no faults: jobs come as they were recorded and run as long as they did, and what is decided
    changes what happens next. It shows how long they waited, how long they wait in the simulation with the settings of then,
    and with -f how long they would have waited with others.

    \b
    remuda simulate pools --from-ledger --since 7d
    remuda simulate pools --from-ledger --since 7d -f more-machines.yaml
    """
    if from_ledger:
        from remuda.sim.recorded import compare_settings

        compare_settings(session, since, until, files)
        return
    if files or until:
        raise BadInput("-f and --until are for --from-ledger")
    from remuda.sim.pools import day, hostile
    from remuda.sim.pools import simulate as live

    def history(number: int) -> "Summary":
        return day(pool_count, jobs, number) if world == "day" else live(hostile(number), number)

    _live_through(session, history, range(seed, seed + seeds), f"pools --world {world}")


@click.command(cls=Command)
@_seeds
@pass_session
def runners(session: Session, seed: int, seeds: int) -> None:
    """
    CircleCI runners on VMs, with an API that fails.

    The API is late, wrong or silent, agents claim tasks by themselves at any moment, names of VMs are used again, and the process loses its ledger. No
    VM that is known to work is asked to go, no bound, ceiling or plan is broken, and stale data never shrinks a pool.
    A broken rule ends it with exit code 1 and the seed that shows it again.
    """
    from remuda.sim.runner_scenario import hostile_runners
    from remuda.sim.runners import simulate_runners

    def history(number: int) -> "Summary":
        return simulate_runners(hostile_runners(number), number)

    _live_through(session, history, range(seed, seed + seeds), "runners")


@click.command(cls=Command)
@_seeds
@click.option(
    "--machines", type=click.IntRange(20, 1_000_000), default=200, show_default=True, help="Machines."
)
@click.option("--clusters", type=click.IntRange(1, 20_000), default=4, show_default=True, help="Clusters.")
@click.option(
    "--hours",
    type=click.FloatRange(0.05, 8_784.0),
    default=0.5,
    show_default=True,
    help="How long demand moves and things go wrong, before all must come to rest.",
)
@click.option(
    "--faults",
    type=click.Choice(["none", "some", "hostile"]),
    default="hostile",
    show_default=True,
    help="How much goes wrong.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    help="Draw supply, demand, cost and churn over time into a file.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIRECTORY",
    help="Keep what the shard recorded in a new data directory, for remuda web, why need and replay.",
)
@pass_session
def fleet(
    session: Session,
    seed: int,
    seeds: int,
    machines: int,
    clusters: int,
    hours: float,
    faults: "Level",
    html: Path | None,
    record: Path | None,
) -> None:
    """
    A fleet of machines for many clusters, with providers that fail.

    Machines are late, fail or are taken away, calls and lists are lost, late or come twice, clusters fall silent, and
    the shard dies in the middle of its plans. No machine serves two clusters, nothing is drained for an equal or lower
    priority, no limit is exceeded, no gang is started in vain, and in the end all is served that can be and nothing
    moves any more. A broken rule ends it with exit code 1 and the command that shows it again.
    """
    from remuda.fleet.commands import need_numpy

    need_numpy()
    from remuda.fleet.decide import decide
    from remuda.sim.fleet_scenario import Request

    requests = [Request(number, machines, clusters, hours, faults) for number in range(seed, seed + seeds)]
    if html is not None and importlib.util.find_spec("jinja2") is None:
        raise BadInput("--html needs Jinja2: pip install 'remuda[fleet]'")
    if record is not None:
        _check_new(record, seeds)
    found = live_through_fleets(session, requests, html, decide, record)
    session.show(_fleet_report(found))


def _check_new(record: Path, seeds: int) -> None:
    """A simulated history is never mixed with another: `BadInput` where there is one, before hours of it are lived through."""
    from remuda.ledger.store import FILE

    if seeds > 1:
        raise BadInput("--record keeps one history: leave --seeds out")
    if (record / FILE).exists():
        raise BadInput(f"{record} holds a history already: --record wants a new directory")


def live_through_fleets(
    session: Session,
    requests: "Sequence[Request]",
    html: Path | None,
    decide: "Decide",
    record: Path | None = None,
) -> "list[FleetSummary]":
    """Go through histories of fleets up to the first that breaks a rule, and draw each into the same file."""
    from remuda.ledger.backup import copy_new
    from remuda.ledger.store import FILE, SqliteStore
    from remuda.sim.fleet_history import FleetHistory

    shows = sys.stderr.isatty() and not session.quiet
    found = []
    for request in requests:

        def progress(how_far: str, seed: int = request.seed) -> None:
            if shows:
                click.echo(f"\r\x1b[Kseed {seed}: {how_far}", err=True, nl=False)

        try:
            with FleetHistory(request, decide) as history:
                summary = history.live(progress)
                if record is not None:
                    into = record / FILE
                    history.process.store.read(lambda db, into=into: copy_new(db, into))  # type: ignore[misc]
                    # With the tables of every job, as `up` makes it: it is read where it lies, and not from a copy.
                    SqliteStore(into, tables=session.jobs.tables()).close()
        except InvariantError as error:
            progress("a rule is broken\n")
            click.echo(f"{error}\nto see it again: remuda simulate fleet {request.words()}", err=True)
            raise click.exceptions.Exit(1) from None
        found.append(summary)
        if html is not None:
            from remuda.sim.fleet_page import page

            html.write_text(page(summary, history.meter.points), encoding="utf-8")
    if shows:
        click.echo("\r\x1b[K", err=True, nl=False)
    return found


def _fleet_report(found: "list[FleetSummary]") -> Report:
    """One history is shown as itself, several as a list."""
    headings = (
        "SEED",
        "BIND P50",
        "BIND P99",
        "COST/H",
        "× BOUND",
        "CHURN",
        "UNMET",
        "RESTARTS",
        "FAULTS",
        "DIGEST",
    )
    rows = tuple(
        (
            str(summary.seed),
            f"{summary.bind_p50_s:.1f}s",
            f"{summary.bind_p99_s:.1f}s",
            f"${summary.cost_per_hour:,.2f}",
            f"{summary.cost_ratio:.2f}",
            f"{summary.churn:.2f}",
            f"{summary.needs_unmet}/{summary.needs}",
            str(summary.restarts),
            f"{sum(summary.faults.values()):,}",
            summary.digest[:12],
        )
        for summary in found
    )
    return Report(found[0] if len(found) == 1 else found, (Table(headings, rows),))


def _live_through(session: Session, history: Callable[[int], "Summary"], seeds: range, command: str) -> None:
    """Go through histories and show what came of them, up to the first that breaks a rule."""
    found = []
    for number in seeds:
        if len(seeds) > 1 and sys.stderr.isatty() and not session.quiet:
            click.echo(f"\rseed {number} ({number - seeds.start + 1} of {len(seeds)})", err=True, nl=False)
        try:
            summary = history(number)
        except InvariantError as error:
            click.echo(f"\n{error}\nto see it again: remuda simulate {command} --seed {number}", err=True)
            raise click.exceptions.Exit(1) from None
        found.append((number, summary))
    rows = tuple(
        (
            str(number),
            f"{summary.jobs_done:,}",
            f"{summary.wait_p50_s:.1f}s",
            f"{summary.wait_p99_s:.1f}s",
            f"{summary.machines_created:,}",
            f"{summary.utilisation:.0%}",
            f"{sum(summary.faults.values()):,}",
            summary.digest[:12],
        )
        for number, summary in found
    )
    headings = ("SEED", "JOBS DONE", "WAIT P50", "WAIT P99", "MACHINES", "USED", "FAULTS", "DIGEST")
    data = [{"seed": number, "summary": summary} for number, summary in found]
    session.show(Report(data, (Table(headings, rows),)))
