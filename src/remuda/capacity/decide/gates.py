"""
The gates of an overflow node: what must hold before it takes a runner, each with its evidence, age and expiry.

What is not known does not pass. The node's gates are those of an envelope; a scale set has its own beside them; and whether
one more runner has room there is asked last, since a node that is full has not lost its admission.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from remuda.capacity.decide.fits import MOST_PODS, folded
from remuda.capacity.decide.neighbours import HOSTNAME, WHOLE_NODE, is_claim
from remuda.capacity.decide.rollback import is_scale_set, keeps_off, patch_for, pod_from, problems_of
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
    Node,
    ScaleSet,
    Snapshot,
    Usage,
    summary_of,
)
from remuda.model.amount_texts import amount_text, bytes_text
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


def node_gates(
    snapshot: Snapshot, policy: CapacityPolicySpec, overflow: Overflow, envelope: Envelope, now: Instant
) -> tuple[Gate, ...]:
    """What must hold of the node for an envelope, whichever scale set carries it and whatever runs there now."""
    node = _node(snapshot, overflow)
    return (
        _admission(overflow, now),
        _dated(_capability(snapshot, policy, overflow, node), snapshot, policy, now),
        _dated(_budget(snapshot, overflow, envelope, node), snapshot, policy, now),
        _filesystem(snapshot, policy, overflow, envelope, node, "root", now),
        _filesystem(snapshot, policy, overflow, envelope, node, "images", now),
        _dated(_prewarm(snapshot, policy, overflow, node, now), snapshot, policy, now),
    )


def scale_set_gates(
    snapshot: Snapshot, policy: CapacityPolicySpec, overflow: Overflow, scale_set: ScaleSet, now: Instant
) -> tuple[Gate, ...]:
    """What must hold of a scale set that may be on the node."""
    node = _node(snapshot, overflow)
    return (
        _dated(_toleration(snapshot, overflow, node, scale_set), snapshot, policy, now),
        _dated(_rollback(snapshot, overflow, node, scale_set), snapshot, policy, now),
    )


def _dated(gate: Gate, snapshot: Snapshot, policy: CapacityPolicySpec, now: Instant) -> Gate:
    """What was read counts no longer than a recorded audit does."""
    if gate.expires is not None or gate.read_at is None or gate.read_at != snapshot.read_at:
        return gate
    expires = snapshot.read_at + _max_age(policy)
    if gate.holds and expires <= now:
        return Gate(
            gate.gate, "unknown", f"{gate.evidence}, which is too old", "read it again", gate.read_at, expires
        )
    return replace(gate, expires=expires)


def carriers(
    snapshot: Snapshot, policy: CapacityPolicySpec, overflow: Overflow, envelope: Envelope
) -> tuple[ScaleSet, ...]:
    """The scale sets of the label that carry an envelope: those that can be on the node, or all when none can."""
    envelope_names = {item.name: item.envelope for item in policy.sets}
    found = []
    for scale_set in scale_sets_of(snapshot, policy):
        named = envelope_names.get(scale_set.id, envelope_names.get(scale_set.name, UNSET))
        is_sized = scale_set.carried == (measured(envelope.requests), measured(envelope.limits))
        if named == envelope.name or (named is UNSET and is_sized):
            found.append(scale_set)
    node = _node(snapshot, overflow)
    taints = node.taints if node is not None else ()
    can = tuple(scale_set for scale_set in found if not any(untolerated(taints, scale_set.tolerations)))
    return can or tuple(found)


def scale_sets_of(snapshot: Snapshot, policy: CapacityPolicySpec) -> Iterator[ScaleSet]:
    """The scale sets that carry the policy's label."""
    label = folded(policy.label)
    return (scale_set for scale_set in snapshot.scale_sets if label in map(folded, scale_set.labels))


def _node(snapshot: Snapshot, overflow: Overflow) -> Node | None:
    # nodes are sorted where they were read, and there may be thousands of them and of scale sets
    at = bisect_left(snapshot.nodes, overflow.node, key=lambda item: item.name)
    if at < len(snapshot.nodes) and snapshot.nodes[at].name == overflow.node:
        return snapshot.nodes[at]
    return next((item for item in snapshot.nodes if item.name == overflow.node), None)


