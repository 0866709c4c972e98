"""The free machines a need may be given, by kind and tier, the best first."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.decide.costs import costs, wastes
from remuda.fleet.decide.work import COMING, DRAINING, IDLE, SPECULATIVE, Work
from remuda.fleet.profiles import MOST_UNITS

Ints = NDArray[np.int64]
#: Tiers, those to be avoided most first: what must be waited for longest, what must be bought, what is on its way.
WORST_FIRST = (DRAINING, SPECULATIVE, COMING, IDLE)
_NONE = np.zeros(1, np.int64)


@dataclass(frozen=True, slots=True)
class Candidates:
    """
    One entry per kind and tier of which some were free when this was made: free machines only become fewer.

    Sorted by tier, cost per unit, waste, how many other needs could use it, and kind; under a key, by its domains first.
    """

    kind: Ints
    tier: Ints
    fit: Ints
    #: effective cost of one machine
    cost: Ints
    #: its place in `work.free` as one row
    place: Ints
    speculative: NDArray[np.bool_]
    #: number of the domain of each entry; 0 without a key
    domain: Ints
    #: where each domain that occurs begins, and its number
    starts: Ints
    domains: Ints
    #: which of those each entry is in
    group: Ints
    ends: Ints
    #: the tiers that occur, those to be avoided most first
    tiers: tuple[int, ...]
    #: every machine is one unit
    single: bool
    #: machines differ in their domain alone
    even: bool
    #: the table of free machines it was made from
    source: Ints

    def __len__(self) -> int:
        return len(self.kind)

    def of(self, number: int) -> "Candidates":
        """The entries of one domain, the `number`-th that occurs."""
        start, end = int(self.starts[number]), int(self.ends[number])
        here = slice(start, end)
        return replace(
            self, kind=self.kind[here], tier=self.tier[here], fit=self.fit[here], cost=self.cost[here],
            place=self.place[here], speculative=self.speculative[here], domain=self.domain[here],
            starts=_NONE, ends=np.array([end - start], np.int64), domains=self.domains[[number]],
            group=np.zeros(end - start, np.int64),
        )  # fmt: skip


def candidates(work: Work, need_row: int, key: str = "") -> Candidates:
    """What is free for a need; made once in a decision for all needs that are alike."""
    profile = int(work.demand.profile[need_row])
    alike = (profile, int(work.demand.interruption_penalty[need_row]), key)
    found = work.candidates.get(alike)
    if found is None or found.source is not work.free:
        found = work.candidates[alike] = _made(work, need_row, profile, key)
    return found


def _made(work: Work, need_row: int, profile: int, key: str) -> Candidates:
    fits = work.fit[profile]
    tier, kind = np.nonzero(work.free * fits)
    cost = costs(work, kind, work.demand.interruption_penalty[need_row])
    fit = fits[kind]
    domain = work.fleet.kinds.domains(key)[0][kind] if key else np.zeros(len(kind), np.int64)
    order = np.lexsort(
        (
            kind,
            work.contenders[kind],
            wastes(work.fleet.kinds.allocatable[kind], work.demand.profiles.unit[profile], fit),
            cost * MOST_UNITS // fit,
            tier,
            domain,
        )
    )
    kind, tier, fit, cost, domain = kind[order], tier[order], fit[order], cost[order], domain[order]
    domains, starts, group = np.unique(domain, return_index=True, return_inverse=True)
    tiers = tuple(one for one in WORST_FIRST if (tier == one).any())
    single = bool((fit == 1).all())
    return Candidates(
        kind, tier, fit, cost, tier * work.free.shape[1] + kind, tier == SPECULATIVE, domain, starts, domains, group,
        np.append(starts[1:], len(kind)), tiers, single, single and len(tiers) == 1 and len(np.unique(cost)) == 1,
        work.free,
    )  # fmt: skip
