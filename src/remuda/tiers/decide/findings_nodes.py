"""Nodes: memory that is promised more than once, who goes first when it runs out, and how GPUs are marked."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from remuda.model.amount_texts import amount_text, bytes_text, quantity
from remuda.model.findings import Finding
from remuda.model.pods import Taint
from remuda.model.sentences import some
from remuda.model.workloads import WorkloadId
from remuda.rules.tiers import Gpu, TierPolicy
from remuda.tiers.decide.eviction import Rank, ranked
from remuda.tiers.decide.findings_placing import has_device
from remuda.tiers.decide.headroom import sum_of_quotas
from remuda.tiers.snapshot import NODES, PODS, QUOTAS, Node, Pod, Snapshot


class NodeAudit(Struct, frozen=True):
    """A node: what is promised of its memory, and who goes first when it runs out."""

    node: Node
    pods: int
    #: bytes, of all pods that are not over
    requested: int
    limits: int
    #: pods with a container that has no memory limit
    unlimited: int
    #: the first to go first; who is never evicted is not among them
    order: tuple[Rank, ...]

    @property
    def memory(self) -> int:
        """What pods may use."""
        return self.node.allocatable.get("memory", 0)


def nodes_of(snapshot: Snapshot) -> tuple[NodeAudit, ...]:
    """What each node has promised, by name."""
    there: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        if pod.runs:
            there.setdefault(pod.node, []).append(pod)
    return tuple(_node(node, there.get(node.name, []), snapshot) for node in snapshot.nodes)


def _node(node: Node, pods: list[Pod], snapshot: Snapshot) -> NodeAudit:
    requested = limits = unlimited = 0
    for pod in pods:
        containers = pod.spec.containers
        requested += containers.requests.get("memory", 0)
        limits += containers.limits.get("memory", 0)
        is_whole = containers.pod is not None and "memory" in containers.pod.limits
        if not is_whole and any("memory" not in each.limits for each in containers.all if each.lasts):
            unlimited += 1
    return NodeAudit(node, len(pods), requested, limits, unlimited, tuple(ranked(pods, snapshot.memory_used)))


def of_nodes(
    nodes: Iterable[NodeAudit], policies: Iterable[TierPolicy], snapshot: Snapshot
) -> Iterator[Finding]:
    """What is wrong with nodes, whatever runs there."""
    gpus = dict.fromkeys(policy.gpu for policy in policies if policy.gpu is not None)
    for each in nodes:
        if not snapshot.is_unknown(PODS):
            yield from _overcommitted(each)
        for gpu in gpus:
            yield from _gpu(each.node, gpu)
    if not snapshot.is_unknown(NODES) and not snapshot.is_unknown(QUOTAS):
        yield from _quotas(snapshot)


def _overcommitted(each: NodeAudit) -> Iterator[Finding]:
    memory = each.memory
    if memory and each.limits > memory:
        terms = {
            "limits": bytes_text(each.limits),
            "allocatable": bytes_text(memory),
            "percent": f"{100 * each.limits / memory:.0f}",
            "requested": bytes_text(each.requested),
            "unlimited": each.unlimited or None,
            "first": some((rank.pod.id for rank in each.order), 3),
        }
        yield _about(each.node, "memory-overcommitted", "warning", "status.allocatable.memory", **terms)


def _about(node: Node, rule: str, severity: str, field: str, **terms: str | int | None) -> Finding:
    return Finding(
        f"tiers.{rule}", "warning" if severity == "warning" else "info", f"Node {node.name}", field, terms
    )


def _gpu(node: Node, gpu: Gpu) -> Iterator[Finding]:
    taint = Taint(*gpu.taint)
    is_tainted = any(each.key == taint.key for each in node.taints)
    device = f"{gpu.device_label}={gpu.device_value}"
    feature = f"{gpu.feature_label}={gpu.feature_value}"
    if not has_device(node, gpu):
        if is_tainted:
            yield _about(
                node, "gpu-taint-without-device", "warning", "spec.taints", taint=str(taint), device=device
            )
        return
    if taint not in node.taints:
        found = some(str(each) for each in node.taints if each.key == taint.key)
        yield _about(
            node, "gpu-node-untainted", "warning", "spec.taints", taint=str(taint), device=device, found=found
        )
    if node.labels.get(gpu.feature_label) != gpu.feature_value:
        yield _about(node, "gpu-node-unlabelled", "warning", "metadata.labels", device=device, label=feature)
    if not node.allocatable.get(gpu.resource):
        yield _about(
            node, "gpu-not-offered", "warning", "status.allocatable", device=device, resource=gpu.resource
        )


def _quotas(snapshot: Snapshot) -> Iterator[Finding]:
    """What all quotas promise together against what the nodes have."""
    promised = sum_of_quotas(snapshot.quotas)
    beyond = []
    for name in ("cpu", "memory", "pods"):
        has = sum(node.allocatable.get(name, 0) for node in snapshot.nodes)
        if has and promised.get(name, 0) > has:
            beyond.append(
                f"{amount_text(name, promised[name])} of {quantity(name, has) if name != 'memory' else bytes_text(has)}"
            )
    if beyond:
        yield Finding("tiers.quotas-above-cluster", "info", "cluster", "", {"beyond": ", ".join(beyond)})


def of_order(nodes: Iterable[NodeAudit], tiers: Mapping[str, int]) -> Iterator[Finding]:
    """
    Workloads that go before others of lower priority, since they use more than they request.

    `tiers` are the priorities of namespaces that have a tier.
    """
    found: dict[WorkloadId, tuple[Rank, Rank, str, int]] = {}
    for each in nodes:
        within = [rank for rank in each.order if rank.above is not None and rank.above <= 0]
        lowest = min(within, key=lambda rank: rank.pod.spec.priority or 0, default=None)
        for rank in each.order:
            is_above = rank.above is not None and rank.above > 0
            if not is_above or lowest is None or rank.pod.namespace not in tiers:
                continue
            if (rank.pod.spec.priority or 0) > (lowest.pod.spec.priority or 0):
                owner = rank.pod.owner
                count = found[owner][3] + 1 if owner in found else 1
                first = found.get(owner, (rank, lowest, each.node.name, 0))
                found[owner] = (*first[:3], count)
    for owner, (rank, spared, node, count) in found.items():
        yield Finding(
            "tiers.evicted-before-lower-tier",
            "warning",
            str(owner),
            "",
            {
                "pod": rank.pod.name,
                "node": node,
                "used": bytes_text(rank.used or 0),
                "request": bytes_text(rank.request),
                "spared": spared.pod.id,
                "count": count,
            },
            owner.namespace,
        )
