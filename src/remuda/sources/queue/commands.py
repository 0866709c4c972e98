"""`remuda submit` and `remuda jobs`."""

import os
import shlex
import signal
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import click
from msgspec import Struct

from remuda.control.client import path_of
from remuda.control.command import Command, Group, Session, pass_session
from remuda.errors import BadInput, RemudaError, Unavailable
from remuda.model.jobs import Changed, Job, JobList, JobState, Submit, Submitted
from remuda.model.times import Duration
from remuda.output.moments import age, clock_time
from remuda.output.show import Report, Table, one_line
from remuda.sources.queue.output import JobFiles, written

#: how long a Remuda that went away is waited for
_PATIENCE_S = 60.0


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


class _Served(Struct, frozen=True):
    job_class: str


class _Pools(Struct, frozen=True):
    """Of the view of all pools, what a shell completes from."""

    pools: tuple[_Served, ...]


def _complete_classes(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """The classes that pools serve and that begin so; none when they cannot be asked for."""
    del parameter
    session = context.find_object(Session)
    if session is None:
        return []
    try:
        found = session.remuda.get("/v1/pools", _Pools)
    except RemudaError:
        return []
    # A pool that is only there until its last machine is gone has no class.
    classes = {pool.job_class for pool in found.pools if pool.job_class}
    return sorted(name for name in classes if name.startswith(begun))


@click.command(cls=_SubmitCommand)
@click.argument("job_class", metavar="CLASS", shell_complete=_complete_classes)
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND…")
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
@pass_session
def submit(
    session: Session,
    job_class: str,
    command: tuple[str, ...],
    wait: bool,
    priority: int,
    timeout: str | None,
    retries: int,
    env: tuple[str, ...],
    secret_env: tuple[str, ...],
) -> None:
    """
    Hand a job in, as in remuda submit CLASS -- command.

    The command runs on a machine of the pool that serves CLASS, in a directory of its own. With --wait its output is
    streamed and the exit code is the job's own.

    \b
    remuda submit local/shell --wait -- echo hello
    remuda submit local/shell --retries 2 --timeout 10m -- make test
    remuda submit local/shell --secret-env TOKEN=./token.txt -- sh -c 'deploy "$TOKEN"'
    """
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
    body = Submit(
        job_class=job_class,
        command=command,
        env=_pairs("--env", "K=V", env),
        secret_files=secrets,
        priority=priority,
        retries=retries,
        timeout=_timeout(timeout),
        idempotency=uuid.uuid4().hex,
    )
    answer = _hand_in(session, body)
    if not wait:
        message = f"job {answer.job} waits; `remuda jobs logs -f {answer.job}` follows it"
        session.show(Report(answer, lines=(str(answer.job) if session.quiet else message,)))
        return
    raise click.exceptions.Exit(_follow(session, answer.job))


def _hand_in(session: Session, body: Submit) -> Submitted:
    """Hand the job in once: when the answer is lost, its key keeps the next try from being another job."""
    until = time.monotonic() + _PATIENCE_S
    was_lost = False
    while True:
        try:
            return session.remuda.post("/v1/jobs", body, Submitted)
        except Unavailable as error:
            # Only a broken connection has a cause; the others are answers.
            was_lost = was_lost or error.__cause__ is not None
            if not was_lost or time.monotonic() > until:
                raise
        time.sleep(0.5)


def _timeout(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        length = int(Duration.parse(text))
    except ValueError as error:
        raise BadInput(f"--timeout: {error}") from None
    if length < 1:
        raise BadInput("--timeout must be more than 0")
    return length


def _pairs(option: str, shape: str, given: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise BadInput(f"{option} wants {shape}, found {text!r}")
        pairs[name] = value
    return pairs


def _follow(session: Session, number: int) -> int:
    """Stream a job's output to its end, over a restart of Remuda too; return the exit code to end with."""
    shown = 0
    away_since: float | None = None
    while True:
        try:
            passed = 0
            for piece in session.remuda.stream(path_of("v1", "jobs", number, "logs") + "?follow=true"):
                # After a reconnection the stream begins anew: what was shown is not shown again.
                fresh = piece[max(0, shown - passed) :]
                passed += len(piece)
                shown = max(shown, passed)
                sys.stdout.buffer.write(fresh)
                sys.stdout.buffer.flush()
            away_since = None
            job = session.remuda.get(path_of("v1", "jobs", number), Job)
            if job.state.is_end:
                return _exit_code(job)
        except Unavailable:
            if away_since is None:
                away_since = time.monotonic()
                click.echo(f"remuda is away; job {number} goes on, waiting for remuda", err=True)
            elif time.monotonic() - away_since > _PATIENCE_S:
                raise
        except KeyboardInterrupt:
            click.echo(f"\njob {number} goes on; `remuda jobs cancel {number}` ends it", err=True)
            raise
        time.sleep(0.5)


def _exit_code(job: Job) -> int:
    """The exit code to end with; anything but an exit of the command itself is told on stderr."""
    if job.state is JobState.SUCCEEDED:
        return 0
    last = job.attempts[-1] if job.attempts else None
    if last is None or last.status != "exited":
        message = f"job {job.id} {'was cancelled' if job.state is JobState.CANCELLED else 'failed'}"
        if last is not None:
            message += f": {_outcome(job)}" + (f", {last.detail}" if last.detail else "")
        click.echo(message, err=True)
    code = last.exit_code if last is not None and last.exit_code is not None else 1
    return code if 0 < code < 256 else 1


@click.group(cls=Group)
def jobs() -> None:
    """Look at jobs, their output, cancel and retry them."""


@jobs.command("list")
@click.option("--state", help="Only these, with commas: waiting, running, succeeded, failed, cancelled.")
@click.option("--class", "job_class", help="Only this class.")
@click.option("--most", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most so many.")
@pass_session
def list_jobs(session: Session, state: str | None, job_class: str | None, most: int) -> None:
    """The newest jobs first."""
    found = session.remuda.get("/v1/jobs", JobList, state=state, most=most, **{"class": job_class})
    now = session.now()
    rows = tuple(
        (
            str(job.id),
            job.job_class,
            job.state,
            str(len(job.attempts)),
            job.attempts[-1].machine if job.attempts else "-",
            age(now - job.submitted_at),
            _outcome(job),
            _shortened(_command(job), 60),
        )
        for job in found.jobs
    )
    headings = ("JOB", "CLASS", "STATE", "TRIES", "MACHINE", "AGE", "OUTCOME", "COMMAND")
    session.show(Report(found, (Table(headings, rows, note="no jobs"),)))


@jobs.command()
@click.argument("number", type=click.IntRange(1))
@pass_session
def show(session: Session, number: int) -> None:
    """Everything about one job."""
    job = session.remuda.get(path_of("v1", "jobs", number), Job)
    now = session.now()
    to_be = " (to be cancelled)" if job.cancelled and not job.state.is_end else ""
    facts = {
        "job": str(job.id),
        "class": job.job_class,
        "state": f"{job.state}{to_be} since {clock_time(job.changed_at, now)} ({age(now - job.changed_at)})",
        "command": one_line(_command(job)),
        "submitted": f"{clock_time(job.submitted_at, now)} ({age(now - job.submitted_at)} ago)",
        "priority": str(job.priority),
        "tries": f"{len(job.attempts)} of at most {job.retries + 1}",
    }
    if job.spec.secret_files:
        files = job.spec.secret_files.items()
        facts["secrets"] = ", ".join(f"{name} from {path}" for name, path in files)
    rows = tuple(
        (
            str(attempt.number),
            attempt.machine,
            clock_time(attempt.claimed_at, now),
            age((attempt.finished_at or now) - attempt.claimed_at),
            attempt.status or "running",
            "-" if attempt.exit_code is None else str(attempt.exit_code),
            attempt.detail or "",
        )
        for attempt in job.attempts
    )
    table = Table(
        ("TRY", "MACHINE", "FROM", "FOR", "STATUS", "EXIT", "DETAIL"), rows, title="tries", note="none yet"
    )
    if session.form == "markdown":
        session.show(Report(job, (Table(("FACT", "VALUE"), tuple(facts.items())), table)))
        return
    session.show(Report(job, (table,), tuple(f"{name:<10} {value}" for name, value in facts.items())))


@jobs.command()
@click.argument("number", type=click.IntRange(1))
@click.option("-f", "--follow", is_flag=True, help="Wait for more until the job ends.")
@click.option("--attempt", type=click.IntRange(1), help="Only this try.")
@pass_session
def logs(session: Session, number: int, follow: bool, attempt: int | None) -> None:
    """A job's output, also when nothing runs."""
    job = session.remuda.get(path_of("v1", "jobs", number), Job)
    if follow and attempt is None and not job.state.is_end:
        _follow(session, number)
        return
    query = f"?attempt={attempt}" if attempt else ""
    if session.server is not None or session.remuda.is_running():
        pieces = session.remuda.stream(path_of("v1", "jobs", number, "logs") + query)
    else:
        pieces = written(JobFiles(session.data_dir / "jobs"), job, str(attempt) if attempt else None)
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


@jobs.command()
@click.argument("numbers", type=click.IntRange(1), nargs=-1, required=True)
@pass_session
def cancel(session: Session, numbers: tuple[int, ...]) -> None:
    """
    End jobs, waiting or running.

    One that waits ends at once; one that runs is sent TERM, and KILL five seconds later. Of several jobs each that
    exists is ended; exits 1 when there were others.
    """
    _change(
        session,
        numbers,
        "cancel",
        lambda answer: f"has ended already: {answer.before}" if answer.before.is_end else "is cancelled",
    )


@jobs.command()
@click.argument("numbers", type=click.IntRange(1), nargs=-1, required=True)
@pass_session
def retry(session: Session, numbers: tuple[int, ...]) -> None:
    """Run ended jobs once more."""
    _change(session, numbers, "retry", lambda _: "waits again")


def _change(session: Session, numbers: tuple[int, ...], verb: str, tell: Callable[[Changed], str]) -> None:
    """Change each job that can be, show what happened, and then complain about the others; exit code 1 if there are both."""
    answers, problems = [], []
    for number in numbers:
        try:
            answers.append(session.remuda.post(path_of("v1", "jobs", number, verb), {}, Changed))
        except BadInput as error:
            problems.append(str(error))
    if answers or not problems:
        session.show(Report(answers, lines=tuple(f"job {answer.job} {tell(answer)}" for answer in answers)))
    if problems:
        raise (RemudaError if answers else BadInput)("; ".join(problems))


def _outcome(job: Job) -> str:
    last = job.attempts[-1] if job.attempts else None
    if last is None or last.status is None:
        return "-"
    if last.status == "signaled" and last.exit_code is not None:
        return f"ended by {_signal_name(last.exit_code - 128)}"
    return f"exit {last.exit_code}" if last.status == "exited" else last.status


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _command(job: Job) -> str:
    return shlex.join(job.spec.command) if job.spec.command else "(damaged in the store)"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
