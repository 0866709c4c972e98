"""Real hosts that take from one queue: under load, killed, frozen, and with their server gone. What jobs do is counted by themselves."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.integration.queue_hosts import Hosts
from tests.processes import eventually, place, pool
from tests.servers.fixtures import NewPostgres
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.slow


@pytest.fixture
def hosts(postgres: PostgresServer, schema: str) -> Iterator[Hosts]:
    """Two that are not started yet."""
    with ExitStack() as stack:
        places = [stack.enter_context(place()) for _ in range(2)]
        for each in places:
            each.write(pool(min=1, max=2, singleTask=False))
        yield Hosts(postgres, schema, places)


def test_jobs_that_are_handed_in_everywhere_run_once_somewhere(postgres: PostgresServer, schema: str) -> None:
    with ExitStack() as stack:
        hosts = Hosts(postgres, schema, [stack.enter_context(place()) for _ in range(3)])
        for each in hosts.places:
            each.write(pool(min=1, max=2, singleTask=False))
        hosts.start_all()
        script = f"echo $REMUDA_JOB >> {hosts.marks}; echo said by $REMUDA_JOB; sleep 0.1"
        numbers = [hosts.places[n % 3].submit("sh", "-c", script) for n in range(60)]
        assert len(set(numbers)) == 60
        done = "jobs WHERE state = 'succeeded'"
        eventually(lambda: hosts.count(done) == 60, "the end of all")
        assert sorted(int(line[0]) for line in hosts.lines()) == sorted(numbers), "each of them once"
        assert hosts.count("attempts") == 60
        by_host = postgres.psql(f"SELECT count(DISTINCT split_part(machine, '/', 1)) FROM {schema}.attempts")
        assert by_host == "3"
        ran = hosts.places[0].cli("diagnose", "-o", "json", env={"REMUDA_QUEUE": postgres.url(schema)})
        findings = json.loads(ran.out)["findings"]
        check = next(each for each in findings if each["check"] == "shared-queue")
        assert (check["verdict"], check["told"]) == ("ok", "3 hosts of the shared queue there")
        assert any(line.startswith("PostgreSQL ") for line in check["evidence"])
        # Each answers for all, also for one that is gone.
        last = numbers[-1]
        ran_on = hosts.of(hosts.places[1].job(last).attempts[0])
        for each in hosts.places:
            assert each.output(last).decode() == f"said by {last}\n"
        ran_on.kill()
        left = next(each for each in hosts.places if each is not ran_on)
        assert left.cli("jobs", "logs", str(last)).out == f"said by {last}\n"
        # Nor need any Remuda run.
        assert left.stop() == 0
        at_rest = {"REMUDA_QUEUE": postgres.url(schema)}
        for here in (ran_on, left):
            assert here.cli("jobs", "logs", str(last), env=at_rest).out == f"said by {last}\n"


@pytest.mark.parametrize(
    "with_machines", [pytest.param(False, id="alone"), pytest.param(True, id="with all")]
)
def test_a_host_whose_remuda_is_killed_stops_its_job_before_another_takes_it(
    hosts: Hosts, *, with_machines: bool
) -> None:
    hosts.start_all()
    # Longer than the lease: the first try cannot end by itself.
    number, here = hosts.hand_in_beating(1_000)
    other = next(each for each in hosts.places if each is not here)
    here.kill()
    for shim in here.shims().values() if with_machines else ():
        os.kill(shim, signal.SIGKILL)
    eventually(lambda: len(other.job(number).attempts) == 2, "the second try", deadline=120)
    assert not here.job_processes(number), "it was stopped though nobody was there"
    job = hosts.ended(number, other)
    assert [each.status for each in job.attempts] == ["lost", "exited"]
    hosts.never_two(number)


def test_a_job_of_a_host_that_is_frozen_longer_than_its_lease_is_run_by_another_and_its_result_not_believed(
    hosts: Hosts,
) -> None:
    hosts.start_all()
    # Longer than the lease: the first try cannot end by itself.
    number, here = hosts.hand_in_beating(1_000)
    other = next(each for each in hosts.places if each is not here)
    os.kill(here.processes[-1].pid, signal.SIGSTOP)
    eventually(lambda: len(other.job(number).attempts) == 2, "the second try", deadline=120)
    assert hosts.of(other.job(number).attempts[1]) is other
    os.kill(here.processes[-1].pid, signal.SIGCONT)
    eventually(lambda: "had lost its lease" in here.log, "the frozen host to find out")
    first = other.job(number).attempts[0]
    assert first.status == "lost"
    assert "is gone" in str(first.detail)
    job = hosts.ended(number, other)
    assert [each.status for each in job.attempts] == ["lost", "exited"], (
        "the result of the first is not believed"
    )
    assert job.attempts[0] == first
    hosts.never_two(number)
    # It takes part again.
    secret = here.mark("secret")
    again = here.submit("true", secret_files={"A": str(secret)})
    assert hosts.of(here.wait_end(again).attempts[0]) is here


def test_a_host_that_comes_back_in_time_goes_on_with_its_job(hosts: Hosts) -> None:
    hosts.start_all(lease_s=600)
    number, here = hosts.hand_in_beating(60)
    here.kill()
    hosts.start(here, lease_s=600)
    job = hosts.ended(number, here)
    assert [each.status for each in job.attempts] == ["exited"]
    hosts.never_two(number)


def test_jobs_run_once_though_the_server_was_killed_under_load(
    new_postgres: NewPostgres, schema: str
) -> None:
    server = new_postgres()
    with ExitStack() as stack:
        hosts = Hosts(server, schema, [stack.enter_context(place()) for _ in range(2)])
        for each in hosts.places:
            each.write(pool(min=2, max=2, singleTask=False))
        hosts.start_all(lease_s=300)
        script = f"echo $REMUDA_JOB >> {hosts.marks}; sleep 0.2"
        for n in range(40):
            hosts.places[n % 2].submit("sh", "-c", script)
        eventually(lambda: len(hosts.lines()) > 8, "some work")
        server.kill()
        server.start()
        done = "jobs WHERE state = 'succeeded'"
        eventually(lambda: hosts.count(done) == 40, "the end of all", deadline=120)
        assert sorted(int(line[0]) for line in hosts.lines()) == list(range(1, 41)), "each of them once"
        assert hosts.count("attempts") == 40


def test_a_cancelled_job_ends_whichever_host_is_asked(hosts: Hosts) -> None:
    hosts.start_all()
    number, here = hosts.hand_in_beating(3_000)
    other = next(each for each in hosts.places if each is not here)
    assert other.cli("jobs", "cancel", str(number)).code == 0
    job = hosts.ended(number, other)
    assert job.state == "cancelled"
    assert [each.status for each in job.attempts] == ["cancelled"]


def test_what_a_queue_cannot_be_is_said(hosts: Hosts) -> None:
    here = hosts.places[0]
    for words, said in (
        (("--queue", "mysql://x/y"), "--queue wants postgresql://"),
        (("--queue", hosts.server.url(), "--queue-lease", "1s"), "--queue-lease wants 5s to 1h"),
        (("--queue", hosts.server.url(), "--dry-run"), "leave out --queue"),
    ):
        ran = here.cli("up", str(here.file), "--no-web", *words)
        assert (ran.code, said in ran.err) == (2, True), ran
