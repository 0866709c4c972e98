"""What is known of a data directory and of who works with it, as `remuda diagnose` reads it."""

from typing import Literal

from msgspec import Struct

from remuda.model.databases import ServerCondition
from remuda.model.jobs import QueueHost
from remuda.model.times import Instant

#: whether somebody answers: nobody who ended in good order leaves a socket behind
Answering = Literal["answers", "silent", "died", "nobody"]


class SeenLoop(Struct, frozen=True):
    """A loop, as its process says it fares."""

    name: str
    phase: str
    error: str = ""
    last_success_at: Instant | None = None


class SeenPort(Struct, frozen=True):
    """A port of health pages or of the dashboard: whether its page is well, or while nothing runs, whether it could be had."""

    #: the option that chooses it
    option: str
    number: int
    problem: str = ""


class SeenStore(Struct, frozen=True):
    """A store; `trouble` says why it cannot be read."""

    trouble: str = ""
    version: int = 0
    #: the address of one that is no file, of which sizes are not known
    address: str = ""
    bytes: int = 0
    used_bytes: int = 0
    oldest_at: Instant | None = None
    newest_at: Instant | None = None
    #: how the server of one is that is no file
    server: ServerCondition | None = None
    #: times that the clock was set back: of a loop, from, to
    set_back: tuple[tuple[str, Instant, Instant], ...] = ()


class SeenQueue(Struct, frozen=True):
    """A job queue that hosts share; `trouble` says why it cannot be read."""

    address: str
    trouble: str = ""
    server: ServerCondition | None = None
    hosts: tuple[QueueHost, ...] = ()


class Process(Struct, frozen=True):
    """A process of `remuda up` that answered."""

    version: str
    pid: int
    #: how far its clock is ahead of ours, in milliseconds
    ahead_ms: int = 0
    interval_s: float = 1.0
    keep_ms: int = 0
    keep_bytes: int = 0


class Here(Struct, frozen=True):
    """One data directory at one moment."""

    now: Instant
    #: of the program that asks
    version: str
    data_dir: str
    is_there: bool = True
    #: why it is not fit to be one
    unfit: str = ""
    #: what is in it and is none of ours
    strangers: tuple[str, ...] = ()
    #: None where it cannot be found out
    free_bytes: int | None = None
    free_files: int | None = None
    has_ballast: bool = True
    #: None when there is none
    store: SeenStore | None = None
    #: None where the store has the jobs
    queue: SeenQueue | None = None
    answering: Answering = "nobody"
    #: why it is silent
    silence: str = ""
    #: the process that holds the directory
    holder: int | None = None
    process: Process | None = None
    loops: tuple[SeenLoop, ...] = ()
    #: paused by order, also over a restart
    paused: tuple[str, ...] = ()
    #: why the last reload was refused, a line each
    refused_reload: tuple[str, ...] = ()
    trouble: tuple[str, ...] = ()
    ports: tuple[SeenPort, ...] = ()
    foreign_machines: int = 0
    foreign_attempts: int = 0
