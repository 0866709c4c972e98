import pytest
from tests.objects.sample import load

from remuda.objects.ceiling import CeilingMember


def ceiling(spec: str) -> str:
    return f"{{apiVersion: remuda.dev/v1alpha1, kind: Ceiling, metadata: {{name: top}},\nspec: {spec}}}"


def test_a_ceiling_is_read_with_its_defaults() -> None:
    loaded = load(
        ceiling("{machines: 6, members: [{name: a, guaranteed: 6}, {name: b, priority: -1, weight: 2}]}")
    )
    assert loaded.problems == ()
    assert loaded.objects[0].spec.members == (
        CeilingMember("a", guaranteed=6),  # type: ignore[arg-type]
        CeilingMember("b", priority=-1, weight=2),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(
            "{machines: 5, members: [{name: a}, {name: b}, {name: a}]}",
            "f.yaml:2:60: spec.members[2].name: a is listed already, as members[0]",
            id="a member is listed once",
        ),
        pytest.param(
            "{machines: 5, members: [{name: a, guaranteed: 3}, {name: b, guaranteed: 3}]}",
            "f.yaml:2:18: spec.machines: is 5, but its members are guaranteed 6 together: raise it to 6 or lower their"
            " guarantees",
            id="guarantees fit under the ceiling",
        ),
        pytest.param(
            "{machines: 5, members: [{name: a, weight: 0}]}",
            "f.yaml:2:49: spec.members[0].weight: wants at least 1 and at most 1000, found 0",
            id="a weight is at least one",
        ),
        pytest.param(
            "{members: []}",
            "f.yaml:2:1: spec.machines: is required: the most machines all members may have together",
            id="the number is required",
        ),
    ],
)
def test_a_ceiling_that_cannot_hold_is_a_problem(spec: str, problem: str) -> None:
    assert [str(found) for found in load(ceiling(spec)).problems] == [problem]
