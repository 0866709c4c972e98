"""What is asked of kept audits of tiers: which there are, and how one looks."""

from collections import Counter
from collections.abc import Iterable, Iterator

from remuda.errors import BadInput, NotFound
from remuda.ledger import audits as audits_kept
from remuda.ledger import documents
from remuda.ledger.documents import Kept
from remuda.ledger.sql import Database
from remuda.model.amount_texts import bytes_text
from remuda.model.findings import Finding
from remuda.model.sentences import some
from remuda.model.times import Instant
from remuda.objects.problems import did_you_mean, quoted
from remuda.output.causes import causes
from remuda.tiers import kept
from remuda.tiers.answers import AuditRow, EvictionLine, NamespaceBars, NodeLine, Picture, QuotaBar
from remuda.tiers.kept import Head, KeptAudit
from remuda.tiers.show.audit import above_text, qos_text
from remuda.tiers.show.schema import EvictionRow, NamespaceRow, NodeRow

#: so many are shown of each
MOST_NAMESPACES, MOST_NODES = 100, 50


def audits(db: Database, until: Instant) -> list[AuditRow]:
    """The newest audit of each source; one that cannot be read says why."""
    return [_row(db, item) for item in audits_kept.newest_of_each(db, kept.FAMILY, until)]


def _row(db: Database, item: Kept) -> AuditRow:
    source = item.kind.partition("/")[2]
    try:
        head = audits_kept.read(documents.packed(db, item), item, Head, kept.SCHEMA)
    except BadInput as error:
        return AuditRow(item.id, source, item.at, problem=str(error))
    return AuditRow(
        item.id, source, item.at, head.at, head.counts.get("error", 0), head.counts.get("warning", 0)
    )


def picture_of(db: Database, number: int, node: str) -> Picture:
    """A kept audit as a page shows it; `NotFound` names near misses of its number or a node."""
    item = audits_kept.numbered(db, kept.FAMILY, number)
    found = audits_kept.read(documents.packed(db, item), item, KeptAudit, kept.SCHEMA)
    by_name = {row.name: row for row in found.nodes}
    if node and node not in by_name:
        near = did_you_mean(node, by_name) or f"; there is: {some(by_name, 5) or 'none'}"
        raise NotFound(f"the kept audit knows no node {quoted(node, 120)}{near}")
    chosen = by_name.get(node) or next(iter(found.nodes), None)
    return Picture(
        audit=_row(db, item),
        policies=found.policies,
        namespaces=tuple(_namespaces(found.namespaces[:MOST_NAMESPACES], found.findings)),
        namespace_count=len(found.namespaces),
        nodes=tuple(map(_node, found.nodes[:MOST_NODES])),
        node_count=len(found.nodes),
        node=chosen.name if chosen else "",
        order=tuple(map(_line, chosen.eviction)) if chosen else (),
        causes=tuple(causes(found.findings)),
        unread=found.unread,
    )


def _namespaces(rows: Iterable[NamespaceRow], findings: Iterable[Finding]) -> Iterator[NamespaceBars]:
    grave = Counter((each.scope, each.severity) for each in findings)
    for row in rows:
        yield NamespaceBars(
            row.name,
            row.tier,
            row.origin,
            row.problem,
            row.pods,
            qos_text(row.qos),
            grave[row.name, "error"],
            grave[row.name, "warning"],
            tuple(
                QuotaBar(
                    each.resource, f"{each.used_text} of {each.hard_text}", _percent(each.used, each.hard)
                )
                for each in row.quotas
            ),
        )


def _percent(used: int, hard: int) -> float:
    if not hard:
        return 100.0 if used else 0.0
    return round(100 * used / hard, 1)


def _node(row: NodeRow) -> NodeLine:
    return NodeLine(
        row.name,
        row.pods,
        bytes_text(row.allocatable_bytes),
        bytes_text(row.requested_bytes),
        bytes_text(row.limit_bytes),
        _percent(row.requested_bytes, row.allocatable_bytes),
        _percent(row.limit_bytes, row.allocatable_bytes),
        row.unlimited_pods,
        row.eviction[0].pod if row.eviction else "",
    )


def _line(each: EvictionRow) -> EvictionLine:
    used = "?" if each.used_bytes is None else bytes_text(each.used_bytes)
    return EvictionLine(
        each.pod, each.tier, each.priority, used, bytes_text(each.request_bytes), above_text(each), each.qos
    )
