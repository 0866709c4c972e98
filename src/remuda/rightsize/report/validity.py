"""What types do not forbid and no review has: amounts below zero, places and names that nothing can have."""

from collections import Counter
from collections.abc import Iterator

from msgspec import structs

from remuda.objects.problems import quoted
from remuda.rightsize.estimate.estimator import Estimate
from remuda.rightsize.evidence import Evidence, Series, Trace
from remuda.rightsize.review import ContainerReview, Review, WorkloadReview
from remuda.rightsize.snapshot import Size

#: 9999-12-31, the last day that dates know
_LAST_SECOND = 253_402_214_400
#: containers of a pod: more do not fit an object
_MOST_CONTAINERS = 10_000
_LAST_TIER = 4


def problems_of(review: Review) -> Iterator[str]:
    """Each with its path, what it is, and what it should be."""
    if review.history <= 0:
        yield f"history: is {review.history}: a length of time is above 0"
    for n, workload in enumerate(review.workloads):
        if not workload.containers:
            yield f"workloads[{n}].containers: is empty: a workload has a container"
        for m, item in enumerate(workload.containers):
            path = f"workloads[{n}].containers[{m}]"
            yield from _bad_container(item, path)
            if item.evidence is not None:
                yield from _bad_evidence(item.evidence, f"{path}.evidence")
        yield from _bad_workload(workload, f"workloads[{n}]")


def _bad_workload(workload: WorkloadReview, path: str) -> Iterator[str]:
    if workload.replicas < 0:
        yield f"{path}.replicas: is {workload.replicas}, below 0"
    if workload.tier is not None and not 0 <= workload.tier <= _LAST_TIER:
        yield f"{path}.tier: is {workload.tier}: tiers are from 0 to {_LAST_TIER}"
    if workload.tier_name:
        yield from _bad_name(workload.tier_name, f"{path}.tierName")
    for key in ("namespace", "kind", "name"):
        yield from _bad_name(getattr(workload, key), f"{path}.{key}")
    for n, name in enumerate(workload.init_containers):
        yield from _bad_name(name, f"{path}.initContainers[{n}]")
    places = Counter((each.is_sidecar, each.index) for each in workload.containers if each.index is not None)
    for (is_sidecar, index), count in places.items():
        if count > 1:
            part = "initContainers" if is_sidecar else "containers"
            yield f"{path}.containers: {count} of them have the index {index}: each of {part} has its own"


def _bad_name(name: str, path: str) -> Iterator[str]:
    if not name:
        yield f"{path}: is empty"
    elif "/" in name or not name.isprintable():
        yield f"{path}: is {quoted(name)}: no name has a slash, a new line or another character that is not shown"


def _bad_container(item: ContainerReview, path: str) -> Iterator[str]:
    yield from _bad_name(item.name, f"{path}.name")
    if item.index is not None and not 0 <= item.index < _MOST_CONTAINERS:
        yield f"{path}.index: is {item.index}: a place in a list is from 0 to {_MOST_CONTAINERS - 1}"
    for part in item.written or ():
        if part not in {"requests", "limits"}:
            yield f"{path}.written: has {quoted(part)}: there are requests and limits"
    sizes = {"now": item.now, "recommended": item.recommended, "vpaRule": item.vpa_rule}
    for key, size in (sizes | {"krrRule": item.krr_rule or Size()}).items():
        for which in ("requests", "limits"):
            for name, amount in structs.asdict(getattr(size, which)).items():
                if amount is not None and amount < 0:
                    yield f"{path}.{key}.{which}.{name}: is {amount}, below 0"


def _bad_evidence(found: Evidence, path: str) -> Iterator[str]:
    yield from _bad_amounts(found, path)
    instants = {"first": found.first, "last": found.last, "memoryPeakAt": found.memory_peak_at}
    instants |= {f"days[{n}].at": day.at for n, day in enumerate(found.days)}
    instants |= {f"kills[{n}].at": kill.at for n, kill in enumerate(found.kills)}
    if found.series is not None:
        instants["series.begin"] = found.series.begin
        yield from _bad_series(found.series, f"{path}.series")
    for key, at in instants.items():
        if at is not None and not 0 <= at <= _LAST_SECOND:
            yield f"{path}.{key}: is {at}, which are no seconds since 1970"


def _bad_amounts(found: Evidence, path: str) -> Iterator[str]:
    amounts: dict[str, float] = {
        "replicas": found.replicas,
        "cpuSamples": found.cpu_samples,
        "memorySamples": found.memory_samples,
        "confidence": found.confidence,
        "cpuP99": found.cpu_p99,
        "cpuPeak": found.cpu_peak,
        "memoryP99": found.memory_p99,
        "memoryPeak": found.memory_peak,
    }
    for key, estimate in (("estimate", found.estimate), ("krr", found.krr), ("other", found.other)):
        amounts |= _of_estimate(estimate, key)
    for key, trace in (("cpu", found.cpu), ("memory", found.memory)):
        amounts |= _of_trace(trace, key)
    for n, day in enumerate(found.days):
        amounts |= {f"days[{n}].peak": day.peak, f"days[{n}].least": day.least}
    for n, kill in enumerate(found.kills):
        amounts[f"kills[{n}].requestedBytes"] = kill.requested_bytes
        amounts[f"kills[{n}].limitBytes"] = kill.limit_bytes
    for key, amount in amounts.items():
        if amount < 0:
            yield f"{path}.{key}: is {amount}, below 0"


def _of_estimate(estimate: Estimate | None, path: str) -> dict[str, float]:
    if estimate is None:
        return {}
    found = {
        "target": estimate.target,
        "lowerBound": estimate.lower_bound,
        "upperBound": estimate.upper_bound,
    }
    return {
        f"{path}.{key}.{name}": amount
        for key, amounts in found.items()
        for name, amount in structs.asdict(amounts).items()
    }


def _of_trace(trace: Trace | None, path: str) -> dict[str, float]:
    if trace is None:
        return {}
    found = {"target": trace.target, "lowerBound": trace.lower_bound, "upperBound": trace.upper_bound}
    return {f"{path}.floor": trace.floor} | {
        f"{path}.{key}.{name}": amount
        for key, percentile in found.items()
        for name, amount in structs.asdict(percentile).items()
        if name != "bucket"  # -1 is none
    }


def _bad_series(series: Series, path: str) -> Iterator[str]:
    if series.step <= 0:
        yield f"{path}.step: is {series.step}: a step is above 0"
    for key, amounts in (("cpuMillicores", series.cpu_millicores), ("memoryBytes", series.memory_bytes)):
        if any(amount is not None and amount < 0 for amount in amounts):
            yield f"{path}.{key}: has an amount below 0"
