"""
The gates of an overflow node: what must hold before it takes a runner, each with its evidence, age and expiry.

What is not known does not pass. The node's gates are those of an envelope; a lane has its own beside them; and whether
one more runner has room there is asked last, since a node that is full has not lost its admission.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from remuda.capacity.decide.fits import MOST_PODS, folded
from remuda.capacity.decide.neighbours import HOSTNAME, WHOLE, is_claim
from remuda.capacity.decide.rollback import is_lane, keeps_off, patch_for, pod_from, problems_of
from remuda.capacity.decide.words import told as told_amount
from remuda.capacity.objects import CapacityPolicySpec, Decision, Envelope, Overflow
from remuda.capacity.policy import measured, read_day, read_end
from remuda.capacity.snapshot import (
    EPHEMERAL,
    NODES,
    PODS,
    SCALE_SETS,
    SUMMARIES,
    Amounts,
    Filesystem,
    Lane,
    Node,
    Usage,
    World,
    summary_of,
)
from remuda.model.times import DAY, Instant
from remuda.rules.placing import holds, pressing, untolerated

GateName: TypeAlias = Literal[
    "admission", "capability", "budget", "root-filesystem", "image-filesystem", "prewarm",
    "toleration", "rollback", "room",
]  # fmt: skip
State: TypeAlias = Literal["pass", "fail", "unknown"]
#: shares of a filesystem below which a kubelet evicts, by default: of bytes where pods write and where images are, of inodes
ROOT_LEAST, IMAGES_LEAST, INODES_LEAST = 10, 15, 5
#: how long evidence counts where the policy has none of its own to say it
MAX_AGE = 30 * DAY
_PRESSURE = "node.kubernetes.io/disk-pressure"


class Gate(Struct, frozen=True):
    """Whether a gate holds, what shows it, from when that is and until when it counts, and how to make it hold."""

    gate: GateName
    state: State
    evidence: str
    fix: str = ""
    read_at: Instant | None = None
    expires: Instant | None = None

    @property
    def holds(self) -> bool:
        """True only when it is known to."""
        return self.state == "pass"


def gates(
    world: World, policy: CapacityPolicySpec, overflow: Overflow, envelope: Envelope, lane: Lane, now: Instant
) -> tuple[Gate, ...]:
    """Everything that must hold for one more runner of the lane to start there with this envelope."""
    return (
        *node_gates(world, policy, overflow, envelope, now),
        *lane_gates(world, policy, overflow, lane, now),
        room_gate(world, policy, overflow, envelope, now, (lane,)),
    )


def node_gates(
    world: World, policy: CapacityPolicySpec, overflow: Overflow, envelope: Envelope, now: Instant
) -> tuple[Gate, ...]:
    """What must hold of the node for an envelope, whichever lane carries it and whatever runs there now."""
    node = _node(world, overflow)
    return (
        _admission(overflow, now),
        _dated(_capability(world, policy, overflow, node), world, policy, now),
        _dated(_budget(world, overflow, envelope, node), world, policy, now),
        _filesystem(world, policy, overflow, envelope, node, "root", now),
        _filesystem(world, policy, overflow, envelope, node, "images", now),
        _dated(_prewarm(world, policy, overflow, node, now), world, policy, now),
    )


def lane_gates(
    world: World, policy: CapacityPolicySpec, overflow: Overflow, lane: Lane, now: Instant
) -> tuple[Gate, ...]:
    """What must hold of a lane that may be on the node."""
    node = _node(world, overflow)
    return (
        _dated(_toleration(world, overflow, node, lane), world, policy, now),
        _dated(_rollback(world, overflow, node, lane), world, policy, now),
    )


def _dated(gate: Gate, world: World, policy: CapacityPolicySpec, now: Instant) -> Gate:
    """What was read counts no longer than a recorded audit does."""
    if gate.expires is not None or gate.read_at is None or gate.read_at != world.read_at:
        return gate
    expires = world.read_at + _max_age(policy)
    if gate.holds and expires <= now:
        return Gate(
            gate.gate, "unknown", f"{gate.evidence}, which is too old", "read it again", gate.read_at, expires
        )
    return replace(gate, expires=expires)


def carriers(
    world: World, policy: CapacityPolicySpec, overflow: Overflow, envelope: Envelope
) -> tuple[Lane, ...]:
    """The lanes of the label that carry an envelope: those that can be on the node, or all when none can."""
    given = {item.name: item.envelope for item in policy.sets}
    found = []
    for lane in lanes_of(world, policy):
        named = given.get(lane.id, given.get(lane.name, UNSET))
        is_sized = lane.carried == (measured(envelope.requests), measured(envelope.limits))
        if named == envelope.name or (named is UNSET and is_sized):
            found.append(lane)
    node = _node(world, overflow)
    taints = node.taints if node is not None else ()
    can = tuple(lane for lane in found if not any(untolerated(taints, lane.tolerations)))
    return can or tuple(found)


def lanes_of(world: World, policy: CapacityPolicySpec) -> Iterator[Lane]:
    """The lanes that carry the policy's label."""
    label = folded(policy.label)
    return (lane for lane in world.lanes if label in map(folded, lane.labels))


