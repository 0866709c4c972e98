"""Random pools at random moments, by seed: what sentences are made of."""

from random import Random

from remuda.model.machines import Ended, Machine, State
from remuda.model.needs import Need
from remuda.model.plans import Operation, Outcome, Reason
from remuda.model.times import MINUTE, SECOND
from remuda.pools.decide.model import (
    Bounds,
    Create,
    Memory,
    Override,
    Policy,
    PoolAction,
    PoolMemory,
    PoolPolicy,
    PoolSeen,
    Snapshot,
)

NOW = 1_767_571_200_000
#: how machines end, and what is said of it
ENDS = ("finished", "idle", "closed", "orphaned", "boot", "crashed", "lost", "vanished")


def world(seed: int) -> tuple[Snapshot, Memory, Policy]:
    """What is seen, remembered and set."""
    dice = Random(seed)
    names = ["nix", "shell", "tall"][: dice.randint(1, 3)]
    policy = Policy(
        {name: _policy(dice, name) for name in names},
        {"laptop": dice.randint(0, 12)},
        concurrency={"org": dice.randint(1, 20)},
    )
    if dice.random() < 0.1:
        policy.pools.pop(names[0])
        if dice.random() < 0.5:
            policy = Policy(policy.pools, policy.ceilings, (names[0],), policy.concurrency)
    seen = tuple(_seen(dice, name) for name in names)
    operations = tuple(_operation(dice, number, name) for number, name in enumerate(names * 2, 900))
    memory = Memory({name: _memory(dice, name) for name in names if dice.random() < 0.7})
    return Snapshot(seen, operations if dice.random() < 0.3 else ()), memory, policy


def _policy(dice: Random, name: str) -> PoolPolicy:
    low = dice.choice([0, 0, 1, 3])
    return PoolPolicy(
        name=name,
        job_class=f"local/{name}",
        template="new",
        bounds=Bounds(low, low + dice.choice([0, 2, 8]), dice.choice([0, 1]), dice.choice([0, 50])),
        max_surge=dice.choice([None, None, 1, 3]),
        scale_down_delay=dice.choice([0, 0, 30 * SECOND]),
        natural=dice.random() < 0.15,
        idle_window=dice.choice([0, 0, MINUTE]),
        ceiling=dice.choice([None, "laptop"]),
        priority=dice.choice([0, 10]),
        organisation=dice.choice([None, None, "org"]),
        reused=dice.random() < 0.3,
    )


def _seen(dice: Random, name: str) -> PoolSeen:
    need = Need(dice.choice([0, 0, 1, 9]), dice.choice([0, 2]), NOW - MINUTE if dice.random() < 0.1 else None)
    return PoolSeen(
        name,
        None if dice.random() < 0.05 else need,
        tuple(_machine(dice, f"{name}-{number}", name) for number in range(dice.choice([0, 1, 3, 8]))),
        dice.choice(
            [Override()] * 12
            + [
                Override(paused=True),
                Override(draining=True),
                Override(min=2),
                Override(finish_rollout="new", finish_rollout_at=NOW),
            ]
        ),
        dice.choice([""] * 12 + ["KubeVirt is not installed"]),
    )


def _machine(dice: Random, name: str, pool: str) -> Machine:
    state = dice.choice(
        [State.IDLE] * 6 + [State.CONFIGURED] * 4 + [State.CREATING, State.DRAINING, State.FAILED]
    )
    ended = None
    if dice.random() < 0.08:
        ended = Ended(dice.choice(ENDS), dice.choice(["", "no such file"]))
    drains = dice.random() < 0.8
    is_up = state is not State.CREATING or dice.random() < 0.3
    return Machine(
        name=name,
        pool=pool,
        state=state,
        template=dice.choice(["new", "new", "new", "old"]),
        created_at=NOW - dice.choice([5, 20]) * MINUTE,
        since=NOW - dice.choice([1, 300]) * SECOND,
        ready_at=NOW - MINUTE if is_up else None,
        job="7" if state is State.CONFIGURED else None,
        uses=1 if state is State.CONFIGURED else 0,
        ended=ended,
        trouble=dice.choice(["", "no node has room"]),
        unsure=state is State.IDLE and dice.random() < 0.2,
        drains=drains,
        abrupt=is_up and not drains and dice.random() < 0.5,
    )


def _operation(dice: Random, number: int, pool: str) -> Operation[PoolAction]:
    action = Create(
        target=f"{pool}/new-{number}",
        expects="new",
        reason=Reason("machine.wanted", f"pool/{pool}"),
        pool=pool,
    )
    return Operation(number, action, dice.choice([None, Outcome("failed", NOW, "no"), Outcome("done", NOW)]))


def _memory(dice: Random, name: str) -> PoolMemory:
    failures = dice.choice([0, 0, 0, 1, 7])
    return PoolMemory(
        wanted=((NOW - 10 * SECOND, 6),) if dice.random() < 0.5 else (),
        failures=failures,
        failed_at=NOW - SECOND if failures else 0,
        retry_at=NOW + 10 * SECOND if failures else 0,
        unsure_since=dice.choice([0, NOW - MINUTE, NOW - 10 * MINUTE]),
        unheard_since={f"{name}-{number}@{NOW - 20 * MINUTE}": NOW - 15 * MINUTE for number in range(4)},
    )
