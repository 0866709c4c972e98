"""What happens in a simulated world of pools: its configuration, its jobs, its faults and what people do to it."""

import random
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, structs

from remuda.loop.loop import Pace
from remuda.model.times import MINUTE, SECOND
from remuda.pools.decide.model import Bounds, Hours, Override, Policy, PoolPolicy
from remuda.pools.policy import PoolSetup, Setup
from remuda.rules.windows import Window
from remuda.sim.faults import Fault
from remuda.sim.provider import Behaviour


class Arrival(Struct, frozen=True, gc=False):
    """A job that is handed in, and perhaps cancelled some seconds later."""

    at: float
    job_class: str
    seconds: float
    exit_code: int = 0
    retries: int = 0
    priority: int = 0
    cancelled_after: float | None = None


class Reload(Struct, frozen=True):
    """The configuration changes."""

    at: float
    setup: Setup


class Hand(Struct, frozen=True):
    """An operator sets or clears a pool's override. `rolls_out` orders the rollout of the present template at once."""

    at: float
    pool: str
    override: Override = Override()
    rolls_out: bool = False


class Jump(Struct, frozen=True):
    """The wall clock is set by so many milliseconds."""

    at: float
    ms: int


class Pause(Struct, frozen=True):
    """The loop is paused for some seconds."""

    at: float
    seconds: float


class Backup(Struct, frozen=True):
    """Someone copies the store while it is in use."""

    at: float


class Recovery(Struct, frozen=True):
    """The process dies, and the next one finds the last copy of the store in its place; without one, nothing."""

    at: float
    from_backup: bool = False


Event: TypeAlias = Arrival | Reload | Hand | Jump | Pause | Backup | Recovery


class Scenario(Struct, frozen=True):
    """
    A world and its history. After `seconds` faults stop, hands are taken off, and everything must settle.

    A `light` world has a queue and a record in memory and no process that dies: for scale.
    """

    setup: Setup
    events: tuple[Event, ...]
    seconds: float
    behaviour: Behaviour = Behaviour()
    faults: Mapping[str, Fault] = {}
    #: chance that nobody notices that a machine which waits for work is gone
    unnoticed: float = 0.0
    pace: Pace = Pace(interval=5.0, gap=0.5)
    light: bool = False


def pool_setup(policy: PoolPolicy, *, max_uses: int | None, idle_timeout: int | None = None) -> PoolSetup:
    """What act needs of a simulated pool."""
    return PoolSetup(
        name=policy.name,
        job_class=policy.job_class,
        source="queue",
        provider="sim",
        template=policy.template,
        settings={},
        idle_timeout=idle_timeout,
        max_uses=max_uses,
        job_timeout=0,
    )


def hostile(seed: int, *, seconds: float = 1_800.0) -> Scenario:
    """A random world in which everything that can go wrong does: one seed, one history."""
    dice = random.Random(f"hostile {seed}")
    setup = _setup(dice)
    events: list[Event] = [*_jobs(dice, setup, seconds), *_meddling(dice, setup, seconds)]
    events += _recoveries(random.Random(f"recoveries {seed}"), setup, seconds)
    events.sort(key=lambda event: event.at)
    behaviour = Behaviour(
        boot_s=dice.choice((1.0, 5.0, 20.0)),
        boot_spread=0.5,
        fails=dice.choice((0.0, 0.1, 0.4)),
        hangs=dice.choice((0.0, 0.05)),
        loops=dice.choice((0.0, 0.05, 0.2)),
        life_s=dice.choice((None, 120.0, 600.0)),
    )
    return Scenario(
        setup,
        tuple(events),
        seconds,
        behaviour,
        _faults(dice),
        unnoticed=0.3,
        pace=Pace(interval=dice.choice((5.0, 10.0)), gap=dice.choice((0.2, 2.0, 4.0)), stop_grace=1.0),
    )


