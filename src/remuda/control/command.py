"""
What every command shares: where Remuda is, how answers are shown, and how errors end.

Every command takes `-o`, `--quiet`, `--data-dir`, `--store`, `--queue` and `--server`, before or after its own words; the session that
comes out of them is in the context.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remuda.datadir import VARIABLE, default_data_dir
from remuda.errors import BadInput
from remuda.model.times import MINUTE, SECOND, Instant, parse_instant, write_duration
from remuda.output.show import FORMATS, Report, show

if TYPE_CHECKING:  # not for --help
    from remuda.control.client import Remuda
    from remuda.job import Jobs
    from remuda.ledger.address import PostgresAddress
    from remuda.ledger.place import Home
    from remuda.objects.load import Objects


#: what clocks of two computers may differ by
_AHEAD = MINUTE


class Session:
    """What a command runs with."""

    def __init__(self, jobs: "Jobs") -> None:
        """`jobs` are those there are: their views, kinds and permissions."""
        self.jobs = jobs
        jobs.teach()
        self.form = "table"
        self.quiet = False
        self.server: str | None = None
        #: how long an answer may take
        self.timeout_s = 60
        self.data_dir = default_data_dir(dict(os.environ))
        #: as it was given; it may hold a password, and is shown by `address` alone
        self.store: str | None = None
        self.queue: str | None = None

    @cached_property
    def address(self) -> "PostgresAddress | None":
        """The database that keeps the store; None where it is a file of the data directory."""
        from remuda.ledger.address import find_address  # noqa: PLC0415 - not for --help

        return find_address(self.store, os.environ)

    @cached_property
    def queue_address(self) -> "PostgresAddress | None":
        """The database of the job queue that this host shares with others; None where the store has the queue."""
        from remuda.ledger.address import find_queue  # noqa: PLC0415 - not for --help

        return find_queue(self.queue, os.environ)

    @property
    def home(self) -> "Home":
        """Where the store is: the database that was named, else the data directory."""
        return self.address or self.data_dir

    @cached_property
    def remuda(self) -> "Remuda":
        """The Remuda that is asked: a running one, else the store."""
        from remuda.control.client import Remuda  # noqa: PLC0415 - not for --help

        def warn(message: str) -> None:
            if not self.quiet:
                click.echo(message, err=True)

        token = os.environ.get("REMUDA_TOKEN", "").strip()
        return Remuda(
            self.data_dir,
            self.server,
            self.jobs.views,
            warn,
            self.timeout_s,
            token,
            self.address,
            self.queue_address,
        )

    def load(self, files: Iterable[str]) -> "Objects":
        """
        The objects of files that a cluster could keep; `BadInput` with every problem, a line each.

        What objects say of others is for the caller to check.
        """
        from remuda.job import Place  # noqa: PLC0415
        from remuda.objects.load import load_files  # noqa: PLC0415 - not for --help

        loaded = load_files(files, self.jobs.kinds(Place.RUN, Place.KEPT))
        if loaded.problems:
            raise BadInput("\n".join(str(problem) for problem in loaded.problems))
        return loaded.objects

    def show(self, report: Report) -> None:
        """Print a report as it was asked for."""
        show(report, self.form, quiet=self.quiet, columns=_columns())

    def note(self, text: str) -> None:
        """Print a line for a person; nothing with --quiet or another format."""
        if not self.quiet and self.form == "table":
            click.echo(text)

    @contextlib.contextmanager
    def progress(self) -> Iterator[Callable[[str], None]]:
        """Say on a terminal what is being read, on one line that goes away."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda _: None
            return
        try:
            yield lambda what: click.echo(f"\r\x1b[Kreading {what} …", err=True, nl=False)
        finally:
            click.echo("\r\x1b[K", err=True, nl=False)

    def now(self) -> Instant:
        """The instant at which the command runs."""
        return time.time_ns() // 1_000_000

    def instant(self, text: str | None, default: Instant) -> Instant:
        """A time that a person wrote; without a zone it is in theirs, as times are shown."""
        if text is None:
            return default
        try:
            return parse_instant(text, self.now(), lambda read: read.astimezone())
        except ValueError as error:
            raise BadInput(str(error)) from None

    def past(self, text: str | None) -> Instant:
        """A time of which something may be recorded; now when none was written, and `BadInput` for one to come."""
        now = self.now()
        at = self.instant(text, now)
        if at - now > _AHEAD:
            raise BadInput(
                f"{text!r} is {write_duration((at - now) // SECOND * SECOND)} ahead of this computer's clock, and nothing"
                " is recorded of what is to come: write an earlier time, or how long ago, as 10m"
            )
        return at


def _set(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        given = context.get_parameter_source(str(parameter.name)) is click.core.ParameterSource.COMMANDLINE
        if given and isinstance(context.obj, Session):
            setattr(context.obj, name, value.absolute() if isinstance(value, Path) else value)

    return callback


def shared_options() -> list[click.Option]:
    """The options of every command."""
    return [
        click.Option(
            ["-o", "--output", "form"],
            type=click.Choice(FORMATS),
            expose_value=False,
            callback=_set("form"),
            help="How to print: a table for a person, the others for a program; csv is the first table.",
        ),
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_set("quiet"),
            help="Print only what was asked for; of a list only names or numbers.",
        ),
        click.Option(
            ["--data-dir"],
            type=click.Path(path_type=Path, file_okay=False),
            expose_value=False,
            callback=_set("data_dir"),
            help=f"The data directory. Default: ${VARIABLE}, else the platform's.",
        ),
        click.Option(
            ["--store"],
            expose_value=False,
            callback=_set("store"),
            metavar="URL",
            help="Keep the store in PostgreSQL, postgresql://USER@HOST/DATABASE. Default: $REMUDA_STORE, else a file.",
        ),
        click.Option(
            ["--queue"],
            expose_value=False,
            callback=_set("queue"),
            metavar="URL",
            help="Share the job queue with other hosts, in PostgreSQL at URL. Default: $REMUDA_QUEUE, else the store's.",
        ),
        click.Option(
            ["--server"],
            expose_value=False,
            callback=_set("server"),
            metavar="URL",
            help="Ask the Remuda at unix:PATH or http://HOST:PORT instead, with the token in $REMUDA_TOKEN.",
        ),
    ]


class Command(click.Command):
    """A command with the shared options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["params"] = [*(kwargs.get("params") or []), *shared_options()]
        super().__init__(*args, **kwargs)


class Group(click.Group):
    """A group whose commands have the shared options; unknown commands name the nearest one."""

    command_class = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["params"] = [*(kwargs.get("params") or []), *shared_options()]
        super().__init__(*args, **kwargs)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            hint = self.hint(ctx, args)
            ctx.fail(f"No such command {name!r}." + (f" {hint}" if hint else ""))
        return super().resolve_command(ctx, args)

    def hint(self, ctx: click.Context, args: list[str]) -> str:
        """The command that words which begin no command of this group may stand for; nothing when there is no good guess."""
        import difflib  # noqa: PLC0415 - only for a mistake

        near = difflib.get_close_matches(args[0], self.list_commands(ctx), 1)
        return f"Did you mean {near[0]!r}?" if near else ""


pass_session = click.make_pass_decorator(Session)


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something that cannot be undone; without a terminal `--yes` is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadInput(f"{question} Say --yes to do it without being asked.")
    click.confirm(question, abort=True)


def _columns() -> int | None:
    """How wide the terminal is; None for what is none, like a pipe."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else None
    except (OSError, ValueError):
        return None
