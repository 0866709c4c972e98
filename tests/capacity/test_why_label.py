"""Why a label has the runners it has, from kept audits: its steps, since when, as of another time, and what is not there."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.capacity.builders import CAPABILITY, NOW, decision, node, policy, scale_set, sized, snapshot
from tests.capacity.kept_audits import Home, busy
from tests.processes import Ran

from remuda.capacity import kept
from remuda.capacity.answers import LabelAnswer
from remuda.capacity.decide.audit import audit
from remuda.capacity.snapshot import NODES, PODS, QUOTAS, Quota, Unknown, Usage
from remuda.cli.tree import main
from remuda.errors import BadInput, NotFound
from remuda.ledger import documents
from remuda.model.pods import Taint, Toleration
from remuda.model.times import DAY

Run = Callable[..., Ran]
WHY = "/v1/why/label/"
ENVELOPE = {"name": "vm", "requests": sized("4", "24Gi", "24Gi"), "limits": sized("8", "40Gi", "40Gi")}
SITE = {
    "node": "sting",
    "envelopes": ["vm"],
    "admitted": decision(),
    "requested": sized("8", "48Gi", "48Gi"),
    "limited": sized("16", "80Gi", "80Gi"),
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "data")


def steps(answer: LabelAnswer, label: str) -> list[str]:
    return [f"{step.text} | {step.remark}" for step in answer.steps if step.label == label]


def test_it_says_what_runs_whose_shares_what_holds_it_and_what_would_change_it(home: Home) -> None:
    world = replace(busy(2), pending={"arc/docs": 1})
    home.keep(
        world,
        kvm=policy(
            owners=[{"name": "platform", "lanes": ["docs"], "guaranteed": 1}],
            evidence={"date": "2026-11-10", "fitted": 4},
        ),
    )
    answer = home.ask(WHY + "nix-kvm")
    assert answer.headline == "nix-kvm runs 2 of at most 4: 2 more may start"
    assert (answer.code, answer.source, answer.at, answer.judged_at) == (
        "label.has-room",
        "cluster",
        NOW,
        NOW,
    )
    assert steps(answer, "running") == ["2: vm-test 2 | 1 more wait for a node"]
    assert steps(answer, "maxima") == ["6 together: vm-test 4, docs 2 | all at once fit the admitted nodes"]
    assert steps(answer, "ceiling") == ["4 of policy kvm | 4 fitted on 2026-11-10"]
    assert steps(answer, "owner") == [
        "platform runs 0, would get 2 of the 2 it may want | guaranteed 1; arc/docs",
        "arc/vm-test runs 2, would get 2 of the 4 it may want | guaranteed 0; arc/vm-test",
    ]
    assert steps(answer, "nodes") == ["1 of 1 admitted | "]
    (on_node,) = steps(answer, "node")
    assert on_node.startswith(
        "honey, primary: takes vm-test and 1 like it 14 | requested 4 of 32 CPU, 0.00 of 128.00 GiB"
    )
    assert steps(answer, "quota") == [
        "none counts its runners | remuda capacity render --as quota makes one of the policy"
    ]
    assert steps(answer, "worst") == [
        "4 runners: fits | every set at its maximum, as far as the ceiling allows"
    ]
    assert steps(answer, "safe") == ["6, proven: all maxima together fit | the ceiling may be raised to 6"]
    assert steps(answer, "error")[0].startswith("ceiling-exceeded: CapacityPolicy kvm: 6 at maximum")
    assert "fix: lower maxima" in steps(answer, "error")[0]


def test_a_gate_that_does_not_hold_is_a_step_with_its_fix(home: Home) -> None:
    world = snapshot(
        scale_set(requests={"cpu": 4_000, "memory": 24 * 2**30, "ephemeral-storage": 24 * 2**30},
                  limits={"cpu": 8_000, "memory": 40 * 2**30, "ephemeral-storage": 40 * 2**30},
                  tolerations=(Toleration("overflow", "Exists"),)),
        node(labels={**CAPABILITY, "role": "primary"}),
        node("sting", taints=(Taint("overflow", "true", "NoSchedule"),)),
    )  # fmt: skip
    nodes = {"primary": {**CAPABILITY, "role": "primary"}, "overflow": [SITE]}
    home.keep(world, kvm=policy(nodes=nodes, envelopes=[ENVELOPE]))
    answer = home.ask(WHY + "nix-kvm")
    assert any("sting for vm: rollback does not hold" in each for each in steps(answer, "gate"))
    assert any("root-filesystem is not known to hold" in each for each in steps(answer, "gate"))
    assert all("fix: " in each for each in steps(answer, "gate") if "rollback" in each)
    assert steps(answer, "gates") == []


@pytest.mark.parametrize(
    ("world", "label", "says"),
    [
        pytest.param({"unknown": (Unknown(PODS, "no"),)}, "node", "what is taken there was not read", id="pods"),
        pytest.param({"unknown": (Unknown(QUOTAS, "no"),)}, "quota", "quotas were not read", id="quotas"),
        pytest.param(
            {"nodes": (), "unknown": (Unknown(NODES, "no"),)}, "nodes", "none were read", id="nodes"
        ),
        pytest.param(
            {"nodes": (), "unknown": (Unknown(NODES, "no"),)}, "maxima", "whether all at once fit is not known",
            id="nodes and maxima",
        ),
        pytest.param(
            {"quotas": (Quota("arc", "kvm", ("kvm",), "kvm"),)}, "quota",
            "arc/kvm counts pods of kvm | made from policy kvm", id="a quota of ours",
        ),
        pytest.param(
            {"quotas": (Quota("arc", "kvm", ("kvm",), "kvm", {"pods": ("3", "4")}),)}, "quota",
            "arc/kvm counts pods of kvm: pods 3 of 4 taken | made from policy kvm", id="a quota with room",
        ),
        pytest.param(
            {"quotas": (Quota("arc", "kvm", ("kvm",), "kvm", {"pods": ("4", "4")}),)}, "quota",
            "arc/kvm counts pods of kvm: pods 4 of 4 taken | it is full; made from policy kvm", id="a full quota",
        ),
        pytest.param(
            {"quotas": (Quota("arc", "old", ("kvm",)),)}, "quota", "not made from a policy", id="another quota"
        ),
    ],
)  # fmt: skip
def test_what_was_not_read_or_is_there_is_said(
    home: Home, world: dict[str, Any], label: str, says: str
) -> None:
    seen = snapshot(scale_set(priority_class="kvm", max=2), node())
    home.keep(replace(seen, **world))
    assert any(says in each for each in steps(home.ask(WHY + "nix-kvm"), label))


def test_without_a_policy_it_says_that_nothing_holds_it(home: Home) -> None:
    home.keep(busy(), other=policy(label="other"))
    answer = home.ask(WHY + "nix-kvm")
    assert answer.code == "label.without-ceiling"
    assert steps(answer, "ceiling") == [
        "none: no policy is for the label | write one: remuda explain CapacityPolicy"
    ]
    assert steps(answer, "quota") == ["none counts its runners | "]
    assert steps(answer, "safe")[0].endswith("| the highest safe ceiling")


def test_a_ceiling_above_what_is_safe_is_to_be_lowered(home: Home) -> None:
    home.keep(snapshot(scale_set(max=3), node(memory="10Gi")))
    assert steps(home.ask(WHY + "nix-kvm"), "safe") == ["1, proven | lower the ceiling to 1, or add room"]
    assert "all at once: cannot fit" in steps(home.ask(WHY + "nix-kvm"), "maxima")[0]


def test_large_ones_are_cut_and_say_so(home: Home) -> None:
    sets = [scale_set(f"s-{number}", max=1, limits={}, min=1) for number in range(12)]
    nodes = [node(f"n-{number:02}") for number in range(11)]
    home.keep(snapshot(*sets, *nodes))
    answer = home.ask(WHY + "nix-kvm")
    assert steps(answer, "owner")[-1] == "and 2 more | "
    assert steps(answer, "node")[-1] == "and 3 more | "
    assert steps(answer, "finding")[0].endswith("more | remuda capacity audit has all")


def test_since_when_it_is_so_and_what_was_before(home: Home) -> None:
    for day, running in enumerate((4, 4, 1, 1, 1)):
        home.keep(busy(running), at=NOW + day * DAY)
    answer = home.ask(WHY + "NIX-KVM")
    assert (answer.since, answer.cycles) == (NOW + 2 * DAY, 3)
    assert [(event.at, event.code) for event in answer.history] == [(NOW + DAY, "label.held-by-ceiling")]
    then = home.ask(WHY + "nix-kvm", at=NOW + DAY + 5)
    assert (then.code, then.since, then.at, then.cycles) == ("label.held-by-ceiling", NOW, NOW + DAY, 2)
    assert then.history == ()


def test_an_audit_that_cannot_be_read_ends_the_search_for_the_past(home: Home) -> None:
    home.keep(busy(1), at=NOW)
    documents.keep(home.path, "capacity/cluster", NOW + DAY, {"schema": "v0"})
    home.keep(busy(1), at=NOW + 2 * DAY)
    assert home.ask(WHY + "nix-kvm").since == NOW + 2 * DAY


def test_the_newest_audit_that_knows_the_label_answers(home: Home) -> None:
    home.keep(busy(1), at=NOW)
    other = replace(busy(1), source="another", scale_sets=(scale_set(labels=("docker",)),))
    home.keep(other, at=NOW + DAY, docker=policy(label="docker"))
    assert home.ask(WHY + "nix-kvm").source == "cluster"
    assert home.ask(WHY + "docker").source == "another"


def test_a_label_with_a_slash_is_asked_about(home: Home) -> None:
    home.keep(snapshot(scale_set(labels=("local/shell",)), node()), other=policy(label="local/shell"))
    assert home.ask(WHY + "local%2Fshell").subject == "label/local/shell"


@pytest.mark.parametrize(
    ("name", "says"),
    [("nix-kv", "did you mean nix-kvm"), ("zzz", "there is: nix-kvm")],
)
def test_near_misses_are_named(home: Home, name: str, says: str) -> None:
    home.keep()
    with pytest.raises(NotFound, match=says):
        home.ask(WHY + name)


def test_where_nothing_is_kept_it_says_which_command_keeps_something(home: Home) -> None:
    documents.keep(home.path, "rightsize/cluster", NOW, {})
    with pytest.raises(NotFound, match="no audit is kept: make one with remuda capacity audit"):
        home.ask(WHY + "nix-kvm")
    with pytest.raises(NotFound, match="no audit is kept up to then"):
        home.ask(WHY + "nix-kvm", at=5)


def test_audits_of_another_version_alone_say_so(home: Home) -> None:
    documents.keep(home.path, "capacity/cluster", NOW, {"schema": "remuda.dev/capacity-kept/v9"})
    with pytest.raises(BadInput, match="capacity-kept/v9, and this remuda reads"):
        home.ask(WHY + "nix-kvm")
    (row,) = home.ask("/v1/capacity/audits")
    assert "capacity-kept/v9" in row.problem
    assert (row.source, row.labels) == ("cluster", ())


def test_kept_audits_are_listed_with_what_they_found(home: Home) -> None:
    home.keep(busy(5))
    (row,) = home.ask("/v1/capacity/audits")
    assert (row.source, row.at, row.labels, row.problem) == ("cluster", NOW, ("nix-kvm",), "")
    assert (row.errors, row.warnings) == (4, 1)
    assert home.ask("/v1/capacity/audits", at=NOW - 1) == []


# The command


@pytest.fixture
def ask(home: Home, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["why", *words, "--data-dir", str(home.path)])
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, *capsys.readouterr())

    return call


def test_the_command_answers_in_the_words_of_the_route(home: Home, ask: Run) -> None:
    for day in range(2):
        home.keep(busy(1 + day * 3), at=NOW - DAY + day)
    ran = ask("label", "nix-kvm", "--history")
    first, *rest = ran.out.splitlines()
    assert ran.code == 0
    assert first.startswith("nix-kvm runs 4 of at most 4: held by the ceiling of kvm   audited 2026-11-15 ")
    assert first.endswith("ago), cluster")
    assert any("running   4: vm-test 4" in line for line in rest)
    assert rest[-1].endswith("nix-kvm runs 1 of at most 4: 3 more may start")
    found = json.loads(ask("nix-kvm", "-o", "json").out)
    assert found["code"] == "label.held-by-ceiling"
    assert found["steps"] == [
        {"label": each.label, "text": each.text, "remark": each.remark}
        for each in home.ask(WHY + "nix-kvm").steps
    ]


def test_the_command_says_as_of_when_it_was_judged_and_how_often_it_was_found(home: Home, ask: Run) -> None:
    known = {"kvm": policy()}
    for made_at in (NOW - 5, NOW):
        kept.keep(home.path, audit(busy(), (), known, NOW - 9 * DAY), (), known, made_at)
    ran = ask("label", "nix-kvm", "-o", "markdown")
    assert "judged as of 2026-11-07 " in ran.out
    assert "found by 2 audits since" in ran.out
    assert "| running | 1: vm-test 1 |" in ran.out
    assert "found by 2 audits" in ask("label", "nix-kvm").out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("label", "nix-kv"), "did you mean nix-kvm?"),
        (("nix-kv",), "did you mean remuda why label nix-kvm?"),
        (("label", "nix-kvm", "--at", "2999-01-01"), "ahead of this computer's clock"),
        (("label", "nix-kvm", "--at", "2001-01-01"), "no audit is kept up to then"),
    ],
)
def test_the_command_refuses_with_near_misses(
    home: Home, ask: Run, words: tuple[str, ...], says: str
) -> None:
    home.keep()
    ran = ask(*words)
    assert ran.code == 2
    assert says in ran.err


def test_a_usage_without_runners_is_no_label(home: Home) -> None:
    home.keep(snapshot(scale_set(), node(), usage={"honey": Usage()}))
    assert steps(home.ask(WHY + "nix-kvm"), "running") == ["none | none waits for a node"]
