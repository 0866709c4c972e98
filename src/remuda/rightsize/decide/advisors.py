"""VerticalPodAutoscalers that change pods themselves."""

from collections.abc import Iterator, Sequence

from remuda.rightsize.review import Finding
from remuda.rightsize.workloads import Advisor, WorkloadId


def find_in_advisors(advisors: Sequence[Advisor], workloads: Sequence[WorkloadId]) -> Iterator[Finding]:
    """Those that would overrule a patch. `Initial` does, too: it writes its own sizes when a pod is made."""
    there = set(workloads)
    for each in sorted(advisors, key=lambda each: (each.target, each.name)):
        if each.mode == "Off" or each.target not in there:
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
