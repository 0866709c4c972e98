"""Copies of output in a queue that hosts share: of what has ended, bounded, and forgotten with its job."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers.postgres import PostgresServer
from tests.sources.queue.shared_host import SharedHost

from remuda.ledger.retention import Retention
from remuda.loop.clock import SystemClock
from remuda.model.jobs import Finished, JobSpec, Run
from remuda.model.times import DAY
from remuda.sources.queue import rows
from remuda.sources.queue.copies import HEAD, TAIL, Copies, borrow, copy_of, forget_copies
from remuda.sources.queue.output import JobFiles

pytestmark = pytest.mark.slow


@pytest.fixture
def host(postgres: PostgresServer, schema: str, tmp_path: Path) -> Iterator[SharedHost]:
    made = SharedHost(postgres, schema, tmp_path, "one")
    yield made
    made.close()


@pytest.fixture
def files(tmp_path: Path) -> JobFiles:
    made = JobFiles(tmp_path / "mine", "one")
    made.prepare()
    return made


def ended(files: JobFiles, job: int, text: bytes) -> Finished:
    found = Finished(job, 1, "exited", 0, output_bytes=len(text))
    Path(f"{files.stem(found.run)}.log").write_bytes(text)
    return found


def copy(host: SharedHost, job: int) -> bytes | None:
    return host.store.read(lambda db: copy_of(db, Run("", job, 1)))


async def test_what_has_ended_is_copied_of_much_the_beginning_and_the_end(
    host: SharedHost, files: JobFiles
) -> None:
    made = Copies(files)
    made.add(ended(files, 1, b"hello\n\x00\xff"))
    made.add(Finished(2, 1, "exited", 0))
    made.add(ended(files, 3, b"a" * HEAD + b"b" * 1_000 + b"c" * TAIL))
    await made.write(host.store)
    assert copy(host, 1) == b"hello\n\x00\xff"
    assert copy(host, 2) is None, "it wrote nothing"
    gap = b"\n[remuda: 1,000 bytes are left out here; host one has them]\n"
    assert copy(host, 3) == b"a" * HEAD + gap + b"c" * TAIL
    made.add(ended(files, 1, b"once more"))
    await made.write(host.store)
    assert copy(host, 1) == b"once more"


async def test_many_are_copied_a_part_at_a_time(host: SharedHost, files: JobFiles) -> None:
    made = Copies(files, most_at_once=3)
    for job in range(1, 9):
        made.add(ended(files, job, f"{job}".encode()))
    await made.write(host.store)
    assert [copy(host, job) for job in range(1, 9)] == [f"{job}".encode() for job in range(1, 9)]


async def test_a_copy_is_waited_for_only_while_it_may_come(host: SharedHost) -> None:
    clock = SystemClock()
    ask = borrow(host.store, clock)
    began = clock.monotonic()
    assert await ask(Run("", 1, 1), clock.now() - DAY) is None
    assert await ask(Run("", 1, 1), clock.now() + DAY) is None, "a clock that is ahead keeps nobody waiting"
    assert clock.monotonic() - began < 4


async def test_copies_go_with_their_jobs_and_the_oldest_when_they_are_too_much(
    host: SharedHost, files: JobFiles
) -> None:
    wanted = rows.Submission("c", JobSpec(("true",)))
    one, two = [(await host.queue.submit(wanted))[0] for _ in range(2)]
    made = Copies(files)
    for job in (one, two, two + 99):
        made.add(ended(files, job, b"x" * 100))
    await made.write(host.store)
    await host.store.write(lambda db: forget_copies(db, Retention(most_bytes=1_000)))
    assert [copy(host, job) is not None for job in (one, two, two + 99)] == [True, True, False]
    await host.store.write(lambda db: forget_copies(db, Retention(most_bytes=150)))
    assert [copy(host, job) is not None for job in (one, two)] == [False, True]
