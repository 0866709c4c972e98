"""`remuda completion SHELL`."""

import click
from click.shell_completion import get_completion_class

from remuda.control.command import Command

SHELLS = ("bash", "zsh", "fish")


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """
    Shell completion for bash, zsh and fish.

    \b
    bash: eval "$(remuda completion bash)"        in ~/.bashrc
    zsh:  eval "$(remuda completion zsh)"         in ~/.zshrc
    fish: remuda completion fish | source         in ~/.config/fish/config.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, "remuda", "_REMUDA_COMPLETE").source())
