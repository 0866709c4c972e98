"""
The schema of an audit for programs, `remuda.dev/capacity-audit/v1`.

Keys are only ever added within a version.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from remuda.objects.convert import type_info
from remuda.objects.schema import schema_of_type

SCHEMA = "remuda.dev/capacity-audit/v1"
#: with more sets times nodes than this, sets that do not fit on a node are left out of its `fits`
MOST_FITS = 250_000


class Quantities(Struct, frozen=True):
    """Amounts in base units, and as quantities; null is not given, or without bound."""

    cpu_millicores: int | None
    memory_bytes: int | None
    ephemeral_storage_bytes: int | None
    raw: Annotated[
        dict[str, str],
        Meta(description="The same as quantities, as written where that is once, with every other resource."),
    ]


class Room(Quantities, frozen=True):
    """Amounts of a node, with how many pods."""

    pods: int | None


class ScaleSetRow(Struct, frozen=True, rename="camel"):
    """A set that carries an audited label; a RunnerPool is one, too."""

    kind: str
    namespace: str
    name: str
    labels: Annotated[list[str], Meta(description="What workflows target.")]
    scope: Annotated[str, Meta(description="The GitHub URL it is registered with.")]
    node_selector: dict[str, str]
    tolerations: list[dict[str, str]]
    min: int
    max: Annotated[int | None, Meta(description="null is unbounded.")]
    requests: Quantities
    limits: Quantities
    running: Annotated[int | None, Meta(description="Runners on nodes now; null when pods were not read.")]
    pending: Annotated[int | None, Meta(description="Runners without a node; null when pods were not read.")]
    phase: str
    priority_class: str
    unsure: Annotated[list[str], Meta(description="Why it is unknown whether a runner fits.")]
    file: str
    line: int


class Aggregate(Struct, frozen=True):
    """All sets of a label at their maximum; null where one is unbounded, and where scale sets were not read."""

    max: int | None
    requests: Quantities
    limits: Quantities


class Share(Struct, frozen=True):
    """What an owner would be guaranteed now if everybody used all they may."""

    name: str
    lanes: list[str]
    guaranteed: int
    priority: int
    weight: int
    wants: int
    running: int | None
    share: int


class Label(Struct, frozen=True, rename="camel"):
    """A label as a whole."""

    name: str
    policy: Annotated[str | None, Meta(description="The CapacityPolicy it was judged by.")]
    active_sets: Annotated[int, Meta(description="How many sets carry it and may run anything.")]
    ceiling: int | None
    aggregate: Aggregate
    running: int | None
    pending: int | None
    placement: Annotated[
        Literal["fits", "cannot fit", "no placement found", "cannot tell", "unknown"],
        Meta(
            description="Whether all sets at their maximum fit the admitted nodes. cannot tell: by their resources they do,"
            " and something else decides it, too, which unsure names."
        ),
    ]
    unsure: Annotated[list[str], Meta(description="Why it is unknown whether what fits by resources does.")]
    owners: list[Share]


class NodeRole(Struct, frozen=True):
    """What a node is to a label."""

    role: Literal["primary", "overflow", "eligible", "not-eligible"]
    admitted: Annotated[bool, Meta(description="Whether a set of the label can run there now.")]
    reason: str


class NodeRow(Struct, frozen=True, rename="camel"):
    """A node. With several labels its role is the best it has for any of them."""

    name: str
    admitted: bool
    role: Literal["primary", "overflow", "eligible", "not-eligible"]
    reason: str
    taints: list[str]
    capability: Annotated[
        dict[str, str], Meta(description="Of the labels that sets or the policy select by, those it has.")
    ]
    cordoned: bool
    ready: bool
    allocatable: Room
    requested: Annotated[Room | None, Meta(description="By all pods there; null when pods were not read.")]
    fits: Annotated[
        dict[str, int],
        Meta(
            description="How many runners of each set fit there once those of its label are gone. By the set's name, or"
            f" namespace/name where two have the same. With more than {MOST_FITS:,} sets times nodes without those of"
            " which none fits."
        ),
    ]
    overcommits: Annotated[
        dict[str, list[str]],
        Meta(description="Resources that limits over-commit if so many are there, by set."),
    ]
    labels: Annotated[
        dict[str, NodeRole], Meta(description="What it is to each label, when several are audited.")
    ]


class FindingRow(Struct, frozen=True):
    """Something that is not as it should be."""

    rule: str
    severity: Literal["error", "warning", "info"]
    label: str
    object: str
    field: str
    is_: str = msgspec.field(name="is")
    should: str
    fix: str
    file: str
    line: int


class Unread(Struct, frozen=True):
    """A part that could not be read: nothing is concluded from it."""

    part: str
    why: str


class Document(Struct, frozen=True, rename="camel"):
    """An audit of labels that runner scale sets share."""

    schema: Literal["remuda.dev/capacity-audit/v1"]
    at: Annotated[str, Meta(description="When, by RFC 3339.")]
    source: Annotated[str, Meta(description="The files, or the cluster.")]
    scale_sets: list[ScaleSetRow]
    labels: list[Label]
    nodes: list[NodeRow]
    findings: list[FindingRow]
    unknown: list[Unread]


def schema_of_audit() -> dict[str, Any]:
    """The JSON Schema of the document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": SCHEMA,
        **schema_of_type(type_info(Document)),
    }


def schema_text() -> str:
    """The same as text."""
    return msgspec.json.format(msgspec.json.encode(schema_of_audit()), indent=2).decode()
