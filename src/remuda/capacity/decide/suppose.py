"""The world and the policies as they would be after changes; names that nobody has are told with the nearest right ones."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from remuda.capacity.decide.case import some
from remuda.capacity.decide.neighbours import HOSTNAME
from remuda.capacity.decide.what_if import (
    CeilingChanged,
    Change,
    NodeAdded,
    NodeDrained,
    SetAdded,
    SetChanged,
    blame,
)
from remuda.capacity.decide.words import told_all
from remuda.capacity.objects import CapacityPolicySpec, Envelope
from remuda.capacity.policy import measured
from remuda.capacity.snapshot import Lane, Node, Usage, World
from remuda.objects.problems import Place, did_you_mean

Policies = Mapping[str, CapacityPolicySpec]


class Supposed(Struct, frozen=True):
    """What would be, what to know about it, and what is wrong with the changes: then nothing else of it counts."""

    world: World
    policies: Policies
    #: labels of sets and policies that were changed
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def suppose(world: World, policies: Policies, labels: Iterable[str], changes: Iterable[Change]) -> Supposed:
    """Make all changes. `labels` are those a person asked about: where there is one, an added set carries it."""
    making = _Supposing(world, policies, tuple(labels))
    for change in changes:
        try:
            making.make(change)
        except _Wrong as wrong:
            making.problems.append(blame(change.written, str(wrong)))
    making.problems += making.contradictions()
    return making.made()


class _Wrong(Exception):
    pass


class _Supposing:
    def __init__(self, world: World, policies: Policies, labels: tuple[str, ...]) -> None:
        self._world = world
        self._asked = labels
        self._policies = dict(policies)
        self._lanes = list(world.lanes)
        self._nodes = list(world.nodes)
        self._node_at = {node.name: index for index, node in enumerate(world.nodes)}
        self._usage = world.usage
        self._changed: dict[str, str] = {}
        self._labels: dict[str, None] = {}
        self._notes: list[str] = []
        self.problems: list[str] = []

    def make(self, change: Change) -> None:
        match change:
            case SetChanged():
                self._change_set(change)
            case SetAdded():
                self._add_set(change)
            case CeilingChanged():
                self._change_ceiling(change)
            case NodeAdded():
                self._add_node(change)
            case NodeDrained():
                self._drain(change)

    def made(self) -> Supposed:
        world = self._world
        if self._lanes != list(world.lanes) or self._nodes != list(world.nodes):
            world = replace(world, lanes=tuple(self._lanes), nodes=tuple(self._nodes), usage=self._usage)
        return Supposed(world, self._policies, tuple(self._labels), tuple(self._notes), tuple(self.problems))

    def contradictions(self) -> Iterator[str]:
        for lane in self._lanes:
            if lane.id in self._changed and lane.max is not None and lane.min > lane.max:
                words = f"{lane.id} would have a min of {lane.min} above its max of {lane.max}"
                yield blame(self._changed[lane.id], words)

    # sets

    def _change_set(self, change: SetChanged) -> None:
        index = self._find_lane(change.name)
        lane = self._lanes[index]
        fields: dict[str, Any]
        if change.field == "envelope":
            fields = self._carried(change.envelope, lane.labels)
        else:
            fields = {change.field: change.number}
        self._lanes[index] = replace(lane, **fields)
        self._touch(self._lanes[index], change.written)

    def _add_set(self, change: SetAdded) -> None:
        like = self._lanes[self._find_lane(change.like)] if change.like else None
        labels = self._labels_of(change, like)
        namespace = change.namespace or (like.namespace if like else self._namespace(labels))
        made = like or Lane(
            "AutoscalingRunnerSet", namespace, change.name, labels, node_selector=self._selector(labels)
        )
        carried = self._carried(change.envelope, labels) if change.envelope else {}
        made = replace(
            made, namespace=namespace, name=change.name, labels=labels, given=(like.given if like and not change.label else ()) or labels,
            max=change.max, min=change.min, place=Place(), **carried,
        )  # fmt: skip
        if any(lane.id == made.id for lane in self._lanes):
            raise _Wrong(f"there is a set {made.id} already: try it with --set, or give another name")
        self._lanes.append(made)
        self._touch(made, change.written)

    def _labels_of(self, change: SetAdded, like: Lane | None) -> tuple[str, ...]:
        if change.label:
            return (change.label,)
        if like is not None:
            return like.labels
        governed = [policy.label for policy in self._policies.values()]
        known = [label for label in governed if label in self._asked] or self._asked or governed
        if len(set(known)) != 1:
            there = f", one of {some(sorted(set(known)), 10)}" if known else ""
            raise _Wrong(f"which label the set is for is not clear: add label=LABEL{there}")
        return (known[0],)

    def _selector(self, labels: tuple[str, ...]) -> dict[str, str]:
        """What all sets of the labels select by; what primary nodes have where they agree on nothing."""
        beside = [
            set(lane.node_selector.items()) for lane in self._lanes if not set(labels).isdisjoint(lane.labels)
        ]
        if beside and (common := set.intersection(*beside)):
            return dict(sorted(common))
        policy = next((item for item in self._policies.values() if item.label in labels), None)
        return {str(key): str(value) for key, value in policy.nodes.primary.items()} if policy else {}

    def _namespace(self, labels: tuple[str, ...]) -> str:
        beside = {lane.namespace for lane in self._lanes if not set(labels).isdisjoint(lane.labels)}
        return beside.pop() if len(beside) == 1 else "default"

    def _carried(self, name: str, labels: tuple[str, ...]) -> dict[str, Any]:
        """Requests and limits of an envelope of a policy for one of the labels."""
        envelopes: dict[str, Envelope] = {}
        for policy in self._policies.values():
            if policy.label in labels:
                envelopes |= {str(item.name): item for item in policy.envelopes}
        if name in envelopes:
            found = envelopes[name]
            return {
                "requests": measured(found.requests),
                "limits": measured(found.limits),
                "written": ({}, {}),
            }
        if not self._policies:
            raise _Wrong("envelopes are a policy's: give one with --policy")
        if not envelopes:
            raise _Wrong(f"no policy for {some(labels)} has envelopes")
        near = did_you_mean(name, envelopes) or f"; there is: {some(sorted(envelopes), 10)}"
        raise _Wrong(f"there is no envelope {name}{near}")

    def _find_lane(self, name: str) -> int:
        found = [index for index, lane in enumerate(self._lanes) if name in (lane.id, lane.name)]
        if len(found) == 1:
            return found[0]
        if found:
            ids = sorted(self._lanes[index].id for index in found)
            raise _Wrong(f"there are several sets {name}: {some(ids, 5)}; write the namespace, too")
        known = [each for lane in self._lanes for each in (lane.name, lane.id)]
        near = (
            did_you_mean(name, known)
            or f"; there is: {some(sorted(lane.id for lane in self._lanes), 5) or 'none'}"
        )
        raise _Wrong(f"there is no set {name}{near}")

    def _touch(self, lane: Lane, written: str) -> None:
        self._changed[lane.id] = written
        self._labels |= dict.fromkeys(lane.labels)

    # policies

    def _change_ceiling(self, change: CeilingChanged) -> None:
        fitting = [
            name
            for name, policy in self._policies.items()
            if policy.label == change.label
            or (not change.label and (not self._asked or policy.label in self._asked))
        ]
        if not self._policies:
            raise _Wrong("a ceiling is a policy's: give one with --policy")
        labels = sorted(policy.label for policy in self._policies.values())
        if not fitting:
            near = did_you_mean(change.label, labels) or f"; there is one for: {some(labels, 10)}"
            raise _Wrong(f"there is no policy for {change.label or some(self._asked)}{near}")
        if len(fitting) > 1:
            raise _Wrong(
                f"which policy is meant is not clear: write LABEL={change.number} for one of {some(labels, 10)}"
            )
        policy = self._policies[fitting[0]]
        guaranteed = sum(owner.guaranteed for owner in policy.owners)
        if guaranteed > change.number:
            raise _Wrong(f"owners are guaranteed {guaranteed} together: a ceiling cannot be lower")
        self._policies[fitting[0]] = replace(policy, ceiling=change.number)
        self._labels[policy.label] = None

    # nodes

    def _add_node(self, change: NodeAdded) -> None:
        if change.name in self._node_at:
            raise _Wrong(f"there is a node {change.name} already: give another name")
        like = self._nodes[self._find_node(change.like)] if change.like else Node("", {}, (), {"pods": 110})
        labels = like.labels | change.labels
        if HOSTNAME in like.labels and HOSTNAME not in change.labels:
            labels[HOSTNAME] = change.name
        taints = like.taints if change.taints is None else change.taints
        made = replace(
            like, name=change.name, labels=labels, taints=taints, allocatable=like.allocatable | change.allocatable,
            written={}, cordoned=False, ready=True, place=Place(),
        )  # fmt: skip
        self._node_at[change.name] = len(self._nodes)
        self._nodes.append(made)
        self._notes.append(f"{change.name} counts as empty: what DaemonSets would take there is not known")

    def _drain(self, change: NodeDrained) -> None:
        index = self._find_node(change.name)
        used = self._usage.get(change.name, Usage())
        self._nodes[index] = replace(self._nodes[index], cordoned=True)
        self._usage = {name: usage for name, usage in self._usage.items() if name != change.name}
        others = dict(used.requested)
        for taken in used.runner_requests.values():
            for name, value in taken.items():
                others[name] = others.get(name, 0) - value
        pods = others.pop("pods", 0)
        if pods > 0:
            who = "1 other pod" if pods == 1 else f"{pods} other pods"
            what = (
                f"{who} of {change.name}, which {'requests' if pods == 1 else 'request'} {told_all(others)}"
            )
            self._notes.append(
                f"where {what}, would go is not counted: DaemonSets aside, they need room elsewhere"
            )
        if runners := sum(used.runners.values()):
            who, what = ("runner", "its job fails") if runners == 1 else ("runners", "their jobs fail")
            self._notes.append(f"{runners} {who} on {change.name} would be lost by a drain: {what}")

    def _find_node(self, name: str) -> int:
        if name in self._node_at:
            return self._node_at[name]
        near = did_you_mean(name, self._node_at) or f"; there is: {some(sorted(self._node_at), 5) or 'none'}"
        raise _Wrong(f"there is no node {name}{near}")
