"""
A simulated cluster for tiers: namespaces, nodes and the objects that tiers give, with versions, and with other hands in it.

What somebody else does is seen a moment later, as by a watch; what we write is seen at once. Writes fail before or after
they took effect, where faults say so.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from remuda.kube.errors import Conflict, Forbidden, Missing, Status
from remuda.model.pods import Taint
from remuda.sim.faults import Faults
from remuda.tiers.decide.compare import body_of, key_of, owner_of
from remuda.tiers.decide.model import NamespaceSeen, NodeSeen, ObjectSeen, Snapshot
from remuda.tiers.decide.outlook import merged
from remuda.tiers.decide.taints import OWNED_TAINTS
from remuda.tiers.world import Found, FoundNode, Wanted

Key = tuple[str, str, str]
#: how late watches are at most
_LATE_S = 3.0


class Item(Struct, frozen=True):
    """An object as the server has it."""

    manifest: dict[str, Any]
    uid: str
    version: int


class Namespace(Struct, frozen=True):
    """A namespace as the server has it."""

    labels: dict[str, str]
    uid: str
    version: int
    is_terminating: bool = False


class Node(Struct, frozen=True):
    """A node as the server has it."""

    labels: dict[str, str]
    version: int
    taints: tuple[str, ...] = ()
    annotations: dict[str, str] = {}


class SimCluster:
    """Satisfies `remuda.tiers.world.World`; what other hands do has methods of its own, which cannot fail."""

    def __init__(self, faults: Faults, dice: random.Random, *, mutation: str = "") -> None:
        self._faults, self._dice = faults, dice
        self._mutation = mutation
        self._version = 0
        self.objects: dict[Key, Item] = {}
        self.namespaces: dict[str, Namespace] = {}
        self.nodes: dict[str, Node] = {}
        #: what a watch has shown, with the version of it; None for what was deleted
        self._shown: dict[tuple[str, Any], tuple[int, Any]] = {}
        self._last: tuple[Wanted, Snapshot] | None = None
        #: how many writes took effect, and those that should never have been tried
        self.writes = 0
        self.sins: list[str] = []
        #: called when a watch shows something
        self.wake: Callable[[], None] = lambda: None

    # What the loop sees

    def look(self, wanted: Wanted) -> Snapshot:
        """All that watches have shown; the very same snapshot while that is the same."""
        if self._last is None or self._last[0] != wanted:
            self._last = wanted, self._snapshot(wanted)
        return self._last[1]

    def _snapshot(self, wanted: Wanted) -> Snapshot:
        nodes = [_node(name, item, wanted.devices) for name, item in self._seen("node")]
        return Snapshot(
            namespaces=tuple(_namespace(name, item) for name, item in self._seen("namespace")),
            objects=tuple(_object(key, item) for key, item in self._seen("object")),
            nodes=tuple(node for node in nodes if node.devices or node.owned),
            mutation=self._mutation,
        )

    def _seen(self, what: str) -> list[tuple[Any, Any]]:
        return sorted(
            (
                (key, item)
                for (kind, key), (_, item) in self._shown.items()
                if kind == what and item is not None
            ),
            key=lambda found: found[0],
        )

    def namespace(self, name: str) -> NamespaceSeen | None:
        """One namespace as a watch has shown it."""
        _, item = self._shown.get(("namespace", name), (0, None))
        return None if item is None else _namespace(name, item)

    async def find(self, kind: str, name: str, namespace: str) -> Found | None:
        """One object, asked for now."""
        await self._faults.fault_point("api.read")
        item = self.objects.get((kind, namespace, name))
        return None if item is None else Found(_object((kind, namespace, name), item), str(item.version))

    async def find_node(self, name: str, devices: frozenset[str]) -> FoundNode | None:
        """One node, asked for now."""
        await self._faults.fault_point("api.read")
        item = self.nodes.get(name)
        if item is None:
            return None
        return FoundNode(
            _node(name, item, devices), str(item.version), has_annotations=bool(item.annotations)
        )

    # What the loop changes

    async def create(self, manifest: Mapping[str, Any]) -> None:
        """Make an object."""
        await self._faults.fault_point("api.write")
        key = key_of(manifest)
        self._check_namespace(key[1])
        if key in self.objects:
            raise Conflict(f"creating {key}", Status(409, "AlreadyExists"))
        self._keep("object", key, Item(dict(manifest), self._uid(), self._next()), ours=True)
        await self._faults.fault_point("api.answer")

    async def apply(self, manifest: Mapping[str, Any], version: str) -> None:
        """Own the fields of a manifest; what others added to a quota stays."""
        await self._faults.fault_point("api.write")
        key = key_of(manifest)
        item = self._at_version(key, version)
        self._check_namespace(key[1])
        made = merged(item.manifest, dict(manifest))
        self._keep("object", key, Item(made, item.uid, self._next()), ours=True)
        await self._faults.fault_point("api.answer")

    async def delete(self, found: Found) -> None:
        """Delete exactly this version."""
        await self._faults.fault_point("api.write")
        key = (found.seen.kind, found.seen.namespace, found.seen.name)
        self._at_version(key, found.version)
        self._drop("object", key, ours=True)
        await self._faults.fault_point("api.answer")

    async def patch_node(self, name: str, patch: Sequence[Mapping[str, Any]]) -> None:
        """A JSON patch of a node."""
        await self._faults.fault_point("api.write")
        node = self.nodes.get(name)
        if node is None:
            raise Missing(f"patching {name}", Status(404))
        made = _patched(node, patch, self._next())
        owned = node.annotations.get(OWNED_TAINTS, "").split(",")
        if lost := [text for text in node.taints if text not in made.taints and text not in owned]:
            self.sins.append(f"node {name} lost {lost}, which somebody else put there")
        self._keep("node", name, made, ours=True)
        await self._faults.fault_point("api.answer")

    def _check_namespace(self, name: str) -> None:
        if name and (name not in self.namespaces or self.namespaces[name].is_terminating):
            raise Forbidden(f"writing in {name}", Status(403, "Forbidden", "it is being terminated"))

    def _at_version(self, key: Key, version: str) -> Item:
        item = self.objects.get(key)
        if item is None:
            raise Missing(f"changing {key}", Status(404))
        if str(item.version) != version:
            raise Conflict(f"changing {key}", Status(409, "Conflict"))
        if owner_of(item.manifest["metadata"].get("labels", {})) is None:
            self.sins.append(f"{key} was touched, which somebody else made")
        return item

    # What other hands do

    def put(self, manifest: dict[str, Any]) -> None:
        """Somebody else makes an object, or writes over one."""
        key = key_of(manifest)
        if key[1] and (key[1] not in self.namespaces or self.namespaces[key[1]].is_terminating):
            return
        uid = self.objects[key].uid if key in self.objects else self._uid()
        self._keep("object", key, Item(manifest, uid, self._next()))

    def remove(self, key: Key) -> None:
        """Somebody else deletes an object."""
        if key in self.objects:
            self._drop("object", key)

    def label(self, name: str, labels: dict[str, str]) -> None:
        """A namespace is made, or gets these labels in place of its own."""
        there = self.namespaces.get(name)
        if there is None:
            self._keep("namespace", name, Namespace(labels, self._uid(), self._next()))
        elif not there.is_terminating:
            self._keep("namespace", name, Namespace(labels, there.uid, self._next()))

    def end_namespace(self, name: str) -> None:
        """A namespace is deleted: it goes with all it holds, a moment later."""
        there = self.namespaces.get(name)
        if there is not None and not there.is_terminating:
            ending = Namespace(there.labels, there.uid, self._next(), is_terminating=True)
            self._keep("namespace", name, ending)
            asyncio.get_running_loop().call_later(self._dice.uniform(0.5, 5.0), self._emptied, name)

    def _emptied(self, name: str) -> None:
        for key in [key for key in self.objects if key[1] == name]:
            self._drop("object", key)
        self._drop("namespace", name)

    def put_node(self, name: str, labels: dict[str, str], taints: tuple[str, ...] | None = None) -> None:
        """A node gets labels, and taints that somebody else puts there or takes off."""
        there = self.nodes.get(name, Node({}, 0))
        kept = there.taints if taints is None else taints
        self._keep("node", name, Node(labels, self._next(), kept, there.annotations))

    # Keeping

    def _uid(self) -> str:
        return f"uid-{self._next()}"

    def _next(self) -> int:
        self._version += 1
        return self._version

    def _table(self, what: str) -> dict[Any, Any]:
        tables: dict[str, dict[Any, Any]] = {
            "object": self.objects,
            "namespace": self.namespaces,
            "node": self.nodes,
        }
        return tables[what]

    def _keep(self, what: str, key: Any, item: Any, *, ours: bool = False) -> None:
        self._table(what)[key] = item
        self._tell(what, key, item.version, item, ours=ours)

    def _drop(self, what: str, key: Any, *, ours: bool = False) -> None:
        del self._table(what)[key]
        self._tell(what, key, self._next(), None, ours=ours)

    def _tell(self, what: str, key: Any, version: int, item: Any, *, ours: bool) -> None:
        if ours:
            self.writes += 1
            self._show(what, key, version, item)
        else:
            late = self._dice.uniform(0.0, _LATE_S)
            asyncio.get_running_loop().call_later(late, self._show, what, key, version, item)

    def _show(self, what: str, key: Any, version: int, item: Any) -> None:
        if version > self._shown.get((what, key), (0, None))[0]:
            self._shown[what, key] = version, item
            self._last = None
            self.wake()


def _namespace(name: str, item: Namespace) -> NamespaceSeen:
    return NamespaceSeen(name, item.uid, item.labels, item.is_terminating)


def _object(key: Key, item: Item) -> ObjectSeen:
    kind, namespace, name = key
    owner = owner_of(item.manifest["metadata"].get("labels", {}))
    return ObjectSeen(kind, name, namespace, item.uid, owner, body_of(item.manifest))


def _node(name: str, item: Node, devices: frozenset[str]) -> NodeSeen:
    owned = item.annotations.get(OWNED_TAINTS, "").split(",")
    return NodeSeen(
        name,
        f"uid-{name}",
        {label: item.labels[label] for label in sorted(devices) if label in item.labels},
        item.taints,
        tuple(filter(None, owned)),
    )


def _patched(node: Node, patch: Sequence[Mapping[str, Any]], version: int) -> Node:
    """The operations that `remuda.tiers.decide.taints` writes, and no others."""
    taints, annotations = list(node.taints), dict(node.annotations)
    for step in patch:
        match step["op"], step["path"].split("/")[1:]:
            case "test", ["metadata", "resourceVersion"]:
                if step["value"] != str(node.version):
                    raise Conflict("patching a node", Status(409, "Conflict"))
            case "remove", ["spec", "taints", place]:
                del taints[int(place)]
            case "add", ["spec", "taints", "-"]:
                taints.append(_taint(step["value"]))
            case "add", ["spec", "taints"]:
                taints = [_taint(value) for value in step["value"]]
            case "add", ["metadata", "annotations"]:
                annotations = {}
            case "add", ["metadata", "annotations", _]:
                annotations[OWNED_TAINTS] = step["value"]
            case "remove", ["metadata", "annotations", _]:
                del annotations[OWNED_TAINTS]
            case _:
                raise AssertionError(step)
    return Node(node.labels, version, tuple(taints), annotations)


def _taint(written: Mapping[str, str]) -> str:
    return str(Taint(written["key"], written.get("value", ""), written["effect"]))
