"""What cannot be judged: no samples, too few for the strategy, samples of what is gone, a world that was not read."""

from collections.abc import Iterator, Mapping

from remuda.rightsize.decide import words
from remuda.rightsize.decide.findings import Explanation, field_of
from remuda.rightsize.evidence import Evidence, OomKill
from remuda.rightsize.review import ContainerReview, Finding, UsageClass
from remuda.rightsize.snapshot import KINDS, Container, Snapshot, Workload, WorkloadId


def is_empty(evidence: Evidence) -> bool:
    """Whether it is from samples, and there are none: such an estimate is a floor and says nothing."""
    return not evidence.origin.startswith("vpa") and not (evidence.cpu_samples or evidence.memory_samples)


def without_evidence(
    workload: Workload,
    container: Container,
    kills: tuple[OomKill, ...],
    explanation: Explanation,
    *,
    siblings_have: bool,
) -> ContainerReview:
    """A container that nothing is known of: left as it is, at risk if it was killed."""
    if siblings_have:
        explanation.find(
            "new-container",
            "warning",
            "",
            "no samples, though its siblings have some",
            "samples of its use",
            "review again when it has run for a day; if it was renamed, its history is under the old name",
        )
    else:
        explanation.find(
            "no-evidence",
            "warning" if workload.replicas else "info",
            "",
            "no samples of its use" + ("" if workload.replicas else ", and no pods now"),
            "samples of its use",
            "see remuda diagnose metrics" if workload.replicas else "review it when it runs",
        )
    _explain_kills(container, kills, explanation)
    explanation.step("samples", "none", "it is left as it is")
    return _left(container, kills, explanation)


def _left(
    container: Container,
    kills: tuple[OomKill, ...],
    explanation: Explanation,
    usage_class: UsageClass = "stable",
    evidence: Evidence | None = None,
) -> ContainerReview:
    return ContainerReview(
        container.name,
        container.size,
        container.size,
        "leave",
        usage_class,
        "will-oom" if kills else "",
        is_sidecar=container.is_sidecar,
        others=container.others,
        other_requests=container.other_requests,
        index=container.index,
        written=container.written,
        steps=tuple(explanation.steps),
        rules=explanation.rules,
        evidence=evidence,
    )


def without_estimate(
    container: Container,
    evidence: Evidence,
    usage_class: UsageClass,
    strategy: str,
    kills: tuple[OomKill, ...],
    explanation: Explanation,
) -> ContainerReview:
    """A container that the strategy says nothing of."""
    explanation.find(
        "too-few-for-strategy",
        "warning",
        "",
        f"{words.counted(evidence.cpu_samples, 'sample')} of CPU and {evidence.memory_samples} of memory:"
        f" the strategy {strategy} gives no answer",
        "100 samples over 3 hours" if strategy == "krr" else f"samples enough for {strategy}",
        "review again later, or with --strategy vpa, which answers with less",
    )
    _explain_kills(container, kills, explanation)
    explanation.step("strategy", f"{strategy} gives no answer", "it is left as it is")
    return _left(container, kills, explanation, usage_class, evidence)


def _explain_kills(container: Container, kills: tuple[OomKill, ...], explanation: Explanation) -> None:
    if kills:
        explanation.find(
            "killed",
            "error",
            "limits.memory",
            f"OOM-killed {words.counted(len(kills), 'time')}, last at {words.moment(kills[-1].at)}; the"
            f" limit is {words.memory(container.size.limits.memory_bytes)}",
            "never killed",
            "raise its memory limit: by how much cannot be told without samples",
        )


def find_unsized(snapshot: Snapshot) -> Iterator[Finding]:
    """Pods of no workload that is sized, by what keeps them: those of custom resources, and those that nothing keeps."""
    found: dict[str, dict[WorkloadId, int]] = {}
    for owner in snapshot.owners.values():
        # Pods of nodes are files on these, and of the kinds that are sized it is told elsewhere what could not be read.
        if owner.kind not in {*KINDS, "Node"}:
            some = found.setdefault(owner.kind, {})
            some[owner] = some.get(owner, 0) + 1
    for kind, owners in sorted(found.items()):
        yield Finding(
            "not-sized",
            "info",
            kind,
            "",
            f"{words.counted(sum(owners.values()), 'pod')} of {words.some(str(each) for each in sorted(owners))}",
            f"known: sized are {', '.join(KINDS)}",
            "size it by hand: no template of a Deployment or the like makes these pods"
            if kind == "Pod"
            else f"size its template by hand: what {kind} makes of it is not known here",
        )


def find_operated(snapshot: Snapshot) -> Iterator[Finding]:
    """Workloads whose size is to be set in another object, from which an operator makes them."""
    for each in sorted(snapshot.workloads, key=lambda each: each.id):
        if each.sized_by:
            yield Finding(
                "sized-by-operator",
                "info",
                str(each.id),
                "",
                f"an operator makes its pods, from {each.sized_by}",
                "sized there",
                f"set requests and limits in {each.sized_by}: no patch is written, as the operator would undo it",
            )


def find_gone(snapshot: Snapshot, evidence: Mapping[tuple[WorkloadId, str], Evidence]) -> Iterator[Finding]:
    """Samples of containers and workloads that are not there. Those of init containers that end are none of these."""
    workloads = {each.id: each for each in snapshot.workloads}
    gone: set[WorkloadId] = set()
    for identity, name in sorted(evidence):
        workload = workloads.get(identity)
        if workload is None:
            gone.add(identity)
        elif name not in {container.name for container in workload.containers} | set(
            workload.init_containers
        ):
            where = field_of(workload, Container(name))
            yield Finding(
                "container-gone",
                "info",
                str(identity),
                where,
                "has samples, and the template does not have it any more",
                "ignored",
                "nothing: its samples fade",
            )
    if gone:
        yield Finding(
            "workload-gone",
            "info",
            "samples",
            "",
            f"samples of {words.counted(len(gone), 'workload')} that {'is' if len(gone) == 1 else 'are'} not there:"
            f" {words.some(str(each) for each in sorted(gone))}",
            "ignored",
            "nothing, if they were deleted; else see whether all of the world was read",
        )


def find_unread(snapshot: Snapshot) -> Iterator[Finding]:
    """Parts of the world that could not be read."""
    for each in sorted(snapshot.unknown, key=lambda each: (each.part, each.why)):
        yield Finding(
            "not-read",
            "warning",
            each.part,
            "",
            each.why,
            "can be read: nothing is concluded from what is missing",
            "make it readable and review again: what it bounds, scales or tells was not minded",
        )
