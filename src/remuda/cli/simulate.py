"""`remuda simulate`: the same judgement against a simulated world."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from remuda.control.command import Group, Session, pass_session
from remuda.errors import InvariantError
from remuda.output.show import Report, Table

if TYPE_CHECKING:
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


@click.group(cls=Group)
def simulate() -> None:
    """
    Run the same judgement against a simulated world.

    Time is virtual, faults are seeded, and the same seed gives the same history on every machine.
    """


@simulate.command()
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
@pass_session
def pools(session: Session, seed: int, seeds: int, world: str, pool_count: int, jobs: int) -> None:
    """
    Pools, their queue and their machines, with faults and crashes.

    Rules that must always hold are checked at every change: no busy machine is removed, no bound or ceiling is broken,
    no job is lost or run twice unseen. A broken rule ends it with exit code 1 and the seed that shows it again.
    """
    from remuda.sim.pools import day, hostile
    from remuda.sim.pools import simulate as live

    def history(number: int) -> "Summary":
        return day(pool_count, jobs, number) if world == "day" else live(hostile(number), number)

    _live_through(session, history, range(seed, seed + seeds), f"pools --world {world}")


@simulate.command()
@_seeds
@pass_session
def runners(session: Session, seed: int, seeds: int) -> None:
    """
    CircleCI runners on VMs, with an API that fails.

    The API is late, wrong or silent, agents claim tasks by themselves at any moment, names of VMs are used again, and the process loses its ledger. No
    VM that is known to work is told to go, no bound, ceiling or plan is broken, and stale data never shrinks a pool.
    A broken rule ends it with exit code 1 and the seed that shows it again.
    """
    from remuda.sim.runner_scenario import hostile_runners
    from remuda.sim.runners import simulate_runners

    def history(number: int) -> "Summary":
        return simulate_runners(hostile_runners(number), number)

    _live_through(session, history, range(seed, seed + seeds), "runners")


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
