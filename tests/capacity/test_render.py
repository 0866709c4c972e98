"""Guard rails as they are written; that a server enforces them is tested with one."""

import json
import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capacity.builders import CAPABILITY, NOW, decision, policy

from remuda.capacity.decide.cel import conditions, variables
from remuda.capacity.decide.guards import NOTES, Action, admission, quota, quota_problems, shares_of
from remuda.rules.cel import quoted


def sets(**maxima: int) -> list[dict[str, Any]]:
    return [{"name": name.replace("__", "/"), "max": most} for name, most in maxima.items()]


SHARES: dict[str, tuple[dict[str, Any], str | None, dict[str, int]]] = {
    "what its sets may have together": ({"sets": sets(arc__a=1, arc__b=2)}, None, {"arc": 3}),
    "never more than the ceiling": ({"sets": sets(arc__a=3, arc__b=3)}, None, {"arc": 4}),
    "several namespaces": ({"sets": sets(arc__a=1, ci__b=2)}, None, {"arc": 1, "ci": 2}),
    "several that want too much": ({"sets": sets(arc__a=3, arc__c=3, ci__b=2)}, None, {"arc": 3, "ci": 1}),
    "more namespaces than runners": ({"ceiling": 1, "sets": sets(arc__a=1, ci__b=1)}, None, {"arc": 1, "ci": 0}),
    "the one runner goes to where more are wanted": ({"ceiling": 1, "sets": sets(arc__a=1, ci__b=1, ci__c=1)}, None, {"arc": 0, "ci": 1}),
    "a small part of little is nothing": (
        {"sets": sets(arc__a=4, arc__b=4, arc__c=4, arc__d=4, ci__b=1)}, None, {"arc": 4, "ci": 0},
    ),
    "owners keep what they are guaranteed for a set that is not listed": (
        {"sets": sets(arc__a=4, arc__c=4, ci__b=1), "owners": [{"name": "b", "guaranteed": 1, "lanes": ["ci/new"]}]}, None, {"arc": 3, "ci": 1},
    ),
    "sets without a namespace": ({"sets": sets(a=1, b=1)}, "arc", {"arc": 2}),
    "some with and some without": ({"sets": sets(a=1, ci__b=1)}, "arc", {"arc": 1, "ci": 1}),
    "no sets": ({}, "arc", {"arc": 4}),
    "owners keep what they are guaranteed": (
        {"sets": sets(arc__a=4, arc__c=4, ci__b=1), "owners": [{"name": "b", "guaranteed": 1, "lanes": ["ci/b"]}]}, None, {"arc": 3, "ci": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SHARES)
def test_namespaces_share_the_ceiling(case: str) -> None:
    spec, namespace, expected = SHARES[case]
    made = policy(**spec)
    assert list(quota_problems("kvm", made, namespace)) == []
    assert shares_of(made, namespace) == expected
    quotas = [item for item in quota("kvm", made, namespace).objects if item["kind"] == "ResourceQuota"]
    hard = {item["metadata"]["namespace"]: item["spec"]["hard"] for item in quotas}
    assert hard == {name: {"pods": str(most)} for name, most in expected.items()}


NAMES = st.sampled_from(["arc", "ci", "dev"])


@given(
    ceiling=st.integers(0, 20),
    parts=st.lists(st.tuples(NAMES, st.integers(0, 12)), min_size=1, max_size=6),
)
def test_safety_quotas_never_come_to_more_than_the_ceiling_or_what_sets_may_have(
    ceiling: int, parts: list[tuple[str, int]]
) -> None:
    given_ = [(where, min(most, ceiling)) for where, most in parts]
    listed = [{"name": f"{where}/s{number}", "max": most} for number, (where, most) in enumerate(given_)]
    shares = shares_of(policy(ceiling=ceiling, sets=listed), None)
    wants: dict[str, int] = {}
    for where, most in given_:
        wants[where] = wants.get(where, 0) + most
    assert sum(shares.values()) == min(ceiling, sum(wants.values()))
    assert all(shares[where] <= wants[where] for where in wants)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, ["spec.sets: names no set"]),
        ({"sets": sets(a=1, arc__b=1, c=1)}, ["spec.sets[0].name: a names no namespace", "spec.sets[2].name: c"]),
        ({"sets": [{"name": "Arc/b", "max": 1}]}, ["spec.sets[0].name: Arc/b: the namespace"]),
        ({"sets": [{"name": "a/b/c", "max": 1}]}, ["spec.sets[0].name: a/b/c: the namespace"]),
        ({"sets": [{"name": "/b", "max": 1}]}, ["spec.sets[0].name: /b: the namespace"]),
        ({"sets": sets(arc__a=1), "priorityClass": "system-x"}, ["spec.priorityClass: system-x is the cluster's"]),
        ({"sets": [{"name": "arc/", "max": 1}]}, ["spec.sets[0].name: arc/ names no set"]),
    ],
)  # fmt: skip
def test_what_is_in_no_namespace_is_reported_all_at_once(spec: dict[str, Any], message: list[str]) -> None:
    problems = list(quota_problems("kvm", policy(**spec), None))
    assert len(problems) == len(message)
    assert all(problem.startswith(begin) for problem, begin in zip(problems, message, strict=True))