def _absent(snapshot: Snapshot, gate: GateName, overflow: Overflow) -> Gate:
    for item in snapshot.unknown:
        if item.part == NODES:
            return Gate(gate, "unknown", f"nodes could not be read: {item.why}")
    return Gate(gate, "fail", f"there is no node {overflow.node}", f"take {overflow.node} out of the policy")


def _admission(overflow: Overflow, now: Instant) -> Gate:
    decision = overflow.admitted
    message = f"{decision.who} on {decision.when}: {decision.why}"
    when, until = read_day(decision.when), _end(decision)
    if when is not None and when > now:
        return Gate(
            "admission", "fail", f"{message}; that day is still to come", "correct admitted.when", when, until
        )
    if until is not None and until <= now:
        return Gate("admission", "fail", f"{message}; ended {decision.until}", _AGAIN, when, until)
    return Gate("admission", "pass", message, "", when, until)


_AGAIN = "decide again, and write down who, why, when and until when"


def _end(decision: Decision) -> Instant | None:
    return None if isinstance(decision.until, UnsetType) else read_end(decision.until)


def _capability(
    snapshot: Snapshot, policy: CapacityPolicySpec, overflow: Overflow, node: Node | None
) -> Gate:
    if node is None:
        return _absent(snapshot, "capability", overflow)
    asked = _capability_of(snapshot, policy)
    lacking = [f"{key}={value}" for key, value in sorted(asked.items()) if node.labels.get(key) != value]
    if lacking:
        message = f"{node.name} has no label {', '.join(lacking)}"
        fix = f"kubectl label node {node.name} {' '.join(lacking)}, if it can do that"
        return Gate("capability", "fail", message, fix, snapshot.read_at)
    has = ", ".join(f"{key}={value}" for key, value in sorted(asked.items()))
    return Gate("capability", "pass", f"{node.name} has {has}, as primary nodes have", "", snapshot.read_at)


def _capability_of(snapshot: Snapshot, policy: CapacityPolicySpec) -> dict[str, str]:
    """
    Of what primary nodes have in common that which all scale sets select by, or else some; a node's name is no capability.

    Scale sets that select by none of it say nothing about what the capability is.
    """
    primary = {str(key): str(value) for key, value in policy.nodes.primary.items() if key != HOSTNAME}
    selecting = [
        primary.keys() & scale_set.node_selector.keys() for scale_set in scale_sets_of(snapshot, policy)
    ]
    selecting = [keys for keys in selecting if keys]
    if not selecting:
        return primary
    keys = set.intersection(*map(set, selecting)) or set.union(*map(set, selecting))
    return {key: value for key, value in primary.items() if key in keys}


def _budget(snapshot: Snapshot, overflow: Overflow, envelope: Envelope, node: Node | None) -> Gate:
    if envelope.name not in overflow.envelopes:
        admits = ", ".join(overflow.envelopes) or "none"
        message = f"the policy admits no {envelope.name} on {overflow.node}, only: {admits}"
        return Gate("budget", "fail", message, "choose an admitted envelope, or have this one admitted")
    if overflow.most_runners == 0:
        return Gate(
            "budget", "fail", "mostRunners is 0", "raise mostRunners, or take the node out of the policy"
        )
    if node is None:
        return _absent(snapshot, "budget", overflow)
    requests, limits = measured(envelope.requests), measured(envelope.limits)
    over = [
        *_above("requests", requests, "requested", measured(overflow.requested)),
        *_above("is limited to", limits, "limited", measured(overflow.limited)),
    ]
    if EPHEMERAL not in requests:
        over.append(f"requests no {EPHEMERAL}")
    for name, value in requests.items():
        if value > node.allocatable.get(name, 0):
            has = amount_text(name, node.allocatable.get(name, 0))
            over.append(f"requests {amount_text(name, value)}, and {node.name} has {has} in all")
    if over:
        fix = "make the envelope smaller, or raise the guardrails of the node if it can bear that"
        return Gate("budget", "fail", f"{envelope.name} {'; '.join(over)}", fix, snapshot.read_at)
    message = ", ".join(amount_text(name, value) for name, value in requests.items())
    return Gate(
        "budget", "pass", f"{envelope.name} requests {message}: within the guardrails", "", snapshot.read_at
    )


