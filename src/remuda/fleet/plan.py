"""
What a fleet's decision returns: columns of actions, each with its reason, and what could not be done.

Half a million actions are a few arrays, so reasons are kept as columns of terms and made into `Reason` only for whom
someone asks about.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.model.plans import Action, Reason, Term

Ints = NDArray[np.int64]


class Op(IntEnum):
    """What is done to a machine. `EXPECTS` says in which state it must still be found."""

    #: note another need of the same cluster on it; the machine itself is not touched
    ADOPT = 1
    #: give an idle machine to a need
    ASSIGN = 2
    #: make a speculative machine, meant for a need
    CREATE = 3
    #: take a machine from a need of lower priority, meant for another
    PREEMPT = 4
    #: take back a machine that no need claims
    RECLAIM = 5
    #: give back an idle machine that nobody needs
    RELEASE = 6


EXPECTS: dict[Op, int] = {
    Op.ADOPT: states.CONFIGURED,
    Op.ASSIGN: states.IDLE,
    Op.CREATE: states.SPECULATIVE,
    Op.PREEMPT: states.CONFIGURED,
    Op.RECLAIM: states.CONFIGURED,
    Op.RELEASE: states.IDLE,
}


@dataclass(frozen=True, slots=True)
class Block:
    """Actions of one sort for one code of reason. `terms` are columns; `group[i]` is the place of action i in them."""

    op: Op
    code: str
    rows: Ints
    #: number of the need it is for; −1 for none
    needs: NDArray[np.int32]
    group: NDArray[np.int32]
    terms: dict[str, Ints]
    #: milliseconds to end what it does; 0 where nothing is drained
    grace: Ints

    def __len__(self) -> int:
        return len(self.rows)

    def terms_at(self, index: int) -> dict[str, Term]:
        """The numbers behind one action."""
        place = int(self.group[index])
        return {name: int(column[place]) for name, column in self.terms.items()}


class Shortfall(Struct, frozen=True, gc=False):
    """A need that is not met: how much is missing, since when, and why."""

    #: number of the need
    need: int
    #: units, or parts per million of the sum for a need expressed as one
    units: int
    since: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything one decision says."""

    blocks: tuple[Block, ...] = ()
    shortfalls: tuple[Shortfall, ...] = ()
    #: rails that held something back
    rails: tuple[Reason, ...] = ()
    #: what is worth knowing and asks for nothing, such as a need that may be fragmented
    notes: tuple[Reason, ...] = ()
    #: actions the kill switch kept from being done
    withheld: int = 0
    #: units asked for and missing, over all needs
    asked: int = 0
    missing: int = field(default=0)

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def count(self, op: Op) -> int:
        """Actions of one sort."""
        return sum(len(block) for block in self.blocks if block.op is op)

    def rows(self, op: Op) -> Ints:
        """The machines of one sort of action, in order."""
        found = [block.rows for block in self.blocks if block.op is op]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def actions(self, fleet: Fleet) -> Iterator["FleetAction"]:
        """The actions one by one, in order."""
        for block in self.blocks:
            expects = states.STATES[EXPECTS[block.op]]
            for index, row in enumerate(block.rows.tolist()):
                need = int(block.needs[index])
                yield FleetAction(
                    target=fleet.ids[row],
                    expects=str(expects),
                    reason=Reason(block.code, f"machine/{fleet.ids[row]}", block.terms_at(index)),
                    op=block.op.name.lower(),
                    cluster=fleet.names.clusters[fleet.names.need_cluster[need]] if need >= 0 else "",
                    need=fleet.names.needs[need] if need >= 0 else "",
                    grace=int(block.grace[index]),
                )

    def digest(self) -> str:
        """A SHA-256 that is equal for equal plans."""
        sums = hashlib.sha256()
        for block in self.blocks:
            sums.update(f"{block.op} {block.code} {len(block)} {' '.join(block.terms)}\n".encode())
            for column in (block.rows, block.needs, block.group, block.grace, *block.terms.values()):
                sums.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
        sums.update(repr((self.shortfalls, self.rails, self.notes, self.withheld)).encode())
        return sums.hexdigest()


class FleetAction(Action, frozen=True, kw_only=True):
    """One action of a fleet's plan as others read it."""

    op: str
    cluster: str = ""
    need: str = ""
    grace: int = 0
