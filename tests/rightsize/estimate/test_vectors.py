"""What the recommender of the Vertical Pod Autoscaler 1.8.1 answered, integer for integer."""

from typing import Any

import msgspec
import pytest
from tests.rightsize.estimate.builders import pod_of, vectors

from remuda.rightsize.estimate.columns import columns_of
from remuda.rightsize.estimate.engine import estimate_columns
from remuda.rightsize.estimate.estimator import estimate_pod

CASES = [pytest.param(case, id=case["name"]) for case in vectors()]


@pytest.mark.parametrize("case", CASES)
def test_the_reference_says_what_the_recommender_said(case: Any) -> None:
    assert msgspec.to_builtins(estimate_pod(pod_of(case))) == case["expect"]


@pytest.mark.parametrize("engine", ["numpy", pytest.param("numba", marks=pytest.mark.slow)])
def test_an_engine_says_what_the_recommender_said_for_all_at_once(engine: str) -> None:
    pods = [pod_of(case) for case in vectors()]
    found = msgspec.to_builtins(estimate_columns(columns_of(pods), engine))
    assert found == [case["expect"][name] for case, pod in zip(vectors(), pods, strict=True) for name in pod]


def test_there_are_all_of_them() -> None:
    assert len(CASES) == 24
