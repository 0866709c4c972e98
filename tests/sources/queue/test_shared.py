"""A queue on one of several hosts: what it counts, what it does without its lease, and that the others see it."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from tests.contracts.patience import eventually
from tests.contracts.stores import postgres_store
from tests.servers.fixtures import NewPostgres
from tests.servers.postgres import PostgresServer
from tests.sources.queue.shared_host import SharedHost, now

from remuda.errors import BadInput, Unavailable
from remuda.ledger.seat import Fenced
from remuda.model.jobs import Finished, JobSpec, JobState
from remuda.model.needs import Need
from remuda.sources.queue import hosts, rows
from remuda.sources.queue.queue import Work
from remuda.sources.queue.settle import Terms
from remuda.sources.queue.shared import PATIENCE_S

pytestmark = pytest.mark.slow
TERMS = {"shell": Terms("c", None, 0)}
TRUE = JobSpec(("true",))


class Steady:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Two:
    """Two hosts of one queue whose leases are counted by a clock that the test sets; both serve one class."""

    def __init__(self, server: PostgresServer, schema: str, directory: Path, stack: ExitStack) -> None:
        self.clock = Steady()
        self.one, self.two = (
            SharedHost(server, schema, directory, name, steady=self.clock) for name in ("one", "two")
        )
        for each in (self.one, self.two):
            stack.callback(each.close)
            each.queue.serve(TERMS)

    async def look(self) -> tuple[Need, Need]:
        """What each of them counts, once both have seen each other."""
        for _ in range(2):
            for each in (self.one, self.two):
                await each.queue.look_around()
        return (await self.one.queue.read()).needs["c"], (await self.two.queue.read()).needs["c"]


@pytest.fixture
def both(postgres: PostgresServer, schema: str, tmp_path: Path) -> Iterator[Two]:
    with ExitStack() as stack:
        yield Two(postgres, schema, tmp_path, stack)


async def take(host: SharedHost, machine: str = "shell-1", finished: Finished | None = None) -> Work:
    answer = await host.queue.next(machine, finished, leaving=False)
    assert answer.job is not None
    return answer.job


async def test_each_job_that_waits_is_counted_by_one_host_and_after_a_while_by_all(both: Two) -> None:
    for _ in range(9):
        await both.one.queue.submit(rows.Submission("c", TRUE))
    one, two = await both.look()
    assert sorted((one.unclaimed, two.unclaimed)) == [4, 5]
    assert (one.elsewhere, two.elsewhere) == (two.unclaimed, one.unclaimed)
    both.clock.now += PATIENCE_S + 1
    one, two = await both.look()
    assert (one.unclaimed, two.unclaimed) == (9, 9), "whose turn it was may be full"
    assert (one.elsewhere, two.elsewhere) == (0, 0)


async def test_a_host_that_does_not_serve_a_class_has_no_turn(both: Two) -> None:
    both.two.queue.serve({})
    for _ in range(5):
        await both.two.queue.submit(rows.Submission("c", TRUE))
    for _ in range(2):
        await both.two.queue.look_around()
        await both.one.queue.look_around()
    assert (await both.one.queue.read()).needs["c"] == Need(5, 0)
    assert "c" not in (await both.two.queue.read()).needs
    assert both.two.queue.served_elsewhere() == {"c"}, "what is handed in here may be of a class of another"


async def test_a_job_that_a_machine_took_is_not_counted_a_second_time_as_one_that_waits(both: Two) -> None:
    for _ in range(2):
        await both.one.queue.submit(rows.Submission("c", TRUE))
    one, two = await both.look()
    assert one.unclaimed + two.unclaimed == 2
    await take(both.one)
    need = (await both.one.queue.read()).needs["c"]
    assert (need.unclaimed, need.running) == (0, 1)
    one, two = await both.look()
    assert (one.running, two.running) == (1, 0), "what runs elsewhere needs no machine here"


async def test_a_job_with_secrets_is_counted_and_taken_where_it_was_handed_in(both: Two) -> None:
    spec = JobSpec(("true",), secret_files={"A": "/dev/null"})
    for _ in range(3):
        await both.two.queue.submit(rows.Submission("c", spec))
    one, two = await both.look()
    assert (one.unclaimed, one.elsewhere) == (0, 0)
    assert two.unclaimed == 3


async def test_a_machine_that_waits_gets_a_job_that_another_host_took_in(both: Two) -> None:
    await both.look()
    waiting = asyncio.create_task(take(both.one))
    await asyncio.sleep(0)
    number, _ = await both.two.queue.submit(rows.Submission("c", TRUE))
    follower = asyncio.create_task(both.one.queue.follow())
    assert (await waiting).id == number
    follower.cancel()
    with suppress(asyncio.CancelledError):
        await follower


async def test_who_waits_for_a_job_hears_of_what_another_host_does_to_it(both: Two) -> None:
    await both.one.queue.submit(rows.Submission("c", TRUE))
    work = await take(both.one)
    watching = asyncio.create_task(both.one.queue.watch("shell-1", work.run))
    follower = asyncio.create_task(both.one.queue.follow())
    await asyncio.sleep(0)
    await both.two.queue.cancel(work.id)
    async with asyncio.timeout(20):
        assert await watching == "cancel"
    follower.cancel()
    with suppress(asyncio.CancelledError):
        await follower


async def test_a_job_that_was_cancelled_elsewhere_and_retried_is_wanted_again(both: Two) -> None:
    await both.two.queue.submit(rows.Submission("c", TRUE))
    first = await take(both.two)
    await both.one.queue.cancel(first.id)
    await both.two.queue.look_around()
    assert await both.two.queue.watch("shell-1", first.run) == "cancel"
    ended = Finished(first.id, 1, "cancelled", 143, store=first.store)
    asking = asyncio.create_task(both.two.queue.next("shell-1", ended, leaving=True))
    assert (await asking).do == "end"
    await both.one.queue.retry(first.id)
    await both.one.queue.look_around()
    second = await take(both.one)
    assert (second.id, second.attempt) == (first.id, 2)
    watching = asyncio.create_task(both.one.queue.watch("shell-1", second.run))
    done, _ = await asyncio.wait([watching], timeout=0.5)
    assert not done, "it is not told to stop"
    watching.cancel()


async def test_a_host_whose_lease_was_ended_begins_anew_and_its_results_are_not_believed(both: Two) -> None:
    await both.two.queue.submit(rows.Submission("c", TRUE, retries=1))
    work = await take(both.two)
    assert work.lease == {"file": both.two.lease_file, "tenure": both.two.store.tenure}
    row = next(each for each in both.one.queue.all_hosts() if each.host == "two")
    settled = await both.one.store.write(lambda db: hosts.end_lease(db, row, now()))
    assert [each.state for each in settled] == [JobState.WAITING]
    before, ended = both.two.store.tenure, Finished(work.id, 1, "exited", 0, store=work.store)
    with pytest.raises(Fenced, match="its lease was ended by another host"):
        await both.two.queue.next("shell-1", ended, leaving=False)
    again = await take(both.two, finished=ended)
    assert (again.id, again.attempt) == (work.id, 2), "the first result counts for nothing"
    assert again.lease["tenure"] == both.two.store.tenure == both.two.lease["tenure"] != before
    await both.two.queue.look_around()
    need = (await both.two.queue.read()).needs["c"]
    assert (need.unclaimed, need.running) == (0, 1)
    assert any("had lost its lease" in line for line in both.two.logged)


async def test_a_host_that_shows_no_sign_of_life_for_its_lease_is_ended_by_another(both: Two) -> None:
    await both.two.queue.submit(rows.Submission("c", TRUE))
    work = await take(both.two)
    await both.look()
    both.clock.now += 599
    await both.one.queue.look_around()
    found = both.one.store.read(lambda db: rows.job(db, work.id))
    assert found is not None
    assert found.state == "running"
    both.clock.now += 2
    await both.one.queue.look_around()
    found = both.one.store.read(lambda db: rows.job(db, work.id))
    assert found is not None
    assert (found.state, found.attempts[0].status) == ("failed", "lost")


async def test_how_long_the_lease_holds_is_counted_from_before_it_was_asked_for(both: Two) -> None:
    both.clock.now = 5_000.0
    await both.one.store.write(lambda _: setattr(both.clock, "now", 5_100.0))
    assert both.one.lease["kill"] == 5_000.0 + 0.8 * 600


async def test_nothing_is_written_while_machines_cannot_be_told_of_the_lease(
    both: Two, tmp_path: Path
) -> None:
    place = tmp_path / "one" / "lease.part"
    place.mkdir()
    await both.one.store.write(lambda _: None)
    with pytest.raises(Unavailable, match="cannot be told to its machines"):
        await both.one.store.write(lambda _: None)
    place.rmdir()
    await both.one.store.write(lambda _: None)


async def test_needs_are_the_last_good_ones_while_the_server_does_not_answer(
    new_postgres: NewPostgres, schema: str, tmp_path: Path
) -> None:
    server = new_postgres()
    host = SharedHost(server, schema, tmp_path, "one")
    try:
        host.queue.serve(TERMS)
        await host.queue.submit(rows.Submission("c", TRUE))
        follower = asyncio.create_task(host.queue.follow())

        async def is_stale() -> bool:
            need = (await host.queue.read()).needs.get("c")
            return need is not None and need.unclaimed == 1 and need.stale_since is not None

        async def is_fresh() -> bool:
            need = (await host.queue.read()).needs.get("c")
            return need is not None and need.unclaimed == 1 and need.stale_since is None

        await eventually(is_fresh)
        server.kill()
        await eventually(is_stale)
        server.start()
        await eventually(is_fresh)
        follower.cancel()
        with suppress(asyncio.CancelledError):
            await follower
    finally:
        host.close()


def test_a_second_process_of_one_host_is_refused(
    both: Two, postgres: PostgresServer, schema: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="remove the file queue-host"):
        SharedHost(postgres, schema, tmp_path, "one")


def test_a_store_and_a_queue_are_not_mixed_up(
    both: Two, postgres: PostgresServer, schema: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=f"schema {schema} is a job queue that hosts share"):
        postgres_store(postgres.url(schema))
    store = postgres_store(postgres.url(f"{schema}_s"))
    store.close()
    with pytest.raises(BadInput, match="is the store of one Remuda"):
        SharedHost(postgres, f"{schema}_s", tmp_path, "three")
    postgres_store(postgres.url(f"{schema}_s")).close()
