"""A plan: what changes would do, where runners would be, and what is claimed about it."""

import re
from collections.abc import Sequence
from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capacity.builders import (
    CAPABILITY,
    GIB,
    LABEL,
    NOW,
    decision,
    measured,
    node,
    policy,
    scale_set,
    sized,
    snapshot,
)

from remuda.capacity.decide.plan import Plan, Side, _better, plan
from remuda.capacity.decide.what_if import read_changes
from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.show.plan import data, report
from remuda.capacity.snapshot import Node, ScaleSet, Snapshot, Unknown, Usage
from remuda.errors import BadInput
from remuda.model.pods import Taint, Toleration
from remuda.output.findings import describe
from remuda.output.show import show
from remuda.rules.mixes import Safe

SMALL = {"name": "small", "requests": sized("2", "8Gi"), "limits": sized("8", "16Gi")}
LARGE = {"name": "large", "requests": sized("4", "32Gi", "24Gi"), "limits": sized("8", "64Gi", "40Gi")}
EVIDENCE = {"date": "2026-11-10", "fitted": 8}
KVM = policy(
    ceiling=4, envelopes=[SMALL, LARGE], evidence=EVIDENCE,
    sets=[{"name": "a", "max": 1}, {"name": "b", "max": 1}, {"name": "vm", "max": 2}],
)  # fmt: skip
VM = scale_set("vm", max=2, requests=measured("4", "32Gi", "24Gi"), limits=measured("8", "64Gi", "40Gi"))
HONEY = node("honey", "32", "110Gi", "400Gi")
STING = node("sting", "32", "54.68Gi", "66.32Gi")
WORLD = snapshot(scale_set("a"), scale_set("b"), VM, HONEY, STING)


def planned(
    before: Snapshot = WORLD,
    policies: dict[str, CapacityPolicySpec] | None = None,
    labels: tuple[str, ...] = (),
    **words: Sequence[str],
) -> Plan:
    changes, problems = read_changes(
        {"--" + option.replace("_", "-"): each for option, each in words.items()}
    )
    assert problems == ()
    return plan(before, labels, {"kvm": KVM} if policies is None else policies, changes, NOW)


def rules(found: Plan) -> set[str]:
    return {item.rule for item in found.appeared if item.severity == "error"}


def only(found: Plan) -> tuple[Side, Side]:
    (item,) = found.labels
    return item.before, item.after


def test_without_changes_before_and_after_are_the_same() -> None:
    found = planned()
    before, after = only(found)
    assert before == after
    assert (found.appeared, found.gone, found.altered, found.breaks) == ((), (), (), ())
    assert after.label.max == 4
    assert after.worst is not None
    assert after.worst.outcome == "fits"
    assert [(place.node, place.runners) for place in after.placed] == [
        ("honey", {"arc/a": 1, "arc/b": 1, "arc/vm": 2})
    ]
    assert after.placed[0].left["memory"] == 30 * GIB


def test_where_nodes_were_not_read_none_is_counted() -> None:
    for side in only(planned(snapshot(scale_set("a"), unknown=(Unknown("nodes", "may not list"),)))):
        assert (side.nodes, side.worst, side.placed, side.safe) == (0, None, (), None)


def test_what_runners_do_not_ask_for_is_left() -> None:
    _, after = only(planned(snapshot(scale_set("a"), HONEY), {}))
    (placed,) = after.placed
    assert placed.left == {"cpu": 30_000, "memory": 102 * GIB, "ephemeral-storage": 400 * GIB, "pods": 109}


def test_nodes_that_no_set_may_be_on_are_not_counted() -> None:
    _, after = only(planned(snapshot(scale_set("a"), node("bare", labels={}), HONEY), {}))
    assert after.nodes == 1


def test_a_pool_and_a_scale_set_of_one_name_are_both_placed() -> None:
    twins = snapshot(scale_set("a", max=1), scale_set("a", kind="RunnerPool", max=2), HONEY)
    _, after = only(planned(twins, {}))
    assert [place.runners for place in after.placed] == [{"arc/a": 1, "RunnerPool arc/a": 2}]