def _above(verb: str, asked: Amounts, field: str, guardrail: Amounts) -> Iterator[str]:
    for name, most in guardrail.items():
        if name not in asked:
            yield f"gives no {name}, of which {field} allows {amount_text(name, most)}"
        elif asked[name] > most:
            yield f"{verb} {amount_text(name, asked[name])}, and {field} allows {amount_text(name, most)}"


def room_gate(
    snapshot: Snapshot, policy: CapacityPolicySpec, overflow: Overflow, envelope: Envelope, now: Instant,
    scale_sets: Iterable[ScaleSet] = (),
) -> Gate:  # fmt: skip
    """
    Whether one more runner fits beside what runs there now: within the guardrails, the number and the node.

    `scale sets` are those it may be of: what a runner of any of them takes beside the envelope counts.
    """
    found = tuple(scale_sets)
    gate = _dated(_room(snapshot, policy, overflow, envelope, found), snapshot, policy, now)
    unsure = [words for scale_set in found for words in scale_set.unsure]
    if gate.holds and unsure:
        return replace(gate, state="unknown", evidence=f"resources fit, but {unsure[0]}", fix=_UNSURE)
    return gate


_UNSURE = "try it with one runner: more than resources decides whether it fits"


def _room(
    snapshot: Snapshot,
    policy: CapacityPolicySpec,
    overflow: Overflow,
    envelope: Envelope,
    scale_sets: tuple[ScaleSet, ...],
) -> Gate:
    node = _node(snapshot, overflow)
    if node is None:
        return _absent(snapshot, "room", overflow)
    for item in snapshot.unknown:
        if item.part == PODS:
            return Gate("room", "unknown", f"what runs on {node.name} could not be read: {item.why}")
    usage = snapshot.usage.get(node.name, Usage())
    own = {scale_set.id for scale_set in scale_sets_of(snapshot, policy)}
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
    for scale_set in scale_sets:
        beside |= {
            name: max(value, beside.get(name, 0))
            for name, value in (scale_set.overhead | scale_set.claims).items()
        }
    _add(asked, beside)
    for name, value in asked.items():
        left = whole.get(name, WHOLE_NODE if is_claim(name) else 0) - usage.requested.get(name, 0)
        if value > left and is_claim(name):
            over.append(f"no {name} left")
        elif value > left:
            over.append(f"{amount_text(name, max(0, left))} left of {amount_text(name, whole.get(name, 0))}")
    if node.cordoned or not node.ready:
        over.append("it is cordoned" if node.cordoned else "it is not ready")
    over += [f"it has the taint {taint}" for taint in pressing(node.taints)]
    if over:
        return Gate("room", "fail", f"{node.name} takes no more: {'; '.join(over)}", "wait", snapshot.read_at)
    message = f"{sum(there.values())} of at most {overflow.most_runners} there now"
    return Gate("room", "pass", message, "", snapshot.read_at)


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _filesystem(
    snapshot: Snapshot, policy: CapacityPolicySpec, overflow: Overflow, envelope: Envelope, node: Node | None,
    which: Literal["root", "images"], now: Instant,
) -> Gate:  # fmt: skip
    """
    Whether a filesystem stays clear of eviction once the envelope has written all it requests.

    Where images have a filesystem of their own, what containers write is there, too: the request counts on both.
    """
    gate: GateName = "root-filesystem" if which == "root" else "image-filesystem"
    least = ROOT_LEAST if which == "root" else IMAGES_LEAST
    if node is None:
        return _absent(snapshot, gate, overflow)
    if any(taint.key == _PRESSURE for taint in node.taints):
        return Gate(gate, "fail", f"{node.name} is under disk pressure", "free space there", snapshot.read_at)
    summary = snapshot.summaries.get(node.name)
    if summary is None:
        return Gate(gate, "unknown", _no_summary(snapshot, node.name), _SUMMARY.format(node=node.name))
    seen = summary.root if which == "root" else summary.images
    expires = summary.read_at + _max_age(policy)
    if expires <= now:
        return Gate(gate, "unknown", "what the kubelet said is too old", _LATER, summary.read_at, expires)
    if not seen.capacity:
        message = f"the kubelet of {node.name} says nothing of this filesystem"
        return Gate(gate, "unknown", message, _LATER, summary.read_at, expires)
    asked = measured(envelope.requests).get(EPHEMERAL)
    if asked is None:
        message = f"{envelope.name} requests no {EPHEMERAL}, so what it may write is not bounded"
        return Gate(
            gate, "fail", message, f"give the envelope a request for {EPHEMERAL}", summary.read_at, expires
        )
    over = list(_lacks(seen, asked, least))
    if over:
        fix = f"free space on {node.name}, or choose a smaller envelope"
        return Gate(gate, "fail", "; ".join(over), fix, summary.read_at, expires)
    left = (seen.available - asked) * 100 // seen.capacity
    message = f"{bytes_text(seen.available)} free of {bytes_text(seen.capacity)}: {left} % left beside the envelope, {least} % are the least"
    return Gate(gate, "pass", message, "", summary.read_at, expires)


