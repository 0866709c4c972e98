"""Jobs of the local queue: what is asked for, and how it went."""

from enum import StrEnum
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, structs

from remuda.model.times import DAY, Instant

_LONGEST = 30 * DAY
#: as JSON a class is `class`, which Python cannot name a field
_CLASS = {"job_class": "class"}


class JobState(StrEnum):
    """Where a job is. The last three are ends."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_end(self) -> bool:
        """True when nothing more will happen."""
        return self not in (JobState.WAITING, JobState.RUNNING)


class JobSpec(Struct, frozen=True):
    """What to run. Of a secret only the file's path is kept; its value is read when the job starts."""

    command: tuple[str, ...]
    env: dict[str, str] = {}
    secret_files: dict[str, str] = {}
    timeout: int | None = None


class Run(NamedTuple):
    """
    One attempt, distinct from those of every other store.

    `store` is the identity the store had when it gave the job out; empty for one of before there were identities.
    """

    store: str
    job: int
    attempt: int


class Attempt(Struct, frozen=True):
    """One try at a job on one machine. `status` says how it ended, in the shim's words or `lost`."""

    number: int
    machine: str
    claimed_at: Instant
    finished_at: Instant | None = None
    status: str | None = None
    exit_code: int | None = None
    detail: str | None = None
    #: the store's identity when it was given to the machine
    store: str = ""
    #: how much it wrote; None while it runs, and for one that ended before this was kept
    output_bytes: int | None = None


class Job(Struct, frozen=True, rename=_CLASS):
    """A job with its attempts, oldest first."""

    id: int
    job_class: str
    state: JobState
    priority: int
    retries: int
    spec: JobSpec
    submitted_at: Instant
    changed_at: Instant
    cancelled: bool = False
    attempts: tuple[Attempt, ...] = ()

    def run(self, attempt: Attempt) -> Run:
        """One of its attempts, distinct from those of every other store."""
        return Run(attempt.store, self.id, attempt.number)


class Finished(Struct, frozen=True):
    """A shim's word about how an attempt ended."""

    job: int
    attempt: int
    status: str
    exit_code: int
    detail: str = ""
    started_at: Instant = 0
    finished_at: Instant = 0
    output_bytes: int = 0
    store: str = ""

    @property
    def run(self) -> Run:
        """Which attempt it is about."""
        return Run(self.store, self.job, self.attempt)


class Submit(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    rename={**_CLASS, "older_class": "job_class"},
):
    """A job to be run."""

    job_class: Annotated[str, Meta(max_length=128)] = ""
    command: Annotated[tuple[str, ...], Meta(min_length=1, max_length=10_000)]
    env: dict[str, str] = {}
    secret_files: dict[str, str] = {}
    priority: Annotated[int, Meta(ge=-1_000_000, le=1_000_000)] = 0
    retries: Annotated[int, Meta(ge=0, le=100)] = 0
    timeout: Annotated[int, Meta(ge=1, le=_LONGEST)] | None = None
    idempotency: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    #: what the class was called before, still understood
    older_class: Annotated[str, Meta(max_length=128)] = ""

    def __post_init__(self) -> None:
        """Take the class by either of its names, and exactly one."""
        if self.job_class and self.older_class:
            raise ValueError("`job_class` is the older name of `class`: say one of them")
        if not (self.job_class or self.older_class):
            raise ValueError("Object missing required field `class`")
        structs.force_setattr(self, "job_class", self.job_class or self.older_class)
        structs.force_setattr(self, "older_class", "")


class Batch(Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs to be run, taken in together or not at all."""

    jobs: Annotated[tuple[Submit, ...], Meta(min_length=1, max_length=10_000)]


class Submitted(Struct, frozen=True):
    """The job's number; `is_new` is False when the same key was handed in before."""

    job: int
    is_new: bool


class BatchSubmitted(Struct, frozen=True):
    """The numbers of the jobs, in their order."""

    jobs: tuple[Submitted, ...]


class JobList(Struct, frozen=True):
    """Jobs, newest first, and how many there are by state."""

    jobs: tuple[Job, ...]
    counts: dict[str, int]
    #: how many there are of the kind that was asked for, these and older ones
    total: int = 0


class Ahead(Struct, frozen=True):
    """How many waiting jobs of the same class come before one."""

    job: int
    ahead: int


class QueueHost(Struct, frozen=True):
    """A host that takes from a queue which several share; times are by the clock of the queue's server."""

    host: str
    #: the computer and the process
    holder: str
    lease_ms: int
    #: how long ago it showed a sign of life
    silent_ms: int
    #: another host has ended its lease, or it has left
    is_ended: bool = False
    #: jobs that run there
    running: int = 0
    #: jobs that wait for it alone, because of their secrets
    bound: int = 0
    classes: tuple[str, ...] = ()


class QueueHosts(Struct, frozen=True):
    """Every host that shares a queue, by name."""

    hosts: tuple[QueueHost, ...]


class Changed(Struct, frozen=True):
    """The state a job was in before."""

    job: int
    before: JobState


class Selection(Struct, frozen=True, forbid_unknown_fields=True, rename=_CLASS):
    """Which jobs to change: those of some states, of a class if one is named, and none that is newer than `up_to`."""

    states: Annotated[tuple[JobState, ...], Meta(min_length=1)]
    up_to: Annotated[int, Meta(ge=1)]
    job_class: str | None = None


class AllChanged(Struct, frozen=True):
    """The jobs that were changed, and the state of each before."""

    jobs: tuple[Changed, ...]
