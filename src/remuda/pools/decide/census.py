"""A pool's machines sorted by what can be done with them, together with the operations under way on them."""

from collections.abc import Sequence

from msgspec import Struct

from remuda.model.machines import Machine, State, machine_name
from remuda.model.plans import Operation
from remuda.model.times import Instant
from remuda.pools.decide.model import Create, PoolAction, PoolMemory, PoolPolicy, PoolSeen

#: endings of a machine that did what it was for; any other ending before its first job is a failure
PROPER_ENDS = frozenset({"finished", "idle", "closed", "orphaned"})

#: characters of a failure's detail that are kept
_LONGEST = 300
_NOBODY: tuple[Machine, ...] = ()
_NOTHING: frozenset[str] = frozenset()
_NEVER: dict[str, Instant] = {}  # shared, so never written to
_IDLE, _CONFIGURED, _CONFIGURING, _DRAINING = (
    State.IDLE,
    State.CONFIGURED,
    State.CONFIGURING,
    State.DRAINING,
)


class Census(Struct, gc=False):
    """Who is where. `moving` machines have an operation under way and are left alone."""

    idle: Sequence[Machine]
    #: with a job, whatever else is true of them: told to take no more work, or with an operation under way
    busy: Sequence[Machine]
    #: machines of another template than the pool's, those that are over left out
    old: int
    #: machines that work or could work now
    ready: int
    #: machines that serve or will serve, those being made included
    live: int
    #: what counts against a maximum or a ceiling: all that may still use the host, also on its way out
    taking_room: int
    #: of the idle ones, those of which nobody ever said that they are
    unsure: int = 0
    #: of the busy ones, those that take no more jobs, or are just being told so
    retiring: int = 0
    #: everyone is idle or busy and nothing is under way, so that all below is empty
    settled: bool = True
    creating: Sequence[Machine] = _NOBODY
    #: of these, how many are up for longer than a boot may take and stay, because a job may run on them unnoticed
    lingering: int = 0
    draining: Sequence[Machine] = _NOBODY
    #: over by themselves or failed: only to be cleaned up
    dead: Sequence[Machine] = _NOBODY
    #: still booting after the time it is given
    overdue: Sequence[Machine] = _NOBODY
    #: as overdue, though it is up: its source has not listed it for as long, the one that waits longest first
    unheard: Sequence[Machine] = _NOBODY
    #: all that are up and not listed yet → since when; each name with its moment of creation
    unheard_since: dict[str, Instant] = _NEVER
    moving: Sequence[Machine] = _NOBODY
    #: how many `Create` operations are under way whose machine is not to be seen yet
    pending: int = 0
    #: targets not to be touched in this cycle, machines whose own creation is still under way included
    occupied: frozenset[str] = _NOTHING
    #: machines and creations that failed and were not counted before
    failures: int = 0
    #: machines still to be seen whose failure was counted, now or before; each name with its moment of creation
    failed: tuple[str, ...] = ()
    #: what is known of the last of these failures
    failure: str = ""

    @property
    def booting(self) -> int:
        """Machines that are being made."""
        return len(self.creating) + self.pending


def take_census(
    seen: PoolSeen,
    policy: PoolPolicy,
    memory: PoolMemory,
    operations: list[Operation[PoolAction]] | None,
    now: Instant,
) -> Census:
    """Sort the machines of one pool; operations are those of this pool alone."""
    idle: list[Machine] = []
    busy: list[Machine] = []
    others: list[Machine] = []
    old, unsure, retiring, template = 0, 0, 0, policy.template
    for machine in seen.machines:
        if machine.ended is not None:
            others.append(machine)
            continue
        if machine.template != template:
            old += 1
        if machine.state is _IDLE and machine.job is None:
            idle.append(machine)
            if machine.unsure:
                unsure += 1
        elif machine.job is not None or machine.state is _CONFIGURED or machine.state is _CONFIGURING:
            busy.append(machine)
            if machine.state is _DRAINING:
                retiring += 1
        else:
            others.append(machine)
    count = len(idle) + len(busy)
    census = Census(idle, busy, old, count, count, count, unsure, retiring)
    if operations or others:
        _add_others(census, others, operations or [], seen, memory, now, now - policy.boot_timeout)
    return census


