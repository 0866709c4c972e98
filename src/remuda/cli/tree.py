"""
The root of the command tree.

Commands are imported when they are called, so that `remuda --help` costs little. Each line here says where a command
lives and what its help begins with; a test holds the two together.
"""

import errno
import importlib
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import click

from remuda import __version__
from remuda.control.command import Group, Session
from remuda.errors import BadInput, NotFound, RemudaError
from remuda.output.show import one_line

if TYPE_CHECKING:
    from remuda.control.routes import Route
    from remuda.objects.load import Loaded

#: name → (module, attribute, first line of its help)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "up": ("remuda.cli.up", "up", "Run everything in one process until stopped."),
    "submit": (
        "remuda.sources.queue.commands",
        "submit",
        "Hand a job in, as in remuda submit CLASS -- command.",
    ),
    "jobs": ("remuda.sources.queue.commands", "jobs", "Look at jobs, their output, cancel and retry them."),
    "pools": ("remuda.pools.commands", "pools", "Look at pools and steer them."),
    "machines": ("remuda.pools.commands", "machines", "Look at machines."),
    "top": ("remuda.pools.commands", "top", "A live view of pools, machines, jobs and decisions."),
    "why": ("remuda.cli.why", "why", "Why a pool, a machine, a job, a need or a workload is as it is."),
    "diagnose": (
        "remuda.cli.diagnose",
        "diagnose",
        "Find out why pools do not do what is wanted, and what to do.",
    ),
    "replay": ("remuda.pools.questions", "replay", "What today's rules would have decided differently."),
    "loops": ("remuda.cli.loops", "loops", "Look at loops, pause and resume them."),
    "fleet": ("remuda.fleet.commands", "fleet", "Decide which machine serves which cluster, and measure it."),
    "capacity": (
        "remuda.capacity.commands",
        "capacity",
        "Audit, plan and guard what runner scale sets that share a label take together.",
    ),
    "rightsize": (
        "remuda.rightsize.commands",
        "rightsize",
        "The size each workload really needs, from what it used.",
    ),
    "validate": ("remuda.cli.objects", "validate", "Check files and report every problem at once."),
    "explain": ("remuda.cli.objects", "explain", "The fields of a kind of object, as kubectl explain."),
    "schema": ("remuda.cli.objects", "schema", "The JSON Schema of a kind of object, for editors."),
    "crds": ("remuda.cli.objects", "crds", "The custom resource definitions, for kubectl apply."),
    "rbac": ("remuda.cli.rbac", "rbac", "The permissions a command needs, for kubectl apply."),
    "import": ("remuda.cli.imports", "imports", "Objects from what was written for other tools."),
    "simulate": ("remuda.cli.simulate", "simulate", "Run the same judgement against a simulated world."),
    "completion": ("remuda.cli.completion", "completion", "Shell completion for bash, zsh and fish."),
}


_OUTPUT_ERRORS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})


class Tree(Group):
    """Knows its commands by name and imports them late."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order they are used."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        found: click.Command = getattr(importlib.import_module(module), attribute)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


def views() -> tuple["Route", ...]:
    """What can be read from the store when nothing runs."""
    from remuda.pools.routes import VIEWS as POOL_VIEWS
    from remuda.sources.queue.routes import VIEWS as QUEUE_VIEWS

    return (*POOL_VIEWS, *QUEUE_VIEWS)


def load(files: Iterable[str]) -> "Loaded":
    """Read files with every kind there is; what their objects say of others is for the caller to check."""
    from remuda.catalog import KINDS
    from remuda.objects.load import load_files

    return load_files(files, KINDS)


@click.group(
    cls=Tree,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Begin with: remuda up examples/laptop.yaml, then remuda submit local/shell --wait -- echo hello",
)
@click.version_option(__version__, prog_name="remuda")
def root() -> None:
    """
    Keep the right machines ready for CI jobs, and say why.

    A running Remuda is asked over its control socket; when none runs, what can be read is read from its store.
    Exit codes: 0 fine, 1 findings or failure, 2 bad input.
    """


def main(args: list[str] | None = None) -> NoReturn:
    """Run the command line, or the words given; errors become one clear message and an exit code."""
    try:
        code = _run(args)
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


def _run(args: list[str] | None) -> int:
    name = os.path.basename(sys.argv[0]) if sys.argv else "remuda"  # noqa: PTH119 - no import of pathlib for a name
    prog = "kubectl remuda" if name.startswith("kubectl-") else "remuda"
    complete_var = "_REMUDA_COMPLETE"
    try:
        code: Any = root.main(
            args, obj=Session(views, load), prog_name=prog, standalone_mode=False, complete_var=complete_var
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
