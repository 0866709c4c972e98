"""`remuda rbac`: the permissions a command needs."""

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput
from remuda.kube.rbac import cluster_role, role
from remuda.output.show import Report


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True, metavar="COMMAND")
@click.option("--namespace", metavar="NAME", help="Where the Role belongs. Default: where it is applied.")
@click.option("--name", help="What the Role is called. Default: remuda for up, else remuda-COMMAND.")
@click.option("--optional", is_flag=True, help="Also what is optional: without it, less is known.")
@pass_session
def rbac(
    session: Session, words: tuple[str, ...], namespace: str | None, name: str | None, *, optional: bool
) -> None:
    """
    The permissions a command needs, for kubectl apply.

    For example: remuda rbac up --namespace ci | kubectl apply -f -. Whoever runs the command must be bound to it.
    A command that reads beyond its namespace needs a ClusterRole too.
    """
    command, needs = " ".join(words), session.jobs.permissions()
    if command not in needs:
        known = ", ".join(needs)
        if _is_command(words):
            raise BadInput(f"{command} asks nothing of the Kubernetes API; commands that do: {known}")
        raise BadInput(f"there is no command {command}; commands that need permissions: {known}")
    # A Role of the same name would take the place of the one that the chart made for the controller.
    name = name or ("remuda" if command == "up" else "-".join(("remuda", *words)))
    made, wide = role(needs[command], name, namespace), cluster_role(needs[command], name, optional=optional)
    needed = [each for each in (made, wide) if each and each["rules"]]
    session.form = "json" if session.form == "json" else "yaml"
    whole = {"apiVersion": "v1", "kind": "List", "items": needed}
    session.show(Report(needed[0] if len(needed) == 1 else whole))


def _is_command(words: tuple[str, ...]) -> bool:
    context = click.get_current_context().find_root()
    group = context.command
    for word in words:
        found = group.get_command(context, word) if isinstance(group, click.Group) else None
        if found is None:
            return False
        group = found
    return True