def test_a_quota_counts_pods_of_a_class_and_nothing_else() -> None:
    made = quota("kvm", policy(sets=sets(arc__a=1), priorityClass="runners"))
    described, counted = made.objects
    assert (described["kind"], described["metadata"]["name"]) == ("PriorityClass", "runners")
    assert (described["value"], described["globalDefault"], described["preemptionPolicy"]) == (
        0,
        False,
        "Never",
    )
    assert counted["spec"] == {
        "hard": {"pods": "1"},
        "scopeSelector": {
            "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["runners"]}]
        },
    }


@pytest.mark.parametrize("action", get_args(Action))
def test_what_is_not_caught_stands_in_the_objects(action: Action) -> None:
    spec = policy(sets=sets(arc__a=1))
    for made in (quota("kvm", spec), admission("kvm", spec, action, NOW)):
        assert made.not_caught
        noted = [item["metadata"].get("annotations", {}).get(NOTES) for item in made.objects]
        assert "\n".join(made.not_caught) in noted
    message = " ".join(quota("kvm", spec).not_caught)
    assert "Pods without priorityClassName kvm" in message
    assert "Owners who share a namespace" in message


def test_no_rule_is_about_pods() -> None:
    judged, bound = admission("kvm", policy(), "Warn", NOW).objects
    (rule,) = judged["spec"]["matchConstraints"]["resourceRules"]
    assert (rule["apiGroups"], rule["resources"]) == (["actions.github.com"], ["autoscalingrunnersets"])
    assert bound["spec"] == {"policyName": judged["metadata"]["name"], "validationActions": ["Warn"]}


def test_equal_policies_give_equal_guard_rails() -> None:
    spec = {"sets": sets(arc__a=1, ci__b=2), "owners": [{"name": "x", "guaranteed": 1, "lanes": ["ci/b"]}]}
    assert quota("kvm", policy(**spec)) == quota("kvm", policy(**spec))
    assert admission("kvm", policy(**spec), "Deny", NOW) == admission("kvm", policy(**spec), "Deny", NOW)


def test_warm_pools_that_end_are_reported() -> None:
    listed = [{"name": "arc/a", "max": 1, "warmPool": decision(until="2026-12-01")}]
    made = admission("kvm", policy(sets=listed), "Deny", NOW)
    assert any("arc/a until 2026-12-01" in line for line in made.notes)
    later = admission("kvm", policy(sets=listed), "Deny", NOW + 30 * 86_400_000)
    assert not any("arc/a" in line for line in later.notes)


def test_a_warm_pool_ends_with_its_last_day() -> None:
    listed = [{"name": "arc/a", "max": 1, "warmPool": decision(until="2026-12-01")}]
    end = 1_796_169_600_000  # 2026-12-02
    for now, is_warm in ((end - 1, True), (end, False)):
        made = admission("kvm", policy(sets=listed), "Deny", now)
        assert any("arc/a until" in line for line in made.notes) is is_warm


