"""The metrics of tiers: how many namespaces of each policy are as it says. Never labelled by namespace."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge

from remuda.model.plans import Reason
from remuda.output.words import number
from remuda.tiers.decide.model import TierAction

_STATES = ("settled", "changing", "blocked")


class TierMeters:
    """Gauges per policy; policies that are gone, or that another replica cares for, lose theirs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._namespaces = Gauge(
            "remuda_tier_namespaces",
            "Namespaces of a TierPolicy: settled, changing, or blocked until somebody does something.",
            ["policy", "state"],
            registry=registry,
        )
        self._unread = Gauge(
            "remuda_tier_unread", "1 while objects of a kind cannot be read.", ["kind"], registry=registry
        )
        self._actions = Counter(
            "remuda_tier_actions", "Changes planned, by kind.", ["action"], registry=registry
        )
        self._known: set[str] = set()

    def report(self, reasons: Iterable[Reason], actions: Iterable[TierAction]) -> None:
        """Set the gauges from the reasons of a cycle."""
        found = dict[str, Reason]()
        self._unread.clear()
        for reason in reasons:
            if reason.code == "tiers.policy":
                found[reason.subject.removeprefix("tierpolicy/")] = reason
            elif reason.code == "tiers.unread":
                self._unread.labels(reason.subject.removeprefix("kind/")).set(1)
        for policy in self._known - found.keys():
            for state in _STATES:
                self._namespaces.remove(policy, state)
        self._known = set(found)
        for policy, reason in found.items():
            settled, blocked = number(reason.terms, "settled"), number(reason.terms, "blocked")
            changing = max(0, number(reason.terms, "namespaces") - settled - blocked)
            for state, count in zip(_STATES, (settled, changing, blocked), strict=True):
                self._namespaces.labels(policy, state).set(count)
        for action in actions:
            self._actions.labels(type(action).__name__.lower()).inc()
