"""
The root of the command tree.

Commands are imported when they are called, so that `remuda --help` costs little. What jobs bring comes from their
descriptions; a test holds each description's line and the command's help together.
"""

import errno
import os
import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from remuda.control.command import Group, Session
from remuda.errors import BadInput, NotFound, RemudaError
from remuda.job import Command, Jobs, Reference, Section, load
from remuda.jobs import JOBS
from remuda.output.show import one_line

#: commands that serve every job, in the order they are used
OWN: Mapping[str, Command] = {
    "up": Command("remuda.cli.up:up", "Run everything in one process until stopped.", Section.RUN),
    "web": Command("remuda.web.commands:web", "Open the dashboard.", Section.RUN, also=("dashboard", "ui")),
    "replay": Command(
        "remuda.cli.replay:replay", "What today's rules would have decided differently.", Section.ASK
    ),
    "report": Command(
        "remuda.cli.reporting:report",
        "Waiting, use, cost, limits, sizes, and what other settings would have changed.",
        Section.ASK,
    ),
    "loops": Command("remuda.cli.loops:loops", "Look at loops, pause and resume them.", Section.ASK),
    "store": Command("remuda.cli.store:store", "Look after the store of a data directory.", Section.RUN),
    "validate": Command(
        "remuda.cli.objects:validate", "Check files and report every problem at once.", Section.OBJECTS
    ),
    "explain": Command(
        "remuda.cli.objects:explain", "The fields of a kind of object, as kubectl explain.", Section.OBJECTS
    ),
    "schema": Command(
        "remuda.cli.objects:schema", "The JSON Schema of a kind of object, for editors.", Section.OBJECTS
    ),
    "crds": Command(
        "remuda.cli.objects:crds", "The custom resource definitions, for kubectl apply.", Section.OBJECTS
    ),
    "rbac": Command(
        "remuda.cli.rbac:rbac", "The permissions a command needs, for kubectl apply.", Section.OBJECTS
    ),
    "completion": Command("remuda.cli.completion:completion", "Shell completion for bash, zsh and fish."),
}
#: groups that every job may add to: the section, and the help
GROUPS: Mapping[str, tuple[Section, str]] = {
    "why": (
        Section.ASK,
        """
        Why something is as it is: what was decided, and the numbers behind it.

        A name is enough where only one thing is called so: remuda why shell
        """,
    ),
    "diagnose": (
        Section.ASK,
        """
        Find out why something does not do what is wanted, and what to do.

        Without a word everything that applies here is checked: this data directory and who works with it, what this host
        allows, pools and their queue, and the cluster of the kubeconfig. --bundle FILE also collects what a maintainer would
        ask for, secrets removed, into a .tar.gz.

        Nothing is changed. Exit codes: 0 no problem, 1 problems, 2 bad input.
        """,
    ),
    "simulate": (
        Section.PLAN,
        """
        Run the same judgement against a simulated world.

        Time is virtual, faults are seeded, and the same seed gives the same history on every machine.
        """,
    ),
    "import": (
        Section.OBJECTS,
        """
        Objects from what was written for other tools.

        They are printed, and notes on what differs go to stderr. Nothing is applied or changed.
        """,
    ),
}

_OUTPUT_ERRORS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})


