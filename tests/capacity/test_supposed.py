"""The world after changes: each change, and names that nobody has."""

from typing import Any

import pytest
from tests.capacity.builders import CAPABILITY, GIB, LABEL, measured, node, policy, scale_set, sized, snapshot

from remuda.capacity.decide.apply_changes import AfterChanges, apply_changes
from remuda.capacity.decide.what_if import read_changes
from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.snapshot import Snapshot, Usage
from remuda.model.pods import Taint

LARGE = {"name": "large", "requests": sized("4", "32Gi", "24Gi"), "limits": sized("8", "64Gi", "40Gi")}
POLICIES = {"kvm": policy(envelopes=[LARGE], owners=[{"name": "team", "guaranteed": 2}])}
WORLD = snapshot(
    scale_set("vm-test", max=2), scale_set("linux", namespace="other"), scale_set("twin"), scale_set("twin", namespace="other"),
    node("honey", labels=CAPABILITY | {"kubernetes.io/hostname": "honey"}, taints=(Taint("k", "v", "NoSchedule"),)),
    node("sting", cordoned=True),
    usage={
        "honey": Usage(
            {"cpu": 5000, "memory": 9 * GIB, "pods": 4}, {}, {"arc/vm-test": 1},
            {"arc/vm-test": {"cpu": 2000, "memory": 8 * GIB, "pods": 1}},
        )
    },
)  # fmt: skip


def after(
    option: str,
    *words: str,
    before: Snapshot = WORLD,
    policies: dict[str, CapacityPolicySpec] = POLICIES,
    labels: tuple[str, ...] = (),
) -> AfterChanges:
    changes, problems = read_changes({option: words})
    assert problems == ()
    return apply_changes(before, policies, labels, changes)


def the_scale_set(found: AfterChanges, name: str) -> Any:
    assert found.problems == ()
    return next(each for each in found.snapshot.scale_sets if name in (each.id, each.name))


def test_a_set_gets_another_maximum_and_everything_else_stays() -> None:
    found = after("--set", "vm-test.max=5")
    assert the_scale_set(found, "vm-test").max == 5
    assert found.snapshot.nodes is not None
    assert found.snapshot.scale_sets[1:] == WORLD.scale_sets[1:]
    assert found.labels == (LABEL,)
    assert the_scale_set(after("--set", "vm-test.max=unbounded"), "vm-test").max is None
    assert the_scale_set(after("--set", "vm-test.max=0"), "vm-test").max == 0
    assert the_scale_set(after("--set", "other/twin.min=1"), "other/twin").min == 1


def test_a_set_gets_another_envelope() -> None:
    found = the_scale_set(after("--set", "vm-test.envelope=large"), "vm-test")
    assert (found.requests, found.limits) == (measured("4", "32Gi", "24Gi"), measured("8", "64Gi", "40Gi"))


def test_an_added_set_carries_the_envelope_where_the_policy_wants_it() -> None:
    found = the_scale_set(after("--add", "name=new,envelope=large,max=3"), "new")
    assert (found.id, found.labels, found.max, found.min) == ("default/new", (LABEL,), 3, 0)
    assert found.node_selector == CAPABILITY
    assert found.requests == measured("4", "32Gi", "24Gi")
    alone = snapshot(scale_set("vm-test"))
    assert the_scale_set(after("--add", "name=new,envelope=large,max=3", before=alone), "new").id == "arc/new"
    assert the_scale_set(after("--add", "name=new,envelope=large,max=3,namespace=x"), "new").id == "x/new"


def test_an_added_set_selects_what_all_others_select_else_what_primary_nodes_have() -> None:
    words = "name=new,envelope=large,max=3"
    zoned = scale_set("a", node_selector=CAPABILITY | {"zone": "x"})
    differing = snapshot(zoned, scale_set("b", node_selector=CAPABILITY | {"zone": "y"}))
    assert the_scale_set(after("--add", words, before=differing), "new").node_selector == CAPABILITY
    assert (
        the_scale_set(after("--add", words, before=snapshot(zoned)), "new").node_selector
        == zoned.node_selector
    )
    assert the_scale_set(after("--add", words, before=snapshot()), "new").node_selector == CAPABILITY


def test_an_added_set_is_judged_by_its_label_and_by_its_own_numbers() -> None:
    assert after("--add", "name=new,envelope=large,max=3").labels == (LABEL,)
    (problem,) = after("--add", "name=new,envelope=large,max=1,min=2").problems
    assert "default/new would have a min of 2 above its max of 1" in problem


def test_an_added_set_is_like_another() -> None:
    found = the_scale_set(after("--add", "name=new,like=linux,max=3", policies={}), "new")
    like = WORLD.scale_sets[1]
    assert (found.id, found.requests, found.node_selector) == ("other/new", like.requests, like.node_selector)


def test_a_ceiling_is_the_policys() -> None:
    found = after("--ceiling", "6")
    assert found.problems == ()
    assert found.policies["kvm"].ceiling == 6
    assert found.snapshot is WORLD
    assert found.labels == (LABEL,)


def test_an_added_node_is_like_another_and_empty() -> None:
    found = after("--node-add", "name=new,like=honey,memory=1Gi")
    made = found.snapshot.nodes[-1]
    assert (made.name, made.labels) == ("new", CAPABILITY | {"kubernetes.io/hostname": "new"})
    assert made.allocatable == WORLD.nodes[0].allocatable | {"memory": GIB}
    assert made.taints == WORLD.nodes[0].taints
    assert "new" not in found.snapshot.usage
    assert found.notes == ("new counts as empty: what DaemonSets would take there is not known",)
    assert after("--node-add", "name=new,like=honey,taints=").snapshot.nodes[-1].taints == ()
    assert after("--node-add", "name=new,like=sting").snapshot.nodes[-1].cordoned is False


