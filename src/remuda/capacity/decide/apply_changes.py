"""The world and the policies as they would be after changes; names that nobody has are reported with the nearest right ones."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

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
from remuda.capacity.objects import CapacityPolicySpec, Envelope
from remuda.capacity.policy import measured
from remuda.capacity.snapshot import RESOURCES, Node, ScaleSet, Snapshot, Usage
from remuda.model.amount_texts import amounts_text
from remuda.model.findings import Place
from remuda.model.sentences import some
from remuda.objects.problems import did_you_mean

Policies = Mapping[str, CapacityPolicySpec]


class AfterChanges(Struct, frozen=True):
    """What would be, what to know about it, and what is wrong with the changes: then nothing else of it counts."""

    snapshot: Snapshot
    policies: Policies
    #: labels of sets and policies that were changed
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def apply_changes(
    snapshot: Snapshot, policies: Policies, labels: Iterable[str], changes: Iterable[Change]
) -> AfterChanges:
    """Make all changes. `labels` are those a person asked about: where there is one, an added set carries it."""
    making = _Applying(snapshot, policies, tuple(labels))
    for change in changes:
        try:
            making.make(change)
        except _Wrong as wrong:
            making.problems.append(blame(change.written, str(wrong)))
    making.problems += making.contradictions()
    return making.made()


class _Wrong(Exception):
    pass


class _Applying:
    def __init__(self, snapshot: Snapshot, policies: Policies, labels: tuple[str, ...]) -> None:
        self._world = snapshot
        self._asked = labels
        self._policies = dict(policies)
        self._scale_sets = list(snapshot.scale_sets)
        self._nodes = list(snapshot.nodes)
        self._node_at = {node.name: index for index, node in enumerate(snapshot.nodes)}
        self._usage = snapshot.usage
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
            case _:
                self._drain(change)

    def made(self) -> AfterChanges:
        snapshot = self._world
        if self._scale_sets != list(snapshot.scale_sets) or self._nodes != list(snapshot.nodes):
            snapshot = replace(
                snapshot, scale_sets=tuple(self._scale_sets), nodes=tuple(self._nodes), usage=self._usage
            )
        return AfterChanges(
            snapshot, self._policies, tuple(self._labels), tuple(self._notes), tuple(self.problems)
        )

    def contradictions(self) -> Iterator[str]:
        for scale_set in self._scale_sets:
            if scale_set.id in self._changed and scale_set.max is not None and scale_set.min > scale_set.max:
                words = f"{scale_set.id} would have a min of {scale_set.min} above its max of {scale_set.max}"
                yield blame(self._changed[scale_set.id], words)

    # sets

    def _change_set(self, change: SetChanged) -> None:
        index = self._find_scale_set(change.name)
        scale_set = self._scale_sets[index]
        fields: dict[str, Any]
        if change.field == "envelope":
            fields = self._carried(change.envelope, scale_set.labels)
        else:
            fields = {change.field: change.number}
        self._scale_sets[index] = replace(scale_set, **fields)
        self._touch(self._scale_sets[index], change.written)

    def _add_set(self, change: SetAdded) -> None:
        like = self._scale_sets[self._find_scale_set(change.like)] if change.like else None
        labels = self._labels_of(change, like)
        namespace = change.namespace or (like.namespace if like else self._namespace(labels))
        made = like or ScaleSet(
            "AutoscalingRunnerSet", namespace, change.name, labels, node_selector=self._selector(labels)
        )
        carried = self._carried(change.envelope, labels) if change.envelope else {}
        made = replace(
            made, namespace=namespace, name=change.name, labels=labels, own_labels=(like.own_labels if like and not change.label else ()) or labels,
            max=change.max, min=change.min, place=Place(), **carried,
        )  # fmt: skip
        if any(scale_set.id == made.id for scale_set in self._scale_sets):
            raise _Wrong(f"there is a set {made.id} already: try it with --set, or give another name")
        self._scale_sets.append(made)
        self._touch(made, change.written)

    def _labels_of(self, change: SetAdded, like: ScaleSet | None) -> tuple[str, ...]:
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
            set(scale_set.node_selector.items())
            for scale_set in self._scale_sets
            if not set(labels).isdisjoint(scale_set.labels)
        ]
        if beside and (common := set.intersection(*beside)):
            return dict(sorted(common))
        policy = next((item for item in self._policies.values() if item.label in labels), None)
        return {str(key): str(value) for key, value in policy.nodes.primary.items()} if policy else {}

    def _namespace(self, labels: tuple[str, ...]) -> str:
        beside = {
            scale_set.namespace
            for scale_set in self._scale_sets
            if not set(labels).isdisjoint(scale_set.labels)
        }
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

    def _find_scale_set(self, name: str) -> int:
        found = [
            index
            for index, scale_set in enumerate(self._scale_sets)
            if name in (scale_set.id, scale_set.name)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            ids = sorted(self._scale_sets[index].id for index in found)
            raise _Wrong(f"there are several sets {name}: {some(ids, 5)}; write the namespace, too")
        known = [each for scale_set in self._scale_sets for each in (scale_set.name, scale_set.id)]
        near = (
            did_you_mean(name, known)
            or f"; there is: {some(sorted(scale_set.id for scale_set in self._scale_sets), 5) or 'none'}"
        )
        raise _Wrong(f"there is no set {name}{near}")

    def _touch(self, scale_set: ScaleSet, written: str) -> None:
        self._changed[scale_set.id] = written
        self._labels |= dict.fromkeys(scale_set.labels)

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
            what = f"{who} of {change.name}, which {'requests' if pods == 1 else 'request'} {amounts_text(others, RESOURCES)}"
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
