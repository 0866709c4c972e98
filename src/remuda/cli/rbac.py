"""`remuda rbac`: the permissions a command needs."""

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput
from remuda.kube.rbac import NEEDS, cluster_role, role
from remuda.output.show import Report


@click.command(cls=Command)
@click.argument("command")
@click.option("--namespace", metavar="NAME", help="Where the Role belongs. Default: where it is applied.")
@click.option("--name", default="remuda", show_default=True, help="What the Role is called.")
@click.option("--optional", is_flag=True, help="Also what it can do without, and knows less.")
@pass_session
def rbac(session: Session, command: str, namespace: str | None, name: str, *, optional: bool) -> None:
    """
    The permissions a command needs, for kubectl apply.

    For example: remuda rbac up --namespace ci | kubectl apply -f -. Whoever runs the command must be bound to it.
    A command that reads beyond its namespace needs a ClusterRole too.
    """
    if command not in NEEDS:
        from remuda.cli.tree import COMMANDS

        known = ", ".join(NEEDS)
        if command in COMMANDS:
            raise BadInput(f"{command} asks nothing of the Kubernetes API; commands that do: {known}")
        raise BadInput(f"there is no command {command}; commands that need permissions: {known}")
    made, wide = role(command, name, namespace), cluster_role(command, name, optional=optional)
    session.form = "json" if session.form == "json" else "yaml"
    session.show(Report({"apiVersion": "v1", "kind": "List", "items": [made, wide]} if wide else made))
