"""
Agents as CircleCI lists them, read as workers. Pure.

In single-task mode an agent that was ever used has taken its one task; one that never was, is idle. Whatever cannot
be read counts against calling an agent idle.
"""

import re
from datetime import datetime

from msgspec import Struct

from remuda.model.needs import Worker
from remuda.model.times import SECOND, Instant

#: the words for the one task of an agent: CircleCI does not say which it is
TASK = "task"
#: a name that holds one boot of a machine, as `remuda.model.machines.worker_name` makes it
_BOOTED = re.compile(r"(.+)\.[0-9a-f]{8}")


class Listing(Struct, frozen=True):
    """The agents of one class."""

    workers: dict[str, Worker]
    #: items that could not be read; whose they are is unknown
    unreadable: int = 0
    #: by name, when it last called; by CircleCI's clock, as all times here
    called_at: dict[str, Instant] = {}


def read_agents(items: list[object], job_class: str) -> Listing:
    """
    Workers by the name they have. Of several agents with one name, the one that connected last is meant.

    Raises `ValueError` when not one of the items can be read.
    """
    workers: dict[str, Worker] = {}
    called_at: dict[str, Instant] = {}
    unreadable, problem = 0, ""
    for item in items:
        try:
            name, worker = _read(item, job_class)
        except ValueError as error:
            unreadable, problem = unreadable + 1, problem or str(error)
            continue
        workers[name] = newer(workers.get(name), worker)
        if workers[name] is worker:
            called_at[name] = _called_at(item) or worker.connected_at or 0
    if items and not workers:
        raise ValueError(f"none of {len(items)} agents can be read: {problem}")
    return Listing(workers, unreadable, called_at)


def machine_of(name: str) -> str:
    """The machine that an agent's name holds."""
    match = _BOOTED.fullmatch(name)
    return match[1] if match else name


def newer(one: Worker | None, other: Worker) -> Worker:
    """The one of two agents with the same name that connected last."""
    return other if one is None or _rank(other) > _rank(one) else one


def _read(item: object, job_class: str) -> tuple[str, Worker]:
    if not isinstance(item, dict):
        raise ValueError("an agent is no object")  # noqa: TRY004 - one kind of error for what is no agent
    name = item.get("name") or item.get("hostname")
    if not isinstance(name, str) or not name:
        raise ValueError("an agent has neither name nor hostname")
    of_class = item.get("resource_class", job_class)
    if of_class != job_class:
        raise ValueError(f"agent {name[:100]} is of another class: {str(of_class)[:100]}")
    connected_at = _instant(item.get("first_connected"))
    if connected_at is None:
        raise ValueError(f"agent {name[:100]} has no time in first_connected")
    last_used = item.get("last_used")
    try:
        used_at = _instant(last_used)
    except ValueError:
        used_at = connected_at  # used, who knows when
    if used_at is None:
        return name, Worker(connected_at, connected_at=connected_at)
    return name, Worker(used_at, TASK, 1, connected_at=connected_at)


def _called_at(item: object) -> Instant | None:
    try:
        return _instant(item.get("last_connected")) if isinstance(item, dict) else None
    except ValueError:
        return None


def _instant(value: object) -> Instant | None:
    """A time in RFC 3339; None for null, and for the year one, which is how some servers write it."""
    if value is None or value == "":
        return None
    try:
        read = datetime.fromisoformat(value)  # type: ignore[arg-type] # checked by what it raises
    except (TypeError, ValueError):
        raise ValueError(f"{str(value)[:100]!r} is no time") from None
    if read.tzinfo is None:
        raise ValueError(f"{str(value)[:100]!r} has no zone")
    if read.year == 1:
        return None
    return int(read.timestamp() * SECOND)


def _rank(worker: Worker) -> tuple[int, bool]:
    return worker.connected_at or 0, worker.job is not None
