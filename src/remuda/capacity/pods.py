"""
The quick way to read pods from files, where there are most of them.

Pods are made from few templates, so what a container asks for is looked up by its bytes and worked out once.
"""

import re

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from remuda.capacity import written
from remuda.model.amounts import Amounts, pod_sizes

_NOTHING = Raw(b"{}")
_NONE = (UNSET, UNSET, UNSET)
#: more templates than this are none, and not remembered
_MOST = 50_000
#: the first kind of a list stands within so many bytes
_AHEAD = 4_096


class _Container(Struct, frozen=True, gc=False):
    resources: Raw = _NOTHING


class _Spec(Struct, frozen=True, gc=False, rename="camel"):
    node_name: str = ""
    containers: tuple[_Container, ...] = ()
    init_containers: Raw | UnsetType = UNSET
    overhead: Raw | UnsetType = UNSET
    resources: Raw | UnsetType = UNSET


class QuickPod(written.Whole, frozen=True, kw_only=True, gc=False):
    """A pod whose amounts are still text. It must not outlive the text it was read from."""

    spec: _Spec = _Spec()
    status: written.PodStatus = written.PodStatus()


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


class SizesByText:
    """What pods come to, by the text of what their containers ask for."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Amounts, Amounts]] = {}

    def of(self, pod: QuickPod) -> tuple[Amounts, Amounts]:
        """Requests and limits, not to be changed; `ValueError` when one is bad."""
        spec = pod.spec
        others = (spec.init_containers, spec.overhead, spec.resources)
        if len(spec.containers) == 1 and others == _NONE:
            key = bytes(spec.containers[0].resources)
        else:
            parts = [bytes(each.resources) for each in spec.containers]
            key = b"\0".join([*parts, *(b"" if each is UNSET else bytes(each) for each in others)])
        sizes = self._known.get(key)
        if sizes is None:
            sizes = pod_sizes(_read(spec))
            if len(self._known) < _MOST:
                self._known[key] = sizes
        return sizes


def _read(spec: _Spec) -> written.PodSpec:
    containers = (msgspec.json.decode(each.resources, type=written.Resources) for each in spec.containers)
    first: tuple[written.Container, ...] = ()
    if isinstance(spec.init_containers, Raw):
        first = msgspec.json.decode(spec.init_containers, type=tuple[written.Container, ...])
    return written.PodSpec(
        spec.node_name,
        tuple(map(written.Container, containers)),
        first,
        msgspec.json.decode(spec.overhead, type=written.Written) if isinstance(spec.overhead, Raw) else {},
        msgspec.json.decode(spec.resources, type=written.Resources)
        if isinstance(spec.resources, Raw)
        else None,
    )
