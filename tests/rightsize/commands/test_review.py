"""`remuda rightsize review` on files: what is kept, what is refused, and with which exit code."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.processes import Ran
from tests.rightsize.observe.clusters import workload, written
from tests.rightsize.observe.test_sources import AT, DAY, cluster, instance, usage

from remuda.cli.tree import main
from remuda.rightsize.report.kept import newest_of_each

Review = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Review:
    """Review one workload with a day of samples, and whatever words are added."""
    monkeypatch.setenv("REMUDA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("PROMETHEUS_URL", raising=False)
    empty = written("v1", "Namespace", "empty", meta={"namespace": ""})
    shop = written("v1", "Namespace", "shop", meta={"namespace": ""})
    files = cluster(tmp_path, workload(), empty, shop)
    use = usage(tmp_path, instance(range(AT - 2 * DAY, AT, 60), 50.0 * 2**20))

    def call(*words: str | Path, use: str = use) -> Ran:
        capsys.readouterr()
        at = "2026-01-01T00:00:00Z"
        given = ["rightsize", "review", "--from", files, "--usage", use, "--at", at, *map(str, words)]
        with pytest.raises(SystemExit) as ended:
            main(given)
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, out, err)

    return call


def kept(directory: Path) -> list[int]:
    """How many workloads each kept review has."""
    return [len(review.workloads) for review in newest_of_each(directory / "data")]


def findings(ran: Ran) -> dict[str, Any]:
    return {item["rule"]: item for item in json.loads(ran.out)["findings"]}


def test_samples_of_the_future_are_a_finding(run: Review, tmp_path: Path) -> None:
    times = range(AT - 2 * DAY, AT + DAY, 60)
    ran = run("-o", "json", use=usage(tmp_path, instance(times), name="odd.json"))
    assert "samples of CPU that were left out: 1,439 in the future" in findings(ran)["odd-samples"]["is"]
    assert json.loads(ran.out)["workloads"][0]["containers"][0]["evidence"]["last"] == AT


def test_history_is_minded_for_files(run: Review) -> None:
    ran = run("-o", "json", "--history", "1h")
    (evidence,) = [each["evidence"] for each in json.loads(ran.out)["workloads"][0]["containers"]]
    assert (evidence["first"], evidence["cpuSamples"]) == (AT - 3600, 60)
    assert "samples before 2025-12-31T23:00:00Z, when the history begins, were left out" in ran.err


def test_samples_that_are_all_too_old_are_no_evidence(run: Review) -> None:
    ran = run("-o", "json", "--at", "2026-02-01T00:00:00Z")
    assert "no-evidence" in findings(ran)
    assert json.loads(ran.out)["workloads"][0]["containers"][0]["verdict"] == "leave"


def test_a_review_without_any_use_fails_and_is_not_kept(run: Review, tmp_path: Path) -> None:
    ran = run("--at", "2026-02-01T00:00:00Z")
    assert ran.code == 1
    assert "nothing is known of the use of any workload: this review is not kept" in ran.err
    assert not (tmp_path / "data").exists()


def test_nothing_is_judged_as_of_a_time_to_come(run: Review) -> None:
    ran = run("--at", "2999-01-01T00:00:00Z")
    assert (ran.code, ran.out) == (2, "")
    assert "--at: is in the future" in ran.err


def test_a_review_of_nothing_does_not_take_the_place_of_a_good_one(run: Review, tmp_path: Path) -> None:
    assert run().code == 0
    assert kept(tmp_path) == [1]
    ran = run("--namespace", "empty")
    assert ran.code == 0
    assert "there are no workloads: this review is not kept" in ran.err
    assert kept(tmp_path) == [1]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        pytest.param(["--namespace", "sho"], 2, "no namespace is called sho: did you mean shop?", id="slip"),
        pytest.param(["--namespace", "x*"], 2, "no namespace matches x*: there is empty, shop", id="pattern"),
        pytest.param(["shop/wbe"], 2, "did you mean shop/web?", id="workload"),
        pytest.param(["--html", "-"], 2, "--html report.html", id="standard output"),
        pytest.param(["--html", "nope/r.html"], 1, "nope/r.html: cannot be written", id="no directory"),
        pytest.param(["--html", "/dev/full"], 1, "/dev/full: cannot be written: No space left", id="full"),
        pytest.param(["--usage", "nope.json"], 2, "nope.json: cannot be read: No such file", id="no file"),
        pytest.param(["--from", "-", "--usage", "-"], 2, "cannot both be read from standard", id="one input"),
    ],
)
def test_what_cannot_be_done_is_reported_and_nothing_is_printed_or_kept(
    words: list[str], code: int, message: str, run: Review, tmp_path: Path
) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert kept(tmp_path) == []


def test_a_page_is_written_before_the_review_is_printed(run: Review, tmp_path: Path) -> None:
    ran = run("--html", tmp_path / "r.html")
    assert ran.code == 0
    assert "<html" in (tmp_path / "r.html").read_text()


def test_samples_are_piped_in(run: Review, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (tmp_path / "usage.json").read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    ran = run("-o", "json", use="-")
    assert (ran.code, json.loads(ran.out)["usage"]) == (0, "samples standard input")


def test_since_last_says_of_what_no_review_is_kept(run: Review) -> None:
    assert run().code == 0
    assert "no review of these workloads is kept yet" in run("shop/web", "--since-last").err
    assert "is kept yet" not in run("shop/web", "--since-last").err
    assert "no such review is kept yet" not in run("--since-last").err
