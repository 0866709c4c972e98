"""
What a recorded decision of a fleet amounts to, counted: machines by kind, state and cluster, what is missing, what is done.

Nothing here grows with the machines: half a million of them are as many counts as there are kinds, states and clusters that
occur together.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.history.stored import StoredPlan
from remuda.fleet.plan import Op
from remuda.fleet.policy import Policy
from remuda.fleet.standing import Standing
from remuda.model.plans import Reason, Term
from remuda.model.shapes import Shape

Ints = NDArray[np.int64]
#: combinations up to which they are counted in one array
_DENSE = 1 << 22


class Coded(NamedTuple):
    """Distinct values in order, and for each thing the number of its value."""

    names: list[str]
    codes: Ints


@dataclass(frozen=True)
class Missing:
    """Needs that are not met, a column each; `reasons[group[i]]` is the code and the terms of the i-th."""

    needs: Ints
    units: Ints
    since: Ints
    group: Ints
    priority: Ints
    #: units that are asked for; −1 of a need that is a sum
    asked: Ints
    reasons: tuple[tuple[str, dict[str, Term]], ...]


@dataclass(frozen=True)
class Situation:
    """A fleet and what was decided for it, as numbers of a few kinds."""

    shapes: tuple[Shape, ...]
    clusters: list[str]
    needs: list[str]
    need_cluster: list[int]
    #: combinations that occur, and how many machines each has; cluster −1 is none
    kind: Ints
    state: Ints
    cluster: Ints
    count: Ints
    #: needs by cluster, and clusters whose reports were heard, or are not believed yet
    needs_of: Ints
    heard: frozenset[int]
    held: frozenset[int]
    missing: Missing
    #: by sort of action, machines of each kind
    actions: dict[Op, Ints]
    rails: tuple[Reason, ...]
    notes: tuple[Reason, ...]
    withheld: int
    policy: Policy
    is_complete: bool

    @cached_property
    def price(self) -> Ints:
        """What a machine of each kind costs an hour, in micro-dollars."""
        return np.array([shape.price for shape in self.shapes], np.int64)

    @cached_property
    def zones(self) -> Coded:
        """The zones, and that of each kind."""
        return coded([shape.zone for shape in self.shapes])

    @cached_property
    def types(self) -> Coded:
        """The types, and that of each kind."""
        return coded([shape.instance_type for shape in self.shapes])

    @cached_property
    def providers(self) -> Coded:
        """The providers, and that of each kind."""
        return coded([shape.provider for shape in self.shapes])

    @cached_property
    def places(self) -> dict[str, tuple[str, str]]:
        """The regions and the providers of each zone."""
        found: dict[str, tuple[set[str], set[str]]] = {}
        for number in np.unique(self.kind).tolist():
            shape = self.shapes[number]
            regions, providers = found.setdefault(shape.zone, (set(), set()))
            regions.add(shape.region)
            providers.add(shape.provider)
        return {
            zone: (", ".join(sorted(regions - {""})), ", ".join(sorted(providers - {""})))
            for zone, (regions, providers) in found.items()
        }

    @cached_property
    def is_there(self) -> NDArray[np.bool_]:
        """For each combination whether its machines exist, and so cost something; speculative ones do not."""
        there: NDArray[np.bool_] = self.state != states.SPECULATIVE
        return there


def coded(values: list[str]) -> Coded:
    """The numbers of values, in their order."""
    names = sorted(set(values))
    numbers = {name: number for number, name in enumerate(names)}
    return Coded(names, np.array([numbers[value] for value in values], np.int64))


def situation(standing: Standing, plan: StoredPlan, policy: Policy) -> Situation:
    """Count. What is returned stays as it is when the standing goes on."""
    kind, state, cluster, count = _counted(standing)
    asked = standing.asked
    return Situation(
        shapes=tuple(standing.shapes),
        clusters=standing.clusters,
        needs=standing.needs,
        need_cluster=standing.need_cluster,
        kind=kind,
        state=state,
        cluster=cluster,
        count=count,
        needs_of=np.bincount(asked["cluster"], minlength=len(standing.clusters)),
        heard=frozenset(standing.heard),
        held=frozenset(standing.held),
        missing=_missing(standing, plan),
        actions=_actions(standing, plan),
        rails=plan.rails,
        notes=plan.notes,
        withheld=plan.withheld,
        policy=policy,
        is_complete=standing.is_complete,
    )


def _counted(standing: Standing) -> tuple[Ints, Ints, Ints, Ints]:
    """The combinations of kind, state and cluster that occur, without rows that hold no machine."""
    width = len(standing.clusters) + 1
    key = standing.kind.astype(np.int64)
    key *= states.COUNT
    key += standing.state
    key *= width
    key += standing.cluster
    key += 1
    cells = len(standing.shapes) * states.COUNT * width
    if cells <= _DENSE:
        table = np.bincount(key, minlength=cells)
        keys = np.flatnonzero(table)
        counts = table[keys]
    else:
        keys, counts = np.unique(key, return_counts=True)
    kind, rest = np.divmod(keys, states.COUNT * width)
    state, cluster = np.divmod(rest, width)
    there = state != states.ABSENT
    return kind[there], state[there], cluster[there] - 1, counts[there].astype(np.int64)


def _missing(standing: Standing, plan: StoredPlan) -> Missing:
    short = plan.shortfalls
    needs = np.frombuffer(short.needs, np.int32).astype(np.int64)
    asked = standing.asked
    order = np.argsort(asked["code"], kind="stable")
    rows = order[np.searchsorted(asked["code"], needs, sorter=order)] if len(order) else order
    units = asked["count"][rows].astype(np.int64)
    if standing.sums:
        units[np.isin(needs, np.fromiter(standing.sums, np.int64))] = -1
    return Missing(
        needs,
        np.frombuffer(short.units, np.int64),
        np.frombuffer(short.since, np.int64),
        np.frombuffer(short.group, np.int32).astype(np.int64),
        asked["priority"][rows].astype(np.int64),
        units,
        tuple(short.reasons),
    )


def _actions(standing: Standing, plan: StoredPlan) -> dict[Op, Ints]:
    found = {op: np.zeros(len(standing.shapes), np.int64) for op in Op}
    for block in plan.blocks:
        rows = np.frombuffer(block.rows, np.int32)
        found[Op(block.op)] += np.bincount(standing.kind[rows], minlength=len(standing.shapes))
    return found