_SUMMARY = (
    "grant get on nodes/proxy (`remuda rbac capacity --optional`), or record what"
    " `kubectl get --raw /api/v1/nodes/{node}/proxy/stats/summary` prints and give it with --summary"
)
_LATER = "read the kubelet's summary again"


def _no_summary(snapshot: Snapshot, node: str) -> str:
    for item in snapshot.unknown:
        if item.part in {SUMMARIES, summary_of(node)}:
            return f"the kubelet's summary of {node} could not be read: {item.why}"
    return f"there is no summary of the kubelet of {node}"


def _lacks(seen: Filesystem, asked: int, least: int) -> Iterator[str]:
    left = seen.available - asked
    if left * 100 < seen.capacity * least:
        beside = (
            f"{bytes_text(left)} of {bytes_text(seen.capacity)} would be left"
            if left > 0
            else "nothing would be left"
        )
        message = f"{bytes_text(seen.available)} free, and the envelope may write {bytes_text(asked)}"
        yield f"{message}: {beside}, and below {least} % pods are evicted"
    # a filesystem that has no fixed number of inodes gives none
    if seen.inodes and seen.inodes_free * 100 < seen.inodes * INODES_LEAST:
        yield f"{seen.inodes_free:,} of {seen.inodes:,} inodes free, and below {INODES_LEAST} % pods are evicted"


def _max_age(policy: CapacityPolicySpec) -> int:
    return MAX_AGE if isinstance(policy.evidence, UnsetType) else policy.evidence.max_age


def _prewarm(
    snapshot: Snapshot, policy: CapacityPolicySpec, overflow: Overflow, node: Node | None, now: Instant
) -> Gate:
    image, record = overflow.prewarm.image, overflow.prewarm.record
    evidence = []
    if not isinstance(image, UnsetType):
        if node is not None and image in node.images:
            return Gate("prewarm", "pass", f"{node.name} has {image}", "", snapshot.read_at)
        listed = node is not None and bool(node.images)
        evidence.append(f"{image} is not among the images of {overflow.node}" if listed else _NO_IMAGES)
    state: State = "unknown" if evidence == [_NO_IMAGES] else "fail"
    if isinstance(record, UnsetType):
        if not evidence:
            return Gate("prewarm", "fail", "the policy names neither an image nor a record", _PREWARM)
        return Gate("prewarm", state, evidence[0], _PREWARM, snapshot.read_at)
    when = read_day(record.when)
    until = _end(record)
    expires = until if until is not None else None if when is None else when + _max_age(policy)
    evidence.append(f"{record.who} on {record.when}: {record.why}")
    if when is None or when > now or expires is None or expires <= now:
        evidence.append("that day is still to come" if when is not None and when > now else "that is too old")
        return Gate("prewarm", "fail", "; ".join(evidence), _PREWARM, when, expires)
    return Gate("prewarm", "pass", "; ".join(evidence), "", when, expires)


