"""The files a job leaves behind, and following them while they grow."""

import asyncio
from pathlib import Path

import pytest
from msgspec import structs
from tests.loop.toy import virtually

from remuda.errors import BadInput, NotFound
from remuda.model.jobs import Attempt, Finished, Job, JobSpec, JobState, Run
from remuda.sources.queue.output import JobFiles, follow, written


@pytest.fixture
def files(tmp_path: Path) -> JobFiles:
    made = JobFiles(tmp_path / "jobs")
    made.prepare()
    return made


def job(state: str, *ended: bool) -> Job:
    """Job 1 with attempts that ended or did not."""
    attempts = tuple(
        Attempt(number, "shell-1", 1, 2 if is_over else None) for number, is_over in enumerate(ended, 1)
    )
    return Job(1, "local/shell", JobState(state), 0, 9, JobSpec(("true",)), 1, 1, attempts=attempts)


def write(files: JobFiles, attempt: int, text: bytes) -> None:
    with Path(f"{files.stem(Run('', 1, attempt))}.log").open("ab") as file:
        file.write(text)


class Following:
    """Someone who follows job 1, which a test changes step by step."""

    def __init__(self, files: JobFiles, first: Job | None) -> None:
        self.job = first
        self.got = b""
        self._looked = asyncio.Event()
        self._files = files
        self.task = asyncio.get_running_loop().create_task(self._follow())

    async def _follow(self) -> None:
        async for piece in follow(self._files, self._look, self._wait):
            self.got += piece

    async def _look(self) -> Job | None:
        return self.job

    async def _wait(self) -> None:
        self._looked.set()
        await asyncio.sleep(0.1)

    async def seen(self) -> bytes:
        """What was got once it looked again."""
        self._looked.clear()
        await self._looked.wait()
        return self.got


@virtually
async def test_output_is_followed_while_the_file_grows_and_over_attempts(tmp_path: Path) -> None:
    files = JobFiles(tmp_path)
    reader = Following(files, job("waiting"))
    assert await reader.seen() == b""
    reader.job = job("running", False)
    assert await reader.seen() == b""
    write(files, 1, b"one ")
    assert await reader.seen() == b"one "
    write(files, 1, b"more ")
    assert await reader.seen() == b"one more "
    write(files, 1, b"end ")
    reader.job = job("waiting", True)
    assert await reader.seen() == b"one more end "
    reader.job = job("running", True, False)
    write(files, 2, b"two ")
    assert await reader.seen() == b"one more end two "
    write(files, 2, b"done")
    reader.job = job("succeeded", True, True)
    await reader.task
    assert reader.got == b"one more end two done"


@virtually
async def test_following_an_ended_job_gives_everything_and_ends(tmp_path: Path) -> None:
    files = JobFiles(tmp_path)
    big = bytes(range(256)) * 4_000
    write(files, 1, big)
    write(files, 3, b"last")
    reader = Following(files, job("failed", True, True, True))
    await reader.task
    assert reader.got == big + b"last"


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(job("cancelled"), id="it was cancelled before it ran"),
        pytest.param(None, id="it is forgotten"),
        pytest.param(job("failed", True), id="its files are gone"),
    ],
)
@virtually
async def test_following_ends_when_there_is_nothing_to_come(tmp_path: Path, last: Job | None) -> None:
    await Following(JobFiles(tmp_path), last).task


def test_all_attempts_are_read_or_one(files: JobFiles) -> None:
    for attempt in (1, 2):
        write(files, attempt, f"try {attempt} ".encode() * 100_000)
    found = job("running", True, False)
    assert whole(files, found, None) == b"try 1 " * 100_000 + b"try 2 " * 100_000
    assert whole(files, found, "2") == b"try 2 " * 100_000


@pytest.mark.parametrize("attempt", ["0", "3", "x", "01", ""])
def test_an_attempt_that_never_was_is_reported(files: JobFiles, attempt: str) -> None:
    with pytest.raises(NotFound, match=r"job 1 has no try .*: it has had 2"):
        written(files, job("running", True, False), attempt)


def test_a_result_is_read_back_and_only_by_its_own_attempt(files: JobFiles) -> None:
    run = Run("", 1, 2)
    path = Path(f"{files.stem(run)}.json")
    assert files.result(run) is None
    path.write_text('{"job": 1, "attempt": 2, "status": "exited", "exit_code": 7}')
    assert files.result(run) == Finished(1, 2, "exited", 7)
    path.write_text('{"job": 1, "attempt": 1, "status": "exited", "exit_code": 7}')
    assert files.result(run) is None


def test_preparing_twice_finds_what_is_there(files: JobFiles) -> None:
    write(files, 1, b"kept")
    files.prepare()
    assert files.read(Run("", 1, 1)) == b"kept"


