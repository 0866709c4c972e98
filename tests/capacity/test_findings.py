"""Findings: a world that is as it should be has none, and each rule is found by breaking one thing."""

import re
from typing import Any

import msgspec
import pytest
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

from remuda.capacity.codes import CODES, RULES
from remuda.capacity.decide.audit import Audit, audit
from remuda.capacity.decide.findings_placing import bound_text
from remuda.capacity.decide.neighbours import WHOLE_NODE
from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.snapshot import (
    EPHEMERAL,
    NODES,
    PODS,
    SCALE_SETS,
    SUMMARIES,
    Bare,
    Filesystem,
    Node,
    Quota,
    ScaleSet,
    Snapshot,
    Summary,
    Unknown,
    Usage,
)
from remuda.model.findings import Severity
from remuda.model.pods import Match, Taint, Term, Toleration
from remuda.model.times import DAY, read_instant
from remuda.output.findings import describe
from remuda.rules.packing import Bound

HOST = "kubernetes.io/hostname"
TAINT = Taint("overflow", "true", "NoSchedule")
DISK = Filesystem(500 * GIB, 400 * GIB, 1_000, 900)
IMAGE = "registry.example/closure:1"
PREFERS = (Term((Match("role", "In", ("primary",)),)),)

SMALL = {"requests": sized("2", "8Gi"), "limits": sized("8", "16Gi")}
LARGE = {"requests": sized("4", "20Gi", "24Gi"), "limits": sized("8", "30Gi", "40Gi")}
OVERFLOW: dict[str, Any] = {
    "node": "sting",
    "envelopes": ["large"],
    "admitted": decision(),
    "requested": sized("", "24Gi", "24Gi"),
    "limited": sized("", "40Gi", "40Gi"),
    "prewarm": {"image": IMAGE},
    "rollbacks": [{"lane": "vm-test"}],
}


def docs(**fields: Any) -> ScaleSet:
    return scale_set("docs", **fields)


def vm_test(**fields: Any) -> ScaleSet:
    given = {
        "requests": measured("4", "20Gi", "24Gi"),
        "limits": measured("8", "30Gi", "40Gi"),
        "tolerations": (Toleration("overflow", "Equal", "true", "NoSchedule"),),
        "preferred": PREFERS,
    }
    return scale_set("vm-test", **(given | fields))


def honey(**fields: Any) -> Node:
    return node("honey", **({"labels": CAPABILITY | {"role": "primary", HOST: "honey"}} | fields))


def sting(**fields: Any) -> Node:
    given = {"labels": CAPABILITY | {HOST: "sting"}, "taints": (TAINT,), "images": (IMAGE,)}
    return node("sting", cpu="32", memory="54Gi", ephemeral="66Gi", **(given | fields))


def herd(*parts: ScaleSet | Node, **fields: Any) -> Snapshot:
    """Two sets, a primary node and one for overflow; a part of the same name takes the place of one."""
    whole: dict[tuple[bool, str], ScaleSet | Node] = {
        (isinstance(part, ScaleSet), part.name): part
        for part in (docs(), vm_test(), honey(), sting(), *parts)
    }
    given = {"summaries": {"sting": Summary(DISK, DISK, NOW)}} | fields
    return snapshot(*whole.values(), **given)


def rules(**spec: Any) -> CapacityPolicySpec:
    """The policy that goes with it."""
    given = {
        "ceiling": 2,
        "envelopes": [{"name": "small", **SMALL}, {"name": "large", **LARGE}],
        "sets": [
            {"name": "docs", "max": 1, "envelope": "small"},
            {"name": "vm-test", "max": 1, "envelope": "large"},
        ],
        "nodes": {"primary": CAPABILITY, "overflow": [OVERFLOW]},
        "forbidden_labels": None,
        "evidence": {"date": "2026-11-10", "fitted": 2},
    }
    return policy(**(given | spec))


def overflow(**fields: Any) -> dict[str, Any]:
    """Its nodes, with something else about the overflow node."""
    return {"primary": CAPABILITY, "overflow": [OVERFLOW | fields]}


def judged(seen: Snapshot, spec: CapacityPolicySpec | None, *labels: str) -> Audit:
    return audit(seen, labels or (LABEL,), {"kvm": spec} if spec else {}, NOW)


def found(seen: Snapshot, spec: CapacityPolicySpec | None) -> list[tuple[str, Severity, str]]:
    return [(item.rule, item.severity, item.subject) for item in judged(seen, spec).findings]


def test_nothing_is_found_where_all_is_as_it_should_be() -> None:
    seen = judged(herd(), rules())
    assert seen.findings == ()
    assert [(role.role, role.admitted) for role in seen.contexts[0].roles] == [
        ("primary", True),
        ("overflow", True),
    ]


SET, VM = "AutoscalingRunnerSet arc/docs", "AutoscalingRunnerSet arc/vm-test"
POLICY, STING = "CapacityPolicy kvm", "Node sting"


