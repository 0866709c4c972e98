"""`remuda submit`: one job from the command line, or many from a file."""

import os
import stat
import sys
import time
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from remuda.control.command import Command, Session, pass_session
from remuda.control.completion import completes
from remuda.control.routes import LARGEST_BODY
from remuda.errors import BadInput, Unavailable
from remuda.model.jobs import Batch, BatchSubmitted, Submit, Submitted
from remuda.model.times import Duration
from remuda.output.show import Report, Table
from remuda.sources.queue.following import PATIENCE_S, follow

T = TypeVar("T")


class _SubmitCommand(Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; an option of the job that is taken for ours is told where it belongs."""
        has_mark = "--" in args
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if has_mark:
                raise
            hint = "The job's command comes after --, with its own options."
            raise click.UsageError(f"{error.format_message()} {hint}", ctx) from None


class _Served(msgspec.Struct, frozen=True, rename={"job_class": "class"}):
    job_class: str


class _Pools(msgspec.Struct, frozen=True):
    """Of the view of all pools, what a shell completes from."""

    pools: tuple[_Served, ...]


#: the classes that pools serve; a pool that is only there until its last machine is gone has none
complete_classes = completes(
    "/v1/pools", _Pools, lambda found: sorted(pool.job_class for pool in found.pools if pool.job_class)
)


@click.command(cls=_SubmitCommand)
@click.argument("job_class", metavar="CLASS", required=False, shell_complete=complete_classes)
@click.argument("command", nargs=-1, metavar="-- COMMAND…")
@click.option("--wait", is_flag=True, help="Stream the job's output and exit with its exit code.")
@click.option(
    "--priority",
    type=click.IntRange(-1_000_000, 1_000_000),
    default=0,
    show_default=True,
    help="Higher runs first.",
)
@click.option(
    "--timeout", metavar="DURATION", help="Longest it may run, like 10m. Default: the pool's jobTimeout."
)
@click.option(
    "--retries",
    type=click.IntRange(0, 100),
    default=0,
    show_default=True,
    help="Further tries after a failure, or after its machine died.",
)
@click.option("--env", multiple=True, metavar="K=V", help="An environment variable. Not for secrets.")
@click.option(
    "--secret-env",
    multiple=True,
    metavar="K=FILE",
    help="An environment variable whose value is read from a file when the job starts, and masked in its output (values of four characters or more).",
)
@click.option(
    "--key", metavar="TEXT", help="Hand the job in once: a second one with this key is the first one again."
)
@click.option(
    "--from",
    "file",
    metavar="FILE",
    help="Hand in a job for each line of JSON in a file, all of them or none; - is stdin.",
)
@pass_session
def submit(
    session: Session,
    /,
    job_class: str | None,
    command: tuple[str, ...],
    wait: bool,
    file: str | None,
    **options: Any,
) -> None:
    """
    Hand a job in, as in remuda submit CLASS -- command.

    The command runs on a machine of the pool that serves CLASS, in a directory of its own. With --wait its output is
    streamed and the exit code is the job's own. A job reads nothing from stdin.

    \b
    remuda submit local/shell --wait -- echo hello
    remuda submit local/shell --retries 2 --timeout 10m -- make test
    remuda submit local/shell --secret-env TOKEN=./token.txt -- sh -c 'deploy "$TOKEN"'
    remuda submit --from jobs.jsonl          {"class": "local/shell", "command": ["make", "test"]}
    """
    if file is not None:
        if job_class or wait or any(options.values()):
            raise BadInput("--from stands alone: the lines of the file say all about their jobs")
        _submit_file(session, file)
        return
    if not job_class or not command:
        raise BadInput("say CLASS and the command, as in: remuda submit local/shell -- echo hello")
    if _has_input(0):
        raise BadInput(
            "there is data on stdin, and a job reads nothing from there: pass it in a file, or say < /dev/null"
        )
    order = _order(job_class, command, **options)
    _check_size(order)
    answer = _hand_in(session, "/v1/jobs", order, Submitted)
    if wait:
        raise click.exceptions.Exit(follow(session, answer.job))
    message = (
        f"job {answer.job} waits" if answer.is_new else f"job {answer.job} was handed in before with this key"
    )
    line = str(answer.job) if session.quiet else f"{message}; `remuda jobs logs -f {answer.job}` follows it"
    session.show(Report(answer, lines=(line,)))


def _order(
    job_class: str,
    command: tuple[str, ...],
    priority: int,
    timeout: str | None,
    retries: int,
    env: tuple[str, ...],
    secret_env: tuple[str, ...],
    key: str | None,
) -> Submit:
    secrets = {
        name: str(Path(path).absolute())
        for name, path in _pairs("--secret-env", "K=FILE", secret_env).items()
    }
    unreadable = [
        f"--secret-env {name}: {path} cannot be read"
        for name, path in secrets.items()
        if not (os.access(path, os.R_OK) and not os.path.isdir(path))  # noqa: PTH112
    ]
    if unreadable:
        raise BadInput("\n".join(unreadable))
    if key is not None and not 1 <= len(key) <= _LONGEST_KEY:
        raise BadInput(f"--key wants 1 to {_LONGEST_KEY} characters")
    return Submit(
        job_class=job_class,
        command=command,
        env=_pairs("--env", "K=V", env),
        secret_files=secrets,
        priority=priority,
        retries=retries,
        timeout=_timeout("--timeout", timeout),
        idempotency=key or _new_key(),
    )


_LONGEST_KEY = 128


def _new_key() -> str:
    """One for a job that has none of its own, so that it is never taken in twice when an answer is lost."""
    return os.urandom(16).hex()


def _submit_file(session: Session, file: str) -> None:
    try:
        lines = (sys.stdin.buffer if file == "-" else Path(file).open("rb")).read().splitlines()  # noqa: SIM115
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from None
    orders, problems = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            orders.append(_read_line(line))
        except (BadInput, msgspec.MsgspecError, ValueError, RecursionError) as error:
            problems.append(f"{file}:{number}: {error}")
    if problems:
        raise BadInput("\n".join(problems))
    if not orders:
        raise BadInput(f"{file} holds no job: a line is one, as in {_EXAMPLE}")
    answer = _hand_in(session, "/v1/jobs/batch", Batch(tuple(orders)), BatchSubmitted)
    rows = tuple((str(each.job), "waits" if each.is_new else "handed in before") for each in answer.jobs)
    session.show(Report(answer, (Table(("JOB", "STATE"), rows, is_list=True),)))


_EXAMPLE = '{"class": "local/shell", "command": ["make", "test"]}'


def _read_line(line: bytes) -> Submit:
    """A job as the API takes it; its timeout may be written as in an object, and without a key it gets one."""
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise BadInput(f"it is not JSON: {error}") from None
    if isinstance(found, dict):
        if isinstance(found.get("timeout"), str):
            found["timeout"] = _timeout("timeout", found["timeout"])
        found.setdefault("idempotency", _new_key())
    return msgspec.convert(found, Submit)


def _check_size(order: Submit) -> None:
    try:
        size = len(msgspec.json.encode(order))
    except UnicodeEncodeError as error:
        raise BadInput(f"{error.object!r:.100} is not UTF-8 text") from None
    if size > LARGEST_BODY:
        raise BadInput(
            f"the job is too large: its command and variables have {size // 1024} KiB, and may have"
            f" {LARGEST_BODY // 1024} KiB together; put the data into a file and name that in the command"
        )


def _has_input(descriptor: int) -> bool:
    """Whether a pipe or a file with data is where a job's input would come from."""
    try:
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode):
            return os.lseek(descriptor, 0, os.SEEK_CUR) < found.st_size
        if not stat.S_ISFIFO(found.st_mode):
            return False
        import fcntl
        import termios

        waiting = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4)
    except OSError:
        return False  # there is none at all
    return int.from_bytes(waiting, sys.byteorder) > 0


def _hand_in(session: Session, path: str, body: object, kind: type[T]) -> T:
    """Hand jobs in once: when the answer is lost, their keys keep the next try from being other jobs."""
    until = time.monotonic() + PATIENCE_S
    was_lost = False
    while True:
        try:
            return session.remuda.post(path, body, kind)
        except Unavailable as error:
            # Only a broken connection has a cause; the others are answers.
            was_lost = was_lost or error.__cause__ is not None
            if not was_lost or time.monotonic() > until:
                raise
        time.sleep(0.5)


def _timeout(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        length = int(Duration.parse(text))
    except ValueError as error:
        raise BadInput(f"{option}: {error}") from None
    if length < 1:
        raise BadInput(f"{option} must be more than 0")
    return length


def _pairs(option: str, shape: str, texts: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise BadInput(f"{option} wants {shape}, found {text!r}")
        pairs[name] = value
    return pairs
