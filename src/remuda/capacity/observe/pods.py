"""
The quick way to read pods from files, where there are most of them.

Pods are made from few templates, so what a container asks for is looked up by its bytes and worked out once.
"""

import re

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from remuda.capacity import manifests
from remuda.capacity.decide.neighbours import port_claims
from remuda.model.amounts import Amounts, pod_sizes

_NOTHING = Raw(b"{}")
_NONE = (UNSET,) * 5
#: more templates than this are none, and not remembered
_MOST = 50_000
#: the first kind of a list stands within so many bytes
_AHEAD = 4_096


class _Container(Struct, frozen=True, gc=False):
    resources: Raw = _NOTHING
    ports: Raw | UnsetType = UNSET


class _Spec(Struct, frozen=True, gc=False, rename="camel"):
    node_name: str = ""
    containers: tuple[_Container, ...] = ()
    init_containers: Raw | UnsetType = UNSET
    overhead: Raw | UnsetType = UNSET
    resources: Raw | UnsetType = UNSET
    host_network: Raw | UnsetType = UNSET
    affinity: Raw | UnsetType = UNSET


class QuickPod(manifests.Manifest, frozen=True, kw_only=True, gc=False):
    """A pod whose amounts are still text. It must not outlive the text it was read from."""

    spec: _Spec = _Spec()
    status: manifests.PodStatus = manifests.PodStatus()


class _QuickList(Struct, frozen=True, rename="camel"):
    kind: str
    api_version: str
    items: tuple[QuickPod, ...]


_DECODER = msgspec.json.Decoder(_QuickList)
_FIRST_KIND = re.compile(rb'"kind"\s*:\s*"(\w*)"')


def pods_of(text: memoryview) -> tuple[QuickPod, ...]:
    """The pods of a list that looks as if it were all pods, or nothing when it is anything else."""
    first = _FIRST_KIND.search(text[:_AHEAD])
    if first is None or first[1] not in {b"Pod", b"PodList"}:
        return ()
    try:
        read = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return ()
    kinds = {"Pod", ""} if read.kind == "PodList" else {"Pod"} if read.kind == "List" else set()
    is_right = read.api_version == "v1" and all(
        item.kind in kinds and item.api_version in {"v1", ""} for item in read.items
    )
    return read.items if is_right else ()


class PodNeeds(Struct, frozen=True, gc=False):
    """What a pod takes of its node, host ports among its requests, its limits, and which pods it must be apart from."""

    requests: Amounts
    limits: Amounts
    apart: tuple[manifests.PodTerm, ...] = ()


def needs_of(spec: manifests.PodSpec) -> PodNeeds:
    """What a pod needs; `ValueError` for a bad amount."""
    requests, limits = pod_sizes(spec)
    return PodNeeds(requests | port_claims(spec), limits, spec.affinity.pod_anti_affinity.required)


class NeedsByText:
    """What pods need, by the text of what decides it. Affinity to nodes may be in the text and decides nothing here."""

    def __init__(self) -> None:
        self._known: dict[bytes, PodNeeds] = {}

    def of(self, pod: QuickPod) -> PodNeeds:
        """What a pod needs, not to be changed; `ValueError` when an amount is bad."""
        spec = pod.spec
        first = spec.containers[0] if len(spec.containers) == 1 else None
        others = (spec.init_containers, spec.overhead, spec.resources, spec.host_network, spec.affinity)
        # most pods are one container that says what it asks for, and nothing else
        if first is not None and first.ports is UNSET and others == _NONE:
            return self._of(bytes(first.resources), spec)
        parts: list[Raw | UnsetType] = [
            *(part for each in spec.containers for part in (each.resources, each.ports)),
            spec.init_containers,
            spec.overhead,
            spec.resources,
            spec.host_network,
            spec.affinity if isinstance(spec.affinity, Raw) and b"podAnti" in bytes(spec.affinity) else UNSET,
        ]
        return self._of(b"\0".join([b"" if part is UNSET else bytes(part) for part in parts]), spec)

    def _of(self, key: bytes, spec: _Spec) -> PodNeeds:
        found = self._known.get(key)
        if found is None:
            found = needs_of(_read(spec))
            if len(self._known) < _MOST:
                self._known[key] = found
        return found


def _read(spec: _Spec) -> manifests.PodSpec:
    """The whole of it: what was left as text is written again around it, so that it is read in one way."""
    return msgspec.json.decode(msgspec.json.encode(spec), type=manifests.PodSpec)
