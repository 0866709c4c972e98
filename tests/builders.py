"""Builders that show only what matters: everything left out is ordinary."""

from remuda.model.machines import Ended, Machine, State, pool_of
from remuda.model.needs import Need
from remuda.model.plans import Operation, Outcome, Plan, Reason
from remuda.model.times import Instant
from remuda.pools.decide.model import (
    Bounds,
    Close,
    Create,
    Delete,
    Hours,
    Override,
    Policy,
    PoolAction,
    PoolPolicy,
    PoolSeen,
    Snapshot,
)

#: the moment most tests are about; 2026-01-05T00:00:00Z, a Monday
NOW: Instant = 1_767_571_200_000
_NO_REASON = Reason("test", "test")


def machine(
    name: str,
    state: State | str = State.IDLE,
    *,
    job: str | None = None,
    template: str = "t",
    created_at: Instant = NOW - 100_000,
    since: Instant = NOW - 50_000,
    ready_at: Instant | None = NOW - 50_000,
    uses: int = 0,
    ended: str | None = None,
    trouble: str = "",
    unsure: bool = False,
    drains: bool = False,
) -> Machine:
    """A machine whose pool is in its name; one with a job is configured, one that ended knows only the code."""
    state = State.CONFIGURED if job is not None and state == State.IDLE else State(state)
    return Machine(
        name=name,
        pool=pool_of(name),
        state=state,
        template=template,
        created_at=created_at,
        since=since,
        ready_at=None if state is State.CREATING else ready_at,
        job=job,
        uses=max(uses, int(job is not None)),
        ended=None if ended is None else Ended(ended),
        trouble=trouble,
        unsure=unsure,
        drains=drains,
    )


def machines(pool: str = "a", *, idle: int = 0, busy: int = 0, creating: int = 0) -> tuple[Machine, ...]:
    """So many of each, numbered from 1 in this order."""
    states = [State.IDLE] * idle + [State.CONFIGURED] * busy + [State.CREATING] * creating
    return tuple(
        machine(f"{pool}-{number}", state, job=str(number) if state is State.CONFIGURED else None)
        for number, state in enumerate(states, 1)
    )


def pool(
    name: str = "a",
    *members: Machine,
    waiting: int = 0,
    running: int = 0,
    stale_since: Instant | None = None,
    unsure_since: Instant | None = None,
    silent: bool = False,
    override: Override | None = None,
) -> PoolSeen:
    """A pool as it is seen; a silent one has a source that never answered."""
    need = None if silent else Need(waiting, running, stale_since, unsure_since)
    return PoolSeen(name, need, members, override or Override())


def snapshot(*pools: PoolSeen, operations: tuple[Operation[PoolAction], ...] = ()) -> Snapshot:
    """Pools at one moment, and what is under way."""
    return Snapshot(tuple(sorted(pools, key=lambda seen: seen.name)), operations)


def settings(
    name: str = "a",
    *,
    min: int = 0,  # noqa: A002 - the word of the object
    max: int = 10,  # noqa: A002 - the word of the object
    headroom: int = 0,
    headroom_percent: int = 0,
    hours: tuple[Hours, ...] = (),
    max_surge: int | None = None,
    scale_down_delay: int = 0,
    natural: bool = False,
    idle_window: int = 0,
    boot_timeout: int = 600_000,
    template: str = "t",
    ceiling: str | None = None,
    guaranteed: int = 0,
    priority: int = 0,
    weight: int = 1,
    organisation: str | None = None,
    reused: bool = False,
) -> PoolPolicy:
    """A pool's settings; bounds are 0 to 10."""
    return PoolPolicy(
        name=name,
        job_class=f"class-{name}",
        template=template,
        bounds=Bounds(min, max, headroom, headroom_percent),
        hours=hours,
        max_surge=max_surge,
        scale_down_delay=scale_down_delay,
        natural=natural,
        idle_window=idle_window,
        boot_timeout=boot_timeout,
        ceiling=ceiling,
        guaranteed=guaranteed,
        priority=priority,
        weight=weight,
        organisation=organisation,
        reused=reused,
    )


def policy(*pools: PoolPolicy, **ceilings: int) -> Policy:
    """Pools and the ceilings they share: `policy(settings("a", ceiling="roof"), roof=6)`."""
    return Policy({each.name: each for each in pools}, ceilings)


def creation(
    number: int, name: str = "a", slot: int = 1, outcome: str | None = None
) -> Operation[PoolAction]:
    """An operation that makes the machine `NAME-NUMBER`."""
    action = Create(target=f"{name}/new-{slot}", expects="t", reason=_NO_REASON, pool=name)
    return Operation(number, action, _outcome(outcome))


def closing(number: int, target: str, outcome: str | None = None) -> Operation[PoolAction]:
    """An operation that tells a machine to take no more work."""
    action = Close(target=target, expects="idle", reason=_NO_REASON, pool=pool_of(target))
    return Operation(number, action, _outcome(outcome))


def deletion(number: int, target: str, outcome: str | None = None) -> Operation[PoolAction]:
    """An operation that removes a machine."""
    action = Delete(target=target, expects=str(NOW - 100_000), reason=_NO_REASON, pool=pool_of(target))
    return Operation(number, action, _outcome(outcome))


def _outcome(status: str | None) -> Outcome | None:
    return None if status is None else Outcome(status, NOW - 1)


def actions_of(plan: Plan[PoolAction]) -> list[str]:
    """A plan's actions in short: `create a/new-1`, `close a-1 machine.surplus`, `delete a-2 machine.crashed`."""
    return [
        f"create {action.target}"
        if isinstance(action, Create)
        else f"{type(action).__name__.lower()} {action.target} {action.reason.code}"
        for action in plan.actions
    ]


def reason_of(plan: Plan[PoolAction], name: str = "a") -> Reason:
    """The reason of one pool."""
    return next(reason for reason in plan.reasons if reason.subject == f"pool/{name}")
