"""
The simulated world of pools: the real judgement, loop and controller against machines that boot, work and fail.

The same parts make two worlds: one with the real queue and ledger and a process that dies at any step, and a light one
for scale. Rules that must always hold are checked at every change; a broken one raises `Violation` with the seed.
"""

import random

from remuda.loop.loop import Pace
from remuda.model.times import MINUTE
from remuda.pools.decide.model import Bounds, Policy, PoolPolicy
from remuda.pools.policy import Setup
from remuda.sim.full import FullPoolHistory
from remuda.sim.history import Summary
from remuda.sim.light import LightPoolHistory
from remuda.sim.loop import run
from remuda.sim.pool_history import PoolHistory
from remuda.sim.provider import Behaviour
from remuda.sim.scenario import Arrival, Scenario, hostile, pool_setup
from remuda.sim.watch import Violation
from remuda.sources.queue.queue import Queue

__all__ = ["Scenario", "Summary", "Violation", "day", "hostile", "simulate"]

_HOUR_S = 3_600
#: how the jobs of a working day spread over its hours
_BUSY = (1, 1, 1, 1, 1, 2, 4, 8, 14, 18, 18, 16, 12, 16, 18, 18, 16, 12, 8, 5, 4, 3, 2, 1)


def simulate(scenario: Scenario, seed: int, queue: type[Queue] = Queue) -> Summary:
    """
    Live through a history; the same seed gives the same one. Raises `Violation` when a rule is broken.

    A test hands in a queue that is wrong, to see that this is found out; a light world has none.
    """
    return run(_live(scenario, seed, queue), seed=seed)


async def _live(scenario: Scenario, seed: int, queue: type[Queue]) -> Summary:
    world: PoolHistory = (
        LightPoolHistory(scenario, seed) if scenario.light else FullPoolHistory(scenario, seed, queue)
    )
    try:
        return await world.live()
    finally:
        await world.end()


def day(pools: int = 50, jobs: int = 100_000, seed: int = 1) -> Summary:
    """A day of work in a light world: quiet at night, busy by day, jobs in bursts as pipelines make them."""
    return simulate(_day(pools, jobs, seed), seed)


def _day(pools: int, jobs: int, seed: int) -> Scenario:
    dice = random.Random(f"day {seed}")
    policies, setups = {}, {}
    for number in range(pools):
        name = f"pool{number:03}"
        policies[name] = PoolPolicy(
            name=name,
            job_class=f"class-{name}",
            template="t",
            bounds=Bounds(1, 60, 1),
            scale_down_delay=10 * MINUTE,
            ceiling=f"ceiling{number // 10}",
            weight=1 + number % 3,
            reused=number % 5 != 0,
        )
        setups[name] = pool_setup(policies[name], max_uses=None if policies[name].reused else 1)
    ceilings = {f"ceiling{number}": 300 for number in range((pools + 9) // 10)}
    return Scenario(
        Setup(Policy(policies, ceilings), setups),
        tuple(_arrivals(dice, [policy.job_class for policy in policies.values()], jobs)),
        24.0 * _HOUR_S,
        Behaviour(boot_s=30.0, fails=0.01),
        pace=Pace(interval=10.0, gap=10.0),
        light=True,
    )


def _arrivals(dice: random.Random, classes: list[str], jobs: int) -> list[Arrival]:
    """Bursts of up to four jobs of one class, handed in at once."""
    arrivals: list[Arrival] = []
    while len(arrivals) < jobs:
        hour = dice.choices(range(24), _BUSY)[0]
        at, job_class = (hour + dice.random()) * _HOUR_S, dice.choice(classes)
        arrivals += [
            Arrival(at, job_class, dice.lognormvariate(4.5, 0.8), retries=2)
            for _ in range(min(dice.randint(1, 4), jobs - len(arrivals)))
        ]
    return sorted(arrivals, key=lambda arrival: arrival.at)
