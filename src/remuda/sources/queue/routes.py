"""The queue's part of the control API: for people who hand jobs in, and for machines that pull them."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct, structs

from remuda.control.about import HIDDEN
from remuda.control.routes import LARGEST_BODY, Call, Route, asked_of
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.ledger.sql import Database
from remuda.ledger.store import Store
from remuda.model.jobs import (
    Ahead,
    AllChanged,
    Batch,
    BatchSubmitted,
    Changed,
    Finished,
    Job,
    JobList,
    JobSpec,
    JobState,
    QueueHosts,
    Run,
    Selection,
    Submit,
    Submitted,
)
from remuda.model.times import Instant
from remuda.output.moments import clock_time
from remuda.output.steps import Step
from remuda.sources.queue import rows
from remuda.sources.queue.hosts import shown_hosts
from remuda.sources.queue.output import JobFiles, follow, written
from remuda.sources.queue.queue import POLL, Answer, Queue
from remuda.sources.queue.schema import TABLES

_MOST_JOBS = 1_000
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: how variables begin that tell a job where it runs; the machine sets them last, whatever a job asks for
_RESERVED = "REMUDA_"
_AT = {"at": "Not heeded: the answer is about now."}
#: the most bytes that jobs handed in together may have
LARGEST_BATCH = 16 * 1024 * 1024


class NextCall(Struct, frozen=True):
    """A machine asks for work, and proves by its secret who it is."""

    id: str = ""
    secret: str = ""
    finished: Finished | None = None
    leaving: bool = False
    #: how many jobs it has begun; a machine of an older version does not say
    ran: int | None = None


class WatchCall(Struct, frozen=True):
    """A machine asks whether its job is still wanted."""

    job: int
    attempt: int = 0
    store: str = ""
    secret: str = ""


class Standing(StrEnum):
    """Whose a machine is that calls."""

    #: made by this store
    OURS = "ours"
    #: ours too, and made by an older version, which knows no identities: it gets no new job
    RETIRED = "retired"
    #: made by another store: it goes on with what it does, and gets nothing from us
    FOREIGN = "foreign"


#: by name, secret and whether it works now: whose a machine is; None for a stranger
Vouch: TypeAlias = Callable[[str, str, bool], Standing | None]


def list_jobs(db: Database, call: Call) -> JobList:
    """The newest jobs, of a state or class if asked."""
    states = [state for state in call.query.get("state", "").split(",") if state]
    unknown = sorted(set(states) - set(JobState))
    if unknown:
        raise BadInput(f"{', '.join(unknown)} is no state of a job: {', '.join(JobState)}")
    text = call.query.get("most", "100")
    if not re.fullmatch("[0-9]{1,6}", text) or not 1 <= int(text) <= _MOST_JOBS:
        raise BadInput(f"most wants 1 to {_MOST_JOBS}, found {text!r}")
    before = call.query.get("before")
    if before is not None and not re.fullmatch("[0-9]{1,18}", before):
        raise BadInput(f"before wants the number of a job, found {before!r}")
    which: dict[str, Any] = {
        "states": states,
        "job_class": call.query.get("class"),
        "before": None if before is None else int(before),
    }
    found = rows.jobs(db, **which, most=int(text))
    return JobList(tuple(found), rows.state_counts(db), rows.count_jobs(db, **which))


def one_job(db: Database, call: Call) -> Job:
    """One job with its attempts."""
    found = rows.job(db, call.number("job"))
    if found is None:
        raise NotFound(f"there is no job {call.names['job']}")
    return found


def ahead(db: Database, call: Call) -> Ahead:
    """How many waiting jobs come before one."""
    number = call.number("job")
    return Ahead(number, rows.ahead_of(db, number))


def _without_values(job: Job) -> Job:
    """A job as who may only look sees it: of its variables the names."""
    env = dict.fromkeys(job.spec.env, HIDDEN)
    return structs.replace(job, spec=structs.replace(job.spec, env=env))


def _all_without_values(found: JobList) -> JobList:
    return structs.replace(found, jobs=tuple(map(_without_values, found.jobs)))


class WhyJob(Struct, frozen=True):
    """Why a job waits, runs or ended as it did: its own part of the answer; its pool has the rest."""

    subject: str
    headline: str
    since: Instant
    at: Instant
    steps: tuple[Step, ...]


_DOING = {
    JobState.WAITING: "waits",
    JobState.RUNNING: "runs",
    JobState.SUCCEEDED: "succeeded",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "was cancelled",
}


def why_job(db: Database, call: Call) -> WhyJob:
    """What is known of a job as it is now."""
    job = one_job(db, call)
    last = job.attempts[-1] if job.attempts else None
    doing = _DOING[job.state] + (f" on {last.machine}" if last and job.state is JobState.RUNNING else "")
    steps = [
        Step(
            "submitted",
            clock_time(job.submitted_at, 0),
            f"priority {job.priority}, retries allowed: {job.retries}",
        )
    ]
    for attempt in job.attempts:
        ended = f"{attempt.status or 'it runs'}{'' if attempt.exit_code is None else f' {attempt.exit_code}'}"
        began = f"on {attempt.machine} from {clock_time(attempt.claimed_at, 0)}"
        steps.append(Step(f"attempt {attempt.number}", f"{began}: {ended}", attempt.detail or ""))
    if job.state is JobState.WAITING:
        before = rows.ahead_of(db, job.id)
        steps.append(
            Step("ahead", f"{before} of its class come before it", "why they wait: ask about their pool")
        )
    headline = f"job {job.id} of class {job.job_class} {doing}"
    return WhyJob(f"job/{job.id}", headline, job.changed_at, job.changed_at, tuple(steps))


VIEWS: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/why/job/{job}",
        "Why a job is as it is.",
        WhyJob,
        view=why_job,
        is_of_queue=True,
        tables=(TABLES,),
        query=_AT,
    ),
    Route(
        "GET",
        "/v1/jobs",
        "Jobs, newest first.",
        JobList,
        view=list_jobs,
        for_readers=_all_without_values,
        is_of_queue=True,
        tables=(TABLES,),
        query={
            "state": "Only these states.",
            "class": "Only this class.",
            "before": "Only jobs with a smaller number than this.",
            "most": "At most so many.",
        },
    ),
    Route(
        "GET",
        "/v1/jobs/{job}",
        "One job.",
        Job,
        view=one_job,
        for_readers=_without_values,
        is_of_queue=True,
        tables=(TABLES,),
    ),
    Route(
        "GET",
        "/v1/queue/hosts",
        "The hosts that share the job queue.",
        QueueHosts,
        view=lambda db, _: shown_hosts(db),
        is_of_queue=True,
        tables=(TABLES,),
    ),
    Route(
        "GET",
        "/v1/jobs/{job}/ahead",
        "How many jobs come before one.",
        Ahead,
        view=ahead,
        is_of_queue=True,
        tables=(TABLES,),
    ),
)


class QueueRoutes:
    """What changes the queue or waits for it."""

    def __init__(
        self,
        queue: Queue,
        files: JobFiles,
        classes: Callable[[], set[str]],
        vouch: Vouch,
        shared: Store | None = None,
    ) -> None:
        """`vouch` knows the machines that may pull; `shared` has the jobs, where that is not the store that has all else."""
        self._shared = shared
        self._queue = queue
        self._vouch = vouch
        self._files = files
        self._classes = classes

    def routes(self) -> tuple[Route, ...]:
        """All of them."""
        return (
            *(VIEWS if self._shared is None else (_of(self._shared, route) for route in VIEWS)),
            Route("POST", "/v1/jobs", "Hand a job in.", Submitted, handler=self.submit, body=Submit),
            Route(
                "POST",
                "/v1/jobs/batch",
                "Hand several jobs in, all of them or none.",
                BatchSubmitted,
                handler=self.submit_batch,
                body=Batch,
                most_bytes=LARGEST_BATCH,
            ),
            Route(
                "POST",
                "/v1/jobs/cancel",
                "End all jobs of a selection.",
                AllChanged,
                handler=self.cancel_all,
                body=Selection,
            ),
            Route(
                "POST",
                "/v1/jobs/retry",
                "Run all ended jobs of a selection once more.",
                AllChanged,
                handler=self.retry_all,
                body=Selection,
            ),
            Route("POST", "/v1/jobs/{job}/cancel", "End a job.", Changed, handler=self.cancel),
            Route("POST", "/v1/jobs/{job}/retry", "Run an ended job once more.", Changed, handler=self.retry),
            Route(
                "GET",
                "/v1/jobs/{job}/logs",
                "A job's output; with follow=true as it comes, until the job ends.",
                None,
                handler=self.logs,
                query={"follow": "true to wait for more.", "attempt": "Only this attempt."},
                streams=True,
            ),
            Route(
                "POST",
                "/v1/shims/{machine}/next",
                "A machine asks for work.",
                Answer,
                handler=self.next,
                body=NextCall,
                is_local=True,
            ),
            Route(
                "POST",
                "/v1/shims/{machine}/watch",
                "A machine asks whether its job is still wanted.",
                Answer,
                handler=self.watch,
                body=WatchCall,
                is_local=True,
            ),
        )

    async def submit(self, call: Call) -> Submitted:
        """Check and take in a job."""
        order: Submit = call.body
        if problems := _problems(order, self._classes()):
            raise BadInput("; ".join(problems))
        return Submitted(*await self._queue.submit(_submission(order)))

    async def submit_batch(self, call: Call) -> BatchSubmitted:
        """Check all jobs, then take them in with one transaction."""
        batch: Batch = call.body
        classes = self._classes()
        problems = [
            f"job {number} of the batch: {problem}"
            for number, order in enumerate(batch.jobs, 1)
            for problem in _problems(order, classes)
        ]
        if problems:
            raise BadInput("; ".join(problems))
        taken = await self._queue.submit_batch([_submission(order) for order in batch.jobs])
        return BatchSubmitted(tuple(Submitted(*each) for each in taken))

    async def cancel_all(self, call: Call) -> AllChanged:
        """End every job that is selected and has not ended."""
        return await self._change_all(call.body, self._queue.cancel, {JobState.WAITING, JobState.RUNNING})

    async def retry_all(self, call: Call) -> AllChanged:
        """Run every job once more that is selected and has ended."""
        ends = {state for state in JobState if state.is_end}
        return await self._change_all(call.body, self._queue.retry, ends)

    async def _change_all(
        self, which: Selection, change: Callable[[int], Awaitable[JobState]], fit: set[JobState]
    ) -> AllChanged:
        if unfit := sorted(set(which.states) - fit):
            raise BadInput(
                f"a job that is {', '.join(unfit)} cannot be changed so: only {', '.join(sorted(fit))}"
            )
        numbers = await self._queue.select(which)
        # Begun together, so that the store commits them together.
        before = await asyncio.gather(*map(change, numbers))
        changed = (Changed(number, state) for number, state in zip(numbers, before, strict=True))
        return AllChanged(tuple(each for each in changed if each.before in fit))

    async def cancel(self, call: Call) -> Changed:
        """End a job."""
        number = (await self._existing(call)).id
        return Changed(number, await self._queue.cancel(number))

    async def retry(self, call: Call) -> Changed:
        """Run an ended job again."""
        number = (await self._existing(call)).id
        before = await self._queue.retry(number)
        if not before.is_end:
            raise BadInput(f"job {number} is {before}: only a job that has ended can be retried")
        return Changed(number, before)

    async def logs(self, call: Call) -> AsyncIterator[bytes]:
        """Stream the output of all attempts, or of one."""
        job = await self._existing(call)
        if call.query.get("follow") == "true":
            return follow(
                self._files, lambda: self._queue.job(job.id), lambda: self._queue.changed(job.id, _GLANCE_S)
            )
        return written(self._files, job, call.query.get("attempt"))

    async def next(self, call: Call) -> Answer:
        """Long-poll for work."""
        body: NextCall = call.body
        standing = await self._standing(call.names["machine"], body.secret, is_busy=False)
        return await self._queue.next(
            call.names["machine"],
            body.finished,
            leaving=body.leaving,
            ran=body.ran,
            retires=standing is Standing.RETIRED,
        )

    async def watch(self, call: Call) -> Answer:
        """Long-poll for a cancellation."""
        body: WatchCall = call.body
        await self._standing(call.names["machine"], body.secret, is_busy=True)
        return Answer(await self._queue.watch(call.names["machine"], Run(body.store, body.job, body.attempt)))

    async def _standing(self, machine: str, secret: str, *, is_busy: bool) -> Standing:
        """Whose the machine is; another store's is kept waiting and a stranger refused."""
        standing = self._vouch(machine, secret, is_busy)
        if standing is None:
            raise BadInput(f"{machine} is no machine of this remuda, or its secret is wrong")
        if standing is Standing.FOREIGN:
            # So that it keeps what it has to hand in, and asks again, but not all the time.
            await asyncio.sleep(POLL)
            raise Unavailable(f"machine {machine} belongs to another store")
        return standing

    async def _existing(self, call: Call) -> Job:
        found = await self._queue.job(call.number("job"))
        if found is None:
            raise NotFound(f"there is no job {call.names['job']}")
        return found


