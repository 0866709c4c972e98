"""Hosts that share a queue: who is gone, whose jobs are given to others, and that no job ever runs twice at once."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.servers.postgres import PostgresServer

from remuda.errors import NotFound
from remuda.ledger.address import read_address
from remuda.ledger.seat import Claimant
from remuda.ledger.sql import Database
from remuda.ledger.store import InlineStore
from remuda.machines.process.lease import Lease, write_lease
from remuda.model.jobs import Finished, JobSpec, JobState
from remuda.sources.queue import copies, hosts, rows
from remuda.sources.queue.hosts import HostRow, HostSeats, Lookout, look_out, tenure_of
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.schema import TABLES
from remuda.sources.queue.settle import CallForWork, Site, Terms, settle_and_claim

LEASE_S = 60.0


def row(host: str, commits: int = 1, *, token: str = "t:1", ended: int | None = None) -> HostRow:
    return HostRow(host, token, "x", 1, int(LEASE_S * 1000), commits, 0, ended, ())


def test_a_host_is_gone_when_it_was_seen_with_one_count_for_as_long_as_its_lease() -> None:
    seen, gone = look_out(Lookout(), [row("b")], "a", 100.0)
    assert gone == ()
    seen, gone = look_out(seen, [row("b")], "a", 100.0 + LEASE_S - 0.001)
    assert gone == ()
    seen, gone = look_out(seen, [row("b")], "a", 100.0 + LEASE_S)
    assert gone == (row("b"),)


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(row("b", 2), id="it has committed"),
        pytest.param(row("b", token="t:2"), id="it was started again"),
    ],
)
def test_a_sign_of_life_begins_the_time_anew(now: HostRow) -> None:
    seen, _ = look_out(Lookout(), [row("b")], "a", 0.0)
    seen, gone = look_out(seen, [now], "a", LEASE_S)
    assert gone == ()
    _, gone = look_out(seen, [now], "a", 2 * LEASE_S)
    assert gone == (now,)


def test_neither_this_host_nor_one_whose_lease_was_ended_is_watched() -> None:
    found = [row("a"), row("b", ended=5)]
    seen, _ = look_out(Lookout(), found, "a", 0.0)
    _, gone = look_out(seen, found, "a", 10 * LEASE_S)
    assert gone == ()
    assert seen.seen == {}


@given(st.lists(st.tuples(st.floats(0, 40), st.booleans()), max_size=30))
def test_safety_nobody_is_gone_who_committed_within_a_lease_of_when_it_was_seen(
    steps: list[tuple[float, bool]],
) -> None:
    now, commits, committed_at, seen = 0.0, 0, 0.0, Lookout()
    for wait, does_commit in steps:
        now += wait
        if does_commit:
            commits, committed_at = commits + 1, now
        seen, gone = look_out(seen, [row("b", commits)], "a", now)
        assert not gone or now - committed_at >= LEASE_S


# What follows asks a real PostgreSQL.


@contextmanager
def connection(server: PostgresServer, schema: str) -> Iterator[Any]:
    from remuda.ledger.postgres import PostgresDatabase, connect
    from remuda.ledger.postgres_schema import migrate

    address = read_address(server.url(schema), "--queue")
    raw = connect(address, "writable")
    try:
        db = PostgresDatabase(raw)
        with raw.transaction():
            migrate(db, address, (TABLES, hosts.TABLES, copies.TABLES))
        yield db
    finally:
        raw.close()


def take(db: Database, host: str, now: int = 1) -> str:
    return HostSeats(host, int(LEASE_S * 1000)).take(db, Claimant("x", "queue"), now, has_lock=True)


def claim(db: Database, host: str, now: int = 2) -> rows.Claim:
    rows.register(db, f"{host}/m-1", now)
    claimed = rows.take_next(db, f"{host}/m-1", "c", now, f"s{host}", host)
    assert claimed is not None
    return claimed


def known(db: Database, host: str) -> HostRow:
    return next(each for each in hosts.all_hosts(db) if each.host == host)


@pytest.mark.slow
def test_a_host_that_is_gone_loses_its_jobs_by_their_own_rule_and_cannot_report_any_more(
    postgres: PostgresServer, schema: str
) -> None:
    seats = HostSeats("b", int(LEASE_S * 1000))
    with connection(postgres, schema) as db:
        token = take(db, "b")
        jobs = [rows.submit(db, rows.Submission("c", JobSpec(("true",)), retries=n), 1)[0] for n in (0, 1)]
        first = claim(db, "b")
        rows.register(db, "b/m-2", 2)
        assert rows.take_next(db, "b/m-2", "c", 2, "sb", "b") is not None
        seen = known(db, "b")
        assert seats.count_commit(db, token) == seen.commits + 1
        assert hosts.end_lease(db, seen, 9) == [], "it has shown a sign of life"
        ended = hosts.end_lease(db, known(db, "b"), 9)
        assert [(each.job, each.state) for each in ended] == [
            (jobs[0], JobState.FAILED),
            (jobs[1], JobState.WAITING),
        ]
        assert hosts.end_lease(db, known(db, "b"), 9) == [], "once"
        assert seats.count_commit(db, token) is None, "nothing of it is done any more"
        again = take(db, "b")
        assert tenure_of(again) != tenure_of(token), "machines must know that it is another lease"
        late = Finished(first.job, first.attempt, "exited", 0, store="sb")
        assert rows.end_attempt(db, "b/m-1", late, 10) is None
        lost = rows.job(db, jobs[0])
        assert lost is not None
        assert "host b is gone" in str(lost.attempts[0].detail)


@pytest.mark.slow
def test_a_host_that_is_started_again_goes_on_under_its_lease(postgres: PostgresServer, schema: str) -> None:
    with connection(postgres, schema) as db:
        first, second = take(db, "b"), take(db, "b")
        assert first != second, "the process before cannot write any more"
        assert tenure_of(first) == tenure_of(second), "its jobs go on"
        assert HostSeats("b", 1).count_commit(db, first) is None


@pytest.mark.slow
def test_a_host_that_stops_without_a_job_is_not_waited_for_and_one_with_a_job_is(
    postgres: PostgresServer, schema: str
) -> None:
    with connection(postgres, schema) as db:
        take(db, "a")
        take(db, "b")
        rows.submit(db, rows.Submission("c", JobSpec(("true",))), 1)
        claim(db, "b")
        hosts.leave(db, "a", 5)
        hosts.leave(db, "b", 5)
        assert known(db, "a").ended_at == 5
        assert known(db, "b").ended_at is None


@pytest.mark.slow
def test_hosts_are_shown_with_what_runs_and_waits_there(postgres: PostgresServer, schema: str) -> None:
    with connection(postgres, schema) as db:
        take(db, "a")
        take(db, "b")
        hosts.serve(db, "b", {"d", "c"})
        hosts.leave(db, "a", 5)
        secret = JobSpec(("true",), secret_files={"A": "/a"})
        for job in (rows.Submission("c", JobSpec(("true",))), rows.Submission("c", secret, host="a")):
            rows.submit(db, job, 1)
        claim(db, "b")
        one, two = hosts.shown_hosts(db).hosts
        assert (one.host, one.is_ended, one.running, one.bound, one.classes) == ("a", True, 0, 1, ())
        assert (two.host, two.is_ended, two.running, two.bound, two.classes) == ("b", False, 1, 0, ("c", "d"))
        assert two.lease_ms == LEASE_S * 1000
        assert 0 <= two.silent_ms < 600_000


def test_a_queue_of_one_host_has_no_list_of_hosts() -> None:
    with pytest.raises(NotFound, match="remuda up --queue"):
        InlineStore((TABLES,)).read(hosts.shown_hosts)


@pytest.mark.slow
def test_a_job_with_secrets_is_for_its_host_alone(postgres: PostgresServer, schema: str) -> None:
    with connection(postgres, schema) as db:
        job = rows.Submission("c", JobSpec(("true",), secret_files={"A": "/a"}), host="a")
        number, _ = rows.submit(db, job, 1)
        rows.register(db, "b/m-1", 1)
        assert rows.take_next(db, "b/m-1", "c", 2, "sb", "b") is None
        assert rows.bound_to(db, number) == "a"
        assert claim(db, "a").job == number


@pytest.mark.slow
def test_what_another_host_is_just_taking_is_passed_over_and_not_waited_for(
    postgres: PostgresServer, schema: str
) -> None:
    with connection(postgres, schema) as one, connection(postgres, schema) as two:
        numbers = [rows.submit(one, rows.Submission("c", JobSpec(("true",))), 1)[0] for _ in range(2)]
        with one.raw.transaction():
            assert claim(one, "a").job == numbers[0]
            assert claim(two, "b").job == numbers[1]
            rows.register(two, "b/m-2", 2)
            assert rows.take_next(two, "b/m-2", "c", 2, "sb", "b") is None


@pytest.mark.slow
def test_hosts_that_are_gone_for_long_are_forgotten_with_their_machines(
    postgres: PostgresServer, schema: str
) -> None:
    with connection(postgres, schema) as db:
        take(db, "a")
        take(db, "b")
        rows.register(db, "b/m-1", 1)
        rows.register(db, "a/m-1", 1)
        hosts.leave(db, "b", 5)
        hosts.forget_hosts(db, 6)
        assert len(hosts.all_hosts(db)) == 2
        hosts.forget_hosts(db, 40 * 86_400_000)
        assert [each.host for each in hosts.all_hosts(db)] == ["a"]
        assert [each.machine for each in rows.workers(db)] == ["a/m-1"]


# Histories: hosts with clocks of their own that are frozen, cut off, killed and started again.


@dataclass
class Running:
    """A job on a machine: what its shim knows."""

    claim: rows.Claim
    lease: Lease
    left_s: float
    result: Finished | None = None


@dataclass
class SimulatedHost:
    """A host whose clock goes at a pace of its own; its shims run on when Remuda is dead, and stand still when it is frozen."""

    name: str
    pace: float
    offset: float
    file: str
    is_frozen: bool = False
    is_cut: bool = False
    is_dead: bool = False
    token: str = ""
    frozen_s: float = 0.0
    lookout: Lookout = field(default_factory=Lookout)
    machines: dict[str, Running | None] = field(default_factory=dict)

    def clock(self, world: float) -> float:
        return self.offset + world * self.pace

    @property
    def can_write(self) -> bool:
        return not (self.is_frozen or self.is_cut or self.is_dead)


class History:
    """One seeded history on a real database, whose time passes as the seed says."""

    def __init__(self, db: Any, directory: Path, seed: int) -> None:
        self.db, self.rng, self.world = db, random.Random(seed), 0.0
        self.hosts = [
            SimulatedHost(
                f"h{n}", self.rng.uniform(0.95, 1.05), self.rng.uniform(0, 1e6), f"{directory}/h{n}"
            )
            for n in range(3)
        ]
        self.files = JobFiles(directory)
        self.began = dict[int, int]()
        self.accepted = dict[int, int]()
        for host in self.hosts:
            host.machines = {f"m-{n}": None for n in range(2)}
            self.begin(host)

    def begin(self, host: SimulatedHost) -> None:
        """Remuda is started, or goes on after its lease was ended."""
        began = host.clock(self.world)
        with self.db.raw.transaction():
            host.token = take(self.db, host.name)
        write_lease(host.file, tenure_of(host.token), began, LEASE_S)

    def write(self, host: SimulatedHost, change: Any) -> Any:
        """One transaction of a host, as `SharedStore` does it; None when it was fenced, and begins anew."""
        began = host.clock(self.world)
        with self.db.raw.transaction():
            if HostSeats(host.name, int(LEASE_S * 1000)).count_commit(self.db, host.token) is None:
                answer, is_fenced = None, True
            else:
                answer, is_fenced = change(self.db), False
        if is_fenced:
            self.begin(host)
        else:
            write_lease(host.file, tenure_of(host.token), began, LEASE_S)
        return answer

    def call(self, host: SimulatedHost, machine: str) -> None:
        """A machine hands in what it has, and takes what it gets, after a while."""
        running = host.machines[machine]
        if running is not None and running.result is None:
            return
        site = Site(self.files, host.name, lambda _: [], lambda: tenure_of(host.token), host.file)
        finished = running.result if running else None
        call = CallForWork(
            machine, Terms("c", None, 0), finished, None, leaving=False, identity=f"s{host.name}"
        )
        answer = self.write(host, lambda db: settle_and_claim(db, call, site, 1))
        if answer is None:
            return
        done, _, claimed = answer
        for each in done:
            self.accepted[each.job] = self.accepted.get(each.job, 0) + (each.state is JobState.SUCCEEDED)
        host.machines[machine] = None
        if claimed is None:
            return
        lease = Lease({"file": host.file, "tenure": claimed.tenure})
        lease.look(host.clock(self.world))
        if host.clock(self.world) < lease.stop_at:
            self.began[claimed.job] = self.began.get(claimed.job, 0) + 1
            host.machines[machine] = Running(claimed, lease, self.rng.uniform(1, 90))

    def pass_time(self, seconds: float) -> None:
        """Shims run on, a second at a time, and see for themselves whether they may."""
        for _ in range(max(1, int(seconds))):
            self.world += 1.0
            for host in self.hosts:
                for running in host.machines.values():
                    if running is None or running.result is not None or host.is_frozen:
                        continue
                    self.step(host, running)
            self.check()

    def step(self, host: SimulatedHost, running: Running) -> None:
        run, clock = running.claim, host.clock(self.world)
        running.lease.look(clock)
        running.left_s -= 1.0
        if clock >= running.lease.stop_at:
            # As late as it may be: it ignores SIGTERM.
            if clock < running.lease.kill_at:
                return
            running.result = Finished(run.job, run.attempt, "killed", 137, store=run.store)
        elif running.left_s <= 0:
            running.result = Finished(run.job, run.attempt, "exited", 0, store=run.store)

    def thaw(self, host: SimulatedHost) -> None:
        """It goes on; each shim looks at the clock before its job can do anything."""
        host.is_frozen = False
        for _ in range(self.rng.randrange(3) if host.can_write else 0):
            # Remuda may be faster than its shims: it finds that its lease was ended, and begins another.
            self.write(host, lambda _: None)
        for running in host.machines.values():
            if running is not None and running.result is None:
                self.step(host, running)

    def check(self) -> None:
        at_work = [
            running.claim.job
            for host in self.hosts
            if not host.is_frozen
            for running in host.machines.values()
            if running is not None and running.result is None
        ]
        assert len(at_work) == len(set(at_work)), f"two run one job at {self.world}: {sorted(at_work)}"

    def disturb(self) -> None:
        host = self.rng.choice(self.hosts)
        match self.rng.randrange(6):
            case 0:
                host.is_frozen = True
            case 1:
                self.thaw(host)
            case 2:
                host.is_cut = not host.is_cut
            case 3:
                host.is_dead = True
            case 4 if host.is_dead and not host.is_frozen and not host.is_cut:
                host.is_dead = False
                self.begin(host)

    def look(self, host: SimulatedHost) -> None:
        found = hosts.all_hosts(self.db)
        host.lookout, gone = look_out(host.lookout, found, host.name, host.clock(self.world))
        for each in gone:
            self.write(host, lambda db, each=each: hosts.end_lease(db, each, 1))

    def act(self) -> None:
        for host in self.hosts:
            if host.can_write and self.rng.random() < 0.8:
                self.look(host)
                for machine in host.machines:
                    self.call(host, machine)
                self.check()

    def heal(self) -> None:
        for host in self.hosts:
            host.is_cut = False
            self.thaw(host)
            if host.is_dead:
                host.is_dead = False
                self.begin(host)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_safety_and_liveness_no_job_runs_twice_at_once_and_all_end_whatever_happens_to_hosts(
    postgres: PostgresServer, schema: str, tmp_path: Path, seed: int
) -> None:
    with connection(postgres, schema) as db:
        history = History(db, tmp_path, seed)
        jobs = [
            rows.submit(db, rows.Submission("c", JobSpec(("true",)), retries=50), 1)[0] for _ in range(12)
        ]
        for _ in range(40):
            history.act()
            if history.rng.random() < 0.5:
                history.disturb()
            history.pass_time(history.rng.choice((1, 3, 10, 40)))
        history.heal()
        for _ in range(200):
            history.act()
            history.pass_time(5)
            if set(rows.state_counts(db)) <= {"succeeded"}:
                break
        assert rows.state_counts(db) == {"succeeded": len(jobs)}
        assert history.accepted == dict.fromkeys(jobs, 1), "each has succeeded once"
        for number in jobs:
            job = rows.job(db, number)
            assert job is not None
            assert [each.number for each in job.attempts] == list(range(1, len(job.attempts) + 1))
            assert history.began.get(number, 0) <= len(job.attempts), "nothing runs without an attempt"