@pytest.mark.parametrize(
    ("rule", "severity", "name", "parts", "spec"),
    [
        ("ceiling-exceeded", "error", POLICY, {}, {"ceiling": 1}),
        ("ceiling-above-evidence", "error", POLICY, {}, {"ceiling": 3}),
        ("evidence-too-old", "error", POLICY, {}, {"evidence": {"date": "2026-10-01", "fitted": 2}}),
        ("evidence-too-old", "error", POLICY, {}, {"evidence": {"date": "2027-10-01", "fitted": 2}}),
        ("evidence-too-old", "error", POLICY, {}, {"evidence": {"date": "2026-11-10", "fitted": 2, "maxAge": "5d"}}),
        ("ceiling-without-evidence", "warning", POLICY, {}, {"evidence": None}),
        ("unbounded-set", "error", SET, {"docs": docs(max=None)}, {}),
        ("minimum-not-zero", "error", SET, {"docs": docs(min=1)}, {}),
        ("newcomer-above-default", "error", SET, {"docs": docs(max=2)},
         {"sets": [{"name": "vm-test", "max": 1, "envelope": "large"}], "ceiling": 3, "evidence": {"date": "2026-11-10", "fitted": 3}}),
        ("set-above-its-share", "error", SET, {"docs": docs(max=2)}, {"ceiling": 3, "evidence": {"date": "2026-11-10", "fitted": 3}}),
        ("set-not-found", "info", POLICY, {}, {"sets": [{"name": "other", "max": 1}, {"name": "arc/docs", "max": 1}, {"name": "vm-test", "max": 1}]}),
        ("envelope-not-carried", "error", SET, {"docs": docs(requests=measured("2", "9Gi"))}, {}),
        ("envelope-not-carried", "warning", SET, {"docs": docs(limits=measured("4", "16Gi"))}, {}),
        ("repo-shaped-label", "error", SET, {"docs": docs(labels=(LABEL, "acme-docs"))}, {"forbiddenLabels": ["^acme-"]}),
        ("repo-shaped-label", "error", SET, {"docs": docs(labels=("docs-set", LABEL, "acme-docs"), own_labels=(LABEL, "acme-docs"))}, {"forbiddenLabels": ["^acme-"]}),
        ("missing-requests", "error", SET, {"docs": docs(requests=measured("2"))}, {}),
        ("missing-requests", "error", SET, {"docs": docs(requests=measured("", "8Gi"))}, {}),
        ("missing-limits", "error", SET, {"docs": docs(limits=measured("8"))}, {}),
        ("missing-ephemeral-storage", "error", SET, {},
         {"require": {"ephemeralStorage": True}}),
        ("set-outdated", "warning", SET, {"docs": docs(phase="Outdated")}, {}),
        ("implausible-amount", "error", SET, {"docs": docs(requests=measured("2", "1m"))},
         {"sets": [{"name": "docs", "max": 1}, {"name": "vm-test", "max": 1, "envelope": "large"}], "envelopes": [{"name": "large", **LARGE}]}),
        ("runners-refused", "error", SET, {"docs": docs(refused=("there is no PriorityClass x",))}, {}),
        ("node-name-set", "error", SET, {"docs": docs(node_name="honey")}, {}),
        ("placement-uncertain", "warning", SET, {"docs": docs(unsure=("its runners wait",))}, {}),
        ("missing-requests", "error", SET, {"docs": docs(bare=(Bare("requests", "memory", ("runner",)),))}, {}),
        ("missing-limits", "error", SET, {"docs": docs(bare=(Bare("limits", "memory", ("dind",)),))}, {}),
        ("missing-ephemeral-storage", "error", VM, {"vm-test": vm_test(bare=(Bare("limits", EPHEMERAL, ("dind",)),))}, {}),
        ("envelope-fits-nowhere", "error", POLICY, {},
         {"envelopes": [{"name": "small", **SMALL}, {"name": "large", **LARGE}, {"name": "huge", "requests": sized("64")}]}),
        ("selector-admits-other-node", "error", SET, {"docs": docs(node_selector={}), "bumble": node("bumble", labels={})}, {}),
        ("toleration-admits-other-node", "error", SET, {"docs": docs(tolerations=(Toleration("gpu", "Exists"),), node_selector={"kubernetes.io/os": "linux"}),
          "honey": honey(labels=CAPABILITY | {"role": "primary", "kubernetes.io/os": "linux"}),
          "bumble": node("bumble", labels={"kubernetes.io/os": "linux"}, taints=(Taint("gpu", "", "NoSchedule"),))}, {}),
        ("hostname-in-selector", "info", SET, {"docs": docs(node_selector=CAPABILITY | {HOST: "honey"})}, {}),
        ("hostname-in-selector", "error", SET, {"docs": docs(node_selector={HOST: "honey"})}, {}),
        ("hostname-in-selector", "error", SET, {"docs": docs(required=(Term(match_fields=(Match("metadata.name", "In", ("honey",)),)),), node_selector={})}, {}),
        ("hostname-in-selector", "info", SET, {"docs": docs(required=(Term((Match(HOST, "In", ("honey",)),)),))}, {}),
        ("limit-exceeds-node", "warning", SET, {"docs": docs(limits=measured("8", "200Gi"))},
         {"sets": [{"name": "docs", "max": 1}, {"name": "vm-test", "max": 1, "envelope": "large"}], "envelopes": [{"name": "large", **LARGE}]}),
        ("overflow-gate", "error", POLICY, {}, {"nodes": overflow(prewarm={"image": "another:1"})}),
        ("overflow-gate", "error", POLICY, {}, {"nodes": overflow(admitted=decision(until="2026-11-02"))}),
        ("overflow-gate", "error", POLICY, {}, {"nodes": overflow(rollbacks=[])}),
        ("overflow-not-preferring-primary", "error", VM, {"vm-test": vm_test(preferred=())}, {}),
        ("overflow-not-preferring-primary", "error", VM, {"vm-test": vm_test(preferred=(Term((Match("capability.example/kvm", "Exists"),)),))}, {}),
        ("overflow-without-guardrails", "error", POLICY, {}, {"nodes": overflow(requested=sized("", "", "24Gi"))}),
        ("overflow-without-guardrails", "error", POLICY, {}, {"nodes": overflow(limited=sized("", "40Gi"))}),
        ("overflow-node-not-found", "warning", POLICY, {}, {"nodes": {"primary": CAPABILITY, "overflow": [OVERFLOW, OVERFLOW | {"node": "bumble"}]}}),
    ],
)  # fmt: skip
def test_each_rule_is_found_by_what_breaks_it(
    rule: str, severity: Severity, name: str, parts: dict[str, ScaleSet | Node], spec: dict[str, Any]
) -> None:
    made = judged(herd(*parts.values()), rules(**spec))
    for item in made.findings:
        # a term that no finding has would be a dash
        said = " ".join(re.sub(r"\[[^\[\]]*\{[^\[\]]*\]", "", text) for text in CODES[item.code][1:])
        assert set(re.findall(r"\{(\w+)", said)) <= {"field", *item.terms}
    seen = found(herd(*parts.values()), rules(**spec))
    if rule == "unbounded-set":  # without an end it is above every ceiling
        seen.remove(("ceiling-exceeded", "error", POLICY))
    assert seen == [(rule, severity, name)]


def runners(
    on: str, number: int, memory: str = "8Gi", of: str = "arc/vm-test", limit: str = "8Gi"
) -> dict[str, Usage]:
    taken = {key: value * number for key, value in (measured("2", memory, "8Gi") | {"pods": 1}).items()}
    limits = {key: value * number for key, value in measured("2", limit, "8Gi").items()}
    return {on: Usage(taken, limits, {of: number}, {of: taken}, {of: limits})}


@pytest.mark.parametrize(
    ("rule", "name", "usage"),
    [
        ("running-above-ceiling", POLICY, runners("honey", 3)),
        ("too-much-overflow", STING, runners("sting", 2)),
        ("overflow-above-guardrails", STING, runners("sting", 1, "25Gi")),
        ("overflow-above-guardrails", STING, runners("sting", 1, limit="41Gi")),
    ],
)
def test_what_runs_now_is_held_against_the_policy(rule: str, name: str, usage: dict[str, Usage]) -> None:
    assert found(herd(usage=usage), rules()) == [(rule, "error", name)]


def test_runners_of_others_are_not_held_against_it() -> None:
    assert found(herd(usage=runners("sting", 3, "1Gi", "other/set")), rules()) == []


def test_a_set_above_the_guardrails_of_overflow_is_found() -> None:
    large = vm_test(requests=measured("4", "30Gi", "24Gi"))
    seen = found(herd(large), rules(sets=[{"name": "docs", "max": 1}]))
    assert ("overflow-above-guardrails", "error", VM) in seen


