"""`remuda rightsize review`: the one command of a review."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput, RemudaError
from remuda.model.findings import SEVERITIES, Severity, is_any
from remuda.model.times import SECOND, Duration, Instant
from remuda.rightsize.selection import Selection

if TYPE_CHECKING:  # not for --help
    from remuda.rightsize.report.compare import Changes
    from remuda.rightsize.review import Review
    from remuda.rightsize.tier_policies import Policies


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="[WORKLOAD…]")
@click.option("--context", metavar="NAME", help="Another context of the kubeconfig.")
@click.option(
    "--from",
    "files",
    multiple=True,
    metavar="FILE",
    help="Files or directories of what kubectl get -o json prints, or - for standard input, instead of a cluster.",
)
@click.option(
    "--namespace", "namespaces", multiple=True, metavar="NAME", help="Only of these; * and ? match."
)
@click.option(
    "--prometheus",
    envvar="PROMETHEUS_URL",
    metavar="URL",
    help="Ask this Prometheus what workloads used. Default: $PROMETHEUS_URL.",
)
@click.option(
    "--usage",
    multiple=True,
    metavar="FILE",
    help="Files of samples, or - for standard input, instead of Prometheus.",
)
@click.option(
    "--policy",
    multiple=True,
    metavar="FILE",
    help="The RightsizePolicy (classes, minimums, prices) and TierPolicies.",
)
@click.option("--strategy", default="vpa", show_default=True, metavar="NAME", help="vpa, krr or a plug-in.")
@click.option(
    "--history", metavar="DURATION", help="How far back. Default: the policy's, which is 8d by default."
)
@click.option(
    "--at", metavar="TIME", help="Judge as if it were then, or so long ago, by use until then. Default: now."
)
@click.option(
    "--since-last", is_flag=True, help="Also what changed since the last review of the same source."
)
@click.option(
    "--no-keep", is_flag=True, help="Do not keep this review for the next --since-last and for why."
)
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write a report with plots to a file.",
)
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="error",
    show_default=True,
    help="Exit 1 for findings that are at least so grave.",
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of -o json, and exit.")
@pass_session
def review(
    session: Session,
    /,
    names: tuple[str, ...],
    context: str | None,
    files: tuple[str, ...],
    namespaces: tuple[str, ...],
    prometheus: str | None,
    usage: tuple[str, ...],
    policy: tuple[str, ...],
    strategy: str,
    history: str | None,
    at: str | None,
    since_last: bool,
    no_keep: bool,
    html: Path | None,
    fail_on: Severity,
    schema: bool,
) -> None:
    """
    What every workload should ask for, and why.

    Workloads are read from a cluster or from files, their use from Prometheus, from files of samples, or else from the
    Vertical Pod Autoscalers of the cluster. Nothing is changed: remuda rightsize patch makes patches of a review.
    Exit codes: 0 no finding that is grave enough, 1 there is one, or something cannot be read or written, 2 bad input.

    \b
    remuda rightsize review --prometheus http://localhost:9090
    remuda rightsize review 'shop/*' --prometheus http://localhost:9090 --html report.html --since-last
    remuda rightsize review --from cluster.json --usage usage.json --policy policy.yaml -o markdown
    """
    from remuda.rightsize.report import document
    from remuda.rightsize.report.show import report
    from remuda.rightsize.tier_policies import read_policies

    if schema:
        session.show(document.schema_report())
        return
    if context and files:
        raise BadInput("--from reads files and --context a cluster: leave one of them out")
    if usage:
        # the variable is a default, and files were asked for by name
        source = click.get_current_context().get_parameter_source("prometheus")
        if prometheus and source is click.core.ParameterSource.COMMANDLINE:
            raise BadInput("--usage reads files and --prometheus asks a server: leave one of them out")
        prometheus = None
    if "-" in usage and "-" in files:
        raise BadInput(
            "--from and --usage cannot both be read from standard input: give a file for one of them"
        )
    if html is not None:
        _check_html(html)
    _need_numpy()
    judged = read_policies(policy)
    if not session.quiet:
        for note in judged.notes:
            click.echo(note, err=True)
    looked_at = judged.sizes.history if history is None else _history(history)
    selection = Selection(context, files, namespaces, names, prometheus or "", usage, looked_at // SECOND)
    now = session.now()
    when = session.instant(at, now)
    if when > now:
        raise BadInput("--at: is in the future: nothing is known of that")
    made = _review(session, selection, judged, strategy, when)
    scope = " ".join(sorted({*namespaces, *names}))
    changes = _changes(session, made, scope) if since_last else None
    if html is not None:
        _write(session, html, made, changes)
    if not no_keep:
        _keep(session, made, scope)
    session.show(report(made, session.form, changes))
    if _is_blank(made) or is_any(made.findings, fail_on):
        raise click.exceptions.Exit(1)


def _review(
    session: Session, selection: Selection, policies: "Policies", strategy: str, now: Instant
) -> "Review":
    from remuda.rightsize.decide.review import review as decide
    from remuda.rightsize.estimate.plugins import find_strategy
    from remuda.rightsize.observe.sources import observe
    from remuda.rightsize.report.findings import with_findings

    plugged = find_strategy(strategy)
    with session.progress() as progress:
        seen = observe(selection, now, progress, None if strategy in ("vpa", "krr") else plugged)
    if not session.quiet:
        for note in seen.notes:
            click.echo(note, err=True)
    made = decide(
        seen.snapshot,
        seen.evidence,
        policies.sizes,
        strategy=strategy,
        usage=seen.usage,
        history_s=selection.history_s,
        tiers=policies.tiers,
    )
    return with_findings(*made)


def _changes(session: Session, made: "Review", scope: str) -> "Changes | None":
    """What changed since the review before; what goes wrong here costs nobody this one."""
    from remuda.rightsize.report import kept
    from remuda.rightsize.report.compare import changes

    try:
        before = kept.last(session.home, made.source, scope)
    except RemudaError as error:
        click.echo(f"remuda: there is nothing to compare with: {error}", err=True)
        return None
    if before is None:
        what = "no review of these workloads" if scope else "no such review"
        click.echo(f"{what} is kept yet: there is nothing to compare with", err=True)
        return None
    return changes(before, made)


def _keep(session: Session, made: "Review", scope: str) -> None:
    """Keep a review, but for one of nothing: it would take the place of a good one."""
    from remuda.rightsize.report import kept

    if _is_blank(made):
        message = "nothing is known of the use of any workload: this review is not kept; see remuda diagnose metrics"
        click.echo(message, err=True)
    elif not made.workloads:
        click.echo("there are no workloads: this review is not kept", err=True)
    elif trouble := kept.keep(session.home, made, scope):
        click.echo(f"remuda: this review is not kept: {trouble}", err=True)


def _is_blank(made: "Review") -> bool:
    """Whether there are workloads, and nothing is known of the use of any."""
    known = (part.evidence for item in made.workloads for part in item.containers)
    return bool(made.workloads) and not any(known)


def _check_html(file: Path) -> None:
    """Before anybody waits for a review that cannot be written then."""
    if str(file) == "-":
        raise BadInput(
            "--html writes to a file, and the review itself is printed: give it a name, like --html report.html"
        )
    if importlib.util.find_spec("jinja2") is None:
        raise BadInput("--html needs Jinja2: pip install 'remuda[rightsize]'")
    if not file.parent.is_dir():
        raise RemudaError(f"{file}: cannot be written: there is no directory {file.parent}")


def _write(session: Session, file: Path, made: "Review", changes: "Changes | None") -> None:
    from remuda.rightsize.sizes_file import sizes_file

    try:
        file.write_text(sizes_file(made, changes), encoding="utf-8")
    except OSError as error:
        raise RemudaError(f"{file}: cannot be written: {error.strerror or error}") from None
    if not session.quiet:
        click.echo(f"the report is in {file}", err=True)


def _history(text: str) -> Duration:
    try:
        read = Duration.parse(text)
    except ValueError as error:
        raise BadInput(f"--history: {error}") from None
    if not Duration.parse("1h") <= read <= Duration.parse("90d"):
        raise BadInput(f"--history: is {read}: from 1h to 90d can be looked at")
    return read


def _need_numpy() -> None:
    if importlib.util.find_spec("numpy") is None:
        raise BadInput("remuda rightsize review needs NumPy: pip install 'remuda[rightsize]'")
