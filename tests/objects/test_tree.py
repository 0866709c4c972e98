import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from remuda.objects.convert import plain
from remuda.objects.nodes import MapNode, Node, place_of
from remuda.objects.problems import Problem
from remuda.objects.tree import MAX_BYTES, MAX_NODES, Refused, decode, parse, read_bytes


def read(text: str) -> tuple[list[Node], list[Problem]]:
    problems: list[Problem] = []
    return list(parse(text, "f.yaml", problems.append)), problems


def value(text: str) -> Any:
    nodes, problems = read(f"v: {text}")
    assert problems == []
    return plain(nodes[0])["v"]


def complaint(text: str) -> str:
    _, problems = read(text)
    assert len(problems) == 1
    return str(problems[0])


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        ("12", 12), ("-3", -3), ("+3", 3), ("0", 0), ("0x1F", 31), ("0o17", 15),
        ("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0), ("-2.", -2.0),
        ("text", "text"), ("'12'", "12"), ('"true"', "true"), ("'yes'", "yes"), ("2024-01-31", "2024-01-31"),
        ("1:30", "1:30"), ("10m", "10m"), ("1.2.3", "1.2.3"), ("yesterday", "yesterday"), ("0b1c2d", "0b1c2d"),
        ("!!str 12", "12"), ("! 12", "12"), ("!!int '12'", 12), ("!!float 1", 1.0), ("!!bool true", True), ("!!null ''", None),
        ("!!map {a: 1}", {"a": 1}), ("!!seq [1]", [1]), ("|\n  a\n  b\n", "a\nb\n"), ("[a, {b: c}]", ["a", {"b": "c"}]),
    ],
)  # fmt: skip
def test_a_value_means_what_both_yaml_and_kubectl_take_it_for(text: str, meaning: object) -> None:
    got = value(text)
    assert got == meaning
    assert type(got) is type(meaning)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param(
            "yes", 'write true, or "yes" in quotes', id="yes is true to kubectl and text to YAML 1.2"
        ),
        pytest.param("Off", 'write false, or "Off" in quotes', id="so is Off"),
        pytest.param("010", "two ways", id="010 is eight or ten"),
        pytest.param("1_000", "two ways", id="an underscore"),
        pytest.param("0b11", "two ways", id="binary"),
        pytest.param("-0x1F", "two ways", id="a signed hexadecimal"),
        pytest.param(".inf", "finite", id="infinity"),
        pytest.param(".nan", "finite", id="not a number"),
        pytest.param("1e999", "too large", id="a number beyond all"),
        pytest.param("9" * 5000, "5000 characters", id="thousands of digits"),
        pytest.param("!!binary aGk=", "the tag", id="a tag of YAML that is not core"),
        pytest.param("!ruby/object {}", "the tag", id="a tag of somebody"),
        pytest.param("!!python/object/apply:os.system [x]", "the tag", id="a tag that would run something"),
        pytest.param("!!int ten", "does not fit its tag", id="a tag that does not fit"),
        pytest.param("*nobody", "has no anchor", id="an alias of nothing"),
        pytest.param("&a [*a]", "inside its own anchor", id="an alias of itself"),
        pytest.param("&a {b: [{c: *a}]}", "inside its own anchor", id="an alias of what is around it"),
        pytest.param("{<<: {a: 1}}", "merge key", id="a merge key"),
        pytest.param("{1: a}", "the key 1 is not text", id="a number as a key"),
        pytest.param("{true: a}", "the key true is not text", id="a bool as a key"),
        pytest.param("{on: a}", "two ways", id="on as a key"),
        pytest.param("{[a]: b}", "a key must be text", id="a list as a key"),
        pytest.param("{? {a: b} : c}", "a key must be text", id="a mapping as a key"),
    ],
)
def test_a_value_that_is_not_clear_is_a_problem_at_its_place(text: str, sentence: str) -> None:
    words = complaint(f"v: {text}")
    assert sentence in words
    assert words.startswith("f.yaml:1:")
    assert ": v" in words


def test_a_key_given_twice_names_both_lines() -> None:
    words = complaint("a:\n  b: 1\n  c: 2\n  b: 3\n")
    assert words == "f.yaml:4:3: a.b: this key is here a second time: the first is on line 2"


def test_every_bad_value_is_reported_and_the_rest_is_read() -> None:
    nodes, problems = read("a: yes\nb: 1\nc: [010, 2, {1: 2}]\n")
    assert [(problem.line, problem.column, problem.path) for problem in problems] == [
        (1, 4, "a"),
        (3, 5, "c[0]"),
        (3, 14, "c[2]"),
    ]
    assert plain(nodes[0])["b"] == 1