def test_a_set_that_overflows_must_give_local_storage() -> None:
    seen = found(herd(vm_test(limits=measured("8", "30Gi"))), rules())
    assert ("missing-ephemeral-storage", "error", VM) in seen


def test_a_name_of_a_node_that_is_not_primary_is_an_error_beside_the_capability_too() -> None:
    seen = found(herd(vm_test(node_selector=CAPABILITY | {HOST: "sting"})), rules())
    assert ("hostname-in-selector", "error", VM) in seen


@pytest.mark.parametrize(
    ("primary", "selector"),
    [
        (CAPABILITY | {HOST: "honey"}, CAPABILITY | {HOST: "honey"}),
        ({HOST: "honey"}, {HOST: "honey"}),
        (CAPABILITY | {"role": "primary"}, CAPABILITY | {HOST: "honey"}),
    ],
)
def test_a_set_that_selects_what_the_policy_names_gets_no_finding(
    primary: dict[str, str], selector: dict[str, str]
) -> None:
    seen = snapshot(docs(node_selector=selector), honey())
    spec = policy(
        ceiling=1, nodes={"primary": primary}, evidence={"date": "2026-11-10", "fitted": 1}, sets=[{"name": "docs", "max": 1}]
    )  # fmt: skip
    expected = [] if HOST in primary else [("hostname-in-selector", "info", SET)]
    assert found(seen, spec) == expected


def test_a_quota_by_a_class_that_a_set_does_not_carry_is_found() -> None:
    quotas = (Quota(docs().namespace, "q", ("kvm",), "kvm"), Quota("other", "q", ("kvm",), "kvm"))
    classed = vm_test(priority_class="kvm")
    assert found(herd(classed, quotas=quotas), rules()) == [("quota-counts-nothing", "warning", SET)]
    assert found(herd(classed), rules(priorityClass="kvm")) == [("quota-counts-nothing", "warning", SET)]
    others = (Quota(docs().namespace, "q", ("kvm",), "other"), Quota("other", "q", ("kvm",), "kvm"))
    assert found(herd(classed, quotas=others), rules()) == []
    assert found(herd(classed), rules()) == []


@pytest.mark.parametrize(
    ("waiver", "severity"),
    [
        ({"until": "2026-11-16"}, "info"),
        ({"until": "2026-11-15"}, "error"),
        ({"until": "2026-12-01", "set": "arc/docs"}, "info"),
        ({"until": "2026-12-01", "set": "vm-test"}, "error"),
        ({"until": "2026-12-01", "rule": "unbounded-set"}, "error"),
    ],
)
def test_a_finding_may_be_accepted_until_a_day(waiver: dict[str, str], severity: Severity) -> None:
    waivers = [decision(rule="node-name-set") | waiver]
    (item_found,) = judged(herd(docs(node_name="honey")), rules(waivers=waivers)).findings
    assert (item_found.rule, item_found.severity) == ("node-name-set", severity)
    assert ("accepted by ada until" in describe(item_found).found) == (severity == "info")


def test_a_set_that_is_being_deleted_is_named() -> None:
    seen = found(herd(leaving=("arc/old",)), rules())
    assert seen == [("set-being-deleted", "info", "arc/old")]


def test_nothing_keeps_two_runners_off_an_overflow_node() -> None:
    two = vm_test(max=2)
    spec = rules(
        ceiling=3,
        evidence={"date": "2026-11-10", "fitted": 3},
        sets=[{"name": "docs", "max": 1}, {"name": "vm-test", "max": 2, "envelope": "large"}],
    )
    assert found(herd(two), spec) == [("overflow-not-bounded", "warning", STING)]


def test_a_set_that_fits_no_admitted_node_gets_the_reason() -> None:
    seen = judged(herd(docs(requests=measured("2", "300Gi"))), rules(sets=[{"name": "vm-test", "max": 1}]))
    item_found = next(item for item in seen.findings if item.rule == "envelope-fits-nowhere")
    assert item_found.subject == SET
    assert (
        "honey is too small: has 128Gi memory, and a runner asks for 300Gi memory"
        in describe(item_found).found
    )


def test_a_set_that_only_others_leave_no_room_for_gets_that_reason() -> None:
    full = {"honey": Usage({"cpu": 31_000, "pods": 3}), "sting": Usage({"cpu": 31_000, "pods": 3})}
    seen = judged(herd(usage=full), rules())
    item_found = [item for item in seen.findings if item.rule == "envelope-fits-nowhere"]
    assert [item.subject for item in item_found] == [SET, VM]
    assert (
        "honey is too full: 1 CPU left of 32 CPU, and a runner asks for 2 CPU"
        in describe(item_found[0]).found
    )


def test_a_set_with_no_runners_need_not_fit() -> None:
    assert found(herd(docs(requests=measured("200", "8Gi"), max=0)), rules(sets=[{"name": "vm-test", "max": 1, "envelope": "large"}])) == []  # fmt: skip


def test_the_ceiling_of_sums_is_not_that_of_packing() -> None:
    """Two runners of 32Gi have 64Gi between two nodes of 40Gi with 8Gi taken each, and three have not."""
    nodes = [node(name, memory="40Gi") for name in ("one", "two")]
    three = scale_set("large", max=3, requests=measured("1", "26Gi"))
    seen = judged(snapshot(three, *nodes), None)
    item_found = [item for item in seen.findings if item.rule == "aggregate-does-not-fit"]
    assert len(item_found) == 1
    assert (
        "of 3 runners of arc/large at most 2 fit at a time: not enough memory"
        in describe(item_found[0]).found
    )
    assert (
        judged(snapshot(scale_set("large", max=2, requests=measured("1", "26Gi")), *nodes), None).findings
        == ()
    )


def test_overflow_takes_only_as_many_as_are_allowed() -> None:
    """Five would fit on sting; the policy lets one be there."""
    small = vm_test(max=40, requests=measured("4", "8Gi", "8Gi"), limits=measured("8", "8Gi", "8Gi"))
    spec = rules(
        ceiling=41, evidence={"date": "2026-11-10", "fitted": 41},
        envelopes=[{"name": "small", **SMALL}, {"name": "large", "requests": sized("4", "8Gi", "8Gi"), "limits": sized("8", "8Gi", "8Gi")}],
        sets=[{"name": "docs", "max": 1}, {"name": "vm-test", "max": 40, "envelope": "large"}],
    )  # fmt: skip
    item_found = next(
        item for item in judged(herd(small), spec).findings if item.rule == "aggregate-does-not-fit"
    )
    assert "of 40 runners of arc/vm-test at most 9 fit" in describe(item_found).found


