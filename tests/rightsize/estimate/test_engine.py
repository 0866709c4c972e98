"""Columns say what the reference says, whichever way they are computed."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.rightsize.estimate.builders import BEGIN, DAY, memory, replicas

from remuda.rightsize.estimate import arrays, kernels
from remuda.rightsize.estimate.columns import columns_of
from remuda.rightsize.estimate.engine import compiled, estimate_columns
from remuda.rightsize.estimate.estimator import Estimate, estimate_pod
from remuda.rightsize.estimate.usage import Pod, Replica, Sample

ANY = st.one_of(replicas(), replicas(days=400), replicas(days=400, ordered=False), replicas(kills=False))
PODS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.lists(ANY, max_size=3), min_size=1), max_size=4
)


def reference(pods: list[Pod]) -> list[Estimate]:
    return [found for pod in pods for found in estimate_pod(pod).values()]


def interpreted(pods: list[Pod]) -> list[Estimate]:
    return estimate_columns(columns_of(pods), loops=(kernels.cpu_buckets, kernels.memory_buckets))


@pytest.mark.slow
@given(PODS)
def test_arrays_say_what_the_reference_says(pods: list[Pod]) -> None:
    assert estimate_columns(columns_of(pods), "numpy") == reference(pods)


@pytest.mark.slow
@given(PODS)
def test_loops_say_what_the_reference_says(pods: list[Pod]) -> None:
    assert interpreted(pods) == reference(pods)


@pytest.mark.slow
@examples(200)
@given(PODS)
def test_compiled_loops_say_what_the_reference_says(pods: list[Pod]) -> None:
    assert compiled() is not None
    assert estimate_columns(columns_of(pods), "numba") == reference(pods)


HAND = [
    pytest.param([memory((0, 0.0), (1, 2e9), (DAY, 1e9))], id="nothing replaces a zero"),
    pytest.param([memory((0, 1e9), (1, 2e9), (1, 3e9), (DAY + 9, 1e9), (DAY + 9, 4e9))], id="peaks rise"),
    pytest.param([memory((0, 1e9)), Replica(), memory((5, 2e9), (6, 3e9))], id="a replica without samples"),
    pytest.param([memory((0, 1e9), oom=[(9, 2e9), (8, 1e9)])], id="kills"),
    pytest.param(
        [Replica([Sample(BEGIN, 1.0), Sample(BEGIN, 9.0), Sample(BEGIN - 1, 9.0)])], id="CPU goes back"
    ),
    pytest.param([Replica([Sample(BEGIN, 9.0), Sample(BEGIN + 200 * DAY, 1.0)])], id="two hundred days"),
    pytest.param([memory((9, 1e9), (3, 2e9), (12, 5e8))], id="memory goes back"),
    pytest.param([Replica([Sample(BEGIN, 2000.0), Sample(BEGIN + 1, 1021.109)])], id="beyond the buckets"),
]


@pytest.mark.parametrize("given", HAND)
def test_every_way_says_what_the_reference_says(given: list[Replica]) -> None:
    pods: list[Pod] = [{"main": given, "side": [memory((0, 1e9))]}]
    assert estimate_columns(columns_of(pods), "numpy") == interpreted(pods) == reference(pods)


def daily(days: int) -> Replica:
    """Peaks that rise within each day."""
    return memory(*((half * DAY // 2, 1e9 if half % 2 == 0 else 5e9) for half in range(2 * days)))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_many_windows_in_one_block_are_kept_apart(engine: str) -> None:
    pods: list[Pod] = [{"main": [daily(20)] * 400}] * 10
    windows = 20 * 400 * 9  # before the last container
    assert windows > 2**16, "more than an amount leaves bits for"
    assert estimate_columns(columns_of(pods), engine) == reference(pods[:1]) * 10


@pytest.mark.slow
def test_blocks_and_threads_change_nothing() -> None:
    busy = Replica([Sample(BEGIN + n, n % 50 / 10) for n in range(60_000)], [Sample(BEGIN, 1e9)])
    pods: list[Pod] = [{"a": [busy], "b": [memory((0, 1e9))]} for _ in range(8)]
    found = estimate_columns(columns_of(pods), "numpy", workers=3)
    assert found == reference(pods[:1]) * 8


def test_nothing_at_all_has_no_estimates() -> None:
    assert estimate_columns(columns_of([]), "numpy") == []


@given(st.lists(st.integers(-2000 * DAY, 100 * DAY), max_size=50))
def test_arrays_weigh_as_go_does(seconds: list[int]) -> None:
    from remuda.rightsize.estimate.gomath import exp2
    from remuda.rightsize.estimate.histogram import decay_exponent

    found = arrays.decay(np.array(seconds, np.int64)).tolist()
    assert found == [exp2(decay_exponent(each, 0)) for each in seconds]


@given(
    st.integers(1, 3),
    st.integers(200, 900),
    st.integers(1_000_000, 2_000_000_000),
    st.randoms(use_true_random=False),
)
def test_what_rises_all_the_time_is_counted_as_the_reference_does(
    count_of_replicas: int, count: int, begin: int, random: Any
) -> None:
    def rising() -> Replica:
        amount, memory = random.randrange(10**7, 10**9), []
        for n in range(count):
            amount += random.choice((0, 1, 1000, 10**5, -(10**6)))
            memory.append(Sample(begin + n * 400, float(amount)))
        return Replica((), memory)

    pods: list[Pod] = [{"main": [rising() for _ in range(count_of_replicas)]}]
    assert estimate_columns(columns_of(pods), "numpy") == reference(pods)
