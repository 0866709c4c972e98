"""The taints of nodes with GPUs: ours come and go with the card, and everybody else's stay."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import NOW
from tests.tiers.loop_worlds import ONE, POLICY, judged, reason_of, targets, world

from remuda.model.plans import Operation, Outcome
from remuda.output.words import sentence
from remuda.rules.tiers import Gpu
from remuda.tiers.decide.desk import MOST_CHANGES
from remuda.tiers.decide.model import Mark, NodeSeen, Policies
from remuda.tiers.decide.taints import node_patch, parse_taint

GPU = "nvidia.com/gpu=true:PreferNoSchedule"
OLD = "nvidia.com/gpu=old:PreferNoSchedule"
HARD = "nvidia.com/gpu=true:NoSchedule"
SPOT = "spot:NoSchedule"
CARD = {"feature.node.kubernetes.io/pci-10de.present": "true"}
ANNOTATION = "/metadata/annotations/remuda.dev~1tier-taints"


def node(*taints: str, owned: tuple[str, ...] = (), card: bool = True) -> NodeSeen:
    return NodeSeen("gpu", "uid", CARD if card else {}, taints, owned)


#: id → (node, what is put on, what is taken off, what is ours then, the code); None when nothing is done
CASES: dict[str, tuple[NodeSeen, tuple[str, ...] | None, tuple[str, ...], tuple[str, ...], str]] = {
    "a card and no taint": (node(), (GPU,), (), (GPU,), "marking"),
    "a card and somebody's other taint": (node(SPOT), (GPU,), (), (GPU,), "marking"),
    "a card and our taint": (node(SPOT, GPU, owned=(GPU,)), None, (), (), "marked"),
    "a card and the same taint of somebody else": (node(GPU), None, (), (), "marked"),
    "a card and another value of somebody else": (node(OLD), None, (), (), "foreign"),
    "another value in the place of ours": (node(OLD, owned=(GPU,)), (), (), (), "noting"),
    "a card and our taint that somebody took off": (node(SPOT, owned=(GPU,)), (GPU,), (), (GPU,), "marking"),
    "a card and the taint with another effect": (node(HARD), (GPU,), (), (GPU,), "marking"),
    "no card and our taint": (node(SPOT, GPU, owned=(GPU,), card=False), (), (GPU,), (), "clearing"),
    "no card and our taint that somebody took off": (
        node(SPOT, owned=(GPU,), card=False),
        (),
        (),
        (),
        "noting",
    ),
    "our taint of an earlier policy": (node(OLD, owned=(OLD,)), (GPU,), (OLD,), (GPU,), "marking"),
    "an annotation that says it twice": (node(GPU, owned=(GPU, GPU)), (), (), (GPU,), "noting"),
}


@pytest.mark.parametrize(("there", "add", "remove", "owned", "code"), CASES.values(), ids=CASES)
def test_a_taint_of_ours_comes_and_goes_with_the_card(
    there: NodeSeen, add: tuple[str, ...] | None, remove: tuple[str, ...], owned: tuple[str, ...], code: str
) -> None:
    plan = judged(world(nodes=(there,)))
    reason = reason_of(plan, "node/gpu")
    assert reason.code == f"tier.node-{code}"
    assert "nvidia.com/gpu" in sentence(reason)
    if add is None:
        assert not plan.actions
        return
    (action,) = plan.actions
    assert isinstance(action, Mark)
    assert (action.add, action.remove, action.owned) == (add, remove, owned)


def test_a_node_without_a_card_and_without_a_taint_of_ours_is_nobody_s() -> None:
    plan = judged(
        world(nodes=(node(GPU, card=False), replace(node(), name="off", devices={next(iter(CARD)): "false"})))
    )
    assert not plan.actions
    assert not [reason for reason in plan.reasons if reason.subject.startswith("node/")]


def test_policies_without_gpus_leave_nodes_alone_and_take_off_what_was_theirs() -> None:
    none = Policies((replace(POLICY, gpu=None),))
    assert not judged(world(nodes=(node(),)), none).actions
    assert targets(judged(world(nodes=(node(GPU, owned=(GPU,)),)), none)) == ["mark Node gpu"]


def test_several_policies_that_say_the_same_taint_put_it_there_once() -> None:
    assert isinstance(POLICY.gpu, Gpu)
    other = replace(POLICY, name="other", gpu=replace(POLICY.gpu, taint=("amd.com/gpu", "", "NoSchedule")))
    same = replace(POLICY, name="same")
    (action,) = [
        a
        for a in judged(world(nodes=(node(),)), Policies((POLICY, other, same))).actions
        if isinstance(a, Mark)
    ]
    assert action.add == (GPU, "amd.com/gpu:NoSchedule")


def test_no_taint_is_taken_off_while_a_policy_cannot_be_read() -> None:
    broken = Policies((replace(POLICY, gpu=None),), ("broken",))
    assert not judged(world(nodes=(node(GPU, owned=(GPU,), card=False),)), broken).actions


def test_a_node_that_cannot_be_changed_is_tried_again_later_and_many_wait_their_turn() -> None:
    (action,) = judged(world(nodes=(node(),))).actions
    failed = Operation(1, action, Outcome("failed", NOW, "may not patch nodes"))
    said = sentence(reason_of(judged(world(nodes=(node(),), operations=(failed,))), "node/gpu"))
    assert said.startswith("gpu Node gpu could not be changed: may not patch nodes; tried again at ")
    busy = tuple(Operation(n, replace(action, target=f"Node n-{n}")) for n in range(MOST_CHANGES))
    plan = judged(world(nodes=(node(),), operations=busy), ONE)
    assert not plan.actions
    assert reason_of(plan, "node/gpu").code == "tier.node-waiting"


def marking(add: tuple[str, ...] = (), remove: tuple[str, ...] = (), owned: tuple[str, ...] = ()) -> Mark:
    (template,) = judged(world(nodes=(node(),))).actions
    assert isinstance(template, Mark)
    return replace(template, add=add, remove=remove, owned=owned)


TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "PreferNoSchedule"}
#: id → (what to do, the node as it is, whether it has annotations, the patch after its test)
PATCHES: dict[str, tuple[Mark, NodeSeen, bool, list[dict[str, Any]]]] = {
    "the first taint": (
        marking((GPU,), owned=(GPU,)), node(), False,
        [
            {"op": "add", "path": "/spec/taints", "value": [TAINT]},
            {"op": "add", "path": "/metadata/annotations", "value": {}},
            {"op": "add", "path": ANNOTATION, "value": GPU},
        ],
    ),
    "one more": (
        marking((GPU, "a:NoSchedule"), owned=(GPU, "a:NoSchedule")), node(SPOT), True,
        [
            {"op": "add", "path": "/spec/taints/-", "value": TAINT},
            {"op": "add", "path": "/spec/taints/-", "value": {"key": "a", "effect": "NoSchedule"}},
            {"op": "add", "path": ANNOTATION, "value": f"{GPU},a:NoSchedule"},
        ],
    ),
    "two between others, the last first": (
        marking(remove=(GPU, OLD)), node(SPOT, GPU, HARD, OLD, owned=(GPU, OLD)), True,
        [
            {"op": "remove", "path": "/spec/taints/3"},
            {"op": "remove", "path": "/spec/taints/1"},
            {"op": "remove", "path": ANNOTATION},
        ],
    ),
    "an annotation alone": (marking(owned=()), node(owned=(GPU,)), True, [{"op": "remove", "path": ANNOTATION}]),
    "nothing that was ever ours": (marking(), node(), True, []),
}  # fmt: skip


@pytest.mark.parametrize(("action", "there", "has_annotations", "patch"), PATCHES.values(), ids=PATCHES)
def test_a_patch_holds_for_one_version_and_names_what_it_takes_by_its_place(
    action: Mark, there: NodeSeen, has_annotations: bool, patch: list[dict[str, Any]]
) -> None:
    made = list(node_patch(action, there, "17", has_annotations=has_annotations))
    assert made == [{"op": "test", "path": "/metadata/resourceVersion", "value": "17"}, *patch]


@pytest.mark.parametrize("text", [GPU, SPOT])
def test_a_taint_is_read_as_it_is_written(text: str) -> None:
    assert str(parse_taint(text)) == text
