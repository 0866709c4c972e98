"""The pools' Prometheus metrics and the numbers of their log line. Never labelled by machine or job."""

from collections import Counter as Tally

from prometheus_client import CollectorRegistry, Counter, Gauge

from remuda.model.plans import Plan
from remuda.pools.decide.model import PoolAction, Snapshot

_STATES = ("creating", "idle", "unknown", "busy", "draining", "dead")


class PoolMeters:
    """Gauges per pool, set each cycle; pools that are gone, or that another replica cares for, lose theirs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._machines = Gauge(
            "remuda_pool_machines", "Machines of a pool, by state.", ["pool", "state"], registry=registry
        )
        self._wanted = Gauge("remuda_pool_wanted", "Machines a pool wants.", ["pool"], registry=registry)
        self._target = Gauge(
            "remuda_pool_target", "Machines a pool aims for, after its ceiling.", ["pool"], registry=registry
        )
        self._tasks = Gauge(
            "remuda_pool_tasks", "Tasks of a pool's class.", ["pool", "state"], registry=registry
        )
        self._stale = Gauge(
            "remuda_pool_source_stale",
            "1 while the pool's source does not answer.",
            ["pool"],
            registry=registry,
        )
        self._failures = Gauge(
            "remuda_pool_failures",
            "Machines in a row that did not become ready.",
            ["pool"],
            registry=registry,
        )
        self._actions = Counter(
            "remuda_pool_actions",
            "Actions planned, by kind and reason.",
            ["pool", "action", "reason"],
            registry=registry,
        )
        self._known: set[str] = set()

    def report(self, seen: Snapshot, plan: Plan[PoolAction]) -> dict[str, object]:
        """Set the gauges from a plan's reasons; return totals and the pools that are not steady."""
        totals: Tally[str] = Tally()
        unsteady = {}
        for reason in plan.reasons:
            pool, terms = reason.subject.removeprefix("pool/"), reason.terms
            for state in _STATES:
                self._machines.labels(pool, state).set(_number(terms.get(state)))
                totals[state] += _number(terms.get(state))
            self._wanted.labels(pool).set(_number(terms["wanted"]))
            self._target.labels(pool).set(_number(terms["target"]))
            for state in ("unclaimed", "running"):
                self._tasks.labels(pool, state).set(_number(terms[state]))
                totals[state] += _number(terms[state])
            self._stale.labels(pool).set(0 if terms["stale_since"] is None else 1)
            self._failures.labels(pool).set(_number(terms["failures"]))
            if reason.code != "pool.steady":
                unsteady[pool] = reason.code
        for action in plan.actions:
            kind = type(action).__name__.lower()
            self._actions.labels(action.pool, kind, action.reason.code).inc()
        self._forget({pool.name for pool in seen.pools})
        return {**totals, "pools": len(seen.pools), "unsteady": unsteady}

    def clear(self) -> None:
        """Show no pools until the next report."""
        self._forget(set())

    def _forget(self, pools: set[str]) -> None:
        for pool in self._known - pools:
            for gauge in (self._wanted, self._target, self._stale, self._failures):
                gauge.remove(pool)
            for state in _STATES:
                self._machines.remove(pool, state)
            for state in ("unclaimed", "running"):
                self._tasks.remove(pool, state)
        self._known = pools


def _number(term: object) -> int:
    return term if isinstance(term, int) else 0