def test_every_key_and_value_knows_its_place() -> None:
    (root,), _ = read("é: ü\nspec:\n  - a: 1\n    b:  two\n")
    assert isinstance(root, MapNode)
    assert (root.entries["spec"].line, root.entries["spec"].column) == (2, 1)
    assert place_of(root, "é") == (1, 1), "a path that cannot be followed leads to what is around it"
    assert place_of(root, "spec[0].b") == (4, 9)
    assert place_of(root, "spec[0].gone.deeper") == (3, 5)
    assert place_of(root, "spec[7]") == (2, 1)
    assert place_of(root, "spec") == (2, 1)


def test_several_documents_are_read_and_empty_ones_are_not() -> None:
    nodes, _ = read("---\n# nothing\n---\na: 1\n---\n---\nnull\n---\nb: &x 2\n...\n---\n")
    assert [plain(node) for node in nodes] == [{"a": 1}, {"b": 2}]


def test_an_alias_is_what_its_anchor_is_and_does_not_reach_other_documents() -> None:
    (first, second), problems = read("a: &x {b: 1}\nc: *x\nd: &x 2\ne: *x\n---\nf: *x\n")
    assert plain(first) == {"a": {"b": 1}, "c": {"b": 1}, "d": 2, "e": 2}
    assert plain(second) == {"f": None}
    assert [problem.line for problem in problems] == [6]


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
DEEP_ALIAS = f"a: &a {'[' * 40}{']' * 40}\nb: {'[' * 40}*a{']' * 40}\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("{" * 1_000_000, "64 levels", id="nested without end"),
        pytest.param("- " * 1_000_000, "64 levels", id="nested lists without end"),
        pytest.param(DEEP_ALIAS, "64 levels deep through aliases", id="nested through an alias"),
        pytest.param(BOMB, "100,000 values", id="an alias bomb"),
        pytest.param(
            f"a: &a {'x' * 1_000_000}\nb: [{'*a, ' * 1000}]\n", "100,000 values", id="long text many times"
        ),
        pytest.param(
            "- 1\n" * (MAX_NODES + 1), "100,000 values", id="too many values", marks=pytest.mark.slow
        ),
        pytest.param("x" * (MAX_BYTES + 1), "4,194,305 bytes", id="too large"),
        pytest.param("é" * (MAX_BYTES // 2 + 1), "4,194,306 bytes", id="too large in bytes"),
        pytest.param("a: [1,\nb", "is not YAML", id="a bracket left open"),
        pytest.param("a: 'b", "is not YAML", id="a quote left open"),
        pytest.param("a: b: c", "is not YAML", id="two colons"),
        pytest.param("a:\n\t- b", "is not YAML", id="a tab as indentation"),
        pytest.param("a: 1\nb: x\0y", "U.0000", id="a null byte"),
        pytest.param("a: 'x\u2028y'", "U.2028", id="a line end of YAML 1.1 alone"),
        pytest.param("a: \ud800", "U.D800", id="half of a surrogate pair"),
        pytest.param("%YAML 3.0\n---\na: 1", "is not YAML", id="another YAML"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        read(text)


def test_a_refusal_knows_its_place() -> None:
    with pytest.raises(Refused) as caught:
        read("a: 1\nb: x\0y")
    assert (caught.value.line, caught.value.column) == (2, 5)
    with pytest.raises(Refused) as caught:
        read("a: 1\nb: ]\n")
    assert (caught.value.line, caught.value.column) == (2, 4)


def test_sixty_four_levels_are_read() -> None:
    (node,), _ = read("[" * 64 + "]" * 64)
    assert str(plain(node)) == "[" * 64 + "]" * 64


def test_bytes_that_are_not_utf_8_are_refused_with_their_place() -> None:
    with pytest.raises(Refused, match="is not UTF-8") as caught:
        decode("a: é\nb: ".encode() + b"\xff")
    assert (caught.value.line, caught.value.column) == (2, 4)
    assert decode(b"\xef\xbb\xbfa: 1") == "a: 1", "a byte order mark is no content"


def test_a_file_that_is_none_is_refused_without_reading(tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    huge.touch()
    os.truncate(huge, 1 << 34)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, sentence in (
        (huge, "too large: 17,179,869,184 bytes"),
        (pipe, "not a regular file"),
        (tmp_path, "cannot be read: Is a directory"),
        (tmp_path / "gone", "no such file"),
        (tmp_path / "gone" / "deeper", "no such file"),
        (huge / "below", "cannot be read: Not a directory"),
        (Path("a\0b"), "cannot be read"),
    ):
        with pytest.raises(Refused, match=sentence):
            read_bytes(str(path))


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b" " * MAX_BYTES)
    assert len(read_bytes(str(tmp_path / "f"))) == MAX_BYTES


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(alphabet="abc", max_size=5), JSON, max_size=4))
def test_json_is_read_as_it_is(data: dict[str, Any]) -> None:
    try:
        nodes, problems = read(json.encode({"v": data}).decode())
    except Refused as refused:
        assert "is not allowed" in str(refused)  # noqa: PT017
        return
    assert problems == []
    assert plain(nodes[0]) == {"v": data}
