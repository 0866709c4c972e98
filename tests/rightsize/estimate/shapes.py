"""
How containers use CPU and memory, minute by minute, for 8 days of history and the week after.

Each shape is a function of a generator of random numbers, and gives the pods that lived, one `Run` each. What is used
after the history is what a container would use with nothing in its way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

A_DAY = 1440
#: minutes of history, and with the week that follows
HISTORY, ALL = 8 * A_DAY, 15 * A_DAY
MB = 1e6


@dataclass(frozen=True, slots=True)
class Run:
    """A container of one pod: the minutes of its samples, what it used then, and the minutes it was killed in."""

    minutes: Ints
    cores: Floats
    used: Floats
    kills: tuple[int, ...] = ()

    def within(self, begin: int, end: int) -> "Run":
        """What is of the minutes from `begin` to before `end`."""
        rows = (self.minutes >= begin) & (self.minutes < end)
        kills = tuple(each for each in self.kills if begin <= each < end)
        return Run(self.minutes[rows], self.cores[rows], self.used[rows], kills)


def steady(random: Generator, megabytes: float, cores: float, replicas: int = 1) -> list[Run]:
    """Much the same always; replicas differ by some per cent."""
    scales = random.uniform(0.94, 1.06, replicas)
    return [_run(random, megabytes * scale, cores * scale) for scale in scales.tolist()]


def daily(random: Generator, megabytes: float, cores: float, depth: float = 0.3) -> list[Run]:
    """More by day than by night; `megabytes` and `cores` are the mean."""
    wave = 1 + depth * np.sin(np.arange(ALL) * (2 * np.pi / A_DAY))
    return [_run(random, megabytes * wave, cores * wave)]


def bursty(
    random: Generator, megabytes: float, cores: float, height: float, bursts_a_day: float
) -> list[Run]:
    """Bursts of some minutes, at any time and of any height up to `height` times what it uses else."""
    factor = np.ones(ALL)
    for begin in np.nonzero(random.random(ALL) < bursts_a_day / A_DAY)[0].tolist():
        rows = slice(begin, begin + int(random.integers(5, 20)))
        factor[rows] = np.maximum(factor[rows], random.uniform(1, height))
    return [_run(random, megabytes * factor, cores * factor**2)]


def leaking(
    random: Generator, megabytes: float, megabytes_a_day: float, *, restarts: Sequence[int] = ()
) -> list[Run]:
    """A little more every minute until it is started anew, under a wave of what is given back."""
    minutes = np.arange(ALL)
    since = minutes - np.maximum.accumulate(np.where(np.isin(minutes, restarts), minutes, 0))
    wave = 1 + 0.1 * np.sin(minutes * (2 * np.pi / A_DAY))
    return [_run(random, megabytes * wave + megabytes_a_day / A_DAY * since, 0.1)]


def killed(random: Generator, limit: float, wanted: float) -> list[Run]:
    """
    Wants up to `wanted` megabytes by day, and is killed at its limit; then it begins with half and grows for hours.

    After the history nothing kills it.
    """
    wave = 0.7 + 0.3 * np.sin(np.arange(ALL) * (2 * np.pi / A_DAY))
    noise = random.uniform(0.99, 1.0, ALL)
    used, kills, age = (wanted * MB * wave * noise), [], 10_000
    for minute in range(HISTORY):
        amount = used[minute] * min(1.0, 0.5 + age / 240)
        age += 1
        if amount > limit:
            kills.append(minute)
            age = 0
            amount = used[minute] * 0.5
        used[minute] = amount
    return [Run(np.arange(ALL), 0.2 * wave, np.trunc(used), tuple(kills))]


def replaced(random: Generator, megabytes: float, cores: float, at: Sequence[int]) -> list[Run]:
    """A new pod in each of these minutes: it works hard for a while, and its memory fills within an hour."""
    whole, runs = _run(random, megabytes, cores), []
    bounds = [0, *at, ALL]
    for begin, end in pairwise(bounds):
        run = whole.within(begin, end)
        age = run.minutes - begin
        runs.append(
            Run(
                run.minutes,
                run.cores * np.where(age < 5, 4.0, 1.0),
                np.trunc(run.used * np.minimum(1.0, 0.4 + age / 100)),
            )
        )
    return runs


def scaled(random: Generator, megabytes: float, cores: float, least: int, most: int) -> list[Run]:
    """Pods that come in the morning and go at night, each with much the same to do."""
    wave = (1 + np.sin(np.arange(ALL) * (2 * np.pi / A_DAY))) / 2
    pods = np.rint(least + (most - least) * wave).astype(np.int64)
    runs = []
    for number in range(most):
        is_there = np.concatenate(([False], pods > number, [False]))
        edges = np.nonzero(is_there[1:] != is_there[:-1])[0].tolist()
        whole = _run(random, megabytes, cores)
        runs += [
            whole.within(begin, end)
            for begin, end in zip(edges[::2], edges[1::2], strict=True)
            if end - begin > 1
        ]
    return runs


def peaking(
    random: Generator, megabytes: float, cores: float, peaks: Sequence[int], height: float
) -> list[Run]:
    """Steady, but for half an hour from each of these minutes `height` times as much; the first is the highest."""
    factor = np.ones(ALL)
    for number, minute in enumerate(peaks):
        factor[minute : minute + 30] = height * (1.0 if number == 0 else 0.96)
    return [_run(random, megabytes * factor, cores * factor)]


def young(random: Generator, megabytes: float, cores: float, minutes: int) -> list[Run]:
    """Steady, and there for so long only."""
    return [_run(random, megabytes, cores).within(HISTORY - minutes, ALL)]


def with_gaps(random: Generator, megabytes: float, cores: float) -> list[Run]:
    """Steady, with a gap of over a day, several of hours, and a sample missing here and there."""
    run = _run(random, megabytes, cores)
    is_there = random.random(ALL) > 0.02
    for begin, length in ((1_000, 1_900), (4_000, 200), (7_000, 600), (HISTORY - 500, 45)):
        is_there[begin : begin + length] = False
    return [Run(run.minutes[is_there], run.cores[is_there], run.used[is_there])]


def training(random: Generator, megabytes: float, cores: float) -> list[Run]:
    """Batches of some hours that load what they need, and give all of it back."""
    factor = np.full(ALL, 0.15)
    begin = 0
    while begin < ALL:
        begin += int(random.integers(20, 240))
        end = begin + int(random.integers(60, 400))
        factor[begin:end] = random.uniform(0.8, 1.0)
        begin = end
    return [_run(random, megabytes * factor, cores * factor)]


def _run(random: Generator, megabytes: float | Floats, cores: float | Floats) -> Run:
    """Use for all minutes, with some noise."""
    return Run(
        np.arange(ALL),
        cores * random.lognormal(0.0, 0.2, ALL),
        np.trunc(megabytes * MB * (1 + 0.01 * np.clip(random.standard_normal(ALL), -3, 3))),
    )