@pytest.mark.parametrize(
    ("until", "is_found"), [("2026-11-16", False), ("2026-11-15", True), ("2026-11-16T11:00:00Z", True)]
)  # fmt: skip
def test_a_decision_for_a_warm_pool_counts_until_its_day_is_over(until: str, is_found: bool) -> None:
    warm = decision(until=until)
    sets = [
        {"name": "docs", "max": 1, "envelope": "small", "warmPool": warm},
        {"name": "vm-test", "max": 1, "envelope": "large"},
    ]
    expected = [("minimum-not-zero", "error", SET)] if is_found else []
    assert found(herd(docs(min=1)), rules(sets=sets)) == expected


def test_a_name_that_is_also_among_the_labels_of_a_set_is_judged() -> None:
    named = docs(labels=("acme-docs", LABEL), own_labels=("acme-docs", LABEL))
    assert found(herd(named), rules(forbiddenLabels=["^acme-"])) == [("repo-shaped-label", "error", SET)]


def test_a_gate_reports_what_it_is_about() -> None:
    seen = judged(
        herd(summaries={"sting": Summary(DISK, Filesystem(100 * GIB, GIB, 10, 9), NOW)}),
        rules(nodes=overflow(prewarm={"image": "another:1"}, rollbacks=[])),
    )
    gates = [(item.subject, item.field) for item in seen.findings if item.rule == "overflow-gate"]
    assert gates == [
        (POLICY, "spec.nodes.overflow[0].prewarm"),
        (POLICY, "spec.nodes.overflow[0].rollbacks"),
        (STING, "stats/summary node.runtime.imageFs"),
    ]


def test_an_audit_that_could_not_read_scale_sets_does_not_report_that_all_is_well() -> None:
    spec = rules(nodes={"primary": CAPABILITY})
    forbidden = judged(snapshot(honey(), unknown=(Unknown(SCALE_SETS, "may not list"),)), spec)
    assert [(item.rule, item.severity) for item in forbidden.findings] == [("not-read", "error")]
    (label,) = forbidden.labels
    assert (label.max, label.requests, label.packing, label.is_known) == (None, None, None, False)
    absent = judged(snapshot(honey(), unknown=(Unknown(SCALE_SETS, "no such kind", is_absent=True),)), spec)
    assert [item.severity for item in absent.findings if item.rule == "not-read"] == ["info"]
    assert absent.labels[0].max == 0


def test_a_node_lists_the_labels_of_primary_nodes_it_lacks() -> None:
    spec = rules(nodes={"primary": CAPABILITY | {"role": "primary"}})
    bumble = node("bumble", labels=CAPABILITY)
    (context,) = judged(herd(bumble), spec).contexts
    reasons = {item.name: role.reason for item, role in zip(context.ground.nodes, context.roles, strict=True)}
    assert reasons["bumble"] == "has not role=primary, and is no overflow node of the policy"
    assert [role.admitted for role in context.roles] == [True, False, False]


def test_names_of_sets_and_urls_may_carry_owners() -> None:
    """Judged are the labels that workflows target: the name of a set that was given labels is none."""
    owned = docs(labels=("acme-docs", LABEL), own_labels=(LABEL,), scope="https://github.com/acme/docs")
    assert found(herd(owned), rules(forbiddenLabels=["^acme-"])) == []


def test_a_cordoned_primary_node_is_not_admitted() -> None:
    seen = judged(herd(honey(cordoned=True)), rules())
    role = seen.contexts[0].roles[0]
    assert (role.role, role.admitted, role.reason) == ("primary", False, "is cordoned")


def test_a_gate_that_does_not_hold_closes_the_node() -> None:
    seen = judged(herd(), rules(nodes=overflow(prewarm={"image": "another:1"})))
    role = seen.contexts[0].roles[1]
    assert (role.role, role.admitted) == ("overflow", False)
    assert "gate prewarm does not hold" in role.reason


def test_where_no_set_can_be_a_gate_is_in_nobodys_way() -> None:
    apart = vm_test(tolerations=(), preferred=())
    seen = found(herd(apart), rules(nodes=overflow(prewarm={"image": "another:1"})))
    assert seen == [("overflow-gate", "warning", POLICY)]


def test_without_a_policy_each_node_says_whether_a_set_can_run_there_and_why_not() -> None:
    nodes = [
        honey(),
        sting(),
        node("bumble", labels={}),
        node("away", ready=False),
        node("tiny", cpu="1"),
    ]
    seen = judged(snapshot(docs(), *nodes), None)
    roles = {node.name: role for node, role in zip(seen.snapshot.nodes, seen.contexts[0].roles, strict=True)}
    assert {name: role.admitted for name, role in roles.items()} == {
        "honey": True, "sting": False, "bumble": False, "away": False, "tiny": False
    }  # fmt: skip
    assert {name: role.reason for name, role in roles.items() if not role.admitted} == {
        "sting": "has the taint overflow=true:NoSchedule, which is not tolerated",
        "bumble": "has no label capability.example/kvm=true",
        "away": "is not ready",
        "tiny": "is too small: has 1 CPU, and a runner asks for 2 CPU",
    }
    assert seen.findings == ()


def test_without_a_policy_what_cannot_be_counted_is_a_warning() -> None:
    seen = found(snapshot(docs(requests={}, limits={}, min=1), honey()), None)
    assert seen == [
        ("minimum-not-zero", "warning", SET),
        ("missing-limits", "warning", SET),
        ("missing-requests", "warning", SET),
    ]


@pytest.mark.parametrize(
    ("asked", "hint"),
    [("nix-kv", "did you mean nix-kvm?"), ("NIX-KV", "did you mean nix-kvm?"), ("kvm", "did you mean nix-kvm?"), ("gpu", "there is: nix-kvm")],
)  # fmt: skip
def test_a_label_that_nobody_carries_is_reported_with_near_misses(asked: str, hint: str) -> None:
    (item_found,) = judged(herd(), None, asked).findings
    assert (item_found.rule, item_found.severity, describe(item_found).fix) == (
        "label-not-found",
        "error",
        hint,
    )


def test_a_label_is_one_however_its_letters_are_cased() -> None:
    seen = snapshot(docs(), scale_set("shouted", labels=(LABEL.upper(),), max=2), honey())
    for labels in ((LABEL,), ("Nix-KVM",)):
        (label,) = audit(seen, labels, {"kvm": rules(ceiling=3)}, NOW).labels
        assert (label.max, label.ceiling) == (3, 3)
    (label,) = audit(seen, (), {}, NOW).labels
    assert (label.name, label.max) == (LABEL, 3)


def test_a_policy_may_wait_for_its_first_set() -> None:
    seen = audit(snapshot(honey()), (), {"kvm": policy(evidence={"date": "2026-11-10", "fitted": 4})}, NOW)
    assert [(item.rule, item.severity) for item in seen.findings] == [("label-not-found", "warning")]


def test_every_label_is_audited_when_none_is_asked_for() -> None:
    seen = audit(snapshot(docs(labels=("b", "a")), scale_set("other", labels=("c",)), honey()), (), {}, NOW)
    assert [label.name for label in seen.labels] == ["a", "b", "c"]
    assert len(seen.scale_sets) == 2


