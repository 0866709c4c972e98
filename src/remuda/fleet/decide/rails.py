"""Rails by the minute of wall clock: how much a percentage allows, and when there is room again."""

from collections import Counter
from dataclasses import replace

import numpy as np

from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.fleet.memory import Memory, Window, total
from remuda.model.times import MINUTE, Instant


def most(percent: int, machines: int) -> int:
    """So many percent of the machines, and never less than one."""
    return max(1, machines * percent // 100)


def left(percent: int | None, machines: int, window: Window) -> int | None:
    """How many more may go now, when `window` went within the last minute; None where there is no rail."""
    return None if percent is None else max(0, most(percent, machines) - total(window))


def counted(window: Window, now: Instant, number: int) -> Window:
    """The window with so many more, now."""
    return (*window, (now, number)) if number else window


def frees_at(window: Window, now: Instant) -> Instant:
    """When the first of those in the window no longer counts, and there is room again."""
    return min((at for at, _ in window), default=now) + MINUTE


def recall(fleet: Fleet, memory: Memory, now: Instant) -> Memory:
    """
    The memory, or when it was lost, what the fleet still shows of it.

    Whatever began to drain within the last minute may have been reclaimed or preempted: it counts for both rails.
    """
    if memory.written:
        return memory
    rows = np.flatnonzero((fleet.state == states.DRAINING) & (fleet.since > now - MINUTE))
    if not len(rows):
        return memory
    began = Counter(
        zip(fleet.cluster[rows].tolist(), np.minimum(fleet.since[rows], now).tolist(), strict=True)
    )
    reclaimed = {cluster: list(window) for cluster, window in memory.reclaimed.items()}
    for (cluster, at), number in began.items():
        reclaimed.setdefault(cluster, []).append((at, number))
    return replace(
        memory,
        preempted=(*memory.preempted, *((at, number) for (_, at), number in began.items())),
        reclaimed={cluster: tuple(window) for cluster, window in reclaimed.items()},
    )
