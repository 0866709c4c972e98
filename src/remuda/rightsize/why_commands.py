"""`remuda why workload`."""

import click

from remuda.control.command import Command, Session, pass_session
from remuda.control.why import at_option
from remuda.errors import BadInput


def _complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    del parameter
    session = context.find_object(Session)
    if session is None:
        return []
    from remuda.rightsize.questions import complete_workloads

    return complete_workloads(session, begun)


@click.command(cls=Command)
@click.argument("name", metavar="NAMESPACE/NAME", shell_complete=_complete)
@at_option
@click.option(
    "--from",
    "printed",
    metavar="FILE",
    help="What remuda rightsize review -o json printed; - for standard input.",
)
@pass_session
def workload(session: Session, name: str, at: str | None, printed: str | None) -> None:
    """
    Why a workload should have the size that a review advises.

    \b
    remuda why workload shop/checkout
    remuda why workload shop/deployment/checkout/app --from review.json
    """
    if printed and at:
        raise BadInput("--from has the whole review: leave --at out")
    from remuda.rightsize.questions import answer_workload

    answer_workload(session, name, printed, at)
