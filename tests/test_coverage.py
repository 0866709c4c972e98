"""The gate itself: what it counts, what it lets pass, and what it says."""

from pathlib import Path
from typing import Any

import pytest
from tests.coverage import Figure, exceptions_without_reason, figures, packages, problems, rooms


def file(*, lines: int, missing: list[int], branches: list[list[int]]) -> dict[str, Any]:
    return {
        "summary": {
            "covered_lines": lines - len(missing),
            "num_statements": lines,
            "covered_branches": 10 - len(branches),
            "num_branches": 10,
        },
        "missing_lines": missing,
        "missing_branches": branches,
    }


def test_every_package_that_judges_is_found_wherever_it_lies(tmp_path: Path) -> None:
    for name in ("rules", "pools/decide", "deep/er/decide", "decide_not"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "empty" / "decide").mkdir(parents=True)
    assert packages(tmp_path) == ["deep/er/decide", "pools/decide", "rules"]
    assert {"fleet/decide", "pools/decide", "rightsize/decide", "rules"} <= set(packages())


def test_tests_are_taken_from_beside_the_packages_or_else_from_their_rooms(tmp_path: Path) -> None:
    for name in ("fleet/decide", "fleet/show", "pools", "rules", "kube"):
        (tmp_path / name).mkdir(parents=True)
    assert rooms(["fleet/decide", "pools/decide", "rules", "new/decide"], tmp_path) == [
        str(tmp_path / "fleet" / "decide"),
        str(tmp_path / "pools"),
        str(tmp_path / "rules"),
    ]


def test_lines_and_branches_count_together_and_what_is_missing_is_named_once() -> None:
    report = {
        "files": {
            "src/remuda/rules/a.py": file(lines=80, missing=[7], branches=[[6, 7], [9, -1]]),
            "src/remuda/rules_not/b.py": file(lines=80, missing=[1, 2], branches=[]),
        }
    }
    (found,) = figures(report, ["rules"])
    assert found.percent == pytest.approx(100 * 87 / 90)
    assert found.missing == ("src/remuda/rules/a.py:7", "src/remuda/rules/a.py:9->exit")


@pytest.mark.parametrize(
    ("percent", "floors", "said"),
    [
        pytest.param(100.0, {}, "", id="all of it"),
        pytest.param(99.9, {}, "at least 100 %", id="a package without a floor must be whole"),
        pytest.param(97.0, {"rules": 97.0}, "", id="at its floor"),
        pytest.param(96.9, {"rules": 97.0}, "at least 97 %", id="below its floor"),
        pytest.param(100.0, {"rules": 97.0}, "", id="above its floor"),
    ],
)
def test_a_package_is_whole_or_at_its_floor(percent: float, floors: dict[str, float], said: str) -> None:
    found = problems([Figure("rules", percent, ("a.py:1",))], floors)
    assert len(found) == (1 if said else 0)
    assert all(said in line for line in found)


def test_a_package_of_which_nothing_was_measured_is_a_problem() -> None:
    assert problems(figures({"files": {}}, ["rules"]), {})


def test_an_exception_says_why(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.py").write_text(
        "a = 1  # pragma: no cover - a fact from outside\nb = 2  # pragma: no cover\nc = 3  # pragma: no branch -\n"
    )
    assert [line.split(": ")[0] for line in exceptions_without_reason(tmp_path, ["rules"])] == [
        "rules/a.py:2",
        "rules/a.py:3",
    ]
