"""
Samples of many workloads, decoded at once: where everything is right, which is a tenth of the work of looking at each value.

Whatever is wrong or merely unusual, a key that comes twice among it, is None here: then the reader that can say what it is
reads the same text.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter, le, lt
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from remuda.model.workloads import WorkloadId
from remuda.rightsize.estimate.estimator import MOST_AMOUNT
from remuda.rightsize.estimate.samples import LAST_TIME
from remuda.rightsize.estimate.usage import Pod, Replica, Sample, Samples

_Time = Annotated[int, Meta(ge=0, le=LAST_TIME)]
_Name = Annotated[str, Meta(min_length=1)]
_Bytes = Annotated[float, Meta(ge=0, le=MOST_AMOUNT)]
_Item = TypeVar("_Item")
_Some = Annotated[list[_Item], Meta(min_length=1)]


class _Cpu(Struct, forbid_unknown_fields=True, gc=False):
    t: _Time
    value: Annotated[float, Meta(ge=0, le=MOST_AMOUNT // 1000)] = field(name="cores")


class _Memory(Struct, forbid_unknown_fields=True, gc=False):
    t: _Time
    value: _Bytes = field(name="bytes")


class _Kill(Struct, forbid_unknown_fields=True, gc=False):
    t: _Time
    value: _Bytes = field(name="requested_bytes")


class _Instance(Struct, forbid_unknown_fields=True):
    cpu: list[_Cpu] | UnsetType = UNSET
    memory: list[_Memory] | UnsetType = UNSET
    oom: list[_Kill] | UnsetType = UNSET


class _Container(Struct, forbid_unknown_fields=True):
    instances: _Some[_Instance]


class _Entry(Struct, forbid_unknown_fields=True):
    namespace: _Name
    kind: Literal[
        "Deployment", "StatefulSet", "DaemonSet", "CronJob", "ReplicaSet", "Job", "Rollout", "DeploymentConfig",
        "StrimziPodSet",
    ]  # fmt: skip
    name: _Name
    containers: Annotated[dict[str, _Container], Meta(min_length=1)]


class _File(Struct, forbid_unknown_fields=True):
    workloads: _Some[_Entry]


_time, _value = attrgetter("t"), attrgetter("value")
_DECODER = msgspec.json.Decoder(_File)


def read_quickly(text: bytes) -> list[tuple[WorkloadId, Pod]] | None:
    """Whose samples a text holds, in its order; None where something has to be looked at more closely."""
    try:
        entries = _DECODER.decode(text).workloads
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    made: list[tuple[WorkloadId, Pod]] = [
        (
            WorkloadId(entry.namespace, entry.kind, entry.name),
            {name: [_replica(one) for one in each.instances] for name, each in entry.containers.items()},
        )
        for entry in entries
    ]
    is_once = len({who for who, _ in made}) == len(made) and _has_each_key_once(text, entries)
    is_right = is_once and all(
        _is_in_order(one.cpu, lt) and _is_in_order(one.memory, le)
        for _, pod in made
        for replicas in pod.values()
        for one in replicas
    )
    return made if is_right else None


def _replica(one: _Instance) -> Replica:
    return Replica(
        _samples(one.cpu or ()),
        _samples(one.memory or ()),
        [Sample(kill.t, kill.value) for kill in one.oom or ()],
    )


def _samples(some: Sequence[_Cpu | _Memory]) -> Samples:
    return Samples(list(map(_time, some)), list(map(_value, some)))


def _is_in_order(samples: Sequence[Sample], before: Callable[[int, int], bool]) -> bool:
    return not isinstance(samples, Samples) or all(map(before, samples.times, samples.times[1:]))


def _has_each_key_once(text: bytes, entries: Sequence[_Entry]) -> bool:
    """
    Whether the text has as many quotes as its keys and words need: of a key that comes twice, the decoder keeps the last.

    An escape makes no difference but that the text is read slowly.
    """
    series = [
        found
        for entry in entries
        for each in entry.containers.values()
        for one in each.instances
        for found in (one.cpu, one.memory, one.oom)
        if found is not UNSET
    ]
    containers = sum(len(entry.containers) for entry in entries)
    # `workloads`; of each workload four keys and three words; of each container its name and `instances`
    strings = 1 + 7 * len(entries) + 2 * containers + len(series) + 2 * sum(map(len, series))
    return b"\\" not in text and text.count(b'"') == 2 * strings
