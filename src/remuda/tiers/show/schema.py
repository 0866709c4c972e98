"""
The schema of an audit for programs, `remuda.dev/tiers-audit/v1`.

Keys are only ever added within a version.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from remuda.objects.convert import type_info
from remuda.objects.schema import schema_of_type

SCHEMA: Final = "remuda.dev/tiers-audit/v1"
_UNITS = "Millicores of CPU, bytes, or a count."


class QuotaRow(Struct, frozen=True, rename="camel"):
    """What a quota has of a resource, and what is taken."""

    quota: str
    resource: Annotated[str, Meta(description="As the quota names it, like requests.memory.")]
    hard: Annotated[int, Meta(description=_UNITS)]
    used: Annotated[int, Meta(description=_UNITS)]
    hard_text: Annotated[str, Meta(description="The same as a quantity.")]
    used_text: Annotated[str, Meta(description="The same as a quantity.")]


class NamespaceRow(Struct, frozen=True, rename="camel"):
    """A namespace of a policy."""

    name: str
    policy: Annotated[str, Meta(description="Empty where two policies claim it.")]
    tier: Annotated[str, Meta(description="Empty where it is left alone.")]
    origin: Annotated[
        Literal["", "label", "prefix", "default"], Meta(description="What says which tier it is.")
    ]
    problem: Annotated[
        str, Meta(description="What is wrong with how it says its tier; empty where nothing is.")
    ]
    pods: Annotated[int, Meta(description="Pods that are not over; 0 where it has no tier.")]
    qos: Annotated[dict[str, int], Meta(description="How many of these have which quality of service.")]
    quotas: Annotated[
        list[QuotaRow], Meta(description="Of quotas that count all pods; those with scopes are left out.")
    ]


class EvictionRow(Struct, frozen=True, rename="camel"):
    """A pod in the order in which its kubelet evicts it under memory pressure."""

    pod: Annotated[str, Meta(description="namespace/name.")]
    tier: Annotated[str, Meta(description="Of its namespace.")]
    priority: int
    priority_class: str
    qos: str
    used_bytes: Annotated[int | None, Meta(description="Its working set; null when it was not measured.")]
    request_bytes: int
    above_bytes: Annotated[
        int | None, Meta(description="How much more it uses than it requests; null when it was not measured.")
    ]


class NodeRow(Struct, frozen=True, rename="camel"):
    """A node: what is promised of its memory, and who goes first when it runs out."""

    name: str
    pods: int
    allocatable_bytes: int
    requested_bytes: int
    limit_bytes: Annotated[int, Meta(description="The memory limits of all its pods.")]
    unlimited_pods: Annotated[int, Meta(description="Pods with a container that has no memory limit.")]
    eviction: Annotated[
        list[EvictionRow], Meta(description="The first to go first, without those that are never evicted.")
    ]


class FindingRow(Struct, frozen=True):
    """Something that is not as it should be."""

    rule: str
    severity: Literal["error", "warning", "info"]
    namespace: str
    object: str
    field: str
    is_: str = msgspec.field(name="is")
    should: str
    fix: str


class Unread(Struct, frozen=True):
    """A part that could not be read: nothing is concluded from it."""

    part: str
    why: str


class Document(Struct, frozen=True, rename="camel"):
    """An audit of tiers."""

    schema: Literal["remuda.dev/tiers-audit/v1"]
    at: Annotated[str, Meta(description="When, by RFC 3339.")]
    source: Annotated[str, Meta(description="The files, or the cluster.")]
    policies: Annotated[list[str], Meta(description="The TierPolicies it was judged by.")]
    namespaces: list[NamespaceRow]
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
