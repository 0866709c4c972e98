"""`remuda why pod|namespace|node`."""

import click

from remuda.control.command import Command, Session, pass_session
from remuda.tiers.commands.inputs import look, sources


@click.command(cls=Command)
@click.argument("name", metavar="NAMESPACE/NAME")
@sources
@pass_session
def pod(
    session: Session, name: str, context: str | None, files: tuple[str, ...], policy: tuple[str, ...]
) -> None:
    """
    Why a pod is refused, waits, was preempted, killed or evicted.

    The name is that of a pod, also of one that is gone, or of the workload whose pods are not made. Fixes are printed and
    never run.

    \b
    remuda why pod shop/web-5d4f8-x2x7p
    remuda why pod shop/web --from cluster.json
    """
    _show(session, "pod", name, context, files, policy)


@click.command(cls=Command)
@click.argument("name")
@sources
@pass_session
def namespace(
    session: Session, name: str, context: str | None, files: tuple[str, ...], policy: tuple[str, ...]
) -> None:
    """
    Why a namespace has its tier, what its quotas leave, and what is not as its tier says.

    \b
    remuda why namespace shop
    """
    _show(session, "namespace", name, context, files, policy)


@click.command(cls=Command)
@click.argument("name")
@sources
@pass_session
def node(
    session: Session, name: str, context: str | None, files: tuple[str, ...], policy: tuple[str, ...]
) -> None:
    """
    Why a node is short of memory: what its pods use, and what is used beside them.

    Of a cluster its kubelet is asked; of files one must hold what it said.

    \b
    remuda why node n1
    remuda why node n1 --from cluster.json --from summary.json
    """
    _show(session, "node", name, context, files, policy)


def known_pods(session: Session, name: str) -> list[str]:
    """Pods that were asked about: which there are only a cluster tells, and nobody asked for one."""
    return _known(session, name, "pod")


def known_namespaces(session: Session, name: str) -> list[str]:
    """Namespaces that were asked about."""
    return _known(session, name, "namespace")


def known_nodes(session: Session, name: str) -> list[str]:
    """Nodes that were asked about."""
    return _known(session, name, "node")


def _known(session: Session, name: str, kind: str) -> list[str]:
    del name
    from remuda.tiers.why_kept import known

    return known(session.home, kind)


def _show(
    session: Session,
    kind: str,
    name: str,
    context: str | None,
    files: tuple[str, ...],
    policy: tuple[str, ...],
) -> None:
    from remuda.output.moments import clock_time
    from remuda.output.show import Report, Table
    from remuda.output.steps import step_lines
    from remuda.tiers.advice import advices
    from remuda.tiers.decide.why_world import World
    from remuda.tiers.why_answers import EXPLAIN
    from remuda.tiers.why_kept import keep

    snapshot, policies = look(session, context, files, policy, kubelets=(name,) if kind == "node" else ())
    answer = EXPLAIN[kind](World(snapshot, policies, advices(session.home, snapshot.source)), name)
    keep(session.home, answer)
    seen = f"seen {clock_time(answer.at, session.now())}, {answer.source}"
    if session.form in {"markdown", "csv"}:
        rows = tuple(
            (each.severity, each.rule, each.found, each.expected, each.fix) for each in answer.causes
        )
        table = Table(("SEVERITY", "RULE", "FOUND", "EXPECTED", "FIX"), rows)
        session.show(Report(answer, (table,), (f"**{answer.headline}**, {seen}",)))
        return
    session.show(Report(answer, lines=(f"{answer.headline}   {seen}", *step_lines(answer.steps))))
