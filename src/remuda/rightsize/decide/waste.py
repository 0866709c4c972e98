"""What is requested beyond the recommendation, and what that costs."""

from collections.abc import Iterable

from remuda.rightsize.decide.context import counted
from remuda.rightsize.decide.rounding import GIB
from remuda.rightsize.objects import PricesSpec
from remuda.rightsize.review import ContainerReview, Waste

HOURS_A_MONTH = 730


def is_applied(container: ContainerReview) -> bool:
    """Whether a patch would change it: there is something to change, and enough data to do so."""
    return container.verdict in {"raise", "lower"} and not container.is_provisional


def waste_of(containers: Iterable[ContainerReview], replicas: int, prices: PricesSpec | None) -> Waste:
    """Of all replicas of a workload. What is not to be changed wastes nothing that is known."""
    cpu = memory = 0
    for each in containers:
        if is_applied(each):
            now, then = (
                counted(each.now, each.defaults).requests,
                counted(each.recommended, each.defaults).requests,
            )
            cpu += (now.cpu_millicores or 0) - (then.cpu_millicores or 0)
            memory += (now.memory_bytes or 0) - (then.memory_bytes or 0)
    return priced(cpu * replicas, memory * replicas, prices)


def total_of(wastes: Iterable[Waste], prices: PricesSpec | None) -> Waste:
    """Of several."""
    all_wastes = list(wastes)
    return priced(
        sum(each.cpu_millicores for each in all_wastes), sum(each.memory_bytes for each in all_wastes), prices
    )


def priced(cpu: int, memory: int, prices: PricesSpec | None) -> Waste:
    """Amounts with what they cost a month."""
    if prices is None:
        return Waste(cpu, memory)
    monthly = HOURS_A_MONTH * (cpu / 1000 * prices.cpu + memory / GIB * prices.memory)
    return Waste(cpu, memory, round(monthly, 2))
