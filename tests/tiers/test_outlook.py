"""What would be changed, before it is: everything until the cluster is settled, with each field that differs."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.tiers.loop_worlds import (
    ONE,
    judged,
    limits,
    namespace,
    quota,
    shared,
    world,
)

from remuda.tiers.decide.differences import fields, sign
from remuda.tiers.decide.model import NodeSeen, Policies, Snapshot, Write
from remuda.tiers.decide.outlook import after, foresee

CARD = {"feature.node.kubernetes.io/pci-10de.present": "true"}
GPU = "nvidia.com/gpu=true:PreferNoSchedule"
FEWER = {
    "spec": {"hard": {"requests.cpu": "8", "requests.memory": "16Gi", "pods": "3", "requests.storage": "1Ti"}}
}


def foreseen(seen: Snapshot, policies: Policies = ONE) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(sign(*each), each[0].target, fields(*each)) for each in foresee(seen, policies).changes]


def test_everything_is_foreseen_in_its_order_though_a_cycle_plans_only_the_next_step() -> None:
    found = foreseen(world(namespace(), shared=[], mutation="v1"))
    kinds = list(dict.fromkeys(target.split()[0] for _, target, _ in found))
    assert kinds == [
        "PriorityClass", "ValidatingAdmissionPolicy", "LimitRange", "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy", "ResourceQuota", "MutatingAdmissionPolicyBinding",
    ]  # fmt: skip
    assert {what for what, _, _ in found} == {"create"}
    assert all(parts == () for _, _, parts in found)


def test_what_is_settled_has_nothing_to_foresee_and_says_so() -> None:
    outlook = foresee(world(namespace(), limits(), quota()), ONE)
    assert outlook.changes == ()
    assert [reason.code for reason in outlook.reasons] == ["tiers.policy", "tier.settled"]


def test_a_change_names_the_fields_that_it_changes_and_no_others() -> None:
    (change,) = foreseen(world(namespace(), limits(), quota(body=FEWER)))
    assert change == ("change", "ResourceQuota web/web-quota", ("spec.hard.pods: 3 → 20",))


def test_lists_of_the_same_length_are_compared_item_by_item_and_others_whole() -> None:
    item = {**limits().body["spec"]["limits"][0], "max": {"memory": "1Gi"}}
    (change,) = foreseen(world(namespace(), limits(body={"spec": {"limits": [item]}}), quota()))
    assert change[2] == ("spec.limits[0].max.memory: 1Gi → 4Gi",)
    (change,) = foreseen(world(namespace(), limits(body={"spec": {"limits": []}}), quota()))
    assert change[2][0].startswith("spec.limits: [] → [{'type': 'Container', ")
    assert change[2][0].endswith("…")
    assert len(change[2][0]) == len("spec.limits: [] → ") + 60


def test_a_label_that_alone_differs_is_named() -> None:
    taken = foreseen(world(namespace(), limits(owner="before"), quota()))
    assert taken == [("change", "LimitRange web/tier-defaults", ("labels",))]


def test_what_goes_and_what_is_made_again_are_told_apart() -> None:
    assert foreseen(world(namespace(tier=""), limits(), quota())) == [
        ("remove", "ResourceQuota web/web-quota", ()),
        ("remove", "LimitRange web/tier-defaults", ()),
    ]
    classes = [
        replace(item, body={**item.body, "value": 1}) if item.name == "tier-4-aux" else item
        for item in shared()
    ]
    assert foreseen(world(shared=classes)) == [
        ("replace", "PriorityClass tier-4-aux", ("value: 1 → 200000",))
    ]


def test_taints_are_foreseen_too() -> None:
    nodes = (
        NodeSeen("new", devices=CARD, taints=("spot:NoSchedule",)),
        NodeSeen("old", taints=(GPU,), owned=(GPU,)),
    )
    assert foreseen(world(nodes=nodes)) == [
        ("change", "Node new", (f"+ taint {GPU}",)),
        ("change", "Node old", (f"- taint {GPU}",)),
    ]
    seen = world(nodes=nodes)
    new, old = after(seen, judged(seen).actions).nodes
    assert (new.taints, new.owned) == (("spot:NoSchedule", GPU), (GPU,))
    assert (old.taints, old.owned) == ((), ())


def test_a_field_that_is_new_comes_from_nothing() -> None:
    bare: dict[str, Any] = {"spec": {"hard": {"requests.cpu": "8", "requests.memory": "16Gi"}}}
    (change,) = foreseen(world(namespace(), limits(), quota(body=bare)))
    assert change[2] == ("spec.hard.pods: nothing → 20",)


@pytest.mark.parametrize("anew", [True, False])
def test_what_is_made_again_is_another_object_and_what_is_changed_keeps_what_others_added(anew: bool) -> None:
    there = quota(body=FEWER)
    seen = world(namespace(), limits(), there)
    (action,) = judged(seen).actions
    assert isinstance(action, Write)
    made = [
        item for item in after(seen, [replace(action, anew=anew)]).objects if item.kind == "ResourceQuota"
    ]
    assert made[0].uid == ("new" if anew else there.uid)
    assert ("requests.storage" in made[0].body["spec"]["hard"]) is not anew


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        pytest.param({"type": "Container"}, "{'type': 'Container'} → [{", id="no list"),
        pytest.param("x" * 60, f"{'x' * 60} → [{{", id="just as long as is shown"),
        pytest.param("x" * 61, f"{'x' * 59}… → [{{", id="longer than is shown"),
    ],
)
def test_what_was_no_list_is_shown_whole_and_not_for_ever(before: Any, shown: str) -> None:
    (change,) = foreseen(world(namespace(), limits(body={"spec": {"limits": before}}), quota()))
    (field,) = change[2]
    assert field.startswith(f"spec.limits: {shown}")


def test_what_had_no_fields_is_shown_whole() -> None:
    (change,) = foreseen(world(namespace(), limits(), quota(body={"spec": "none"})))
    assert change[2][0].startswith("spec: none → {'hard': {")