def _node(world: World, overflow: Overflow) -> Node | None:
    # nodes are sorted where they were read, and there may be thousands of them and of lanes
    at = bisect_left(world.nodes, overflow.node, key=lambda item: item.name)
    if at < len(world.nodes) and world.nodes[at].name == overflow.node:
        return world.nodes[at]
    return next((item for item in world.nodes if item.name == overflow.node), None)


def _absent(world: World, gate: GateName, overflow: Overflow) -> Gate:
    for item in world.unknown:
        if item.part == NODES:
            return Gate(gate, "unknown", f"nodes could not be read: {item.why}")
    return Gate(gate, "fail", f"there is no node {overflow.node}", f"take {overflow.node} out of the policy")


def _admission(overflow: Overflow, now: Instant) -> Gate:
    decision = overflow.admitted
    told = f"{decision.who} on {decision.when}: {decision.why}"
    when, until = read_day(decision.when), _end(decision)
    if when is not None and when > now:
        return Gate(
            "admission", "fail", f"{told}; that day is still to come", "correct admitted.when", when, until
        )
    if until is not None and until <= now:
        return Gate("admission", "fail", f"{told}; ended {decision.until}", _AGAIN, when, until)
    return Gate("admission", "pass", told, "", when, until)


_AGAIN = "decide again, and write down who, why, when and until when"


def _end(decision: Decision) -> Instant | None:
    return None if isinstance(decision.until, UnsetType) else read_end(decision.until)


def _capability(world: World, policy: CapacityPolicySpec, overflow: Overflow, node: Node | None) -> Gate:
    if node is None:
        return _absent(world, "capability", overflow)
    wanted = _capability_of(world, policy)
    lacking = [f"{key}={value}" for key, value in sorted(wanted.items()) if node.labels.get(key) != value]
    if lacking:
        told = f"{node.name} has no label {', '.join(lacking)}"
        fix = f"kubectl label node {node.name} {' '.join(lacking)}, if it can do that"
        return Gate("capability", "fail", told, fix, world.read_at)
    has = ", ".join(f"{key}={value}" for key, value in sorted(wanted.items()))
    return Gate("capability", "pass", f"{node.name} has {has}, as primary nodes have", "", world.read_at)


def _capability_of(world: World, policy: CapacityPolicySpec) -> dict[str, str]:
    """
    Of what primary nodes have in common that which all lanes select by, or else some; a node's name is no capability.

    Lanes that select by none of it say nothing about what the capability is.
    """
    primary = {str(key): str(value) for key, value in policy.nodes.primary.items() if key != HOSTNAME}
    selecting = [primary.keys() & lane.node_selector.keys() for lane in lanes_of(world, policy)]
    selecting = [keys for keys in selecting if keys]
    if not selecting:
        return primary
    keys = set.intersection(*map(set, selecting)) or set.union(*map(set, selecting))
    return {key: value for key, value in primary.items() if key in keys}


