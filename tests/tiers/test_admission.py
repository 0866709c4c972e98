"""The objects of a policy that are in no namespace: which there are, in which order, and whom they leave out."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from remuda.objects.kinds import Object
from remuda.objects.tiers import DEFAULT_POLICY, GuaranteedSpec, TierPolicySpec, check_policy
from remuda.output.texts import yaml_text
from remuda.rules.tiers import Workload
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


def expressions(objects: tuple[dict[str, Any], ...], name: str) -> dict[str, str]:
    """The variables and match conditions of a policy of admission by name."""
    spec = next(
        each["spec"] for each in objects if each["metadata"]["name"] == name and "Binding" not in each["kind"]
    )
    return {each["name"]: each["expression"] for each in (*spec["matchConditions"], *spec["variables"])}


def test_nothing_is_warned_of_where_everything_is_refused_or_allowed() -> None:
    bursting = {name: replace(tier, burst=True) for name, tier in DEFAULT_POLICY.tiers.items()}
    made = cluster_objects(replace(DEFAULT_POLICY, tiers=bursting, cpu_limits="deny"), mutating=None)
    actions = [each["spec"]["validationActions"] for each in made if each["kind"].endswith("Binding")]
    assert actions == [["Deny"]]


def test_every_rule_is_for_new_pods_and_lets_them_pass_when_it_breaks() -> None:
    for each in cluster_objects(DEFAULT_POLICY, mutating="v1"):
        if each["kind"].endswith("AdmissionPolicy"):
            assert each["spec"]["failurePolicy"] == "Ignore"
            (rule,) = each["spec"]["matchConstraints"]["resourceRules"]
            assert (rule["operations"], rule["resources"]) == (["CREATE"], ["pods"])


@pytest.mark.parametrize("name", ["remuda-tiers-default", "remuda-tiers-default-warn"])
def test_runners_static_pods_and_pods_with_a_class_of_their_own_are_exempt(name: str) -> None:
    found = expressions(cluster_objects(DEFAULT_POLICY, mutating=None, default_class="usual"), name)
    assert '["actions.github.com/scale-set-name", "actions-ephemeral-runner"]' in found["no-runner"]
    assert '"kubernetes.io/config.mirror"' in found["no-mirror-of-a-static-pod"]
    assert 'in ["", "usual"]' in found["no-class-of-its-own"]
    assert '.startsWith("tier-")' in found["no-class-of-its-own"]


def test_a_policy_beside_it_takes_its_namespaces_out_and_it_itself_does_not() -> None:
    other = replace(DEFAULT_POLICY, name="other", namespaces=("a*",), excluded=("ab",))
    made = cluster_objects(DEFAULT_POLICY, mutating=None, others=[DEFAULT_POLICY, other])
    found = expressions(made, "remuda-tiers-default")
    assert (found["governs1"], found["excludes1"]) == (
        '(namespaceObject.metadata.name.matches("^(?:a.*)$"))',
        '(namespaceObject.metadata.name in ["ab"])',
    )
    assert "&& !(variables.governs1 && !variables.excludes1)" in found["tier"]
    assert "governs2" not in found


def test_a_policy_without_an_opt_out_label_lets_nobody_out() -> None:
    found = expressions(
        cluster_objects(replace(DEFAULT_POLICY, limits_opt_out=""), mutating=None), "remuda-tiers-default"
    )
    assert found["keepsOwnLimits"] == "false"


@pytest.mark.parametrize("mode", ["warn", "strip"])
@pytest.mark.parametrize("sidecars", [DEFAULT_POLICY.sidecars, ()])
def test_only_what_a_policy_asks_for_is_patched(mode: Any, sidecars: Any) -> None:
    policy = replace(
        DEFAULT_POLICY, cpu_limits=mode, sidecars=sidecars, guaranteed=(Workload("a", "Deployment", "db-*"),)
    )
    sizes = next(
        each
        for each in cluster_objects(policy, mutating="v1")
        if each["metadata"]["name"] == "remuda-tiers-default-sizes"
    )
    (mutation,) = sizes["spec"]["mutations"]
    patch = mutation["jsonPatch"]["expression"]
    assert ("limits/cpu" in patch) == (mode == "strip")
    assert ("requests/memory" in patch) == bool(sidecars)
    assert "limits/memory" in patch
    found = expressions((sizes,), "remuda-tiers-default-sizes")
    assert found["guaranteed"] == '[["^(?:a)$", "^(?:Deployment/db-.*)$"]]'


def test_patterns_that_rules_cannot_hold_are_bad_input() -> None:
    long = tuple(f"{n:0250}" for n in range(81))
    guaranteed = tuple(GuaranteedSpec(name, name, name) for name in long[:27])
    spec = TierPolicySpec(namespaces=long, guaranteed=guaranteed, excluded=long[:80])
    found = [complaint[:2] for complaint in check_policy(Object("TierPolicy", "p", spec))]
    words = "has patterns of 20,250 letters: rules of the API server hold 20,000, so use * for what is alike"
    assert found == [("spec.namespaces", words), ("spec.guaranteed", words)]


#: a policy in which every kind of expression is there, beside another one
FULL = replace(
    DEFAULT_POLICY,
    name="full",
    tiers={name: DEFAULT_POLICY.tiers[name] for name in ("0-core", "4-aux")},
    namespaces=("team-*", "shop"),
    default_tier="4-aux",
    guaranteed=(Workload("team-?", "Deployment", "db-*"),),
)


@pytest.mark.parametrize("mode", ["deny", "strip"])
def test_expressions_are_those_that_were_tried_on_a_real_server(
    mode: Any, pytestconfig: pytest.Config
) -> None:
    """A change here is to be held to `test_admission_live.py` and `test_tier_in_cel.py` first."""
    made = cluster_objects(
        replace(FULL, cpu_limits=mode), mutating="v1beta1", others=[DEFAULT_POLICY], default_class="usual"
    )
    text = yaml_text(each for each in made if each["kind"].endswith("AdmissionPolicy"))
    file = Path(__file__).with_name("golden") / f"admission-{mode}.yaml"
    if pytestconfig.getoption("--update-golden"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text(), "if this is right: python -m pytest tests/tiers --update-golden"