def _of(store: Store, route: Route) -> Route:
    """A view of a queue that hosts share."""
    return asked_of(store, route, why_shared_job if route.view is why_job else None)


def why_shared_job(db: Database, call: Call) -> WhyJob:
    """What is known of a job of a queue that hosts share."""
    answer = why_job(db, call)
    host = rows.bound_to(db, call.number("job"))
    if not host:
        return answer
    step = Step(
        "host", f"only {host} may run it", "it was handed in there, and its secrets are files of that host"
    )
    return structs.replace(answer, steps=(*answer.steps, step))


#: how often a follower looks for new output
_GLANCE_S = 0.1


def _submission(order: Submit) -> rows.Submission:
    return rows.Submission(
        job_class=order.job_class,
        spec=JobSpec(order.command, order.env, order.secret_files, order.timeout),
        priority=order.priority,
        retries=order.retries,
        idempotency=order.idempotency,
    )


def _bytes_of(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _problems(order: Submit, classes: set[str]) -> list[str]:
    problems = []
    if order.job_class not in classes:
        problems.append(
            f"no pool serves class {order.job_class}; there is: {', '.join(sorted(classes)) or 'none'}"
        )
    size = sum(map(_bytes_of, (*order.command, *order.env, *order.env.values())))
    if size > LARGEST_BODY:
        problems.append(
            f"the job is too large: its command and variables have {size // 1024} KiB, and may have"
            f" {LARGEST_BODY // 1024} KiB together; put the data into a file and name that in the command"
        )
    if any("\0" in part for part in order.command):
        problems.append("the command has a NUL byte, which no command can hold")
    if not order.command[0]:
        problems.append("the command is empty")
    for name, value in (*order.env.items(), *order.secret_files.items()):
        if not _ENV_NAME.fullmatch(name):
            problems.append(f"{name!r} is no name for an environment variable")
        elif name.startswith(_RESERVED):
            problems.append(
                f"the variable {name} cannot be set: names that begin with {_RESERVED} are Remuda's own"
            )
        if "\0" in value:
            problems.append(f"the value of {name} has a NUL byte")
    problems += [
        f"{name} is given both as env and as secret" for name in sorted(order.env.keys() & order.secret_files)
    ]
    problems += [
        f"the secret file of {name} must be an absolute path, found {path!r}"
        for name, path in order.secret_files.items()
        if not path.startswith("/")
    ]
    return problems
