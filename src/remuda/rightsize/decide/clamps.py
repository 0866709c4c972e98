"""Bounds from outside, in order: those of the tier, then those of LimitRanges, because the API server keeps to them."""

from collections.abc import Sequence
from fractions import Fraction
from sys import float_info

from msgspec import Struct
from msgspec.structs import replace

from remuda.model.amount_texts import MIB
from remuda.rightsize.decide import words
from remuda.rightsize.decide.context import ContainerContext, Resource, filled
from remuda.rightsize.decide.findings import Explanation
from remuda.rightsize.snapshot import Ask, LimitRange, Size, Workload


class Clamp(Struct, frozen=True):
    """Who allows no less and no more than so much; None is open."""

    label: str
    who: str
    least: int | None
    most: int | None

    def admits(self, amount: int) -> bool:
        """Whether an amount is within."""
        return (self.least is None or amount >= self.least) and (self.most is None or amount <= self.most)


def clamps_of(context: ContainerContext, resource: Resource) -> tuple[Clamp, ...]:
    """Everything that bounds a resource of a container."""
    tier = []
    if context.tier is not None:
        bounds = context.tier.cpu if resource == "cpu" else context.tier.memory
        tier.append(Clamp("tier", context.tier.who, bounds.least, bounds.most))
    ranges = [
        Clamp("range", name_of(each), each.least.cpu_millicores, each.most.cpu_millicores)
        if resource == "cpu"
        else Clamp("range", name_of(each), each.least.memory_bytes, each.most.memory_bytes)
        for each in context.ranges
    ]
    return tuple(clamp for clamp in (*tier, *ranges) if not clamp.least is clamp.most is None)


def clamped(amount: int, clamps: Sequence[Clamp], explanation: Explanation, resource: Resource) -> int:
    """The amount within all bounds, the later one winning where they contradict each other, which is reported."""
    write = words.writer_of(resource)
    for clamp in clamps:
        if clamp.least is not None and amount < clamp.least:
            explanation.step(
                clamp.label, f"{write(clamp.least)}, up from {write(amount)}", f"the least by {clamp.who}"
            )
            amount = clamp.least
        if clamp.most is not None and amount > clamp.most:
            explanation.step(
                clamp.label, f"{write(clamp.most)}, down from {write(amount)}", f"the most by {clamp.who}"
            )
            amount = clamp.most
    broken = [clamp.who for clamp in clamps if not clamp.admits(amount)]
    if broken:
        explanation.find(
            "limit-range-conflict",
            "warning",
            "requests.cpu" if resource == "cpu" else "limits.memory",
            amount=write(amount),
            broken=words.some(broken),
            who=words.some(clamp.who for clamp in clamps),
        )
    return amount


def least_of(clamps: Sequence[Clamp]) -> int:
    """The most that is asked for as the least."""
    return max((clamp.least for clamp in clamps if clamp.least is not None), default=0)


def tightest(clamps: Sequence[Clamp]) -> Clamp | None:
    """Who allows the least; None when nobody bounds it."""
    bounding = [(clamp.most, clamp) for clamp in clamps if clamp.most is not None]
    return min(bounding, key=lambda pair: (pair[0], pair[1].who))[1] if bounding else None


def within_ratios(request: int, limit: int, ranges: Sequence[LimitRange], explanation: Explanation) -> int:
    """A memory request that is not too far below its limit for the LimitRanges."""
    for each in ranges:
        least = least_for_ratio(limit, each.memory_ratio)
        if request < least <= limit:
            # as a person writes it, where that is not above the limit
            least = min(limit, -(-least // MIB) * MIB)
            explanation.step(
                "range",
                f"request {words.memory(least)}, up from {words.memory(request)}",
                f"{name_of(each)} allows a limit of at most {each.memory_ratio:g} × the request",
            )
            request = least
    return request


def least_for_ratio(limit: int, ratio: float | None) -> int:
    """The least request beside a limit; 0 where there is no ratio, or one that says nothing."""
    exact = exact_ratio(ratio)
    return 0 if exact is None else -(-limit * exact.denominator // exact.numerator)


def exact_ratio(ratio: float | None) -> Fraction | None:
    """A ratio of limit and request as it is written; None where there is none, or one that says nothing."""
    if ratio is None or not ratio >= 1:
        return None
    return Fraction(str(min(ratio, float_info.max)))


def default_cpu_limit(each: LimitRange) -> int | None:
    """The CPU limit that containers without one get: the default, which the maximum is where there is none."""
    if each.is_overruled:
        return None
    default = each.defaults.limits.cpu_millicores
    return each.most.cpu_millicores if default is None else default


def defaults_of(each: LimitRange) -> Size:
    """
    What containers get that do not say, as the API server fills it in.

    A maximum is the default of the limit, that is the default of the request, and else the minimum is.
    """
    limits = filled(each.defaults.limits, each.most)
    if each.is_overruled:
        limits = Ask(None, limits.memory_bytes)
    return Size(filled(filled(each.defaults.requests, limits), each.least), limits)


def as_pods_have(each: LimitRange, workload: Workload) -> LimitRange:
    """
    The range, overruled where pods that were made since show that it gives and demands no CPU limits.

    What pods really have outweighs what it would do: the API server would have given them a limit, or refused them.
    """
    shown = [
        part.unlimited_at
        for part in workload.containers
        if part.unlimited_at is not None and part.size.limits.cpu_millicores is None
    ]
    return replace(each, is_overruled=any(not 0 < at < each.created for at in shown))


def name_of(each: LimitRange) -> str:
    """Its kind and name."""
    return f"LimitRange {each.namespace}/{each.name}"
