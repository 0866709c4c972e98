"""The mutants: each is one small change that still is Python, the same for the same seed, and those with a name are among them."""

import ast
import shutil
from pathlib import Path

import pytest
from tests.mutants.__main__ import close_tests
from tests.mutants.changes import NAMED, SOURCE, Mutant, mutants_of, named, sample, targets
from tests.mutants.rooms import Reach, statement, swapped

SMALL = """\
def judge(a: int | None, b: int = 1, *, c: bool = False) -> bool:
    if a is not None and a < b:
        b += 1
        note(f"{a + b} of {b}")
    assert a != 3
    return not c or max(a, b) > 100
"""


def test_every_kind_of_change_is_tried_and_nothing_that_decides_nothing() -> None:
    changed = {mutant.applied(SMALL) for mutant in mutants_of("a.py", SMALL)}
    for old, new in (
        ("a < b", "a <= b"),
        ("is not None", "is None"),
        (" and ", " or "),
        ("b += 1", "pass"),
        ("c: bool = False", "c: bool = True"),
        ("b: int = 1", "b: int = 2"),
        ("not c", "c"),
        ("max(", "min("),
        ("> 100", ">= 100"),
        ("if a is not None and a < b:", "if (not (a is not None and a < b)):"),
    ):
        assert SMALL.replace(old, new) in changed, new
    for same in ("a != 3", "int | None", "{a + b} of {b}"):
        assert all(same in text or "note(" not in text for text in changed), same


def test_how_a_class_is_laid_out_and_what_is_known_anyway_is_not_changed() -> None:
    text = "class Room(Struct, frozen=True):\n    limit: int = 1\n\n\npairs = [*zip(a, b, strict=True)]\n"
    assert [mutant.old for mutant in mutants_of("a.py", text)] == ["1"]
    assert not list(mutants_of("a.py", "@dataclass(frozen=True)\nclass Room:\n    pass\n"))


def test_a_line_whose_change_nobody_could_notice_is_left_alone_and_says_why() -> None:
    assert not list(mutants_of("a.py", "a = b < 1  # pragma: no mutate - b is never 1\n"))
    with pytest.raises(ValueError, match=r"a\.py:2: say why"):
        list(mutants_of("a.py", "a = 1\nb = 2  # pragma: no mutate\n"))


@pytest.mark.slow
def test_the_mutants_of_a_seed_are_python_differ_from_the_source_and_stay_the_same() -> None:
    chosen = sample(120, 7)
    assert chosen == sample(120, 7)
    assert chosen != sample(120, 8)
    assert len(set(chosen)) == len(chosen) == 120
    for mutant in chosen:
        text = (SOURCE / mutant.file).read_text(encoding="utf-8")
        assert mutant.applied(text) != text
        ast.parse(mutant.applied(text))


def test_an_edit_of_one_file_leaves_the_mutants_of_the_others_as_they_were(tmp_path: Path) -> None:
    for file in {file for file, _, _ in NAMED}:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / file, tmp_path / file)
    edited = tmp_path / "kube" / "cache.py"
    before = sample(30, 7, tmp_path)
    edited.write_text(edited.read_text(encoding="utf-8") + "\n\n_EVEN = 1 + 1 == 2\n", encoding="utf-8")
    after = sample(30, 7, tmp_path)
    assert before != after
    assert [one for one in before if one.file != "kube/cache.py"] == [
        one for one in after if one.file != "kube/cache.py"
    ]


def test_judgement_the_watch_cache_and_the_ledger_are_changed() -> None:
    found = targets()
    assert {"kube/cache.py", "ledger/store.py", "pools/decide/moves.py", "rules/ceilings.py"} <= set(found)
    assert not any(name.endswith("__init__.py") for name in found)


def test_a_file_is_tested_by_its_own_tests_first_and_then_by_those_that_reach_it(tmp_path: Path) -> None:
    (tmp_path / "pools").mkdir()
    (tmp_path / "pools" / "test_moves.py").touch()
    room = str(tmp_path / "pools")
    moves, census = (Mutant(f"pools/decide/{name}.py", 1, 0, 1, "a", "b") for name in ("moves", "census"))
    quick = ["-m", "not slow"]
    reaching = [f"{room}/test_b.py"]
    assert close_tests(moves, reaching, tmp_path) == [[f"{room}/test_moves.py"], [*quick, *reaching]]
    assert close_tests(census, reaching, tmp_path) == [[*quick, *reaching]]
    assert close_tests(census, [], tmp_path) == [[*quick, room]]


def test_only_the_tests_that_reach_a_change_run_the_quickest_first() -> None:
    reach = Reach(
        {"test_a.py::x": 0.1, "test_b.py::x": 0.3, "test_b.py::y": 0.2},
        {"a.py": {3: ["test_b.py::x"], 5: ["test_b.py::y"], 6: ["test_a.py::x"]}},
        [],
    )
    assert reach.tests(change("b += 1", "pass"), SMALL) == ["test_b.py::x"]
    assert reach.tests(change("int = 1", "int = 2"), SMALL) == [
        "test_a.py::x",
        "test_b.py::y",
        "test_b.py::x",
    ]


def test_a_change_belongs_to_the_innermost_statement_without_what_that_holds() -> None:
    text = (
        "def a():\n    if (\n        b\n        and c\n    ):\n        return d(\n            1\n        )\n"
    )
    assert statement(change("b\n", "not b\n", text), text) == (2, 5)
    assert statement(change("1", "2", text), text) == (6, 8)


def test_the_code_of_one_function_is_swapped_and_what_is_not_in_a_body_needs_a_new_process() -> None:
    text = "LIMIT = 3\n\n\nclass Room:\n    size: int = 4\n\n    def fits(self, n=5):\n        return any(n < 6 for n in self)\n"
    codes = swapped(change("6", "7", text), text)
    assert codes is not None
    assert [code.co_qualname for code in codes] == ["Room.fits", "Room.fits"]
    assert all(swapped(change(old, "9", text), text) is None for old in ("3", "4", "5"))


def change(old: str, new: str, text: str = SMALL) -> Mutant:
    return named("a.py", old, new, text)


def test_a_named_change_whose_text_is_gone_says_so() -> None:
    assert named("a.py", "a < b", "a > b", SMALL).line == 2
    with pytest.raises(LookupError, match="no longer has"):
        named("a.py", "nonesuch", "", SMALL)
