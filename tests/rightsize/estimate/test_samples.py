"""Samples from JSON: what is read, and every problem at its path."""

import json
import math
from typing import Any

import pytest

from remuda.errors import BadInput
from remuda.rightsize.estimate.samples import read_samples
from remuda.rightsize.estimate.usage import Replica, Sample


def text(**series: Any) -> bytes:
    return json.dumps({"containers": {"web": {"instances": [series]}}}).encode()


def problems(given: bytes) -> list[str]:
    with pytest.raises(BadInput) as raised:
        read_samples(given, "s.json")
    return [line.removeprefix("s.json: ") for line in str(raised.value).splitlines()]


def cpu(*values: Any) -> bytes:
    return text(cpu=[{"t": 100 + n, "cores": value} for n, value in enumerate(values)])


def times(name: str, key: str, *found: Any) -> bytes:
    return text(**{name: [{"t": at, key: 1} for at in found]})


def test_samples_are_read_as_they_are_written() -> None:
    given = text(
        cpu=[{"t": 1, "cores": 0.5}, {"t": 2, "cores": 1}],
        memory=[{"t": 1, "bytes": 5}, {"t": 1, "bytes": 6}],
        oom=[{"t": 9, "requested_bytes": 7}, {"t": 8, "requested_bytes": 7}],
    )
    assert read_samples(given, "s.json") == {
        "web": [
            Replica(
                [Sample(1, 0.5), Sample(2, 1)], [Sample(1, 5), Sample(1, 6)], [Sample(9, 7), Sample(8, 7)]
            )
        ]
    }


def test_what_is_left_out_is_empty() -> None:
    assert read_samples(text(), "s.json") == {"web": [Replica([], [], [])]}


