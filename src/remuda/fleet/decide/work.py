"""
What one decision has found so far: a scratch table that its phases fill in, one after the other.

Machines are counted by kind wherever that is enough. `free` holds what may still be given away, by tier:
idle, on their way without a need (creating), speculative, and on their way out of another need (draining).
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.columns import Fleet
from remuda.fleet.demand import Demand
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Block, Shortfall
from remuda.fleet.policy import Policy
from remuda.model.plans import Reason
from remuda.model.times import Instant

if TYPE_CHECKING:
    from remuda.fleet.decide.candidates import Candidates
    from remuda.fleet.decide.domains import Layout

Ints = NDArray[np.int64]

#: Tiers of `free`, in the order they are given away. Taking from COMING or DRAINING does nothing yet but wait.
IDLE, COMING, SPECULATIVE, DRAINING = range(4)
TIERS = 4


@dataclass(frozen=True, slots=True)
class Holdings:
    """
    Machines that are credited to a need: configured, configuring, or claimed and on their way.

    `need` is a row of the demand, `fit` the units the machine gives it; sorted by nothing but row.
    """

    rows: Ints
    need: Ints
    fit: Ints


@dataclass(slots=True)
class Picks:
    """
    What is given to whom: `needs` needs, beginning at place `first` of `order`, get `each` machines of one kind each.

    `order` is the list of demand rows in which needs were served.
    """

    first: list[int] = field(default_factory=list)
    needs: list[int] = field(default_factory=list)
    each: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    tier: list[int] = field(default_factory=list)

    def add(self, first: int, needs: int, each: int, kind: int, tier: int) -> None:
        """One more."""
        self.first.append(first)
        self.needs.append(needs)
        self.each.append(each)
        self.kind.append(kind)
        self.tier.append(tier)

    def extend(self, table: Ints) -> None:
        """Many more, from rows of the five numbers."""
        if len(table):
            first, needs, each, kind, tier = table.T.tolist()
            self.first += first
            self.needs += needs
            self.each += each
            self.kind += kind
            self.tier += tier

    def by_kind(self) -> dict[int, list[int]]:
        """Which picks are of each kind."""
        found: dict[int, list[int]] = {}
        for pick, kind in enumerate(self.kind):
            found.setdefault(kind, []).append(pick)
        return found

    def table(self) -> Ints:
        """All of them as rows of the five numbers, without those that were exchanged away."""
        whole = np.array([self.first, self.needs, self.each, self.kind, self.tier], np.int64).T.reshape(-1, 5)
        kept: Ints = whole[whole[:, 2] > 0]
        return kept


@dataclass(slots=True)
class Limits:
    """What may still be bought: by quota and by provider. A kind under no quota has quota −1."""

    #: quota × kind: which kinds each quota counts
    counts: NDArray[np.bool_]
    #: machines left of each quota
    left: Ints
    #: micro-dollars per hour left of each provider; a negative price is impossible, so −1 is no cap
    money: Ints
    #: which quotas and providers kept something from being bought
    quota_bites: NDArray[np.bool_]
    money_bites: NDArray[np.bool_]


@dataclass(slots=True)
class Work:
    """The scratch table. `unmet` counts down as phases serve needs."""

    fleet: Fleet
    demand: Demand
    memory: Memory
    policy: Policy
    now: Instant
    #: profile × kind → units
    fit: Ints
    #: by demand row: units credited from what it holds already
    credit: Ints
    #: by demand row: units still missing
    unmet: Ints
    #: tier × kind → machines
    free: Ints
    #: how many unmet needs could use a kind
    contenders: Ints
    limits: Limits
    held: Holdings
    #: demand rows in the order they are served
    order: Ints
    #: fleet rows that are surplus: held by a cluster, credited to no need
    surplus: Ints
    #: kind → idle machines that wait for the rest of a gang, and must stay
    held_back: Ints
    picks: Picks = field(default_factory=Picks)
    #: fleet rows this plan uses, which nothing else may
    taken: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    blocks: list[Block] = field(default_factory=list)
    shortfalls: list[Shortfall] = field(default_factory=list)
    rails: list[Reason] = field(default_factory=list)
    notes: list[Reason] = field(default_factory=list)
    #: for each special need that holds machines, their places in `held`
    holdings: dict[int, Ints] = field(default_factory=dict)
    #: for special needs, machines by kind that they were given by adoption in this decision
    adopted: dict[int, Ints] = field(default_factory=dict)
    #: True once an exchange moved a need to another machine
    exchanged: bool = False  # pragma: no mutate - without an exchange nobody has too much
    #: gangs that this decision completes with something not idle yet, and (tier, kind, machines) held back for each
    waiting: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    #: for special needs, what is free for those that are alike
    candidates: dict[tuple[int, int, str], "Candidates"] = field(default_factory=dict)
    #: profile → how its units may lie, made when someone asks
    layouts: dict[int, "Layout"] = field(default_factory=dict)
    #: kind → machines that have not failed, counted when someone asks
    standing: Ints | None = None
    #: instants at which something falls due although nothing changes
    due: list[Instant] = field(default_factory=list)
    #: memory to be
    preempted: tuple[tuple[Instant, int], ...] = ()
    reclaimed: dict[int, tuple[tuple[Instant, int], ...]] = field(default_factory=dict)
    broken: dict[int, Instant] = field(default_factory=dict)
    #: demand row → units that machines about to be reclaimed will give it
    awaited: dict[int, int] = field(default_factory=dict)
    #: demand row → victims that the rail on preemptions keeps from it
    withheld: dict[int, int] = field(default_factory=dict)

    def held_by_kind(self, row: int) -> Ints:
        """Machines by kind that a special need holds, those on their way to it included."""
        places = self.holdings.get(row)
        count = len(self.fleet.kinds)
        held = np.zeros(count, np.int64)
        if places is not None:
            held += np.bincount(self.fleet.kind[self.held.rows[places]], minlength=count)
        if row in self.adopted:
            held += self.adopted[row]
        return held
