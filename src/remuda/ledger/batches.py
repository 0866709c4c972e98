"""Changes that are committed together on PostgreSQL: as one where all goes well, else each behind a savepoint."""

from typing import Any

import psycopg

from remuda.errors import RemudaError, Unavailable
from remuda.ledger.address import PostgresAddress
from remuda.ledger.postgres import PostgresDatabase, Raw, control, explain
from remuda.ledger.tasks import Task, fail


class Harmed(Exception):
    """One change of several failed, and nothing was done: they must be kept apart."""


def run(raw: Raw, batch: list[Task], _: PostgresAddress) -> list[tuple[Any, Exception | None]]:
    """All changes as one; `Harmed` when one of them fails. A savepoint for each would be a third of all round trips."""
    db = PostgresDatabase(raw)
    try:
        return [(task.change(db), None) for task in batch]
    except Exception as error:
        if raw.closed:
            raise
        raise Harmed from error


def run_apart(raw: Raw, batch: list[Task], address: PostgresAddress) -> list[tuple[Any, Exception | None]]:
    """Each change behind a savepoint, so that one that fails does not harm its neighbours."""
    db = PostgresDatabase(raw)
    answers: list[tuple[Any, Exception | None]] = []
    control(raw, "SAVEPOINT one")
    for place, task in enumerate(batch, 1):
        try:
            answers.append((task.change(db), None))
        except Exception as error:
            if raw.closed:
                raise
            if isinstance(error, psycopg.errors.DeadlockDetected):
                raise Harmed from error
            answers.append(
                (None, explain(error, address) if isinstance(error, psycopg.OperationalError) else error)
            )
            control(raw, "ROLLBACK TO one")
        if place < len(batch):
            control(raw, "RELEASE one", "SAVEPOINT one")
    return answers


def refuse(batch: list[Task], problem: RemudaError) -> None:
    """Tell all who wait that nothing was done."""
    # Who writes has said nothing wrong, also when somebody changed a password meanwhile.
    fail(batch, problem if isinstance(problem, Unavailable) else Unavailable(str(problem)))