@pytest.mark.parametrize(("listed", "is_said"), [(sets(arc__a=1), False), (sets(arc__a=1, ci__b=1), True)])
def test_shares_that_one_namespace_leaves_to_another_are_said_to_be_fixed(
    listed: list[dict[str, Any]], is_said: bool
) -> None:
    message = " ".join(quota("kvm", policy(sets=listed)).not_caught)
    assert ("What one namespace does not use, another cannot have" in message) is is_said


def variable(name: str, warm: tuple[str, ...] = (), **spec: Any) -> str:
    """An expression that the rules share."""
    return next(item.expression for item in variables(policy(**spec), warm) if item.name == name)


def tolerates(*taints: list[str]) -> str:
    """Whether a set may be on one of the overflow nodes with these taints."""
    nodes = [
        {"node": f"n{n}", "taints": some, "envelopes": ["e"], "admitted": decision()}
        for n, some in enumerate(taints)
    ]
    envelope = {"name": "e", "requests": {"cpu": "1", "ephemeral-storage": "1Gi"}}
    return variable("tolerates", nodes={"primary": CAPABILITY, "overflow": nodes}, envelopes=[envelope])


def test_a_toleration_counts_by_the_taints_of_overflow_nodes_where_all_are_known() -> None:
    assert tolerates() == "false"
    assert 't.key in ["a", "b"]' in tolerates(["a"], ["b", "a"])
    for unknown in (tolerates(["a"], []), tolerates([])):
        assert "t.key in" not in unknown
        assert "!t.key.startsWith('node.kubernetes.io/')" in unknown


def test_a_set_that_the_policy_does_not_name_has_what_newcomers_have_within_the_ceiling() -> None:
    assert variable("most", newcomerMax=3, ceiling=9) == "3"
    assert variable("most", newcomerMax=0, ceiling=9) == "0"
    assert variable("most", ceiling=0) == "0"


def test_maps_of_names_hold_every_name_and_end_as_soon_as_they_are_long() -> None:
    maxima = {f"namespace-{n}/scale-set-{n}": n % 4 for n in range(3_000)}
    listed = [{"name": name, "max": most} for name, most in maxima.items()]
    made = [item for item in variables(policy(sets=listed), ()) if item.name.startswith("shares")]
    maps = [json.loads(item.expression) for item in made]
    assert {name: most for each in maps for name, most in each.items()} == maxima
    entry = len('"namespace-2999/scale-set-2999": 0, ')
    assert len(maps) == 3
    assert all(50_002 < len(item.expression) <= 50_002 + entry for item in made[:-1])


def test_only_the_rule_of_maxima_words_its_refusal_by_what_it_finds() -> None:
    judged, _ = admission("kvm", policy(), "Deny", NOW).objects
    worded = ["messageExpression" in rule for rule in judged["spec"]["validations"]]
    assert worded == [True, *[False] * (len(worded) - 1)]
    assert len(worded) > 2
    judged, _ = admission("kvm", policy(), "Deny", NOW).objects
    assert not any("overflow" in rule["message"] for rule in judged["spec"]["validations"])


def test_a_rule_is_left_out_where_the_policy_does_not_require_it() -> None:
    judged, _ = admission("kvm", policy(require={"requests": False}), "Deny", NOW).objects
    assert not any("cpu" in rule["message"] for rule in judged["spec"]["validations"])
    judged, _ = admission("kvm", policy(require={"ephemeralStorage": True}), "Deny", NOW).objects
    assert any("ephemeral-storage" in rule["message"] for rule in judged["spec"]["validations"])


def test_a_set_is_meant_with_its_namespace_before_its_name_alone() -> None:
    listed = [{"name": f"n/{'s' * 200}{number}", "max": 1} for number in range(600)]
    made = {item.name: item.expression for item in variables(policy(sets=listed), ())}
    shares = [name for name in made if name.startswith("shares")]
    assert len(shares) > 1
    asked = re.findall(r"variables\.(id|name) in variables\.(shares\d+)", made["most"])
    assert [key for key, _ in asked] == ["id"] * len(shares) + ["name"] * len(shares)
    assert {share for _, share in asked} == set(shares)