def test_a_node_that_is_drained_leaves_room_for_as_many_as_fit_the_others() -> None:
    """Two of 32Gi do not fit 54.68Gi: one runner always does."""
    before, after = only(planned(node_drain=["honey"]))
    assert before.safe is not None
    assert after.safe is not None
    assert (before.safe.number, after.safe.number) == (4, 1)


def test_what_fits_after_a_drain_and_other_changes_says_nothing_of_before() -> None:
    """Before, four of 32Gi do not fit both nodes beside each other; after, ten of 8Gi fit one."""
    seen = snapshot(scale_set("a", max=10), msgspec.structs.replace(VM, max=5), HONEY, STING)
    by = {"kvm": policy(ceiling=20, envelopes=[SMALL, LARGE], evidence={"date": "2026-11-10", "fitted": 20})}
    alone, _ = only(planned(seen, by))
    before, after = only(planned(seen, by, set=["vm.max=0"], node_drain=["sting"]))
    assert before.safe == alone.safe
    assert before.safe is not None
    assert after.safe is not None
    assert before.safe.number < after.safe.number == 10


def test_a_higher_maximum_breaks_what_the_policy_gives_and_does_not_fit() -> None:
    found = planned(set=["vm.max=5"], ceiling=["7"])
    before, after = only(found)
    assert rules(found) == {"set-above-its-share", "aggregate-does-not-fit"}
    assert (before.label.max, after.label.max) == (4, 7)
    assert after.worst is not None
    assert after.worst.outcome == "cannot fit"
    assert after.worst.packing.bound is not None
    assert after.runs_out == "memory"
    assert after.safe is not None
    assert (after.safe.number, after.safe.is_proven) == (4, True)
    assert len(found.breaks) == 3


def test_what_was_broken_before_is_no_new_break() -> None:
    unbounded = snapshot(scale_set("a", max=None), HONEY)
    found = planned(unbounded, set=["a.min=0"])
    assert found.breaks == ()
    assert any(item.severity == "error" for item in found.after.findings)


TWICE = [{"name": "a", "max": 4}, {"name": "b", "max": 4}]


def test_what_gets_worse_breaks_even_if_it_was_broken() -> None:
    seen = snapshot(scale_set("a", max=3), scale_set("b", max=3), HONEY)
    found = planned(seen, {"kvm": policy(evidence=EVIDENCE, sets=TWICE)}, set=["a.max=4"])
    assert found.appeared == ()
    assert found.breaks == ("nix-kvm: maxima would be 3 above the ceiling instead of 2",)
    assert [each.after.rule for each in found.altered] == ["ceiling-exceeded"]


def test_a_finding_that_was_fixed_goes() -> None:
    seen = snapshot(scale_set("a", max=3), scale_set("b", max=3), HONEY)
    found = planned(seen, {"kvm": policy(evidence=EVIDENCE, sets=TWICE)}, set=["a.max=1"])
    assert [item.rule for item in found.gone] == ["ceiling-exceeded"]
    assert found.breaks == ()


def test_under_a_ceiling_the_worst_mix_counts_not_the_sum() -> None:
    """Eight at maximum, of which the ceiling lets four run: four large ones are the worst, not two of each."""
    many = snapshot(
        scale_set("a", max=4), scale_set("vm", max=4, requests=VM.requests), node("honey", "32", "110Gi")
    )
    roomy = policy(ceiling=4, sets=[{"name": "a", "max": 4}, {"name": "vm", "max": 4}], evidence=EVIDENCE)
    _, after = only(planned(many, {"kvm": roomy}))
    assert after.worst is not None
    assert after.worst.mix == {"arc/a": 0, "arc/vm": 4}
    assert after.worst.outcome == "cannot fit"
    _, lower = only(planned(many, {"kvm": roomy}, ceiling=["3"]))
    assert lower.worst is not None
    assert (lower.worst.outcome, sum(lower.worst.mix.values())) == ("fits", 3)
    assert lower.safe is not None
    assert (lower.safe.number, lower.safe.is_proven) == (3, True)