def _faults(dice: random.Random) -> dict[str, Fault]:
    slow, slow_disk = dice.choice((1.0, 10.0)), dice.choice((0.1, 2.0))
    crash = dice.choice((0.0, 0.001, 0.004))
    shaky = dice.choice((0.0, 0.02, 0.1))
    return {
        "provider.list": Fault(delay=0.1, fail=shaky, longest_delay_s=1),
        "provider.create": Fault(delay=0.5, fail=shaky, longest_delay_s=slow),
        "provider.created": Fault(delay=0.3, fail=shaky, longest_delay_s=slow),
        "provider.delete": Fault(delay=0.3, fail=shaky, longest_delay_s=slow),
        "provider.deleted": Fault(delay=0.5, fail=shaky, longest_delay_s=slow),
        "call.sent": Fault(delay=0.2, fail=shaky, longest_delay_s=0.2),
        "call.answered": Fault(delay=0.2, fail=shaky, longest_delay_s=0.2),
        "store.commit": Fault(delay=0.5, fail=shaky / 10, crash=crash, longest_delay_s=slow_disk),
        "store.committed": Fault(delay=0.1, crash=crash, longest_delay_s=slow_disk / 2),
        **{
            f"queue.{step}": Fault(delay=0.1, crash=crash, longest_delay_s=0.2)
            for step in ("exchanged", "forgot", "submitted")
        },
        **{
            f"loop.{step}": Fault(delay=0.1, crash=crash, longest_delay_s=0.5)
            for step in ("decided", "recorded", "acting", "acted")
        },
    }


def _setup(dice: random.Random) -> Setup:
    ceilings = {f"ceiling-{number}": dice.randint(3, 8) for number in range(dice.randint(0, 2))}
    # One place is promised to nobody, so that pools without a promise are served in the end too.
    left = {name: limit - 1 for name, limit in ceilings.items()}
    pools, setups = {}, {}
    for number in range(dice.randint(2, 6)):
        name = f"pool{number}"
        ceiling = dice.choice((*ceilings, None)) if dice.random() < 0.7 else None
        policy = roll_policy(dice, name, ceiling, left)
        natural_holds_room = policy.natural and ceiling is not None
        idle_timeout = dice.randint(60, 180) * SECOND if natural_holds_room or dice.random() < 0.3 else None
        max_uses = dice.choice((1, 1, None, 3))
        pools[name] = structs.replace(policy, reused=max_uses != 1)
        setups[name] = pool_setup(policy, max_uses=max_uses, idle_timeout=idle_timeout)
    return Setup(Policy(pools, ceilings), setups)


