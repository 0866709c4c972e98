"""`remuda capacity plan`: what changes would do before anybody makes them."""

import click

from remuda.capacity.commands.inputs import known_policies, look, overflow_nodes, sources
from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput


@click.command(cls=Command)
@click.option(
    "--label",
    "--include-label",
    "labels",
    multiple=True,
    metavar="LABEL",
    help="A label that sets share. Default: those of the policies, else of the sets that change, else all.",
)
@sources
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME.max=N",
    help="Another max, min or envelope of a set; a max may be unbounded.",
)
@click.option(
    "--add",
    "added",
    multiple=True,
    metavar="name=…,envelope=…,max=…",
    help="A new set; also namespace=, label=, min=, and like=SET to be placed as another one.",
)
@click.option(
    "--ceiling",
    "ceilings",
    multiple=True,
    metavar="[LABEL=]N",
    help="Another ceiling of the policy.",
)
@click.option(
    "--node-add",
    "nodes",
    multiple=True,
    metavar="name=…,like=NODE",
    help="A new, empty node; or name=…,cpu=…,memory=…,ephemeral-storage=…[,pods=…][,labels=k=v;k=v][,taints=k=v:NoSchedule].",
)
@click.option(
    "--node-drain",
    "drained",
    multiple=True,
    metavar="NODE",
    help="A node to drain: it has no pods and takes none.",
)
@pass_session
def plan(
    session: Session,
    /,
    labels: tuple[str, ...],
    context: str | None,
    files: tuple[str, ...],
    policy: tuple[str, ...],
    summaries: tuple[str, ...],
    at: str | None,
    sets: tuple[str, ...],
    added: tuple[str, ...],
    ceilings: tuple[str, ...],
    nodes: tuple[str, ...],
    drained: tuple[str, ...],
) -> None:
    """
    What if: before and after changes, and what fits.

    Nothing is changed. "fits" is shown by a placement and "cannot fit" by a bound; what is neither says "no placement
    found". Without changes it shows how things are now; with --server it is about the newest audit that is kept there.
    Exit codes: 0 nothing breaks, 1 the changes would break the policy, 2 bad input. For example: remuda capacity plan --from cluster.json --policy policy.yaml --set vm-test.max=3
    """
    from remuda.capacity.answers import Planned, WhatIf
    from remuda.capacity.show.plan import report_of

    asked = WhatIf(0, labels, sets, added, ceilings, nodes, drained)
    if session.server is None:
        from remuda.capacity.decide.plan import try_changes
        from remuda.capacity.show.plan import planned

        known = known_policies(session, policy, context, files)
        snapshot = look(session, context, files, overflow_nodes(known), at, summaries)
        now = session.instant(at, session.now())
        made = planned(try_changes(snapshot, labels, known, asked.options(), now))
    else:
        if context or files or policy or summaries or at:
            raise BadInput(
                "--server tries changes on the audit that is kept there: leave --context, --from, --policy, --summary"
                " and --at out"
            )
        made = session.remuda.post("/v1/capacity/plan", asked, Planned)
    session.show(report_of(made, session.form))
    if made.is_absent:
        raise click.exceptions.Exit(2)
    if made.breaks:
        raise click.exceptions.Exit(1)
