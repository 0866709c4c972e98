"""`remuda rightsize estimate`: answers, exit codes and errors."""

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from tests.cli.conftest import Run
from tests.processes import Ran
from tests.rightsize.estimate.builders import vectors

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "rightsize-samples.json")
NO_NUMPY = "import sys; sys.modules['numpy'] = None; from remuda.cli import main; main(sys.argv[1:])"


@pytest.fixture
def case(tmp_path: Path) -> tuple[Path, Any]:
    """A case of the real recommender: its file, and what it answered."""
    found = vectors()[1]
    path = tmp_path / "samples.json"
    path.write_text(json.dumps(found["input"]))
    return path, {"containers": found["expect"]}


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_a_program_gets_exactly_the_estimates(form: str, read: Any, case: tuple[Path, Any], run: Run) -> None:
    path, expect = case
    ran = run("rightsize", "estimate", "--samples", path, "-o", form)
    assert (ran.code, ran.err) == (0, "")
    assert read(ran.out) == expect


def test_samples_are_read_from_standard_input(
    case: tuple[Path, Any], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, expect = case
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
    ran = run("rightsize", "estimate", "--samples", "-", "-o", "json")
    assert (ran.code, json.loads(ran.out)) == (0, expect)


def test_a_person_gets_a_table(case: tuple[Path, Any], run: Run) -> None:
    ran = run("rightsize", "estimate", "--samples", case[0])
    assert ran.out.splitlines() == [
        "CONTAINER   RESOURCE   LOWER BOUND   TARGET      UPPER BOUND",
        "c0          cpu        3,593m        4,742m      57,772m",
        "c0          memory     4,002.3Mi     4,082.7Mi   44,909.7Mi",
        "c1          cpu        915m          1,238m      4,719m",
        "c1          memory     3,665.1Mi     3,682.7Mi   12,521.3Mi",
    ]


@pytest.mark.parametrize("engine", ["numpy", pytest.param("numba", marks=pytest.mark.slow)])
def test_an_engine_says_the_same(engine: str, case: tuple[Path, Any], run: Run) -> None:
    path, expect = case
    ran = run("rightsize", "estimate", "--samples", path, "--engine", engine, "-o", "json")
    assert (ran.code, json.loads(ran.out)) == (0, expect)


def test_krr_answers_in_the_same_form(run: Run) -> None:
    ran = run("rightsize", "estimate", "--samples", EXAMPLE, "--strategy", "krr", "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    for found in json.loads(ran.out)["containers"].values():
        assert found["target"] == found["lowerBound"] == found["upperBound"]


def test_a_container_with_too_little_to_go_by_is_reported_and_exits_1(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "few.json"
    path.write_text('{"containers": {"web": {"instances": [{}]}}}')
    ran = run("rightsize", "estimate", "--samples", path, "-o", "json")
    assert ran.code == 1
    assert json.loads(ran.out)["containers"]["web"]["target"]["cpu_millicores"] == 25
    assert ran.err == "web has no samples: its numbers are the floor of a pod, shared by its containers\n"
    ran = run("rightsize", "estimate", "--samples", path, "--strategy", "krr", "-o", "json")
    assert (ran.code, json.loads(ran.out)) == (1, {"containers": {}})
    assert ran.err.startswith("web is left out: krr needs 100 samples of CPU over 3 hours")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "Missing option '--samples'", id="no file"),
        pytest.param(["--samples", "nope.json"], "nope.json: cannot be read: No such file", id="none there"),
        pytest.param(["--samples", "."], ".: cannot be read: Is a directory", id="a directory"),
        pytest.param(["--samples", EXAMPLE, "--strategy", "best"], "'best' is not one of", id="no strategy"),
        pytest.param(
            ["--samples", EXAMPLE, "--strategy", "krr", "--engine", "numpy"],
            "is for --strategy vpa",
            id="an engine",
        ),
    ],
)
def test_a_mistake_is_met_with_what_would_be_right(words: list[str], message: str, run: Run) -> None:
    ran = run("rightsize", "estimate", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_bad_samples_give_nothing_but_every_problem(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "bad.json"
    path.write_text(
        '{"containers": {"web": {"instances": [{"cpu": [{"t": 1, "cores": NaN}, {"t": 1, "cores": -1}]}]}}}'
    )
    ran = run("rightsize", "estimate", "--samples", path)
    assert (ran.code, ran.out) == (2, "")
    at = f"{path}: containers.web.instances[0].cpu"
    assert ran.err.splitlines() == [
        f"{at}[0].cores: is NaN: leave out samples without a value",
        f"{at}[1].cores: is -1: nothing can use less than 0",
        f"{at}[1].t: is 1, and the sample before it is at 1: times must increase within an instance",
        "remuda: 3 problems; nothing was started or changed",
    ]


def without_numpy(*words: str) -> Ran:
    ran = subprocess.run(
        [sys.executable, "-c", NO_NUMPY, *words], capture_output=True, text=True, check=False
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.mark.slow
def test_an_estimate_needs_no_numpy() -> None:
    ran = without_numpy("rightsize", "estimate", "--samples", EXAMPLE)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out


@pytest.mark.slow
def test_an_engine_that_needs_numpy_says_what_to_install() -> None:
    ran = without_numpy("rightsize", "estimate", "--samples", EXAMPLE, "--engine", "numpy")
    assert (ran.code, ran.out) == (2, "")
    assert (
        ran.err
        == "remuda: --engine numpy needs NumPy: pip install 'remuda[rightsize]', or leave --engine out\n"
    )