@pytest.mark.slow
def test_no_expression_is_longer_than_a_server_takes() -> None:
    listed = [{"name": f"namespace-{number}/scale-set-{number}", "max": 1} for number in range(5_000)]
    made = policy(sets=listed, ceiling=5_000)
    lengths = [len(item.expression) for item in variables(made, tuple(str(item["name"]) for item in listed))]
    assert max(lengths) < 100_000


@given(st.text(min_size=1, max_size=20))
def test_safety_a_label_cannot_leave_its_quotes(label: str) -> None:
    text = quoted(label)
    inside = text[1:-1].replace("\\\\", "").replace('\\"', "")
    assert (text[0], text[-1]) == ('"', '"')
    assert '"' not in inside
    assert "\n" not in text
    assert all("\n" not in item.expression for item in conditions(label))


def test_letters_are_written_as_they_are_and_lowered_as_the_server_lowers_them() -> None:
    assert quoted("ü 😀") == '"ü 😀"'
    (_, _, carries) = conditions("NIX-Ä")
    assert '"nix-Ä"' in carries.expression


def test_primary_labels_are_what_is_preferred() -> None:
    nodes = {
        "primary": CAPABILITY,
        "overflow": [{"node": "sting", "envelopes": ["e"], "admitted": decision()}],
    }
    envelope = {"name": "e", "requests": {"cpu": "1", "ephemeral-storage": "1Gi"}}
    made = admission("kvm", policy(nodes=nodes, envelopes=[envelope]), "Deny", NOW)
    rule = made.objects[0]["spec"]["validations"][-1]
    assert "capability.example/kvm" in rule["expression"]
    assert "capability.example/kvm=true" in rule["message"]
    # nothing is known of the node's taints
    assert any("any toleration" in line for line in made.notes)


def test_labels_that_are_forbidden_are_refused_unless_the_servers_expressions_do_not_know_the_pattern() -> (
    None
):
    spec = policy(forbiddenLabels=["^acme-", "(?=x)y"], require={"limits": False})
    made = admission("kvm", spec, "Deny", NOW)
    rules = [rule["expression"] for rule in made.objects[0]["spec"]["validations"]]
    assert [rule for rule in rules if "matches" in rule] == [
        '!variables.targets.exists(l, l.matches("^acme-"))'
    ]
    assert any("Labels like (?=x)y: " in line for line in made.not_caught)
    assert not any("must be limited" in rule["message"] for rule in made.objects[0]["spec"]["validations"])


def test_what_an_owner_is_guaranteed_in_two_namespaces_is_of_neither() -> None:
    owners = [{"name": "x", "guaranteed": 2, "lanes": ["arc/a", "ci/b"]}]
    spec = policy(ceiling=4, sets=sets(arc__a=3, ci__b=3), owners=owners)
    assert shares_of(spec, None) == shares_of(policy(ceiling=4, sets=sets(arc__a=3, ci__b=3)), None)


@pytest.mark.parametrize(("ceiling", "is_said"), [(1, True), (2, False)])
def test_a_namespace_that_the_ceiling_does_not_reach_is_named(ceiling: int, is_said: bool) -> None:
    notes = quota("kvm", policy(ceiling=ceiling, sets=sets(arc__a=1, ci__b=1))).notes
    assert any("No runner can start in ci: " in note for note in notes) is is_said


def test_what_is_limited_counts_as_requested_and_not_the_other_way_round() -> None:
    judged, _ = admission("kvm", policy(), "Deny", NOW).objects
    rules = {rule["message"]: rule["expression"] for rule in judged["spec"]["validations"]}
    (requested,) = [text for message, text in rules.items() if message.startswith("cpu and memory must be")]
    (limited,) = [text for message, text in rules.items() if message.startswith("memory must be limited")]
    assert "c.resources.requests" in requested
    assert "c.resources.limits" in requested
    assert "c.resources.requests" not in limited
    assert "c.resources.limits" in limited


def test_only_sets_with_a_warm_pool_may_be_warm() -> None:
    assert variable("mayBeWarm") == "false"
    assert (
        variable("mayBeWarm", ("arc/a",))
        == "variables.id in variables.warm0 || variables.name in variables.warm0"
    )
    assert json.loads(variable("warm0", ("arc/a", "b"))).keys() == {"arc/a", "b"}
