"""What explanations say of the code is so: tests that are named exist, pictures are current, lists are whole."""

import ast
import re
from pathlib import Path

import pytest
from manual import house, objects, recording

from remuda.jobs import JOBS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXPLANATIONS = ROOT / "docs" / "explanation"


def test_every_failure_is_shown_by_a_test_that_exists() -> None:
    text = (EXPLANATIONS / "failures.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "| what happens |" not in line]
    assert len(rows) > 25
    for row in rows:
        (named,) = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)` \|$", row) or [("", row)]
        path, name = named
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {
            each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        }, name


def test_the_comparison_names_every_source_and_provider() -> None:
    text = (EXPLANATIONS / "comparison.md").read_text(encoding="utf-8")
    (sources, providers), *_ = re.findall(r"take demand from (.*?) and run machines of (.*?)\. ", text)
    paths = [path for path, _ in objects.fields(JOBS, "RunnerPool")]
    for named, field in ((sources, "source"), (providers, "provider")):
        known = {path.split(".")[2] for path in paths if path.startswith(f"spec.{field}.")}
        assert set(re.findall(r"`(\w+)`", named)) == known


def test_the_comparison_has_a_section_for_each_peer_that_says_who_should_use_it() -> None:
    text = (EXPLANATIONS / "comparison.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(.*?)\]\(#", text, re.MULTILINE)
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert len(listed) == 7
    for peer in listed:
        assert "**Use " in sections[peer], peer
        assert re.match(r"\n\*.*\d", sections[peer]), f"{peer}: which version"


def test_numbers_of_the_peer_are_those_of_the_guide() -> None:
    """One place says what was measured; where others repeat it, they repeat it right."""
    guide = (ROOT / "docs" / "guides" / "fleet.md").read_text(encoding="utf-8")
    measured = re.findall(
        r"^\| .* \| ([\d,]+) \| ([\d,]+) \| (\d+ ms) \| ([\d.]+ s) \|$", guide, re.MULTILINE
    )
    text = (EXPLANATIONS / "comparison.md").read_text(encoding="utf-8")
    repeated = re.findall(
        r"^\| .* \| ([\d,]+) \| ([\d,]+) \| (\d+ ms)[^|]* \| ([\d.]+ s)[^|]* \|$", text, re.MULTILINE
    )
    assert len(repeated) == 4
    assert set(repeated) <= set(measured)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pairs = re.findall(r"\| (\d+ ms)[^|]* \| BigFleet's engine ([\d.]+ s)", readme)
    assert len(pairs) == 2
    assert set(pairs) <= {row[2:] for row in measured}


def test_the_picture_of_the_house_has_the_jobs_there_are() -> None:
    assert house.PICTURE.read_text(encoding="utf-8") == house.house(JOBS), "`python -m manual.house` draws it"


def test_the_recording_is_small_and_loads_nothing() -> None:
    picture = recording.PICTURE.read_text(encoding="utf-8")
    assert len(picture) < 20_000
    assert not re.search(r"href|url\((?!#)|@import|<script", picture)
    assert recording.drawn(recording.read(picture)) == picture


def test_the_recording_shows_what_the_session_prints() -> None:
    recorded = recording.read(recording.PICTURE.read_text(encoding="utf-8"))
    assert recording.settled(recorded) == recording.settled(recording.run_session())


def test_every_tutorial_is_executed() -> None:
    from tests.docs.test_examples import PAGES

    typed = (ROOT / "tests" / "charts" / "test_tutorials.py").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs" / "tutorials").glob("*.md")}
    assert len(pages) >= 6
    in_a_cluster = set(re.findall(r'(?:Reader|type_all)\("([\w-]+\.md)"', typed))
    assert {page.removeprefix("tutorials/") for page in PAGES} & pages | in_a_cluster == pages
