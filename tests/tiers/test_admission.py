"""The objects of a policy that are in no namespace: which there are, in which order, and whom they leave out."""

from typing import Any

import pytest
from msgspec.structs import replace

from remuda.objects.tiers import DEFAULT_POLICY
from remuda.tiers.decide.admission import cluster_objects


def kinds(objects: tuple[dict[str, Any], ...]) -> list[str]:
    return [each["kind"] for each in objects]


def test_classes_come_before_what_gives_them_to_pods() -> None:
    found = kinds(cluster_objects(DEFAULT_POLICY, mutating="v1beta1"))
    assert found == [
        *["PriorityClass"] * 5,
        *["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"] * 2,
        *["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"] * 2,
    ]


def test_where_mutation_is_not_served_nothing_mutates() -> None:
    made = cluster_objects(DEFAULT_POLICY, mutating=None)
    assert made == cluster_objects(DEFAULT_POLICY, mutating="v1")[: len(made)]
    assert not any(kind.startswith("Mutating") for kind in kinds(made))


def test_every_binding_is_of_a_policy_before_it_and_all_are_known_as_ours() -> None:
    seen = set()
    for each in cluster_objects(DEFAULT_POLICY, mutating="v1"):
        meta = each["metadata"]
        assert meta["labels"] == {
            "app.kubernetes.io/managed-by": "remuda",
            "remuda.dev/tier-policy": "default",
        }
        if each["kind"].endswith("Binding"):
            assert (each["kind"].removesuffix("Binding"), each["spec"]["policyName"]) in seen
        seen.add((each["kind"], meta["name"]))


@pytest.mark.parametrize(("mode", "denied"), [("warn", False), ("deny", True), ("strip", False)])
def test_cpu_limits_are_refused_only_where_that_is_said(mode: Any, denied: bool) -> None:
    made = cluster_objects(replace(DEFAULT_POLICY, cpu_limits=mode), mutating=None)
    refusing = next(each for each in made if each["metadata"]["name"] == "remuda-tiers-default")
    rules = [each["expression"] for each in refusing["spec"]["validations"]]
    assert any("cpuLimited" in rule for rule in rules) == denied
