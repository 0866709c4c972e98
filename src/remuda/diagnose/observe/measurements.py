"""Reads what measures the use of workloads: a cluster and a Prometheus. Nothing is changed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import Struct

from remuda.diagnose.decide.metrics import CPU, MEMORY, REQUESTS
from remuda.diagnose.measurements import WHOLE_S, Advisor, Api, Component, Measurements, Prometheus
from remuda.kube.client import Client
from remuda.kube.discovery import server_version
from remuda.kube.errors import KubeError, Missing
from remuda.kube.resources import ADVISORS, API_SERVICES, DEPLOYMENTS, PODS, STATEFUL_SETS, Resource
from remuda.model.manifests import Condition, Reference
from remuda.model.pods import Meta
from remuda.model.times import MINUTE, SECOND, Instant, read_instant
from remuda.prometheus import probe
from remuda.prometheus.client import Prometheus as Server
from remuda.prometheus.errors import PrometheusError

T = TypeVar("T", bound=Struct)

METRICS_API = "v1beta1.metrics.k8s.io"
#: what a new pod may take until it is scraped
_NEW_MS = 5 * MINUTE
#: labels and names that installations of each go by
_NAME = "app.kubernetes.io/name"
_SERVER, _RECOMMENDER, _PROMETHEUS = "metrics-server", "vpa-recommender", "prometheus"
#: conditions of a VPA object that say why it does not recommend, or poorly
_BAD_WHEN = {
    "RecommendationProvided": "False",
    "NoPodsMatched": "True",
    "FetchingHistory": "True",
    "LowConfidence": "True",
    "ConfigUnsupported": "True",
    "ConfigDeprecated": "True",
}


class _Status(Struct, frozen=True, rename="camel"):
    conditions: tuple[Condition, ...] = ()
    ready_replicas: int = 0


class _Replicas(Struct, frozen=True):
    replicas: int = 1


class _Workload(Struct, frozen=True):
    metadata: Meta = Meta()
    spec: _Replicas = _Replicas()
    status: _Status = _Status()


class _ApiService(Struct, frozen=True):
    metadata: Meta = Meta()
    status: _Status = _Status()


class _VpaSpec(Struct, frozen=True, rename="camel"):
    target_ref: Reference = Reference()


class _Vector(Struct, frozen=True, rename="camel"):
    container_recommendations: tuple[dict[str, Any], ...] = ()


class _VpaStatus(Struct, frozen=True):
    conditions: tuple[Condition, ...] = ()
    recommendation: _Vector | None = None


class _Vpa(Struct, frozen=True):
    metadata: Meta = Meta()
    spec: _VpaSpec = _VpaSpec()
    status: _VpaStatus = _VpaStatus()


class _PodStatus(Struct, frozen=True, rename="camel"):
    phase: str = ""
    start_time: str = ""


class _Pod(Struct, frozen=True):
    metadata: Meta = Meta()
    status: _PodStatus = _PodStatus()


class Measuring:
    """One look at a cluster. `progress` is called with what is read next."""

    def __init__(self, client: Client, progress: Callable[[str], None]) -> None:
        self._client = client
        self._progress = progress
        self._unread: dict[str, str] = {}

    async def look(self, now: Instant) -> Measurements:
        """Everything the checks want of it. A cluster that does not answer at all is a `KubeError`."""
        self._progress("the server")
        await server_version(self._client)
        self._progress("what measures")
        api, deployments, stateful, vpas, pods = await asyncio.gather(
            self._api(),
            self._list(DEPLOYMENTS, _Workload),
            self._list(STATEFUL_SETS, _Workload),
            self._list(ADVISORS, _Vpa),
            self._list(PODS, _Pod, fields="status.phase=Running"),
        )
        components = [_component("Deployment", item) for item in deployments or ()]
        components += [_component("StatefulSet", item) for item in stateful or ()]
        named: dict[str, list[Component]] = {_SERVER: [], _RECOMMENDER: [], _PROMETHEUS: []}
        for item, labels in components:
            for what, found in named.items():
                if item.name == what or labels.get(_NAME) == what:
                    found.append(item)
        return Measurements(
            now,
            api,
            servers=tuple(named[_SERVER]),
            recommenders=tuple(named[_RECOMMENDER]),
            prometheis=tuple(named[_PROMETHEUS]),
            advisors=None if vpas is None else tuple(map(_advisor, vpas)),
            pods=tuple(
                f"{item.metadata.namespace}/{item.metadata.name}"
                for item in pods or ()
                if _is_settled(item, now)
            ),
            unread=self._unread,
        )

    async def _api(self) -> Api | None:
        found = await self._try("apiservices", self._client.get(API_SERVICES, METRICS_API, _ApiService))
        if found is None:
            return None
        for item in found.status.conditions:
            if item.type == "Available" and item.status != "True":
                return Api(
                    ": ".join(part for part in (item.reason, item.message) if part) or "no reason is given"
                )
        return Api()

    async def _list(self, resource: Resource, kind: type[T], fields: str | None = None) -> list[T] | None:
        """All objects; None where the kind is not known, or they could not be read."""
        listed = await self._try(resource.plural, self._client.list(resource, kind, fields=fields))
        return None if listed is None else listed.items

    async def _try(self, what: str, reading: Awaitable[Any]) -> Any:
        try:
            return await reading
        except Missing:
            return None
        except KubeError as error:
            self._unread[what] = str(error)
            return None


def unseen(now: Instant, why: str) -> Measurements:
    """What is known of a cluster that cannot be asked: nothing, for a reason."""
    parts = (API_SERVICES, DEPLOYMENTS, STATEFUL_SETS, ADVISORS, PODS)
    return Measurements(now, unread={item.plural: why for item in parts})


async def ask(server: Server, at: Instant) -> Prometheus:
    """What Prometheus says; that it does not answer is an answer, too."""
    now = at // SECOND
    try:
        await probe.check_up(server)
        found = [await probe.held(server, metric, now=now, history_s=WHOLE_S) for metric in (MEMORY, CPU)]
        requests = await probe.count_series(server, REQUESTS, at=now)
        down = await server.instant(
            'up{job=~".*(kubelet|cadvisor).*"} == 0', what="targets that are down", at=now
        )
        pods = await server.instant(
            f'count by (namespace, pod) ({MEMORY}{{pod!=""}})', what="pods with samples", at=now
        )
        version = await probe.version(server)
    except PrometheusError as error:
        return Prometheus(server.url, str(error))
    return Prometheus(
        server.url,
        version=version,
        series={item.metric: item.series for item in found} | {REQUESTS: requests},
        reach={item.metric: now - item.since for item in found if item.since is not None},
        down=tuple(
            sorted(
                f"{each.labels.get('job', '?')}/{each.labels.get('instance', '?')}" for each in down.points
            )
        ),
        pods=tuple(
            sorted(f"{each.labels.get('namespace', '')}/{each.labels.get('pod', '')}" for each in pods.points)
        ),
    )


def _component(kind: str, item: _Workload) -> tuple[Component, dict[str, str]]:
    meta = item.metadata
    made = Component(kind, meta.namespace, meta.name, item.spec.replicas, item.status.ready_replicas)
    return made, meta.labels


def _advisor(item: _Vpa) -> Advisor:
    recommended = item.status.recommendation
    return Advisor(
        item.metadata.namespace,
        item.metadata.name,
        f"{item.spec.target_ref.kind} {item.spec.target_ref.name}".strip() or "nobody",
        bool(recommended and recommended.container_recommendations),
        {
            each.type: each.message or each.reason
            for each in item.status.conditions
            if _BAD_WHEN.get(each.type) == each.status
        },
    )


def _is_settled(pod: _Pod, now: Instant) -> bool:
    """Whether it should have been measured by now; one whose start cannot be read should."""
    try:
        return read_instant(pod.status.start_time) + _NEW_MS <= now
    except ValueError:
        return True
