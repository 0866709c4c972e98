"""What is requested beyond the recommendation, and what that costs."""

from collections.abc import Callable, Iterable, Sequence

from remuda.model.amount_texts import GIB
from remuda.rightsize.decide.context import counted, reserved
from remuda.rightsize.objects import PricesSpec
from remuda.rightsize.review import ContainerReview, Waste
from remuda.rightsize.snapshot import InitContainer, Size

HOURS_A_MONTH = 730


def is_applied(container: ContainerReview) -> bool:
    """Whether a patch would change it: there is something to change, and enough data to do so."""
    return container.verdict in {"raise", "lower"} and not container.is_provisional


def waste_of(
    containers: Sequence[ContainerReview],
    replicas: int,
    prices: PricesSpec | None,
    initial: Sequence[InitContainer] = (),
) -> Waste:
    """
    Of all replicas of a workload. What is not to be changed wastes nothing that is known.

    What an init container asks for beyond all others stays reserved, whatever these ask for: to lower them saves less.
    """
    defaults = containers[0].defaults if containers else Size()
    cpu, memory = (
        _reserved(containers, initial, of, defaults, is_after=False)
        - _reserved(containers, initial, of, defaults, is_after=True)
        for of in (lambda size: size.requests.cpu_millicores, lambda size: size.requests.memory_bytes)
    )
    return priced(cpu * replicas, memory * replicas, prices)


def _reserved(
    containers: Sequence[ContainerReview],
    initial: Sequence[InitContainer],
    of: Callable[[Size], int | None],
    defaults: Size,
    *,
    is_after: bool,
) -> int:
    amounts = {
        each.name: of(counted(each.recommended if is_after and is_applied(each) else each.now, each.defaults))
        or 0
        for each in containers
    }
    return reserved(amounts, initial, of, defaults)


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
