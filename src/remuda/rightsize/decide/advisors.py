"""VerticalPodAutoscalers that change pods themselves, and those that speak of the same containers."""

from collections.abc import Iterator, Sequence

from remuda.model.findings import Finding
from remuda.model.workloads import WorkloadId
from remuda.rightsize.decide.findings import finding
from remuda.rightsize.snapshot import Advisor


def find_in_advisors(advisors: Sequence[Advisor], workloads: Sequence[WorkloadId]) -> Iterator[Finding]:
    """Those that would overrule a patch, and those of which only one can be taken at its word."""
    there = set(workloads)
    some = sorted(
        (each for each in advisors if each.target in there), key=lambda each: (each.target, each.name)
    )
    yield from _acting(some)
    yield from _several(some)


def _acting(advisors: Sequence[Advisor]) -> Iterator[Finding]:
    """`Initial` acts, too: it writes its own sizes when a pod is made."""
    for each in advisors:
        if each.mode != "Off":
            yield finding(
                "advisor-acts",
                "warning",
                f"VerticalPodAutoscaler {each.target.namespace}/{each.name}",
                "spec.updatePolicy.updateMode",
                mode=each.mode,
                workload=str(each.target),
                initial=each.mode == "Initial",
            )


def _several(advisors: Sequence[Advisor]) -> Iterator[Finding]:
    """Containers by those that recommend for them; a finding for each such group of a workload."""
    who: dict[tuple[WorkloadId, str], list[str]] = {}
    for each in advisors:
        for container in each.estimates:
            who.setdefault((each.target, container), []).append(each.name)
    groups: dict[tuple[WorkloadId, tuple[str, ...]], list[str]] = {}
    for (target, container), names in who.items():
        if len(names) > 1:
            groups.setdefault((target, tuple(names)), []).append(container)
    for (target, names_of), containers in groups.items():
        yield finding(
            "many-advisors",
            "warning",
            target,
            names=" and ".join(names_of),
            containers=", ".join(sorted(containers)),
            last=names_of[-1],
        )
