"""Amounts, sizes and names as a table or a plot has room for: short, where steps and findings are exact."""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

from remuda.model.amount_texts import GIB, MIB, TIB, gib, trimmed
from remuda.model.times import SECOND, write_duration
from remuda.rightsize.decide.traces import estimate_of
from remuda.rightsize.estimate.estimator import MOST_AMOUNT, Amounts, Estimate
from remuda.rightsize.review import ADVISED, ContainerReview, Review, Risk, Waste, WorkloadReview
from remuda.rightsize.snapshot import Ask, Size

Resource: TypeAlias = Literal["cpu", "memory"]
RESOURCES: tuple[Resource, ...] = ("cpu", "memory")

#: an amount that is not set
NOTHING = "-"
RISKS: dict[Risk, str] = {"will-oom": "will OOM", "leak": "leak", "starved": "starved", "": ""}


def cpu(millicores: int) -> str:
    """`250m`, `9500m`, `16`, `211.9`: millicores below ten cores, but for whole cores."""
    if abs(millicores) < 10_000 and millicores % 1000:
        return f"{millicores}m"
    return trimmed(f"{millicores / 1000:.1f}")


def memory(amount: int) -> str:
    """`816Mi`, `99.6Mi`, `1Gi`, `19.75Gi`: MiB below 10 GiB, but for whole GiB; bytes where that would be 0."""
    if amount and amount % GIB == 0 and abs(amount) < 10 * TIB:
        return f"{amount // GIB:,}Gi"
    for size, unit in ((TIB, "Ti"), (GIB, "Gi")):
        if abs(amount) >= 10 * size or (unit == "Ti" and amount >= MOST_AMOUNT):
            return trimmed(f"{amount / size:,.2f}") + unit
    if abs(amount) < MIB // 10:
        return str(amount)
    if amount % MIB == 0 or abs(amount) >= 100 * MIB:
        return f"{round(amount / MIB)}Mi"
    return trimmed(f"{amount / MIB:.1f}") + "Mi"


WRITE: dict[Resource, Callable[[int], str]] = {"cpu": cpu, "memory": memory}


def figure(resource: Resource, amount: int | None) -> str:
    """An amount, or a dash."""
    return NOTHING if amount is None else WRITE[resource](amount)


def of(resource: Resource, amounts: Amounts | Ask) -> int | None:
    """One of both."""
    return amounts.cpu_millicores if resource == "cpu" else amounts.memory_bytes


def way(item: ContainerReview, resource: Resource) -> str:
    """What becomes of one resource: `raise`, `lower`, or `up/down` where its request goes up and its limit down."""
    moves = {
        part: _move(
            of(resource, getattr(item.now, part)), of(resource, getattr(item.recommended, part)), part
        )
        for part in ("requests", "limits")
    }
    if resource == "cpu" and moves["requests"]:
        # That a CPU limit is removed says nothing about the need.
        return moves["requests"]
    found = {move for move in moves.values() if move}
    if len(found) < 2:
        return "".join(found)
    return "up/down" if moves["requests"] == "raise" else "down/up"


def _move(now: int | None, then: int | None, part: str) -> str:
    """No limit is the highest, and no request the lowest."""
    if now == then:
        return ""
    nothing = 0 if part == "requests" else MOST_AMOUNT + 1
    return "raise" if (nothing if then is None else then) > (nothing if now is None else now) else "lower"


def verdicts(item: ContainerReview) -> dict[Resource, str]:
    """A verdict for each resource where the values of a container go different ways; else nothing: it has one for all."""
    ways = {each: way(item, each) for each in RESOURCES}
    found = set(ways.values()) - {""}
    if item.verdict not in {"raise", "lower"} or (len(found) < 2 and not any("/" in each for each in found)):
        return {}
    return {resource: each or "keep" for resource, each in ways.items()}


class Pair(NamedTuple):
    """A request and a limit of one resource."""

    request: int | None
    limit: int | None


def pair(resource: Resource, size: Size) -> Pair:
    """Both of a size."""
    return Pair(of(resource, size.requests), of(resource, size.limits))


def write_pair(resource: Resource, size: Size | None) -> str:
    """`512Mi/1Gi`, a request and a limit; a dash where none is set."""
    if size is None or pair(resource, size) == (None, None):
        return NOTHING
    return "/".join(figure(resource, amount) for amount in pair(resource, size))


def cores(millicores: int) -> str:
    """`3.9`: a number of cores, for sums."""
    return trimmed(f"{millicores / 1000:,.2f}")


def money(amount: float | None, currency: str = "") -> str:
    """`214.60 EUR`."""
    return "" if amount is None else f"{amount:,.2f} {currency}".rstrip()


def write_waste(waste: Waste, currency: str) -> str:
    """`3.9 cores, 50.29 GiB, 214.60 EUR a month`."""
    parts = [f"{cores(waste.cpu_millicores)} cores", f"{gib(waste.memory_bytes)} GiB"]
    if waste.monthly is not None:
        parts.append(f"{money(waste.monthly, currency)} a month")
    return ", ".join(parts)


def beyond_and_missing(review: Review) -> tuple[Waste, Waste]:
    """What is requested beyond the recommendations, and what is missing, each summed up over workloads."""
    wastes = [item.waste for item in review.workloads]
    has_prices = any(each.monthly is not None for each in wastes)

    def total(sign: int) -> Waste:
        def part(values: Iterable[float | None]) -> float:
            return sum(max(0, sign * (value or 0)) for value in values)

        return Waste(
            int(part(each.cpu_millicores for each in wastes)),
            int(part(each.memory_bytes for each in wastes)),
            round(part(each.monthly for each in wastes), 2) if has_prices else None,
        )

    return total(1), total(-1)


def names(review: Review) -> dict[tuple[str, str, str], str]:
    """How each workload is called: `namespace/name`, with the kind between where two have the same."""
    counts: dict[tuple[str, str], int] = {}
    for item in review.workloads:
        key = item.namespace, item.name
        counts[key] = counts.get(key, 0) + 1
    return {
        key_of(item): f"{item.namespace}/{item.name}"
        if counts[item.namespace, item.name] == 1
        else f"{item.namespace}/{item.kind}/{item.name}"
        for item in review.workloads
    }


def key_of(item: WorkloadReview) -> tuple[str, str, str]:
    """Namespace, kind and name."""
    return item.namespace, item.kind, item.name


def findings_of(review: Review) -> dict[tuple[str, str, str, str], list[int]]:
    """Which findings are about each container, by its workload's namespace, kind and name and its own: their places."""
    by_object: dict[str, list[int]] = {}
    for n, finding in enumerate(review.findings):
        by_object.setdefault(finding.object, []).append(n)
    return {
        (*key_of(workload), item.name): [
            n
            for n in by_object.get(f"{workload.kind} {workload.namespace}/{workload.name}", ())
            if "[" not in (field := review.findings[n].field) or f"[{item.name}]" in field
        ]
        for workload in review.workloads
        for item in workload.containers
    }


def chosen(item: ContainerReview, strategy: str) -> Estimate | None:
    """The numbers of the strategy that a review went by; None where there are none."""
    return None if item.evidence is None else estimate_of(item.evidence, strategy)


def describe_usage(review: Review) -> str:
    """Where use is from, and how far back: an advisor's word has no beginning."""
    if review.usage == ADVISED:
        return review.usage
    return f"{review.usage}, {write_duration(review.history * SECOND)} back"


def is_partial(item: ContainerReview) -> bool:
    """Whether a part of its samples could not be read."""
    return item.evidence is not None and item.evidence.is_partial
