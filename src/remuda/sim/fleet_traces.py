"""
How the demand of simulated clusters goes: steady, in waves, in bursts, by gangs, and through deploys.

A trace yields what is asked for from now on and for how long, 0 for as long as anyone looks. Only whole numbers are
computed, so that every machine sees the same demand.
"""

import random
from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec.structs import replace

from remuda.model.times import MINUTE, SECOND, Instant
from remuda.model.units import FleetNeed

Step: TypeAlias = tuple[tuple[FleetNeed, ...], int]
Trace: TypeAlias = Iterator[Step]
Now: TypeAlias = Callable[[], Instant]
_WAVE_STEPS = 24


def steady(need: FleetNeed, now: Now) -> Trace:
    """The same for ever."""
    yield (replace(need, arrival=now()),), 0


def wave(need: FleetNeed, now: Now, low: int, period: int, phase: int) -> Trace:
    """Up and down between `low` and the need's count, once a period, as a day goes."""
    started, high = now(), need.count or 1
    while True:
        turn = ((now() + phase) % period) * 2 * _WAVE_STEPS // period
        height = min(turn, 2 * _WAVE_STEPS - turn)
        count = low + (high - low) * height // _WAVE_STEPS
        yield asked(replace(need, count=count, arrival=started)), max(MINUTE, period // (2 * _WAVE_STEPS))


def burst(need: FleetNeed, now: Now, dice: random.Random, gap: int) -> Trace:
    """A little, and now and then for some minutes all of it."""
    started, most = now(), need.count or 1
    while True:
        yield asked(replace(need, count=most // 8, arrival=started)), dice.randint(gap // 2, gap * 3 // 2)
        yield asked(replace(need, count=most, arrival=started)), dice.randint(2 * MINUTE, 6 * MINUTE)


def gangs(need: FleetNeed, now: Now, dice: random.Random, gap: int, most: int) -> Trace:
    """Gangs that come one by one, each under a name of its own, and stay for some minutes."""
    running: list[tuple[Instant, FleetNeed]] = []
    number = 0
    while True:
        if len(running) < most:
            number += 1
            size = dice.randint(2, max(2, need.count or 2))
            gang = replace(need, name=f"{need.name}-{number}", count=size, arrival=now())
            running.append((now() + dice.randint(3 * MINUTE, 15 * MINUTE), gang))
        ends = min(at for at, _ in running)
        wait = min(dice.randint(gap // 2, gap * 3 // 2), max(SECOND, ends - now()))
        yield tuple(gang for _, gang in running), wait
        running = [(at, gang) for at, gang in running if at > now()]


def storm(need: FleetNeed, now: Now, dice: random.Random, gap: int) -> Trace:
    """Deploys: the need of the next version takes over from the last in a few steps."""
    count, version, arrival = need.count or 1, 1, now()
    while True:
        old = replace(need, name=f"{need.name}-v{version}", arrival=arrival)
        yield (old,), dice.randint(gap // 2, gap * 3 // 2)
        version, arrival = version + 1, now()
        new = replace(need, name=f"{need.name}-v{version}", arrival=arrival)
        steps = dice.randint(1, 5)
        for step in range(1, steps):
            over = count * step // steps
            yield (
                asked(replace(old, count=count - over), replace(new, count=over)),
                dice.randint(10, 30) * SECOND,
            )


def asked(*needs: FleetNeed) -> tuple[FleetNeed, ...]:
    """Those that ask for anything."""
    return tuple(need for need in needs if need.count is None or need.count > 0)
