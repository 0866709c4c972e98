"""`remuda capacity rollback` and `render`: how overflow ends, and what to install so that nobody takes too much."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from remuda.capacity.commands.gate import context_option, policy_option, reading
from remuda.capacity.commands.inputs import look, needed_policies, run_async
from remuda.control.command import Command, Session, confirm, pass_session
from remuda.control.connect import connect_cluster
from remuda.errors import BadInput, NotFound
from remuda.output.show import Report, Table, one_line
from remuda.output.texts import yaml_text

if TYPE_CHECKING:
    from remuda.capacity.decide.guards import Action, Rendered
    from remuda.capacity.decide.rollback import Recorded

_apply = click.option("--apply", "is_applied", is_flag=True, help="Do it, in the cluster.")


@click.command(cls=Command)
@click.argument("scale_set", metavar="SET")
@click.option("--node", metavar="NODE", help="Back from this overflow node alone. Default: from all of them.")
@_apply
@click.option("--yes", is_flag=True, help="Do not ask.")
@reading
@pass_session
def rollback(
    session: Session, /, scale_set: str, node: str | None, is_applied: bool, yes: bool,
    files: tuple[str, ...], context: str | None, policy: tuple[str, ...],
) -> None:  # fmt: skip
    """
    Return a scale set to primary nodes alone.

    Prints the patch; with --apply it is made, to the scale set in the very state that was looked at and nothing else. A
    rollback without a patch takes the tolerations of the overflow node off. What is rolled back already stays as it is.
    """
    from remuda.capacity.decide.rollback import problems_of, recorded

    if is_applied and files:
        raise BadInput("--apply changes a cluster, and --from reads files: leave one of them out")
    known = needed_policies(session, policy, context, files)
    found = [item for spec in known.values() for item in recorded(spec, scale_set)]
    found = [item for item in found if node in (None, item.overflow.node)]
    if not found:
        names = sorted({i.lane for s in known.values() for o in s.nodes.overflow for i in o.rollbacks})
        beside = f" from {node}" if node else ""
        raise NotFound(
            f"no policy records a rollback of {scale_set}{beside}; recorded are: {', '.join(names) or 'none'}"
        )
    if wrong := [
        f"{item.rollback.lane}: {problem}" for item in found for problem in problems_of(item.rollback.patch)
    ]:
        raise BadInput("\n".join(wrong))
    full = next((item.rollback.lane for item in found if "/" in item.rollback.lane), scale_set)
    scale_set = scale_set if "/" in scale_set else full
    if not is_applied and not files and context is None and all(item.rollback.patch for item in found):
        session.show(_patches_report(scale_set, [(item, dict(item.rollback.patch)) for item in found]))
        return
    if files:
        _roll_back_on_paper(session, scale_set, found, files)
        return
    run_async(_roll_back(session, scale_set, found, context, is_applied=is_applied, yes=yes))


def _patches_report(
    scale_set: str, patches: "list[tuple[Recorded, dict[str, Any]]]", kind: str = "AutoscalingRunnerSet"
) -> Report:
    from msgspec import json

    data = [{"lane": scale_set, "node": item.overflow.node, "patch": patch} for item, patch in patches]
    lines = []
    for item, patch in patches:
        where, _, name = scale_set.rpartition("/")
        lines.append(f"{scale_set} back from {item.overflow.node}:")
        in_ = f" -n {where}" if where else ""
        text = json.encode(patch).decode()
        lines.append(f"kubectl patch {kind.lower()} {name}{in_} --type merge -p '{text}'")
    return Report({"rollbacks": data}, lines=tuple(lines))


def _roll_back_on_paper(
    session: Session, scale_set: str, found: "list[Recorded]", files: tuple[str, ...]
) -> None:
    from remuda.capacity.decide.rollback import is_scale_set, patch_for, pod_from

    snapshot = look(session, None, files, ())
    scale_sets = [item for item in snapshot.scale_sets if is_scale_set(scale_set, item.id)]
    if len(scale_sets) != 1:
        message = (
            ", ".join(item.id for item in scale_sets)
            or ", ".join(item.id for item in snapshot.scale_sets)
            or "none"
        )
        raise NotFound(
            f"{len(scale_sets) or 'no'} scale sets or pools are called {scale_set}; there is: {message}"
        )
    pod = pod_from(scale_sets[0])
    taints = {item.name: item.taints for item in snapshot.nodes}
    made = []
    for item in found:
        if not item.rollback.patch and item.overflow.node not in taints:
            raise NotFound(_NO_NODE.format(node=item.overflow.node))
        made.append(
            (item, patch_for(item.rollback, scale_sets[0].kind, pod, taints.get(item.overflow.node, ())))
        )
    session.show(_patches_report(scale_sets[0].id, made, scale_sets[0].kind))


_NO_NODE = "there is no node {node}, so that its taints are not known: record a patch in the policy"


async def _roll_back(
    session: Session,
    scale_set: str,
    found: "list[Recorded]",
    context: str | None,
    *,
    is_applied: bool,
    yes: bool,
) -> None:
    from remuda.capacity.act import find_scale_set, roll_back, taints_of
    from remuda.capacity.decide.rollback import changes, difference, merged, patch_for, pod_in

    async with connect_cluster(context) as client:
        seen = await find_scale_set(client, scale_set)
        kind, meta = str(seen["kind"]), seen["metadata"]
        after: Mapping[str, Any] = seen
        made = []
        for item in found:
            taints = () if item.rollback.patch else await taints_of(client, item.overflow.node)
            if taints is None:
                raise NotFound(_NO_NODE.format(node=item.overflow.node))
            patch = patch_for(item.rollback, kind, pod_in(kind, after), taints)
            after = merged(after, patch)
            made.append((item, patch))
        name = f"{meta['namespace']}/{meta['name']}"
        if not is_applied:
            session.show(_patches_report(name, made, kind))
            return
        lines = tuple(changes(seen, after))
        if lines:
            session.note("\n".join((f"{name} changes:", *(f"  {line}" for line in lines))))
            confirm(f"Roll {name} back to primary nodes?", yes=yes)
            await roll_back(client, seen, difference(seen, after))
    verdict = f"{name} is rolled back" if lines else f"{name} is rolled back already: nothing was changed"
    session.show(Report({"lane": name, "changed": bool(lines), "changes": list(lines)}, lines=(verdict,)))


@click.command(cls=Command)
@click.option("--as", "what", type=click.Choice(["quota", "vap"]), required=True, help="What to make.")
@click.option("--namespace", metavar="NAME", help="The namespace of sets that the policy names without one.")
@click.option(
    "--action", type=click.Choice(["Deny", "Warn", "Audit"]), default="Deny", show_default=True,
    help="What happens to a scale set that breaks a rule (vap).",
)  # fmt: skip
@click.option("--at", metavar="TIME", help="Judge warm pools as if it were then. Default: now.")
@_apply
@context_option
@policy_option
@pass_session
def render(
    session: Session, /, what: str, namespace: str | None, action: "Action", at: str | None, is_applied: bool,
    context: str | None, policy: tuple[str, ...],
) -> None:  # fmt: skip
    """
    Guard rails from the policy alone, for Git and kubectl apply.

    quota is a PriorityClass, and in each namespace of runners a ResourceQuota of pods with it; vap is a
    ValidatingAdmissionPolicy for scale sets. What they do not catch stands in what is printed.
    """
    from remuda.capacity.decide.guards import admission, quota, quota_problems

    known = needed_policies(session, policy, context, ())
    if namespace is not None:
        _check_namespace(namespace)
    if what == "quota" and (
        wrong := [
            f"policy {by}: {problem}"
            for by, spec in known.items()
            for problem in quota_problems(by, spec, namespace)
        ]
    ):
        raise BadInput("\n".join(wrong))
    now = session.instant(at, session.now())
    made = [
        quota(by, spec, namespace) if what == "quota" else admission(by, spec, action, now)
        for by, spec in known.items()
    ]
    if is_applied:
        run_async(_install(session, made, context))
    else:
        _print(session, made)


def _check_namespace(namespace: str) -> None:
    from remuda.objects.scalars import ObjectName

    try:
        ObjectName.parse(namespace)
    except ValueError as error:
        raise BadInput(f"--namespace: {error}") from None


def _print(session: Session, made: "list[Rendered]") -> None:
    objects = [item for each in made for item in each.objects]
    if session.form == "json":
        session.show(Report({"apiVersion": "v1", "kind": "List", "items": objects}))
        return
    for each in made:
        lines = [*each.notes, "Not caught:", *(f"- {line}" for line in each.not_caught)]
        for line in () if session.quiet else lines:
            click.echo(f"# {one_line(line)}")
        click.echo("---")
        click.echo(yaml_text(each.objects), nl=False)


async def _install(session: Session, made: "list[Rendered]", context: str | None) -> None:
    from remuda.capacity.act import install

    async with connect_cluster(context) as client:
        done = await install(client, [item for each in made for item in each.objects])
    rows = tuple((item.kind, item.name, item.done) for item in done)
    data = {"applied": done, "notCaught": [line for each in made for line in each.not_caught]}
    lines = [
        line for each in made for line in (*each.notes, *(f"Not caught: {gap}" for gap in each.not_caught))
    ]
    shown = () if session.quiet else tuple(lines)
    session.show(Report(data, (Table(("KIND", "NAME", "DONE"), rows),), shown))
