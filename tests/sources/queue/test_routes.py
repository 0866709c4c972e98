"""The queue's part of the control API, through a real socket and without one."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from remuda.control.client import Remuda
from remuda.control.routes import Call
from remuda.control.server import SOCKET, ControlServer
from remuda.errors import BadInput, NotFound, RemudaError
from remuda.ledger.store import FILE, SqliteStore
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log
from remuda.model.jobs import (
    Ahead,
    AllChanged,
    BatchSubmitted,
    Changed,
    Finished,
    Job,
    JobList,
    JobState,
    Submit,
    Submitted,
)
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.queue import Answer, Queue
from remuda.sources.queue.routes import VIEWS, QueueRoutes, Standing, WhyJob
from remuda.sources.queue.schema import TABLES
from remuda.sources.queue.settle import Terms

pytestmark = pytest.mark.slow


class Shop:
    """A queue behind its control API."""

    def __init__(self, home: Path) -> None:
        self.home = home
        #: by secret
        self.standings: dict[str, Standing | None] = {"": Standing.OURS}
        self.heard = list[tuple[str, bool]]()
        self.store = SqliteStore(home / FILE, tables=(TABLES,))
        self.files = JobFiles(home / "jobs")
        self.files.prepare()
        self.queue = Queue(self.store, self.files, SystemClock(), lambda: None)
        self.queue.serve({"shell": Terms("local/shell", None, 60_000)})
        routes = QueueRoutes(self.queue, self.files, lambda: {"local/shell"}, self.vouch).routes()
        self.server = ControlServer(home / SOCKET, routes, self.store, Log(SystemClock(), lambda _: None))
        self.remuda = Remuda(home, None, lambda: VIEWS)

    def vouch(self, machine: str, secret: str, is_busy: bool) -> Standing | None:
        self.heard.append((machine, is_busy))
        return self.standings.get(secret)

    async def post(self, path: str, body: Any, kind: type[Any]) -> Any:
        return await asyncio.to_thread(self.remuda.post, path, body, kind)

    async def get(self, path: str, kind: type[Any], **query: object) -> Any:
        return await asyncio.to_thread(lambda: self.remuda.get(path, kind, **query))

    async def submit(self, **terms: object) -> int:
        body = {"class": "local/shell", "command": ["true"], **terms}
        answer: Submitted = await self.post("/v1/jobs", body, Submitted)
        return answer.job

    async def output(self, path: str) -> bytes:
        return await asyncio.to_thread(lambda: b"".join(self.remuda.stream(path)))


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    home = Path(tempfile.mkdtemp(prefix="remuda-"))
    made = Shop(home)
    await made.server.start()
    yield made
    with contextlib.suppress(RemudaError):
        await made.server.stop()
    made.store.close()
    shutil.rmtree(home)


async def test_a_job_goes_through_the_api_from_submit_to_its_output(shop: Shop) -> None:
    number = await shop.submit(command=["echo", "hi"], env={"A": "1"}, idempotency="k")
    assert await shop.submit(command=["echo", "hi"], idempotency="k") == number
    assert await shop.get(f"/v1/jobs/{number}/ahead", Ahead) == Ahead(number, 0)
    answer: Answer = await shop.post("/v1/shims/shell-1/next", {"id": "x"}, Answer)
    assert answer.job is not None
    assert (answer.do, answer.job.command) == ("run", ("echo", "hi"))
    Path(f"{answer.job.files}.log").write_bytes(b"hi\n")
    finished = Finished(number, 1, "exited", 0)
    end: Answer = await shop.post("/v1/shims/shell-1/next", {"finished": finished, "leaving": True}, Answer)
    assert end == Answer("end")
    job: Job = await shop.get(f"/v1/jobs/{number}", Job)
    assert job.state is JobState.SUCCEEDED
    assert await shop.output(f"/v1/jobs/{number}/logs") == b"hi\n"
    assert await shop.output(f"/v1/jobs/{number}/logs?attempt=1") == b"hi\n"
    assert await shop.output(f"/v1/jobs/{number}/logs?follow=true") == b"hi\n"


async def test_why_a_job_waits_runs_or_ended_is_answered_by_the_api(shop: Shop) -> None:
    number = await shop.submit(command=["false"])
    later = await shop.submit()
    why: WhyJob = await shop.get(f"/v1/why/job/{later}", WhyJob)
    assert why.headline.endswith("waits")
    assert "1 of its class come before it" in [step.text for step in why.steps]
    await shop.post("/v1/shims/shell-1/next", {}, Answer)
    running: WhyJob = await shop.get(f"/v1/why/job/{number}", WhyJob)
    assert running.headline.endswith("runs on shell-1")
    finished = Finished(number, 1, "exited", 3)
    await shop.post("/v1/shims/shell-1/next", {"finished": finished, "leaving": True}, Answer)
    ended: WhyJob = await shop.get(f"/v1/why/job/{number}", WhyJob)
    assert ended.headline.endswith("failed")
    assert ended.steps[-1].text.endswith(": exited 3")
    with pytest.raises(BadInput, match="there is no job 99"):
        await shop.get("/v1/why/job/99", WhyJob)


async def test_who_may_only_look_sees_names_of_variables_and_not_their_values(shop: Shop) -> None:
    number = await shop.submit(env={"PASSWORD": "opensesame"})
    job = await shop.get(f"/v1/jobs/{number}", Job)
    found = await shop.get("/v1/jobs", JobList)
    by_path = {route.path: route for route in VIEWS}
    for path, answer in (("/v1/jobs/{job}", job), ("/v1/jobs", found)):
        redact = by_path[path].for_readers
        assert redact is not None
        assert "opensesame" in str(answer)
        assert "opensesame" not in str(redact(answer))
        assert "PASSWORD" in str(redact(answer))


async def test_output_is_streamed_while_the_job_runs(shop: Shop) -> None:
    number = await shop.submit()
    answer: Answer = await shop.post("/v1/shims/shell-1/next", {}, Answer)
    assert answer.job is not None
    output = Path(f"{answer.job.files}.log")
    output.write_bytes(b"one ")
    pieces = shop.remuda.stream(f"/v1/jobs/{number}/logs?follow=true")
    assert await asyncio.to_thread(next, pieces) == b"one "
    await asyncio.to_thread(output.write_bytes, b"one two")
    assert await asyncio.to_thread(next, pieces) == b"two"
    finished = Finished(number, 1, "exited", 0)
    await shop.post("/v1/shims/shell-1/next", {"finished": finished, "leaving": True}, Answer)
    assert await asyncio.to_thread(lambda: list(pieces)) == []


async def test_jobs_are_cancelled_and_retried_through_the_api(shop: Shop) -> None:
    number = await shop.submit()
    with pytest.raises(BadInput, match=f"job {number} is waiting: only a job that has ended can be retried"):
        await shop.post(f"/v1/jobs/{number}/retry", {}, Changed)
    assert await shop.post(f"/v1/jobs/{number}/cancel", {}, Changed) == Changed(number, JobState.WAITING)
    assert await shop.post(f"/v1/jobs/{number}/retry", {}, Changed) == Changed(number, JobState.CANCELLED)
    await shop.post("/v1/shims/shell-1/next", {}, Answer)
    await shop.post(f"/v1/jobs/{number}/cancel", {}, Changed)
    watched: Answer = await shop.post("/v1/shims/shell-1/watch", {"job": number, "attempt": 1}, Answer)
    assert watched.do == "cancel"


async def test_a_machine_that_hangs_up_while_it_waits_is_noticed(shop: Shop) -> None:
    reader, writer = await asyncio.open_unix_connection(str(shop.home / SOCKET))
    del reader
    writer.write(b"POST /v1/shims/shell-1/next HTTP/1.1\r\nHost: remuda\r\nContent-Length: 2\r\n\r\n{}")
    await writer.drain()
    async with asyncio.timeout(30):
        while not shop.queue._idle["local/shell"]:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.005)
        writer.close()
        while shop.queue._idle["local/shell"]:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.005)


ORDER = {"class": "local/shell", "command": ["true"]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({**ORDER, "class": "x"}, "no pool serves class x; there is: local/shell", id="class"),
        pytest.param({**ORDER, "command": []}, "length >= 1 - at `\\$.command`", id="no command"),
        pytest.param({**ORDER, "command": [""]}, "the command is empty", id="empty command"),
        pytest.param({**ORDER, "command": ["a\0b"]}, "the command has a NUL byte", id="NUL in command"),
        pytest.param({**ORDER, "env": {"A-B": "1"}}, "'A-B' is no name for an environment", id="env name"),
        pytest.param({**ORDER, "env": {"A": "\0"}}, "the value of A has a NUL byte", id="NUL in env"),
        pytest.param(
            {**ORDER, "env": {"A": "1"}, "secret_files": {"A": "/f"}},
            "A is given both as",
            id="env and secret",
        ),
        pytest.param({**ORDER, "secret_files": {"A": "f"}}, "must be an absolute path", id="relative secret"),
        pytest.param({**ORDER, "priority": 10**7}, "at `\\$.priority`", id="priority"),
        pytest.param({**ORDER, "retries": -1}, "at `\\$.retries`", id="retries"),
        pytest.param({**ORDER, "timeout": 0}, "at `\\$.timeout`", id="timeout"),
        pytest.param({**ORDER, "timeout": "10m"}, "Expected `int \\| null`, got `str`", id="timeout type"),
        pytest.param(
            {**ORDER, "env": {"REMUDA_JOB": "1"}}, "REMUDA_JOB cannot be set", id="a variable of Remuda's own"
        ),
        pytest.param({"command": ["true"]}, "missing required field `class`", id="no class"),
        pytest.param({**ORDER, "job_class": "x"}, "the older name of `class`", id="both names of a class"),
        pytest.param({**ORDER, "retrys": 1}, "unknown field `retrys`", id="unknown key"),
    ],
)
async def test_a_bad_job_is_refused_and_nothing_is_taken_in(shop: Shop, body: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        await shop.post("/v1/jobs", body, Submitted)
    assert (await shop.get("/v1/jobs", JobList)) == JobList((), {})


async def test_all_problems_of_a_job_are_reported_at_once(shop: Shop) -> None:
    body = {"class": "x", "command": ["\0"], "env": {"1": ""}, "secret_files": {"B": "f"}}
    with pytest.raises(BadInput) as caught:
        await shop.post("/v1/jobs", body, Submitted)
    for message in ("class x", "NUL byte", "'1' is no name", "absolute path"):
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("ask", "kind", "message"),
    [
        pytest.param(lambda s: s.get("/v1/jobs/7", Job), NotFound, "there is no job 7", id="show"),
        pytest.param(lambda s: s.get("/v1/jobs/x", Job), BadInput, "whole number, found 'x'", id="no number"),
        pytest.param(lambda s: s.post("/v1/jobs/7/cancel", {}, Changed), NotFound, "job 7", id="cancel"),
        pytest.param(lambda s: s.post("/v1/jobs/7/retry", {}, Changed), NotFound, "job 7", id="retry"),
        pytest.param(lambda s: s.output("/v1/jobs/7/logs"), NotFound, "job 7", id="logs"),
        pytest.param(
            lambda s: s.get("/v1/jobs", JobList, state="waiting,dead"),
            BadInput,
            "dead is no state",
            id="state",
        ),
        pytest.param(
            lambda s: s.get("/v1/jobs", JobList, most=0), BadInput, "most wants 1 to 1000", id="most"
        ),
        pytest.param(
            lambda s: s.post("/v1/shims/shell-1/watch", {}, Answer),
            BadInput,
            "required field `job`",
            id="watch",
        ),
    ],
)
async def test_what_cannot_be_answered_is_reported(
    shop: Shop, ask: Callable[[Shop], Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        await ask(shop)


async def test_a_try_that_never_was_is_reported(shop: Shop) -> None:
    number = await shop.submit()
    with pytest.raises(NotFound, match=f"job {number} has no try 2: it has had 0"):
        await shop.output(f"/v1/jobs/{number}/logs?attempt=2")


async def test_when_nothing_runs_jobs_are_read_from_the_store(shop: Shop) -> None:
    for _ in range(3):
        await shop.submit()
    await shop.post("/v1/jobs/2/cancel", {}, Changed)
    await shop.server.stop()
    listed: JobList = await shop.get("/v1/jobs", JobList, state="waiting")
    assert [job.id for job in listed.jobs] == [3, 1]
    assert listed.counts == {"waiting": 2, "cancelled": 1}
    found: Job = await shop.get("/v1/jobs/2", Job)
    assert found.state is JobState.CANCELLED


async def test_a_class_nobody_serves_any_more_can_still_be_listed(shop: Shop) -> None:
    await shop.submit()
    routes = QueueRoutes(shop.queue, shop.files, set, shop.vouch)
    with pytest.raises(BadInput, match="no pool serves class local/shell; there is: none"):
        await routes.submit(Call({}, {}, Submit(job_class="local/shell", command=("true",))))
    listed: JobList = await shop.get("/v1/jobs", JobList, **{"class": "local/shell"})
    assert len(listed.jobs) == 1


async def test_a_machine_that_cannot_prove_who_it_is_gets_no_job(shop: Shop) -> None:
    await shop.submit()
    for path, body in (("next", {}), ("watch", {"job": 1})):
        with pytest.raises(BadInput, match="shell-1 is no machine of this remuda, or its secret is wrong"):
            await shop.post(f"/v1/shims/shell-1/{path}", {**body, "secret": "guessed"}, Answer)
    assert shop.heard == [("shell-1", False), ("shell-1", True)]
    assert (await shop.get("/v1/jobs/1", Job)).state is JobState.WAITING


async def test_a_machine_of_an_older_version_is_told_to_end(shop: Shop) -> None:
    await shop.submit()
    shop.standings["old"] = Standing.RETIRED
    answer: Answer = await shop.post("/v1/shims/shell-1/next", {"secret": "old"}, Answer)
    assert answer.do == "end"
    assert (await shop.get("/v1/jobs/1", Job)).state is JobState.WAITING


async def test_a_class_may_still_be_called_by_its_older_name_and_is_shown_by_its_own(shop: Shop) -> None:
    body = {"job_class": "local/shell", "command": ["true"]}
    answer: Submitted = await shop.post("/v1/jobs", body, Submitted)
    shown: dict[str, Any] = await shop.get(f"/v1/jobs/{answer.job}", dict[str, Any])
    assert shown["class"] == "local/shell"
    assert "job_class" not in shown


async def test_a_batch_is_taken_in_once_and_in_its_order(shop: Shop) -> None:
    jobs = [{**ORDER, "priority": number, "idempotency": f"k{number}"} for number in range(3)]
    first: BatchSubmitted = await shop.post("/v1/jobs/batch", {"jobs": jobs}, BatchSubmitted)
    assert first.jobs == tuple(Submitted(number, is_new=True) for number in (1, 2, 3))
    again: BatchSubmitted = await shop.post("/v1/jobs/batch", {"jobs": jobs}, BatchSubmitted)
    assert again.jobs == tuple(Submitted(number, is_new=False) for number in (1, 2, 3))
    assert (await shop.get("/v1/jobs/3", Job)).priority == 2
    assert (await shop.queue.read()).needs["local/shell"].unclaimed == 3


async def test_of_a_batch_with_a_bad_job_nothing_is_taken_in(shop: Shop) -> None:
    jobs = [ORDER, {**ORDER, "class": "x"}, {**ORDER, "command": [""]}]
    with pytest.raises(BadInput) as caught:
        await shop.post("/v1/jobs/batch", {"jobs": jobs}, BatchSubmitted)
    assert "job 2 of the batch: no pool serves class x" in str(caught.value)
    assert "job 3 of the batch: the command is empty" in str(caught.value)
    assert (await shop.get("/v1/jobs", JobList)).jobs == ()


async def test_a_job_of_a_batch_may_be_as_large_as_one_by_itself(shop: Shop) -> None:
    def jobs(size: int) -> dict[str, Any]:
        return {"jobs": [ORDER, {**ORDER, "command": ["a" * (size - 4)], "env": {"AB": "cd"}}]}

    limit = 1024 * 1024
    with pytest.raises(
        BadInput, match=r"job 2 of the batch: the job is too large: .* may have 1024 KiB together"
    ):
        await shop.post("/v1/jobs/batch", jobs(limit + 1), BatchSubmitted)
    assert (await shop.get("/v1/jobs", JobList)).jobs == ()
    assert len((await shop.post("/v1/jobs/batch", jobs(limit), BatchSubmitted)).jobs) == 2


async def test_a_batch_may_be_larger_than_other_requests(shop: Shop) -> None:
    jobs = [{**ORDER, "command": ["echo", "x" * 100_000]} for _ in range(12)]
    answer: BatchSubmitted = await shop.post("/v1/jobs/batch", {"jobs": jobs}, BatchSubmitted)
    assert len(answer.jobs) == 12
    with pytest.raises(BadInput, match="the request is too large: it may have 1024 KiB"):
        await shop.post("/v1/jobs", {**ORDER, "env": {"A": "x" * 1_100_000}}, Submitted)


async def test_a_list_says_how_many_there_are_and_goes_on_before_a_job(shop: Shop) -> None:
    for _ in range(5):
        await shop.submit()
    first: JobList = await shop.get("/v1/jobs", JobList, most=2)
    assert ([job.id for job in first.jobs], first.total) == ([5, 4], 5)
    rest: JobList = await shop.get("/v1/jobs", JobList, most=2, before=4)
    assert ([job.id for job in rest.jobs], rest.total) == ([3, 2], 3)


async def test_a_selection_is_changed_and_nothing_that_came_after_it(shop: Shop) -> None:
    for _ in range(4):
        await shop.submit()
    await shop.post("/v1/shims/shell-1/next", {}, Answer)
    which = {"states": ["waiting"], "up_to": 3, "class": "local/shell"}
    gone: AllChanged = await shop.post("/v1/jobs/cancel", which, AllChanged)
    assert gone.jobs == (Changed(2, JobState.WAITING), Changed(3, JobState.WAITING))
    listed: JobList = await shop.get("/v1/jobs", JobList)
    assert listed.counts == {"running": 1, "cancelled": 2, "waiting": 1}
    assert (await shop.queue.read()).needs["local/shell"].unclaimed == 1
    none: AllChanged = await shop.post("/v1/jobs/cancel", {**which, "class": "other"}, AllChanged)
    assert none.jobs == ()
    back: AllChanged = await shop.post("/v1/jobs/retry", {"states": ["cancelled"], "up_to": 9}, AllChanged)
    assert [each.job for each in back.jobs] == [2, 3]
    with pytest.raises(BadInput, match="a job that is failed cannot be changed so: only running, waiting"):
        await shop.post("/v1/jobs/cancel", {"states": ["failed"], "up_to": 9}, AllChanged)
