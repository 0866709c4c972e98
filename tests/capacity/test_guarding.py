"""`remuda capacity gate`, `rollback` and `render` on files: what they print, and how they end."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.capacity.builders import (
    CAPABILITY,
    GIB,
    LABEL,
    decision,
    listed,
    sized,
    write,
    written_node,
    written_policy,
    written_set,
    written_summary,
)
from tests.capacity.conftest import Run

LARGE: dict[str, Any] = {
    "name": "large",
    "requests": sized("4", "20Gi", "24Gi"),
    "limits": sized("8", "40Gi", "40Gi"),
}
OVERFLOW = {
    "node": "sting",
    "taints": ["overflow"],
    "envelopes": ["large"],
    "admitted": decision(),
    "prewarm": {"record": decision(until="2026-12-01")},
    "rollbacks": [{"lane": "vm-test"}],
}
POLICY: dict[str, Any] = {
    "nodes": {"primary": CAPABILITY, "overflow": [OVERFLOW]},
    "envelopes": [LARGE],
    "sets": [{"name": "arc/vm-test", "max": 2, "envelope": "large"}],
}
TOLERATIONS = [{"key": "overflow", "operator": "Exists"}, {"key": "ci", "operator": "Exists"}]
AT = ("--at", "2026-11-16T12:00:00Z")

Files = Callable[..., tuple[str, ...]]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Options for a cluster in which every gate holds, but for what is given."""

    def make(
        *others: object, summary: bool = True, pod: dict[str, Any] | None = None, **spec: Any
    ) -> tuple[str, ...]:
        policy = tmp_path / "policy.yaml"
        policy.write_text(json.dumps(written_policy(**POLICY | spec)))
        sting = written_node("sting", taints=[{"key": "overflow", "effect": "NoSchedule"}])
        runner = written_set(
            requests=LARGE["requests"], limits=LARGE["limits"], runnerScaleSetName=LABEL, maxRunners=2,
            pod={"tolerations": TOLERATIONS, "nodeSelector": CAPABILITY} | (pod or {}),
        )  # fmt: skip
        room = {"availableBytes": 60 * GIB, "capacityBytes": 100 * GIB}
        at = {"time": "2026-11-16T11:00:00Z"}
        answer = written_summary("sting", fs=room | at, image_fs=room | at)
        pods = listed(kind="PodList")
        write(tmp_path, sting, written_node("honey"), runner, *others, name="cluster.json")
        write(tmp_path, pods, name="pods.json")
        parts = ["cluster.json", "pods.json"]
        if summary:
            write(tmp_path, answer, name="summary.json")
            parts.append("summary.json")
        return (
            "--policy",
            str(policy),
            *(word for part in parts for word in ("--from", str(tmp_path / part))),
        )

    return make


def states(out: str) -> dict[str, str]:
    return {item["gate"]: item["state"] for item in json.loads(out)["gates"]}


def test_a_node_whose_gates_all_hold_exits_0(run: Run, files: Files) -> None:
    ran = run("gate", "sting", "--envelope", "large", *AT, *files())
    assert ran.code == 0, ran.out + ran.err
    assert ran.out.splitlines()[0] == f"sting for large of {LABEL}: all gates hold"
    for gate in ("admission", "capability", "budget", "root-filesystem", "image-filesystem", "prewarm", "toleration", "rollback", "room"):  # fmt: skip
        assert gate in ran.out
    root = next(line for line in ran.out.splitlines() if line.startswith("root-filesystem"))
    assert "1h" in root.split()
    assert "2026-12-16T11:00:00Z" in root


def test_a_gate_that_does_not_hold_exits_1_and_says_what_to_do(run: Run, files: Files) -> None:
    ran = run("gate", "sting", "--envelope", "large", *AT, *files(summary=False))
    assert ran.code == 1
    assert "2 gates do not hold" in ran.out
    assert "kubectl get --raw /api/v1/nodes/sting/proxy/stats/summary" in ran.out


