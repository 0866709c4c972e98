"""What cannot be judged: no samples, too few for the strategy, samples of what is gone, a world that was not read."""

from collections.abc import Iterator, Mapping

from remuda.model.findings import Finding
from remuda.model.workloads import WorkloadId
from remuda.rightsize.decide import words
from remuda.rightsize.decide.findings import Explanation, field_of, finding
from remuda.rightsize.evidence import Evidence, OomKill
from remuda.rightsize.review import ContainerReview, UsageClass
from remuda.rightsize.snapshot import KINDS, Container, Snapshot, Workload


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
        explanation.find("new-container", "warning")
    elif workload.replicas:
        explanation.find("no-evidence", "warning")
    else:
        explanation.find("no-evidence", "info", idle=True)
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
        cpu=evidence.cpu_samples,
        memory=evidence.memory_samples,
        strategy=strategy,
        krr=strategy == "krr",
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
            kills=len(kills),
            last=words.moment(kills[-1].at),
            limit=words.memory(container.size.limits.memory_bytes),
            unsampled=True,
        )


def find_unsized(snapshot: Snapshot) -> Iterator[Finding]:
    """Pods of no workload that is sized, by what keeps them: those of custom resources, and those that nothing keeps."""
    found: dict[str, dict[WorkloadId, int]] = {}
    for owner in snapshot.owners.values():
        # Pods of nodes are files on these, and of the kinds that are sized it is reported elsewhere what could not be read.
        if owner.kind not in {*KINDS, "Node"}:
            some = found.setdefault(owner.kind, {})
            some[owner] = some.get(owner, 0) + 1
    for kind, owners in sorted(found.items()):
        yield finding(
            "not-sized",
            "info",
            kind,
            pods=sum(owners.values()),
            owners=words.some(map(str, sorted(owners))),
            sized=", ".join(KINDS),
            kind=None if kind == "Pod" else kind,
        )


def find_operated(snapshot: Snapshot) -> Iterator[Finding]:
    """Workloads whose size is to be set in another object, from which an operator makes them."""
    for each in sorted(snapshot.workloads, key=lambda each: each.id):
        if each.sized_by:
            yield finding("sized-by-operator", "info", each.id, origin=each.sized_by)


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
            yield finding("container-gone", "info", identity, field_of(workload, Container(name)))
    if gone:
        names = words.some(map(str, sorted(gone)))
        yield finding("workload-gone", "info", "samples", gone=len(gone), names=names)


def find_unread(snapshot: Snapshot) -> Iterator[Finding]:
    """Parts of the world that could not be read."""
    for each in snapshot.unknown:
        yield finding("not-read", "warning", each.part, why=each.why)