def test_a_ceiling_that_no_longer_fits_breaks_even_without_a_new_finding() -> None:
    sets = [scale_set(name, max=3, requests=VM.requests) for name in ("a", "b", "c")]
    many = snapshot(*sets, node("honey", "32", "110Gi"))
    roomy = policy(ceiling=3, sets=[{"name": each.name, "max": 3} for each in sets], evidence=EVIDENCE)
    found = planned(many, {"kvm": roomy}, ceiling=["4"])
    assert found.breaks == ("nix-kvm: the worst that the ceiling of 4 allows would not fit any more",)


def test_an_unbounded_set_never_fits_and_still_has_a_safe_ceiling() -> None:
    _, after = only(planned(snapshot(scale_set("a", max=None), HONEY), {}))
    assert after.worst is not None
    assert after.worst.outcome == "cannot fit"
    assert after.safe is not None
    assert (after.safe.number, after.safe.is_proven) == (13, True)


def test_runners_that_are_there_now_are_not_counted_twice() -> None:
    used = {"honey": Usage({"memory": 64 * GIB, "pods": 2}, {}, {"arc/vm": 2}, {"arc/vm": {"memory": 64 * GIB, "pods": 2}})}  # fmt: skip
    _, after = only(planned(snapshot(VM, HONEY, usage=used), {}))
    assert after.worst is not None
    assert after.worst.outcome == "fits"
    assert after.placed[0].left["memory"] == 46 * GIB


def test_other_pods_take_room() -> None:
    used = {"honey": Usage({"memory": 50 * GIB, "pods": 1})}
    _, after = only(planned(snapshot(VM, HONEY, usage=used), {}))
    assert after.worst is not None
    assert after.worst.outcome == "cannot fit"


def test_a_drained_node_is_not_used_and_an_added_one_is() -> None:
    drained = planned(node_drain=["honey"])
    assert {place.node for place in only(drained)[1].placed} == {"sting"}
    assert "aggregate-does-not-fit" in rules(drained)
    instead = planned(node_drain=["honey"], node_add=["name=new,like=honey"])
    assert {place.node for place in only(instead)[1].placed} <= {"sting", "new"}
    assert instead.breaks == ()


def test_an_added_node_without_the_capability_takes_nothing() -> None:
    found = planned(node_add=["name=new,cpu=99,memory=999Gi,ephemeral-storage=999Gi"])
    before, after = only(found)
    assert (before.nodes, after.nodes) == (2, 2)


def test_an_overflow_node_takes_no_more_than_it_admits() -> None:
    """It has room for three, and takes one at a time: the second has to wait."""
    overflow = {
        "node": "sting", "envelopes": ["large"], "admitted": {"who": "a", "why": "b", "when": "2026-11-01"},
        "requested": sized("", "64Gi"), "prewarm": {"image": "i"}, "rollbacks": [{"lane": "vm"}],
    }  # fmt: skip
    label = {"capability.example/kvm": "true"}
    spec = policy(
        ceiling=9, envelopes=[LARGE], evidence={"date": "2026-11-10", "fitted": 9},
        sets=[{"name": "vm", "max": 9, "envelope": "large"}],
        nodes={"primary": CAPABILITY, "overflow": [overflow]},
    )  # fmt: skip
    tainted = node("sting", "99", "999Gi", "999Gi", labels=label, taints=(Taint("overflow", "", "NoSchedule"),), images=("i",))  # fmt: skip
    tolerant = scale_set(
        "vm", max=2, requests=VM.requests, limits=VM.limits, tolerations=(Toleration("overflow", "Exists"),)
    )
    small = node("honey", "32", "40Gi", "400Gi")
    seen = snapshot(tolerant, small, tainted)
    found = only(planned(seen, {"kvm": spec}))[1]
    assert found.worst is not None
    on = {place.node: place.runners for place in found.placed}
    assert on.get("sting", {}).get("arc/vm", 0) <= 1


