"""All gates of an overflow node for an envelope, as they are shown: the node's own, those of scale sets, and room last."""

from collections.abc import Iterable, Iterator

from remuda.capacity.decide.gates import Gate, node_gates, room_gate, scale_set_gates
from remuda.capacity.objects import CapacityPolicySpec, Envelope, Overflow
from remuda.capacity.snapshot import SCALE_SETS, ScaleSet, Snapshot
from remuda.model.times import Instant


def checked_gates(
    snapshot: Snapshot, policy: CapacityPolicySpec, overflow: Overflow, envelope: Envelope,
    scale_sets: Iterable[ScaleSet], now: Instant,
) -> tuple[tuple[str, Gate], ...]:  # fmt: skip
    """Each gate with the id of the scale set that it is about, which is empty for those of the node."""
    asked = tuple(scale_sets)
    found = [("", item) for item in node_gates(snapshot, policy, overflow, envelope, now)]
    for scale_set in asked:
        found += [
            (scale_set.id, item) for item in scale_set_gates(snapshot, policy, overflow, scale_set, now)
        ]
    if not asked:
        found += [("", item) for item in _no_scale_set(snapshot, policy, envelope)]
    return (*found, ("", room_gate(snapshot, policy, overflow, envelope, now, asked)))


def _no_scale_set(snapshot: Snapshot, policy: CapacityPolicySpec, envelope: Envelope) -> Iterator[Gate]:
    why = next((item.why for item in snapshot.unknown if item.part == SCALE_SETS), None)
    message = f"no scale set of {policy.label} carries {envelope.name}"
    fix = f"name it as the envelope of a set in the policy, or give it the requests and limits of {envelope.name}"
    for name in ("toleration", "rollback"):
        if why is None:
            yield Gate(name, "fail", message, fix, snapshot.read_at)
        else:
            yield Gate(name, "unknown", f"scale sets could not be read: {why}")
