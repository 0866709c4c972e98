"""The pages of jobs: which there are, with changes to many at once, and one with its output as it comes."""

from collections.abc import Mapping

from msgspec import Struct

from remuda.control.client import path_of
from remuda.control.routes import Call
from remuda.errors import BadInput
from remuda.model.jobs import Ahead, Job, JobList, JobState
from remuda.web.page import Ask, Content

#: jobs on a page of the list
_PAGE = 100


class Filter(Struct, frozen=True):
    """Which jobs are shown."""

    state: str = ""
    job_class: str = ""
    before: str = ""


def _filter(query: Mapping[str, str]) -> Filter:
    wanted = Filter(query.get("state", ""), query.get("class", "").strip(), query.get("before", ""))
    if wanted.state and wanted.state not in set(JobState):
        raise BadInput(f"{wanted.state} is no state of a job: {', '.join(JobState)}")
    return wanted


async def jobs_page(ask: Ask, call: Call) -> Content:
    """Jobs, newest first; those that run stay visible under a backlog."""
    wanted = _filter(call.query)
    found = await ask.get(
        "/v1/jobs",
        JobList,
        most=_PAGE,
        state=wanted.state or None,
        before=wanted.before or None,
        **({"class": wanted.job_class} if wanted.job_class else {}),
    )
    running: tuple[Job, ...] = ()
    if not wanted.state and not wanted.before:
        running = (
            await ask.get(
                "/v1/jobs",
                JobList,
                most=_PAGE,
                state=JobState.RUNNING,
                **({"class": wanted.job_class} if wanted.job_class else {}),
            )
        ).jobs
    shown = {job.id for job in running}
    jobs = (*running, *(job for job in found.jobs if job.id not in shown))
    ends = {state for state in JobState if state.is_end}
    values = {
        "jobs": jobs,
        "counts": {state: found.counts.get(state, 0) for state in JobState},
        "states": tuple(JobState),
        "filter": wanted,
        "total": found.total,
        "older": found.jobs[-1].id if len(found.jobs) == _PAGE else None,
        "newest": max((job.id for job in jobs), default=0),
        "ends": ends,
        "classes": sorted({job.job_class for job in jobs}),
    }
    return Content("queue/jobs.html", values, title="Jobs")


async def job_page(ask: Ask, call: Call) -> Content:
    """One job: what it is, its attempts, and its output."""
    job = await ask.get(path_of("v1", "jobs", call.names["job"]), Job)
    ahead = None
    if job.state is JobState.WAITING:
        ahead = (await ask.get(path_of("v1", "jobs", job.id, "ahead"), Ahead)).ahead
    can_follow = "/v1/jobs/{job}/logs" in ask.routes()
    values = {"job": job, "ahead": ahead, "is_end": job.state.is_end, "can_follow": can_follow}
    return Content("queue/job.html", values, title=f"Job {job.id}")
