"""One label as an audit judges it: its scale sets, which of them fit alike, its policy, and what each node is to it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct

from remuda.capacity.decide.fits import Ground, Nodes, Rooms, Shape, bits, closed, shape_of, short
from remuda.capacity.decide.gates import Gate, node_gates, scale_set_gates
from remuda.capacity.objects import BudgetedSet, CapacityPolicySpec, Envelope, Overflow
from remuda.capacity.policy import measured
from remuda.capacity.snapshot import PODS, Amounts, ScaleSet, Snapshot
from remuda.model.times import Instant

UNBOUNDED = "∞"
RoleName: TypeAlias = Literal["primary", "overflow", "eligible", "not-eligible"]
#: how many kinds of scale sets are asked why a node takes none of them
_ASKED = 20


class Role(Struct, frozen=True):
    """What a node is to a label: `admitted` when runners of it may be there now."""

    role: RoleName
    admitted: bool
    reason: str


class Alike(Struct, frozen=True):
    """Scale sets that fit alike: where their runners may be, up or not, and how many fit on each such node that is up."""

    shape: Shape
    scale_sets: tuple[ScaleSet, ...]
    nodes: Nodes
    fits: Mapping[int, int]


class Site(Struct, frozen=True):
    """An overflow node of a policy: its place among the nodes, if it is there, and its own gates by envelope."""

    overflow: Overflow
    index: int | None
    gates: Mapping[str, tuple[Gate, ...]]

    def admits(self, envelope: str) -> bool:
        """Whether all its own gates hold for an envelope; those of a scale set come beside them."""
        checked = self.gates.get(envelope)
        return checked is not None and all(gate.holds for gate in checked)


class LabelContext:
    """What is known and wanted of one label. Without a policy nothing is wanted."""

    def __init__(
        self,
        snapshot: Snapshot,
        ground: Ground,
        rooms: Rooms,
        label: str,
        scale_sets: tuple[ScaleSet, ...],
        policy: tuple[str, CapacityPolicySpec] | None,
        now: Instant,
    ) -> None:
        """`policy` is its name and what it says."""
        self.snapshot, self.ground, self.rooms = snapshot, ground, rooms
        self.label, self.scale_sets, self.now = label, scale_sets, now
        self.policy_name = policy[0] if policy else ""
        self.policy = policy[1] if policy else None
        self._budgets = {item.name: item for item in self.policy.sets} if self.policy else {}
        self._envelopes = {str(item.name): item for item in self.policy.envelopes} if self.policy else {}

    @property
    def policy_object(self) -> str:
        """How findings name the policy."""
        return f"CapacityPolicy {self.policy_name}"

    @cached_property
    def own(self) -> frozenset[str]:
        """The scale sets of the label, by id."""
        return frozenset(scale_set.id for scale_set in self.scale_sets)

    @cached_property
    def running(self) -> dict[str, int] | None:
        """Runners with a node by scale set; None when pods could not be read."""
        if self.snapshot.is_unknown(PODS):
            return None
        return {scale_set: self.rooms.running.get(scale_set, 0) for scale_set in sorted(self.own)}

    @cached_property
    def alike(self) -> tuple[Alike, ...]:
        """Its scale sets by what decides where and how often they fit."""
        shapes: dict[Shape, list[ScaleSet]] = {}
        for scale_set in self.scale_sets:
            shapes.setdefault(shape_of(scale_set), []).append(scale_set)
        made = []
        for shape, scale_sets in shapes.items():
            nodes = self.ground.allowing(shape.placement)
            open_now = self.ground.picked(nodes & self.ground.up)
            made.append(
                Alike(shape, tuple(scale_sets), nodes, self.rooms.fits(shape.requests, open_now, self.own))
            )
        return tuple(made)

    def overcommitted(self, alike: Alike, index: int) -> tuple[str, ...]:
        """
        What the limits of as many runners as fit on a node over-commit beside other pods, by resource.

        The limits of the label's own runners do not count: those that fit take their place.
        """
        number = alike.fits.get(index)
        if not number or not alike.shape.limits:
            return ()
        left = self.rooms.unlimited(index)
        if index in self._own_places:
            here = self.rooms.runner_limits(index)
            own = total((limits, 1) for scale_set, limits in here.items() if scale_set in self.own)
            left = {name: value + own.get(name, 0) for name, value in left.items()}
        return tuple(
            [name for name, limit in alike.shape.limits if name in left and limit * number > left[name]]
        )

    @cached_property
    def _own_places(self) -> set[int]:
        return self.rooms.holding(self.own)

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """The overflow nodes of the policy."""
        if self.policy is None:
            return ()
        return tuple(self._site(self.policy, overflow) for overflow in self.policy.nodes.overflow)

    def _site(self, policy: CapacityPolicySpec, overflow: Overflow) -> Site:
        gates = {
            str(name): node_gates(self.snapshot, policy, overflow, self._envelopes[name], self.now)
            for name in overflow.envelopes
            if name in self._envelopes
        }
        return Site(overflow, self.ground.index.get(overflow.node), gates)

    @cached_property
    def overflow(self) -> Nodes:
        """Nodes that the policy lists as overflow."""
        return bits(site.index for site in self.sites if site.index is not None)

    @cached_property
    def primary(self) -> Nodes:
        """Nodes that the policy takes as primary: a listed overflow node is none, whatever its labels."""
        if self.policy is None:
            return 0
        return self.ground.having(self.policy.nodes.primary.items()) & ~self.overflow

    def reachable_nodes(self, scale_set: ScaleSet) -> Nodes:
        """Nodes whose labels and taints let a scale set in."""
        return self.ground.allowing(shape_of(scale_set).placement)

    def budget(self, scale_set: ScaleSet) -> BudgetedSet | None:
        """What the policy gives a scale set; None for a newcomer."""
        return self._budgets.get(scale_set.id) or self._budgets.get(scale_set.name)

    def envelope(self, scale_set: ScaleSet) -> Envelope | None:
        """The envelope a scale set was given, else the one its runners carry."""
        budget = self.budget(scale_set)
        if budget is not None and budget.envelope is not UNSET:
            return self._envelopes.get(budget.envelope)
        for item in self._envelopes.values():
            if (measured(item.requests), measured(item.limits)) == scale_set.carried:
                return item
        return None

    def admitted(self, scale_set: ScaleSet, nodes: Nodes) -> Nodes:
        """Of the nodes that let a scale set in those that are up and that the policy admits for it; all that are up without one."""
        if self.policy is None:
            return nodes & self.ground.up
        found = nodes & self.primary
        carried = self.envelope(scale_set) if nodes & self.overflow else None
        for site in self.sites if carried else ():
            if site.index is None or carried is None or not nodes >> site.index & 1:
                continue
            if site.admits(carried.name) and self._is_ready_for(site, scale_set):
                found |= bits([site.index])
        return found & self.ground.up

    def _is_ready_for(self, site: Site, scale_set: ScaleSet) -> bool:
        return all(gate.holds for gate in self.gates_of(site, scale_set))

    def gates_of(self, site: Site, scale_set: ScaleSet) -> tuple[Gate, ...]:
        """The gates of a scale set that may be on an overflow node."""
        return (
            scale_set_gates(self.snapshot, self.policy, site.overflow, scale_set, self.now)
            if self.policy
            else ()
        )

    @cached_property
    def places(self) -> tuple[tuple[Alike, tuple[ScaleSet, ...], Nodes], ...]:
        """Scale sets that fit alike and may be on the same admitted nodes, with these."""
        made = []
        for alike in self.alike:
            nodes: dict[Nodes, list[ScaleSet]] = {}
            for scale_set in alike.scale_sets:
                nodes.setdefault(self.admitted(scale_set, alike.nodes), []).append(scale_set)
            made += [(alike, tuple(scale_sets), found) for found, scale_sets in nodes.items()]
        return tuple(made)

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """What each node is to the label, in the order of nodes."""
        return tuple(self._roles())

    @cached_property
    def usable(self) -> Nodes:
        """Admitted nodes that are large enough for a runner of some scale set; all admitted ones while there is no scale set."""
        if not self.scale_sets:
            return self.primary & self.ground.up
        found = 0
        for alike, _, nodes in self.places:
            if not nodes & ~found:
                continue
            taking = bits(index for index, number in alike.fits.items() if number)
            found |= nodes & taking
            size = alike.shape.size
            full = self.ground.picked(nodes & ~taking & ~found)
            found |= bits(index for index in full if not any(short(size, self.ground.nodes[index])))
        return found

    def _roles(self) -> Iterator[Role]:
        sites = {site.index: site for site in self.sites if site.index is not None}
        usable, primary = set(self.ground.picked(self.usable)), set(self.ground.picked(self.primary))
        required = (
            ", ".join(f"{key}={value}" for key, value in self.policy.nodes.primary.items())
            if self.policy
            else ""
        )
        is_primary = Role("primary", True, f"has {required}" if required else "the policy takes every node")
        is_eligible = Role("eligible", True, "sets of the label can run here")
        for index in range(len(self.ground.nodes)):
            if index in sites:
                yield self._overflow_role(sites[index], index, is_usable=index in usable)
            elif self.policy is None:
                yield is_eligible if index in usable else self._closed("not-eligible", index)
            elif index not in primary:
                yield self._other_role(index)
            else:
                yield is_primary if index in usable else self._closed("primary", index)

    def _overflow_role(self, site: Site, index: int, *, is_usable: bool) -> Role:
        admitted = site.overflow.admitted
        if is_usable:
            return Role(
                "overflow", True, f"admitted by {admitted.who} on {admitted.when}, and its gates hold"
            )
        failed: dict[tuple[str, str], dict[str, None]] = {}
        for gates in site.gates.values():
            for gate in gates:
                if not gate.holds:
                    failed.setdefault((gate.state, gate.evidence), {})[gate.gate] = None
        if failed:
            return Role(
                "overflow",
                False,
                "; ".join(_failed_text(*key, tuple(names)) for key, names in failed.items()),
            )
        return Role("overflow", False, self._obstacles_text(index))

    def _other_role(self, index: int) -> Role:
        """A node that is neither primary nor overflow, by the labels that it lacks; equal nodes share it."""
        labels, required = self.ground.nodes[index].labels, self.policy.nodes.primary if self.policy else {}
        lacking = ", ".join(f"{key}={value}" for key, value in required.items() if labels.get(key) != value)
        made = self._other_roles.get(lacking)
        if made is None:
            reason = f"has not {lacking}, and is no overflow node of the policy"
            made = self._other_roles[lacking] = Role("not-eligible", False, reason)
        return made

    @cached_property
    def _other_roles(self) -> dict[str, Role]:
        return {}

    def _closed(self, role: RoleName, index: int) -> Role:
        """A node that takes none of the scale sets, and why; equal nodes share it."""
        key = (role, self.signatures[index])
        made = self._closed_roles.get(key)
        if made is None:
            made = self._closed_roles[key] = Role(role, False, self._obstacles_text(index))
        return made

    @cached_property
    def _closed_roles(self) -> dict[tuple[RoleName, int], Role]:
        return {}

    @cached_property
    def signatures(self) -> Sequence[int]:
        """Nodes by what the reasons depend on, so that these are put into words once for equal nodes."""
        placements = {alike.shape.placement for alike in self.alike}
        keys = {key for placement in placements for key, _ in placement.selector}
        terms = [term for placement in placements for term in placement.required]
        keys |= {match.key for term in terms for match in term.match_expressions}
        return self.ground.signatures(tuple(sorted(keys)), by_name=any(term.match_fields for term in terms))

    def _obstacles_text(self, index: int) -> str:
        """What keeps scale sets off a node, that which keeps most of them off first."""
        node = self.ground.nodes[index]
        counts: dict[str, int] = {}
        for alike in self.alike[:_ASKED]:
            for obstacle in (*closed(alike.scale_sets[0], node), *short(alike.shape.size, node)):
                counts[obstacle] = counts.get(obstacle, 0) + len(alike.scale_sets)
        if not counts:
            return "no set of the label is admitted here"
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]
        asked = sum(len(alike.scale_sets) for alike in self.alike[:_ASKED])
        return "; ".join(
            obstacle if count == asked else f"{obstacle} ({count} of {asked} sets)"
            for obstacle, count in ranked
        )

    def forbidden(self, label: str) -> str | None:
        """The pattern that forbids a label."""
        patterns = self.policy.forbidden_labels if self.policy else ()
        return next((pattern for pattern in patterns if re.search(pattern, label)), None)


def _failed_text(state: str, evidence: str, names: tuple[str, ...]) -> str:
    """Gates that do not hold for one reason."""
    who = f"gate {names[0]}" if len(names) == 1 else f"gates {' and '.join(names)}"
    is_one = len(names) == 1
    if state == "fail":
        return f"{who} {'does' if is_one else 'do'} not hold: {evidence}"
    return f"{who} {'is' if is_one else 'are'} not known to hold: {evidence}"


def total(amounts: Iterable[tuple[Amounts, int]]) -> Amounts:
    """Amounts times numbers, added up."""
    made: Amounts = {}
    for each, number in amounts:
        for name, value in each.items():
            made[name] = made.get(name, 0) + value * number
    return made


def count(number: int | None) -> str:
    """A number of runners, where none means that there is no bound."""
    return UNBOUNDED if number is None else str(number)
