"""
A real cluster as a `World`: followed by watches, changed by requests.

Quotas and nodes change their statuses all the time; only what tiers look at wakes the loop.
"""

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from remuda.kube.cache import Cache
from remuda.kube.client import JSON_PATCH, Client
from remuda.kube.discovery import find_resource
from remuda.kube.errors import Conflict, Invalid, KubeError, Missing
from remuda.kube.resources import (
    ADMISSION_BINDINGS,
    ADMISSION_POLICIES,
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    PRIORITY_CLASSES,
    QUOTAS,
    KubeObject,
    Resource,
)
from remuda.loop.clock import Clock
from remuda.model.nodes import NodeSpec
from remuda.tiers.decide.compare import key_of, owner_of
from remuda.tiers.decide.desired import LIMITS_NAME, quota_name
from remuda.tiers.decide.model import NamespaceSeen, NodeSeen, ObjectSeen, Snapshot
from remuda.tiers.decide.shared import KINDS
from remuda.tiers.decide.taints import OWNED_TAINTS
from remuda.tiers.world import Found, FoundNode, Wanted

_MUTATING = ("mutatingadmissionpolicies", "MutatingAdmissionPolicy")
_ADMISSION = tuple(kind for kind in KINDS if kind != "PriorityClass")
_NOT_YET = "not read yet"
_ASK_AGAIN_S, _GLANCE_S = 300.0, 0.05


class Stored(KubeObject, frozen=True, gc=False, rename="camel"):
    """What is read of an object: its spec, or what a PriorityClass has in its place."""

    spec: dict[str, Any] | None = None
    value: int | None = None
    global_default: bool = False
    preemption_policy: str = ""
    description: str = ""


class StoredNode(KubeObject, frozen=True, gc=False):
    """What is read of a node."""

    spec: NodeSpec = NodeSpec()