class Tree(Group):
    """Knows its commands by name and imports them late."""

    def __init__(
        self,
        *args: Any,
        late: Mapping[str, Command],
        subjects: Mapping[str, Reference] = MappingProxyType({}),
        **kwargs: Any,
    ) -> None:
        """`subjects` are, by command, what finds the names that its first argument can be."""
        super().__init__(*args, **kwargs)
        self.late = late
        self.subjects = subjects
        #: what groups below this one do without a word
        self.bare: dict[str, Command] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of their sections, and in these as they were brought."""
        del ctx
        return [name for _, lines in self._sections() for name, _ in lines]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        if cmd_name not in self.late:
            return super().get_command(ctx, cmd_name)
        found: click.Command = load(self.late[cmd_name].command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As of any group; and the command that a name alone stands for, or a group without a word."""
        if args[0] in self.bare:
            alone: click.Command = load(self.bare[args[0]].command)
            if _has_no_word(alone, ctx, args[1:]):
                return args[0], alone, args[1:]
        if self.subjects and self.get_command(ctx, args[0]) is None:
            from remuda.cli.subjects import with_kind

            args = with_kind(self, ctx, args, self.subjects)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """As of any group; and names that stand for a command."""
        found = super().shell_complete(ctx, incomplete)
        if self.subjects:
            from remuda.cli.subjects import begun

            found += [CompletionItem(name, help=kind) for name, kind in begun(ctx, incomplete, self.subjects)]
        return found

    def hint(self, ctx: click.Context, args: list[str]) -> str:
        """As of any group; and commands below another one, other words for a command, and names without their kind."""
        from remuda.cli.guess import guess

        found = guess(self, ctx, args, {name: command.also for name, command in self.late.items()})
        return f"Did you mean {found!r}?" if found else super().hint(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands by section, without importing any."""
        del ctx
        for title, lines in self._sections():
            with formatter.section(title):
                formatter.write_dl(lines)

    def _sections(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Titles, and the names and first lines of help below them."""
        lines = dict[Section, list[tuple[str, str]]]()
        for name, command in self.late.items():
            lines.setdefault(command.section, []).append((name, command.help))
        for name, group in self.commands.items():
            first = (group.help or "").strip().splitlines()[0]
            lines.setdefault(GROUPS[name][0], []).append((name, first))
        is_one = len(lines) == 1
        for section in Section:
            if section in lines:
                yield "Commands" if is_one else section, lines[section]


def _has_no_word(command: click.Command, ctx: click.Context, args: list[str]) -> bool:
    """Whether only options of a command are said, and none of them asks for help."""
    if {*args} & {*ctx.help_option_names}:
        return False
    try:
        _, words, _ = command.make_parser(click.Context(command)).parse_args(list(args))
    except click.UsageError:
        return not args or args[0].startswith("-")
    return not words


def tree(jobs: Jobs) -> Tree:
    """The whole command tree, with what these jobs bring."""
    brought = jobs.commands()
    own = {name: command for name, command in OWN.items() if name != "completion"}
    made = Tree(
        "remuda",
        late={
            "up": OWN["up"],
            **{name: command for name, command in brought.items() if name not in GROUPS},
            **own,
            "completion": OWN["completion"],
        },
        help="""
        Keep the right machines ready for CI jobs, and say why.

        A running Remuda is asked over its control socket; when none runs, what can be read is read from its store.
        Exit codes: 0 fine, 1 findings or failure, 2 bad input.
        """,
        epilog="Begin with: remuda up examples/laptop.yaml, then remuda submit local/shell --wait -- echo hello",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    for name, (_, text) in GROUPS.items():
        found = jobs.commands(name)
        if found:
            subjects = jobs.subjects() if name == "why" else {}
            metavar = "[KIND] NAME [ARGS]..." if subjects else None
            group = Tree(
                name,
                late=found,
                subjects=subjects,
                help=text,
                no_args_is_help=True,
                subcommand_metavar=metavar,
            )
            made.add_command(group)
            if name in brought:
                made.bare[name] = brought[name]
    return click.option(
        "--version",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_version,
        help="Show the version and the commit, and exit.",
    )(made)


def _show_version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        from remuda.cli.version import describe_version

        click.echo(f"remuda {describe_version()}")
        context.exit()


root = tree(JOBS)


def main(args: list[str] | None = None, jobs: Jobs = JOBS) -> NoReturn:
    """Run the command line, or the words given; errors become one clear message and an exit code."""
    try:
        code = _run(args, jobs)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read us has gone; nothing is wrong with that.
        _drop_output()
        code = 0
    except OSError as error:
        if error.errno not in _OUTPUT_ERRORS:
            raise
        _drop_output()
        _complain(f"the output cannot be written: {error.strerror or error}")
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _run(args: list[str] | None, jobs: Jobs) -> int:
    name = os.path.basename(sys.argv[0]) if sys.argv else "remuda"  # noqa: PTH119 - no import of pathlib for a name
    prog = "kubectl remuda" if name.startswith("kubectl-") else "remuda"
    complete_var = "_REMUDA_COMPLETE"
    try:
        top = root if jobs is JOBS else tree(jobs)
        code: Any = top.main(
            args, obj=Session(jobs), prog_name=prog, standalone_mode=False, complete_var=complete_var
        )
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.Abort as stop:
        _complain("stopped")
        return 130 if isinstance(stop.__cause__, KeyboardInterrupt) else 1
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except NotFound as error:
        _complain(one_line(str(error)))
        return 2
    except BadInput as error:
        _complain(str(error))
        return 2
    except RemudaError as error:
        _complain(str(error))
        return 1
    return code if isinstance(code, int) else 0


def _drop_output() -> None:
    """Give up what is still to be written, so that the end of the process does not try once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _complain(text: str) -> None:
    lines = text.splitlines() or ["unknown"]
    if len(lines) == 1:
        click.echo(f"remuda: {lines[0]}", err=True)
    else:
        click.echo("\n".join(lines), err=True)
        click.echo(f"remuda: {len(lines)} problems; nothing was started or changed", err=True)
