"""VerticalPodAutoscalers that change pods themselves, and those that speak of the same containers."""

from collections.abc import Iterator, Sequence

from remuda.rightsize.review import Finding
from remuda.rightsize.snapshot import Advisor, WorkloadId


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
        if each.mode == "Off":
            continue
        when = "when pods are made" if each.mode == "Initial" else "and evicts or resizes pods for it"
        yield Finding(
            "advisor-acts",
            "warning",
            f"VerticalPodAutoscaler {each.target.namespace}/{each.name}",
            "spec.updatePolicy.updateMode",
            f"{each.mode or 'not set, which is Recreate'}: it sets the sizes of {each.target} itself, {when}",
            "Off",
            "set it to Off before applying a size: it would be overruled",
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
        yield Finding(
            "many-advisors",
            "warning",
            str(target),
            "",
            f"VerticalPodAutoscalers {' and '.join(names_of)} all recommend for {', '.join(sorted(containers))}; without"
            f" samples {names_of[-1]} is taken at its word",
            "one VerticalPodAutoscaler for a workload",
            "delete all but one of them",
        )
