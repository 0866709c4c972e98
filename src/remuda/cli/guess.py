"""What somebody may have meant by a command that does not exist: asked only then, so it may import every command."""

import difflib
from collections.abc import Mapping

import click

#: words that other tools begin with, before what they are about
_VERBS = frozenset({"get", "list", "ls", "show"})
#: how alike two words are that are one with a slip of the finger
_VERY_NEAR = 0.85


def guess(
    group: click.Group, ctx: click.Context, args: list[str], also: Mapping[str, tuple[str, ...]]
) -> str:
    """
    A command to try instead, without the name of the program; nothing when none comes to mind.

    `also` are other words for commands of the group.
    """
    word, *rest = args
    path = "" if ctx.parent is None else f"{ctx.info_name} "
    if very_near := difflib.get_close_matches(word, group.list_commands(ctx), 1, _VERY_NEAR):
        return path + very_near[0]
    if word in _VERBS and rest and _has(group, ctx, rest[0], "list"):
        return f"{path}{rest[0]} list"
    for name, words in also.items():
        if word in words:
            return path + name
    for name in group.list_commands(ctx):
        if _has(group, ctx, name, word):
            return f"{path}{name} {word}"
    for name in group.list_commands(ctx):
        if _completes(_command(group, ctx, name), ctx, word):
            return f"{path}{name} {word}"
    return ""


def _has(group: click.Group, ctx: click.Context, name: str, below: str) -> bool:
    """Whether a group of that name has such a command."""
    found = _command(group, ctx, name)
    return isinstance(found, click.Group) and below in found.list_commands(ctx)


def _command(group: click.Group, ctx: click.Context, name: str) -> click.Command | None:
    try:
        return group.get_command(ctx, name)
    except ImportError:
        return None  # what it needs is not installed


def _completes(command: click.Command | None, ctx: click.Context, word: str) -> bool:
    """Whether the word is a name that the first argument of the command knows."""
    if command is None or isinstance(command, click.Group):
        return False
    argument = next((each for each in command.params if isinstance(each, click.Argument)), None)
    if argument is None:
        return False
    below = click.Context(command, parent=ctx)
    return any(item.value == word for item in argument.shell_complete(below, word))