def test_everything_of_a_job_is_forgotten_and_nothing_of_its_neighbours(files: JobFiles) -> None:
    for number in (1, 11):
        for attempt in (1, 2):
            for ending in (".log", ".json", ".json.part"):
                Path(files.stem(Run("", number, attempt)) + ending).touch()
                Path(files.stem(Run("sa", number, attempt)) + ending).touch()
    files.forget(Run("", 1, 1))
    files.forget(Run("", 1, 2))
    files.forget(Run("sa", 11, 1))
    files.forget(Run("", 99, 1))
    left = {"11-1", "11-2", "sa-1-1", "sa-1-2", "sa-11-2"}
    assert {path.name.partition(".")[0] for path in files.root.iterdir()} == left


def test_a_result_of_another_store_is_no_result(files: JobFiles) -> None:
    text = '{"job": 1, "attempt": 2, "status": "exited", "exit_code": 0, "store": "sa"}'
    for store in ("sa", "sb", ""):
        Path(f"{files.stem(Run(store, 1, 2))}.json").write_text(text)
    found = Finished(1, 2, "exited", 0, store="sa")
    assert [files.result(Run(store, 1, 2)) for store in ("sa", "sb", "")] == [found, None, None]


def test_a_place_that_cannot_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "jobs").write_text("in the way")
    with pytest.raises(BadInput, match=r"no place for their output: .*File exists"):
        JobFiles(tmp_path / "jobs").prepare()


def elsewhere(found: Job, **facts: object) -> Job:
    """The same job, run by another host."""
    attempts = (structs.replace(each, machine="other/shell-1", **facts) for each in found.attempts)
    return structs.replace(found, attempts=tuple(attempts))


async def copied(run: Run, finished_at: int) -> bytes | None:
    return f"try {run.attempt}, ended {finished_at}\n".encode()


async def nothing(_: Run, __: int) -> bytes | None:
    return None


def test_output_of_another_host_is_a_copy_or_a_line_that_says_where_it_is(files: JobFiles) -> None:
    files.host = "here"
    ended = elsewhere(job("succeeded", True), output_bytes=3)
    assert b"try 1 ran on host other (shell-1), which has its output, and there is no copy" in whole(
        files, ended, None
    )
    files.borrow = nothing
    assert b"there is no copy of it here: ask there with remuda jobs logs 1]" in whole(files, ended, None)
    files.borrow = copied
    assert whole(files, ended, None) == b"try 1, ended 2\n"
    assert whole(files, elsewhere(job("succeeded", True), output_bytes=0), None) == b"", "it wrote nothing"
    runs = whole(files, elsewhere(job("running", False)), None)
    assert runs.startswith(
        b"[remuda: try 1 runs on host other (shell-1), and its output is here when it has ended"
    )


@virtually
async def test_whoever_follows_a_job_of_another_host_gets_its_output_at_its_end(tmp_path: Path) -> None:
    files = JobFiles(tmp_path, "here")
    files.borrow = copied
    note = b"[remuda: try 1 is on host other, its output is here when it has ended]\n"
    reader = Following(files, elsewhere(job("running", False)))
    await asyncio.sleep(1)
    assert reader.got == note
    reader.job = elsewhere(job("succeeded", True))
    await reader.task
    assert reader.got == note + b"try 1, ended 2\n"
    again = Following(files, reader.job)
    await again.task
    assert again.got == reader.got, "who was cut off goes on by the number of bytes"


def whole(files: JobFiles, job: Job, attempt: str | None) -> bytes:
    async def read() -> bytes:
        return b"".join([piece async for piece in written(files, job, attempt)])

    return asyncio.run(read())


LOST = "out of memory; part of the output was not kept: No space left on device"


def test_output_that_could_not_be_kept_is_reported_in_its_place(files: JobFiles) -> None:
    lost = job("failed", True, True)
    first, second = lost.attempts
    lost = structs.replace(lost, attempts=(structs.replace(first, detail=LOST), second))
    write(files, 1, b"one\n")
    write(files, 2, b"two\n")
    line = b"[remuda: try 1: part of the output was not kept: No space left on device]\n"
    assert whole(files, lost, None) == b"one\n" + line + b"two\n"
    assert whole(files, lost, "2") == b"two\n"


@virtually
async def test_whoever_follows_a_job_is_told_that_its_output_could_not_be_kept(tmp_path: Path) -> None:
    ended = job("failed", True)
    ended = structs.replace(ended, attempts=(structs.replace(ended.attempts[0], detail=LOST),))
    reader = Following(JobFiles(tmp_path), ended)
    await reader.task
    assert reader.got.startswith(b"[remuda: try 1: part of the output was not kept")


def test_output_that_somebody_deleted_is_not_shown_as_none(files: JobFiles) -> None:
    ended = structs.replace(job("succeeded", True).attempts[0], status="exited", output_bytes=3)
    found = structs.replace(job("succeeded"), attempts=(ended,))
    write(files, 1, b"hi\n")
    assert whole(files, found, None) == b"hi\n"
    files.forget(Run("", 1, 1))
    assert whole(files, found, None) == b"[remuda: try 1: its output was deleted]\n"
    wrote_nothing = structs.replace(found, attempts=(structs.replace(ended, output_bytes=0),))
    assert whole(files, wrote_nothing, None) == b""
