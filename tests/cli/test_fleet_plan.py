"""`remuda fleet plan` and `remuda why need`: answers, exit codes and errors."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.conftest import Run
from tests.processes import Ran

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = (
    "--inventory", str(EXAMPLES / "fleet-inventory.yaml"), "--demand", str(EXAMPLES / "fleet-demand.yaml"),
)  # fmt: skip
AT = ("--at", "2026-01-31T14:00:00Z")
NO_NUMPY = "import sys; sys.modules['numpy'] = None; from remuda.cli import main; main()"


def thing(kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "remuda.dev/v1alpha1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """One machine, and one need that it meets."""
    machine = {"id": "m", "state": "idle", "instanceType": "t", "allocatable": {"cpu": 4}, "pricePerHour": 1}
    needs = [{"name": "web", "unit": {"cpu": 4}}]
    file = tmp_path / "small.yaml"
    file.write_text(
        yaml.safe_dump_all([thing("Inventory", machines=[machine]), thing("Demand", needs=needs)])
    )
    return file


def changed(file: Path, **change: Any) -> Path:
    """The same with other values in the one machine."""
    inventory, *others = yaml.safe_load_all(file.read_text())
    inventory["spec"]["machines"][0] |= change
    file.write_text(yaml.safe_dump_all([inventory, *others]))
    return file


def test_a_plan_that_meets_everything_is_fine(small: Path, run: Run) -> None:
    ran = run("fleet", "plan", "--inventory", small, "--demand", small)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "1 machine, 1 need, 1 cluster: 1 assigned",
        "1 of 1 needs met; $1.00 an hour now, $1.00 after",
        "",
        "actions",
        "NEED    ACTION   MACHINES   KIND   PRICE/H   WHY",
        "x/web   assign   1          t      $1.00     1 unit at $1.00 an hour",
    ]


def test_a_plan_that_leaves_something_unmet_says_so(run: Run) -> None:
    ran = run("fleet", "plan", *FILES, *AT)
    assert (ran.code, ran.err) == (1, "")
    for words in (
        "preempt",
        "reclaim",
        "release",
        "shortfalls",
        "rail.spending",
        "4 of 6 needs met; $0.024 an hour now, $2.356 after",
    ):
        assert words in ran.out


def test_a_program_gets_every_action_with_its_reason(run: Run) -> None:
    ran = run("fleet", "plan", *FILES, *AT, "-o", "json")
    plan = json.loads(ran.out)
    assert ran.code == 1
    assert plan["counts"] == {"adopt": 0, "assign": 6, "create": 8, "preempt": 1, "reclaim": 1, "release": 1}
    assert len(plan["actions"]) == 17
    taken = next(action for action in plan["actions"] if action["op"] == "preempt")
    assert taken["expects"] == "configured"
    assert (taken["cluster"], taken["need"]) == ("prod", "database")
    assert taken["grace"] == 600_000
    assert taken["reason"]["code"] == "fleet.preempted"
    assert taken["reason"]["terms"]["from"] == "ci/tests"
    assert taken["told"].startswith(f"{taken['id']} is taken from ci/tests for prod/database")
    assert {short["reason"]["code"] for short in plan["shortfalls"]} == {
        "need.nothing-matches",
        "need.capped-by-spending",
    }
    assert len(plan["needs"]) == 6


@pytest.mark.parametrize("form", ["table", "markdown", "yaml", "json"])
def test_every_form_is_printed(form: str, run: Run) -> None:
    ran = run("fleet", "plan", *FILES, *AT, "-o", form)
    assert "prod/database" in ran.out or "database" in ran.out


def test_a_policy_may_come_in_its_own_file(small: Path, tmp_path: Path, run: Run) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(json.dumps(thing("FleetPolicy", rails={"paused": True})))
    ran = run("fleet", "plan", "--inventory", small, "--demand", small, "--policy", policy)
    assert "fleet is paused: 1 action is withheld" in ran.out


def test_a_refused_record_is_named_and_the_rest_goes_on(small: Path, run: Run) -> None:
    changed(small, pricePerHour=-1)
    ran = run("fleet", "plan", "--inventory", small, "--demand", small)
    assert ran.code == 1
    assert f"{small}:" in ran.err
    assert "spec.machines[0].pricePerHour: machine m is refused: -1 is below zero" in ran.err
    assert "remuda: 1 record refused; the rest goes on" in ran.err
    assert "0 machines, 1 need, 1 cluster: nothing to do" in ran.out


def test_a_refused_record_counts_although_every_need_is_met(small: Path, run: Run) -> None:
    inventory, demand = yaml.safe_load_all(small.read_text())
    inventory["spec"]["machines"].append({**inventory["spec"]["machines"][0], "id": "bad", "state": "lost"})
    small.write_text(yaml.safe_dump_all([inventory, demand]))
    ran = run("fleet", "plan", "--inventory", small, "--demand", small)
    assert "1 of 1 needs met" in ran.out
    assert "machine bad is refused: wants one of speculative" in ran.err
    assert ran.code == 1


def test_what_is_strange_is_a_note(small: Path, run: Run) -> None:
    changed(small, allocatable={})
    ran = run("fleet", "plan", "--inventory", small, "--demand", small)
    assert "note: " in ran.err
    assert "note: " not in run("fleet", "plan", "--inventory", small, "--demand", small, "-q").err


def test_bad_input_is_reported_with_every_problem(small: Path, run: Run) -> None:
    changed(small, provder="a", zoen="a")
    ran = run("fleet", "plan", "--inventory", small, "--demand", small)
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean provider?" in ran.err
    assert "did you mean zone?" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["fleet", "plan", "--inventory", "x.yaml"], "Missing option '--demand'", id="no demand"),
        pytest.param(["fleet", "plan", "--inventory", "nope.yaml", "--demand", "nope.yaml"], "no such file", id="no file"),
        pytest.param(["fleet", "plan", *FILES, "--at", "noon"], "'noon' is no time", id="a time"),
        pytest.param(["why", "need", "a/b"], "wants --inventory FILE and --demand FILE, or --from", id="no files"),
        pytest.param(["why", "need", "prod/wbe", *FILES], "did you mean prod/web?", id="a slip in a name"),
        pytest.param(["why", "need", "xyzzy", *FILES], "there is: ci/nightly", id="no such need"),
        pytest.param(["why", "need", "a/b", "--from", "nope.json"], "nope.json: cannot be read", id="no plan"),
        pytest.param(["why", "need", "a/b", "--from", FILES[1]], "is not what remuda fleet plan", id="no plan at all"),
        pytest.param(["why", "need", "a/b", "--from", "p.json", *FILES], "leave --inventory", id="a plan and files"),
        pytest.param(["why", "need", "a/b", "--history", *FILES], "No such option '--history'", id="a past"),
        pytest.param(["why", "pool", "shell", *FILES], "No such option '--inventory'", id="files for a pool"),
    ],
)  # fmt: skip
def test_a_wrong_question_is_answered_with_a_right_one(words: list[str], message: str, run: Run) -> None:
    ran = run(*words)
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "markdown", "yaml", "json"])
@pytest.mark.parametrize(
    "need", ["ml/training", "prod/database", "prod/web", "prod/inference", "ci/tests", "ci/nightly"]
)
def test_why_is_the_same_from_files_and_from_a_plan(need: str, form: str, tmp_path: Path, run: Run) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(run("fleet", "plan", *FILES, *AT, "-o", "json").out)
    from_files = run("why", "need", need, *FILES, *AT, "-o", form)
    from_plan = run("why", "need", need, "--from", plan, "-o", form)
    assert from_files.code == from_plan.code == 0
    assert from_files.out == from_plan.out
    assert need in from_files.out


@pytest.mark.slow
def test_the_same_files_give_the_same_bytes_whatever_the_hash_seed() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-m", "remuda", "fleet", "plan", *FILES, *AT, "-o", "json"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            check=False,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


def without_numpy(*words: str) -> Ran:
    ran = subprocess.run(
        [sys.executable, "-c", NO_NUMPY, *words], capture_output=True, text=True, check=False
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("words", [("fleet", "plan", *FILES), ("why", "need", "prod/web", *FILES)])
def test_without_numpy_it_says_what_to_install(words: tuple[str, ...]) -> None:
    ran = without_numpy(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "remuda: remuda fleet needs NumPy: pip install 'remuda[fleet]'\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("fleet", "plan", "--help"),
        ("validate", FILES[1], FILES[3]),
        ("explain", "Demand.spec"),
        ("schema", "Inventory"),
        ("explain", "FleetPolicy.spec.rails"),
    ],
)
def test_what_only_reads_files_needs_no_numpy(words: tuple[str, ...]) -> None:
    ran = without_numpy(*words)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.slow
def test_a_plan_that_was_printed_is_explained_without_numpy(tmp_path: Path, run: Run) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(run("fleet", "plan", *FILES, *AT, "-o", "json").out)
    ran = without_numpy("why", "need", "prod/web", "--from", str(plan))
    assert ran.code == 0
    assert "prod/web gets 8 units" in ran.out


@pytest.mark.slow
def test_without_numpy_the_records_of_a_fleet_say_what_to_install(tmp_path: Path, run: Run) -> None:
    run("fleet", "plan", *FILES, "--keep", "--data-dir", tmp_path)
    ran = without_numpy("why", "need", "prod/web", "--data-dir", str(tmp_path))
    assert (ran.code, ran.out) == (1, "")
    assert "needs NumPy: pip install 'remuda[fleet]'" in ran.err