def test_what_several_labels_say_of_one_set_is_reported_once() -> None:
    seen = audit(snapshot(docs(labels=("a", "b"), max=None), honey()), (), {}, NOW)
    assert [item.rule for item in seen.findings] == ["unbounded-set"]


@pytest.mark.parametrize("part", [NODES, PODS, SCALE_SETS, SUMMARIES])
def test_nothing_is_concluded_from_what_was_not_read(part: str) -> None:
    """An empty part that is unknown leads to no finding but that."""
    whole = herd()
    fields: dict[str, dict[str, Any]] = {
        NODES: {"nodes": ()},
        PODS: {"usage": {}},
        SCALE_SETS: {"scale_sets": ()},
        SUMMARIES: {"summaries": {}},
    }
    seen = msgspec.structs.replace(whole, unknown=(Unknown(part, "may not list it"),), **fields[part])
    rules_found = {item.rule for item in judged(seen, rules()).findings}
    # a gate that is not known to hold does not
    assert rules_found - {"overflow-gate"} == {"not-read"}
    assert ("overflow-gate" in rules_found) == (part == SUMMARIES)


@pytest.mark.parametrize(
    ("item", "spec", "severities"),
    [
        pytest.param(Unknown(NODES, "no"), {}, ["info"], id="nodes"),
        pytest.param(Unknown(NODES, "no", is_quiet=True), {}, [], id="what is not to be reported"),
        pytest.param(Unknown(SUMMARIES, "no"), {}, ["info"], id="kubelets, where there is an overflow node"),
        pytest.param(
            Unknown(SUMMARIES, "no"), {"nodes": {"primary": CAPABILITY}}, [], id="where there is none"
        ),
        pytest.param(Unknown(SCALE_SETS, "no"), {}, ["error"], id="scale sets"),
        pytest.param(
            Unknown(SCALE_SETS, "no", is_absent=True), {}, ["info"], id="scale sets that cannot be there"
        ),
    ],
)
def test_what_was_not_read_is_reported_where_it_matters(
    item: Unknown, spec: dict[str, Any], severities: list[str]
) -> None:
    seen = judged(herd(unknown=(item,)), rules(**spec))
    assert [each.severity for each in seen.findings if each.rule == "not-read"] == severities


@pytest.mark.parametrize(
    ("bare", "missing"),
    [
        pytest.param((), "requests and limits", id="the runner as a whole"),
        pytest.param(("dind",), "requests and limits of container dind", id="one container"),
        pytest.param(("dind", "log"), "requests and limits of containers dind, log", id="two"),
    ],
)
def test_containers_without_local_storage_are_named(bare: tuple[str, ...], missing: str) -> None:
    lacking = docs(bare=(Bare("limits", EPHEMERAL, bare),))
    seen = judged(herd(lacking), rules(require={"ephemeralStorage": True}))
    (one,) = [item for item in seen.findings if item.rule == "missing-ephemeral-storage"]
    assert describe(one).found == f"no {missing} for ephemeral-storage"
    assert describe(one).expected == "both given, since the policy requires it"


def test_a_set_that_may_overflow_gets_that_as_the_reason_for_local_storage() -> None:
    seen = judged(herd(vm_test(limits=measured("8", "30Gi"))), rules())
    (one,) = [item for item in seen.findings if item.rule == "missing-ephemeral-storage"]
    assert describe(one).expected == "both given, since the set may be on an overflow node"


@pytest.mark.parametrize(
    ("date", "when"),
    [("2026-10-01", "of 2026-10-01, 46 days ago"), ("2027-10-01", "of 2027-10-01, which is in the future")],
)
def test_evidence_says_how_old_it_is(date: str, when: str) -> None:
    (one,) = judged(herd(), rules(evidence={"date": date, "fitted": 2})).findings
    assert describe(one).found == when


def test_of_labels_that_are_alike_five_are_named_and_of_all_ten() -> None:
    many = snapshot(*(scale_set(f"s{n}", labels=(f"runner-{n:02}",)) for n in range(12)), honey())
    (one,) = judged(many, None, "runner").findings
    assert len(str(one.terms["alike"]).split(", ")) == 5
    (one,) = judged(many, None, "runnex-0").findings
    assert len(str(one.terms["alike"]).split(", ")) == 3
    assert str(one.terms["known"]).endswith("runner-09 and 2 more")


@pytest.mark.parametrize(
    ("storage", "placement"),
    [
        pytest.param("", "cannot fit", id="a node that has none"),
        pytest.param("48Gi", "cannot fit", id="one that has twice what is allowed"),
        pytest.param("24Gi", "cannot fit", id="one that has what is allowed"),
    ],
)
def test_guardrails_give_a_node_nothing_that_it_does_not_have(storage: str, placement: str) -> None:
    """Two runners of 24Gi, a guardrail of 24Gi, and no room on the primary node."""
    room = node(
        "sting", "32", "54Gi", storage, labels=CAPABILITY | {HOST: "sting"}, taints=(TAINT,), images=(IMAGE,)
    )
    full = honey(allocatable=measured("32", "128Gi") | {"pods": 110})
    (label,) = judged(herd(docs(max=0), vm_test(max=2), room, full), rules()).labels
    assert label.placement == placement


def test_a_byte_of_what_an_overflow_node_does_not_have_does_not_fit() -> None:
    full = honey(allocatable=measured("32", "128Gi") | {"pods": 110})
    one = vm_test(requests=measured("4", "20Gi") | {EPHEMERAL: 1})
    for there, placement in ((sting(), "fits"), (sting(allocatable=full.allocatable), "cannot fit")):
        (label,) = judged(herd(docs(max=0), one, there, full), rules()).labels
        assert label.placement == placement


def test_unknown_pods_leave_what_runs_unknown() -> None:
    (label,) = judged(herd(unknown=(Unknown(PODS, "no"),)), rules()).labels
    assert (label.running, label.pending) == (None, None)


def test_a_name_alone_means_all_sets_of_it_but_those_that_another_owner_names_in_full() -> None:
    scale_sets = [scale_set("a", namespace=place, max=1) for place in ("one", "three", "two")]
    owners = [{"name": "ada", "lanes": ["a"]}, {"name": "bob", "lanes": ["two/a"]}]
    (label,) = judged(snapshot(*scale_sets, honey()), rules(owners=owners)).labels
    assert [(owner.name, owner.lanes) for owner in label.owners] == [
        ("ada", ("one/a", "three/a")),
        ("bob", ("two/a",)),
    ]


def test_owners_share_the_ceiling_by_guarantee_priority_and_weight() -> None:
    scale_sets = [scale_set(name, max=4) for name in ("a", "b", "c")]
    owners = [
        {"name": "one", "lanes": ["a"], "guaranteed": 2},
        {"name": "two", "lanes": ["arc/b"], "priority": 1},
    ]
    (label,) = judged(snapshot(*scale_sets, honey()), rules(ceiling=6, owners=owners)).labels
    assert [(owner.name, owner.wants, owner.share) for owner in label.owners] == [
        ("one", 4, 2),
        ("two", 4, 4),
        ("arc/c", 4, 0),
    ]


