"""Workloads in which what belongs together must be in one rack."""

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

#: Gangs: machines of a rack, machines for each gang, and how many machines a gang asks for.
PER_RACK, MACHINES_PER_GANG, GANG_SIZES = 80, 30, (4, 8, 16, 32, 64)
#: One pool: racks, and machines for each cluster.
POOL_RACKS, MACHINES_PER_CLUSTER = 8, 5


def gangs(name: str, machines: int) -> Workload:
    """Gangs of 4 to 64 machines, each in one rack. How many can be placed depends on how racks are filled."""
    number = np.arange(machines)
    shape = cpu_and_memory(16, 64)
    shapes = [
        Shape("c6i.4xlarge", zone=ZONES[rack % 3], allocatable=shape, labels={RACK: f"rack-{rack:06}"})
        for rack in range(-(-machines // PER_RACK))
    ]
    names = Names()
    count = max(1, machines // MACHINES_PER_GANG)
    gang = np.arange(count)
    cluster = cluster_numbers(names, count)
    asked = Asked(
        (like("c6i.4xlarge", shape, RACK),),
        np.zeros(count, np.int64),
        need_numbers(names, cluster, np.zeros(count, np.int64)),
        cluster,
        np.array(GANG_SIZES)[gang % len(GANG_SIZES)],
        (1_000 + gang % 3 * 1_000).astype(np.int32),
    )
    return Workload(name, names, idle(shapes, number // PER_RACK), asked, Expected())


def one_pool(name: str, machines: int) -> Workload:
    """One type in one zone; every cluster needs one machine of it."""
    number = np.arange(machines)
    shape = cpu_and_memory(4, 32)
    shapes = [
        Shape("r6i.2xlarge", zone="a", allocatable=shape, labels={RACK: f"rack-mem-{rack}"})
        for rack in range(POOL_RACKS)
    ]
    names = Names()
    count = max(1, machines // MACHINES_PER_CLUSTER)
    cluster = cluster_numbers(names, count)
    asked = Asked(
        (like("r6i.2xlarge", shape, RACK),),
        np.zeros(count, np.int64),
        need_numbers(names, cluster, np.zeros(count, np.int64)),
        cluster,
        np.ones(count, np.int64),
        np.full(count, 1_000, np.int32),
    )
    return Workload(name, names, idle(shapes, number % POOL_RACKS), asked, Expected(count, 0))