def test_labels_are_those_of_the_policy_else_of_the_change_else_all() -> None:
    mixed = snapshot(scale_set("a"), scale_set("g", labels=("gpu",)), HONEY)
    assert [item.name for item in planned(mixed).labels] == [LABEL]
    assert [item.name for item in planned(mixed, {}, set=["g.max=2"]).labels] == ["gpu"]
    assert [item.name for item in planned(mixed, {}, node_drain=["honey"]).labels] == ["gpu", LABEL]
    assert [item.name for item in planned(mixed, {}, labels=("gpu",)).labels] == ["gpu"]
    other = planned(mixed, set=["g.max=2"])
    assert other.notes == ("the changes are about gpu, which is not among the labels looked at",)


def test_a_finding_that_was_there_is_not_taken_for_a_new_one_about_the_same_field() -> None:
    """Neither set has a rollback; only that of the set that is added is new, although it is told first."""
    overflow = {"node": "sting", "envelopes": ["large"], "admitted": decision()}
    spec = policy(
        ceiling=9, envelopes=[LARGE], evidence=EVIDENCE | {"fitted": 9},
        nodes={"primary": {"role": "primary"}, "overflow": [overflow]}, sets=[{"name": "vm", "max": 2}],
    )  # fmt: skip
    taint = Taint("overflow", "", "NoSchedule")
    there = snapshot(
        msgspec.structs.replace(VM, tolerations=(Toleration("overflow", "Exists"),)),
        msgspec.structs.replace(STING, taints=(taint,)),
        HONEY,
    )
    found = planned(there, {"kvm": spec}, add=["name=a,like=vm,max=1"])
    sentences = [describe(item).found for item in found.appeared if item.field.endswith(".rollbacks")]
    assert sentences == [
        "gate rollback of sting does not hold: none is named that returns arc/a to primary nodes"
    ]
    assert not any(each.after.field.endswith(".rollbacks") for each in found.altered)


def test_scale_sets_that_were_not_read_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(snapshot(HONEY, unknown=(Unknown("scale sets", "forbidden"),)))
    assert "scale sets were not read: what they come to is not known" in found.notes
    show(report(found, "table"), "table")
    assert re.search(r"^maxima together +[?] +[?]$", capsys.readouterr().out, re.MULTILINE)


def test_what_was_not_read_is_unknown() -> None:
    _, after = only(planned(snapshot(scale_set("a"), unknown=(Unknown("nodes", "forbidden"),)), {}))
    assert (after.worst, after.safe, after.placed, after.runs_out) == (None, None, (), "")
    found = planned(snapshot(scale_set("a"), HONEY, unknown=(Unknown("pods", "forbidden"),)), {})
    assert found.notes == ("pods were not read: nodes count as empty",)


def test_bad_changes_are_reported_all_at_once() -> None:
    with pytest.raises(BadInput) as error:
        planned(set=["x.max=1", "y.max=1"], node_drain=["z"])
    assert len(str(error.value).splitlines()) == 3


@pytest.mark.parametrize("form", ["table", "markdown", "json", "yaml"])
def test_every_form_shows_the_worst_moment(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    show(report(planned(set=["vm.max=5"], ceiling=["7"]), form), form)
    text = capsys.readouterr().out
    for word in ("--set vm.max=5", "cannot fit", "honey", "arc/vm", "aggregate-does-not-fit"):
        assert word in text


def test_a_program_reads_quantities_and_the_proof() -> None:
    found = data(planned(set=["vm.max=3"], ceiling=["5"]))
    (label,) = found["labels"]
    after = label["after"]
    assert after["aggregate"]["max"] == 5
    assert after["aggregate"]["requests"].memory_bytes == (8 + 8 + 96) * GIB
    assert after["safeCeiling"] == {
        "number": 5,
        "proven": True,
        "allMaxima": True,
        "resourcesAlone": False,
    }
    assert sum(sum(each["runners"].values()) for each in after["worst"]["placement"]) == 5
    assert found["findings"]["appeared"][0].rule == "set-above-its-share"


# Small worlds, against trying everything

small_scale_sets = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([1, 2, 3]), st.sampled_from([1, 2, 4])),
    min_size=1,
    max_size=3,
)
small_nodes = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=3)


