"""
Workloads of five types of machines, each need asking for whole machines of one type.

Cold, all machines are idle and every need takes one per unit; warm, every need holds its machines, and the right answer
is nothing.
"""

import numpy as np

from remuda.fleet import states
from remuda.fleet.names import Names
from remuda.fleet.policy import Policy, Rails
from remuda.fleet.workloads.workload import (
    ZONES,
    Asked,
    Expected,
    Long,
    Machines,
    Short,
    Workload,
    cluster_numbers,
    cpu_and_memory,
    idle,
    like,
    need_numbers,
)
from remuda.model.shapes import Shape

TYPES: tuple[tuple[str, dict[str, int]], ...] = (
    ("a3-highgpu-8g", {"nvidia.com/gpu": 8}),
    ("m6i.large", cpu_and_memory(2, 8)),
    ("c6i.4xlarge", cpu_and_memory(16, 32)),
    ("n2-standard-32", cpu_and_memory(32, 128)),
    ("r6i.xlarge", cpu_and_memory(4, 32)),
)
PRIORITIES = 10
#: Clusters of an aggregate workload, and needs of a cluster of a one-to-one workload.
CLUSTERS, NEEDS = 50, 1_000
#: Preempt: machines that each need asks for, held machines for each need, and the priority.
WANTED, HELD_PER_NEED, URGENT = 20, 500, 100_000

_SHAPES = tuple(Shape(name, zone=zone, allocatable=resources) for name, resources in TYPES for zone in ZONES)
_LIKE = tuple(like(name, resources) for name, resources in TYPES)


def aggregate(name: str, machines: int, *, warm: bool) -> Workload:
    """Unit needs of a cluster with the same profile are one need."""
    names = Names()
    return _workload(name, names, machines, *_aggregate(names, machines), warm=warm)


def one_to_one(name: str, machines: int, *, warm: bool) -> Workload:
    """One need for every machine."""
    names = Names()
    cluster, place = _units(names, machines, NEEDS)
    asked = _asked(cluster, place, need_numbers(names, cluster, place), np.ones(machines, np.int64))
    return _workload(name, names, machines, asked, asked.code, asked.priority, warm=warm)


def preempt(name: str, machines: int) -> Workload:
    """An aggregate workload, all held, and one more cluster whose needs are above them all."""
    names = Names()
    asked, code, priority = _aggregate(names, machines)
    held = _held(asked, code, priority)
    needs = max(1, machines // HELD_PER_NEED)
    cluster = np.repeat(cluster_numbers(names, 1, len(names.clusters)), needs)
    place = np.arange(needs)
    kind_of = place % len(TYPES)
    both = Asked(
        asked.like,
        np.concatenate([asked.of, kind_of]),
        np.concatenate([asked.code, need_numbers(names, cluster, place)]),
        np.concatenate([asked.cluster, cluster]),
        np.concatenate([asked.count, np.full(needs, WANTED, np.int64)]),
        np.concatenate([asked.priority, np.full(needs, URGENT, np.int32)]),
    )
    supply = np.bincount(held.shape // len(ZONES), minlength=len(TYPES))
    enough = bool((np.bincount(kind_of, minlength=len(TYPES)) * WANTED <= supply).all())
    expected = Expected(actions=needs * WANTED if enough else None)
    return Workload(name, names, held, both, expected, Policy(rails=Rails(preempt_percent=None)))


def _units(names: Names, machines: int, needs: int) -> tuple[Short, Long]:
    """The cluster of each unit need, and its place in the cluster."""
    unit = np.arange(machines)
    return cluster_numbers(names, -(-machines // needs))[unit // needs], unit % needs


def _asked(cluster: Short, place: Long, code: Short, count: Long) -> Asked:
    return Asked(
        _LIKE,
        (cluster + place) % len(TYPES),
        code,
        cluster,
        count,
        (1_000 + place % PRIORITIES * 1_000).astype(np.int32),
    )


def _aggregate(names: Names, machines: int) -> tuple[Asked, Short, Short]:
    """The needs, and for each unit the number and the priority of its need."""
    cluster, place = _units(names, machines, -(-machines // CLUSTERS))
    # Type and priority both follow from the place modulo 10, so that is the profile.
    key = cluster.astype(np.int64) * PRIORITIES + place % PRIORITIES
    found, of_unit, count = np.unique(key, return_inverse=True, return_counts=True)
    cluster, place = (found // PRIORITIES).astype(np.int32), found % PRIORITIES
    asked = _asked(cluster, place, need_numbers(names, cluster, place), count.astype(np.int64))
    return asked, asked.code[of_unit], asked.priority[of_unit]


def _workload(
    name: str, names: Names, machines: int, asked: Asked, code: Short, priority: Short, *, warm: bool
) -> Workload:
    if warm:
        return Workload(name, names, _held(asked, code, priority), asked, Expected(0, 0))
    number = np.arange(machines)
    cold = idle(_SHAPES, number % len(TYPES) * len(ZONES) + number % len(ZONES))
    supply = np.bincount(number % len(TYPES), minlength=len(TYPES))
    asked_for = np.bincount(asked.of, weights=asked.count, minlength=len(TYPES)).astype(np.int64)
    short = bool((asked_for > supply).any())
    expected = Expected(int(np.minimum(supply, asked_for).sum()), None if short else 0)
    return Workload(name, names, cold, asked, expected)


def _held(asked: Asked, code: Short, priority: Short) -> Machines:
    """For each unit a configured machine of the type its need asks for. Needs are numbered by their rows here."""
    count = len(code)
    return Machines(
        _SHAPES,
        (asked.of[code] * len(ZONES) + np.arange(count) % len(ZONES)).astype(np.int32),
        np.full(count, states.CONFIGURED, np.int8),
        asked.cluster[code],
        code,
        priority,
        np.zeros(count, np.int64),
    )
