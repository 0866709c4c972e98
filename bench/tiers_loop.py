"""A reconcile of tiers with nothing to change: what was followed as a snapshot, and the judgement of it."""

import asyncio
import random
import time
from typing import Any, cast

import msgspec

from bench.table import Row, at_most
from remuda.kube.client import Listed
from remuda.kube.resources import Resource
from remuda.loop.clock import SystemClock
from remuda.objects.tiers import DEFAULT_POLICY
from remuda.tiers.controller import TiersController
from remuda.tiers.decide.desired import limit_range, resource_quota
from remuda.tiers.decide.model import Memory, Policies
from remuda.tiers.decide.shared import wanted_objects
from remuda.tiers.watched import WatchedCluster

NAMESPACES, TRIES, MOST_MS = 500, 5, 200
_POLICIES = Policies((DEFAULT_POLICY,))


class _Server:
    """Answers lists as an API server would, at once."""

    def __init__(self, manifests: list[dict[str, Any]]) -> None:
        self._manifests = manifests

    async def list(self, resource: Resource, kind: type[Any], *_: object, **__: object) -> Listed[Any]:
        found = [item for item in self._manifests if item["kind"] == resource.kind]
        return Listed([msgspec.convert(item, kind) for item in found], "1")

    async def request(self, *_: object, **__: object) -> bytes:
        return msgspec.json.encode({"resources": []})


def rows() -> list[Row]:
    """When all that was followed is judged anew, and when nothing has changed since."""
    fresh, again = asyncio.run(_measured())
    conditions = f"{NAMESPACES} namespaces, CPU time, best of {TRIES}"
    return [
        at_most("tiers: a reconcile with nothing to change", fresh, MOST_MS, "ms", conditions),
        at_most("tiers: the next one, when nothing changed since", again, MOST_MS, "ms", conditions),
    ]


async def _measured() -> tuple[float, float]:
    tiers = list(DEFAULT_POLICY.tiers.values())
    manifests: list[dict[str, Any]] = list(wanted_objects(_POLICIES.policies, "")[0].values())
    for number in range(NAMESPACES):
        tier, name = tiers[number % len(tiers)], f"team-{number:04}"
        labels = {DEFAULT_POLICY.label: tier.name}
        manifests += [
            {"kind": "Namespace", "metadata": {"name": name, "labels": labels}},
            limit_range(DEFAULT_POLICY, tier, name),
            resource_quota(DEFAULT_POLICY, tier, name),
        ]
    client = cast("Any", _Server(manifests))
    fresh, again = list[float](), list[float]()
    for _ in range(TRIES):
        world = WatchedCluster(client, client, SystemClock(), random.Random(1))
        controller = TiersController(world, SystemClock())
        controller.follow(_POLICIES)
        await world.load()
        memory = Memory((DEFAULT_POLICY.name,))
        for took in (fresh, again):
            began = time.process_time()
            seen = await controller.observe(())
            plan, memory = controller.decide(seen, memory, _POLICIES, 0)
            took.append((time.process_time() - began) * 1_000)
            assert not plan.actions, plan.actions[0]
            assert len(plan.reasons) == NAMESPACES + 1
    return min(fresh), min(again)
