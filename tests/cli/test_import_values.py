"""`remuda import`: objects on stdout, what differs on stderr, and nothing but problems when there are any."""

import io
import json
from pathlib import Path

import pytest
import yaml
from tests.cli.conftest import Run

DATA = Path(__file__).parents[1] / "data"
EXAMPLES = sorted(DATA.glob("provisioner-values-*.yaml"))


@pytest.mark.parametrize("form", ["yaml", "json"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_is_printed_validates(path: Path, form: str, run: Run, tmp_path: Path) -> None:
    ran = run("import", "provisioner-values", path, "-o", form)
    assert ran.code == 0
    assert all(line.startswith("note: ") for line in ran.err.splitlines())
    assert "example-" not in ran.out + ran.err
    file = tmp_path / "pools"
    file.write_text(ran.out, encoding="utf-8")
    assert run("validate", file).code == 0


def test_it_is_yaml_unless_json_is_asked_for_and_both_say_the_same(run: Run) -> None:
    path = DATA / "provisioner-values-0.1.2.yaml"
    plain = run("import", "provisioner-values", path)
    assert plain.out == run("import", "provisioner-values", path, "-o", "yaml").out
    listed = json.loads(run("import", "provisioner-values", path, "-o", "json").out)
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List")
    assert listed["items"] == list(yaml.safe_load_all(plain.out))


def test_quiet_leaves_out_the_notes(run: Run) -> None:
    assert run("import", "provisioner-values", EXAMPLES[0], "--quiet").err == ""


def test_standard_input_is_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(EXAMPLES[0].read_bytes())))
    assert (
        run("import", "provisioner-values", "-").out == run("import", "provisioner-values", EXAMPLES[0]).out
    )


def test_every_problem_is_reported_and_nothing_else(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("provisioner: {circletoken: t0ken, resourceClass: {name: runner, minReplicas: many}}")
    ran = run("import", "provisioner-values", file)
    assert (ran.code, ran.out) == (2, "")
    assert f"{file}:1:15: provisioner.circletoken: is not a known key; did you mean circleToken?" in ran.err
    assert "provisioner.resourceClass.minReplicas: wants a whole number" in ran.err
    assert "provisioner.resourceClass.name: is no class of CircleCI" in ran.err
    assert "3 problems" in ran.err
    assert "t0ken" not in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["provisioner-values", "nowhere.yaml"], "nowhere.yaml: there is no such file", id="a file"
        ),
        pytest.param(["provisioner-value", "x"], "Did you mean 'import provisioner-values'?", id="a command"),
        pytest.param(["provisioner-values"], "Missing argument 'FILE'", id="no file"),
    ],
)
def test_what_is_not_there_is_reported(words: list[str], message: str, run: Run) -> None:
    ran = run("import", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
