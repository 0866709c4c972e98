"""`remuda why`: one question for every job, answered by the job that knows."""

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput
from remuda.pools.questions import complete_pools


@click.command(cls=Command)
@click.argument("kind", type=click.Choice(["pool", "machine", "job", "need"]))
@click.argument("name", shell_complete=complete_pools)
@click.option(
    "--at", metavar="TIME", help="At another time, as 14:05:00 or with its date, or how long ago: 10m."
)
@click.option("--history", is_flag=True, help="Also what came before.")
@click.option("--inventory", multiple=True, metavar="FILE", help="For a need: the machines of the fleet.")
@click.option("--demand", multiple=True, metavar="FILE", help="For a need: what clusters ask for.")
@click.option("--policy", multiple=True, metavar="FILE", help="For a need: the FleetPolicy.")
@click.option(
    "--from",
    "plan",
    metavar="FILE",
    help="For a need: what remuda fleet plan -o json printed, - for standard input.",
)
@pass_session
def why(
    session: Session,
    kind: str,
    name: str,
    at: str | None,
    history: bool,
    inventory: tuple[str, ...],
    demand: tuple[str, ...],
    policy: tuple[str, ...],
    plan: str | None,
) -> None:
    """
    Why a pool, a machine, a job or a need is as it is.

    \b
    remuda why pool shell
    remuda why pool shell --at 10m
    remuda why pool shell --at 2026-01-31T14:05:00Z
    remuda why machine shell-7
    remuda why job 12
    remuda why need prod/web --inventory machines.yaml --demand needs.yaml
    remuda why need prod/web --from plan.json
    """
    if kind != "need":
        if inventory or demand or policy or plan:
            raise BadInput("--inventory, --demand, --policy and --from are for remuda why need")
        from remuda.pools.questions import answer_why

        answer_why(session, kind, name, at, history=history)
        return
    if history:
        raise BadInput(
            "--history is for pools, machines and jobs: a need is judged on files, which have none"
        )
    if plan:
        if inventory or demand or policy or at:
            raise BadInput("--from has the whole plan: leave --inventory, --demand, --policy and --at out")
        from remuda.fleet.questions import answer_from_plan

        answer_from_plan(session, name, plan)
        return
    if not inventory or not demand:
        raise BadInput("remuda why need wants --inventory FILE and --demand FILE, or --from PLAN.json")
    from remuda.fleet.questions import answer_from_files

    answer_from_files(session, name, (*inventory, *demand, *policy), at)