def _add_others(
    census: Census,
    others: list[Machine],
    operations: list[Operation[PoolAction]],
    seen: PoolSeen,
    memory: PoolMemory,
    now: Instant,
    late: Instant,
) -> None:
    """Sort those that are neither idle nor busy, and set apart whoever has an operation under way."""
    census.settled = False
    targets = _note_operations(census, operations, seen)
    if targets:
        census.retiring = sum(m.state is _DRAINING or m.name in targets for m in census.busy)
    moving = [machine for machine in census.idle if machine.name in targets]
    if moving:
        census.idle = [machine for machine in census.idle if machine.name not in targets]
        census.unsure = sum(machine.unsure for machine in census.idle)
    creating: list[Machine] = []
    unheard: list[Machine] = []
    draining, dead, overdue, failed = [], [], [], []
    unheard_since: dict[str, Instant] = {}
    may_end_unheard = _adds_up(seen, census)
    for machine in others:
        name, state = machine.name, machine.state
        identity = identity_of(machine)
        # A memory of an earlier version has the second in which it was created.
        known = {identity, f"{name}@{machine.created_at}"}
        has_failed = False
        if machine.ended is not None or state is State.FAILED:
            dead.append(machine)
            has_failed = _is_failure(machine)
        elif name in targets or state is State.DELETING:
            moving.append(machine)
        elif state is State.DRAINING:
            draining.append(machine)
        elif machine.ready_at is not None:
            since = unheard_since[identity] = min(now, *(memory.unheard_since.get(key, now) for key in known))
            has_failed = may_end_unheard and since <= late
            (unheard if has_failed else creating).append(machine)
            census.lingering += since <= late and not has_failed
        elif machine.created_at <= late:
            overdue.append(machine)
            has_failed = True
        else:
            creating.append(machine)
        if not known.isdisjoint(memory.failed):
            failed.append(identity)
        elif has_failed:
            failed.append(identity)
            # What ends while we end it did not fail.
            if name not in targets:
                census.failures += 1
                census.failure = _failure_text(machine)
    census.creating, census.draining, census.dead = creating, draining, dead
    census.overdue, census.moving, census.failed = overdue, moving, tuple(failed)
    unheard.sort(key=lambda machine: (unheard_since[identity_of(machine)], machine.name))
    census.unheard, census.unheard_since = unheard, unheard_since
    census.ready = len(census.idle) + len(census.busy)
    census.live = census.ready + len(creating) + census.pending
    census.taking_room = census.live + len(draining) + len(overdue) + len(unheard) + len(moving)


def identity_of(machine: Machine) -> str:
    """What a memory knows a machine by: the next one may have its name again."""
    return f"{machine.name}@{machine.identity}"


def _adds_up(seen: PoolSeen, census: Census) -> bool:
    """
    Whether every task that runs is known to run on some machine.

    Else a machine that its source does not list may have one: what a source leaves out is no proof of anything.
    """
    need = seen.need
    if need is None or need.stale_since is not None or need.unsure_since is not None:
        return False
    return need.running <= len(census.busy)


def _note_operations(
    census: Census, operations: list[Operation[PoolAction]], seen: PoolSeen
) -> frozenset[str]:
    """Count the machines still to appear and the creations that failed; return the targets of operations."""
    orders = {machine.name if machine.order is None else machine.order for machine in seen.machines}
    targets, unsettled = set(), set()
    for operation in operations:
        action, outcome = operation.action, operation.outcome
        if outcome is None:
            targets.add(action.target)
            if isinstance(action, Create):
                # It may be carried out again, and must then find the machine it made, also when that is over.
                unsettled.add(machine_name(action.pool, operation.id))
        elif outcome.status == "failed":
            # Not again in this very cycle: the next one retries.
            targets.add(action.target)
            if isinstance(action, Create):
                census.failures += 1
                census.failure = _shortened(outcome.detail)
    census.pending = len(unsettled - orders)
    census.occupied = frozenset(targets | unsettled)
    return frozenset(targets)


def _is_failure(machine: Machine) -> bool:
    return machine.uses == 0 and (machine.ended is None or machine.ended.code not in PROPER_ENDS)


def _failure_text(machine: Machine) -> str:
    """How a machine failed, in its provider's words as far as it has some."""
    if machine.ended is not None:
        return _shortened(machine.ended.detail or machine.ended.code)
    return _shortened(machine.trouble) or ("" if machine.state is State.FAILED else "not ready in time")


def _shortened(detail: str) -> str:
    """On one line, and short enough to be remembered."""
    line = " ".join(detail.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
