"""Hostile histories of runners with one more thing that goes wrong: agents that nobody lists, a pool that is removed."""

import random

from msgspec import structs

from remuda.sim.circle import Outage
from remuda.sim.runner_scenario import hostile_runners
from remuda.sim.runners import Comes, Deletes, Kill, RunnerEvent, RunnerScenario, Vanishes
from remuda.sim.scenario import Reload, without


def unlisted_runners(seed: int) -> RunnerScenario:
    """
    A hostile history in which CircleCI never lists some agents, and listings lag or are empty for longer than a boot may take.

    The counts of tasks are right: they alone show that a VM nobody lists may be at work. Tasks are long enough for that.
    """
    dice = random.Random(f"unlisted {seed}")
    scenario = hostile_runners(seed, seconds=900.0)
    mood = structs.replace(
        scenario.mood,
        unlisted=dice.choice((0.2, 0.5)),
        lag_s=dice.choice((0.0, 45.0)),
        jump=0.0,
        race=0.0,
        outages=(*scenario.mood.outages, Outage(dice.uniform(0, 300), 400.0, is_empty=dice.random() < 0.5)),
    )
    events = tuple(
        structs.replace(event, seconds=event.seconds + dice.choice((0.0, 400.0)))
        if isinstance(event, Comes)
        else event
        for event in scenario.events
    )
    return structs.replace(scenario, events=events, mood=mood)


def removed_runners(seed: int) -> RunnerScenario:
    """
    A hostile history in which a pool is removed for good.

    Its class is deleted too, or its agents cannot be listed, or the process that knew of it dies; or none of these.
    """
    dice = random.Random(f"removed {seed}")
    scenario = hostile_runners(seed)
    gone, at = dice.choice(sorted(scenario.setup.pools)), dice.uniform(30, 300)
    job_class = scenario.setup.pools[gone].job_class
    before = [event for event in scenario.events if event.at < at]
    # What vanishes from its pool virt-controller makes anew, unasked; and other changes would bring the pool back.
    after = [
        event
        for event in scenario.events
        if event.at >= at
        and not isinstance(event, Vanishes | Reload)
        and not (isinstance(event, Comes) and event.job_class == job_class)
    ]
    last = next((event.setup for event in reversed(before) if isinstance(event, Reload)), scenario.setup)
    trouble: list[RunnerEvent] = []
    mood = scenario.mood
    match dice.randrange(4):
        case 0:
            trouble = [Deletes(at + dice.uniform(-20, 60), job_class)]
        case 1:
            outage = Outage(at + dice.uniform(-20, 60), dice.choice((300.0, 3_000.0)), ("agents",))
            mood = structs.replace(mood, outages=(*mood.outages, outage))
        case 2:
            trouble = [Kill(at + dice.uniform(0, 60), loses_ledger=dice.random() < 0.5)]
        case _:
            pass
    events = sorted((*before, Reload(at, without(last, gone)), *after, *trouble), key=lambda event: event.at)
    return structs.replace(scenario, events=tuple(events), mood=mood, seconds=at + 1_200)
