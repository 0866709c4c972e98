"""`remuda simulate tiers`."""

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import InvariantError
from remuda.output.show import Report, Table


@click.command(cls=Command)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="The first seed.")
@click.option(
    "--seeds",
    type=click.IntRange(1, 1_000_000),
    default=1,
    show_default=True,
    help="How many seeds, one after another.",
)
@pass_session
def tiers(session: Session, seed: int, seeds: int) -> None:
    """
    Namespaces that are kept to their tiers, with other hands in them and an API that fails.

    Namespaces and nodes come, change and go, policies change, others edit, delete and make objects of the same names, writes
    fail, answers are lost, and the process dies. Nothing that others made is ever touched; in the end the cluster is what its
    policies say, and nothing more is written. A broken rule ends it with exit code 1 and the seed that shows it again.
    """
    from remuda.sim.tiers import simulate

    found = []
    for number in range(seed, seed + seeds):
        try:
            found.append((number, simulate(number)))
        except InvariantError as error:
            click.echo(f"{error}\nto see it again: remuda simulate tiers --seed {number}", err=True)
            raise click.exceptions.Exit(1) from None
    rows = tuple(
        (
            str(number),
            str(summary.namespaces),
            str(summary.writes),
            f"{summary.cycles:,}",
            str(summary.restarts),
            str(sum(summary.faults.values())),
        )
        for number, summary in found
    )
    headings = ("SEED", "NAMESPACES", "WRITES", "CYCLES", "RESTARTS", "FAULTS")
    data = [{"seed": number, "summary": summary} for number, summary in found]
    session.show(Report(data, (Table(headings, rows),)))
