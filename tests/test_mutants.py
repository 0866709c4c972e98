"""The mutants: each is one small change that still is Python, the same for the same seed, and those with a name are among them."""

import ast
from pathlib import Path

import pytest
from tests.mutants import SOURCE, close_tests, mutants_of, named, sample, targets

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


def test_judgement_the_watch_cache_and_the_ledger_are_changed() -> None:
    found = targets()
    assert {"kube/cache.py", "ledger/store.py", "pools/decide/moves.py", "rules/ceilings.py"} <= set(found)
    assert not any(name.endswith("__init__.py") for name in found)


def test_a_file_is_tested_by_its_own_tests_first_and_then_by_its_room(tmp_path: Path) -> None:
    (tmp_path / "pools").mkdir()
    (tmp_path / "pools" / "test_moves.py").touch()
    room = str(tmp_path / "pools")
    quick = ["-m", "not slow", room]
    assert close_tests("pools/decide/moves.py", tmp_path) == [[f"{room}/test_moves.py"], quick]
    assert close_tests("pools/decide/census.py", tmp_path) == [quick]


def test_a_named_change_whose_text_is_gone_says_so() -> None:
    assert named("a.py", "a < b", "a > b", SMALL).line == 2
    with pytest.raises(LookupError, match="no longer has"):
        named("a.py", "nonesuch", "", SMALL)
