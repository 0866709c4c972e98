"""A workload of six archetypes, in which choosing the machine that fits best decides how many needs are met."""

from dataclasses import dataclass
from itertools import accumulate
from math import lcm

import numpy as np

from remuda.fleet.names import Names
from remuda.fleet.workloads.workload import (
    RACK,
    ZONES,
    Asked,
    Expected,
    Workload,
    cluster_numbers,
    cpu_and_memory,
    idle,
    like,
    need_numbers,
)
from remuda.model.shapes import Shape
from remuda.model.units import FleetNeed

CLUSTERS = 50
#: Machines for each need of a cluster: 60,000 for 1,000.
MACHINES_PER_NEED = 60
RACKS = 8


@dataclass(frozen=True, slots=True)
class Archetype:
    """What a part of machines and needs has in common."""

    name: str
    weight: int
    types: tuple[str, ...]
    zones: tuple[str, ...]
    sizes: tuple[dict[str, int], ...]
    priorities: tuple[int, ...]
    same_rack: bool = False


def _gpus(*counts: int) -> tuple[dict[str, int], ...]:
    return tuple({"nvidia.com/gpu": count} for count in counts)


def _sizes(*sizes: tuple[int, int]) -> tuple[dict[str, int], ...]:
    return tuple(cpu_and_memory(cores, gib) for cores, gib in sizes)


ARCHETYPES = (
    Archetype("gpu-training", 5, ("a3-highgpu-8g",), ZONES, _gpus(8, 16), (1_000,), same_rack=True),
    Archetype("gpu-inference", 15, ("a3-highgpu-1g", "a2-highgpu-1g"), ZONES, _gpus(1, 2), (100, 1_000)),
    Archetype(
        "cpu-batch",
        35,
        ("c6i.4xlarge", "c6i.8xlarge", "n2-standard-32"),
        ZONES,
        _sizes((4, 8), (8, 16), (16, 32), (32, 64)),
        (100,),
    ),
    Archetype(
        "cpu-service",
        30,
        ("m6i.large", "m6i.xlarge", "m6i.2xlarge"),
        ZONES,
        _sizes((2, 8), (4, 16), (8, 32), (16, 64)),
        (1_000,),
    ),
    Archetype(
        "memory-db",
        10,
        ("r6i.xlarge", "r6i.2xlarge"),
        ("a", "b"),
        _sizes((4, 32), (4, 64), (8, 128)),
        (1_000,),
        same_rack=True,
    ),
    Archetype(
        "critical-realtime",
        5,
        ("c6i.4xlarge", "m6i.2xlarge"),
        ZONES,
        _sizes((8, 16), (16, 32)),
        (1_000_000,),
    ),
)


def realistic(name: str, machines: int) -> Workload:
    """Idle machines for fifty clusters, a fifth more than there are needs."""
    shapes: list[Shape] = []
    of_machine = []
    for archetype, count in zip(ARCHETYPES, _shares(machines), strict=True):
        cycle = lcm(len(archetype.types), len(archetype.zones), len(archetype.sizes), RACKS)
        of_machine.append(len(shapes) + np.arange(count) % cycle)
        shapes += (_shape(archetype, number) for number in range(cycle))
    names = Names()
    each = max(1, machines // MACHINES_PER_NEED)
    asked = _asked(names, each)
    expected = Expected(len(asked), 0) if machines % (100 * MACHINES_PER_NEED) == 0 else Expected()
    return Workload(name, names, idle(shapes, np.concatenate(of_machine)), asked, expected)


def _shares(machines: int) -> list[int]:
    """How many machines each archetype has; what does not divide goes to the last."""
    counts = [machines * archetype.weight // 100 for archetype in ARCHETYPES]
    counts[-1] += machines - sum(counts)
    return counts


def _shape(archetype: Archetype, number: int) -> Shape:
    return Shape(
        archetype.types[number % len(archetype.types)],
        zone=archetype.zones[number % len(archetype.zones)],
        allocatable=archetype.sizes[number % len(archetype.sizes)],
        labels={RACK: f"rack-{archetype.name}-{number % RACKS}"},
    )


def _asked(names: Names, each: int) -> Asked:
    """So many needs of each cluster. What is alike repeats with the place in the cluster, and by archetype."""
    number = np.arange(CLUSTERS * each)
    place = number % each
    weights = list(accumulate(archetype.weight for archetype in ARCHETYPES))
    archetype_of = np.searchsorted(weights, number % 100, side="right")
    needs: list[FleetNeed] = []
    of, priority = np.zeros(len(number), np.int64), np.zeros(len(number), np.int32)
    for index, archetype in enumerate(ARCHETYPES):
        mine = archetype_of == index
        cycle = lcm(len(archetype.types), len(archetype.sizes))
        of[mine] = len(needs) + place[mine] % cycle
        priority[mine] = np.array(archetype.priorities)[place[mine] % len(archetype.priorities)]
        needs += (
            like(
                archetype.types[at % len(archetype.types)],
                archetype.sizes[at % len(archetype.sizes)],
                RACK if archetype.same_rack else "",
            )
            for at in range(cycle)
        )
    cluster = cluster_numbers(names, CLUSTERS)[number // each]
    code = need_numbers(names, cluster, place)
    return Asked(tuple(needs), of, code, cluster, np.ones(len(number), np.int64), priority)
