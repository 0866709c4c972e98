"""What the loop of tiers needs of a cluster: what was seen last, a fresh look at one object, and a few ways to change it."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from remuda.tiers.decide.model import NamespaceSeen, NodeSeen, ObjectSeen, Snapshot


class Found(Struct, frozen=True):
    """An object as it is right now, and the version that this is."""

    seen: ObjectSeen
    version: str


class FoundNode(Struct, frozen=True):
    """A node as it is right now."""

    seen: NodeSeen
    version: str
    has_annotations: bool


class Wanted(Struct, frozen=True):
    """What policies look at: labels by which devices are known, and kind and name of objects of the cluster."""

    devices: frozenset[str] = frozenset()
    objects: frozenset[tuple[str, str]] = frozenset()


class World(Protocol):
    """
    A cluster. What it refuses is a `remuda.kube.errors.KubeError`: `Conflict` and `Missing` when it is not as expected.

    What a change made is seen by `look` when the change returns.
    """

    def look(self, wanted: Wanted) -> Snapshot:
        """All that was seen last, without operations."""
        ...

    def namespace(self, name: str) -> NamespaceSeen | None:
        """One namespace as it was seen last."""
        ...

    async def find(self, kind: str, name: str, namespace: str) -> Found | None:
        """One object, asked for now."""
        ...

    async def create(self, manifest: Mapping[str, Any]) -> None:
        """Make an object; `Conflict` when there is one of its name."""
        ...

    async def apply(self, manifest: Mapping[str, Any], version: str) -> None:
        """Own the fields of a manifest on an object of ours, in exactly this version."""
        ...

    async def delete(self, found: Found) -> None:
        """Delete exactly this version of an object."""
        ...

    async def find_node(self, name: str, devices: frozenset[str]) -> FoundNode | None:
        """One node, asked for now."""
        ...

    async def patch_node(self, name: str, patch: Sequence[Mapping[str, Any]]) -> None:
        """A JSON patch."""
        ...
