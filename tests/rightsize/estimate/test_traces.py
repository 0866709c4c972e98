"""Traces end in the numbers of the estimate, whatever the samples."""

import pytest
from hypothesis import given
from tests.rightsize.estimate.builders import DAY, HOUR, memory, steady
from tests.rightsize.estimate.test_engine import PODS

from remuda.rightsize.estimate import kernels
from remuda.rightsize.estimate.columns import columns_of
from remuda.rightsize.estimate.engine import estimates_of, find_columns
from remuda.rightsize.estimate.estimator import Estimate, estimate_pod
from remuda.rightsize.estimate.traces import UNBOUNDED, traces
from remuda.rightsize.estimate.usage import Pod, Replica
from remuda.rightsize.evidence import Percentile, Trace


def traced(pods: list[Pod], engine: str) -> list[tuple[Trace, Trace]]:
    columns = columns_of(pods)
    loops = (kernels.cpu_buckets, kernels.memory_buckets) if engine == "loops" else None
    found = find_columns(columns, "numpy" if engine == "numpy" else "", loops=loops)
    assert len(estimates_of(found, columns)) == len(columns)
    return [
        traces(cpu, used, days, siblings)
        for cpu, used, days, siblings in zip(
            found.cpu.tolist(), found.memory.tolist(), found.days(), columns.siblings.tolist(), strict=True
        )
    ]


def ends(trace: Trace) -> list[int]:
    return [each.amount for each in (trace.target, trace.lower_bound, trace.upper_bound)]


def amounts(found: Estimate, resource: str) -> list[int]:
    return [getattr(each, resource) for each in (found.target, found.lower_bound, found.upper_bound)]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["numpy", "loops"])
@given(PODS)
def test_the_amounts_of_a_trace_are_the_estimate_s(engine: str, pods: list[Pod]) -> None:
    estimates = [found for pod in pods for found in estimate_pod(pod).values()]
    for found, (cpu, used) in zip(estimates, traced(pods, engine), strict=True):
        assert ends(cpu) == amounts(found, "cpu_millicores")
        assert ends(used) == amounts(found, "memory_bytes")


@pytest.mark.slow
@given(PODS)
def test_every_step_of_a_trace_follows_from_the_one_before(pods: list[Pod]) -> None:
    for both in traced(pods, "numpy"):
        for trace in both:
            for each in (trace.target, trace.lower_bound, trace.upper_bound):
                assert each.padded == each.end + int(each.end * 0.15)
                assert each.amount == max(trace.floor, int(min(each.padded * each.factor, 1e14)))
                assert each.first <= each.end + 1


def test_a_trace_tells_bucket_margin_factor_and_floor() -> None:
    cpu, used = traced([{"main": [steady(2 * DAY, used=1e8)]}], "numpy")[0]
    assert cpu.target == Percentile(0.9, 25, 478, 511, 587, 1.0, 587)
    assert cpu.upper_bound == Percentile(0.95, 25, 478, 511, 587, cpu.upper_bound.factor, 880)
    assert cpu.upper_bound.factor == pytest.approx(1.5, abs=1e-3)
    assert used.floor == 262_144_000
    assert used.target.padded < used.target.amount == used.floor


@pytest.mark.parametrize("given", [memory((0, 5e8)), Replica(), Replica(steady(HOUR).cpu[:1])])
def test_without_confidence_the_factor_is_a_number_and_makes_the_same_amounts(given: Replica) -> None:
    cpu, used = traced([{"main": [given]}], "numpy")[0]
    found = estimate_pod({"main": [given]})["main"]
    assert used.upper_bound.factor == UNBOUNDED
    assert used.lower_bound.factor == 0.0
    assert (ends(cpu), ends(used)) == (amounts(found, "cpu_millicores"), amounts(found, "memory_bytes"))
