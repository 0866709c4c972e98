"""An audit as a program reads it."""

from collections.abc import Iterator

from remuda.model.findings import Finding
from remuda.model.times import write_instant
from remuda.output.findings import describe
from remuda.tiers.decide.audit import Audit, NamespaceAudit
from remuda.tiers.decide.eviction import Rank
from remuda.tiers.decide.findings_nodes import NodeAudit
from remuda.tiers.decide.qos import qos_of
from remuda.tiers.show.schema import (
    SCHEMA,
    Document,
    EvictionRow,
    FindingRow,
    NamespaceRow,
    NodeRow,
    QuotaRow,
    Unread,
)


def document(audit: Audit) -> Document:
    """All of it."""
    return Document(
        SCHEMA,
        write_instant(audit.now),
        audit.snapshot.source,
        [policy.name for policy in audit.policies],
        namespace_rows(audit),
        list(node_rows(audit)),
        [finding_row(item) for item in audit.findings],
        [Unread(item.part, item.why) for item in audit.snapshot.unknown],
    )


def namespace_rows(audit: Audit) -> list[NamespaceRow]:
    """Namespaces by tier, the most important first, those without one last."""
    order = {name: place for policy in audit.policies for place, name in enumerate(policy.tiers)}
    rows = [_namespace(each) for each in audit.namespaces]
    return sorted(rows, key=lambda row: (order.get(row.tier, len(order)), row.name))


def _namespace(each: NamespaceAudit) -> NamespaceRow:
    member = each.member
    quotas = [
        QuotaRow(room.quota, room.resource, room.hard, room.used, room.text(room.hard), room.text(room.used))
        for room in each.rooms
    ]
    return NamespaceRow(
        each.name,
        member.policy,
        member.tier,
        member.origin,
        member.problem,
        each.pods,
        {str(qos): count for qos, count in each.qos.items()},
        quotas,
    )


def node_rows(audit: Audit, most: int | None = None) -> Iterator[NodeRow]:
    """Nodes, each with all of its order of eviction or the first of it."""
    tiers = {each.name: each.member.tier for each in audit.namespaces}
    for each in audit.nodes:
        yield node_row(each, tiers, most)


def node_row(each: NodeAudit, tiers: dict[str, str], most: int | None = None) -> NodeRow:
    """A node; `tiers` are those of namespaces."""
    return NodeRow(
        each.node.name,
        each.pods,
        each.memory,
        each.requested,
        each.limits,
        each.unlimited,
        [_eviction(rank, tiers) for rank in each.order[:most]],
    )


def _eviction(rank: Rank, tiers: dict[str, str]) -> EvictionRow:
    pod = rank.pod
    return EvictionRow(
        pod.id,
        tiers.get(pod.namespace, ""),
        pod.spec.priority or 0,
        pod.spec.priority_class,
        pod.qos or qos_of(pod.spec.containers),
        rank.used,
        rank.request,
        rank.above,
    )


def finding_row(item: Finding) -> FindingRow:
    """A finding with its sentences."""
    return FindingRow(item.rule, item.severity, item.scope, item.subject, item.field, *describe(item))
