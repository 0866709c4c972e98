"""What matters most: what is at risk, then what wastes most."""

from collections.abc import Sequence
from fractions import Fraction

from remuda.rightsize.decide.context import requested
from remuda.rightsize.review import Risk, WorkloadReview

#: the gravest first
RISKS: tuple[Risk, ...] = ("will-oom", "leak", "starved", "")
#: what is divided by where nobody requests anything
_NOTHING = 1  # pragma: no mutate - there is no share of nothing: any number will do


def gravest(risks: Sequence[Risk]) -> Risk:
    """The one that matters most."""
    return min(risks, key=RISKS.index, default="")


def ordered(workloads: Sequence[WorkloadReview]) -> tuple[WorkloadReview, ...]:
    """
    Risk first. Of those at risk, the one that lacks most comes first, of the others the one that wastes most.

    That is counted in money where there are prices, else as share of all cores plus share of all memory that is
    requested. Names settle the rest.
    """
    cpu = sum(_requested(each, "cpu") for each in workloads) or _NOTHING
    memory = sum(_requested(each, "memory") for each in workloads) or _NOTHING

    def key(each: WorkloadReview) -> tuple[int, float | Fraction, str, str, str]:
        worth: float | Fraction
        if each.waste.monthly is not None:
            worth = each.waste.monthly
        else:
            worth = Fraction(each.waste.cpu_millicores, cpu) + Fraction(each.waste.memory_bytes, memory)
        return RISKS.index(each.risk), worth if each.risk else -worth, each.namespace, each.kind, each.name

    return tuple(sorted(workloads, key=key))


def _requested(workload: WorkloadReview, resource: str) -> int:
    one = sum(
        requested(each.now, "cpu" if resource == "cpu" else "memory") or 0 for each in workload.containers
    )
    return one * workload.replicas