def test_json_holds_every_gate_with_its_age_and_expiry(run: Run, files: Files) -> None:
    ran = run("gate", "sting", "--envelope", "large", "-o", "json", *AT, *files())
    answer = json.loads(ran.out)
    assert (answer["node"], answer["label"], answer["policy"], answer["envelope"], answer["pass"]) == (
        "sting", LABEL, "kvm", "large", True,
    )  # fmt: skip
    by = {item["gate"]: item for item in answer["gates"]}
    assert by["root-filesystem"]["ageSeconds"] == 3_600
    assert by["prewarm"]["expires"] == "2026-12-02T00:00:00Z"
    assert by["toleration"]["lane"] == "arc/vm-test"
    assert by["room"]["lane"] is None


def test_a_scale_set_may_be_asked_about_by_name(run: Run, files: Files) -> None:
    small = written_set("small", requests=sized("1", "1Gi"), runnerScaleSetLabels=[LABEL])
    words = files(small)
    assert run("gate", "sting", "--envelope", "large", *AT, *words).code == 0
    ran = run("gate", "sting", "--envelope", "large", "--lane", "small", "-o", "json", *AT, *words)
    assert ran.code == 1
    assert {name for name, state in states(ran.out).items() if state == "fail"} == {"toleration", "rollback"}


