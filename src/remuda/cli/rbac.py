"""`remuda rbac`: the permissions a command needs."""

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput
from remuda.kube.rbac import NEEDS, role
from remuda.output.show import Report


@click.command(cls=Command)
@click.argument("command")
@click.option("--namespace", metavar="NAME", help="Where the Role belongs. Default: where it is applied.")
@click.option("--name", default="remuda", show_default=True, help="What the Role is called.")
@pass_session
def rbac(session: Session, command: str, namespace: str | None, name: str) -> None:
    """
    The permissions a command needs, for kubectl apply.

    For example: remuda rbac up --namespace ci | kubectl apply -f -. Whoever runs the command must be bound to it.
    """
    if command not in NEEDS:
        from remuda.cli.tree import COMMANDS

        known = ", ".join(NEEDS)
        if command in COMMANDS:
            raise BadInput(f"{command} asks nothing of the Kubernetes API; commands that do: {known}")
        raise BadInput(f"there is no command {command}; commands that need permissions: {known}")
    session.form = "json" if session.form == "json" else "yaml"
    session.show(Report(role(command, name, namespace)))