def roll_policy(dice: random.Random, name: str, ceiling: str | None, left: dict[str, int]) -> PoolPolicy:
    """Settings by chance. Guarantees and minima of a ceiling's members add up to what it holds at most."""
    most = dice.randint(2, 8)
    least = dice.randint(0, min(3, most))
    guaranteed = 0
    if ceiling is not None:
        least = min(least, left[ceiling])
        guaranteed = dice.randint(0, left[ceiling] // 2)
        left[ceiling] -= max(least, guaranteed)
    hours: tuple[Hours, ...] = ()
    if dice.random() < 0.4:
        opens = dice.randint(1, 15)
        window = Window(f"{opens} * * * *", f"{opens + dice.randint(3, 20)} * * * *", "UTC")
        hours = (
            Hours(window, Bounds(dice.randint(0, least), most + dice.randint(0, 4), dice.randint(0, 2))),
        )
    return PoolPolicy(
        name=name,
        job_class=f"class-{name}",
        template="t0",
        bounds=Bounds(least, most, dice.choice((0, 0, 1, 2)), dice.choice((0, 50))),
        hours=hours,
        max_surge=dice.choice((None, None, 1, 3)),
        scale_down_delay=dice.choice((0, 30 * SECOND, 2 * MINUTE)),
        natural=dice.random() < 0.15,
        idle_window=dice.choice((0, 0, 10 * SECOND)),
        boot_timeout=dice.choice((30, 60)) * SECOND,
        ceiling=ceiling,
        guaranteed=guaranteed,
        priority=dice.choice((0, 0, 1)),
        weight=dice.randint(1, 3),
    )


def _jobs(dice: random.Random, setup: Setup, seconds: float) -> list[Arrival]:
    jobs = []
    classes = [pool.job_class for pool in setup.pools.values()]
    for _ in range(dice.randint(15, 40)):
        at, job_class = dice.uniform(0, seconds), dice.choice(classes)
        jobs += [
            Arrival(
                at=at + dice.uniform(0, 5),
                job_class=job_class,
                seconds=dice.lognormvariate(3, 1),
                exit_code=int(dice.random() < 0.1),
                retries=dice.choice((0, 1, 3)),
                priority=dice.choice((0, 0, 1)),
                cancelled_after=dice.uniform(0, 60) if dice.random() < 0.08 else None,
            )
            for _ in range(dice.randint(1, 8))
        ]
    return jobs


def _meddling(dice: random.Random, setup: Setup, seconds: float) -> list[Event]:
    events: list[Event] = []
    names = list(setup.pools)
    for number in range(dice.randint(3, 12)):
        at, pool = dice.uniform(0, seconds), dice.choice(names)
        match dice.randrange(8):
            case 0:
                setup = changed(setup, pool, template=f"t{number + 1}")
                events.append(Reload(at, setup))
            case 1:
                setup = changed(setup, pool, template=f"t{number + 1}")
                events += [Reload(at, setup), Hand(at + 5, pool, rolls_out=True)]
            case 2:
                events.append(Hand(at, pool, Override(max=dice.randint(0, 6))))
            case 3:
                events.append(Hand(at, pool, Override(min=dice.randint(0, 12))))
            case 4:
                events += [Hand(at, pool, Override(paused=True)), Hand(at + 120, pool)]
            case 5:
                events += [Hand(at, pool, Override(draining=True)), Hand(at + 200, pool)]
            case 6:
                events.append(Jump(at, dice.choice((-600, -5, 5, 60, 900)) * SECOND))
            case _:
                events += lowered(dice, setup, at) or [Pause(at, dice.uniform(1, 60))]
    # Reloads follow each other in the order they were thought of, whenever they come.
    reloads = [event for event in events if isinstance(event, Reload)]
    times = sorted(event.at for event in reloads)
    moved = {id(event): structs.replace(event, at=at) for event, at in zip(reloads, times, strict=True)}
    return [moved.get(id(event), event) for event in events]


def _recoveries(dice: random.Random, setup: Setup, seconds: float) -> list[Event]:
    """
    In half of the worlds the store is lost, or an older copy restored, and often all pools are drained then.

    Long jobs begin right after a copy was made, so that machines which it knows as idle work on what it does not know.
    """
    events: list[Event] = []
    pools = list(setup.pools)
    for _ in range(dice.choice((0, 0, 1, 2))):
        at = dice.uniform(0.1, 0.9) * seconds
        from_backup = dice.random() < 0.6
        if from_backup:
            copied_at = at - dice.uniform(1, 120)
            events.append(Backup(copied_at))
            for _ in range(dice.randint(0, 4)):
                job_class = setup.pools[dice.choice(pools)].job_class
                length = at - copied_at + dice.uniform(20, 200)
                events.append(Arrival(copied_at + dice.uniform(0, 1), job_class, length))
        events.append(Recovery(at, from_backup))
        if dice.random() < 0.5:
            events += [Hand(at + dice.uniform(0, 5), pool, Override(draining=True)) for pool in pools]
            events += [Hand(at + 200, pool) for pool in pools]
    return events


def lowered(dice: random.Random, setup: Setup, at: float) -> list[Event]:
    """A ceiling falls to what is promised under it, perhaps below what is busy, and rises again."""
    if not setup.policy.ceilings:
        return []
    name = dice.choice(list(setup.policy.ceilings))
    least = sum(
        max(pool.guaranteed, pool.bounds.min, *(hours.bounds.min for hours in pool.hours))
        if pool.hours
        else max(pool.guaranteed, pool.bounds.min)
        for pool in setup.policy.pools.values()
        if pool.ceiling == name
    )
    ceilings = {**setup.policy.ceilings, name: least + 1}
    lowered = Setup(structs.replace(setup.policy, ceilings=ceilings), setup.pools)
    return [Reload(at, lowered), Reload(at + 240, setup)]


def without(setup: Setup, pool: str) -> Setup:
    """The same without one pool."""
    pools = {name: policy for name, policy in setup.policy.pools.items() if name != pool}
    setups = {name: mine for name, mine in setup.pools.items() if name != pool}
    return Setup(structs.replace(setup.policy, pools=pools), setups)


def changed(setup: Setup, pool: str, *, template: str) -> Setup:
    """The same with another template of one pool."""
    policy = structs.replace(setup.policy.pools[pool], template=template)
    pools = {**setup.policy.pools, pool: policy}
    setups = {**setup.pools, pool: structs.replace(setup.pools[pool], template=template)}
    return Setup(structs.replace(setup.policy, pools=pools), setups)