class WatchedCluster:
    """`run` follows the cluster once it was activated; without, nothing is asked of it."""

    def __init__(
        self,
        reader: Client,
        writer: Client,
        clock: Clock,
        rng: random.Random,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._clock, self._rng = clock, rng
        self._wake = wake
        self._active = asyncio.Event()
        self._caches: dict[str, Cache[Any]] = {}
        for resource in (
            NAMESPACES,
            NODES,
            LIMIT_RANGES,
            QUOTAS,
            PRIORITY_CLASSES,
            ADMISSION_POLICIES,
            ADMISSION_BINDINGS,
        ):
            self._follow(resource)
        #: the version of MutatingAdmissionPolicies, nothing where there are none; None until the server was asked
        self._mutation: str | None = None
        self._undiscovered = _NOT_YET
        self._last: tuple[object, Snapshot] | None = None

    def _follow(self, resource: Resource) -> Cache[Any]:
        kind = resource.kind
        self._caches[kind] = Cache(
            self._reader,
            resource,
            StoredNode if resource is NODES else Stored,
            self._clock,
            self._rng,
            lambda: self._changed(kind),
            fields=f"metadata.name={LIMITS_NAME}" if resource is LIMIT_RANGES else None,
        )
        return self._caches[kind]

    def _changed(self, kind: str) -> None:
        """Wake the loop for what it looks at; without changes everything was read for the first time."""
        cache = self._caches[kind]
        changes = cache.take_changes()
        if not changes or any(
            _shape(kind, before) != _shape(kind, cache.objects.get(key)) for key, before in changes.items()
        ):
            self._last = None
            self._wake()

    # Following

    @property
    def is_active(self) -> bool:
        """Whether the cluster is followed."""
        return self._active.is_set()

    def activate(self) -> None:
        """Begin to follow the cluster: somebody asks for tiers, or did."""
        self._active.set()

    async def run(self) -> None:
        """Follow everything until cancelled."""
        await self._active.wait()
        async with asyncio.TaskGroup() as group:
            for kind, cache in tuple(self._caches.items()):
                group.create_task(cache.run(), name=f"cache {kind}")
            while True:
                for cache in await self._discover():
                    group.create_task(cache.run(), name=f"cache {cache.resource.kind}")
                await asyncio.sleep(_ASK_AGAIN_S if self._mutation is not None else 1.0)

    async def load(self) -> None:
        """Read everything once; of what cannot be read, why."""
        self.activate()
        await self._discover()
        await asyncio.gather(*(self._load(cache) for cache in self._caches.values()))

    async def _load(self, cache: Cache[Any]) -> None:
        try:
            await cache.load()
        except KubeError as error:
            cache.trouble = str(error)

    async def settle(self) -> None:
        """Wait until everything was read, or cannot be."""
        while self.is_active and _NOT_YET in self._unread().values():  # noqa: ASYNC110 - trouble wakes nobody
            await asyncio.sleep(_GLANCE_S)

    async def _discover(self) -> list[Cache[Any]]:
        """Ask whether the server has MutatingAdmissionPolicies; what is to be followed from now on."""
        try:
            found = await find_resource(self._reader, ADMISSION_POLICIES.group, _MUTATING[0])
        except KubeError as error:
            self._undiscovered = str(error)
            return []
        fresh = []
        if found is not None and _MUTATING[1] not in self._caches:
            binding = Resource(
                found.group,
                found.version,
                "mutatingadmissionpolicybindings",
                f"{_MUTATING[1]}Binding",
                namespaced=False,
            )
            fresh = [self._follow(found), self._follow(binding)]
        mutation = "" if found is None else found.version
        if mutation != self._mutation:
            self._mutation, self._last = mutation, None
            self._wake()
        return fresh

    def trouble(self) -> list[str]:
        """What cannot be followed, while it is wanted."""
        return [cache.trouble for cache in self._caches.values() if cache.trouble] if self.is_active else []

    # Looking

    def look(self, wanted: Wanted) -> Snapshot:
        """All that was seen last; the very same snapshot while nothing changes."""
        unread = self._unread()
        asked = (wanted, unread, self._mutation)
        if self._last is None or self._last[0] != asked:
            self._last = asked, self._snapshot(wanted, unread)
        return self._last[1]

    def _unread(self) -> dict[str, str]:
        unread = {
            kind: cache.trouble or _NOT_YET for kind, cache in self._caches.items() if not cache.is_synced
        }
        if self._mutation is None:
            unread = dict.fromkeys(_ADMISSION, self._undiscovered) | unread
        return unread

    def _snapshot(self, wanted: Wanted, unread: dict[str, str]) -> Snapshot:
        nodes = (_node(item, wanted.devices) for item in self._caches["Node"].objects.values())
        return Snapshot(
            namespaces=tuple(
                sorted(
                    (_namespace(item) for item in self._caches["Namespace"].objects.values()),
                    key=lambda item: item.name,
                )
            ),
            objects=tuple(
                sorted(self._kept(wanted), key=lambda item: (item.kind, item.namespace, item.name))
            ),
            nodes=tuple(
                sorted((node for node in nodes if node.devices or node.owned), key=lambda node: node.name)
            ),
            mutation=self._mutation or "",
            default_class=self._default_class(),
            unread=unread,
        )

    def _default_class(self) -> str:
        """Of several the server takes the one of the least value."""
        classes = self._caches[PRIORITY_CLASSES.kind].objects.values()
        found = [(item.value or 0, item.metadata.name) for item in classes if item.global_default]
        return min(found, default=(0, ""))[1]

    def _kept(self, wanted: Wanted) -> Iterator[ObjectSeen]:
        """The objects that have names which tiers give, or that were made for a policy."""
        for kind, cache in self._caches.items():
            if kind in {"Namespace", "Node"}:
                continue
            for item in cache.objects.values():
                meta = item.metadata
                if kind == QUOTAS.kind:
                    is_kept = meta.name == quota_name(meta.namespace)
                else:
                    is_kept = bool(meta.namespace) or (kind, meta.name) in wanted.objects
                if is_kept or (not meta.namespace and owner_of(meta.labels) is not None):
                    yield _object(kind, item)

    def namespace(self, name: str) -> NamespaceSeen | None:
        """One namespace as it was seen last."""
        item = self._caches["Namespace"].get(name)
        return None if item is None else _namespace(item)

    async def find(self, kind: str, name: str, namespace: str) -> Found | None:
        """One object, asked for now."""
        try:
            item = await self._writer.get(self._caches[kind].resource, name, Stored, namespace or None)
        except Missing:
            return None
        return Found(_object(kind, item), item.metadata.resource_version)

    async def find_node(self, name: str, devices: frozenset[str]) -> FoundNode | None:
        """One node, asked for now."""
        try:
            item = await self._writer.get(NODES, name, StoredNode)
        except Missing:
            return None
        meta = item.metadata
        return FoundNode(_node(item, devices), meta.resource_version, has_annotations=bool(meta.annotations))

    # Changing

    async def create(self, manifest: Mapping[str, Any]) -> None:
        """Make an object; `Conflict` when there is one of its name."""
        kind, namespace, _ = key_of(manifest)
        cache = self._caches[kind]
        cache.put(await self._writer.create(cache.resource, manifest, Stored, namespace or None))

    async def apply(self, manifest: Mapping[str, Any], version: str) -> None:
        """Own the fields of a manifest, in exactly this version of the object."""
        kind, namespace, _ = key_of(manifest)
        cache = self._caches[kind]
        body = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}
        cache.put(await self._writer.apply(cache.resource, body, Stored, namespace or None, force=True))

    async def delete(self, found: Found) -> None:
        """Delete exactly this version of an object."""
        seen = found.seen
        cache = self._caches[seen.kind]
        await self._writer.delete(
            cache.resource, seen.name, seen.namespace or None, uid=seen.uid, version=found.version
        )
        cache.drop(seen.name, seen.namespace)

    async def patch_node(self, name: str, patch: Sequence[Mapping[str, Any]]) -> None:
        """A JSON patch; `Conflict` when a test in it does not hold."""
        try:
            item = await self._writer.patch(NODES, name, patch, StoredNode, content=JSON_PATCH)
        except Invalid as error:
            raise Conflict(error.doing, error.status) from error
        self._caches["Node"].put(item)


