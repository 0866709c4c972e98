"""The pools' metrics and the numbers of their log line."""

from prometheus_client import CollectorRegistry
from tests.builders import NOW, machine, machines, policy, pool, settings, snapshot

from remuda.model.machines import State
from remuda.pools.decide import decide
from remuda.pools.decide.model import Memory, PoolSeen
from remuda.pools.meters import PoolMeters


def report(meters: PoolMeters, *pools: PoolSeen) -> dict[str, object]:
    seen = snapshot(*pools)
    plan, _ = decide(seen, Memory(), policy(*(settings(each.name) for each in pools)), NOW)
    return meters.report(seen, plan)


def test_gauges_show_a_plan_and_counters_its_actions() -> None:
    registry = CollectorRegistry()
    crashed = machine("a-9", State.FAILED, ended="crashed")
    report(PoolMeters(registry), pool("a", *machines(idle=1, busy=2), crashed, waiting=2, running=2))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, {"pool": "a", **labels})

    assert {state: value("remuda_pool_machines", state=state) for state in ("idle", "busy", "dead")} == {
        "idle": 1,
        "busy": 2,
        "dead": 1,
    }
    assert value("remuda_pool_wanted") == 4
    assert value("remuda_pool_tasks", state="unclaimed") == 2
    assert value("remuda_pool_failures") == 1
    assert value("remuda_pool_source_stale") == 0
    assert value("remuda_pool_actions_total", action="delete", reason="machine.crashed") == 1


def test_a_log_line_has_totals_and_names_who_is_not_steady() -> None:
    numbers = report(
        PoolMeters(CollectorRegistry()), pool("a", waiting=2), pool("b", *machines("b", busy=1), running=1)
    )
    assert numbers["pools"] == 2
    assert numbers["busy"] == 1
    assert numbers["unclaimed"] == 2
    assert numbers["unsteady"] == {"a": "pool.growing"}


def test_a_pool_that_is_gone_loses_its_gauges() -> None:
    registry = CollectorRegistry()
    meters = PoolMeters(registry)
    report(meters, pool("a"), pool("b"))
    report(meters, pool("b"))
    assert registry.get_sample_value("remuda_pool_wanted", {"pool": "a"}) is None
    assert registry.get_sample_value("remuda_pool_wanted", {"pool": "b"}) == 0


def test_a_replica_that_stands_by_shows_no_pools_until_it_acts_again() -> None:
    registry = CollectorRegistry()
    meters = PoolMeters(registry)
    report(meters, pool("a", *machines(idle=1), stale_since=NOW), pool("b"))
    meters.clear()
    shown = {
        sample.name for metric in registry.collect() for sample in metric.samples if metric.type == "gauge"
    }
    assert shown == set()
    report(meters, pool("b"))
    assert registry.get_sample_value("remuda_pool_wanted", {"pool": "b"}) == 0


def test_a_stale_source_shows() -> None:
    registry = CollectorRegistry()
    report(PoolMeters(registry), pool("a", stale_since=NOW))
    assert registry.get_sample_value("remuda_pool_source_stale", {"pool": "a"}) == 1