_NO_IMAGES = "the node lists no images"
_PREWARM = "put the image or closure on the node, and name it in prewarm.image, or who did so and when in prewarm.record"


def _toleration(snapshot: Snapshot, overflow: Overflow, node: Node | None, scale_set: ScaleSet) -> Gate:
    if node is None:
        return _absent(snapshot, "toleration", overflow)
    if snapshot.is_unknown(SCALE_SETS) and scale_set not in snapshot.scale_sets:
        return Gate("toleration", "unknown", "scale sets could not be read")
    taints = [taint for taint in node.taints if taint.effect in {"NoSchedule", "NoExecute"}]
    taints = [taint for taint in taints if not taint.key.startswith("node.kubernetes.io/")]
    if not taints:
        evidence = (
            f"{node.name} has no taint: nothing keeps others off it, and nothing is tolerated explicitly"
        )
        return Gate(
            "toleration",
            "fail",
            evidence,
            f"kubectl taint node {node.name} overflow=true:NoSchedule",
            snapshot.read_at,
        )
    explicit = tuple(item for item in scale_set.tolerations if item.key)
    lacking = list(untolerated(taints, explicit))
    if lacking:
        evidence = f"{scale_set.id} does not tolerate {', '.join(map(str, lacking))}"
        if not any(untolerated(taints, scale_set.tolerations)):
            evidence = (
                f"{scale_set.id} tolerates everything, and not {', '.join(map(str, lacking))} by its key"
            )
        return Gate(
            "toleration",
            "fail",
            evidence,
            f"give {scale_set.id} a toleration for each of them",
            snapshot.read_at,
        )
    blocked = next((evidence for evidence in _kept_off(scale_set, node)), "")
    if blocked:
        fix = f"let {scale_set.id} select by what primary and overflow nodes share, and prefer primary ones"
        return Gate("toleration", "fail", blocked, fix, snapshot.read_at)
    return Gate(
        "toleration", "pass", f"{scale_set.id} tolerates {', '.join(map(str, taints))}", "", snapshot.read_at
    )


def _kept_off(scale_set: ScaleSet, node: Node) -> Iterator[str]:
    for key, value in sorted(scale_set.node_selector.items()):
        if node.labels.get(key) != value:
            yield f"{scale_set.id} tolerates {node.name} and selects {key}={value}, which it has not"
    if scale_set.required and not any(holds(term, node.name, node.labels) for term in scale_set.required):
        yield f"{scale_set.id} tolerates {node.name}, which does not meet its required node affinity"


def _rollback(snapshot: Snapshot, overflow: Overflow, node: Node | None, scale_set: ScaleSet) -> Gate:
    named = next((item for item in overflow.rollbacks if is_scale_set(item.lane, scale_set.id)), None)
    fix = f"record one for {scale_set.id} under rollbacks of {overflow.node}"
    if named is None:
        return Gate("rollback", "fail", f"none is named that returns {scale_set.id} to primary nodes", fix)
    if wrong := list(problems_of(named.patch)):
        return Gate("rollback", "fail", "; ".join(wrong), fix)
    if node is None:
        return _absent(snapshot, "rollback", overflow)
    pod = pod_from(scale_set)
    patch = patch_for(named, scale_set.kind, pod, node.taints)
    why = keeps_off(scale_set.kind, pod, patch, node)
    if not why:
        message = f"the patch for {named.lane} does not keep it off {node.name}"
        return Gate("rollback", "fail", message, fix, snapshot.read_at)
    what = "a patch" if named.patch else "its tolerations are taken off"
    return Gate("rollback", "pass", f"{what}, after which {why}", "", snapshot.read_at)