def _budget(world: World, overflow: Overflow, envelope: Envelope, node: Node | None) -> Gate:
    if envelope.name not in overflow.envelopes:
        admits = ", ".join(overflow.envelopes) or "none"
        told = f"the policy admits no {envelope.name} on {overflow.node}, only: {admits}"
        return Gate("budget", "fail", told, "choose an admitted envelope, or have this one admitted")
    if overflow.most_runners == 0:
        return Gate(
            "budget", "fail", "mostRunners is 0", "raise mostRunners, or take the node out of the policy"
        )
    if node is None:
        return _absent(world, "budget", overflow)
    requests, limits = measured(envelope.requests), measured(envelope.limits)
    over = [
        *_above("requests", requests, "requested", measured(overflow.requested)),
        *_above("is limited to", limits, "limited", measured(overflow.limited)),
    ]
    if EPHEMERAL not in requests:
        over.append(f"requests no {EPHEMERAL}")
    for name, value in requests.items():
        if value > node.allocatable.get(name, 0):
            has = told_amount(name, node.allocatable.get(name, 0))
            over.append(f"requests {told_amount(name, value)}, and {node.name} has {has} in all")
    if over:
        fix = "make the envelope smaller, or raise the guardrails of the node if it can bear that"
        return Gate("budget", "fail", f"{envelope.name} {'; '.join(over)}", fix, world.read_at)
    told = ", ".join(told_amount(name, value) for name, value in requests.items())
    return Gate(
        "budget", "pass", f"{envelope.name} requests {told}: within the guardrails", "", world.read_at
    )


def _above(verb: str, asked: Amounts, field: str, guardrail: Amounts) -> Iterator[str]:
    for name, most in guardrail.items():
        if name not in asked:
            yield f"gives no {name}, of which {field} allows {told_amount(name, most)}"
        elif asked[name] > most:
            yield f"{verb} {told_amount(name, asked[name])}, and {field} allows {told_amount(name, most)}"


def room_gate(
    world: World, policy: CapacityPolicySpec, overflow: Overflow, envelope: Envelope, now: Instant,
    lanes: Iterable[Lane] = (),
) -> Gate:  # fmt: skip
    """
    Whether one more runner fits beside what runs there now: within the guardrails, the number and the node.

    `lanes` are those it may be of: what a runner of any of them takes beside the envelope counts.
    """
    found = tuple(lanes)
    gate = _dated(_room(world, policy, overflow, envelope, found), world, policy, now)
    unsure = [words for lane in found for words in lane.unsure]
    if gate.holds and unsure:
        return replace(gate, state="unknown", evidence=f"resources fit, but {unsure[0]}", fix=_UNSURE)
    return gate


_UNSURE = "try it with one runner: more than resources decides whether it fits"