def small_world(scale_sets: Sequence[tuple[int, int, int]], nodes: Sequence[tuple[int, int]]) -> Snapshot:
    return snapshot(
        *(
            scale_set(f"l{index}", max=most, requests={"cpu": 1000 * cpu, "memory": memory * GIB})
            for index, (most, cpu, memory) in enumerate(scale_sets)
        ),
        *(node(f"n{index}", str(cpu), f"{memory}Gi") for index, (cpu, memory) in enumerate(nodes)),
    )


def fits(items: Sequence[ScaleSet], nodes: Sequence[Node]) -> bool:
    def place(at: int, free: tuple[tuple[int, int], ...]) -> bool:
        if at == len(items):
            return True
        asked = items[at].requests
        for index, (cpu, memory) in enumerate(free):
            left = (cpu - asked["cpu"], memory - asked["memory"])
            if min(left) >= 0 and place(at + 1, (*free[:index], left, *free[index + 1 :])):
                return True
        return False

    return place(0, tuple((each.allocatable["cpu"], each.allocatable["memory"]) for each in nodes))


def truly_safe(found: Snapshot) -> int:
    def is_safe(ceiling: int) -> bool:
        counts = product(*(range(each.max + 1 if each.max else 1) for each in found.scale_sets))
        return all(
            fits(
                [each for each, count in zip(found.scale_sets, mix, strict=True) for _ in range(count)],
                found.nodes,
            )
            for mix in counts
            if sum(mix) == ceiling
        )

    number = 0
    most = sum(each.max or 0 for each in found.scale_sets)
    while number < most and is_safe(number + 1):
        number += 1
    return number


@pytest.mark.slow
@given(small_scale_sets, small_nodes, st.integers(0, 6))
def test_a_plan_claims_what_trying_everything_finds(
    scale_sets: list[tuple[int, int, int]], nodes: list[tuple[int, int]], ceiling: int
) -> None:
    seen = small_world(scale_sets, nodes)
    _, after = only(planned(seen, {"kvm": policy(ceiling=ceiling)}))
    assert after.safe is not None
    assert (after.safe.number, after.safe.is_proven) == (truly_safe(seen), True)
    assert after.worst is not None
    total = min(ceiling, sum(most for most, _, _ in scale_sets))
    assert after.worst.outcome == ("fits" if total <= truly_safe(seen) else "cannot fit")
    free = {each.name: dict(each.allocatable) for each in seen.nodes}
    sizes = {each.id: each.requests for each in seen.scale_sets}
    for place in after.placed:
        for name, count in place.runners.items():
            for resource, size in sizes[name].items():
                free[place.node][resource] -= size * count
        assert all(place.left[resource] == free[place.node][resource] for resource in ("cpu", "memory"))
    assert all(value >= 0 for each in free.values() for value in each.values())


@pytest.mark.slow
@given(small_scale_sets, small_nodes, st.integers(0, 6), st.integers(0, 6))
def test_a_node_more_never_lowers_the_safe_ceiling_and_one_less_never_raises_it(
    scale_sets: list[tuple[int, int, int]], nodes: list[tuple[int, int]], cpu: int, memory: int
) -> None:
    seen = small_world(scale_sets, nodes)
    added = planned(seen, {}, node_add=[f"name=new,like=n0,cpu={cpu},memory={memory}Gi"])
    drained = planned(seen, {}, node_drain=["n0"])
    for found, sign in ((added, 1), (drained, -1)):
        before, after = only(found)
        assert before.safe is not None
        assert after.safe is not None
        assert (after.safe.number - before.safe.number) * sign >= 0


@pytest.mark.parametrize(
    ("found", "other", "better"),
    [
        (None, Safe(3, is_proven=True), None),
        (Safe(3, is_proven=True), None, Safe(3, is_proven=True)),
        (Safe(3, is_proven=True), Safe(3, is_proven=False), Safe(3, is_proven=True)),
        (Safe(3, is_proven=False), Safe(4, is_proven=True), Safe(4, is_proven=False)),
    ],
)
def test_more_nodes_never_have_a_lower_safe_ceiling(
    found: Safe | None, other: Safe | None, better: Safe | None
) -> None:
    assert _better(found, other) == better
