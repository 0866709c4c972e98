"""
Machines and their lifecycle, as one transition table.

In a pool, booting is `creating`, warm is `idle` and busy is `configured` with a job. `ended` is not a state of the
table: it is the fact, reported by a provider, that the thing itself is over, and leads to `deleting` from anywhere.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from remuda.errors import InvariantError
from remuda.model.times import Instant


class State(StrEnum):
    """Where a machine is in its life."""

    SPECULATIVE = "speculative"
    CREATING = "creating"
    IDLE = "idle"
    CONFIGURING = "configuring"
    CONFIGURED = "configured"
    DRAINING = "draining"
    DELETING = "deleting"
    FAILED = "failed"


#: Every step a machine may take, and why it takes it. Only the states in motion can fail.
TRANSITIONS: Mapping[State, Mapping[State, str]] = MappingProxyType(
    {
        State.SPECULATIVE: {State.CREATING: "it is wanted"},
        State.CREATING: {State.IDLE: "it booted", State.FAILED: "it did not boot"},
        State.IDLE: {State.CONFIGURING: "it was given work", State.DELETING: "it is not needed"},
        State.CONFIGURING: {State.CONFIGURED: "its work began", State.FAILED: "its work did not begin"},
        State.CONFIGURED: {State.DRAINING: "its work ends, or it takes no more"},
        State.DRAINING: {
            State.IDLE: "it may be used again",
            State.DELETING: "it is used up",
            State.FAILED: "it did not drain",
        },
        State.DELETING: {State.SPECULATIVE: "it is gone", State.FAILED: "it did not go"},
        State.FAILED: {State.DELETING: "it is cleaned up"},
    }
)


def check_transition(name: str, story: tuple[State, ...], after: State) -> None:
    """Raise `InvariantError` with the machine's story when its last state does not lead to `after`."""
    if story and after not in TRANSITIONS[story[-1]]:
        message = " → ".join((*story, after))
        right = ", ".join(TRANSITIONS[story[-1]])
        raise InvariantError(f"machine {name} cannot go {message}: {story[-1]} leads only to {right}")


class Ended(Struct, frozen=True, gc=False):
    """
    The machine itself is over. `code` is a stable word.

    `finished`, `closed`, `idle` and `orphaned` are proper ends; `boot`, `crashed`, `lost` and `vanished` are not.
    """

    code: str
    detail: str = ""


class Machine(Struct, frozen=True, gc=False):
    """One machine as it was observed. Instants are absolute; nothing here changes while nothing happens."""

    name: str
    pool: str
    state: State
    #: digest of the effective template it was made from
    template: str
    created_at: Instant
    #: when it entered its state
    since: Instant
    #: first became able to take work
    ready_at: Instant | None = None
    #: what it works on, when it is busy
    job: str | None = None
    #: how many jobs it has taken
    uses: int = 0
    #: set once the thing behind it is gone
    ended: Ended | None = None
    #: what keeps it from becoming ready, in the provider's words
    trouble: str = ""
    #: the order it was made for, where that is not its name; empty when unknown
    order: str | None = None
    #: it is up, and nobody has ever said whether it works
    unsure: bool = False
    #: powered off, it takes no more work and ends the job it has before it goes
    drains: bool = False
    #: whoever ends it may end a job with it: its source cannot keep it from taking one, and it would not end it first
    abrupt: bool = False
    #: its provider's own identity of it, where there is one: names may be used again
    uid: str = ""

    @property
    def identity(self) -> str:
        """What distinguishes it from any other machine of its name."""
        return self.uid or str(self.created_at)

    @property
    def is_busy(self) -> bool:
        """True while a job depends on it."""
        return self.job is not None


class Supplied(Struct, frozen=True, gc=False):
    """A machine as its provider sees it, which knows nothing of jobs."""

    name: str
    pool: str
    template: str
    created_at: Instant
    ready_at: Instant | None = None
    ended: Ended | None = None
    #: it was asked to go and ends what it does first
    leaving: bool = False
    #: what keeps it from becoming ready
    trouble: str = ""
    #: the order it was made for, where that is not its name; empty when unknown
    order: str | None = None
    #: the class it was made for, where the provider knows
    job_class: str | None = None
    #: deleted while it is up, it takes no more work and ends the job it has before it goes
    drains: bool = False
    #: distinguishes this boot from every other one of its name; the machine knows it and calls itself by `worker_name`
    boot: str = ""
    #: the provider's own identity of it, where there is one: names may be used again
    uid: str = ""
    #: it is leaving and down: whatever its source last heard of it, nothing runs on it any more
    is_down: bool = False

    @property
    def identity(self) -> str:
        """What distinguishes it from any other machine of its name."""
        return self.uid or str(self.created_at)

    def is_expected(self, expected: str) -> bool:
        """Whether an expectation is about this machine; earlier versions wrote down when it was created."""
        return expected in (self.identity, str(self.created_at))


class Confinement(Struct, frozen=True):
    """What holds the jobs of a machine in, as pairs of a name and words for a person."""

    facts: tuple[tuple[str, str], ...]


class Order(Struct, frozen=True):
    """What a provider is asked to make. `settings` are the provider's own words from the pool's template."""

    name: str
    pool: str
    template: str
    created_at: Instant
    idle_timeout: int | None
    settings: dict[str, object]


def machine_name(pool: str, operation: int) -> str:
    """The name of the machine that an operation makes: unique, because operation ids are."""
    return f"{pool}-{operation}"


def worker_name(machine: str, boot: str) -> str:
    """What a machine calls itself to its source: its name, and which boot of that name it is."""
    return f"{machine}.{boot}" if boot else machine


def pool_of(machine: str) -> str:
    """The pool in a machine's name."""
    return machine.rpartition("-")[0]


def number_of(machine: str) -> int:
    """The operation that made a machine, by its name; 0 for a name without one."""
    number = machine.rpartition("-")[2]
    return int(number) if number.isascii() and number.isdecimal() else 0
