"""Builds a workload by its name."""

from collections.abc import Callable

from remuda.errors import BadInput
from remuda.fleet.workloads import SIZES
from remuda.fleet.workloads.churn import churn
from remuda.fleet.workloads.racks import gangs, one_pool
from remuda.fleet.workloads.realistic import realistic
from remuda.fleet.workloads.uniform import aggregate, one_to_one, preempt
from remuda.fleet.workloads.workload import Workload

_BUILDERS: dict[str, Callable[[str, int, int], Workload]] = {
    "aggregate-warm": lambda name, machines, _: aggregate(name, machines, warm=True),
    "aggregate-cold": lambda name, machines, _: aggregate(name, machines, warm=False),
    "one-to-one-warm": lambda name, machines, _: one_to_one(name, machines, warm=True),
    "one-to-one-cold": lambda name, machines, _: one_to_one(name, machines, warm=False),
    "realistic": lambda name, machines, _: realistic(name, machines),
    "gangs": lambda name, machines, _: gangs(name, machines),
    "one-pool": lambda name, machines, _: one_pool(name, machines),
    "churn": churn,
    "preempt": lambda name, machines, _: preempt(name, machines),
}


def build(name: str, machines: int | None = None, seed: int = 1) -> Workload:
    """The workload of that name, of its own size by default. Only churn has anything to draw."""
    if name not in _BUILDERS:
        raise BadInput(f"there is no workload {name!r}: choose one of {', '.join(SIZES)}")
    count = SIZES[name] if machines is None else machines
    if count < 1:
        raise BadInput(f"a workload of {count} machines measures nothing: say --machines 1 or more")
    return _BUILDERS[name](name, count, seed)
