"""
Reads a live cluster into a `Snapshot`. Nothing is changed.

What cannot be read is reported in the snapshot, with the verb and the resource that are missing, and the rest goes on.
"""

import asyncio
from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar

from msgspec import Struct

from remuda.kube import resources
from remuda.kube.client import Client
from remuda.kube.discovery import find_resource, server_version
from remuda.kube.errors import Forbidden, KubeError, Missing
from remuda.kube.resources import Resource
from remuda.model.times import Instant
from remuda.rightsize import manifests
from remuda.rightsize.observe.faults import all_faults
from remuda.rightsize.observe.gather import Gathering
from remuda.rightsize.snapshot import Snapshot, Unknown

T = TypeVar("T", bound=Struct)

_HELP: Final = "`remuda rbac rightsize` prints what is needed"
_READ: Final[tuple[tuple[Resource, type[manifests.Manifest], Callable[[Gathering, Any], bool]], ...]] = (
    (resources.DEPLOYMENTS, manifests.Deployment, Gathering.add_deployment),
    (resources.STATEFUL_SETS, manifests.Replicated, Gathering.add_stateful_set),
    (resources.DAEMON_SETS, manifests.DaemonSet, Gathering.add_daemon_set),
    (resources.REPLICA_SETS, manifests.Replicated, Gathering.add_replica_set),
    (resources.CRON_JOBS, manifests.CronJob, Gathering.add_cron_job),
    (resources.JOBS, manifests.Job, Gathering.add_job),
    (resources.PODS, manifests.Pod, Gathering.add_pod),
    (resources.LIMIT_RANGES, manifests.LimitRange, Gathering.add_limit_range),
    (resources.QUOTAS, manifests.Quota, Gathering.add_quota),
    (resources.AUTOSCALERS, manifests.Autoscaler, Gathering.add_autoscaler),
)
#: who has not installed them has none, and need not be allowed to list them; what a kind makes pods through is read with it
_READ_WHERE_INSTALLED: Final[
    tuple[tuple[tuple[Resource, type[manifests.Manifest], Callable[[Gathering, Any], bool]], ...], ...]
] = (
    ((resources.ADVISORS, manifests.Advisor, Gathering.add_advisor),),
    ((resources.ROLLOUTS, manifests.Rollout, Gathering.add_rollout),),
    (
        (resources.DEPLOYMENT_CONFIGS, manifests.DeploymentConfig, Gathering.add_deployment_config),
        (resources.REPLICATION_CONTROLLERS, manifests.Replicated, Gathering.add_replication_controller),
    ),
    ((resources.STRIMZI_POD_SETS, manifests.PodSet, Gathering.add_pod_set),),
)


async def collect(client: Client, now: Instant, *, namespaces: Collection[str] = ()) -> Snapshot:
    """
    Everything but use, of these namespaces or of all; a server that does not answer at all is a `KubeError`.

    A part that is unknown is called as its resource is, in the plural; one object by its kind, namespace and name.
    """
    await server_version(client)
    return await _Collecting(client, sorted(set(namespaces))).collect(now)


async def namespace_names(client: Client) -> list[str]:
    """All there are; none where they may not be listed."""
    try:
        found = await client.list(resources.NAMESPACES, manifests.Namespace)
    except KubeError:
        return []
    return [item.metadata.name for item in found.items]


class _Collecting:
    def __init__(self, client: Client, namespaces: list[str]) -> None:
        self._client = client
        self._namespaces = namespaces
        self._gathering = Gathering()
        self._unknown: list[Unknown] = []

    async def collect(self, now: Instant) -> Snapshot:
        await asyncio.gather(
            self._read_namespaces(),
            *(self._read(*each) for each in _READ),
            *(self._read_where_installed(*each) for each in _READ_WHERE_INSTALLED),
        )
        unknown = sorted(self._unknown, key=lambda each: (each.part, each.why))
        return self._gathering.snapshot(self._client.access.server, now, dict.fromkeys(unknown))

    async def _read(
        self, resource: Resource, kind: type[manifests.Manifest], add: Callable[[Gathering, Any], bool]
    ) -> None:
        namespaces: list[str | None] = [*self._namespaces] or [None]
        for namespace in namespaces:
            for item in await self._list(resource, kind, namespace):
                self._take(resource, item, add)

    async def _read_namespaces(self) -> None:
        """Of some only these are asked for, which who may not see all may still do."""
        if not self._namespaces:
            for item in await self._list(resources.NAMESPACES, manifests.Namespace, None):
                self._take(resources.NAMESPACES, item, Gathering.add_namespace)
        for name in self._namespaces:
            try:
                item = await self._client.get(resources.NAMESPACES, name, manifests.Namespace)
            except Missing:
                self._unknown.append(Unknown(f"Namespace {name}", "there is no such namespace"))
            except KubeError as error:
                why = _why("get", resources.NAMESPACES, error, f" {name}")
                self._unknown.append(Unknown(resources.NAMESPACES.plural, why))
            else:
                self._take(resources.NAMESPACES, item, Gathering.add_namespace)

    async def _read_where_installed(
        self,
        first: tuple[Resource, type[manifests.Manifest], Callable[[Gathering, Any], bool]],
        *others: tuple[Resource, type[manifests.Manifest], Callable[[Gathering, Any], bool]],
    ) -> None:
        known, kind, add = first
        try:
            found = await find_resource(self._client, known.group, known.plural)
        except KubeError as error:
            self._unknown.append(Unknown(known.plural, _why("discover", known, error)))
            return
        if found is not None:
            for each in ((found, kind, add), *others):
                await self._read(*each)

    async def _list(self, resource: Resource, kind: type[T], namespace: str | None) -> list[T]:
        try:
            return (await self._client.list(resource, kind, namespace)).items
        except KubeError as error:
            where = f" in {namespace}" if namespace else ""
            self._unknown.append(Unknown(resource.plural, _why("list", resource, error, where)))
            return []

    def _take(
        self, resource: Resource, item: manifests.Manifest, add: Callable[[Gathering, Any], bool]
    ) -> None:
        try:
            add(self._gathering, item)
        except ValueError as error:
            who = "/".join(part for part in (item.metadata.namespace, item.metadata.name) if part)
            problems = [f"{path}: {words}" for path, words in all_faults(item)]
            self._unknown.append(Unknown(f"{resource.kind} {who}", "; ".join(problems) or str(error)))


def _why(verb: str, resource: Resource, error: KubeError, where: str = "") -> str:
    what = (f"{resource.plural}.{resource.group}" if resource.group else resource.plural) + where
    if isinstance(error, Forbidden):
        return f"may not {verb} {what}; {_HELP}"
    if isinstance(error, Missing):
        return f"cannot {verb} {what}: the cluster has no such kind"
    return f"cannot {verb} {what}: {error}"
