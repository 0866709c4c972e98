"""
What can be seen of pools and machines: functions of the store, so that they work whether or not anything runs.

Everything comes from the last recorded cycle; `seen_at` says how old that is.
"""

from msgspec import Struct

from remuda.errors import NotFound
from remuda.ledger.history import Cycle, cycle_at, newest
from remuda.ledger.sql import Database
from remuda.model.machines import Machine
from remuda.model.plans import Reason
from remuda.model.times import Instant
from remuda.output.words import number, sentence
from remuda.pools.arithmetic import demand
from remuda.pools.controller import LOOP
from remuda.pools.decide.model import Memory, Override, Policy, PoolAction, PoolPolicy, Snapshot
from remuda.pools.kinds import POOL_KINDS

PoolCycle = Cycle[Snapshot, Memory, Policy, PoolAction]
FOREVER = 2**53


class MachineView(Struct, frozen=True, omit_defaults=True):
    """One machine as a person sees it."""

    name: str
    pool: str
    state: str
    since: Instant
    created_at: Instant
    template: str
    is_old: bool = False
    uses: int = 0
    job: str | None = None
    ended: str | None = None


class PoolView(Struct, frozen=True, rename={"job_class": "class"}):
    """One pool as a person sees it: how many machines, how many are wanted, and why."""

    name: str
    job_class: str
    demand: int
    wanted: int
    target: int
    live: int
    ready: int
    busy: int
    idle: int
    creating: int
    leaving: int
    waiting: int
    running: int
    min: int
    max: int
    ceiling: str | None
    template: str
    #: machines that still have an older template
    old: int
    code: str
    why: str
    override: Override
    #: machines that are up, and nobody ever said whether they work
    unknown: int = 0


class PoolsView(Struct, frozen=True):
    """All pools, as of the last cycle."""

    seen_at: Instant
    pools: tuple[PoolView, ...]
    machines: tuple[MachineView, ...]


def last_cycle(db: Database, at: Instant = FOREVER) -> PoolCycle | None:
    """The cycle in force at an instant, the last one by default."""
    return cycle_at(db, LOOP, at, POOL_KINDS)


def pools_view(db: Database) -> PoolsView:
    """All pools and machines."""
    cycle = last_cycle(db)
    if cycle is None:
        return PoolsView(0, (), ())
    reasons = {reason.subject: reason for reason in cycle.plan.reasons}
    pools, machines = [], []
    for seen in cycle.snapshot.pools:
        policy = cycle.policy.pools.get(seen.name)
        pools.append(_pool(reasons[f"pool/{seen.name}"], policy, seen.override))
        machines += [_machine(machine, policy) for machine in seen.machines]
    return PoolsView(cycle.last_at, tuple(pools), tuple(machines))


def pool_view(db: Database, name: str) -> PoolsView:
    """One pool with its machines; `NotFound` names the pools there are."""
    view = pools_view(db)
    found = tuple(pool for pool in view.pools if pool.name == name)
    if not found:
        known = ", ".join(pool.name for pool in view.pools) or "none"
        raise NotFound(f"there is no pool {name}; there is: {known}")
    return PoolsView(view.seen_at, found, tuple(machine for machine in view.machines if machine.pool == name))


def machine_view(db: Database, name: str) -> MachineView:
    """One machine that exists now."""
    for machine in pools_view(db).machines:
        if machine.name == name:
            return machine
    raise NotFound(
        f"there is no machine {name} now; `remuda why machine {name}` says what became of it, if it was one"
    )


def _pool(reason: Reason, policy: PoolPolicy | None, override: Override) -> PoolView:
    terms = reason.terms
    ceiling = terms.get("ceiling")
    return PoolView(
        name=reason.subject.removeprefix("pool/"),
        job_class=policy.job_class if policy else "",
        demand=demand(terms),
        wanted=number(terms, "wanted"),
        target=number(terms, "target"),
        live=number(terms, "live"),
        ready=number(terms, "idle") + number(terms, "busy"),
        busy=number(terms, "busy"),
        idle=number(terms, "idle"),
        creating=number(terms, "creating"),
        leaving=number(terms, "draining") + number(terms, "dead"),
        waiting=number(terms, "unclaimed"),
        running=number(terms, "running"),
        min=number(terms, "min"),
        max=number(terms, "max"),
        ceiling=ceiling if isinstance(ceiling, str) else None,
        template=policy.template if policy else "",
        old=number(terms, "old"),
        code=reason.code,
        why=sentence(reason),
        override=override,
        unknown=number(terms, "unknown"),
    )


def _machine(machine: Machine, policy: PoolPolicy | None) -> MachineView:
    return MachineView(
        name=machine.name,
        pool=machine.pool,
        state=_state(machine),
        since=machine.since,
        created_at=machine.created_at,
        template=machine.template,
        is_old=policy is None or machine.template != policy.template,
        uses=machine.uses,
        job=machine.job,
        ended=f"{machine.ended.code}: {machine.ended.detail}".rstrip(": ") if machine.ended else None,
    )


def _state(machine: Machine) -> str:
    """In one word; whether one is idle of which nobody ever said so is not known."""
    if machine.ended:
        return "ended"
    if machine.is_busy:
        return "busy"
    return "unknown" if machine.unsure else machine.state


class Decision(Struct, frozen=True):
    """Something that was decided, and why."""

    at: Instant
    subject: str
    code: str
    text: str


def last_decisions(db: Database, most: int = 20) -> list[Decision]:
    """The newest decisions about pools and machines, oldest first."""
    return [
        Decision(line.at, line.reason.subject, line.reason.code, sentence(line.reason))
        for line in newest(db, most)
    ]