def _room(
    world: World, policy: CapacityPolicySpec, overflow: Overflow, envelope: Envelope, lanes: tuple[Lane, ...]
) -> Gate:
    node = _node(world, overflow)
    if node is None:
        return _absent(world, "room", overflow)
    for item in world.unknown:
        if item.part == PODS:
            return Gate("room", "unknown", f"what runs on {node.name} could not be read: {item.why}")
    usage = world.usage.get(node.name, Usage())
    own = {lane.id for lane in lanes_of(world, policy)}
    there = {name: count for name, count in usage.runners.items() if name in own}
    taken: Amounts = {}
    limited: Amounts = {}
    for name in there:
        _add(taken, usage.runner_requests.get(name, {}))
        _add(limited, usage.runner_limits.get(name, {}))
    _add(taken, measured(envelope.requests))
    _add(limited, measured(envelope.limits))
    over = []
    if sum(there.values()) >= overflow.most_runners:
        over.append(
            f"{sum(there.values())} of at most {overflow.most_runners} are there: {', '.join(sorted(there))}"
        )
    over += _above("runners would request", taken, "requested", measured(overflow.requested))
    over += _above("runners would be limited to", limited, "limited", measured(overflow.limited))
    whole = {"pods": MOST_PODS} | node.allocatable
    asked = measured(envelope.requests) | {"pods": 1}
    beside: Amounts = {}
    for lane in lanes:
        beside |= {
            name: max(value, beside.get(name, 0)) for name, value in (lane.overhead | lane.claims).items()
        }
    _add(asked, beside)
    for name, value in asked.items():
        left = whole.get(name, WHOLE if is_claim(name) else 0) - usage.requested.get(name, 0)
        if value > left and is_claim(name):
            over.append(f"no {name} left")
        elif value > left:
            over.append(f"{told_amount(name, max(0, left))} left of {told_amount(name, whole.get(name, 0))}")
    if node.cordoned or not node.ready:
        over.append("it is cordoned" if node.cordoned else "it is not ready")
    over += [f"it has the taint {taint}" for taint in pressing(node.taints)]
    if over:
        return Gate("room", "fail", f"{node.name} takes no more: {'; '.join(over)}", "wait", world.read_at)
    told = f"{sum(there.values())} of at most {overflow.most_runners} there now"
    return Gate("room", "pass", told, "", world.read_at)


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _filesystem(
    world: World, policy: CapacityPolicySpec, overflow: Overflow, envelope: Envelope, node: Node | None,
    which: Literal["root", "images"], now: Instant,
) -> Gate:  # fmt: skip
    """
    Whether a filesystem stays clear of eviction once the envelope has written all it requests.

    Where images have a filesystem of their own, what containers write is there, too: the request counts on both.
    """
    gate: GateName = "root-filesystem" if which == "root" else "image-filesystem"
    least = ROOT_LEAST if which == "root" else IMAGES_LEAST
    if node is None:
        return _absent(world, gate, overflow)
    if any(taint.key == _PRESSURE for taint in node.taints):
        return Gate(gate, "fail", f"{node.name} is under disk pressure", "free space there", world.read_at)
    summary = world.summaries.get(node.name)
    if summary is None:
        return Gate(gate, "unknown", _no_summary(world, node.name), _SUMMARY.format(node=node.name))
    seen = summary.root if which == "root" else summary.images
    expires = summary.read_at + _max_age(policy)
    if expires <= now:
        return Gate(gate, "unknown", "what the kubelet said is too old", _LATER, summary.read_at, expires)
    if not seen.capacity:
        told = f"the kubelet of {node.name} says nothing of this filesystem"
        return Gate(gate, "unknown", told, _LATER, summary.read_at, expires)
    wanted = measured(envelope.requests).get(EPHEMERAL)
    if wanted is None:
        told = f"{envelope.name} requests no {EPHEMERAL}, so what it may write is not bounded"
        return Gate(
            gate, "fail", told, f"give the envelope a request for {EPHEMERAL}", summary.read_at, expires
        )
    over = list(_lacks(seen, wanted, least))
    if over:
        fix = f"free space on {node.name}, or choose a smaller envelope"
        return Gate(gate, "fail", "; ".join(over), fix, summary.read_at, expires)
    left = (seen.available - wanted) * 100 // seen.capacity
    told = f"{_bytes(seen.available)} free of {_bytes(seen.capacity)}: {left} % left beside the envelope, {least} % are the least"
    return Gate(gate, "pass", told, "", summary.read_at, expires)


_SUMMARY = (
    "grant get on nodes/proxy (`remuda rbac capacity --optional`), or record what"
    " `kubectl get --raw /api/v1/nodes/{node}/proxy/stats/summary` prints and give it with --summary"
)
_LATER = "read the kubelet's summary again"


def _no_summary(world: World, node: str) -> str:
    for item in world.unknown:
        if item.part in {SUMMARIES, summary_of(node)}:
            return f"the kubelet's summary of {node} could not be read: {item.why}"
    return f"there is no summary of the kubelet of {node}"


def _lacks(seen: Filesystem, wanted: int, least: int) -> Iterator[str]:
    left = seen.available - wanted
    if left * 100 < seen.capacity * least:
        beside = (
            f"{_bytes(left)} of {_bytes(seen.capacity)} would be left"
            if left > 0
            else "nothing would be left"
        )
        told = f"{_bytes(seen.available)} free, and the envelope may write {_bytes(wanted)}"
        yield f"{told}: {beside}, and below {least} % pods are evicted"
    # a filesystem that has no fixed number of inodes gives none
    if seen.inodes and seen.inodes_free * 100 < seen.inodes * INODES_LEAST:
        yield f"{seen.inodes_free:,} of {seen.inodes:,} inodes free, and below {INODES_LEAST} % pods are evicted"


def _bytes(value: int) -> str:
    return f"{value / 2**30:.2f}Gi"


def _max_age(policy: CapacityPolicySpec) -> int:
    return MAX_AGE if isinstance(policy.evidence, UnsetType) else policy.evidence.max_age


