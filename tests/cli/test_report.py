"""`remuda report` and `remuda simulate pools --from-ledger`: of what really ran, and of reviews that were kept."""

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs
from tests.cli.conftest import Run
from tests.processes import Place, ceiling, place, pool
from tests.rightsize.report.reviews import AT, sample_review

from remuda.ledger.store import FILE
from remuda.model.times import write_instant
from remuda.rightsize.report.kept import keep

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def past() -> Iterator[Place]:
    """Two pools under a ceiling of two, whose jobs waited for each other; nothing runs any more."""
    with place() as made:
        made.write(
            pool("a", min=0, max=4, ceiling="lap"), pool("b", min=0, max=4, ceiling="lap"), ceiling("lap", 2)
        )
        made.start()
        numbers = [
            made.submit("sleep", "1", job_class=f"test/{name}") for name in ("a", "a", "a", "b", "b", "b")
        ]
        for number in numbers:
            made.wait_end(number)
        made.stop()
        yield made


def test_the_page_is_whole_and_what_would_have_changed_comes_first(
    past: Place, run: Run, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    ran = run("report", "--since", "1h", "--html", page, "--price", "0.04", "--data-dir", past.data)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"the report is in {page}\n"
    text = page.read_text()
    titles = re.findall(r"<section[^>]*><h2>([^<]*)</h2>", text)
    assert titles == [
        "What would have changed",
        "Waiting",
        "Machines and cost",
        "Limits that were hit",
        "Who waited for whom",
        "What is not known",
    ]
    assert text.count("<script>") == 1, "what draws charts"
    assert not re.search(r'(src|href)="(?!#)', text)
    assert text.count("data-chart=") == 2
    assert "ceiling lap: 2 → 3 machines" in text
    assert "That cost $" in text


def test_a_program_gets_the_numbers(past: Place, run: Run) -> None:
    ran = run("report", "--since", "1h", "-o", "json", "--data-dir", past.data)
    sections = {each["title"]: each["data"] for each in json.loads(ran.out)["sections"]}
    waits = {each["job_class"]: each for each in sections["Waiting"]["waits"]}
    assert {name: each["jobs"] for name, each in waits.items()} == {"test/a": 3, "test/b": 3}
    (lap,) = sections["Limits that were hit"]["ceilings"]
    assert lap["name"] == "lap"
    assert lap["held_ms"] > 0
    assert {(each["waiter"], each["holder"]) for each in sections["Who waited for whom"]["pairs"]} <= {
        ("a", "b"),
        ("b", "a"),
    }
    tried = sections["What would have changed"]
    assert tried["simulated"]["jobs"] == 6
    more = next(each for each in tried["changes"] if each["change"].startswith("ceiling lap: 2 → "))
    assert more["waiting_saved_ms"] > 0


def test_without_a_simulation_only_what_is_recorded_is_told(past: Place, run: Run) -> None:
    out = run("report", "--since", "1h", "--no-simulation", "--data-dir", past.data).out
    assert "What would have changed" not in out
    assert "What a machine costs is not recorded" in out


def test_the_simulation_of_what_was_comes_near_it_and_a_file_changes_it(
    past: Place, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "more.yaml"
    file.write_text(json.dumps(ceiling("lap", 6)))
    ran = run(
        "simulate",
        "pools",
        "--from-ledger",
        "--since",
        "1h",
        "-f",
        file,
        "-o",
        "json",
        "--data-dir",
        past.data,
    )
    assert ran.code == 0
    was, again, changed = json.loads(ran.out)["outcomes"].values()
    assert was["jobs"] == again["jobs"] == changed["jobs"] == 6
    # Real machines of a loaded computer are late by some seconds; simulated ones are not.
    assert abs(was["mean_wait_ms"] - again["mean_wait_ms"]) < 10_000
    assert changed["waiting_ms"] < again["waiting_ms"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param("report --since 2999-01-01", "ahead of this computer's clock", id="a time to come"),
        pytest.param(
            "report --since 1h --until 2h", "--since 1h is not before --until 2h", id="times that cross"
        ),
        pytest.param("report --price cheap", "'cheap' is no price", id="no price"),
        pytest.param("report --price a=-1", "'a=-1' is no price", id="a price below nothing"),
        pytest.param(
            "report --since 1h --price shel=1",
            "there was no pool shel in that time; there was: ",
            id="the price of a pool that was not there",
        ),
        pytest.param("report --since 40d --until 39d", "nothing is recorded since 40d", id="nothing then"),
        pytest.param(
            "simulate pools --from-ledger --since 40d --until 39d",
            "nothing is recorded of pools",
            id="nothing to simulate",
        ),
        pytest.param("simulate pools --until 1h", "are for --from-ledger", id="options of another world"),
        pytest.param(
            "report --since 1h --html /nonexistent/x", "cannot be written", id="a page that cannot be written"
        ),
    ],
)
def test_what_cannot_be_reported_is_said(words: str, told: str, past: Place, run: Run) -> None:
    ran = run(*words.split(), "--data-dir", past.data)
    assert ran.code == 2
    assert told in ran.err


def test_an_object_that_was_never_there_cannot_be_simulated(past: Place, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text(json.dumps(ceiling("nope", 6)))
    ran = run("simulate", "pools", "--from-ledger", "--since", "1h", "-f", file, "--data-dir", past.data)
    assert ran.code == 2
    assert "nothing recorded is called Ceiling nope; there is: a, b, lap" in ran.err


def test_a_store_of_a_newer_remuda_is_said_and_not_taken_for_an_empty_one(
    past: Place, run: Run, tmp_path: Path
) -> None:
    shutil.copy(past.data / FILE, tmp_path / FILE)
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    ran = run("report", "--since", "1h", "--data-dir", tmp_path)
    assert ran.code == 2
    assert "install the newer remuda that wrote it" in ran.err


def test_where_nothing_was_recorded_that_is_said(run: Run, tmp_path: Path) -> None:
    ran = run("report", "--data-dir", tmp_path)
    assert ran.code == 2
    assert f"nothing is recorded since 30d in {tmp_path}" in ran.err


def test_right_sizing_that_was_done_and_is_still_to_do_is_told(run: Run, tmp_path: Path) -> None:
    review = sample_review()
    followed = tuple(
        structs.replace(
            workload,
            containers=tuple(structs.replace(item, now=item.recommended) for item in workload.containers),
        )
        for workload in review.workloads
    )
    assert keep(tmp_path, review) == ""
    alone = run("report", "--since", "2020-01-01", "-o", "json", "--data-dir", tmp_path)
    (section,) = json.loads(alone.out)["sections"]
    assert section["data"]["reviews"][0]["done"] == "no review of before to compare with"
    assert section["data"]["reviews"][0]["to_do"] > 0
    assert keep(tmp_path, structs.replace(review, at=AT + 3_600_000, workloads=followed)) == ""
    both = run("report", "--since", write_instant(AT + 1_000), "-o", "json", "--data-dir", tmp_path)
    assert "followed" in json.loads(both.out)["sections"][0]["data"]["reviews"][0]["done"]
