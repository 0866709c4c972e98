"""
Samples of many workloads, decoded at once: where everything is right, which is a tenth of the work of looking at each value.

Whatever is wrong or merely unusual, a key that comes twice among it, is None here: then the reader that can say what it is
reads the same text.
"""

from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from remuda.rightsize.estimate.estimator import MOST_AMOUNT
from remuda.rightsize.estimate.samples import LAST_TIME
from remuda.rightsize.estimate.usage import Pod, Replica, Sample
from remuda.rightsize.snapshot import WorkloadId

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
    kind: Literal["Deployment", "StatefulSet", "DaemonSet", "CronJob", "ReplicaSet", "Job"]
    name: _Name
    containers: Annotated[dict[str, _Container], Meta(min_length=1)]


class _File(Struct, forbid_unknown_fields=True):
    workloads: _Some[_Entry]


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
    return made if is_once and all(_is_in_order(one) for one in _instances(entries)) else None


def _replica(one: _Instance) -> Replica:
    return Replica(_samples(one.cpu or ()), _samples(one.memory or ()), _samples(one.oom or ()))


def _samples(some: Sequence[_Cpu | _Memory | _Kill]) -> list[Sample]:
    return list(map(Sample, map(attrgetter("t"), some), map(attrgetter("value"), some)))


def _instances(entries: Sequence[_Entry]) -> list[_Instance]:
    return [one for entry in entries for each in entry.containers.values() for one in each.instances]


def _is_in_order(one: _Instance) -> bool:
    return all(first.t < then.t for first, then in pairwise(one.cpu or ())) and all(
        first.t <= then.t for first, then in pairwise(one.memory or ())
    )


def _has_each_key_once(text: bytes, entries: Sequence[_Entry]) -> bool:
    """
    Whether the text names keys as often as there are such things: of a key that comes twice, the decoder keeps the last.

    A name that is a key itself, or an escape, makes no difference but that the text is read slowly.
    """
    some = _instances(entries)
    cpu, memory, oom = (
        [found for one in some if (found := getattr(one, part)) is not UNSET]
        for part in ("cpu", "memory", "oom")
    )
    each = len(entries)
    counts = {
        "workloads": 1, "namespace": each, "kind": each, "name": each, "containers": each,
        "instances": sum(len(entry.containers) for entry in entries),
        "cpu": len(cpu), "memory": len(memory), "oom": len(oom), "t": sum(map(len, [*cpu, *memory, *oom])),
        "cores": sum(map(len, cpu)), "bytes": sum(map(len, memory)), "requested_bytes": sum(map(len, oom)),
    }  # fmt: skip
    is_plain = b"\\" not in text
    return is_plain and all(text.count(b'"%b"' % key.encode()) == count for key, count in counts.items())
