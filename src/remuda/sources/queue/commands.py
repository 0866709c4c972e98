"""`remuda jobs`."""

import shlex
import sys
from typing import Any

import click
from msgspec import Struct

from remuda.control.client import path_of
from remuda.control.command import Group, Session, confirm, pass_session
from remuda.control.completion import completes
from remuda.errors import BadInput, RemudaError
from remuda.model.jobs import AllChanged, Changed, Job, JobList, JobState, Selection
from remuda.output.moments import age, clock_time
from remuda.output.show import Report, Table, one_line
from remuda.sources.queue.following import follow as follow_job
from remuda.sources.queue.following import outcome
from remuda.sources.queue.output import JobFiles, known_host, written
from remuda.sources.queue.submit_commands import complete_classes

complete_jobs = completes("/v1/jobs", JobList, lambda found: (str(job.id) for job in found.jobs), most=1000)


def _complete_states(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """States, also after a comma."""
    del context, parameter
    before, comma, last = begun.rpartition(",")
    return [f"{before}{comma}{state}" for state in JobState if state.startswith(last)]


class _NamedPool(Struct, frozen=True, rename={"job_class": "class"}):
    name: str
    job_class: str


class _NamedPools(Struct, frozen=True):
    pools: tuple[_NamedPool, ...]


_number = click.argument("number", type=click.IntRange(1), shell_complete=complete_jobs)
_numbers = click.argument("numbers", type=click.IntRange(1), nargs=-1, shell_complete=complete_jobs)
_class = click.option("--class", "job_class", help="Only this class.", shell_complete=complete_classes)
_pool = click.option(
    "--pool",
    help="Only the class that this pool serves.",
    shell_complete=completes("/v1/pools", _NamedPools, lambda found: (pool.name for pool in found.pools)),
)
_OPEN = (JobState.WAITING, JobState.RUNNING)
_yes = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group(cls=Group)
def jobs() -> None:
    """Look at jobs, their output, cancel and retry them."""


@jobs.command("list")
@click.option(
    "--state",
    help="Only these, with commas: waiting, running, succeeded, failed, cancelled.",
    shell_complete=_complete_states,
)
@_class
@_pool
@click.option("--most", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most so many.")
@click.option("--before", type=click.IntRange(1), metavar="NUMBER", help="Only jobs before this one.")
@pass_session
def list_jobs(
    session: Session,
    state: str | None,
    job_class: str | None,
    pool: str | None,
    most: int,
    before: int | None,
) -> None:
    """The newest jobs first."""
    asked: dict[str, Any] = {"state": state, "class": _class_of(session, job_class, pool), "before": before}
    found = session.remuda.get("/v1/jobs", JobList, most=most, **asked)
    now = session.now()
    rows = tuple(
        (
            str(job.id),
            job.job_class,
            job.state,
            str(len(job.attempts)),
            job.attempts[-1].machine if job.attempts else "-",
            age(now - job.submitted_at),
            outcome(job),
            _shortened(_command(job), 60),
        )
        for job in found.jobs
    )
    headings = ("JOB", "CLASS", "STATE", "TRIES", "MACHINE", "AGE", "OUTCOME", "COMMAND")
    session.show(Report(found, (Table(headings, rows, note="no jobs", is_list=True),)))
    if (more := found.total - len(found.jobs)) > 0 and not session.quiet:
        message = f"{more} older {'job is' if more == 1 else 'jobs are'} not shown; --before {found.jobs[-1].id} shows"
        click.echo(f"{message} the next, --most {min(found.total, 1000)} more at once", err=True)


def _class_of(session: Session, job_class: str | None, pool: str | None) -> str | None:
    """The class that is meant: the one that is named, or the one that a pool serves."""
    if pool is None:
        return job_class
    found = session.remuda.get(path_of("v1", "pools", pool), _NamedPools).pools[0].job_class
    if not found:
        raise BadInput(f"pool {pool} is not configured any more and serves no class; say --class")
    if job_class is not None and job_class != found:
        raise BadInput(f"pool {pool} serves {found}, not {job_class}")
    return found


@jobs.command()
@_number
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
@_number
@click.option("-f", "--follow", is_flag=True, help="Wait for more until the job ends.")
@click.option("--attempt", type=click.IntRange(1), help="Only this try.")
@pass_session
def logs(session: Session, number: int, follow: bool, attempt: int | None) -> None:
    """A job's output, also when nothing runs."""
    job = session.remuda.get(path_of("v1", "jobs", number), Job)
    if follow and attempt is None and not job.state.is_end:
        follow_job(session, number)
        return
    query = f"?attempt={attempt}" if attempt else ""
    if session.server is not None or session.remuda.is_running():
        for piece in session.remuda.stream(path_of("v1", "jobs", number, "logs") + query):
            sys.stdout.buffer.write(piece)
    else:
        from asyncio import run

        run(_show_stored(session, job, str(attempt) if attempt else None))
    sys.stdout.buffer.flush()


async def _show_stored(session: Session, job: Job, attempt: str | None) -> None:
    """Output while nothing runs: of this host its files, of others the copies in the queue."""
    from remuda.sources.queue.copies import borrow_at_rest

    files = JobFiles(session.data_dir / "jobs", known_host(session.data_dir))
    if session.queue_address is not None:
        files.borrow = borrow_at_rest(session.queue_address)
    async for piece in written(files, job, attempt):
        sys.stdout.buffer.write(piece)


@jobs.command()
@_numbers
@click.option(
    "--state",
    help="All that are so: waiting, running, or both with a comma.",
    shell_complete=_complete_states,
)
@_class
@_pool
@_yes
@pass_session
def cancel(session: Session, /, numbers: tuple[int, ...], **which: Any) -> None:
    """
    End jobs, waiting or running.

    One that waits ends at once; one that runs is sent TERM, and KILL five seconds later. Of several jobs each that
    exists is ended; exits 1 when there were others.

    \b
    remuda jobs cancel 12 13
    remuda jobs cancel --state waiting --class local/shell
    remuda jobs cancel --pool shell --yes        all that wait or run
    """
    _change(session, numbers, "cancel", _OPEN, _OPEN, **which)


@jobs.command()
@_numbers
@click.option(
    "--state",
    help="All that ended so, with commas: failed, cancelled, succeeded. Default: failed.",
    shell_complete=_complete_states,
)
@_class
@_pool
@_yes
@pass_session
def retry(session: Session, /, numbers: tuple[int, ...], **which: Any) -> None:
    """
    Run ended jobs once more.

    \b
    remuda jobs retry 12 13
    remuda jobs retry --state failed --class local/shell
    """
    ended = tuple(state for state in JobState if state.is_end)
    _change(session, numbers, "retry", (JobState.FAILED,), ended, **which)


def _change(
    session: Session,
    numbers: tuple[int, ...],
    verb: str,
    default: tuple[JobState, ...],
    fit: tuple[JobState, ...],
    *,
    state: str | None,
    job_class: str | None,
    pool: str | None,
    yes: bool,
) -> None:
    """Change jobs by their numbers, or all of some states or of a class."""
    is_selected = not (state is None and job_class is None and pool is None)
    if is_selected == bool(numbers):
        raise BadInput("say either the numbers of jobs, or which by --state, --class or --pool")
    if not is_selected:
        _change_each(session, numbers, verb)
        return
    states = tuple(each for each in state.split(",") if each) if state else default
    if unfit := sorted(set(states) - set(fit)):
        raise BadInput(f"--state {','.join(unfit)}: {verb} is for jobs that are {', '.join(fit)}")
    job_class = _class_of(session, job_class, pool)
    found = session.remuda.get("/v1/jobs", JobList, most=1, state=",".join(states), **{"class": job_class})
    # The newest of those that were counted: what is handed in meanwhile was not asked about.
    answer = AllChanged(())
    if found.jobs:
        what = f"{found.total} {'job' if found.total == 1 else 'jobs'}"
        those = " or ".join(states) + (f", class {job_class}" if job_class else "")
        confirm(f"{verb.capitalize()} {what} ({those})?", yes=yes)
        which = Selection(tuple(map(JobState, states)), found.jobs[0].id, job_class)
        answer = session.remuda.post(path_of("v1", "jobs", verb), which, AllChanged)
    lines = tuple(str(each.job) for each in answer.jobs)
    if not session.quiet:
        done = "cancelled" if verb == "cancel" else "waiting again"
        count = len(answer.jobs)
        lines = (
            f"{count} {'job is' if count == 1 else 'jobs are'} {done}" if count else "there is no such job",
        )
    session.show(Report(answer, lines=lines))


def _change_each(session: Session, numbers: tuple[int, ...], verb: str) -> None:
    """Change each job that can be, show what happened, and then complain about the others; exit code 1 if there are both."""
    answers, problems = [], []
    for number in numbers:
        try:
            answers.append(session.remuda.post(path_of("v1", "jobs", number, verb), {}, Changed))
        except BadInput as error:
            problems.append(str(error))
    if answers or not problems:
        lines = (
            str(answer.job) if session.quiet else f"job {answer.job} {_result(verb, answer)}"
            for answer in answers
        )
        session.show(Report(AllChanged(tuple(answers)), lines=tuple(lines)))
    if problems:
        raise (RemudaError if answers else BadInput)("; ".join(problems))


def _result(verb: str, answer: Changed) -> str:
    if verb == "retry":
        return "waits again"
    return f"has ended already: {answer.before}" if answer.before.is_end else "is cancelled"


def _command(job: Job) -> str:
    return shlex.join(job.spec.command) if job.spec.command else "(damaged in the store)"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
