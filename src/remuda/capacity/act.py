"""
What is written to a cluster, and what is looked at before: guard rails, and a scale set's rollback.

Guard rails are applied server-side, each tried out before the first is kept. A rollback is made only to the very state
of the scale set that was looked at.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.policy import CAPACITY_POLICY
from remuda.capacity.resources import CAPACITY_POLICIES, RUNNER_DEPLOYMENTS, RUNNER_SETS, SCALE_SETS
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.kube.client import APPLY_PATCH, MANAGER, Client
from remuda.kube.errors import Conflict, Missing
from remuda.kube.resources import (
    ADMISSION_BINDINGS,
    ADMISSION_POLICIES,
    NODES,
    PRIORITY_CLASSES,
    QUOTAS,
    RUNNER_POOLS,
    KubeObject,
    Resource,
)
from remuda.model.nodes import NodeSpec
from remuda.model.pods import Taint
from remuda.objects.load import load_text

_RESOURCES = {item.kind: item for item in (PRIORITY_CLASSES, QUOTAS, ADMISSION_POLICIES, ADMISSION_BINDINGS)}
SCALE_SET_KINDS: dict[str, Resource] = {
    item.kind: item for item in (SCALE_SETS, RUNNER_DEPLOYMENTS, RUNNER_SETS, RUNNER_POOLS)
}
_MANAGED = "app.kubernetes.io/managed-by"


class Applied(Struct, frozen=True):
    """What became of one object."""

    kind: str
    name: str
    done: str


async def install(client: Client, objects: Sequence[Mapping[str, Any]]) -> tuple[Applied, ...]:
    """
    Apply guard rails in their order. What the server refuses is an error before any of them is kept.

    A PriorityClass of somebody else is left as it is: its value can never be changed, and a quota needs its name only.
    """
    before = [await _found(client, item) for item in objects]
    ours = [not _is_foreign(item, seen) for item, seen in zip(objects, before, strict=True)]
    for item, is_ours in zip(objects, ours, strict=True):
        if is_ours:
            await _apply(client, item, {"dryRun": "All"})
    made = []
    for item, seen, is_ours in zip(objects, before, ours, strict=True):
        done = "left as it is"
        if is_ours:
            after = await _apply(client, item, {})
            is_same = seen is not None and seen.metadata.resource_version == after.metadata.resource_version
            done = "created" if seen is None else "as it was" if is_same else "changed"
        made.append(Applied(item["kind"], qualified_name(item), done))
    return tuple(made)


def qualified_name(item: Mapping[str, Any]) -> str:
    """The name of an object, with its namespace if it has one."""
    meta = item["metadata"]
    return "/".join(part for part in (meta.get("namespace"), meta["name"]) if part)


async def _found(client: Client, item: Mapping[str, Any]) -> KubeObject | None:
    meta = item["metadata"]
    try:
        return await client.get(_RESOURCES[item["kind"]], meta["name"], KubeObject, meta.get("namespace"))
    except Missing:
        return None


def _is_foreign(item: Mapping[str, Any], seen: KubeObject | None) -> bool:
    is_class = item["kind"] == PRIORITY_CLASSES.kind
    return is_class and seen is not None and seen.metadata.labels.get(_MANAGED) != MANAGER


async def _apply(client: Client, item: Mapping[str, Any], query: dict[str, str]) -> KubeObject:
    meta, resource = item["metadata"], _RESOURCES[item["kind"]]
    data = await client.request(
        "PATCH",
        resource.path(meta.get("namespace"), meta["name"]),
        body=msgspec.json.encode(item),
        query={"fieldManager": MANAGER, "force": "false", **query},
        content=APPLY_PATCH,
        doing=f"applying {resource.describe(meta.get('namespace'), meta['name'])}",
        safe=True,
    )
    return msgspec.json.decode(data, type=KubeObject)


async def find_scale_set(client: Client, scale_set: str) -> dict[str, Any]:
    """
    A scale set or pool as it is now, whole, by `namespace/name`, or by a name that is the only one of its kind.

    `NotFound` when there is none, `BadInput` when several have the name.
    """
    where, _, name = scale_set.rpartition("/")
    found = []
    for kind, resource in SCALE_SET_KINDS.items():
        if where:
            with suppress(Missing):
                whole = await client.get(resource, name, dict[str, Any], where)
                return {"kind": kind, **whole}
            continue
        with suppress(Missing):
            listed = await client.list(resource, KubeObject)
            found += [(kind, *item.key) for item in listed.items if item.metadata.name == name]
    if not found:
        raise NotFound(f"there is no scale set or pool {scale_set}")
    if len(found) > 1:
        message = ", ".join(f"{kind} {place}/{name}" for kind, place, name in found)
        raise BadInput(f"several are called {scale_set}: {message}; write namespace/name")
    kind, place, name = found[0]
    return {"kind": kind, **await client.get(SCALE_SET_KINDS[kind], name, dict[str, Any], place)}


async def taints_of(client: Client, node: str) -> tuple[Taint, ...] | None:
    """The taints of a node; None when there is no such node."""
    try:
        return (await client.get(NODES, node, _Node)).spec.taints
    except Missing:
        return None


class _Node(Struct, frozen=True):
    spec: NodeSpec = NodeSpec()


async def roll_back(client: Client, seen: Mapping[str, Any], patch: Mapping[str, Any]) -> None:
    """Apply a patch to a scale set in the very state that was seen; `Unavailable` when it has changed since, and nothing is done."""
    meta, resource = seen["metadata"], SCALE_SET_KINDS[str(seen["kind"])]
    guarded = {**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": meta["resourceVersion"]}}
    try:
        await client.patch(resource, meta["name"], guarded, KubeObject, meta["namespace"])
    except Conflict:
        who = resource.describe(meta["namespace"], meta["name"])
        raise Unavailable(f"{who} was changed meanwhile: nothing was done; look again") from None


async def policies_in(client: Client) -> dict[str, CapacityPolicySpec]:
    """The policies that the cluster keeps, by name; `BadInput` with everything that is wrong with them."""
    try:
        listed = await client.list(CAPACITY_POLICIES, dict[str, Any])
    except Missing:
        return {}
    made: dict[str, CapacityPolicySpec] = {}
    first: dict[str, str] = {}
    problems: list[str] = []
    for item in listed.items:
        whole = {"apiVersion": CAPACITY_POLICIES.api_version, "kind": CAPACITY_POLICIES.kind, **item}
        where = CAPACITY_POLICIES.describe(item["metadata"].get("namespace"), item["metadata"]["name"])
        loaded = load_text(msgspec.json.encode(whole).decode(), where, (CAPACITY_POLICY,))
        problems += map(str, loaded.problems)
        for read in loaded.objects:
            for what in (f"the name {read.name}", f"the label {read.spec.label}"):
                if what in first:
                    problems.append(
                        f"{where}: {what} has a policy already: {first[what]}; give --policy FILE"
                    )
                first.setdefault(what, where)
            made[read.name] = read.spec
    if problems:
        raise BadInput("\n".join(problems))
    return made