def test_an_added_node_has_what_is_written() -> None:
    found = after("--node-add", "name=new,cpu=4,memory=1Gi,ephemeral-storage=1Gi,labels=a=b")
    made = found.snapshot.nodes[-1]
    assert made.allocatable == {"cpu": 4000, "memory": GIB, "ephemeral-storage": GIB, "pods": 110}
    assert made.labels == {"a": "b"}


def test_a_drained_node_takes_nothing_and_reports_what_was_there() -> None:
    found = after("--node-drain", "honey")
    assert found.snapshot.nodes[0].cordoned
    assert found.snapshot.usage == {}
    assert [note.split(",")[0] for note in found.notes] == [
        "where 3 other pods of honey",
        "1 runner on honey would be lost by a drain: its job fails",
    ]
    assert "3 CPU, 1Gi memory" in found.notes[0]


@pytest.mark.parametrize(
    ("option", "words", "message"),
    [
        ("--set", "vm-tset.max=1", "there is no set vm-tset; did you mean vm-test?"),
        (
            "--set",
            "zzzzzz.max=1",
            "there is no set zzzzzz; there is: arc/twin, arc/vm-test, other/linux, other/twin",
        ),
        (
            "--set",
            "twin.max=1",
            "there are several sets twin: arc/twin, other/twin; write the namespace, too",
        ),
        ("--set", "vm-test.envelope=larg", "there is no envelope larg; did you mean large?"),
        ("--set", "vm-test.min=3", "arc/vm-test would have a min of 3 above its max of 2"),
        ("--add", "name=vm-test,namespace=arc,envelope=large,max=1", "there is a set arc/vm-test already"),
        ("--add", "name=new,like=vmtest,max=1", "there is no set vmtest; did you mean vm-test?"),
        ("--add", "name=new,envelope=qqqq,max=1", "there is no envelope qqqq; there is: large"),
        ("--add", "name=new,label=other,envelope=large,max=1", "no policy for other has envelopes"),
        ("--ceiling", "1", "owners are guaranteed 2 together"),
        ("--ceiling", "nix-kvmm=4", "there is no policy for nix-kvmm; did you mean nix-kvm?"),
        ("--node-add", "name=honey,like=sting", "there is a node honey already"),
        ("--node-add", "name=new,like=hony", "there is no node hony; did you mean honey?"),
        ("--node-drain", "stng", "there is no node stng; did you mean sting?"),
    ],
)
def test_what_cannot_be_changed_is_reported_with_the_nearest_right_name(
    option: str, words: str, message: str
) -> None:
    (problem,) = after(option, words).problems
    assert problem.startswith(f'{option} "{words}": ')
    assert message in problem


@pytest.mark.parametrize(
    ("option", "words", "message"),
    [
        ("--ceiling", "4", "a ceiling is a policy's: give one with --policy"),
        ("--set", "vm-test.envelope=large", "envelopes are a policy's: give one with --policy"),
        (
            "--add",
            "name=new,envelope=large,max=1",
            "which label the set is for is not clear: add label=LABEL",
        ),
    ],
)
def test_what_needs_a_policy_says_so(option: str, words: str, message: str) -> None:
    (problem,) = after(option, words, policies={}).problems
    assert message in problem


def test_with_several_policies_a_change_says_which() -> None:
    several = POLICIES | {"gpu": policy(label="gpu", envelopes=[LARGE])}
    assert "for one of gpu, nix-kvm" in after("--ceiling", "4", policies=several).problems[0]
    assert after("--ceiling", "gpu=9", policies=several).policies["gpu"].ceiling == 9
    assert after("--ceiling", "9", policies=several, labels=("gpu",)).policies["gpu"].ceiling == 9
    added = ("--add", "name=new,envelope=large,max=1")
    assert "add label=LABEL, one of gpu, nix-kvm" in after(*added, policies=several).problems[0]
    assert the_scale_set(after(*added, policies=several, labels=("gpu",)), "new").labels == ("gpu",)


def test_a_set_is_not_added_for_a_label_that_was_not_asked_about() -> None:
    found = after("--add", "name=new,envelope=large,max=1", labels=("other",))
    assert found.snapshot.scale_sets == WORLD.scale_sets
    assert "other" in found.problems[0]


@pytest.mark.parametrize(
    ("pods", "runners", "notes"),
    [
        pytest.param(0, 0, [], id="nothing"),
        pytest.param(1, 1, ["where 1 other pod of honey, which requests 1 CPU, 1Gi memory, would go", "1 runner on honey would be lost by a drain: its job fails"], id="one of each"),
        pytest.param(2, 2, ["where 2 other pods of honey, which request 1 CPU, 1Gi memory, would go", "2 runners on honey would be lost by a drain: their jobs fail"], id="two of each"),
    ],
)  # fmt: skip
def test_what_a_drain_takes_away_is_counted(pods: int, runners: int, notes: list[str]) -> None:
    own = {"cpu": 2000, "memory": 8 * GIB, "pods": runners}
    whole = {"cpu": 3000, "memory": 9 * GIB, "pods": runners + pods}
    used = Usage(whole, {}, {"arc/vm-test": runners} if runners else {}, {"arc/vm-test": own})
    found = after("--node-drain", "honey", before=snapshot(node("honey"), usage={"honey": used}))
    assert len(found.notes) == len(notes)
    assert all(begin in note for begin, note in zip(notes, found.notes, strict=True))
