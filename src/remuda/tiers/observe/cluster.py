"""
Reads a live cluster into a `Snapshot`. Nothing is changed.

What cannot be read is reported in the snapshot, with the verb and the resource that are missing, and the rest goes on.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from msgspec import Struct

from remuda.kube import resources
from remuda.kube.client import Client, decoded
from remuda.kube.discovery import find_resource, server_version
from remuda.kube.errors import Forbidden, KubeError, Missing
from remuda.kube.resources import Resource
from remuda.model.times import Instant
from remuda.objects.slow_path import bad_amounts
from remuda.tiers import manifests
from remuda.tiers.observe.forms import faults
from remuda.tiers.observe.gather import TELLING, Gathering
from remuda.tiers.snapshot import EVENTS, SUMMARIES, USAGE, WORKLOADS, Snapshot, Unknown

T = TypeVar("T", bound=Struct)

POD_METRICS: Final = Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
_HELP: Final = "`remuda rbac tiers` prints what is needed"
_READ: Final[tuple[tuple[Resource, type[manifests.Manifest], Callable[[Gathering, Any], bool]], ...]] = (
    (resources.NAMESPACES, manifests.Namespace, Gathering.add_namespace),
    (resources.DEPLOYMENTS, manifests.Deployment, Gathering.add_deployment),
    (resources.STATEFUL_SETS, manifests.Replicated, Gathering.add_stateful_set),
    (resources.DAEMON_SETS, manifests.DaemonSet, Gathering.add_daemon_set),
    (resources.REPLICA_SETS, manifests.Replicated, Gathering.add_replica_set),
    (resources.CRON_JOBS, manifests.CronJob, Gathering.add_cron_job),
    (resources.JOBS, manifests.Job, Gathering.add_job),
    (resources.PODS, manifests.Pod, Gathering.add_pod),
    (resources.NODES, manifests.Node, Gathering.add_node),
    (resources.LIMIT_RANGES, manifests.LimitRange, Gathering.add_limit_range),
    (resources.QUOTAS, manifests.Quota, Gathering.add_quota),
    (resources.PRIORITY_CLASSES, manifests.PriorityClass, Gathering.add_priority_class),
    (resources.AUTOSCALERS, manifests.Autoscaler, Gathering.add_autoscaler),
)
_MAKERS: Final = frozenset(
    each.plural
    for each in (
        resources.DEPLOYMENTS,
        resources.STATEFUL_SETS,
        resources.DAEMON_SETS,
        resources.REPLICA_SETS,
        resources.CRON_JOBS,
        resources.JOBS,
    )
)


async def collect(client: Client, now: Instant, asks: Iterable[str] = ()) -> Snapshot:
    """Everything an audit wants, and what the kubelets of some nodes say; a server that does not answer is a `KubeError`."""
    await server_version(client)
    return await _Collecting(client).collect(now, tuple(asks))


class _Collecting:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._gathering = Gathering()
        self._unknown: list[Unknown] = []

    async def collect(self, now: Instant, asks: tuple[str, ...]) -> Snapshot:
        await asyncio.gather(
            *(self._read(*each) for each in _READ),
            *map(self._ask, asks),
            self._read_events(),
            self._read_where_installed(
                resources.ROLLOUTS, manifests.Rollout, Gathering.add_rollout, resources.ROLLOUTS.plural
            ),
            self._read_where_installed(
                POD_METRICS, manifests.PodMetrics, Gathering.add_pod_metrics, USAGE, why_absent=True
            ),
        )
        if not asks:
            self._unknown.append(Unknown(SUMMARIES, "kubelets are not asked", is_quiet=True))
        unknown = sorted(self._unknown, key=lambda each: (each.part, each.why))
        return self._gathering.snapshot(self._client.access.server, now, dict.fromkeys(unknown))

    async def _read(
        self,
        resource: Resource,
        kind: type[manifests.Manifest],
        add: Callable[[Gathering, Any], bool],
        part: str = "",
    ) -> None:
        name = WORKLOADS if resource.plural in _MAKERS else part or resource.plural
        for item in await self._list(resource, kind, name):
            self._take(resource, item, add)

    async def _ask(self, node: str) -> None:
        """What a kubelet says of memory."""
        try:
            answer = await self._client.node_proxy(node, "stats/summary")
            read = decoded(answer, manifests.Stats, f"asking nodes {node} for stats/summary")
        except KubeError as error:
            words = f"may not get nodes/proxy; {_HELP}" if isinstance(error, Forbidden) else str(error)
            self._unknown.append(Unknown(SUMMARIES, words, is_quiet=True))
        else:
            self._gathering.add_summary(read)

    async def _read_events(self) -> None:
        """Those that tell why, by their reason: of all others there may be more than of anything else."""
        found = await asyncio.gather(
            *(
                self._list(resources.EVENTS, manifests.Event, EVENTS, f"reason={reason}", is_quiet=True)
                for reason in sorted(TELLING)
            )
        )
        for items in found:
            for item in items:
                self._take(resources.EVENTS, item, Gathering.add_event)

    async def _read_where_installed(
        self,
        known: Resource,
        kind: type[manifests.Manifest],
        add: Callable[[Gathering, Any], bool],
        part: str,
        *,
        why_absent: bool = False,
    ) -> None:
        try:
            found = await find_resource(self._client, known.group, known.plural)
        except KubeError as error:
            self._unknown.append(Unknown(part, _why("discover", known, error), is_quiet=True))
            return
        if found is not None:
            await self._read(found, kind, add, part)
        elif why_absent:
            words = f"the cluster serves no {known.plural}.{known.group}: the metrics server is not installed"
            self._unknown.append(Unknown(part, words, is_quiet=True))

    async def _list(
        self,
        resource: Resource,
        kind: type[T],
        part: str,
        fields: str | None = None,
        *,
        is_quiet: bool = False,
    ) -> list[T]:
        try:
            return (await self._client.list(resource, kind, fields=fields)).items
        except KubeError as error:
            self._unknown.append(Unknown(part, _why("list", resource, error), is_quiet=is_quiet))
            return []

    def _take(
        self, resource: Resource, item: manifests.Manifest, add: Callable[[Gathering, Any], bool]
    ) -> None:
        problems = [f"{path}: {words}" for path, words in faults(item)]
        try:
            if not problems:
                add(self._gathering, item)
                return
        except ValueError:
            problems = [f"{path}: {words}" for path, words in bad_amounts(item)]
        who = "/".join(part for part in (item.metadata.namespace, item.metadata.name) if part)
        self._unknown.append(Unknown(f"{resource.kind} {who}", "; ".join(problems)))


def _why(verb: str, resource: Resource, error: KubeError) -> str:
    what = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    if isinstance(error, Forbidden):
        return f"may not {verb} {what}; {_HELP}"
    if isinstance(error, Missing):
        return f"cannot {verb} {what}: the cluster has no such kind"
    return f"cannot {verb} {what}: {error}"