def test_runners_that_are_there_are_not_taken_away() -> None:
    scale_sets = [scale_set(name, max=4) for name in ("a", "b")]
    owners = [{"name": "one", "lanes": ["a"], "guaranteed": 3}, {"name": "two", "lanes": ["b"]}]
    seen = snapshot(*scale_sets, honey(), usage=runners("honey", 3, of="arc/b"))
    (label,) = judged(seen, rules(ceiling=4, owners=owners)).labels
    assert [(owner.name, owner.running, owner.share) for owner in label.owners] == [
        ("one", 0, 1),
        ("two", 3, 3),
    ]


def test_what_is_neither_shown_nor_refuted_says_so() -> None:
    """Of 35 and 32 a node of 100 takes one and two; 21 and 39 pass every bound on 20 nodes, and do not fit."""
    scale_sets = [
        scale_set(f"set-{size}", max=number, requests={"cpu": size, "memory": 2**20})
        for size, number in ((35, 21), (32, 39))
    ]
    nodes = [Node(f"node-{at}", CAPABILITY, allocatable={"cpu": 100, "memory": 64 * GIB}) for at in range(20)]
    (item_found,) = judged(snapshot(*scale_sets, *nodes), None).findings
    assert (item_found.rule, item_found.severity) == ("aggregate-placement-not-found", "warning")
    assert describe(item_found).found.startswith("no placement found for ")


def test_every_rule_is_tested(request: pytest.FixtureRequest) -> None:
    source = request.path.read_text(encoding="utf-8")
    assert [rule for rule in RULES if f'"{rule}"' not in source] == []


def test_what_is_not_required_is_not_missed() -> None:
    require = {"requests": False, "limits": False}
    spec = rules(require=require, sets=[{"name": "docs", "max": 1}, {"name": "vm-test", "max": 1}])
    rules_found = {item.rule for item in judged(herd(docs(requests={}, limits={})), spec).findings}
    assert rules_found.isdisjoint({"missing-requests", "missing-limits"})


def test_without_nodes_nothing_is_said_of_what_fits() -> None:
    made = judged(snapshot(docs(), unknown=(Unknown(NODES, "not read"),)), None)
    assert made.labels[0].placement == "unknown"


def test_a_set_that_tolerates_everything_does_not_tolerate_the_overflow_node_by_its_key() -> None:
    greedy = vm_test(tolerations=(Toleration(operator="Exists"),))
    (found,) = [
        item for item in judged(herd(greedy), rules()).findings if item.terms.get("gate") == "toleration"
    ]
    assert (found.rule, found.subject) == ("overflow-gate", VM)
    assert found.field == "spec.template.spec.tolerations"


def test_where_no_node_is_admitted_that_is_why_nothing_fits() -> None:
    seen = judged(snapshot(docs(), node("other", labels={})), rules(nodes={"primary": CAPABILITY}))
    (found,) = [
        item for item in seen.findings if item.subject == SET and item.rule == "envelope-fits-nowhere"
    ]
    assert found.terms["why"] == "there is no admitted node"


def test_of_many_nodes_that_are_too_small_a_few_are_named() -> None:
    small = [node(f"n{at:02}", memory="4Gi", labels=CAPABILITY) for at in range(60)]
    seen = judged(snapshot(docs(), *small), rules(nodes={"primary": CAPABILITY}))
    (found,) = [
        item for item in seen.findings if item.subject == SET and item.rule == "envelope-fits-nowhere"
    ]
    assert found.terms["why"] == "n00 is too small: has 4Gi memory, and a runner asks for 8Gi memory"


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (Bound("sum", ("a",), "host port 80", 3 * WHOLE_NODE, 2 * WHOLE_NODE), "a need 3 nodes with host port 80, and 2 have it"),
        (Bound("sum", ("a", "b"), "memory", 3 * GIB, 2 * GIB), "a, b ask for 3Gi memory, and 2Gi memory can be used"),
        (Bound("sum", ("a",), "limits of memory", 3 * GIB, GIB), "a ask for limits that come to 3Gi memory, and 1Gi memory can be used"),
        (Bound("count", ("a",), "", 3, 0), "no node is admitted for a"),
        (Bound("count", ("a",), "limits of memory", 3, 1), "of 3 runners of a at most 1 fit at a time: not enough room under the limits of memory"),
        (Bound("search", ("a",), "", 3, 2), "every placement of a was tried"),
    ],
)  # fmt: skip
def test_a_bound_says_what_runs_out(bound: Bound, text: str) -> None:
    assert bound_text(bound) == text


def test_a_name_that_is_avoided_ties_nobody_to_a_node() -> None:
    avoiding = docs(required=(Term((Match(HOST, "NotIn", ("sting",)),)),))
    assert "hostname-in-selector" not in {item.rule for item in judged(herd(avoiding), rules()).findings}


@pytest.mark.parametrize(("free", "placement"), [(6, "fits"), (None, "cannot fit")])
def test_what_does_not_fit_on_some_nodes_is_tried_on_all(free: int | None, placement: str) -> None:
    """Twice two runners and one more are five nodes: only a sixth has room."""
    nodes = [node(f"n{at}", labels=CAPABILITY) for at in range(1, 7)]
    full = {each.name: Usage(requested=dict(each.allocatable)) for each in nodes if each.name != f"n{free}"}
    seen = snapshot(docs(), scale_set("lint"), *nodes, usage=full)
    assert judged(seen, None).labels[0].placement == placement


def test_what_limits_over_commit_is_said_of_a_node_beside_what_others_may_use() -> None:
    """On 32Gi four of 8Gi fit; with limits of 16Gi they may use 64Gi, and two runners of their own do not count twice."""
    own = {"memory": 32 * GIB}
    used = Usage(
        requested={"memory": 16 * GIB, "pods": 2},
        limits=own,
        runners={"arc/docs": 2},
        runner_requests={"arc/docs": {"memory": 16 * GIB, "pods": 2, "gone": 1}},
        runner_limits={"arc/docs": own, "arc/other": {"memory": GIB}},
    )
    for usage in ({}, {"honey": used}):
        made = judged(snapshot(docs(max=4), node("honey", memory="32Gi"), usage=usage), None)
        (context,) = made.contexts
        (alike,) = context.alike
        assert alike.fits[0] == 4
        assert context.overcommitted(alike, 0) == context.overcommitted(alike, 0) == ("memory",)
        assert context.overcommitted(alike, 7) == ()