def test_an_envelope_that_no_set_carries_passes_no_gate_of_a_scale_set(run: Run, files: Files) -> None:
    ran = run("gate", "sting", "--envelope", "large", "-o", "json", *AT, *files(sets=[{"name": "vm-test", "max": 1, "envelope": "other"}], envelopes=[LARGE, LARGE | {"name": "other"}]))  # fmt: skip
    assert ran.code == 1
    assert states(ran.out)["toleration"] == states(ran.out)["rollback"] == "fail"


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("gate", "stink", "--envelope", "large"), "no policy knows stink as an overflow node; did you mean sting?"),
        (("gate", "honey", "--envelope", "large"), "no policy knows honey as an overflow node; they know: sting"),
        (("gate", "sting", "--envelope", "larg"), "policy kvm has no envelope larg; did you mean large?"),
        (("gate", "sting", "--envelope", "large", "--lane", "x"), f"no scale set or pool x carries {LABEL}; these do: arc/vm-test"),
        (("gate", "sting", "--envelope", "large", "--label", "x"), f"there is no policy for x; there is: {LABEL}"),
        (("rollback", "small"), "no policy records a rollback of small; recorded are: vm-test"),
        (("rollback", "vm-test", "--node", "honey"), "no policy records a rollback of vm-test from honey; recorded are: vm-test"),
        (("rollback", "vm-test", "--apply"), "--apply changes a cluster, and --from reads files: leave one of them out"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_named(run: Run, files: Files, words: tuple[str, ...], answer: str) -> None:
    ran = run(*words, *files())
    assert (ran.code, ran.out, ran.err) == (2, "", f"remuda: {answer}\n")


@pytest.mark.parametrize(
    "words", [("gate", "sting"), ("render",), ("render", "--as", "webhook"), ("render", "--as", "vap", "--action", "Refuse"), ("rollback",)]
)  # fmt: skip
def test_words_that_are_missing_or_unknown_exit_2(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words).code == 2


def test_files_need_a_policy_beside_them(run: Run, files: Files) -> None:
    given = files()[2:]
    for words in (("gate", "sting", "--envelope", "large"), ("rollback", "vm-test")):
        ran = run(*words, *given)
        assert (ran.code, ran.err) == (
            2,
            "remuda: --from reads no cluster, and a policy is needed: give --policy FILE\n",
        )


def test_everything_wrong_with_a_policy_is_reported_at_once(run: Run, tmp_path: Path) -> None:
    bad = OVERFLOW | {"envelopes": ["huge"], "admitted": decision(until="2026-01-01")}
    path = tmp_path / "bad.yaml"
    path.write_text(json.dumps(written_policy(**POLICY | {"nodes": {"primary": CAPABILITY, "overflow": [bad]}, "ceiling": -1})))  # fmt: skip
    for words in (
        ("gate", "sting", "--envelope", "large"),
        ("rollback", "vm-test"),
        ("render", "--as", "vap"),
    ):
        ran = run(*words, "--policy", path)
        assert ran.code == 2
        assert str(path) in ran.err
        assert all(
            part in ran.err for part in ("spec.ceiling", "there is no envelope huge", "admitted.until")
        )


def test_the_same_node_in_two_policies_needs_the_label(run: Run, files: Files, tmp_path: Path) -> None:
    words = files()
    other = tmp_path / "other.yaml"
    other.write_text(json.dumps(written_policy("gpu", **POLICY | {"label": "gpu"})))
    ran = run("gate", "sting", "--envelope", "large", *AT, *words, "--policy", other)
    assert ran.code == 2
    assert "say --label, one of" in ran.err
    assert (
        run("gate", "sting", "--envelope", "large", "--label", LABEL, *AT, *words, "--policy", other).code
        == 0
    )


def test_a_rollback_without_a_patch_takes_the_tolerations_of_the_node_off(run: Run, files: Files) -> None:
    ran = run("rollback", "vm-test", *files())
    assert ran.code == 0, ran.err
    patch = {"spec": {"template": {"spec": {"tolerations": [TOLERATIONS[1]]}}}}
    text = json.dumps(patch, separators=(",", ":"))
    assert ran.out.splitlines() == [
        "arc/vm-test back from sting:",
        f"kubectl patch autoscalingrunnerset vm-test -n arc --type merge -p '{text}'",
    ]
    assert json.loads(run("rollback", "arc/vm-test", *files(), "-o", "json").out)["rollbacks"] == [
        {"lane": "arc/vm-test", "node": "sting", "patch": patch}
    ]


def test_a_recorded_patch_needs_no_cluster(run: Run, files: Files, tmp_path: Path) -> None:
    patch = {"spec": {"maxRunners": 0}}
    recorded = OVERFLOW | {"rollbacks": [{"lane": "arc/vm-test", "patch": patch}]}
    words = files(nodes={"primary": CAPABILITY, "overflow": [recorded]})
    ran = run("rollback", "vm-test", *words[:2], "-o", "json")
    assert json.loads(ran.out)["rollbacks"] == [{"lane": "arc/vm-test", "node": "sting", "patch": patch}]


def test_guard_rails_are_made_from_the_policy_alone(run: Run, files: Files) -> None:
    policy = files()[:2]
    for form, kinds in (
        ("quota", ["PriorityClass", "ResourceQuota"]),
        ("vap", ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]),
    ):
        ran = run("render", "--as", form, *policy)
        assert ran.code == 0, ran.err
        assert "# Not caught:" in ran.out
        assert [item["kind"] for item in yaml.safe_load_all(ran.out)] == kinds
        as_json = json.loads(run("render", "--as", form, "-o", "json", *policy).out)
        assert as_json["items"] == list(yaml.safe_load_all(ran.out))
        assert not run("render", "--as", form, "-q", *policy).out.startswith("#")


def test_a_quota_needs_to_know_namespaces(run: Run, files: Files) -> None:
    policy = files(sets=[{"name": "a", "max": 1}, {"name": "b", "max": 1}])[:2]
    ran = run("render", "--as", "quota", *policy)
    assert (ran.code, ran.out) == (2, "")
    assert "spec.sets[0].name: a names no namespace" in ran.err
    assert "spec.sets[1].name: b names no namespace" in ran.err
    ran = run("render", "--as", "quota", *policy, "--namespace", "ci", "-o", "json")
    assert json.loads(ran.out)["items"][1]["metadata"]["namespace"] == "ci"
    assert run("render", "--as", "quota", *policy, "--namespace", "Not A Name").code == 2
    # rules see the namespace of each scale set themselves
    assert run("render", "--as", "vap", *policy).code == 0


def test_a_label_with_line_breaks_stays_in_its_comment(run: Run, files: Files) -> None:
    policy = files(label="nix\nkind: Secret")[:2]
    for form in ("quota", "vap"):
        ran = run("render", "--as", form, *policy)
        assert ran.code == 0, ran.err
        assert len(list(yaml.safe_load_all(ran.out))) == 2