AT = "containers.web.instances[0]"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(cpu(math.nan), f"{AT}.cpu[0].cores: is NaN: leave out", id="NaN"),
        pytest.param(cpu(math.inf), f"{AT}.cpu[0].cores: is infinite: leave out", id="infinite"),
        pytest.param(
            text(cpu=[{"t": 1, "cores": 1}]).replace(b'"cores": 1', b'"cores": 1e999'),
            f"{AT}.cpu[0].cores: is infinite",
            id="too large for a float",
        ),
        pytest.param(cpu(-0.1), f"{AT}.cpu[0].cores: is -0.1: nothing can use less than 0", id="negative"),
        pytest.param(
            cpu(1e12), f"{AT}.cpu[0].cores: is 1000000000000.0: the most that makes sense", id="huge"
        ),
        pytest.param(
            text(memory=[{"t": 1, "bytes": 10**15}]),
            f"{AT}.memory[0].bytes: is 1000000000000000: the most that makes sense is 100,000,000,000,000",
            id="huge memory",
        ),
        pytest.param(
            text(oom=[{"t": 1, "requested_bytes": 10**400}]),
            f"{AT}.oom[0].requested_bytes: is a number of over 20 digits",
            id="400 digits",
        ),
        pytest.param(cpu("1"), f'{AT}.cpu[0].cores: is the text "1": write a number', id="a text"),
        pytest.param(cpu(True), f"{AT}.cpu[0].cores: is true: write a number", id="a truth"),
        pytest.param(cpu(None), f"{AT}.cpu[0].cores: is null: write a number", id="null"),
        pytest.param(cpu([1]), f"{AT}.cpu[0].cores: is a list: write a number", id="a list"),
        pytest.param(text(cpu=[{"t": 1}]), f"{AT}.cpu[0].cores: is missing", id="no value"),
        pytest.param(text(cpu=[{"cores": 1}]), f"{AT}.cpu[0].t: is missing", id="no time"),
        pytest.param(
            text(cpu=[{"t": 1, "cores": 1, "core": 2}]),
            f"{AT}.cpu[0].core: is unknown; did you mean cores?; there is: t, cores",
            id="an unknown key",
        ),
        pytest.param(text(cpus=[]), f"{AT}.cpus: is unknown; did you mean cpu?", id="an unknown series"),
        pytest.param(text(cpu={}), f"{AT}.cpu: is an object: write a list, […]", id="no list"),
        pytest.param(text(cpu=None), f"{AT}.cpu: is null: write a list, […]", id="null for a list"),
        pytest.param(text(cpu=[3]), f"{AT}.cpu[0]: is 3: write an object", id="no object"),
        pytest.param(
            times("cpu", "cores", 5, 5),
            f"{AT}.cpu[1].t: is 5, and the sample before it is at 5",
            id="a time again",
        ),
        pytest.param(
            times("cpu", "cores", 5, 4),
            f"{AT}.cpu[1].t: is 4, and the sample before it is at 5: times must increase",
            id="CPU goes back",
        ),
        pytest.param(
            times("memory", "bytes", 5, 4),
            f"{AT}.memory[1].t: is 4, and the sample before it is at 5: times must not go back",
            id="memory goes back",
        ),
        pytest.param(
            times("cpu", "cores", 1.5), f"{AT}.cpu[0].t: is 1.5: write whole seconds", id="parts of a second"
        ),
        pytest.param(
            times("cpu", "cores", "now"), f'{AT}.cpu[0].t: is the text "now": write whole', id="a time's text"
        ),
        pytest.param(
            times("cpu", "cores", True), f"{AT}.cpu[0].t: is true: write whole seconds", id="a truth as time"
        ),
        pytest.param(
            times("cpu", "cores", -1), f"{AT}.cpu[0].t: is -1: write seconds from 1970", id="before 1970"
        ),
        pytest.param(
            times("cpu", "cores", 1_767_225_900_000),
            f"{AT}.cpu[0].t: is 1767225900000 (are these milliseconds?)",
            id="milliseconds",
        ),
        pytest.param(b"", ":1:1: is empty", id="an empty file"),
        pytest.param(b" \n", "is empty", id="blanks"),
        pytest.param(b'{"containers": ', "is not JSON: Expecting value", id="cut short"),
        pytest.param(b"\xff\xfe\xfd", "is not JSON: ", id="bytes"),
        pytest.param(b"[" * 100_000, "is not JSON: it is nested too deeply", id="deep"),
        pytest.param(b"1" * 10_000, "is not JSON: ", id="a number of 10,000 digits"),
        pytest.param(b"[]", "is a list: write an object, {…}", id="a list of cases"),
        pytest.param(b"null", "is null: write an object, {…}", id="null alone"),
        pytest.param(b"{}", "containers: is missing", id="no containers"),
        pytest.param(b'{"containers": {}}', "containers: is empty", id="containers of none"),
        pytest.param(
            b'{"containers": []}', "containers: is a list: write an object", id="containers as a list"
        ),
        pytest.param(b'{"containers": {"a": {}}}', "containers.a.instances: is missing", id="no instances"),
        pytest.param(
            b'{"containers": {"a": {"instances": []}}}', "containers.a.instances: is empty", id="none"
        ),
        pytest.param(
            b'{"containers": {"a b": 3}}', 'containers["a b"]: is 3: write an object', id="a strange name"
        ),
        pytest.param(b'{"containers": {"a": 1, "a": {}}}', "containers.a: is there twice", id="a name twice"),
        pytest.param(b'{"name": "r1", "input": {}}', "input: is where the samples are", id="a whole case"),
    ],
)
def test_a_problem_is_reported_with_its_path(given: bytes, message: str) -> None:
    assert any(message in line for line in problems(given)), problems(given)


def test_all_problems_are_reported_at_once() -> None:
    given = text(
        cpu=[{"t": 5, "cores": math.nan}, {"t": 4, "cores": -1}],
        memory=[{"t": 1, "bytes": "much"}],
        oom=[{"t": None, "requested_bytes": 1}],
    )
    paths = [line.partition(": ")[0].removeprefix(AT + ".") for line in problems(given)]
    assert paths == ["cpu[0].cores", "cpu[1].cores", "cpu[1].t", "memory[0].bytes", "oom[0].t"]


def test_the_hundred_first_problem_is_counted() -> None:
    message = problems(cpu(*[-1] * 250))
    assert len(message) == 101
    assert message[-1] == "and 150 more like these"
