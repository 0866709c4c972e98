"""However an answer is cut on its way, its elements come out whole; what is no answer is said to be none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.prometheus.answers import read_envelope
from remuda.prometheus.errors import PrometheusError
from remuda.prometheus.series import read_series
from remuda.prometheus.split import Splitter

HOSTILE = [
    '"',
    "\\",
    '\\"',
    "{",
    "}",
    "]",
    '"values":[[',
    '"}],"result":[{',
    "ü",
    "\n",
    "[[1,2]]",
    '"data":{',
]
words = st.text(st.sampled_from([*'ab{}[]",:\\ \n', "é"]), max_size=8) | st.sampled_from(HOSTILE)
numbers = st.sampled_from(["1", "1.5e+06", "NaN", "+Inf", "-Inf", "0"])
elements = st.fixed_dictionaries(
    {"metric": st.dictionaries(words, words, max_size=3)},
    optional={
        "values": st.lists(st.tuples(st.integers(0, 2**31), numbers), max_size=4),
        "histograms": st.lists(
            st.tuples(st.integers(0, 9), st.dictionaries(words, words, max_size=2)), max_size=2
        ),
        "value": st.tuples(st.integers(0, 9), numbers),
    },
)


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces, at, turn = [], 0, 0
    while at < len(data):
        pieces.append(data[at : at + sizes[turn % len(sizes)]])
        at, turn = at + sizes[turn % len(sizes)], turn + 1
    return pieces


def split_up(data: bytes, sizes: list[int]) -> tuple[list[bytes], bytes]:
    splitter = Splitter()
    found = [piece for chunk in cut(data, sizes) for piece in splitter.feed(chunk)]
    return found, splitter.end()


@pytest.mark.slow
@given(
    result=st.lists(elements, max_size=4),
    before=st.dictionaries(words.filter(lambda key: key not in {"data", "status"}), words, max_size=2),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    indent=st.sampled_from([None, 1]),
    is_nested=st.booleans(),
)
def test_elements_and_what_is_around_them_are_as_they_were(
    result: list[dict[str, object]],
    before: dict[str, str],
    sizes: list[int],
    indent: int | None,
    *,
    is_nested: bool,
) -> None:
    data: object = (
        {"resultType": "matrix", "result": result, "stats": {"result": [1]}} if is_nested else result
    )
    whole = {
        **before,
        "stats": {"data": [{}], "result": []},
        "status": "success",
        "data": data,
        "warnings": ["w"],
    }
    found, around = split_up(json.dumps(whole, indent=indent).encode(), sizes)
    assert [json.loads(piece) for piece in found] == json.loads(json.dumps(result))
    emptied = {**whole["data"], "result": []} if isinstance(data, dict) else []  # type: ignore[dict-item]
    assert json.loads(around) == {**whole, "data": emptied}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"", "cut off", id="nothing"),
        pytest.param(
            b'{"status":"success","data":{"result":[{"metric":{}', "cut off", id="within an element"
        ),
        pytest.param(b'{"data":{"result":[{},', "cut off", id="between elements"),
        pytest.param(b'{"data":{"result":[{}]}', "cut off", id="behind the list"),
        pytest.param(b'{"data":{"result":[{} {}]}}', "comma", id="no comma"),
        pytest.param(b'{"data":{"result":[,{}]}}', "comma", id="a comma first"),
        pytest.param(b'{"data":{"result":[{},]}}', "comma", id="a comma last"),
        pytest.param(b'{"data":{"result":[1]}}', "something else", id="numbers"),
        pytest.param(b'{"data":["a"]}', "something else", id="strings"),
        pytest.param(b'{"status":"succ', "cut off", id="within a string"),
        pytest.param(b'{"status":"success","isPartial":tr', "cut off", id="within a word"),
        pytest.param(b'{"status":"success","x":1.', "cut off", id="within a number"),
        pytest.param(b'{"data":{"result":[{"value":[1.', "cut off", id="within a number of an element"),
        pytest.param(b'{"data":{"result":[{}', "cut off", id="behind an element"),
        pytest.param(b'{"data":{"result":[', "cut off", id="before the first element"),
        pytest.param(b"{{{{", "no JSON", id="braces"),
        pytest.param(b"{this is no JSON", "no JSON", id="words"),
        pytest.param(b'{"status":"success"}}', "no JSON", id="one brace too many"),
        pytest.param(b'{"data":{"result":[{"metric" {', "no JSON", id="junk within an element"),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(data: bytes, why: str) -> None:
    for size in (1, 7, 1000):
        with pytest.raises(ValueError, match=why):
            split_up(data, [size])


def test_parts_without_end_are_not_collected() -> None:
    for begin in (b'{"x":"', b'{"data":{"result":[{"metric":{"a":"', b'{"data":{"result":[{"values":[[1'):
        splitter = Splitter(1000, 1000)
        with pytest.raises(ValueError, match="longer than 1,000 bytes"):
            for chunk in (begin, *([b"1" * 100] * 20)):
                list(splitter.feed(chunk))


GOOD = (
    b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"pod":"a"},"values":[[1,"2"],[3,"NaN"]]},'
    b'{"metric":{},"values":[]}]},"warnings":["w"]}'
)


@pytest.mark.slow
@given(
    at=st.integers(0, len(GOOD)),
    cut_=st.integers(0, 30),
    put=st.binary(max_size=12)
    | st.sampled_from([b"[" * 3000, b'{"a":' * 3000, b"1e999", b"\xed\xa0\x80", b'\\ud800"']),
    size=st.integers(1, 60),
)
def test_safety_whatever_comes_back_is_read_or_refused_in_words(
    at: int, cut_: int, put: bytes, size: int
) -> None:
    data = GOOD[:at] + put + GOOD[at + cut_ :]
    try:
        found, around = split_up(data, [size])
        for piece in found:
            read_series(piece, 100)
        read_envelope(around, "asking", "matrix")
    except (ValueError, RecursionError, PrometheusError) as error:
        message = str(error)
    else:
        message = "read"
    assert message
