"""`remuda capacity`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from remuda.capacity.commands.gate import gate
from remuda.capacity.commands.guard import render, rollback
from remuda.capacity.commands.inputs import known_policies, look, overflow_nodes, sources
from remuda.capacity.commands.plan import plan
from remuda.capacity.decide.fits import folded
from remuda.control.command import Group, Session, pass_session
from remuda.errors import BadInput
from remuda.model.findings import SEVERITIES, Finding, Severity, is_any
from remuda.output.show import Report, one_line

if TYPE_CHECKING:
    from remuda.capacity.decide.audit import Audit
    from remuda.capacity.objects import CapacityPolicySpec


@click.group(cls=Group)
def capacity() -> None:
    """
    Audit, plan and guard what runner scale sets that share a label take together.

    GitHub's controller caps each scale set, never the sum. A CapacityPolicy says what the sum may be, and on which nodes.
    """


@capacity.command()
@click.option(
    "--label",
    "--include-label",
    "labels",
    multiple=True,
    metavar="LABEL",
    help="A label that sets share. Default: every label there is.",
)
@sources
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="error",
    show_default=True,
    help="Exit 1 when a finding is at least this severe.",
)
@click.option(
    "--fixes",
    type=click.Choice(["helm"]),
    help="Print fixes instead: values of the chart gha-runner-scale-set, a YAML document for each set.",
)
@click.option(
    "--no-keep", is_flag=True, help="Do not keep this audit for the dashboard, remuda why label and diagnose."
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of -o json, and exit.")
@pass_session
def audit(
    session: Session,
    /,
    labels: tuple[str, ...],
    context: str | None,
    files: tuple[str, ...],
    policy: tuple[str, ...],
    summaries: tuple[str, ...],
    at: str | None,
    fail_on: Severity,
    fixes: str | None,
    no_keep: bool,
    schema: bool,
) -> None:
    """
    What sets, labels and nodes come to, and what is wrong with it.

    Nothing is changed in the cluster. What was seen and found is kept in the data directory. Exit codes: 0 no finding that is grave enough, 1 there is one, 2 bad input or a label that no
    set carries. For example: remuda capacity audit --label nix-kvm --from cluster.json --policy policy.yaml
    """
    from remuda.capacity.decide.audit import audit as judge
    from remuda.capacity.show import document
    from remuda.capacity.show.audit import report
    from remuda.capacity.show.schema import schema_of_audit, schema_text

    if schema:
        session.show(Report(schema_of_audit(), lines=(schema_text(),)))
        return
    known = known_policies(session, policy, context, files)
    if policy and labels and not {folded(item.label) for item in known.values()} & set(map(folded, labels)):
        has = ", ".join(sorted(item.label for item in known.values()))
        raise BadInput(
            f"--policy is for {has}, and for none of the labels that are asked for: {', '.join(labels)}"
        )
    snapshot = look(session, context, files, overflow_nodes(known), at, summaries)
    made = judge(snapshot, labels, known, session.instant(at, session.now()))
    if not no_keep:
        _keep(session, made, labels, known)
    if fixes:
        click.echo(_helm(made.findings), nl=False)
    match "" if fixes else session.form:
        case "":
            pass
        case "json":
            for piece in document.text(made):
                click.echo(piece, nl=False)
        case "yaml":
            session.show(Report(document.data(made)))
        case form:
            session.show(report(made, form))
    if any(item.rule == "label-not-found" and item.severity == "error" for item in made.findings):
        raise click.exceptions.Exit(2)
    if is_any(made.findings, fail_on):
        raise click.exceptions.Exit(1)


def _keep(
    session: Session, made: "Audit", labels: tuple[str, ...], known: "dict[str, CapacityPolicySpec]"
) -> None:
    """Keep an audit, but for one of nothing: it would take the place of a good one. That it cannot be kept is no error."""
    from remuda.capacity import kept
    from remuda.capacity.snapshot import SCALE_SETS

    if any(item.part == SCALE_SETS and not item.is_absent for item in made.snapshot.unknown):
        trouble = "scale sets were not read"
    elif any(item.rule == "label-not-found" and item.severity == "error" for item in made.findings):
        return
    else:
        trouble = kept.keep(session.home, made, labels, known, session.now())
    if trouble and not session.quiet:
        click.echo(f"remuda: this audit is not kept: {trouble}", err=True)


def _helm(findings: Iterable[Finding]) -> str:
    """Fixes as YAML, with what is left to a person as comments."""
    import yaml

    from remuda.capacity.show.helm import documents

    made = []
    for comments, values in documents(findings):
        written = yaml.safe_dump(values, sort_keys=False, allow_unicode=True) if values else "{}\n"
        made.append("".join(f"# {one_line(line)}\n" for line in comments) + written)
    return "---\n".join(made) or "# no set has anything to fix\n"


capacity.add_command(plan)
capacity.add_command(gate)
capacity.add_command(rollback)
capacity.add_command(render)
