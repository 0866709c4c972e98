"""A kept audit as a page shows it: bars that add up, boxes that add up, gates, causes; and changes tried on it."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.capacity.builders import CAPABILITY, GIB, NOW, decision, node, policy, scale_set, sized, snapshot
from tests.capacity.kept_audits import Home, busy

from remuda.capacity import kept
from remuda.capacity.answers import Bar, LabelBars, Picture, Planned, WhatIf
from remuda.capacity.decide.audit import audit
from remuda.capacity.decide.plan import try_changes
from remuda.capacity.show.picture import MOST_LABELS, MOST_NODES
from remuda.capacity.show.plan import planned
from remuda.capacity.snapshot import PODS, Unknown, Usage
from remuda.errors import BadInput, NotFound
from remuda.ledger import documents
from remuda.model.findings import Finding
from remuda.model.pods import Taint, Toleration
from remuda.output.causes import MOST_CASES, causes


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def shown(home: Home, number: int = 1, **query: object) -> Picture:
    found: Picture = home.ask(f"/v1/capacity/audits/{number}", **query)
    return found


def parts(bar: Bar) -> list[tuple[str, str, int]]:
    return [(part.name, part.kind, part.amount) for part in bar.parts]


def only(home: Home) -> LabelBars:
    (found,) = shown(home).labels
    return found


def test_a_bar_has_what_runs_what_is_free_and_what_sets_and_owners_may_have(home: Home) -> None:
    home.keep(busy(3), kvm=policy(ceiling=5, owners=[{"name": "platform", "lanes": ["docs"]}]))
    label = only(home)
    running, maxima, shares = label.bars
    assert (running.name, parts(running)) == ("running", [("vm-test", "running", 3), ("free", "free", 2)])
    assert (maxima.name, parts(maxima)) == (
        "maxima", [("vm-test", "maximum", 4), ("docs", "maximum", 1), ("docs", "over", 1)],
    )  # fmt: skip
    assert (shares.name, parts(shares)) == ("shares", [("platform", "share", 2), ("arc/vm-test", "share", 3)])
    assert label.errors == 3, "the ceiling, and two newcomers"
    assert (label.whole, label.headline) == (6, "nix-kvm runs 3 of at most 5: 2 more may start")


def test_what_is_above_the_ceiling_is_over(home: Home) -> None:
    home.keep(busy(7), kvm=policy(ceiling=4))
    assert parts(only(home).bars[0]) == [("vm-test", "running", 4), ("vm-test", "over", 3)]
    assert only(home).whole == 7


def test_without_a_ceiling_nothing_is_free_or_over(home: Home) -> None:
    home.keep(replace(busy(1), scale_sets=(scale_set(max=None),)), other=policy(label="other"))
    label = next(each for each in shown(home).labels if each.name == "nix-kvm")
    assert [bar.name for bar in label.bars] == ["running", "maxima"]
    assert parts(label.bars[0]) == [("vm-test", "running", 1)]
    assert [(part.amount, part.text) for part in label.bars[1].parts] == [(1, "at most ∞")]


def test_pods_that_were_not_read_have_no_bar_of_what_runs(home: Home) -> None:
    home.keep(busy(unknown=(Unknown(PODS, "forbidden"),)))
    found = shown(home)
    assert [bar.name for bar in found.labels[0].bars] == ["maxima", "shares"]
    assert found.unread == ("pods: forbidden",)
    assert found.label is not None
    assert all(part.kind != "others" for part in found.label.nodes[0].budgets[0].parts)
    assert found.label.sets[0].running is None


def test_boxes_of_a_node_add_up_to_what_it_has(home: Home) -> None:
    requested = {"cpu": 6_000, "memory": 10 * GIB, "pods": 3}
    used = Usage(requested, {}, {"arc/vm-test": 1}, {"arc/vm-test": {"cpu": 2_000, "memory": 8 * GIB}})
    home.keep(snapshot(scale_set(max=2), scale_set("docs"), node(), usage={"honey": used}))
    label = shown(home).label
    assert label is not None
    (box,) = label.nodes
    assert (box.name, box.role, box.is_admitted, box.running) == ("honey", "primary", True, ("vm-test 1",))
    for budget in box.budgets:
        assert sum(part.amount for part in budget.parts) == budget.whole
    cpu, memory, _ = box.budgets
    assert parts(Bar("", cpu.parts)) == [
        ("other pods", "others", 4_000),
        ("docs", "runner", 2_000),
        ("vm-test", "runner", 2_000),
        ("vm-test", "runner", 2_000),
        ("free", "free", 22_000),
    ]
    assert cpu.parts[0].text == "4 CPU of other pods"
    assert (memory.text, memory.parts[-1].text) == ("128Gi memory", "102Gi memory free")


def test_many_runners_of_a_set_are_one_box_and_too_much_is_over(home: Home) -> None:
    world = snapshot(
        scale_set(max=14, requests={"cpu": 1_000}), node(), usage={"honey": Usage({"cpu": 1_000, "memory": 200 * GIB})}
    )  # fmt: skip
    home.keep(world, kvm=policy(ceiling=20))
    label = shown(home).label
    assert label is not None
    cpu, memory, _ = label.nodes[0].budgets
    assert ("vm-test ×14", "runner", 14_000) in parts(Bar("", cpu.parts))
    assert memory.parts[-1].kind == "over"
    assert memory.parts[-1].text == "72Gi memory more than there is"


def test_nodes_beyond_those_that_matter_are_counted_by_their_reason(home: Home) -> None:
    nodes = [node(f"n-{number:03}") for number in range(MOST_NODES + 4)]
    home.keep(snapshot(scale_set(max=2), *nodes, node("other", labels={}), node("another", labels={})))
    label = shown(home).label
    assert label is not None
    assert len(label.nodes) == MOST_NODES
    assert [(each.count, each.role) for each in label.others] == [(4, "primary"), (2, "not-eligible")]
    assert "has not capability.example/kvm=true" in label.others[1].reason


def test_gates_come_with_their_evidence_for_each_envelope(home: Home) -> None:
    site = {"node": "sting", "envelopes": ["vm"], "admitted": decision(who="ada")}
    nodes = {"primary": {**CAPABILITY, "role": "primary"}, "overflow": [site]}
    envelope = {"name": "vm", "requests": sized("2", "8Gi", "4Gi"), "limits": sized("8", "16Gi", "8Gi")}
    carrying = scale_set(
        requests={"cpu": 2_000, "memory": 8 * GIB, "ephemeral-storage": 4 * GIB},
        limits={"cpu": 8_000, "memory": 16 * GIB, "ephemeral-storage": 8 * GIB},
        tolerations=(Toleration("overflow", "Exists"),),
    )
    sting = node("sting", taints=(Taint("overflow", "true", "NoSchedule"),))
    home.keep(snapshot(carrying, node(), sting), kvm=policy(nodes=nodes, envelopes=[envelope]))
    label = shown(home).label
    assert label is not None
    gates = {each.gate: each for each in label.gates}
    assert (gates["admission"].state, gates["admission"].evidence) == ("pass", "ada on 2026-11-01: it fits")
    assert gates["root-filesystem"].state == "unknown"
    assert gates["rollback"].scale_set == "arc/vm-test"
    assert gates["room"].node == "sting"
    assert "sting" in {each.name for each in label.nodes}, (
        "an overflow node is shown though it is not admitted"
    )
    assert label.envelopes == ("vm",)


def test_findings_of_one_rule_are_one_cause(home: Home) -> None:
    sets = [scale_set(f"s-{number:02}", max=None) for number in range(MOST_CASES + 3)]
    home.keep(snapshot(*sets, node()))
    cause = next(each for each in shown(home).causes if each.rule == "unbounded-set")
    assert (cause.severity, cause.count, len(cause.cases)) == ("error", MOST_CASES + 3, MOST_CASES)
    assert cause.means.startswith("The set has no maximum")
    assert cause.cases[0].fix == "set spec.maxRunners to 1"
    assert next(causes([Finding("capacity.of-tomorrow", "info", "x")])).means == ""


def test_the_label_with_errors_is_shown_in_full_unless_another_is_asked_for(home: Home) -> None:
    good = scale_set(labels=("aaa",), max=1, scope="x")
    home.keep(
        snapshot(good, scale_set("bad", max=None), node()),
        aaa=policy(label="aaa", evidence={"date": "2026-11-10", "fitted": 4}),
        kvm=policy(),
    )
    assert shown(home).chosen == "nix-kvm"
    assert shown(home, label="AAA").chosen == "aaa"
    with pytest.raises(NotFound, match='no kept audit knows a label "nix-kv"; did you mean nix-kvm'):
        shown(home, label="nix-kv")


def test_many_labels_are_counted(home: Home) -> None:
    sets = [scale_set(f"s-{number}", labels=(f"label-{number}",)) for number in range(MOST_LABELS + 2)]
    home.keep(snapshot(*sets, node()))
    found = shown(home)
    assert (len(found.labels), found.label_count) == (MOST_LABELS, MOST_LABELS + 3)
    assert found.labels[0].policy == "kvm", "those with a policy come first"


def test_an_audit_without_labels_is_shown_empty(home: Home) -> None:
    assert kept.keep(home.path, audit(snapshot(node()), (), {}, NOW), (), {}, NOW) == ""
    found = shown(home)
    assert (found.labels, found.label, found.chosen) == ((), None, "")


@pytest.mark.parametrize(("number", "says"), [(99, "no audit 99 is kept.*there is: 1"), (10**17, "no audit")])
def test_a_number_that_nobody_has_is_said(home: Home, number: int, says: str) -> None:
    home.keep()
    with pytest.raises(NotFound, match=says):
        shown(home, number)


def test_where_nothing_is_kept_the_command_is_named(home: Home) -> None:
    documents.keep(home.path, "rightsize/x", NOW, {})
    for question in (lambda: shown(home, 1), lambda: home.post(WhatIf())):
        with pytest.raises(NotFound, match="make one with remuda capacity audit"):
            question()


# What if


def test_changes_are_tried_on_a_kept_audit_as_the_command_tries_them(home: Home) -> None:
    world, rules = busy(1), {"kvm": policy()}
    home.keep(world)
    asked = WhatIf(1, (), ("vm-test.max=1",), (), ("6",), ("name=new,like=honey",), ("honey",))
    answer: Planned = home.post(asked)
    same = planned(try_changes(world, (), rules, asked.options(), NOW), 1)
    assert answer == same
    assert answer.changes == (
        "--set vm-test.max=1",
        "--ceiling 6",
        "--node-add name=new,like=honey",
        "--node-drain honey",
    )
    assert answer.document["schema"] == "remuda.dev/capacity-plan/v1"
    assert home.post(replace(asked, audit=0)) == answer, "0 is the newest"


def test_everything_wrong_with_changes_comes_at_once(home: Home) -> None:
    home.keep()
    with pytest.raises(BadInput) as wrong:
        home.post(WhatIf(sets=("vm-tst.max=3", "vm-test.max=many"), ceilings=("x",), drained=("hony",)))
    assert str(wrong.value).splitlines() == [
        '--set "vm-test.max=many": "many" is no whole number from 0 to 100,000, or unbounded',
        '--ceiling "x": "x" is no whole number from 0 to 100,000',
        '--set "vm-tst.max=3": there is no set vm-tst; did you mean vm-test?',
        '--node-drain "hony": there is no node hony; did you mean honey?',
    ]


def test_words_that_mean_nothing_are_refused_though_the_rest_is_right(home: Home) -> None:
    home.keep()
    with pytest.raises(BadInput) as wrong:
        home.post(WhatIf(sets=("vm-test.max=3",), ceilings=("x",)))
    assert str(wrong.value) == '--ceiling "x": "x" is no whole number from 0 to 100,000'


@pytest.mark.parametrize("asked", [WhatIf(sets=("a.max=1",) * 201), WhatIf(ceilings=("9" * 2_001,))])
def test_too_much_at_once_is_refused(home: Home, asked: WhatIf) -> None:
    home.keep()
    with pytest.raises(BadInput, match="too much at once: 200 changes of 2,000 letters"):
        home.post(asked)


def test_a_label_that_nobody_carries_is_marked(home: Home) -> None:
    home.keep()
    assert home.post(WhatIf(labels=("zzz",))).is_absent
    assert not home.post(WhatIf()).is_absent
