"""Pods from objects as they are written. What is the same in many, as templates are, is worked out once and shared."""

import re
from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from remuda.model.amounts import pod_sizes, strict_amounts
from remuda.model.manifests import Resources
from remuda.model.times import Instant, read_instant
from remuda.model.workloads import WorkloadId
from remuda.tiers import manifests
from remuda.tiers.snapshot import (
    Container,
    Containers,
    ContainerState,
    Defaulted,
    Placement,
    Pod,
    PodSpec,
)

_SET: Final = re.compile(r"([\w./, -]+) (request|limit) for (?:init )?container (\S+)")
_KINDS: Final[dict[str, Literal["request", "limit"]]] = {"request": "request", "limit": "limit"}
_UNPLACED, _DISRUPTED = "PodScheduled", "DisruptionTarget"
_encode = msgspec.json.Encoder().encode


class Templates:
    """What pods are made of, each kept once: by its text, which is quicker than by what it means."""

    def __init__(self) -> None:
        self._containers: dict[bytes, Containers] = {}
        self._placements: dict[bytes, Placement] = {}
        self._specs: dict[tuple[int, int, str, int | None, str], PodSpec] = {}
        self._labels: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
        self._defaulted: dict[str, tuple[Defaulted, ...]] = {"": ()}

    def spec_of(self, spec: manifests.PodSpec) -> PodSpec:
        """What a pod asks for; `ValueError` for a bad amount."""
        text = _encode((spec.containers, spec.init_containers, spec.resources, spec.overhead))
        containers = self._containers.get(text)
        if containers is None:
            containers = self._containers[text] = containers_of(spec)
        text = _encode((spec.node_selector, spec.affinity, spec.tolerations))
        placement = self._placements.get(text)
        if placement is None:
            placement = self._placements[text] = _placement_of(spec)
        key = (
            id(containers),
            id(placement),
            spec.priority_class_name,
            spec.priority,
            spec.preemption_policy,
        )
        found = self._specs.get(key)
        if found is None:
            found = self._specs[key] = PodSpec(containers, placement, *key[2:])
        return found

    def labels_of(self, labels: dict[str, str]) -> dict[str, str]:
        """Labels, each set of them once."""
        return self._labels.setdefault(tuple(labels.items()), labels)

    def defaulted_of(self, text: str) -> tuple[Defaulted, ...]:
        """What the annotation of the API server says that a LimitRange filled in."""
        found = self._defaulted.get(text)
        if found is None:
            found = self._defaulted[text] = tuple(read_defaulted(text))
        return found


def read_defaulted(text: str) -> Iterator[Defaulted]:
    """
    What a LimitRange filled in, of the annotation `kubernetes.io/limit-ranger`.

    It reads `LimitRanger plugin set: cpu, memory request for container app; memory limit for container app`.
    """
    for part in text.partition(": ")[2].split("; "):
        if found := _SET.fullmatch(part):
            yield Defaulted(found[3], _KINDS[found[2]], tuple(found[1].split(", ")))


def containers_of(spec: manifests.PodSpec) -> Containers:
    """What a pod is made of; `ValueError` for a bad amount."""
    requests, limits = pod_sizes(spec)
    return Containers(
        (
            *(_container(each, is_init=True) for each in spec.init_containers),
            *(_container(each, is_init=False) for each in spec.containers),
        ),
        None if spec.resources is None else _sized("", spec.resources),
        strict_amounts(spec.overhead),
        requests,
        limits,
    )


def _container(item: manifests.Container, *, is_init: bool) -> Container:
    return _sized(
        item.name,
        item.resources,
        is_init=is_init,
        is_sidecar=is_init and item.restart_policy == "Always",
    )


def _sized(name: str, sizes: Resources, *, is_init: bool = False, is_sidecar: bool = False) -> Container:
    return Container(name, strict_amounts(sizes.requests), strict_amounts(sizes.limits), is_init, is_sidecar)


def _placement_of(spec: manifests.PodSpec) -> Placement:
    affinity = spec.affinity.node_affinity
    return Placement(
        spec.node_selector,
        affinity.required.node_selector_terms,
        tuple(each.preference for each in affinity.preferred),
        spec.tolerations,
    )


def pod_of(item: manifests.Pod, templates: Templates) -> Pod:
    """A pod, with its direct owner; `ValueError` for a bad amount."""
    meta, status, owner = item.metadata, item.status, item.metadata.owner
    conditions = {each.type: each for each in status.conditions}
    scheduled, disrupted = conditions.get(_UNPLACED), conditions.get(_DISRUPTED)
    is_unplaced = scheduled is not None and scheduled.status == "False" and not item.spec.node_name
    return Pod(
        meta.namespace,
        meta.name,
        WorkloadId(meta.namespace, owner.kind, owner.name)
        if owner
        else WorkloadId(meta.namespace, "Pod", meta.name),
        templates.spec_of(item.spec),
        templates.labels_of(meta.labels),
        item.spec.node_name,
        status.nominated_node_name,
        status.phase,
        status.qos_class,
        status.reason,
        status.message,
        scheduled.message or scheduled.reason if scheduled is not None and is_unplaced else "",
        (disrupted.reason, disrupted.message)
        if disrupted is not None and disrupted.status == "True"
        else ("", ""),
        templates.defaulted_of(meta.annotations.limit_ranger),
        tuple(_states(status)),
        instant_of(meta.creation_timestamp),
        meta.deletion_timestamp is not None,
        bool(meta.annotations.mirror),
    )


def _states(status: manifests.PodStatus) -> Iterator[ContainerState]:
    for each in (*status.init_container_statuses, *status.container_statuses):
        waiting, ended = each.state.waiting, each.state.terminated or each.last_state.terminated
        if waiting is None and ended is None and not each.restart_count:
            continue
        yield ContainerState(
            each.name,
            each.restart_count,
            waiting.reason if waiting else "",
            ended.reason if ended else "",
            ended.exit_code if ended else 0,
            instant_of(ended.finished_at) if ended else None,
        )


def instant_of(text: str | None) -> Instant | None:
    """A time; None for what is none."""
    try:
        return read_instant(text) if text else None
    except ValueError:
        return None
