"""`remuda why need`."""

import click

from remuda.control.command import Command, Session, pass_session
from remuda.control.routes import Call
from remuda.control.why import at_option
from remuda.errors import BadInput
from remuda.fleet.job import JOB


def known_needs(session: Session, name: str) -> list[str]:
    """The needs of which a shard decided last, or of the last plan that is kept; none where there is neither."""
    from remuda.fleet.routes import plans_view
    from remuda.ledger.history import oldest
    from remuda.ledger.place import may_be_there, place_of, reading

    del name
    store = place_of(session.home)
    if not may_be_there(store):
        return []
    with reading(store) as db:
        if all(oldest(db, loop) is None for loop in JOB.loops) and not plans_view(db, Call({}, {})):
            return []
    from remuda.fleet.questions import recorded_needs

    return recorded_needs(session)


@click.command(cls=Command)
@click.argument("name", metavar="CLUSTER/NAME")
@at_option
@click.option("--inventory", multiple=True, metavar="FILE", help="The machines of the fleet.")
@click.option("--demand", multiple=True, metavar="FILE", help="What clusters ask for.")
@click.option("--policy", multiple=True, metavar="FILE", help="The FleetPolicy.")
@click.option(
    "--from",
    "printed",
    metavar="FILE",
    help="What remuda fleet plan -o json printed; - for standard input.",
)
@pass_session
def need(
    session: Session,
    name: str,
    at: str | None,
    inventory: tuple[str, ...],
    demand: tuple[str, ...],
    policy: tuple[str, ...],
    printed: str | None,
) -> None:
    """
    Why a need has the machines it has, and what keeps it from more.

    \b
    remuda why need prod/web --inventory machines.yaml --demand needs.yaml
    remuda why need prod/web --from plan.json
    remuda why need prod/web --at 10m
    """
    from remuda.fleet.questions import answer_from_files, answer_from_ledger, answer_from_plan

    if printed:
        if inventory or demand or policy or at:
            raise BadInput("--from has the whole plan: leave --inventory, --demand, --policy and --at out")
        answer_from_plan(session, name, printed)
        return
    if not inventory and not demand and not policy:
        answer_from_ledger(session, name, at)
        return
    if not inventory or not demand:
        raise BadInput("remuda why need wants --inventory FILE and --demand FILE, or --from PLAN.json")
    answer_from_files(session, name, (*inventory, *demand, *policy), at)
