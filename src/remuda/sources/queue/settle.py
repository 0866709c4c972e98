"""How an attempt ends and the next one begins, as transactions: with what a machine says, or with its end."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, structs

from remuda.ledger.history import operations_on
from remuda.ledger.sql import Database
from remuda.model.jobs import Finished, Job, Run
from remuda.model.machines import pool_of
from remuda.model.times import write_duration
from remuda.output.words import sentence
from remuda.sources.queue import rows
from remuda.sources.queue.output import JobFiles

#: the loop that makes and removes the machines which pull
_LOOP = "pools"
#: ends of an attempt that are its machine's
_WITH_ITS_MACHINE = frozenset({"killed", "lost"})


class Terms(Struct, frozen=True):
    """What a pool's machines may take from the queue."""

    job_class: str
    #: jobs a machine takes before it ends; None is no limit
    max_uses: int | None
    job_timeout: int


class Site(Struct, frozen=True):
    """Where the machines are whose jobs are settled, seen from the queue."""

    files: JobFiles
    #: the host's name in a queue that several share
    host: str = ""
    #: reads the ledger that knows why machines were removed, where that is not the queue's own store
    ledger: Callable[[Callable[[Database], Any]], Any] | None = None
    #: the name of this host's lease, asked within the transaction; and the file that tells machines how long it holds
    tenure: Callable[[], str] = str
    lease_file: str = ""

    @property
    def prefix(self) -> str:
        """What the queue's names of machines begin with: those of two hosts may have the same name."""
        return f"{self.host}/" if self.host else ""


class CallForWork(Struct, frozen=True):
    """A machine's call for work."""

    machine: str
    terms: Terms | None
    finished: Finished | None
    #: how many jobs it has begun; None when it does not say
    ran: int | None
    leaving: bool
    #: the store's own
    identity: str


def settle_and_claim(
    db: Database, call: CallForWork, site: Site, now: int
) -> tuple[list[rows.Settled], rows.WorkerRow, rows.Claim | None]:
    """End what the machine says it has done, and give it the next job if it may take one; in one transaction."""
    machine, terms, done = site.prefix + call.machine, call.terms, list[rows.Settled]()
    if call.finished is not None:
        ended = _explained(db, call.machine, call.finished, terms, site, now)
        settled = rows.end_attempt(db, machine, ended, now)
        done += [settled] if settled else []
    # A machine has one job at a time: with the end of one it has none.
    held = None if done else rows.held_by(db, machine)
    if held is not None and call.ran is not None and call.ran >= rows.register(db, machine, now).uses:
        # It has begun all that it was given here, and speaks of none of it: it did so for a store that was
        # ahead of this one, and must not do it a second time under the same number.
        run = Run(held.store, held.job, held.attempt)
        ended = site.files.result(run) or _lost(
            run, "its machine has run it, and its result was lost with a newer state of the store"
        )
        settled = rows.end_attempt(db, machine, ended, now)
        done += [settled] if settled else []
        held = None
    row = rows.register(db, machine, now, call.ran or 0, is_freed=bool(done))
    if held is not None:
        return done, row, structs.replace(held, tenure=site.tenure())
    used_up = terms is None or (terms.max_uses is not None and row.uses >= terms.max_uses)
    if (used_up or call.leaving) and not row.closed:
        rows.close(db, machine, now)
        row = structs.replace(row, closed=True, since=now)
    if row.closed or terms is None:
        return done, row, None
    claim = rows.take_next(db, machine, terms.job_class, now, call.identity, site.host)
    if claim is not None:
        claim = structs.replace(claim, tenure=site.tenure())
        row = structs.replace(row, uses=row.uses + 1, since=now)
    return done, row, claim


def settle(db: Database, machine: str, site: Site, terms: Terms | None, now: int) -> rows.Settled | None:
    """End what a machine that is gone was working on, by the result it left, else as lost."""
    # What it works on is asked for here and not before: a claim of its own may have been on its way.
    key = site.prefix + machine
    held = rows.running_on(db, key)
    settled = None
    if held is not None:
        ended = site.files.result(held) or _lost(held, f"machine {machine} died")
        settled = rows.end_attempt(db, key, _explained(db, machine, ended, terms, site, now), now)
    rows.forget(db, key)
    return settled


def _lost(run: Run, detail: str) -> Finished:
    return Finished(run.job, run.attempt, "lost", -1, detail, store=run.store)


def _explained(
    db: Database, machine: str, ended: Finished, terms: Terms | None, site: Site, now: int
) -> Finished:
    """The end of an attempt with its cause: Remuda's reason to remove its machine, or the limit that it was over."""
    if ended.status == "timeout":
        causes = [_limit(rows.job(db, ended.job), machine, ended, terms)]
    elif ended.status in _WITH_ITS_MACHINE:
        known = site.ledger(_operations(machine, now)) if site.ledger else _operations(machine, now)(db)
        removals = [item.reason for item in known if item.kind == "delete"]
        causes = list(map(sentence, removals[-1:]))
    else:
        return ended
    return structs.replace(ended, detail="; ".join(filter(None, [ended.detail, *causes])))


def _operations(machine: str, now: int) -> Callable[[Database], Any]:
    return lambda db: operations_on(db, _LOOP, machine, now)


def _limit(job: Job | None, machine: str, ended: Finished, terms: Terms | None) -> str:
    """Which limit a job was over, and whose that is."""
    if job is not None and job.spec.timeout:
        return f"over its own timeout of {write_duration(job.spec.timeout)}"
    took = ended.finished_at - ended.started_at
    # It was given the limit of its start, which another configuration may have changed since.
    is_known = terms is not None and ended.started_at and terms.job_timeout <= took
    length = f" of {write_duration(terms.job_timeout)}" if is_known and terms is not None else ""
    return f"over the jobTimeout{length} of pool {pool_of(machine)}"
