"""
Audits in the ledger, for the page, `why label` and the diagnosis: by what was audited, so that clusters do not mix.

What is kept is what judgement was given (the world and the policies, without what nobody needs to see) and what it found, so
that the same questions can be asked of it again, and others: what if.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from remuda.capacity.decide.audit import Audit
from remuda.capacity.decide.holding import holding
from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.snapshot import Node, Snapshot
from remuda.control.about import without_environment
from remuda.errors import BadInput, RemudaError
from remuda.ledger import audits, documents
from remuda.ledger.place import Home
from remuda.ledger.sql import Database
from remuda.model.findings import Finding
from remuda.model.plans import Reason
from remuda.model.times import Instant
from remuda.objects.manifests import to_manifest

FAMILY = "capacity"
SCHEMA = "remuda.dev/capacity-kept/v1"
#: of one audit, packed: a world of 2,000 sets and 5,000 nodes has about a tenth of it
MOST_BYTES = 4 * 1024 * 1024
#: findings of one audit, the gravest
MOST_FINDINGS = 1_000
_MOST_NAMES = 10_000
T = TypeVar("T", bound="Head")


class Head(Struct, frozen=True):
    """What is quickly read of a kept audit."""

    schema: str
    #: when it was made
    made_at: Instant = 0
    #: as of when it was judged
    at: Instant = 0
    source: str = ""
    #: those that were asked about; none are all
    labels: tuple[str, ...] = ()
    #: every label that a set carries or a policy is for
    names: tuple[str, ...] = ()
    #: of each label that was judged, what it had and what kept it from more
    reasons: tuple[Reason, ...] = ()
    #: what was found, the gravest first
    findings: tuple[Finding, ...] = ()


class KeptAudit(Head, frozen=True):
    """An audit: what judgement was given, and what it found."""

    snapshot: Snapshot = Snapshot()
    #: by name, as they are written
    policies: dict[str, dict[str, Any]] = {}

    def specs(self) -> dict[str, CapacityPolicySpec]:
        """The policies it was judged by; `BadInput` where another version wrote one that this one cannot read."""
        try:
            return {
                name: msgspec.convert(data, CapacityPolicySpec, dec_hook=_parse)
                for name, data in self.policies.items()
            }
        except (msgspec.ValidationError, ValueError) as error:
            raise BadInput(f"a policy of the kept audit cannot be read: {error}; audit again") from None


def keep(
    home: Home, audit: Audit, labels: Iterable[str], policies: Mapping[str, CapacityPolicySpec], made_at: Instant,
    largest: int = MOST_BYTES,
) -> str:  # fmt: skip
    """
    Keep an audit; return why it cannot be kept, or nothing.

    It is no error: whoever made the audit has it already, and must not lose it over this.
    """
    made = kept_of(audit, labels, policies, made_at)
    try:
        documents.keep(home, f"{FAMILY}/{made.source}", made_at, made, largest)
    except (RemudaError, sqlite3.Error) as error:
        return str(error)
    return ""


def kept_of(
    audit: Audit, labels: Iterable[str], policies: Mapping[str, CapacityPolicySpec], made_at: Instant
) -> KeptAudit:
    """An audit as it is kept: without what may be a secret, and without images that no policy asks for."""
    return KeptAudit(
        schema=SCHEMA,
        made_at=made_at,
        at=audit.now,
        source=audit.snapshot.source,
        labels=tuple(labels),
        names=tuple(_names(audit.snapshot, policies))[:_MOST_NAMES],
        reasons=tuple(map(holding, audit.labels))[:_MOST_NAMES],
        findings=audit.findings[:MOST_FINDINGS],
        snapshot=_without_secrets(audit.snapshot, policies),
        policies={name: without_environment(to_manifest(spec)) for name, spec in sorted(policies.items())},
    )


def newest_of_each(db: Database, until: Instant | None = None) -> list[documents.Kept]:
    """The newest audit of every source up to a time, the newest first."""
    return audits.newest_of_each(db, FAMILY, until)


def read(data: bytes, item: documents.Kept, kind: type[T]) -> T:
    """A stored audit, or the head of it; `BadInput` says that it is damaged, or that another version wrote it."""
    return audits.read(data, item, kind, SCHEMA)


def _parse(kind: Any, value: object) -> Any:
    return kind.parse(value)


def _names(snapshot: Snapshot, policies: Mapping[str, CapacityPolicySpec]) -> Iterator[str]:
    """Labels as policies and sets write them, each once however its letters are cased."""
    written: dict[str, str] = {}
    for label in (
        *(policy.label for policy in policies.values()),
        *(label for scale_set in snapshot.scale_sets for label in scale_set.labels),
    ):
        written.setdefault(label.lower(), label)
    yield from (written[label] for label in sorted(written))


def _without_secrets(snapshot: Snapshot, policies: Mapping[str, CapacityPolicySpec]) -> Snapshot:
    asked = {
        str(site.prewarm.image)
        for policy in policies.values()
        for site in policy.nodes.overflow
        if site.prewarm.image
    }
    return replace(
        snapshot,
        scale_sets=tuple(replace(each, scope=_without_user(each.scope)) for each in snapshot.scale_sets),
        nodes=tuple(_with_images(node, asked) for node in snapshot.nodes),
    )


def _with_images(node: Node, asked: set[str]) -> Node:
    """A node with the images that are asked for; one that is not stands for the others: that it lists any says something, too."""
    wanted = tuple(image for image in node.images if image in asked)
    return replace(node, images=wanted or node.images[:1])


def _without_user(url: str) -> str:
    """A URL without the name and the password that may be in it, and what stands behind its path."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
