"""How a scale set returns to primary nodes: merge patches, and what they change."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capacity.builders import CAPABILITY, decision, node, policy, scale_set

from remuda.capacity.decide.rollback import (
    changes,
    difference,
    is_scale_set,
    keeps_off,
    merged,
    patch_for,
    pod_from,
    pod_in,
    problems_of,
    recorded,
)
from remuda.capacity.objects import Rollback
from remuda.model.pods import Match, Taint, Term, Toleration

TAINTS = (Taint("overflow", "true", "NoSchedule"), Taint("slow", "", "PreferNoSchedule"))


def in_set(pod: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": pod}}}


TOLERATIONS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]] | None]] = {
    "none": ([], None),
    "the node's": ([{"key": "overflow", "operator": "Exists"}], None),
    "the node's by its value": ([{"key": "overflow", "value": "true", "effect": "NoSchedule"}], None),
    "another's stays, with all it says": (
        [
            {"key": "overflow", "operator": "Exists"},
            {"key": "ci", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
        ],
        [{"key": "ci", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}],
    ),
    "everything": ([{"operator": "Exists"}], None),
    "of what the node is only avoided for": (
        [{"key": "slow", "operator": "Exists"}],
        [{"key": "slow", "operator": "Exists"}],
    ),
    "no toleration at all": ([{"key": 3}], [{"key": 3}]),
}


@pytest.mark.parametrize("case", TOLERATIONS)
def test_without_a_patch_the_tolerations_of_the_node_are_taken_off(case: str) -> None:
    given_, kept = TOLERATIONS[case]
    patch = patch_for(Rollback("vm-test"), "AutoscalingRunnerSet", {"tolerations": given_}, TAINTS)
    assert patch == in_set({"tolerations": kept})


def test_a_recorded_patch_is_taken_as_it_is() -> None:
    patch: dict[str, object] = {"spec": {"maxRunners": 0}}
    assert patch_for(Rollback("vm-test", patch), "AutoscalingRunnerSet", {}, TAINTS) == patch


def test_a_pool_keeps_its_pod_elsewhere() -> None:
    whole = {"spec": {"provider": {"kubevirt": {"spec": {"tolerations": [{"operator": "Exists"}]}}}}}
    pod = pod_in("RunnerPool", whole)
    patch = patch_for(Rollback("linux"), "RunnerPool", pod, TAINTS)
    assert merged(whole, patch) == {"spec": {"provider": {"kubevirt": {"spec": {}}}}}


def test_a_scale_set_that_was_read_has_the_pod_it_was_read_from() -> None:
    term = Term((Match("zone", "In", ("a",)),))
    read = scale_set(
        tolerations=(Toleration("overflow", "Exists"), Toleration("ci", "Exists", seconds=0)),
        required=(term,),
    )
    pod = pod_from(read)
    assert pod["tolerations"] == [
        {"key": "overflow", "operator": "Exists"},
        {"key": "ci", "operator": "Exists", "tolerationSeconds": 0},
    ]
    assert pod["nodeSelector"] == CAPABILITY
    there = node("sting", labels={**CAPABILITY, "zone": "a"})
    assert keeps_off("AutoscalingRunnerSet", pod, {}, there) == ""
    elsewhere = node("sting", labels={**CAPABILITY, "zone": "b"})
    assert "affinity" in keeps_off("AutoscalingRunnerSet", pod, {}, elsewhere)


def test_of_terms_that_are_required_one_is_enough_to_be_there() -> None:
    zones = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]} for zone in "ab"]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": zones}}
    pod = {"affinity": {"nodeAffinity": required}}
    for zone in "ab":
        assert keeps_off("AutoscalingRunnerSet", pod, {}, node("honey", labels={"zone": zone})) == ""
    assert "affinity" in keeps_off("AutoscalingRunnerSet", pod, {}, node("honey", labels={"zone": "c"}))


@pytest.mark.parametrize(
    ("written", "asked", "is_meant"),
    [
        ("vm-test", "vm-test", True),
        ("arc/vm-test", "vm-test", True),
        ("vm-test", "arc/vm-test", True),
        ("arc/vm-test", "arc/vm-test", True),
        ("arc/vm-test", "other/vm-test", False),
        ("small", "vm-test", False),
    ],
)
def test_a_scale_set_is_meant_by_its_name_or_with_its_namespace(
    written: str, asked: str, is_meant: bool
) -> None:
    assert is_scale_set(written, asked) == is_meant


def test_a_scale_set_may_return_from_several_nodes() -> None:
    nodes = [
        {"node": name, "envelopes": ["large"], "admitted": decision(), "rollbacks": [{"lane": "vm-test"}]}
        for name in ("sting", "wasp")
    ]
    envelope = {"name": "large", "requests": {"cpu": "1", "ephemeral-storage": "1Gi"}}
    spec = policy(nodes={"primary": CAPABILITY, "overflow": nodes}, envelopes=[envelope])
    assert [item.overflow.node for item in recorded(spec, "arc/vm-test")] == ["sting", "wasp"]
    assert recorded(spec, "small") == ()


@pytest.mark.parametrize(
    ("patch", "fields"),
    [
        ({}, ()),
        ({"spec": {"maxRunners": 1}}, ()),
        ({"metadata": {"labels": {"a": "b"}, "annotations": None}}, ()),
        ({"kind": "Secret"}, ("kind",)),
        ({"status": {}, "apiVersion": "v2"}, ("status", "apiVersion")),
        ({"metadata": {"name": "x", "resourceVersion": "1"}}, ("metadata.name", "metadata.resourceVersion")),
        ({"metadata": 3, "spec": None}, ("metadata", "spec")),
    ],
)
def test_a_patch_changes_what_a_scale_set_says_and_never_which_it_is(
    patch: dict[str, Any], fields: tuple[str, ...]
) -> None:
    problems = list(problems_of(patch))
    assert len(problems) == len(fields)
    assert all(problem.startswith(field) for problem, field in zip(problems, fields, strict=True))


# The examples of RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_does_what_the_standard_says(target: Any, patch: Any, result: Any) -> None:
    assert merged(target, patch) == result


VALUES = st.recursive(
    st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text("abc", max_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("abc", max_size=1), VALUES, max_size=3)


@pytest.mark.slow
@given(OBJECTS, OBJECTS)
def test_the_difference_of_two_objects_makes_one_of_the_other(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    patch = difference(before, after)
    assert merged(before, patch) == after
    assert (patch == {}) == (before == after)
    assert bool(list(changes(before, after))) or before == after


@pytest.mark.slow
@given(OBJECTS, OBJECTS)
def test_a_patch_that_was_applied_changes_nothing_more(before: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merged(before, patch)
    assert merged(once, patch) == once


def test_changes_are_reported_field_by_field() -> None:
    before = in_set({"tolerations": [{"key": "overflow"}], "nodeSelector": {"a": "b"}})
    after = in_set({"nodeSelector": {"a": "c"}})
    assert list(changes(before, after)) == [
        'spec.template.spec.nodeSelector.a: "b" → "c"',
        'spec.template.spec.tolerations: [{"key":"overflow"}] → none',
    ]


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}),
        ({"a": {"b": 1}}, {"a": {"b": 1}, "d": [1]}, {"d": [1]}),
        ({"a": 1}, {}, {"a": None}),
        ({"a": {"b": 1}}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_a_difference_holds_what_differs_alone(before: Any, after: Any, patch: Any) -> None:
    assert difference(before, after) == patch


def test_what_is_equal_changes_nothing() -> None:
    assert list(changes({"a": [1]}, {"a": [1]})) == []
