"""
Audits of tiers in the ledger, for the page and the diagnosis: by what was audited, so that clusters do not mix.

What is kept is what the audit said, not what it looked at: of a large cluster that would be too much.
"""

import sqlite3

from msgspec import Struct

from remuda.errors import RemudaError
from remuda.ledger import documents
from remuda.ledger.place import Home
from remuda.model.findings import Finding
from remuda.model.times import Instant
from remuda.tiers.decide.audit import Audit
from remuda.tiers.show.document import namespace_rows, node_rows
from remuda.tiers.show.schema import NamespaceRow, NodeRow

FAMILY = "tiers"
SCHEMA = "remuda.dev/tiers-kept/v1"
#: of one audit, packed
MOST_BYTES = 4 * 1024 * 1024
#: of one audit: the gravest findings, and of each node those that go first
MOST_FINDINGS, MOST_NAMESPACES, MOST_NODES, MOST_PODS = 1_000, 5_000, 1_000, 30


class Head(Struct, frozen=True):
    """What is quickly read of a kept audit."""

    schema: str
    #: when it was made, and as of when it was judged
    made_at: Instant = 0
    at: Instant = 0
    source: str = ""
    #: of each severity, how many findings
    counts: dict[str, int] = {}
    #: what was found, the gravest first
    findings: tuple[Finding, ...] = ()


class KeptAudit(Head, frozen=True):
    """An audit as it was."""

    policies: tuple[str, ...] = ()
    namespaces: tuple[NamespaceRow, ...] = ()
    nodes: tuple[NodeRow, ...] = ()
    #: parts that could not be read, and why
    unread: tuple[str, ...] = ()


def keep(home: Home, audit: Audit, made_at: Instant, largest: int = MOST_BYTES) -> str:
    """
    Keep an audit; return why it cannot be kept, or nothing.

    It is no error: whoever made the audit has it already, and must not lose it over this.
    """
    made = kept_of(audit, made_at)
    try:
        documents.keep(home, f"{FAMILY}/{made.source}", made_at, made, largest)
    except (RemudaError, sqlite3.Error) as error:
        return str(error)
    return ""


def kept_of(audit: Audit, made_at: Instant) -> KeptAudit:
    """An audit as it is kept."""
    counts: dict[str, int] = {}
    for item in audit.findings:
        counts[item.severity] = counts.get(item.severity, 0) + 1
    nodes = sorted(node_rows(audit, MOST_PODS), key=_pressed)
    return KeptAudit(
        schema=SCHEMA,
        made_at=made_at,
        at=audit.now,
        source=audit.snapshot.source,
        counts=counts,
        findings=audit.findings[:MOST_FINDINGS],
        policies=tuple(policy.name for policy in audit.policies),
        namespaces=tuple(namespace_rows(audit)[:MOST_NAMESPACES]),
        nodes=tuple(nodes[:MOST_NODES]),
        unread=tuple(f"{item.part}: {item.why}" for item in audit.snapshot.unknown if not item.is_quiet),
    )


def _pressed(row: NodeRow) -> tuple[float, str]:
    """Nodes whose memory is promised most often first."""
    return -row.limit_bytes / max(row.allocatable_bytes, 1), row.name
