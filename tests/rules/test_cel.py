"""Patterns of names as the API server reads them, and texts as CEL writes them."""

import re
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.rules.cel import Condition, Judged, like, listed, mapped, quoted, regular_expression

NAMES = st.text("ab-.Z0", max_size=6)


@given(pattern=st.text("ab-.*?[]!Z\\", min_size=1, max_size=8), name=NAMES)
def test_safety_a_pattern_says_of_a_name_what_it_says_here(pattern: str, name: str) -> None:
    assert bool(re.fullmatch(regular_expression(pattern), name)) == fnmatchcase(name, pattern)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("kube-*", "kube-.*"),
        ("a.b_*", r"a\.b_.*"),
        ("a**?b", "a.*.b"),
        ("[ab]c", "[ab]c"),
        ("[!a-zA-Z0-9-]", r"[\.]"),
        ("[z-a]", r"[^\s\S]"),
        ("[]]x", r"[^\s\S]x"),
        ("a[b", r"a\[b"),
        ("[!]x", r"\[!\]x"),
    ],
)
def test_patterns_are_regular_expressions_of_re2(pattern: str, expected: str) -> None:
    assert regular_expression(pattern) == expected


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), "false"),
        (("a", "*"), "true"),
        (("a", "b", "a"), '(n in ["a", "b"])'),
        (("a*", "?"), '(n.matches("^(?:a.*|.)$"))'),
        (("a*", "b"), '(n in ["b"] || n.matches("^(?:a.*)$"))'),
    ],
)
def test_plain_names_are_looked_up(patterns: tuple[str, ...], expected: str) -> None:
    assert like("n", patterns) == expected


def test_texts_are_quoted() -> None:
    assert quoted('a"\\b\n') == '"a\\"\\\\b\\n"'
    assert listed(["a", "ü"]) == '["a", "ü"]'
    assert mapped({"a": "1", "b": "2"}) == '{"a": "1", "b": "2"}'


def test_rules_are_written_as_policies_hold_them() -> None:
    assert Condition("a", "true").written() == {"name": "a", "expression": "true"}
    assert Judged("true", "no").written() == {"expression": "true", "message": "no"}
    assert Judged("true", "no", "'n' + 'o'").written() == {
        "expression": "true",
        "message": "no",
        "messageExpression": "'n' + 'o'",
    }