def test_limits_that_own_runners_have_now_leave_room_for_those_that_fit() -> None:
    even = docs(max=4, requests=measured("2", "8Gi"), limits=measured("2", "8Gi"))
    own = measured("2", "8Gi")
    used = Usage(own | {"pods": 1}, own, {"arc/docs": 1}, {"arc/docs": own | {"pods": 1}}, {"arc/docs": own})
    (context,) = judged(snapshot(even, node("honey", "8", "32Gi"), usage={"honey": used}), None).contexts
    (alike,) = context.alike
    assert alike.fits[0] == 4
    assert context.overcommitted(alike, 0) == ()


def test_without_a_policy_no_node_is_primary() -> None:
    (context,) = judged(herd(), None).contexts
    assert (context.primary, context.overflow) == (0, 0)


def test_a_node_that_is_full_is_usable_and_one_that_is_too_small_is_not() -> None:
    full = node("honey")
    usage = {"honey": Usage(requested=dict(full.allocatable))}
    (context,) = judged(snapshot(docs(), full, node("tiny", memory="1Gi"), usage=usage), None).contexts
    assert context.usable == 0b01


def test_a_set_without_runners_asks_for_nothing_and_has_none() -> None:
    (label,) = judged(herd(docs(max=0)), rules()).labels
    assert label.requests == measured("4", "20Gi", "24Gi")
    assert {owner.name: owner.running for owner in label.owners} == {"arc/docs": 0, "arc/vm-test": 0}


def test_what_kubelets_say_matters_where_one_of_several_labels_overflows() -> None:
    seen = herd(scale_set("other", labels=("plain",)), unknown=(Unknown(SUMMARIES, "no"),))
    found_rules = {item.rule for item in audit(seen, (LABEL, "plain"), {"kvm": rules()}, NOW).findings}
    assert "not-read" in found_rules


@pytest.mark.parametrize(
    ("age", "is_old"),
    [
        pytest.param(5 * DAY, False, id="as old as it may be"),
        pytest.param(5 * DAY + 1, True, id="older"),
        pytest.param(-DAY, False, id="of tomorrow, which it is somewhere"),
        pytest.param(-DAY - 1, True, id="of a later day"),
    ],
)
def test_evidence_holds_for_its_age(age: int, is_old: bool) -> None:
    made = read_instant("2026-11-10")
    spec = rules(evidence={"date": "2026-11-10", "fitted": 2, "maxAge": "5d"})
    seen = audit(herd(), (LABEL,), {"kvm": spec}, made + age)
    assert ("evidence-too-old" in {item.rule for item in seen.findings}) is is_old


def test_runners_that_take_all_that_guardrails_allow_are_fine() -> None:
    assert found(herd(usage=runners("sting", 1, "24Gi", limit="40Gi")), rules()) == []


def test_guardrails_of_limits_bound_how_many_fit() -> None:
    """Two of 10Gi fit 40Gi of requests; two with limits of 30Gi do not fit 40Gi, and the primary node has no room."""
    wide = overflow(mostRunners=2, requested=sized("", "40Gi", "48Gi"), limited=sized("", "40Gi", "90Gi"))
    full = {"honey": Usage(requested=dict(honey().allocatable))}
    envelope = {"name": "large", "requests": sized("4", "10Gi", "24Gi"), "limits": sized("8", "30Gi", "40Gi")}
    spec = rules(nodes=wide, envelopes=[envelope], sets=[{"name": "vm-test", "max": 2, "envelope": "large"}])
    for limit, placement in (("20Gi", "fits"), ("30Gi", "cannot fit")):
        runner = vm_test(max=2, requests=measured("4", "10Gi", "24Gi"), limits=measured("8", limit, "40Gi"))
        (label,) = judged(herd(docs(max=0), runner, usage=full), spec).labels
        assert label.placement == placement


def test_a_limit_is_held_against_the_smallest_node_it_exceeds() -> None:
    large = docs(limits=measured("8", "200Gi"))
    made = judged(snapshot(large, node("a"), node("b", memory="64Gi"), node("c", memory="300Gi")), None)
    (one,) = [item for item in made.findings if item.rule == "limit-exceeds-node"]
    assert (one.terms["nodes"], one.terms["most"]) == ("a, b", "64Gi memory")


@pytest.mark.parametrize(
    ("most", "unsure", "placement"),
    [
        pytest.param(1, (), "fits", id="a runner"),
        pytest.param(1, ("its runners wait",), "cannot tell", id="one of which not all is known"),
        pytest.param(0, ("its runners wait",), "fits", id="none of which that matters"),
        pytest.param(None, (), "unknown", id="as many as may come"),
    ],
)
def test_whether_all_sets_fit_is_said_as_far_as_it_is_known(
    most: int | None, unsure: tuple[str, ...], placement: str
) -> None:
    seen = snapshot(scale_set("a", max=most, unsure=unsure), scale_set("b"), node("honey"))
    (label,) = judged(seen, None).labels
    assert label.placement == placement


def test_sums_are_of_all_runners_and_there_is_none_of_what_has_no_bound() -> None:
    (label,) = judged(snapshot(docs(max=3), node("honey")), None).labels
    assert (label.max, label.requests, label.limits) == (3, measured("6", "24Gi"), measured("24", "48Gi"))
    (label,) = judged(snapshot(docs(max=None), node("honey")), None).labels
    assert (label.max, label.requests, label.limits) == (None, None, None)


def test_a_set_fits_only_the_nodes_it_may_be_on() -> None:
    """Each selects a node of its own, and that of one of them is full."""
    nodes = [node(name, labels={"node": name}) for name in ("a", "b")]
    sets = [scale_set(f"on-{each.name}", node_selector=each.labels) for each in nodes]
    full = {"a": Usage(requested=dict(nodes[0].allocatable))}
    for usage, placement in (({}, "fits"), (full, "cannot fit")):
        (label,) = judged(snapshot(*sets, *nodes, usage=usage), None).labels
        assert label.placement == placement


@pytest.mark.parametrize(("pods", "is_found"), [(1, False), (0, True)])
def test_an_envelope_that_nobody_carries_yet_fits_where_there_is_room_for_one(
    pods: int, is_found: bool
) -> None:
    spec = policy(envelopes=[{"name": "small", **SMALL}])
    there = node("honey", allocatable=measured("2", "8Gi") | {"pods": pods})
    made = judged(snapshot(scale_set("a", max=0, requests=measured("1")), there), spec)
    assert (
        ("envelope-fits-nowhere", POLICY) in {(item.rule, item.subject) for item in made.findings}
    ) is is_found


def test_an_envelope_that_nobody_carries_yet_fits_where_one_node_of_several_takes_it() -> None:
    spec = policy(envelopes=[{"name": "small", **SMALL}])
    nodes = [node("full", allocatable=measured("1", "1Gi") | {"pods": 9}), node("roomy")]
    for order in (nodes, nodes[::-1]):
        made = judged(snapshot(scale_set("a", max=0, requests=measured("1")), *order), spec)
        assert ("envelope-fits-nowhere", POLICY) not in {(item.rule, item.subject) for item in made.findings}


