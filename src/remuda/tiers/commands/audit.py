"""`remuda tiers audit`."""

from typing import TYPE_CHECKING

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput
from remuda.model.findings import SEVERITIES, Severity, is_any
from remuda.model.sentences import some
from remuda.output.show import Report
from remuda.tiers.commands.inputs import look, sources

if TYPE_CHECKING:  # not for --help
    from remuda.tiers.decide.audit import Audit


@click.command(cls=Command)
@sources
@click.option(
    "--node",
    "nodes",
    multiple=True,
    metavar="NAME",
    help="Print the whole order of eviction of a node; of a cluster its kubelet is asked what its pods use.",
)
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="error",
    show_default=True,
    help="Exit 1 when a finding is at least this severe.",
)
@click.option("--no-keep", is_flag=True, help="Do not keep this audit for the dashboard and diagnose.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of -o json, and exit.")
@pass_session
def audit(
    session: Session,
    /,
    context: str | None,
    files: tuple[str, ...],
    policy: tuple[str, ...],
    nodes: tuple[str, ...],
    fail_on: Severity,
    no_keep: bool,
    schema: bool,
) -> None:
    """
    What is not as its tier says, and who is evicted first.

    Quotas are judged with what a rolling update needs beside what runs; nodes with who is evicted first. What pods use
    comes from the metrics server, or from files of kubectl get podmetrics -A and of kubelets' summaries.

    Nothing is changed in the cluster. What was found is kept in the data directory. Exit codes: 0 no finding that is grave
    enough, 1 there is one, 2 bad input. For example: remuda tiers audit --from cluster.json --policy tiers.yaml
    """
    from remuda.tiers.decide.audit import audit as judge
    from remuda.tiers.show.audit import report
    from remuda.tiers.show.document import document
    from remuda.tiers.show.schema import schema_of_audit, schema_text

    if schema:
        session.show(Report(schema_of_audit(), lines=(schema_text(),)))
        return
    snapshot, policies = look(session, context, files, policy, nodes)
    made = judge(snapshot, policies, session.now())
    _check_nodes(made, nodes)
    if not no_keep:
        _keep(session, made)
    if session.form in {"json", "yaml"}:
        session.show(Report(document(made)))
    else:
        session.show(report(made, session.form, nodes))
    if is_any(made.findings, fail_on):
        raise click.exceptions.Exit(1)


def _check_nodes(made: "Audit", asked: tuple[str, ...]) -> None:
    """`BadInput` for a node that is not there."""
    from remuda.objects.problems import did_you_mean

    known = [each.node.name for each in made.nodes]
    missing = [name for name in asked if name not in known]
    if missing:
        there = f"; there is: {some(known, 5) or 'none'}"
        lines = [
            f"--node {name}: there is no such node{did_you_mean(name, known) or there}" for name in missing
        ]
        raise BadInput("\n".join(lines))


def _keep(session: Session, made: "Audit") -> None:
    """Keep an audit, but for one of nothing: it would take the place of a good one. That it cannot be kept is no error."""
    from remuda.tiers import kept
    from remuda.tiers.snapshot import NAMESPACES

    if made.snapshot.is_unknown(NAMESPACES):
        trouble = "namespaces were not read"
    else:
        trouble = kept.keep(session.home, made, session.now())
    if trouble and not session.quiet:
        click.echo(f"remuda: this audit is not kept: {trouble}", err=True)
