"""`remuda fleet`."""

import importlib.util

import click

from remuda.control.command import Group, Session, pass_session
from remuda.errors import BadInput
from remuda.fleet.workloads import SIZES
from remuda.output.show import Report, Table


@click.group(cls=Group)
def fleet() -> None:
    """
    Decide which machine serves which cluster, and measure it.

    A fleet is many machines of several kinds for the needs of many clusters. It needs NumPy, and is faster with Numba:
    pip install 'remuda[fleet]'
    """


@fleet.command()
@click.option("--inventory", multiple=True, required=True, metavar="FILE", help="The machines there are.")
@click.option("--demand", multiple=True, required=True, metavar="FILE", help="What clusters ask for.")
@click.option("--policy", multiple=True, metavar="FILE", help="A FleetPolicy, unless another file has it.")
@click.option("--at", metavar="TIME", help="Decide as if it were then, or so long ago. Default: now.")
@click.option(
    "--keep", is_flag=True, help="Keep it in the data directory, for the dashboard and remuda why need."
)
@pass_session
def plan(
    session: Session,
    inventory: tuple[str, ...],
    demand: tuple[str, ...],
    policy: tuple[str, ...],
    at: str | None,
    keep: bool,
) -> None:
    """
    Decide once on files, and explain it.

    Nothing is done. With --keep the page Fleet of the dashboard (remuda web) shows it. FILES are YAML or JSON, directories of them, or - for standard input. Records that cannot be
    believed are refused by name on stderr, and the rest goes on. Exits 1 when a need is not met or a record is
    refused. For example: remuda fleet plan --inventory examples/fleet-inventory.yaml --demand examples/fleet-demand.yaml
    """
    need_numpy()
    from remuda.fleet.questions import decided, report_refused
    from remuda.fleet.show.report import report

    files = (*inventory, *demand, *policy)
    trial = decided(session, files, at)
    report_refused(session, trial.inputs)
    session.show(report(trial, session.form))
    if keep:
        from remuda.fleet.history.kept_plans import keep_plan

        keep_plan(session.home, trial, files)
    if trial.plan.shortfalls or trial.inputs.refused:
        raise click.exceptions.Exit(1)


@fleet.command()
@click.option(
    "--workload",
    required=True,
    type=click.Choice(list(SIZES)),
    help="What the fleet and its demand are like.",
)
@click.option(
    "--machines",
    type=click.IntRange(1, 10_000_000),
    help="How many machines. Default: what the workload is meant for, 60,000 to 500,000.",
)
@click.option(
    "--cycles",
    type=click.IntRange(5, 10_000),
    default=10,
    show_default=True,
    help="How many decisions to time, after one to warm up.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="What changes, in the workload churn.",
)
@click.option(
    "--engine",
    type=click.Choice(["numpy", "numba"]),
    help="numpy is the reference, numba compiles it; both decide the same. Default: numba if it is there.",
)
@pass_session
def bench(
    session: Session, workload: str, machines: int | None, cycles: int, seed: int, engine: str | None
) -> None:
    """
    Measure how long a decision takes.

    A cycle replaces everything known of machines and needs, counts anew and decides; a quiet one decides again after
    nothing changed. That the fleet holds the machines, and that the plan is the right one, is checked outside the
    measured time.
    """
    need_numpy()
    from remuda.fleet.measure import measure
    from remuda.fleet.workloads.build import build

    found = measure(build(workload, machines, seed), cycles, engine)
    times = [("cycle", found.wall_ms), ("cycle, CPU", found.cpu_ms), ("nothing changed", found.quiet_ms)]
    if found.new_ids_ms is not None:
        times.append(("all ids new", found.new_ids_ms))
    rows = tuple((what, f"{ms.min:.2f}", f"{ms.median:.2f}", f"{ms.p99:.2f}") for what, ms in times)
    gangs = "" if found.gangs_placed is None else f" ({found.gangs_placed:,} gangs placed)"
    lines = (
        f"{found.workload}: {found.machines:,} machines, {found.needs:,} needs of {found.clusters:,} clusters",
        f"plan: {found.actions:,} actions, {found.unmet:,} needs unmet{gangs}",
        f"{found.cycles} cycles with {found.engine}, {found.peak_rss_mb:,.0f} MB at most",
        "",
    )
    session.show(Report(found, (Table(("MILLISECONDS", "MIN", "MEDIAN", "P99"), rows),), lines))


def need_numpy() -> None:
    """Raise `BadInput` with what to install where NumPy is missing."""
    if importlib.util.find_spec("numpy") is None:
        raise BadInput("remuda fleet needs NumPy: pip install 'remuda[fleet]'")
