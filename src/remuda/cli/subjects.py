"""
Whose name a word is: how `remuda why NAME` finds the kind that nobody said.

Imported only then, so it may import the commands of every kind. What names there are is asked of the jobs that bring them.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import click

from remuda.control.command import Session
from remuda.errors import NotFound, RemudaError
from remuda.job import KindReference, Reference, load

#: names that can be asked about: that of the word, if there is such a one, and others that may have been meant
Known: TypeAlias = Callable[[Session, str], Iterable[str]]

_MOST_NEAR = 4
_NEAR = 0.6


class _Asked(NamedTuple):
    """The words that are no options, and the options that were given, as they are written."""

    words: tuple[str, ...]
    options: frozenset[str]


def with_kind(
    group: click.Group, ctx: click.Context, args: list[str], subjects: Mapping[str, Reference]
) -> list[str]:
    """
    The words of a command with the kind in front that they leave out, or as they are when that is not what is wrong.

    `NotFound` names what is called alike, of every kind, with the command for each; so it does for a name of several kinds.
    """
    session = ctx.find_object(Session)
    if session is None:
        return args
    word, *rest = args
    kind, _, name = word.partition("/")
    if name and kind in subjects:
        return [kind, name, *rest]
    commands = {kind: command for kind in subjects if (command := group.get_command(ctx, kind))}
    asked = _parse(ctx, args, commands.values())
    aliases = _aliases(session.jobs.kinds(), subjects)
    if len(asked.words) > 1:
        return [aliases[word.lower()], *rest] if word.lower() in aliases else args
    fitting = [kind for kind, command in commands.items() if asked.options <= _options_of(command)]
    if len(fitting) == 1:
        return [fitting[0], *args]
    try:
        return [_kind_of(session, word, {kind: subjects[kind] for kind in fitting or subjects}), *args]
    except RemudaError:
        if ctx.resilient_parsing:
            return args
        raise


def begun(
    ctx: click.Context, incomplete: str, subjects: Mapping[str, Reference]
) -> Iterator[tuple[str, str]]:
    """For a shell: names that begin so and are of one kind alone, with their kind."""
    session = ctx.find_object(Session)
    if session is None:
        return
    known, _ = _known(session, incomplete, subjects)
    names = [name for found in known.values() for name in found]
    for kind, found in known.items():
        for name in found:
            if name.startswith(incomplete) and names.count(name) == 1 and name not in subjects:
                yield name, kind


def _kind_of(session: Session, word: str, subjects: Mapping[str, Reference]) -> str:
    known, problems = _known(session, word, subjects)
    kinds = [kind for kind, names in known.items() if word in names]
    if len(kinds) == 1:
        return kinds[0]
    if kinds:
        raise NotFound(
            f"{word!r} is the name of a {' and a '.join(kinds)}: say which with"
            f" {' or '.join(f'remuda why {kind} {word}' for kind in kinds)}"
        )
    if near := _near(word, known):
        raise NotFound(f"nothing is called {word!r}; did you mean {' or '.join(near)}?")
    if problems:
        raise problems[0]
    *others, last = subjects
    raise NotFound(
        f"nothing is called {word!r}, and nothing is called alike; remuda why asks about a {', '.join(others)} or {last}"
    )


def _known(
    session: Session, word: str, subjects: Mapping[str, Reference]
) -> tuple[dict[str, list[str]], list[RemudaError]]:
    """By kind the names there are, and why those of some kinds are not known."""
    known, problems = {}, []
    for kind, reference in subjects.items():
        find: Known = load(reference)
        try:
            known[kind] = list(dict.fromkeys(find(session, word)))
        except RemudaError as problem:
            problems.append(problem)
    return known, problems


def _near(word: str, known: Mapping[str, list[str]]) -> list[str]:
    """The commands for what is called alike, the most alike first; the end of a name counts as the whole."""
    scored = []
    for kind, names in known.items():
        for name in names:
            likeness = difflib.SequenceMatcher(None, word.lower(), name.lower()).ratio()
            is_end = name.lower().endswith(f"/{word.lower()}")
            if is_end or likeness >= _NEAR:
                scored.append((1.0 if is_end else likeness, kind, name))
    scored.sort(key=lambda item: -item[0])
    return [f"remuda why {kind} {name}" for _, kind, name in scored[:_MOST_NEAR]]


def _parse(ctx: click.Context, args: list[str], commands: Iterable[click.Command]) -> _Asked:
    """Read the words with the options of all commands; those that every command has, as --data-dir, take effect."""
    options: dict[str, click.Option] = {}
    for command in commands:
        for each in command.params:
            if isinstance(each, click.Option):
                options.setdefault(each.opts[0], each)
    probe = click.Command(
        ctx.info_name,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED), *options.values()],
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )
    with probe.make_context(ctx.info_name, list(args), parent=ctx) as read:
        words = tuple(each for each in read.params["words"] if not each.startswith("-"))
        given = (
            name
            for name, each in options.items()
            if read.get_parameter_source(str(each.name)) is click.core.ParameterSource.COMMANDLINE
        )
        return _Asked(words, frozenset(given))


def _options_of(command: click.Command) -> frozenset[str]:
    return frozenset(each.opts[0] for each in command.params if isinstance(each, click.Option))


def _aliases(kinds: Iterable[KindReference], subjects: Iterable[str]) -> dict[str, str]:
    """Other words for a kind: those of the object that has its word among its own, as `rp`, and the plural."""
    found = {f"{word}s": word for word in subjects}
    for kind in kinds:
        names = {name.lower() for name in (kind.name, kind.plural, *kind.short_names)}
        for word in names.intersection(subjects):
            found |= dict.fromkeys(names, word)
    return found
