"""What LimitRanges make of pods as a whole, and of containers without a CPU limit."""

from collections.abc import Iterator, Sequence

from remuda.model.findings import Finding
from remuda.rightsize.decide import words
from remuda.rightsize.decide.clamps import default_cpu_limit, least_for_ratio, name_of
from remuda.rightsize.decide.context import counted
from remuda.rightsize.decide.demands import demands_cpu_limit
from remuda.rightsize.decide.findings import finding
from remuda.rightsize.decide.quotas import Rollout
from remuda.rightsize.snapshot import LimitRange, Size


def find_in_ranges(ranges: Sequence[LimitRange], rollouts: Sequence[Rollout]) -> Iterator[Finding]:
    """
    What of the changes the API server would refuse, and where it gives CPU limits, be there a change or not.

    Whatever has been applied, a range that gives CPU limits goes on to do so.
    """
    for each in sorted(ranges, key=lambda each: (each.namespace, each.name, each.of)):
        there = [
            rollout
            for rollout in rollouts
            if rollout.id.namespace == each.namespace and each.name not in rollout.overruled
        ]
        if each.of == "Pod":
            for rollout in there:
                if rollout.is_change:
                    yield from _of_pod(each, rollout)
        elif default_cpu_limit(each) is not None:
            yield from _cpu_limit(each, there)


def _of_pod(each: LimitRange, rollout: Rollout) -> Iterator[Finding]:
    """How much of what is not guessed: which container should have less is for a person to say."""
    sizes = [counted(size, rollout.defaults) for size in rollout.after]
    yield from _unlimited(each, rollout, sizes)
    requests_cpu = sum(size.requests.cpu_millicores or 0 for size in sizes)
    limits_cpu = sum(size.limits.cpu_millicores or 0 for size in sizes)
    requests = sum(size.requests.memory_bytes or 0 for size in sizes)
    limits = sum(size.limits.memory_bytes or 0 for size in sizes)
    for part, amount, bound, is_most, write in (
        ("requests.cpu", requests_cpu, each.least.cpu_millicores, False, words.cpu),
        ("limits.cpu", max(limits_cpu, requests_cpu), each.most.cpu_millicores, True, words.cpu),
        ("requests.cpu", requests_cpu, least_for_ratio(limits_cpu, each.cpu_ratio), False, words.cpu),
        ("requests.memory", requests, each.least.memory_bytes, False, words.memory),
        ("limits.memory", limits, each.most.memory_bytes, True, words.memory),
        ("requests.memory", requests, least_for_ratio(limits, each.memory_ratio), False, words.memory),
    ):
        if bound is None or (amount <= bound if is_most else amount >= bound):
            continue
        yield finding(
            "limit-range-of-pod",
            "error",
            rollout.id,
            f"{part} of all containers",
            amount=write(amount),
            range=name_of(each),
            **{"most" if is_most else "least": write(bound)},
        )


def _unlimited(each: LimitRange, rollout: Rollout, sizes: Sequence[Size]) -> Iterator[Finding]:
    """A maximum or a ratio of pods is compared with limits, so that each container must have one."""
    without = sum(_is_bare(size) for size in sizes)
    if without and demands_cpu_limit(each):
        where = "limits.cpu of all containers"
        yield finding("limit-range-of-pod", "error", rollout.id, where, bare=without, range=name_of(each))


def _cpu_limit(each: LimitRange, rollouts: Sequence[Rollout]) -> Iterator[Finding]:
    bare = [str(rollout.id) for rollout in rollouts if any(_is_bare(size) for size in rollout.after)]
    if bare:
        yield finding(
            "limit-range-gives-cpu-limit",
            "warning",
            name_of(each),
            "spec.limits[Container].default.cpu",
            default=words.cpu(default_cpu_limit(each)),
            workloads=words.some(sorted(bare)),
        )


def _is_bare(size: Size) -> bool:
    return size.limits.cpu_millicores is None
