"""`remuda rightsize patch`: what it reads, prints, writes and refuses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hcl2
import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result
from tests.rightsize.patches.cases import container, review, workload
from tests.rightsize.report.reviews import sample_review

from remuda.control.command import Session
from remuda.errors import BadInput, NotFound, RemudaError
from remuda.jobs import JOBS
from remuda.rightsize.commands.patch import _FORMS, patch, write_files
from remuda.rightsize.patches import FORMS, PatchFile, make
from remuda.rightsize.report import document, kept
from remuda.rightsize.review import Finding, Review

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the command; an error of ours is raised."""

    def call(*words: str | Path, stdin: str | None = None, **session: Any) -> Result:
        made = Session(JOBS)
        made.data_dir = tmp_path / "data"
        for name, value in session.items():
            setattr(made, name, value)
        ran = CliRunner().invoke(patch, [str(word) for word in words], input=stdin, obj=made)
        if isinstance(ran.exception, RemudaError):
            raise ran.exception
        return ran

    return call


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return written(tmp_path, sample_review())


def written(tmp_path: Path, found: Review) -> Path:
    file = tmp_path / "review.json"
    file.write_text("".join(document.text(found)), encoding="utf-8")
    return file


def test_every_form_can_be_asked_for() -> None:
    assert tuple(FORMS) == _FORMS


@pytest.mark.parametrize("form", [pytest.param("terraform", marks=pytest.mark.slow), "kustomize", "helm"])
def test_several_files_are_printed_each_under_its_name(run: Run, sample: Path, form: str) -> None:
    ran = run(sample, "--as", form)
    assert ran.exit_code == 0
    files = make(sample_review(), form).files
    for file in files:
        assert f"# file: {file.path}\n{file.text}" in ran.stdout
    if form != "terraform":
        assert len(list(yaml.safe_load_all(ran.stdout))) == len(files)
    else:
        assert len(hcl2.loads(ran.stdout)["locals"]) == len(files)


def test_one_file_is_printed_as_it_is(run: Run, sample: Path) -> None:
    assert run(sample, "--as", "tfvars").stdout == make(sample_review(), "tfvars").files[0].text


def test_json_patches_are_printed_as_one_object_by_workload(run: Run, sample: Path) -> None:
    found = json.loads(run(sample, "--as", "json").stdout)
    assert set(found) == {"shop/Deployment/checkout", "ml/Deployment/trainer", "web/Deployment/front"}
    assert found["ml/Deployment/trainer"][0]["path"] == "/kind"


def test_what_is_left_out_is_reported_beside(run: Run, sample: Path) -> None:
    ran = run(sample, "--as", "helm")
    assert "left out: Deployment web/fresh, container fresh: is provisional" in ran.stderr
    assert "left out: Deployment web/front, container front: cpu stays request 400m" in ran.stderr
    assert "left out" not in ran.stdout
    assert run(sample, "--as", "helm", "-q").stderr == ""


def test_only_the_workloads_that_are_named_are_patched(run: Run, sample: Path) -> None:
    for name in ("ml/trainer", "ml/deployment/train*"):
        found = json.loads(run(sample, name, "--as", "json").stdout)
        assert set(found) == {"ml/Deployment/trainer"}


def test_an_unknown_workload_is_refused_with_the_nearest(run: Run, sample: Path) -> None:
    with pytest.raises(NotFound, match=r"no workload is called ml/trainr: did you mean ml/trainer\?"):
        run(sample, "ml/trainr", "--as", "json")


def test_a_review_is_read_from_standard_input(run: Run, sample: Path) -> None:
    ran = run("-", "ml/trainer", "--as", "helm", stdin=sample.read_text(encoding="utf-8"))
    assert "memory: 20224Mi" in ran.stdout


def test_where_a_json_patch_is_from_is_reported_beside_it(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path, review(workload(container(written={"limits": {"cpu": "200m"}}))))
    ran = run(file, "--as", "json")
    assert ran.stderr.startswith(
        "remuda rightsize patch, from the review of 2026-01-09T00:00:00Z: workloads of"
    )
    assert "\napp: raise; cpu request 100m" in ran.stderr
    (found,) = json.loads(run(file, "--as", "json", "-o", "json").stdout)["files"]
    assert found["about"] == ran.stderr.splitlines()
    assert run(file, "--as", "json", quiet=True).stderr == ""


def test_what_was_written_is_reported_in_a_whole_sentence(run: Run, sample: Path, tmp_path: Path) -> None:
    ran = run(sample, "--as", "tfvars", "--out", tmp_path / "out")
    assert f"wrote 1 file to {tmp_path / 'out'}. Give it with -var-file, " in ran.stderr
    assert not ran.stderr.splitlines()[0].endswith(":")


@pytest.mark.parametrize("form", _FORMS)
def test_nothing_to_change_is_said_and_no_failure(run: Run, tmp_path: Path, form: str) -> None:
    file = written(tmp_path, review(workload(container(verdict="keep"))))
    ran = run(file, "--as", form, "--out", tmp_path / "out")
    assert ran.exit_code == 0
    assert ran.stderr.startswith(
        "nothing is to be changed\nleft out: Deployment shop/web, container app: keeps"
    )
    assert ran.stdout == ""
    assert not (tmp_path / "out").exists()


