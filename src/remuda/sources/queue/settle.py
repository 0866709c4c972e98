"""How an attempt ends and the next one begins, as transactions: with what a machine says, or with its end."""

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
    db: Database, call: CallForWork, files: JobFiles, now: int
) -> tuple[list[rows.Settled], rows.WorkerRow, rows.Claim | None]:
    """End what the machine says it has done, and give it the next job if it may take one; in one transaction."""
    machine, terms, settled = call.machine, call.terms, list[rows.Settled | None]()
    if call.finished is not None:
        settled.append(rows.finish(db, machine, _explained(db, machine, call.finished, terms, now), now))
    row = rows.register(db, machine, now)
    held = rows.running_on(db, machine)
    if held is not None and call.ran is not None and call.ran >= row.uses:
        # It has begun all that it was given here, and speaks of none of it: it did so for a store that was
        # ahead of this one, and must not do it a second time under the same number.
        ended = files.result(held) or _lost(
            held, "its machine has run it, and its result was lost with a newer state of the store"
        )
        settled.append(rows.finish(db, machine, ended, now))
        held = None
    row = rows.register(db, machine, now, call.ran or 0)
    done = [each for each in settled if each is not None]
    if held is None:
        used_up = terms is None or (terms.max_uses is not None and row.uses >= terms.max_uses)
        if (used_up or call.leaving) and not row.closed:
            rows.close(db, machine, now)
            row = rows.register(db, machine, now)
        if row.closed:
            return done, row, None
    claim = rows.claim(db, machine, terms.job_class if terms else "", now, call.identity)
    return done, rows.register(db, machine, now), claim


def settle(db: Database, machine: str, files: JobFiles, terms: Terms | None, now: int) -> rows.Settled | None:
    """End what a machine that is gone was working on, by the result it left, else as lost."""
    # What it works on is asked for here and not before: a claim of its own may have been on its way.
    held = rows.running_on(db, machine)
    settled = None
    if held is not None:
        ended = files.result(held) or _lost(held, f"machine {machine} died")
        settled = rows.finish(db, machine, _explained(db, machine, ended, terms, now), now)
    rows.forget(db, machine)
    return settled


def _lost(run: Run, detail: str) -> Finished:
    return Finished(run.job, run.attempt, "lost", -1, detail, store=run.store)


def _explained(db: Database, machine: str, ended: Finished, terms: Terms | None, now: int) -> Finished:
    """The end of an attempt with its cause: Remuda's reason to remove its machine, or the limit that it was over."""
    if ended.status == "timeout":
        causes = [_limit(rows.job(db, ended.job), machine, ended, terms)]
    elif ended.status in _WITH_ITS_MACHINE:
        removals = [item.reason for item in operations_on(db, _LOOP, machine, now) if item.kind == "delete"]
        causes = list(map(sentence, removals[-1:]))
    else:
        return ended
    return structs.replace(ended, detail="; ".join(filter(None, [ended.detail, *causes])))


def _limit(job: Job | None, machine: str, ended: Finished, terms: Terms | None) -> str:
    """Which limit a job was over, and whose that is."""
    if job is not None and job.spec.timeout:
        return f"over its own timeout of {write_duration(job.spec.timeout)}"
    took = ended.finished_at - ended.started_at
    # It was given the limit of its start, which another configuration may have changed since.
    is_known = terms is not None and ended.started_at and terms.job_timeout <= took
    length = f" of {write_duration(terms.job_timeout)}" if is_known and terms is not None else ""
    return f"over the jobTimeout{length} of pool {pool_of(machine)}"
