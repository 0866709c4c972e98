"""`remuda why workload`: from a kept review, one of another time, or a file."""

import json
import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import msgspec
import pytest
from tests.cli.conftest import Run
from tests.rightsize.report.reviews import AT, sample_review

from remuda.rightsize.report.document import text
from remuda.rightsize.report.kept import keep
from remuda.rightsize.review import Review


def written(review: Review) -> str:
    return "".join(text(review))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "review.json"
    path.write_text(written(sample_review()), encoding="utf-8")
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data directory with two reviews of one cluster, and an older one of another."""
    place = tmp_path / "home"
    review = sample_review()
    day = 86_400_000
    alone = msgspec.structs.replace(
        review,
        source="other",
        at=AT - day,
        workloads=(msgspec.structs.replace(review.workloads[0], name="alone"),),
    )
    first = msgspec.structs.replace(review, at=AT - 2 * day, workloads=review.workloads[1:])
    for each in (first, alone, review):
        assert keep(place, each) == ""
    return place


def test_a_container_is_explained_from_a_file(run: Run, file: Path) -> None:
    ran = run("why", "workload", "shop/checkout/app", "--from", file)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("Deployment shop/checkout: 4 pods, tier 1   reviewed ")
    assert lines[2] == "app: raise (will OOM)"
    assert lines[3].split() == ["now", "cpu", "500m/1,", "memory", "512Mi/512Mi", "request/limit"]
    assert "  error     will-oom: 512Mi; it was OOM-killed" in ran.out
    assert "            fix: raise the memory limit" in ran.out


def test_the_last_review_is_asked_by_default(run: Run, home: Path) -> None:
    ran = run("why", "workload", "shop/checkout", "--data-dir", home)
    assert ran.code == 0
    assert "app: raise (will OOM)" in ran.out
    assert "proxy: keep" in ran.out


def test_another_source_is_asked_where_the_newest_review_does_not_have_it(run: Run, home: Path) -> None:
    ran = run("why", "workload", "shop/alone", "--data-dir", home, "-o", "json")
    assert json.loads(ran.out)["source"] == "other"


def test_an_earlier_review_is_asked_with_at(run: Run, home: Path) -> None:
    asked = ("why", "workload", "--data-dir", home, "--at")
    assert run(*asked, "2026-01-07T12:00:00Z", "shop/cart").code == 0
    ran = run(*asked, "2026-01-07T12:00:00Z", "shop/checkout")
    assert ran.code == 2
    assert 'is called "shop/checkout"' in ran.err
    ran = run(*asked, "2026-01-01T00:00:00Z", "shop/cart")
    assert ran.code == 2
    assert "no review up to 2026-01-01T00:00:00Z is kept in" in ran.err


@pytest.mark.parametrize("form", ["table", "json", "yaml", "csv", "markdown"])
def test_it_is_shown_in_every_form(run: Run, file: Path, form: str) -> None:
    ran = run("why", "workload", "shop/checkout", "--from", file, "-o", form)
    assert ran.code == 0
    assert "816Mi" in ran.out or str(816 * 2**20) in ran.out
    if form == "csv":
        assert ran.out.splitlines()[0] == "CONTAINER,TERM,VALUE,REMARK"
    if form == "markdown":
        assert not any(line.startswith("  ") for line in ran.out.splitlines())


def test_a_review_is_read_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(written(sample_review()).encode())))
    assert run("why", "workload", "ml/trainer", "--from", "-").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["web/front"],
            "is 2 workloads: say which of web/Deployment/front, web/StatefulSet/front",
            id="two",
        ),
        pytest.param(["shop/chekout"], "did you mean shop/checkout?", id="a mistake"),
        pytest.param(["shop/cart", "--at", "1h"], "--from has the whole review: leave --at out", id="a time"),
        pytest.param(["shop/cart", "--history"], "No such option '--history'", id="history"),
        pytest.param(["shop/cart", "--demand", "x"], "No such option '--demand'", id="files of needs"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, file: Path, words: list[str], message: str) -> None:
    ran = run("why", "workload", *words, "--from", file)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("kind", ["pool", "machine", "job"])
def test_from_is_for_what_is_judged_on_files(run: Run, file: Path, kind: str) -> None:
    ran = run("why", kind, "1", "--from", file)
    assert ran.code == 2
    assert "No such option '--from'" in ran.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "cannot be read: No such file or directory", id="no file"),
        pytest.param(b"{", "is not what remuda rightsize review -o json prints", id="no JSON"),
        pytest.param(b"{}", "it has no schema", id="no review"),
    ],
)
def test_a_file_that_is_no_review_is_refused(
    run: Run, tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "no.json"
    if content is not None:
        path.write_bytes(content)
    ran = run("why", "workload", "a/b", "--from", path)
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1


def test_without_a_review_it_says_how_to_make_one(run: Run, tmp_path: Path) -> None:
    ran = run("why", "workload", "a/b", "--data-dir", tmp_path / "none")
    assert ran.code == 2
    assert "make one with remuda rightsize review, or give one with --from" in ran.err
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begun", "found"),
    [("shop/", {"shop/checkout", "shop/cart", "shop/alone"}), ("web/f", {"web/fresh"}), ("x", set())],
)
def test_completion_knows_the_workloads_of_kept_reviews(home: Path, begun: str, found: set[str]) -> None:
    words = f"remuda why workload {begun}"
    env = {**os.environ, "_REMUDA_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "3"}
    ran = subprocess.run(
        [sys.executable, "-m", "remuda"],
        env={**env, "REMUDA_DATA_DIR": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert {line.partition(",")[2] for line in ran.stdout.split()} == found
