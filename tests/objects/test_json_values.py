"""Where values of JSON end, and where a text stops being JSON."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remuda.objects.json_values import malformed, value_end
from remuda.objects.texts import Text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,  # those of a hundred take twice as long to draw and are longer, not stranger
)
DEEP = [[[[[[[[{"]": [[], {"}": [{"\\": {}}]}]}]]]]]]]]
VALUES = st.lists(JSON) | st.dictionaries(st.text(), JSON)


def refused(data: bytes, begin: int = 0) -> tuple[str, int, int]:
    error = malformed(Text("f.json", data, 0), begin)
    return str(error), error.line, error.column


@pytest.mark.slow
@given(VALUES, st.sampled_from(["", " ", "\n{}", "[1", '"']), st.booleans())
@example(DEEP, "[1", True)
def test_a_value_ends_where_its_brackets_are_closed(value: object, after: str, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    assert value_end(b"  " + text + after.encode(), 2) == 2 + len(text)


@pytest.mark.slow
@given(VALUES, st.data())
def test_a_text_that_is_cut_off_has_no_end_and_says_so(value: object, data: st.DataObject) -> None:
    text = json.dumps(value).encode()
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    assert value_end(cut, 0) is None
    assert refused(cut)[0] == "is cut off: the JSON ends before it is complete"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        pytest.param(b'{"a":\n [}', ("is not JSON: Expecting value", 2, 3), id="a bracket too early"),
        pytest.param(b"x", ("is not JSON: Expecting value", 1, 1), id="a word"),
        pytest.param(b'{"a" 1}', ("is not JSON: Expecting ':' delimiter", 1, 6), id="no colon"),
        pytest.param(b'["\xc3\xa9", \xff]', ("is not JSON: this is not UTF-8", 1, 8), id="bytes"),
        pytest.param(b"[" * 200_000, ("is nested too deep", 0, 0), id="deep"),
        pytest.param(b"[]", ("is not JSON", 1, 1), id="what another decoder refuses"),
    ],
)
def test_the_place_is_where_it_stops_being_json(text: bytes, where: tuple[str, int, int]) -> None:
    assert refused(text) == where


def test_a_later_value_is_placed_in_the_whole_file() -> None:
    assert refused(b'{"a": 1}\n{"b" 2}', 9) == ("is not JSON: Expecting ':' delimiter", 2, 6)
