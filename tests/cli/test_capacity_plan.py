"""`remuda capacity plan`: exit codes, answers for programs, and everything that is wrong with its words."""

import json
from pathlib import Path

import pytest
import yaml
from tests.cli.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = (
    "--from", str(EXAMPLES / "capacity-cluster.json"), "--from", str(EXAMPLES / "capacity-summary.json"),
    "--policy", str(EXAMPLES / "capacity-policy.yaml"), "--at", "2026-11-16T12:00:00Z",
)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 0),
        (("--set", "vm-test.max=1"), 0),
        (("--node-add", "name=honey-2,like=honey"), 0),
        (("--add", "name=new,envelope=small,max=1", "--set", "vm-test.max=1"), 0),
        (("--set", "vm-test.max=3"), 1),
        (("--ceiling", "9"), 1),
        (("--node-drain", "honey"), 1),
        (("--label", "nix-kvmm"), 2),
        (("--set", "vm-tset.max=1"), 2),
        (("--ceiling", "many"), 2),
    ],
)
def test_the_exit_code_says_whether_the_policy_would_break(
    run: Run, words: tuple[str, ...], code: int
) -> None:
    ran = run("capacity", "plan", *FILES, *words)
    assert ran.code == code, ran.out + ran.err


def test_every_bad_word_is_reported_at_once(run: Run) -> None:
    ran = run(
        "capacity", "plan", *FILES, "--set", "vm-tset.max=1", "--set", "docs.max=-1", "--add", "name=x,max=1",
        "--node-drain", "stng", "--node-add", "name=y,like=hony", "--set", "docs.envelope=smal",
    )  # fmt: skip
    assert (ran.code, ran.out) == (2, "")
    for message in (
        "did you mean vm-test?",
        '"-1" is no whole number',
        "envelope is required",
        "did you mean sting?",
        "did you mean honey?",
        "did you mean small?",
        "remuda: 6 problems; nothing was started or changed",
    ):
        assert message in ran.err


def test_a_program_gets_the_same_as_json_and_yaml(run: Run) -> None:
    words = ("capacity", "plan", *FILES, "--set", "vm-test.max=9", "--ceiling", "9")
    ran = run(*words, "-o", "json")
    assert ran.code == 1
    made = json.loads(ran.out)
    assert made == yaml.safe_load(run(*words, "-o", "yaml").out)
    assert made["schema"] == "remuda.dev/capacity-plan/v1"
    assert made["changes"] == ["--set vm-test.max=9", "--ceiling 9"]
    (label,) = made["labels"]
    assert label["before"]["aggregate"]["max"] == 4
    assert label["after"]["aggregate"]["requests"]["cpu_millicores"] == 40_000
    worst = label["after"]["worst"]
    assert worst["outcome"] == "cannot fit"
    assert worst["bound"]["wanted"] > worst["bound"]["room"]
    assert worst["mix"]["arc/vm-test"] == 9
    assert label["after"]["runsOutFirst"] == "memory"
    assert label["after"]["safeCeiling"]["proven"]


def test_markdown_is_a_comment_for_a_pull_request(run: Run) -> None:
    ran = run("capacity", "plan", *FILES, "--set", "vm-test.max=3", "-o", "markdown")
    assert ran.out.startswith("# What if: nix-kvm\n")
    assert "| highest safe ceiling | 4, proven" in ran.out