def _shape(kind: str, item: Any) -> Any:
    """All of an object that the loop may look at."""
    if item is None:
        return None
    if kind == "Node":
        owned = item.metadata.annotations.get(OWNED_TAINTS)
        return item.metadata.uid, item.metadata.labels, owned, item.spec.taints
    return _namespace(item) if kind == "Namespace" else _object(kind, item)


def _namespace(item: Stored) -> NamespaceSeen:
    meta = item.metadata
    return NamespaceSeen(meta.name, meta.uid, meta.labels, meta.deletion_timestamp is not None)


def _object(kind: str, item: Stored) -> ObjectSeen:
    meta = item.metadata
    body: dict[str, Any] = {}
    if kind == PRIORITY_CLASSES.kind:
        body = {"value": item.value, "preemptionPolicy": item.preemption_policy}
        body |= {"globalDefault": True} if item.global_default else {}
        body |= {"description": item.description} if item.description else {}
    elif item.spec is not None:
        body = {"spec": item.spec}
    return ObjectSeen(
        kind,
        meta.name,
        meta.namespace,
        meta.uid,
        owner_of(meta.labels),
        body,
        meta.deletion_timestamp is not None,
    )


def _node(item: StoredNode, devices: frozenset[str]) -> NodeSeen:
    meta = item.metadata
    owned = meta.annotations.get(OWNED_TAINTS, "").split(",")
    return NodeSeen(
        meta.name,
        meta.uid,
        {label: meta.labels[label] for label in sorted(devices) if label in meta.labels},
        tuple(map(str, item.spec.taints)),
        tuple(text.strip() for text in owned if text.strip()),
    )
