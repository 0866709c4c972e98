"""`remuda why`: one question for every job, answered by the job that knows."""

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput
from remuda.pools.questions import complete_pools


def _complete_names(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    session = context.find_object(Session)
    if session is not None and context.params.get("kind") == "workload":
        from remuda.rightsize.questions import complete_workloads

        return complete_workloads(session, begun)
    return complete_pools(context, parameter, begun)


@click.command(cls=Command)
@click.argument("kind", type=click.Choice(["pool", "machine", "job", "need", "workload"]))
@click.argument("name", shell_complete=_complete_names)
@click.option(
    "--at", metavar="TIME", help="At another time, as 14:05:00 or with its date, or how long ago: 10m."
)
@click.option("--history", is_flag=True, help="Also what came before.")
@click.option("--inventory", multiple=True, metavar="FILE", help="For a need: the machines of the fleet.")
@click.option("--demand", multiple=True, metavar="FILE", help="For a need: what clusters ask for.")
@click.option("--policy", multiple=True, metavar="FILE", help="For a need: the FleetPolicy.")
@click.option(
    "--from",
    "printed",
    metavar="FILE",
    help="For a need: what remuda fleet plan -o json printed; for a workload: what remuda rightsize review -o json"
    " printed; - for standard input.",
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
    printed: str | None,
) -> None:
    """
    Why a pool, a machine, a job, a need or a workload is as it is.

    \b
    remuda why pool shell
    remuda why pool shell --at 10m
    remuda why pool shell --at 2026-01-31T14:05:00Z
    remuda why machine shell-7
    remuda why job 12
    remuda why need prod/web --inventory machines.yaml --demand needs.yaml
    remuda why need prod/web --from plan.json
    remuda why workload shop/checkout
    remuda why workload shop/deployment/checkout/app --from review.json
    """
    if kind != "need" and (inventory or demand or policy):
        raise BadInput("--inventory, --demand and --policy are for remuda why need")
    if kind == "workload":
        if history:
            raise BadInput(
                "--history is for pools, machines and jobs: of a workload --at TIME shows an earlier review"
            )
        if printed and at:
            raise BadInput("--from has the whole review: leave --at out")
        from remuda.rightsize.questions import answer_workload

        answer_workload(session, name, printed, at)
        return
    if kind != "need":
        if printed:
            raise BadInput("--from is for remuda why need and remuda why workload")
        from remuda.pools.questions import answer_why

        answer_why(session, kind, name, at, history=history)
        return
    if history:
        raise BadInput(
            "--history is for pools, machines and jobs: a need is judged on files, which have none"
        )
    if printed:
        if inventory or demand or policy or at:
            raise BadInput("--from has the whole plan: leave --inventory, --demand, --policy and --at out")
        from remuda.fleet.questions import answer_from_plan

        answer_from_plan(session, name, printed)
        return
    if not inventory or not demand:
        raise BadInput("remuda why need wants --inventory FILE and --demand FILE, or --from PLAN.json")
    from remuda.fleet.questions import answer_from_files

    answer_from_files(session, name, (*inventory, *demand, *policy), at)
