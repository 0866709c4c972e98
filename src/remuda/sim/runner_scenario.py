"""Random histories of CircleCI runners in which everything that can go wrong does: one seed, one history."""

import random

from msgspec import structs

from remuda.loop.loop import Pace
from remuda.model.times import HOUR, MINUTE, SECOND
from remuda.pools.decide.model import Policy
from remuda.pools.policy import Setup
from remuda.sim.circle import Mood, Outage
from remuda.sim.faults import Fault
from remuda.sim.runners import Comes, Kill, RunnerEvent, RunnerScenario, Vanishes
from remuda.sim.scenario import Reload, changed, lowered, pool_setup, roll_policy
from remuda.sim.vms import Guests

_OUTAGES = (("unclaimed", "running", "agents"), ("unclaimed",), ("running",), ("agents",))


def hostile_runners(seed: int, *, seconds: float = 600.0) -> RunnerScenario:
    """Pools of one or two organisations, with bounds, ceilings and windows, and trouble everywhere."""
    dice = random.Random(f"runners {seed}")
    setup = _setup(dice)
    events: list[RunnerEvent] = [*_tasks(dice, setup, seconds), *_meddling(dice, setup, seconds)]
    events.sort(key=lambda event: event.at)
    return RunnerScenario(
        setup,
        tuple(events),
        seconds,
        _guests(dice),
        _mood(dice, seconds),
        _faults(dice),
        forgets=dice.choice((0.0, 0.5, 1.0)),
        pace=Pace(interval=dice.choice((2.0, 5.0)), gap=dice.choice((0.5, 2.0)), stop_grace=1.0),
    )


def _setup(dice: random.Random) -> Setup:
    ceilings = {"roof": dice.randint(3, 8)} if dice.random() < 0.6 else {}
    left = {name: limit - 1 for name, limit in ceilings.items()}
    concurrency = {f"org{number}": dice.randint(2, 8) for number in range(2) if dice.random() < 0.5}
    pools, setups = {}, {}
    for number in range(dice.randint(1, 3)):
        name, organisation = f"pool{number}", f"org{dice.randrange(2)}"
        # Idle VMs of a natural pool would keep their room under a ceiling for ever.
        natural = dice.random() < 0.2
        policy = structs.replace(
            roll_policy(
                dice, name, None if natural or dice.random() < 0.3 else next(iter(ceilings), None), left
            ),
            job_class=f"{organisation}/{name}",
            natural=natural,
            idle_window=dice.choice((20, 60)) * SECOND,
            boot_timeout=dice.choice((3, 5)) * MINUTE,
            organisation=organisation,
        )
        pools[name] = policy
        setups[name] = structs.replace(pool_setup(policy, max_uses=1), source="circleci", provider="kubevirt")
    return Setup(Policy(pools, ceilings, concurrency=concurrency), setups)


def _guests(dice: random.Random) -> Guests:
    return Guests(
        boot_s=dice.choice((5.0, 15.0)),
        install_s=dice.choice((5.0, 20.0)),
        slowness_s=dice.choice((1.0, 10.0)),
        fails=dice.choice((0.0, 0.1, 0.3)),
        hangs=dice.choice((0.0, 0.05)),
        mute=dice.choice((0.0, 0.05, 0.2)),
        life_s=dice.choice((None, 120.0, 600.0)),
        spite=dice.choice((0.0, 0.3, 1.0)),
        idle_timeout_s=dice.choice((None, None, 120.0)),
        short_grace=dice.choice((0.0, 0.0, 0.5, 1.0)),
        plain_name=dice.choice((0.0, 0.0, 0.3, 1.0)),
    )


def _mood(dice: random.Random, seconds: float) -> Mood:
    shaky = dice.choice((0.0, 0.01, 0.1))
    return Mood(
        latency_s=dice.choice((0.05, 0.5)),
        slow=shaky / 10,
        error=shaky,
        limited=shaky / 5,
        nonsense=shaky,
        jump=dice.choice((0.0, 0.01, 0.05)),
        unreadable=dice.choice((0.0, 0.05)),
        race=dice.choice((0.0, 0.05, 0.2)),
        lag_s=dice.choice((0.0, 5.0, 45.0)),
        skew_s=dice.choice((1, 10, 100, 1_000)) * dice.uniform(-3, 3),
        kept=dice.choice((12 * HOUR, 5 * MINUTE)),
        by_name=dice.random() < 0.4,
        outages=tuple(
            Outage(
                dice.uniform(0, seconds),
                dice.choice((5.0, 60.0, 240.0)),
                dice.choice(_OUTAGES),
                is_empty=dice.random() < 0.3,
            )
            for _ in range(dice.randint(0, 3))
        ),
    )


def _faults(dice: random.Random) -> dict[str, Fault]:
    shaky, slow = dice.choice((0.0, 0.02, 0.15)), dice.choice((1.0, 10.0))
    crash = dice.choice((0.0, 0.005, 0.02))
    steps = ("loop.decided", "loop.recorded", "loop.acting", "loop.acted", "store.commit", "store.committed")
    return {
        "provider.list": Fault(delay=0.1, fail=shaky, longest_delay_s=1),
        **{
            f"provider.{step}": Fault(delay=0.3, fail=shaky, crash=crash, longest_delay_s=slow)
            for step in ("create", "created", "delete", "lowered", "deleted")
        },
        **{step: Fault(delay=0.1, crash=crash / 10, longest_delay_s=0.5) for step in steps},
    }


def _tasks(dice: random.Random, setup: Setup, seconds: float) -> list[Comes]:
    """Bursts, as workflows make them."""
    classes = [pool.job_class for pool in setup.pools.values()]
    tasks = []
    for _ in range(dice.randint(3, 9)):
        at, job_class = dice.uniform(0, seconds), dice.choice(classes)
        tasks += [
            Comes(at + dice.uniform(0, 5), job_class, dice.lognormvariate(3.5, 0.8))
            for _ in range(dice.randint(1, 8))
        ]
    return tasks


def _meddling(dice: random.Random, setup: Setup, seconds: float) -> list[RunnerEvent]:
    events: list[RunnerEvent] = []
    for number in range(dice.randint(0, 6)):
        at, pool = dice.uniform(0, seconds), dice.choice(list(setup.pools))
        match dice.randrange(4):
            case 0:
                events.append(Kill(at, loses_ledger=dice.random() < 0.5))
            case 1:
                events.append(Vanishes(at))
            case 2:
                # A change follows the ones before it, whenever they come.
                at = max([at, *(event.at for event in events if isinstance(event, Reload))])
                setup = changed(setup, pool, template=f"t{number + 1}")
                events.append(Reload(at, setup))
            case _:
                if not any(isinstance(event, Reload) for event in events):
                    events += [event for event in lowered(dice, setup, at) if isinstance(event, Reload)]
    return events
