"""What the cluster as a whole gets: classes before what hands them to pods, and nothing that is somebody else's."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import NOW
from tests.tiers.loop_worlds import ONE, POLICY, judged, reason_of, shared, targets, world

from remuda.model.plans import Operation, Outcome
from remuda.output.words import sentence
from remuda.rules.tiers import Tier
from remuda.tiers.decide.changes import decide
from remuda.tiers.decide.desk import MOST_CHANGES
from remuda.tiers.decide.model import Memory, ObjectSeen, Policies, Remove, Snapshot, Write
from remuda.tiers.decide.shared import KINDS

CLASSES = [f"write PriorityClass tier-{name}" for name in sorted(POLICY.tiers)]
FEW = replace(POLICY, tiers={"0-core": POLICY.tiers["0-core"]})


def only(*kinds: str, mutation: str = "v1") -> list[ObjectSeen]:
    return [item for item in shared(mutation=mutation) if item.kind in kinds]


def with_tier(tier: Tier) -> Policies:
    return Policies((replace(POLICY, tiers={**POLICY.tiers, tier.name: tier}),))


def kinds_of(seen: Snapshot, policies: Policies = ONE) -> set[str]:
    return {target.split()[1] for target in targets(judged(seen, policies))}


def test_what_changes_pods_comes_after_the_classes_and_every_binding_after_its_rule() -> None:
    for there, coming in (
        ((), {"PriorityClass", "ValidatingAdmissionPolicy"}),
        (KINDS[:1], {"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}),
        (KINDS[:2], {"ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"}),
        ((KINDS[0], KINDS[3]), {"ValidatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}),
        (KINDS, set[str]()),
    ):
        assert kinds_of(world(shared=only(*there), mutation="v1")) == coming
    waiting = reason_of(
        judged(world(shared=[], mutation="v1")), "mutatingadmissionpolicy/remuda-tiers-default-sizes"
    )
    assert waiting.code == "tiers.after"
    assert sentence(waiting).endswith("is written after PriorityClass tier-0-core")


def test_where_mutation_is_not_served_nothing_asks_for_it() -> None:
    assert not any("Mutating" in target for target in targets(judged(world(shared=[]))))


def test_a_class_of_somebody_else_stays_and_serves() -> None:
    theirs = [replace(item, owner=None, body={"value": 5}) for item in only("PriorityClass")]
    plan = judged(world(shared=theirs, mutation="v1"))
    assert "write MutatingAdmissionPolicy remuda-tiers-default-priority" in targets(plan)
    assert not [target for target in targets(plan) if "PriorityClass" in target]
    assert sentence(reason_of(plan, "priorityclass/tier-4-aux")) == (
        "tier-4-aux was not made by Remuda and stays as it is"
    )


def edited(name: str, **fields: Any) -> list[ObjectSeen]:
    return [replace(item, body={**item.body, **fields}) if item.name == name else item for item in shared()]


@pytest.mark.parametrize(
    ("fields", "anew"),
    [
        ({"value": 7}, True),
        ({"preemptionPolicy": "Never"}, True),
        ({"description": "edited"}, False),
        ({"globalDefault": True}, False),
    ],
)
def test_a_class_is_brought_back_and_made_again_where_the_server_lets_it_not_be_changed(
    fields: dict[str, Any], anew: bool
) -> None:
    (action,) = judged(world(shared=edited("tier-4-aux", **fields))).actions
    assert isinstance(action, Write)
    assert (action.target, action.anew) == ("PriorityClass tier-4-aux", anew)
    assert action.reason.code == ("tiers.renewing" if anew else "tiers.applying")


def test_a_policy_that_changes_a_priority_makes_its_class_again() -> None:
    plan = judged(world(), with_tier(replace(POLICY.tiers["4-aux"], priority=5)))
    assert targets(plan)[:1] == ["write PriorityClass tier-4-aux"]


def test_what_the_server_adds_to_a_rule_and_leaves_out_of_it_is_no_difference() -> None:
    rules = []
    for item in shared(mutation="v1"):
        spec = dict(item.body.get("spec", {}))
        if "matchConstraints" in spec:
            spec["matchConstraints"] = {
                "matchPolicy": "Equivalent",
                "namespaceSelector": {},
                "resourceRules": [
                    {**rule, "scope": "*"} for rule in spec["matchConstraints"]["resourceRules"]
                ],
            }
        rules.append(replace(item, body={**item.body, "spec": spec}) if spec else item)
    assert not judged(world(shared=rules, mutation="v1")).actions


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"policyName": "other"}, id="another value"),
        pytest.param({"validationActions": ["Deny", "Audit"]}, id="a longer list"),
        pytest.param({"validationActions": "Deny"}, id="no list"),
        pytest.param(None, id="nothing at all"),
    ],
)
def test_a_binding_that_was_edited_is_brought_back(spec: dict[str, Any] | None) -> None:
    rules = [
        replace(item, body={} if spec is None else {"spec": {**item.body["spec"], **spec}})
        if (item.kind, item.name) == ("ValidatingAdmissionPolicyBinding", "remuda-tiers-default")
        else item
        for item in shared()
    ]
    assert targets(judged(world(shared=rules))) == [
        "write ValidatingAdmissionPolicyBinding remuda-tiers-default"
    ]


def test_of_two_policies_the_first_has_the_classes_and_the_other_is_told() -> None:
    cheap = {"4-aux": replace(POLICY.tiers["4-aux"], priority=1)}
    one, two = replace(POLICY, name="a"), replace(POLICY, name="b", tiers={**POLICY.tiers, **cheap})
    plan = judged(world(shared=[]), Policies((one, two)))
    wanted = [action.manifest for action in plan.actions if isinstance(action, Write)]
    owners = {
        item["metadata"]["labels"]["remuda.dev/tier-policy"]
        for item in wanted
        if item["kind"] == "PriorityClass"
    }
    assert owners == {"a"}
    (claim,) = [reason for reason in plan.reasons if reason.code == "tiers.claimed"]
    assert sentence(claim) == "b says PriorityClass tier-4-aux otherwise than policy a, which has it"


def test_a_class_that_no_tier_has_goes_when_everything_else_is_as_it_should_be() -> None:
    settled = world(shared=[*shared(FEW), *[item for item in shared() if item.name == "tier-4-aux"]])
    (action,) = judged(settled, Policies((FEW,))).actions
    assert isinstance(action, Remove)
    assert action.target == "PriorityClass tier-4-aux"
    unsettled = judged(world(), Policies((FEW,)))
    assert not any("tier-4-aux" in target for target in targets(unsettled))
    assert reason_of(unsettled, "priorityclass/tier-4-aux").code == "tiers.later"


def test_a_class_stays_while_nobody_knows_who_hands_it_to_pods() -> None:
    there = [*shared(FEW), *[item for item in shared() if item.name == "tier-4-aux"]]
    plan = judged(world(shared=there, unread={"MutatingAdmissionPolicy": "forbidden"}), Policies((FEW,)))
    assert not plan.actions


def test_a_policy_that_is_gone_loses_its_bindings_then_its_rules_and_at_last_its_classes() -> None:
    memory, left, gone = Memory(("default",)), shared(mutation="v1"), list[set[str]]()
    while left:
        plan, memory = decide(world(shared=left, mutation="v1"), memory, Policies(), NOW)
        names = {action.target for action in plan.actions}
        assert names
        gone.append({name.split()[0] for name in names})
        left = [item for item in left if f"{item.kind} {item.name}" not in names]
    assert gone == [
        {"ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"},
        {"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"},
        {"PriorityClass"},
    ]


def test_nothing_is_written_of_a_kind_that_cannot_be_read_nor_what_depends_on_it() -> None:
    plan = judged(world(shared=[], mutation="v1", unread={"PriorityClass": "forbidden"}))
    assert kinds_of(world(shared=[], mutation="v1", unread={"PriorityClass": "no"})) == {
        "ValidatingAdmissionPolicy"
    }
    assert reason_of(plan, "kind/PriorityClass").code == "tiers.unread"


def test_a_class_of_a_policy_that_cannot_be_read_stays_and_serves() -> None:
    theirs = [replace(item, owner="broken", body={"value": 1}) for item in only("PriorityClass")]
    plan = judged(world(shared=theirs), Policies((POLICY,), ("broken",)))
    assert not [target for target in targets(plan) if "PriorityClass" in target]
    assert reason_of(plan, "priorityclass/tier-4-aux").code == "tiers.unread-policy"


def test_a_class_that_cannot_be_written_keeps_only_what_needs_it() -> None:
    action = judged(world(shared=[])).actions[0]
    failed = Operation(1, action, Outcome("failed", NOW, "may not create priorityclasses"))
    plan = judged(world(shared=[], mutation="v1", operations=(failed,)))
    assert [*CLASSES[1:]] == [target for target in targets(plan) if "PriorityClass" in target]
    said = sentence(reason_of(plan, "priorityclass/tier-0-core"))
    assert said.startswith("tier-0-core PriorityClass tier-0-core could not be changed: may not create")


def test_the_cluster_s_objects_wait_their_turn_too() -> None:
    action = judged(world(shared=[])).actions[0]
    busy = tuple(
        Operation(n, replace(action, target=f"PriorityClass other-{n}")) for n in range(MOST_CHANGES)
    )
    plan = judged(world(shared=[], operations=busy))
    assert not plan.actions
    assert reason_of(plan, "priorityclass/tier-0-core").code == "tiers.waiting"
