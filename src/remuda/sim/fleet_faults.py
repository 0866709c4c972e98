"""What goes wrong in a simulated fleet, by seeded chance, and how often it did."""

import random
from collections import Counter
from enum import StrEnum

from msgspec import Struct

MILLION = 1_000_000


class Fault(StrEnum):
    """Everything that can go wrong. Each has dice of its own, so that one does not move the others."""

    #: an operation ends in failure
    CREATE_FAILS = "create-fails"
    CONFIGURE_FAILS = "configure-fails"
    DRAIN_FAILS = "drain-fails"
    DELETE_FAILS = "delete-fails"
    #: a node takes minutes to join, or is given up
    JOINS_LATE = "joins-late"
    NEVER_JOINS = "never-joins"
    #: the provider takes a machine away
    SPOT_INTERRUPTION = "spot-interruption"
    #: the provider does not list a machine any more
    FORGOTTEN = "forgotten"
    PRICE_CHANGE = "price-change"
    #: a provider answers one call, or everything for a while, with an error
    PROVIDER_ERROR = "provider-error"
    PROVIDER_OUTAGE = "provider-outage"
    #: what a provider was doing when it restarted has failed
    PROVIDER_RESTART = "provider-restart"
    CALL_LOST = "call-lost"
    CALL_LATE = "call-late"
    CALL_DUPLICATED = "call-duplicated"
    REPLY_LOST = "reply-lost"
    REPLY_DUPLICATED = "reply-duplicated"
    LIST_FAILS = "list-fails"
    #: a list arrives late, or after one that was read later
    LIST_STALE = "list-stale"
    LIST_REORDERED = "list-reordered"
    #: a cluster says nothing for minutes, a report is lost, or says that nothing is needed any more
    CLUSTER_SILENT = "cluster-silent"
    REPORT_LOST = "report-lost"
    REPORT_EMPTY = "report-empty"
    #: the shard dies while it carries a plan out, or at rest
    CRASH_IN_PLAN = "crash-in-plan"
    CRASH = "crash"
    #: an operator pulls the kill switch, or changes a quota or cap
    PAUSED = "paused"
    LIMITS_CHANGED = "limits-changed"


class Rates(Struct, frozen=True):
    """Chances in parts per million per occasion, and means in milliseconds between what comes by itself."""

    chances: dict[Fault, int] = {}
    every: dict[Fault, int] = {}


class Faults:
    """The dice of one world. After `stop` nothing goes wrong any more."""

    def __init__(self, seed: int, rates: Rates) -> None:
        self._rates = rates
        self.dice = {fault: random.Random(f"{seed} {fault}") for fault in Fault}
        self.counts: Counter[str] = Counter()
        self.stopped = False

    def strikes(self, fault: Fault) -> bool:
        """Whether it happens now; if so it is counted."""
        chance = self._rates.chances.get(fault, 0)
        if not chance or self.stopped or self.dice[fault].randrange(MILLION) >= chance:
            return False
        self.count(fault)
        return True

    def count(self, fault: Fault, number: int = 1) -> None:
        """It happened."""
        self.counts[fault] += number

    def wait(self, fault: Fault) -> int | None:
        """Milliseconds until it comes by itself the next time; None when it never does."""
        mean = self._rates.every.get(fault)
        return None if mean is None else self.dice[fault].randrange(1, 2 * mean)

    def between(self, fault: Fault, low: int, high: int) -> int:
        """A whole number from its dice, both ends included."""
        return self.dice[fault].randint(low, high)

    def stop(self) -> None:
        """Let everything go well from now on."""
        self.stopped = True
