"""
Reads a live cluster into a `Snapshot`. Nothing is changed.

What cannot be read is noted in the snapshot, with the verb and the resource that are missing, and the rest goes on.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

from msgspec import Struct

from remuda.capacity import manifests
from remuda.capacity import resources as ours
from remuda.capacity.observe.gather import Gathering
from remuda.capacity.snapshot import (
    LIMIT_RANGES,
    NODES,
    PODS,
    POOLS,
    PRIORITY_CLASSES,
    QUOTAS,
    RUNNER_AUTOSCALERS,
    RUNNER_DEPLOYMENTS,
    RUNNER_SETS,
    RUNTIME_CLASSES,
    SCALE_SETS,
    SUMMARIES,
    Snapshot,
    Unknown,
    summary_of,
)
from remuda.kube import resources
from remuda.kube.client import Client, decoded
from remuda.kube.discovery import server_version
from remuda.kube.errors import Forbidden, KubeError, Missing
from remuda.kube.resources import Resource
from remuda.model.findings import Place
from remuda.model.manifests import LimitRange
from remuda.model.times import Instant

T = TypeVar("T", bound=Struct)

_AT_ONCE: Final = 16
_WITHIN_S: Final = 10.0
#: after so many kubelets that did not answer in a row, the others are not asked
_MOST_SILENT: Final = 32
_LIVING: Final = "status.phase!=Succeeded,status.phase!=Failed"
_HELP: Final = "`remuda rbac capacity` prints what is needed"
_WORLDS_OWN = Place()


async def collect(
    client: Client,
    now: Instant,
    *,
    asks: Callable[[str], bool] = lambda _: True,
    within: float = _WITHIN_S,
) -> Snapshot:
    """
    Everything an audit wants; a server that does not answer at all is a `KubeError`.

    Kubelets are asked of the nodes that `asks` says yes to, each for `within` seconds at most.
    """
    await server_version(client)
    return await _Collecting(client, within).collect(now, asks)


class _Collecting:
    def __init__(self, client: Client, within: float) -> None:
        self._client = client
        self._within = within
        self._gathering = Gathering()
        self._unknown: list[Unknown] = []
        self._silent = 0
        self._may_ask = True

    async def collect(self, now: Instant, asks: Callable[[str], bool]) -> Snapshot:
        take = self._gathering
        parts: tuple[tuple[str, Resource, type[Struct], Callable[[Any, Place], bool]], ...] = (
            (SCALE_SETS, ours.SCALE_SETS, manifests.ScaleSet, take.add_scale_set),
            (POOLS, resources.RUNNER_POOLS, manifests.Pool, take.add_pool),
            (
                RUNNER_DEPLOYMENTS,
                ours.RUNNER_DEPLOYMENTS,
                manifests.RunnerDeployment,
                take.add_older,
            ),
            (RUNNER_SETS, ours.RUNNER_SETS, manifests.RunnerSet, take.add_older),
            (
                RUNNER_AUTOSCALERS,
                ours.RUNNER_AUTOSCALERS,
                manifests.RunnerAutoscaler,
                take.add_autoscaler,
            ),
            (NODES, resources.NODES, manifests.Node, take.add_node),
            (PODS, resources.PODS, manifests.Pod, take.add_pod),
            (LIMIT_RANGES, resources.LIMIT_RANGES, LimitRange, take.add_limit_range),
            (RUNTIME_CLASSES, resources.RUNTIME_CLASSES, manifests.RuntimeClass, take.add_runtime_class),
            (PRIORITY_CLASSES, resources.PRIORITY_CLASSES, manifests.PriorityClass, take.add_priority_class),
            (QUOTAS, resources.QUOTAS, manifests.Quota, take.add_quota),
        )
        found = await asyncio.gather(
            *(
                self._list(part, resource, kind, _LIVING if part == PODS else None)
                for part, resource, kind, _ in parts
            )
        )
        for (_, resource, _, add), items in zip(parts, found, strict=True):
            self._take(items, add, resource.kind)
        nodes: list[Any] = found[[part for part, *_ in parts].index(NODES)]
        await self._ask_kubelets([name for item in nodes if asks(name := item.metadata.name)], now)
        return self._gathering.snapshot(self._client.access.server, now, self._unknown)

    async def _list(self, part: str, resource: Resource, kind: type[T], fields: str | None = None) -> list[T]:
        try:
            return (await self._client.list(resource, kind, fields=fields)).items
        except KubeError as error:
            if isinstance(error, Missing) and part in {
                POOLS,
                RUNNER_DEPLOYMENTS,
                RUNNER_SETS,
                RUNNER_AUTOSCALERS,
            }:
                return []  # who has no such kind has none of them
            is_absent = isinstance(error, Missing)
            self._unknown.append(Unknown(part, _why("list", resource, error), is_absent))
            return []

    def _take(self, items: list[T], add: Callable[[Any, Place], bool], kind: str) -> None:
        for item in items:
            try:
                add(item, _WORLDS_OWN)
            except ValueError as error:
                meta: Any = item
                who = "/".join(part for part in (meta.metadata.namespace, meta.metadata.name) if part)
                self._unknown.append(Unknown(f"{kind} {who}", str(error)))

    async def _ask_kubelets(self, nodes: list[str], now: Instant) -> None:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def ask(node: str) -> None:
            async with gate:
                if self._may_ask:
                    await self._ask(node, now)

        await asyncio.gather(*map(ask, nodes))

    async def _ask(self, node: str, now: Instant) -> None:
        try:
            async with asyncio.timeout(self._within):
                answer = await self._client.node_proxy(node, "stats/summary")
            read = decoded(answer, manifests.Stats, f"asking nodes {node} for stats/summary")
        except Forbidden:
            if self._may_ask:
                self._may_ask = False
                self._unknown.append(Unknown(SUMMARIES, f"may not get nodes/proxy; {_HELP} with --optional"))
        except (KubeError, TimeoutError) as error:
            message = str(error) or f"the kubelet did not answer within {self._within:g} s"
            self._unknown.append(Unknown(summary_of(node), message))
            self._silent += 1
            if self._silent >= _MOST_SILENT and self._may_ask:
                self._may_ask = False
                words = f"{self._silent} kubelets in a row did not answer: the others were not asked"
                self._unknown.append(Unknown(SUMMARIES, words))
        else:
            self._silent = 0
            self._gathering.add_summary(read, now)


def _why(verb: str, resource: Resource, error: KubeError) -> str:
    what = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    if isinstance(error, Forbidden):
        return f"may not {verb} {what}; {_HELP}"
    if isinstance(error, Missing):
        return f"cannot {verb} {what}: the cluster has no such kind, so its CRD is not installed"
    return f"cannot {verb} {what}: {error}"