def test_of_two_policies_of_a_label_the_first_by_name_counts() -> None:
    both = {"b": rules(ceiling=7), "a": rules(ceiling=5)}
    for some in (both, dict(reversed(both.items()))):
        (label,) = audit(herd(), (LABEL,), some, NOW).labels
        assert (label.policy, label.ceiling) == ("a", 5)


def test_an_overflow_node_may_be_the_first_of_all() -> None:
    seen = snapshot(sting(), honey(), docs(), vm_test(), summaries={"sting": Summary(DISK, DISK, NOW)})
    assert [(role.role, role.admitted) for role in judged(seen, rules()).contexts[0].roles] == [
        ("overflow", True),
        ("primary", True),
    ]


def test_the_largest_sets_are_named_first_where_all_together_are_too_many() -> None:
    sets = [scale_set(name, max=most) for name, most in (("a", 0), ("b", 1), ("c", 9), ("d", None))]
    made = judged(snapshot(*sets, honey()), rules())
    (one,) = [item for item in made.findings if item.rule == "ceiling-exceeded"]
    assert str(one.terms["parts"]).split(", ")[1:] == ["c 9", "b 1", "a 0"]
    assert str(one.terms["parts"]).startswith("d ")
    made = judged(snapshot(*(scale_set(f"s{n}", max=n) for n in range(6)), honey()), rules())
    (one,) = [item for item in made.findings if item.rule == "ceiling-exceeded"]
    assert one.terms["parts"] == "s5 5, s4 4, s3 3, s2 2, s1 1 and 1 more"


@pytest.mark.parametrize(
    ("reasons", "ends"),
    [pytest.param(3, False, id="three reasons"), pytest.param(4, True, id="a fourth is left out")],
)
def test_three_reasons_why_a_set_fits_nowhere_are_named(reasons: int, ends: bool) -> None:
    closed = [
        node("n0", cordoned=True),
        node("n1", ready=False),
        node("n2", taints=(TAINT,)),
        node("n3", taints=(Taint("gpu", "", "NoSchedule"),)),
    ]
    made = judged(snapshot(docs(), *closed[:reasons]), policy(ceiling=1))
    (one,) = [item for item in made.findings if item.rule == "envelope-fits-nowhere"]
    why = describe(one).found
    assert [f"n{n} " in why for n in range(4)] == [True, True, True, False]
    assert ("…" in why) is ends


@pytest.mark.parametrize(
    ("values", "severity"),
    [
        pytest.param(("true",), "info", id="the capability is asked for"),
        pytest.param(("true", "false"), "error", id="one of several values is not"),
    ],
)
def test_a_name_beside_the_capability_is_known_by_the_one_value_of_it(
    values: tuple[str, ...], severity: str
) -> None:
    term = Term((Match(HOST, "In", ("honey",)), Match("capability.example/kvm", "In", values)))
    made = judged(herd(docs(required=(term,), node_selector={})), rules())
    (one,) = [item for item in made.findings if item.rule == "hostname-in-selector"]
    assert one.severity == severity


@pytest.mark.parametrize(("lacks", "is_found"), [(0, True), (1, False)])
def test_two_runners_can_come_to_an_overflow_node_that_has_just_room_for_two(
    lacks: int, is_found: bool
) -> None:
    just = {"memory": 40 * GIB - lacks, "cpu": 8_000, EPHEMERAL: 48 * GIB, "pods": 2}
    made = judged(herd(vm_test(max=2), sting(allocatable=just)), rules())
    assert ("overflow-not-bounded" in {item.rule for item in made.findings}) is is_found


def test_what_an_overflow_node_does_not_have_bounds_how_many_can_come() -> None:
    asking = vm_test(max=2, requests=measured("4", "20Gi", "24Gi") | {"example.com/fuse": 1})
    made = judged(herd(asking), rules(ceiling=3, evidence={"date": "2026-11-10", "fitted": 3}))
    assert "overflow-not-bounded" not in {item.rule for item in made.findings}


def test_a_label_without_sets_may_use_its_primary_nodes() -> None:
    (context,) = judged(snapshot(node("honey")), rules(nodes={"primary": CAPABILITY})).contexts
    assert context.usable == 1


def test_an_overflow_node_says_what_keeps_sets_off_it() -> None:
    """Its gates hold, and a set without the toleration is kept off; one whose envelope is not admitted is not admitted."""
    gates_hold = {"rollbacks": [{"lane": "docs"}]}
    spec = rules(nodes={"primary": CAPABILITY, "overflow": [OVERFLOW | gates_hold]})
    intolerant = snapshot(docs(), honey(), sting(), summaries={"sting": Summary(DISK, DISK, NOW)})
    role = judged(intolerant, spec).contexts[0].roles[1]
    assert (role.role, role.admitted, role.reason) == (
        "overflow",
        False,
        "has the taint overflow=true:NoSchedule, which is not tolerated",
    )
    tolerant = docs(tolerations=(Toleration("overflow", "Equal", "true", "NoSchedule"),), preferred=PREFERS)
    seen = snapshot(tolerant, honey(), sting(), summaries={"sting": Summary(DISK, DISK, NOW)})
    assert judged(seen, spec).contexts[0].roles[1].reason == "no set of the label is admitted here"


def test_what_keeps_as_many_sets_off_an_overflow_node_is_named_in_order_of_its_words() -> None:
    spec = rules(nodes={"primary": CAPABILITY, "overflow": [OVERFLOW | {"rollbacks": [{"lane": "docs"}]}]})
    twice = sting(
        taints=(
            Taint("overflow", "true", "NoSchedule"),
            Taint("own", "", "NoSchedule"),
            Taint("gpu", "", "NoSchedule"),
        )
    )
    seen = snapshot(docs(), honey(), twice, summaries={"sting": Summary(DISK, DISK, NOW)})
    taints = ("gpu:NoSchedule", "overflow=true:NoSchedule", "own:NoSchedule")
    expected = "; ".join(f"has the taint {taint}, which is not tolerated" for taint in taints)
    assert judged(seen, spec).contexts[0].roles[1].reason == expected


def test_gates_that_are_not_known_to_hold_are_named_together() -> None:
    seen = judged(herd(summaries={}, unknown=(Unknown(SUMMARIES, "may not get"),)), rules())
    assert (
        "gates root-filesystem and image-filesystem are not known to hold: "
        in seen.contexts[0].roles[1].reason
    )


def test_equal_nodes_that_are_closed_say_the_same() -> None:
    closed = [node(name, labels=CAPABILITY, cordoned=True) for name in ("a", "b")]
    one, other = judged(snapshot(docs(), *closed), rules(nodes={"primary": CAPABILITY})).contexts[0].roles
    assert one is other
    assert (one.admitted, one.reason) == (False, "is cordoned")