def test_nothing_to_change_prints_json_that_says_so(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path, review(workload(container(verdict="keep"))))
    assert json.loads(run(file, "--as", "json").stdout) == {}


def test_a_program_gets_files_and_what_is_left_out(run: Run, sample: Path) -> None:
    found = json.loads(run(sample, "--as", "tfvars", "-o", "json").stdout)
    made = make(sample_review(), "tfvars")
    assert found == {
        "form": "tfvars",
        "files": [{"path": "rightsize.tfvars", "text": made.files[0].text}],
        "left": list(made.left),
        "beware": [],
    }


def test_what_stands_against_all_changes_together_is_reported(run: Run, tmp_path: Path) -> None:
    quota = Finding(
        "quota-too-small", "error", "ResourceQuota shop/all", "spec.hard", "4Gi", "5Gi", "raise it"
    )
    of_workload = Finding("starved", "error", "Deployment shop/web", "spec", "1m", "5m", "raise it")
    file = written(tmp_path, review(findings=(quota, of_workload)))
    line = "ResourceQuota shop/all: error quota-too-small, spec.hard: 4Gi; should be: 5Gi; raise it"
    assert run(file, "--as", "tfvars").stderr == f"before you apply them: {line}\n"
    assert json.loads(run(file, "--as", "tfvars", "-o", "json").stdout)["beware"] == [line]


def test_what_stands_against_changes_of_other_namespaces_is_not_reported(run: Run, tmp_path: Path) -> None:
    quota = Finding("quota-too-small", "error", "ResourceQuota ml/all", "spec.hard", "4Gi", "5Gi", "raise it")
    both = (workload(), workload(namespace="ml"))
    file = written(tmp_path, review(*both, findings=(quota,)))
    assert run(file, "shop/*", "--as", "tfvars").stderr == ""
    assert "ResourceQuota ml/all" in run(file, "ml/*", "--as", "tfvars").stderr


@pytest.mark.parametrize("form", _FORMS)
def test_files_are_written_to_a_new_directory(run: Run, sample: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / "a" / "new"
    ran = run(sample, "--as", form, "--out", out)
    assert ran.exit_code == 0
    files = {file.path: file.text for file in make(sample_review(), form).files}
    assert {path.name: path.read_text(encoding="utf-8") for path in out.iterdir()} == files
    assert f"wrote {len(files)} file" in ran.stderr
    assert ran.stdout == ""


def test_an_empty_directory_will_do(run: Run, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    run(sample, "--as", "tfvars", "--out", tmp_path / "empty")
    assert [path.name for path in (tmp_path / "empty").iterdir()] == ["rightsize.tfvars"]


def test_a_directory_with_files_is_refused_even_if_they_are_patches(
    run: Run, sample: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run(sample, "--as", "kustomize", "--out", out)
    before = {path: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(BadInput, match="is there and not an empty directory: give --out a new one"):
        run(sample, "ml/trainer", "--as", "kustomize", "--out", out)
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_a_file_in_the_way_is_refused(run: Run, sample: Path) -> None:
    ran = run(sample, "--as", "helm", "--out", sample)
    assert ran.exit_code == 2
    assert "is a file" in ran.stderr


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    files = (PatchFile("a", "1"), PatchFile("b" * 300, "2"))
    (tmp_path / "empty").mkdir()
    for out in (tmp_path / "new", tmp_path / "empty"):
        with pytest.raises(
            RemudaError, match="cannot be written: File name too long; nothing was kept of it"
        ):
            write_files(out, files)
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_a_directory_that_cannot_be_made_is_reported(sample: Path) -> None:
    with pytest.raises(RemudaError, match="cannot be written: Not a directory"):
        write_files(sample / "new", (PatchFile("a", "1"),))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("", "is not what remuda rightsize review -o json prints", id="nothing"),
        pytest.param("[]", "expected `object`", id="a list"),
        pytest.param("{}", "has no schema", id="an object of nothing"),
        pytest.param("\0", "is not what remuda rightsize review", id="junk"),
    ],
)
def test_what_is_no_review_is_refused(run: Run, tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=why):
        run(file, "--as", "json")


def test_a_file_that_is_not_there_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"gone\.json: cannot be read: No such file or directory"):
        run(tmp_path / "gone.json", "--as", "json")


def test_without_a_review_the_last_that_was_kept_is_patched(run: Run, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no review is kept: run remuda rightsize review, or give"):
        run("--as", "json")
    first = sample_review()
    later = msgspec.structs.replace(review(), at=first.at + 1, source="https://other.example")
    for each in (first, later):
        assert kept.keep(tmp_path / "data", each) == ""
    ran = run("--as", "json")
    assert set(json.loads(ran.stdout)) == {"shop/Deployment/web"}
    assert ran.stderr.startswith("of 2 kept reviews, the last is of https://other.example\n")
    assert set(json.loads(run("shop/web", "--as", "json").stdout)) == {"shop/Deployment/web"}
