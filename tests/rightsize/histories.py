"""
Histories of memory whose truth is known by construction: small models of processes, run minute by minute.

A process has a base, may fill a cache, follows a load of days and weeks, has bursts and noise, may leak, and is killed when it
comes to its limit. Whether it leaks is a parameter, not a conclusion. Nothing here is shared with what judges it: the only
thing taken from the product is the form in which samples are handed in.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from remuda.rightsize.estimate.columns import Column, Columns

MIB = 2**20
DAY = 86_400
#: a Thursday
BEGIN = 1_767_225_600
#: seconds from sample to sample
STEP = 300
DAYS = 8
STEPS = DAYS * DAY // STEP
NOW = BEGIN + DAYS * DAY


@dataclass(frozen=True, slots=True)
class Process:
    """What one process of a container uses, in MiB, days and parts of its base."""

    base: float
    #: MiB a day
    leak: float = 0.0
    cache: float = 0.0
    #: days until the cache is full to 63 %
    fills_in: float = 0.1
    #: parts of the base that the load of the day brings, and how much less of it there is on weekends
    daily: float = 0.0
    weekend: float = 0.0
    #: the hour with the most load
    busiest: float = 14.0
    noise: float = 0.003
    #: how much of one step's noise is still in the next
    stickiness: float = 0.5
    #: bursts a day, how long in hours, and how high in parts of the base
    bursts: float = 0.0
    burst_hours: float = 0.5
    burst_height: float = 0.5
    #: MiB that are given back when it has gathered so much: a collector, or a cache that is flushed
    collected: float = 0.0


@dataclass(frozen=True, slots=True)
class Pod:
    """When one pod was there, in days of the history, which may be before it, and what ran in it."""

    process: Process
    begin: float = -30.0
    end: float = float(DAYS)


@dataclass(frozen=True, slots=True)
class History:
    """Samples and kills of a container, its limit in MiB, and whether it leaks."""

    family: str
    seed: int
    is_leak: bool
    limit: int
    #: times and bytes of each pod, and the times of its kills
    pods: list[tuple[NDArray[np.int64], NDArray[np.float64], list[int]]] = field(default_factory=list)
    #: when another pod took the name of the first, where all of them have one name
    renewed: list[int] = field(default_factory=list)

    @property
    def kills(self) -> int:
        """How often it was killed."""
        return sum(len(kills) for _, _, kills in self.pods)


def run(
    random: Generator, pod: Pod, limit: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], list[int]]:
    """What a pod used within the history: it is killed when it comes to the limit, and starts again a step later."""
    process = pod.process
    first, end = max(0, int(pod.begin * DAY / STEP)), min(STEPS, int(pod.end * DAY / STEP))
    hours = np.arange(STEPS) * STEP / 3600
    weekday = (3 + hours // 24) % 7
    load = (1 + np.cos((hours % 24 - process.busiest) * np.pi / 12)) / 2
    load *= np.where(weekday >= 5, 1 - process.weekend, 1.0)
    shocks = random.standard_normal(STEPS) * process.noise * process.base * (1 - process.stickiness**2) ** 0.5
    burst = np.zeros(STEPS)
    for _ in range(int(random.poisson(process.bursts * DAYS))):
        at = int(random.integers(0, STEPS))
        longer = int(process.burst_hours * 3600 / STEP * random.uniform(0.5, 1.5)) + 1
        burst[at : at + longer] = process.burst_height * process.base * random.uniform(0.6, 1.0)
    extra = process.daily * process.base * load + burst
    begun = pod.begin * DAY / STEP
    noise, held = 0.0, 0.0
    used = np.full(STEPS, -1.0)
    kills = []
    if process.leak and begun < 0:
        held = process.leak * -begun * STEP / DAY
    for n in range(first, end):
        age = (n - begun) * STEP / DAY
        held += process.leak * STEP / DAY
        if process.collected and held > process.collected:
            held = 0.0
        noise = noise * process.stickiness + shocks[n]
        amount = (
            process.base + held + process.cache * (1 - np.exp(-age / process.fills_in)) + extra[n] + noise
        )
        if amount >= limit:
            kills.append(BEGIN + n * STEP)
            begun, held, noise = n + 1, 0.0, 0.0
            continue
        used[n] = amount
    is_there = used >= 0
    times = BEGIN + np.nonzero(is_there)[0] * STEP
    return times.astype(np.int64), np.maximum(used[is_there], 1.0) * MIB, kills


Family = Callable[[Generator], tuple[list[Pod], float]]


def _even(random: Generator, **more: float) -> Process:
    """Noise of a thousandth to a fiftieth, of which a third of the processes keep much for hours, up to a day."""
    stickiness = random.uniform(0.98, 0.997) if random.random() < 1 / 3 else random.uniform(0, 0.95)
    return Process(
        random.uniform(60, 2000), noise=10 ** random.uniform(-3, -1.7), stickiness=stickiness, **more
    )


def _roomy(random: Generator, most: float) -> float:
    return most * random.uniform(1.25, 3)


def steady(random: Generator) -> tuple[list[Pod], float]:
    """One to twenty pods that do nothing special."""
    process = _even(random)
    return [Pod(process) for _ in range(int(random.integers(1, 21)))], _roomy(random, process.base)


def daily(random: Generator) -> tuple[list[Pod], float]:
    """A load of days, at any hour."""
    process = _even(random, daily=random.uniform(0.1, 1.0), busiest=random.uniform(0, 24))
    return [Pod(process)], _roomy(random, process.base * 2)


def weekly(random: Generator) -> tuple[list[Pod], float]:
    """A load of days that is lower on weekends, which rests memory as well."""
    process = _even(random, daily=random.uniform(0.2, 1.0), weekend=random.uniform(0.3, 1.0))
    return [Pod(process)], _roomy(random, process.base * 2)


def bursty(random: Generator) -> tuple[list[Pod], float]:
    """Bursts of minutes or hours."""
    process = _even(random, bursts=random.uniform(0.5, 8), burst_hours=random.uniform(0.2, 6))
    return [Pod(process)], _roomy(random, process.base * 1.6)


def warming(random: Generator) -> tuple[list[Pod], float]:
    """A cache that began to fill within the history, or just before, within hours or days."""
    process = _even(random, cache=random.uniform(200, 3000), fills_in=random.uniform(0.1, 2.0))
    return [Pod(process, random.uniform(-1, 2))], (process.base + process.cache) * random.uniform(1.2, 2)


def warming_slowly(random: Generator) -> tuple[list[Pod], float]:
    """A cache that takes several days, so that it is not full yet in the end."""
    process = _even(random, cache=random.uniform(200, 3000), fills_in=random.uniform(2.0, 6.0))
    return [Pod(process, random.uniform(-2, 0.5))], (process.base + process.cache) * random.uniform(1.2, 2)


def warming_by_day(random: Generator) -> tuple[list[Pod], float]:
    """A cache of a day or two, beneath a load of days."""
    process = _even(
        random,
        cache=random.uniform(200, 2000),
        fills_in=random.uniform(0.3, 1.5),
        daily=random.uniform(0.1, 0.6),
    )
    return [Pod(process, random.uniform(-0.5, 1))], (process.base * 1.6 + process.cache) * random.uniform(
        1.2, 2
    )


def versions(random: Generator) -> tuple[list[Pod], float]:
    """A new version every day or two, each larger than the one before and even within itself."""
    every = random.choice([0.5, 1.0, 1.0, 2.0])
    base, more = random.uniform(100, 1000), random.uniform(0.02, 0.08)
    at = random.uniform(0, 1)
    pods = []
    for n in range(int(DAYS / every) + 2):
        begin = (n - 1) * every + at
        pods.append(Pod(Process(base * (1 + more * n), noise=0.003), begin, min(begin + every, DAYS)))
    return [pod for pod in pods if pod.begin < DAYS], base * (1 + more * 18) * 1.3


def deployed(random: Generator) -> tuple[list[Pod], float]:
    """Deployed at any time, with a cache that fills each time anew, and a load of days."""
    process = _even(random, cache=random.uniform(50, 800), fills_in=random.uniform(0.05, 1.0), daily=0.3)
    cuts = sorted(random.uniform(0, DAYS, int(random.integers(1, 9))))
    edges = [-5.0, *cuts, float(DAYS)]
    pods = [Pod(process, begin, end) for begin, end in itertools.pairwise(edges)]
    return pods, (process.base * 1.3 + process.cache) * random.uniform(1.2, 2)


def grown_once(random: Generator) -> tuple[list[Pod], float]:
    """One step, as when a new customer is added, and nothing before and after."""
    process = _even(random)
    at = random.uniform(1, 7)
    grown = Process(process.base * random.uniform(1.1, 1.8), noise=process.noise)
    return [Pod(process, end=at), Pod(grown, at)], grown.base * random.uniform(1.2, 2)


def updated(random: Generator) -> tuple[list[Pod], float]:
    """Some new versions at any time, each a little larger or smaller, that fill a cache of hours or days anew."""
    base, pods = random.uniform(100, 1500), []
    cuts = sorted(random.uniform(0, DAYS, int(random.integers(2, 12))))
    for begin, end in itertools.pairwise([-3.0, *cuts, float(DAYS)]):
        process = Process(base, cache=base * random.uniform(0, 0.3), fills_in=random.uniform(0.02, 1.0))
        pods.append(Pod(process, begin, end))
        base *= random.uniform(0.98, 1.1)
    return pods, max(pod.process.base + pod.process.cache for pod in pods) * random.uniform(1.2, 2)


def collected(random: Generator) -> tuple[list[Pod], float]:
    """Garbage that is gathered for hours or days, and then given back, far from the limit."""
    rate = random.uniform(20, 600)
    process = _even(random, leak=rate, collected=rate * random.uniform(0.05, 2.5))
    return [Pod(process, random.uniform(-3, -1))], (process.base + process.collected) * random.uniform(1.3, 2)


def killed_by_bursts(random: Generator) -> tuple[list[Pod], float]:
    """Even, and killed by bursts that are more than its limit."""
    process = _even(
        random,
        bursts=random.uniform(0.4, 3),
        burst_height=random.uniform(0.5, 1.5),
        daily=random.choice([0, 0.2]),
        cache=random.choice([0, 100]),
    )
    return [Pod(process)], process.base * 1.25 + process.cache


def killed_at_noon(random: Generator) -> tuple[list[Pod], float]:
    """A load of days whose top is above the limit."""
    process = _even(random, daily=random.uniform(0.4, 1.0), busiest=random.uniform(0, 24))
    return [Pod(process)], process.base * (1 + process.daily * random.uniform(0.9, 0.98))


def killed_at_start(random: Generator) -> tuple[list[Pod], float]:
    """It needs more than its limit to begin its work, and is killed within the hour."""
    process = _even(random, cache=random.uniform(300, 1000), fills_in=random.uniform(0.005, 0.02))
    return [Pod(process, 0.0)], process.base + process.cache * random.uniform(0.5, 0.9)


def killed_by_cache(random: Generator) -> tuple[list[Pod], float]:
    """A cache that fills within hours and is then even until a burst comes."""
    process = _even(
        random,
        cache=random.uniform(100, 500),
        fills_in=random.uniform(0.05, 0.15),
        bursts=1.0,
        burst_height=1.0,
    )
    return [Pod(process)], process.base * 1.3 + process.cache


def _leaking(random: Generator, **more: float) -> tuple[list[Pod], float]:
    """
    A leak of at least the noise a day, which began before the history or just within it.

    What is there even when it is idle comes to the limit 5 to 75 days after the history; until then nothing kills it.
    """
    process = _even(random, **more)
    above = process.base * (process.daily + (process.burst_height if process.bursts else 0)) * 1.1
    least = max(process.noise * process.base, 0.004 * process.base, above / 40)
    rate = random.uniform(least, least * 6)
    made = Process(**{name: getattr(process, name) for name in Process.__slots__} | {"leak": rate})
    begin = random.uniform(-5, 0.5)
    room = max(above, rate * random.uniform(5, 75))
    return [Pod(made, begin)], process.base + process.cache + rate * (DAYS - begin) + room


def leaking(random: Generator) -> tuple[list[Pod], float]:
    """Slowly, and nothing else."""
    return _leaking(random)


def leaking_by_day(random: Generator) -> tuple[list[Pod], float]:
    """Slowly, beneath a load of days."""
    return _leaking(random, daily=random.uniform(0.1, 0.8), busiest=random.uniform(0, 24))


def leaking_by_week(random: Generator) -> tuple[list[Pod], float]:
    """Slowly, beneath a load of days that is lower on weekends."""
    return _leaking(random, daily=random.uniform(0.1, 0.8), weekend=random.uniform(0.3, 1.0))


def leaking_with_bursts(random: Generator) -> tuple[list[Pod], float]:
    """Slowly, beneath bursts of up to some hours."""
    return _leaking(random, bursts=random.uniform(1, 6), burst_hours=random.uniform(0.2, 3))


def leaking_after_warming(random: Generator) -> tuple[list[Pod], float]:
    """A cache of hours, and a leak that goes on."""
    return _leaking(random, cache=random.uniform(50, 300), fills_in=random.uniform(0.05, 0.3))


def leaking_in_one(random: Generator) -> tuple[list[Pod], float]:
    """One pod of several."""
    [pod], limit = _leaking(random)
    even = Process(pod.process.base, noise=pod.process.noise, stickiness=pod.process.stickiness)
    return [pod, *(Pod(even) for _ in range(int(random.integers(1, 6))))], limit


def leaking_and_deployed(random: Generator) -> tuple[list[Pod], float]:
    """Slowly, with one deployment that gives everything back and leaves at least six days on one side of it."""
    [pod], limit = _leaking(random)
    at = random.choice([random.uniform(0.6, 1.0), random.uniform(7.0, 7.8)])
    return [Pod(pod.process, pod.begin, at), Pod(pod.process, at)], limit


def leaking_and_rolled(random: Generator) -> tuple[list[Pod], float]:
    """Slowly, with a new pod, and so from the base again, within the first two days: the last one lives for six at least."""
    [pod], limit = _leaking(random)
    cuts = sorted(random.uniform(0.1, 1.8, int(random.integers(1, 4))))
    edges = [-2.0, *cuts, float(DAYS)]
    return [Pod(pod.process, begin, end) for begin, end in itertools.pairwise(edges)], limit


def sawing(random: Generator) -> tuple[list[Pod], float]:
    """Fast: filled from the base to the limit in 3 to 60 hours, killed, and filled again."""
    process = _even(random)
    room = process.base * random.uniform(0.3, 3)
    made = Process(
        process.base, room / (random.uniform(3, 60) / 24), noise=process.noise, stickiness=process.stickiness
    )
    return [Pod(made, random.uniform(-0.1, 0.1))], process.base + room


def sawing_by_day(random: Generator) -> tuple[list[Pod], float]:
    """The same beneath a small load of days."""
    process = _even(random, daily=random.uniform(0.02, 0.08), busiest=random.uniform(0, 24))
    room = process.base * random.uniform(0.6, 3)
    rate = room / (random.uniform(4, 40) / 24)
    made = Process(**{name: getattr(process, name) for name in Process.__slots__} | {"leak": rate})
    return [Pod(made, 0.0)], process.base + room


EVEN: tuple[Family, ...] = (
    steady, daily, weekly, bursty, warming, warming_slowly, warming_by_day, versions, deployed, grown_once,
    updated, collected, killed_by_bursts, killed_at_noon, killed_at_start, killed_by_cache,
)  # fmt: skip
LEAKING: tuple[Family, ...] = (
    leaking, leaking_by_day, leaking_by_week, leaking_with_bursts, leaking_after_warming, leaking_in_one, leaking_and_deployed,
    leaking_and_rolled, sawing, sawing_by_day,
)  # fmt: skip


def history(family: Family, seed: int) -> History:
    """One history of a family, the same for the same seed."""
    random = default_rng([seed, sum(map(ord, family.__name__))])
    pods, limit = family(random)
    made = [run(random, pod, limit) for pod in pods]
    kept = [each for each in made if len(each[0])]
    return History(family.__name__, seed, family in LEAKING, int(limit), kept)


def under_one_name(history: History) -> History:
    """The same as pods of a StatefulSet: one after the other, under one name. Of pods beside each other it is the history itself."""
    pods = sorted(history.pods, key=lambda pod: int(pod[0][0]))
    if any(earlier[0][-1] >= later[0][0] for earlier, later in itertools.pairwise(pods)):
        return history
    joined = (
        np.concatenate([pod[0] for pod in pods]),
        np.concatenate([pod[1] for pod in pods]),
        [kill for pod in pods for kill in pod[2]],
    )
    renewed = [int(pod[0][0]) - STEP // 2 for pod in pods[1:]]
    return History(history.family, history.seed, history.is_leak, history.limit, [joined], renewed)


def columns(histories: list[History]) -> Columns:
    """All of them as what is handed in: a container each, with a tenth of a core."""
    pods = [pod for each in histories for pod in each.pods]
    times = np.concatenate([pod[0] for pod in pods])
    starts = _starts([len(pod[0]) for pod in pods])
    deaths = [kill for pod in pods for kill in pod[2]]
    limits = [float(each.limit * MIB) for each in histories for pod in each.pods for _ in pod[2]]
    renewed = [each.renewed for each in histories for _ in each.pods]
    return Columns(
        Column(times, np.full(len(times), 0.1), starts),
        Column(times, np.concatenate([pod[1] for pod in pods]), starts),
        Column(
            np.array(deaths, np.int64), np.array(limits, np.float64), _starts([len(pod[2]) for pod in pods])
        ),
        _starts([len(each.pods) for each in histories]),
        np.ones(len(histories), np.int64),
        {n: np.array(times, np.int64) for n, times in enumerate(renewed) if times},
    )


def _starts(lengths: list[int]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.array(lengths, np.int64)))).astype(np.int64)