def _prewarm(
    world: World, policy: CapacityPolicySpec, overflow: Overflow, node: Node | None, now: Instant
) -> Gate:
    image, record = overflow.prewarm.image, overflow.prewarm.record
    told = []
    if not isinstance(image, UnsetType):
        if node is not None and image in node.images:
            return Gate("prewarm", "pass", f"{node.name} has {image}", "", world.read_at)
        listed = node is not None and bool(node.images)
        told.append(f"{image} is not among the images of {overflow.node}" if listed else _NO_IMAGES)
    state: State = "unknown" if told == [_NO_IMAGES] else "fail"
    if isinstance(record, UnsetType):
        if not told:
            return Gate("prewarm", "fail", "the policy names neither an image nor a record", _PREWARM)
        return Gate("prewarm", state, told[0], _PREWARM, world.read_at)
    when = read_day(record.when)
    until = _end(record)
    expires = until if until is not None else None if when is None else when + _max_age(policy)
    told.append(f"{record.who} on {record.when}: {record.why}")
    if when is None or when > now or expires is None or expires <= now:
        told.append("that day is still to come" if when is not None and when > now else "that is too old")
        return Gate("prewarm", "fail", "; ".join(told), _PREWARM, when, expires)
    return Gate("prewarm", "pass", "; ".join(told), "", when, expires)


_NO_IMAGES = "the node tells no images"
_PREWARM = "put the image or closure on the node, and name it in prewarm.image, or who did so and when in prewarm.record"


def _toleration(world: World, overflow: Overflow, node: Node | None, lane: Lane) -> Gate:
    if node is None:
        return _absent(world, "toleration", overflow)
    if world.is_unknown(SCALE_SETS) and lane not in world.lanes:
        return Gate("toleration", "unknown", "scale sets could not be read")
    taints = [taint for taint in node.taints if taint.effect in {"NoSchedule", "NoExecute"}]
    taints = [taint for taint in taints if not taint.key.startswith("node.kubernetes.io/")]
    if not taints:
        told = f"{node.name} has no taint: nothing keeps others off it, and nothing is tolerated explicitly"
        return Gate(
            "toleration",
            "fail",
            told,
            f"kubectl taint node {node.name} overflow=true:NoSchedule",
            world.read_at,
        )
    explicit = tuple(item for item in lane.tolerations if item.key)
    lacking = list(untolerated(taints, explicit))
    if lacking:
        told = f"{lane.id} does not tolerate {', '.join(map(str, lacking))}"
        if not any(untolerated(taints, lane.tolerations)):
            told = f"{lane.id} tolerates everything, and not {', '.join(map(str, lacking))} by its key"
        return Gate(
            "toleration", "fail", told, f"give {lane.id} a toleration for each of them", world.read_at
        )
    blocked = next((told for told in _kept_off(lane, node)), "")
    if blocked:
        fix = f"let {lane.id} select by what primary and overflow nodes share, and prefer primary ones"
        return Gate("toleration", "fail", blocked, fix, world.read_at)
    return Gate("toleration", "pass", f"{lane.id} tolerates {', '.join(map(str, taints))}", "", world.read_at)


def _kept_off(lane: Lane, node: Node) -> Iterator[str]:
    for key, value in sorted(lane.node_selector.items()):
        if node.labels.get(key) != value:
            yield f"{lane.id} tolerates {node.name} and selects {key}={value}, which it has not"
    if lane.required and not any(holds(term, node.name, node.labels) for term in lane.required):
        yield f"{lane.id} tolerates {node.name}, which does not meet its required node affinity"


def _rollback(world: World, overflow: Overflow, node: Node | None, lane: Lane) -> Gate:
    named = next((item for item in overflow.rollbacks if is_lane(item.lane, lane.id)), None)
    fix = f"record one for {lane.id} under rollbacks of {overflow.node}"
    if named is None:
        return Gate("rollback", "fail", f"none is named that returns {lane.id} to primary nodes", fix)
    if wrong := list(problems_of(named.patch)):
        return Gate("rollback", "fail", "; ".join(wrong), fix)
    if node is None:
        return _absent(world, "rollback", overflow)
    pod = pod_from(lane)
    patch = patch_for(named, lane.kind, pod, node.taints)
    why = keeps_off(lane.kind, pod, patch, node)
    if not why:
        told = f"the patch for {named.lane} does not keep it off {node.name}"
        return Gate("rollback", "fail", told, fix, world.read_at)
    what = "a patch" if named.patch else "its tolerations are taken off"
    return Gate("rollback", "pass", f"{what}, after which {why}", "", world.read_at)
