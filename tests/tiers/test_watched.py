"""A followed cluster as a snapshot: what wakes the loop, what is kept, and what cannot be read."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec
import pytest
from tests.tiers.loop_worlds import ONE, POLICY

from remuda.kube.client import Listed
from remuda.kube.errors import Conflict, Forbidden, Invalid, Missing, Status
from remuda.kube.resources import Resource
from remuda.loop.clock import SystemClock
from remuda.tiers.controller import TiersController
from remuda.tiers.decide.desired import limit_range, resource_quota
from remuda.tiers.decide.model import Snapshot
from remuda.tiers.watched import WatchedCluster
from remuda.tiers.world import Wanted

AUX = POLICY.tiers["4-aux"]
CARD = "feature.node.kubernetes.io/pci-10de.present"


def meta(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", **more}


class Server:
    """An API server that lists what it is given, and may forbid it."""

    def __init__(self, *items: dict[str, Any], forbids: str = "", mutation: str = "") -> None:
        self.items, self._forbids, self._mutation = list(items), forbids, mutation
        self.error: Exception | None = None

    async def list(self, resource: Resource, kind: type[Any], *_: Any, **__: Any) -> Listed[Any]:
        if resource.plural == self._forbids:
            raise Forbidden(f"listing {resource.plural}", Status(403, "Forbidden", "no"))
        found = [item for item in self.items if item["kind"] == resource.kind]
        return Listed([msgspec.convert(item, kind) for item in found], "1")

    async def request(self, _: str, path: str, **__: Any) -> bytes:
        if self._forbids == "discovery":
            raise Forbidden("discovering", Status(403, "Forbidden", "no"))
        if path.endswith(".io"):
            return msgspec.json.encode({"preferredVersion": {"version": "v1beta1"}, "versions": []})
        named = {"name": "mutatingadmissionpolicies", "kind": "MutatingAdmissionPolicy", "namespaced": False}
        return msgspec.json.encode({"resources": [named] if self._mutation else []})

    async def get(self, *_: Any, **__: Any) -> Any:
        raise Missing("getting", Status(404))

    async def patch(self, *_: Any, **__: Any) -> Any:
        assert self.error is not None
        raise self.error


def looked(server: Server, more: Callable[[WatchedCluster], Awaitable[None]] | None = None) -> Snapshot:
    async def main() -> Snapshot:
        client = cast("Any", server)
        world = WatchedCluster(client, client, SystemClock(), random.Random(1))
        controller = TiersController(world, SystemClock())
        controller.follow(ONE)
        await world.load()
        await world.settle()
        if more is not None:
            await more(world)
        return await controller.observe(())

    return asyncio.run(main())


def test_what_tiers_look_at_is_kept_and_nothing_else() -> None:
    ours, theirs = limit_range(POLICY, AUX, "web"), resource_quota(POLICY, AUX, "web")
    theirs = {**theirs, "metadata": meta("web-quota", namespace="web"), "status": {"used": {"pods": "3"}}}
    other = {"kind": "ResourceQuota", "metadata": meta("mine", namespace="web")}
    gpu = {
        "kind": "Node",
        "metadata": meta(
            "gpu",
            labels={CARD: "true", "other": "x"},
            annotations={"remuda.dev/tier-taints": "a=b:NoSchedule, "},
        ),
        "spec": {
            "taints": [
                {"key": "a", "value": "b", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}
            ]
        },
    }
    seen = looked(
        Server(
            {"kind": "Namespace", "metadata": meta("web", labels={"tier": "4-aux"})},
            {"kind": "Namespace", "metadata": meta("old", deletionTimestamp="2026-01-01T00:00:00Z")},
            ours, theirs, other, gpu,
            {"kind": "Node", "metadata": meta("plain")},
            {"kind": "PriorityClass", "metadata": meta("theirs"), "value": 5, "globalDefault": True},
            {"kind": "PriorityClass", "metadata": meta("lower"), "value": 1, "globalDefault": True},
            {"kind": "PriorityClass", "metadata": meta("tier-4-aux"), "value": 7, "preemptionPolicy": "Never"},
            {"kind": "ValidatingAdmissionPolicy", "metadata": meta("somebody-s"), "spec": {}},
        )
    )  # fmt: skip
    assert [(item.name, item.is_terminating) for item in seen.namespaces] == [("old", True), ("web", False)]
    assert [(item.kind, item.name, item.owner) for item in seen.objects] == [
        ("LimitRange", "tier-defaults", "default"),
        ("PriorityClass", "tier-4-aux", None),
        ("ResourceQuota", "web-quota", None),
    ]
    assert seen.objects[1].body == {"value": 7, "preemptionPolicy": "Never"}
    assert set(seen.objects[2].body) == {"spec"}
    (node,) = seen.nodes
    assert (node.devices, node.taints, node.owned) == (
        {CARD: "true"}, ("a=b:NoSchedule",), ("a=b:NoSchedule",),
    )  # fmt: skip
    assert (seen.mutation, seen.default_class, seen.unread) == ("", "lower", {})


def test_a_server_that_mutates_is_asked_for_what_mutates() -> None:
    policy = {"kind": "MutatingAdmissionPolicy", "metadata": meta("remuda-tiers-default-sizes"), "spec": {}}
    seen = looked(Server(policy, mutation="v1beta1"))
    assert seen.mutation == "v1beta1"
    assert [item.name for item in seen.objects] == ["remuda-tiers-default-sizes"]


@pytest.mark.parametrize(
    ("forbids", "kinds"),
    [
        ("limitranges", {"LimitRange"}),
        (
            "discovery",
            {
                "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
                "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
            },
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_the_reason(forbids: str, kinds: set[str]) -> None:
    seen = looked(Server(forbids=forbids))
    assert set(seen.unread) == kinds
    assert all("403 Forbidden: no" in why for why in seen.unread.values())


def test_a_test_in_a_patch_that_does_not_hold_is_a_conflict() -> None:
    server = Server()
    server.error = Invalid("patching nodes gpu", Status(422, "Invalid", "testing value failed"))

    async def patch(world: WatchedCluster) -> None:
        with pytest.raises(Conflict, match="testing value failed"):
            await world.patch_node("gpu", ())
        assert await world.find("LimitRange", "tier-defaults", "web") is None
        assert await world.find_node("gpu", frozenset()) is None
        assert world.namespace("web") is None
        assert world.trouble() == []

    looked(server, patch)


def changed(old: dict[str, Any], new: dict[str, Any]) -> int:
    """How often the loop is woken when an object changes."""

    async def main() -> int:
        woken: list[int] = []
        server = Server(old)
        client = cast("Any", server)
        world = WatchedCluster(client, client, SystemClock(), random.Random(1), lambda: woken.append(1))
        await world.load()
        first = world.look(Wanted())
        assert world.look(Wanted()) is first
        woken.clear()
        server.items = [new]
        await world.load()
        assert (world.look(Wanted()) is first) is (not woken)
        return len(woken)

    return asyncio.run(main())


def versioned(item: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**item, "metadata": {**item["metadata"], "resourceVersion": "2"}, **more}


QUOTA = {**resource_quota(POLICY, AUX, "web"), "status": {"used": {"pods": "1"}}}
NODE = {"kind": "Node", "metadata": meta("gpu"), "status": {"conditions": []}}


@pytest.mark.parametrize(
    ("old", "new", "wakes"),
    [
        pytest.param(QUOTA, versioned(QUOTA, status={"used": {"pods": "2"}}), 0, id="use of a quota"),
        pytest.param(QUOTA, versioned(QUOTA, spec={"hard": {"pods": "2"}}), 1, id="a quota"),
        pytest.param(NODE, versioned(NODE, status={"conditions": [{"type": "Ready"}]}), 0, id="a heartbeat"),
        pytest.param(
            NODE, versioned(NODE, spec={"taints": [{"key": "a", "effect": "NoSchedule"}]}), 1, id="a taint"
        ),
        pytest.param(
            {"kind": "Namespace", "metadata": meta("web")},
            {"kind": "Namespace", "metadata": meta("web", resourceVersion="2", labels={"tier": "4-aux"})},
            1,
            id="a label of a namespace",
        ),
    ],
)
def test_only_what_tiers_look_at_wakes_the_loop(old: dict[str, Any], new: dict[str, Any], wakes: int) -> None:
    assert changed(old, new) == wakes
