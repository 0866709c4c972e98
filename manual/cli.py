"""Every command with its arguments and options, from the command tree."""

from collections.abc import Iterator
from inspect import cleandoc

import click

from manual.tables import code, prose, table
from remuda.cli.tree import tree
from remuda.control.command import shared_options
from remuda.job import Jobs


def page(jobs: Jobs) -> str:
    """`reference/cli.md`."""
    top = tree(jobs)
    context = click.Context(top, info_name="remuda", **top.context_settings)
    shared = {name for option in shared_options() for name in option.opts}
    return "\n".join(
        (
            "# Commands\n",
            f"{_help(top)}\n",
            "Every command takes these, before or after its own words:\n",
            _options(context, [option for option in top.params if shared & set(option.opts)]),
            *(
                _section(context, path, shared)
                for context, path in _walk(context, ("remuda",))
                if len(path) > 1
            ),
        )
    )


def paths(jobs: Jobs) -> list[str]:
    """The words of every command there is, groups among them."""
    top = tree(jobs)
    context = click.Context(top, info_name="remuda")
    return [" ".join(path) for _, path in _walk(context, ("remuda",))]


def _walk(context: click.Context, path: tuple[str, ...]) -> Iterator[tuple[click.Context, tuple[str, ...]]]:
    yield context, path
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            if not command.hidden:
                yield from _walk(click.Context(command, info_name=name, parent=context), (*path, name))


def _section(context: click.Context, path: tuple[str, ...], shared: set[str]) -> str:
    command = context.command
    own = [each for each in command.params if not shared & set(each.opts)]
    usage = " ".join((*path, *command.collect_usage_pieces(context)))
    parts = [f"{'#' * min(len(path), 4)} {' '.join(path)}\n", f"{_help(command)}\n"]
    if not isinstance(command, click.Group):
        parts.append(f"```text\n{usage}\n```\n")
    parts.append(_options(context, own))
    return "\n".join(part for part in parts if part)


def _help(command: click.Command) -> str:
    return "\n\n".join(map(_paragraph, cleandoc(command.help or "").split("\n\n")))


def _paragraph(text: str) -> str:
    r"""A paragraph of help; one that begins with `\b` is printed as it stands."""
    return f"```text\n{text[2:].strip()}\n```" if text.startswith("\b\n") else prose(text)


def _options(context: click.Context, parameters: list[click.Parameter]) -> str:
    rows = [
        _option(context, each) for each in parameters if isinstance(each, click.Option) and not each.hidden
    ]
    return table(("option", "value", "default", "what it does"), rows)


def _option(context: click.Context, option: click.Option) -> tuple[str, str, str, str]:
    names = ", ".join(map(code, (*option.opts, *option.secondary_opts)))
    default = option.get_default(context, call=False)
    shown = "" if option.is_flag or default is None or callable(default) else _written(default)
    what = prose(option.help or "")
    what += " Required." if option.required else ""
    what += " May be repeated." if option.multiple else ""
    return names, _value(context, option), code(shown), what


def _value(context: click.Context, option: click.Option) -> str:
    if option.is_flag or option.count:
        return ""
    kind = option.type
    if not isinstance(kind, click.IntRange | click.FloatRange):
        return code(option.make_metavar(context))
    name = "integer" if isinstance(kind, click.IntRange) else "number"
    if kind.max is None:
        return f"{name}, at least {kind.min}"
    return f"{name}, {kind.min} to {kind.max}" if kind.min is not None else f"{name}, at most {kind.max}"


def _written(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    text = str(value)
    return "" if "UNSET" in text.upper() else text
