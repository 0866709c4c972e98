"""A review as text: what is written is read back, and what is broken is named with its path."""

import json
from typing import Any

import msgspec
import pytest
from tests.rightsize.report.reviews import AT, sample_review

from remuda.errors import BadInput
from remuda.rightsize.report.compare import changes
from remuda.rightsize.report.document import data, read_review, schema, schema_report, text
from remuda.rightsize.review import Review

WRITTEN = "".join(text(sample_review()))


def test_what_is_written_is_read_back() -> None:
    assert read_review(WRITTEN.encode(), "review.json") == sample_review()


def test_a_review_of_nothing_is_read_back() -> None:
    empty = Review(AT, "", "", "vpa", 1, ())
    assert read_review("".join(text(empty)).encode(), "x") == empty


def test_changes_are_one_key_more() -> None:
    review = sample_review()
    message = json.loads("".join(text(review, changes(review, review))))
    assert message.pop("changes")["before"] == "2026-01-09T00:00:00Z"
    assert message == json.loads(WRITTEN)
    assert read_review("".join(text(review, changes(review, review))).encode(), "x") == review


def test_the_text_and_the_data_say_the_same_and_begin_with_the_schema() -> None:
    assert json.loads(WRITTEN) == json.loads(msgspec.json.encode(data(sample_review())))
    assert [*json.loads(WRITTEN)][:2] == ["schema", "at"]
    assert json.loads(WRITTEN)["at"] == "2026-01-09T00:00:00Z"


def test_a_series_is_one_line() -> None:
    lines = [line for line in WRITTEN.splitlines() if '"cpuMillicores": [' in line]
    assert len(lines) == 7
    assert all(line.rstrip(",").endswith("]") for line in lines)
    assert any("null, null" in line for line in lines)


def missing(schema_: dict[str, Any], value: Any, path: str = "") -> list[str]:
    """Keys of a document that its schema does not have, and types that differ."""
    if "anyOf" in schema_:
        found = [missing(each, value, path) for each in schema_["anyOf"]]
        return min(found, key=len)
    types = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "boolean": bool,
        "null": type(None),
    }
    expected = schema_.get("type", "")
    if expected == "number":
        return [] if isinstance(value, int | float) else [path]
    if not isinstance(value, types[expected]):
        return [f"{path}: {value!r} is no {expected}"]
    if "enum" in schema_ and value not in schema_["enum"]:
        return [f"{path}: {value!r}"]
    if isinstance(value, list):
        return [
            each for n, item in enumerate(value) for each in missing(schema_["items"], item, f"{path}[{n}]")
        ]
    if isinstance(value, dict):
        fields = schema_.get("properties", {})
        more = schema_["additionalProperties"]
        wrong = [f"{path}.{key} is required" for key in schema_.get("required", ()) if key not in value]
        for key, item in value.items():
            if key not in fields and more is False:
                wrong.append(f"{path}.{key}")
            else:
                wrong += missing(fields.get(key, more), item, f"{path}.{key}")
        return wrong
    return []


def test_the_document_is_what_its_schema_says() -> None:
    review = sample_review()
    assert missing(schema(), json.loads("".join(text(review, changes(review, review))))) == []
    assert missing(schema(), {**json.loads(WRITTEN), "more": 1, "at": 5}) == [".at: 5 is no string", ".more"]
    assert schema()["$id"] == "remuda.dev/rightsize-review/v1"
    assert json.loads(schema_report().lines[0]) == schema()


def broken(**changed: Any) -> bytes:
    return json.dumps({**json.loads(WRITTEN), **changed}).encode()


def with_container(**changed: Any) -> bytes:
    plain = json.loads(WRITTEN)
    plain["workloads"][0]["containers"][0] |= changed
    return json.dumps(plain).encode()


def with_workload(**changed: Any) -> bytes:
    plain = json.loads(WRITTEN)
    plain["workloads"][0] |= changed
    return json.dumps(plain).encode()


def with_evidence(**changed: Any) -> bytes:
    plain = json.loads(WRITTEN)
    plain["workloads"][0]["containers"][0]["evidence"] |= changed
    return json.dumps(plain).encode()


PATH = r"workloads\[0\]\.containers\[0\]"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "is not what remuda rightsize review -o json prints", id="nothing"),
        pytest.param(b"apiVersion: v1", "is not what remuda rightsize review -o json prints", id="YAML"),
        pytest.param(b"\xff\xfe{}", "is not what remuda", id="no UTF-8"),
        pytest.param(b"[1]", "expected `object`, got `array`", id="a list"),
        pytest.param(b"[" * 100_000, "is not what remuda|got `array`", id="deep"),
        pytest.param(WRITTEN.encode()[:-200], "is not what remuda", id="cut off"),
        pytest.param(
            b"{}", "it has no schema, where a review says remuda.dev/rightsize-review/v1", id="no schema"
        ),
        pytest.param(
            broken(schema="remuda.dev/capacity-audit/v1"),
            'schema is "remuda.dev/capacity-audit/v1", where a review says',
            id="another document",
        ),
        pytest.param(
            broken(schema="remuda.dev/rightsize-review/v2"),
            "this remuda reads v1: review again",
            id="a newer version",
        ),
        pytest.param(broken(at="noon"), 'at: is "noon": write a time like 2026', id="no time"),
        pytest.param(broken(at=5), "at: is no text", id="a number for a time"),
        pytest.param(broken(history=0), "history: is 0: a length of time is above 0", id="no history"),
        pytest.param(broken(history=2.5), "history: expected `int`, got `float`", id="a part of a second"),
        pytest.param(broken(workloads={}), "workloads: expected `array`, got `object`", id="no list"),
        pytest.param(
            with_container(verdict="maybe"), rf"{PATH}\.verdict: invalid enum value 'maybe'", id="a verdict"
        ),
        pytest.param(with_container(now=None), rf"{PATH}\.now: expected `object`, got `null`", id="no size"),
        pytest.param(
            with_container(now={"requests": {"cpu_millicores": -1}}),
            rf"{PATH}\.now\.requests\.cpu_millicores: is -1, below 0",
            id="less than nothing",
        ),
        pytest.param(
            with_container(now={"requests": {"cpu_millicores": "500m"}}),
            rf"{PATH}\.now\.requests\.cpu_millicores: expected `int \| null`, got `str`",
            id="a quantity",
        ),
        pytest.param(with_container(name=""), rf"{PATH}\.name: is empty", id="no name"),
        pytest.param(
            with_evidence(series={"begin": 0, "step": 0}),
            rf"{PATH}\.evidence\.series\.step: is 0",
            id="no step",
        ),
        pytest.param(
            with_evidence(series={"begin": 10**15, "step": 1}),
            r"series\.begin: is 1000000000000000",
            id="far away",
        ),
        pytest.param(
            with_evidence(series={"begin": 1, "step": 1, "memoryBytes": [1, -1]}),
            r"series\.memoryBytes: has an amount below 0",
            id="use below nothing",
        ),
        pytest.param(
            with_evidence(kills=[{"at": -5, "requestedBytes": 1}]),
            r"kills\[0\]\.at: is -5",
            id="a kill before 1970",
        ),
        pytest.param(
            with_container(index=-1), rf"{PATH}\.index: is -1: a place in a list is from 0", id="no place"
        ),
        pytest.param(with_container(index=10**6), rf"{PATH}\.index: is 1000000", id="a place beyond sense"),
        pytest.param(
            with_container(name="a\nb"), rf'{PATH}\.name: is "a\\nb": no name has a slash', id="a new line"
        ),
        pytest.param(with_workload(name="a/b"), r'workloads\[0\]\.name: is "a/b"', id="a slash in a name"),
        pytest.param(with_workload(kind="\u202e"), r"workloads\[0\]\.kind: is ", id="text that runs back"),
        pytest.param(
            with_workload(initContainers=["a", "\x1b"]),
            r"workloads\[0\]\.initContainers\[1\]: is",
            id="an init container",
        ),
        pytest.param(
            with_workload(tier=9), r"workloads\[0\]\.tier: is 9: tiers are from 0 to 4", id="a tier"
        ),
        pytest.param(
            with_container(written={"claims": {}}),
            rf'{PATH}\.written: has "claims": there are requests and limits',
            id="neither requests nor limits",
        ),
        pytest.param(
            with_evidence(
                estimate={
                    key: {"cpu_millicores": -2, "memory_bytes": 0}
                    for key in ("target", "lowerBound", "upperBound")
                }
            ),
            rf"{PATH}\.evidence\.estimate\.target\.cpu_millicores: is -2, below 0",
            id="an estimate below nothing",
        ),
        pytest.param(
            with_evidence(cpuPeak=-1), r"evidence\.cpuPeak: is -1, below 0", id="a peak below nothing"
        ),
        pytest.param(
            with_evidence(kills=[{"at": 5, "requestedBytes": -1}]),
            r"kills\[0\]\.requestedBytes: is -1, below 0",
            id="a kill at less than nothing",
        ),
        pytest.param(
            with_evidence(kills=[{"at": 5, "requestedBytes": 1, "limitBytes": -1}]),
            r"kills\[0\]\.limitBytes: is -1, below 0",
            id="a kill at a limit below nothing",
        ),
        pytest.param(with_evidence(cpuPeak=10**30), "has a whole number of over 64 bits", id="too large"),
    ],
)
def test_what_is_broken_is_named_with_its_path(content: bytes, message: str) -> None:
    with pytest.raises(BadInput, match=rf"^review\.json: .*({message})"):
        read_review(content, "review.json")


def test_two_containers_at_one_place_are_refused_but_not_of_two_lists() -> None:
    plain = json.loads(WRITTEN)
    first, second = plain["workloads"][0]["containers"]
    first["index"] = second["index"] = 0
    assert second["isSidecar"]
    assert read_review(json.dumps(plain).encode(), "x").source
    second["isSidecar"] = False
    with pytest.raises(BadInput, match=r"^x: workloads\[0\]\.containers: 2 of them have the index 0"):
        read_review(json.dumps(plain).encode(), "x")


def test_all_problems_are_reported_at_once_but_not_thousands() -> None:
    plain = json.loads(WRITTEN)
    for workload in plain["workloads"]:
        workload["replicas"] = -1
        workload["name"] = ""
    with pytest.raises(BadInput) as message:
        read_review(json.dumps(plain).encode(), "x")
    lines = str(message.value).splitlines()
    assert lines[:2] == ["x: workloads[0].replicas: is -1, below 0", "x: workloads[0].name: is empty"]
    assert len(lines) == 10


def test_keys_of_a_later_writer_are_passed_over() -> None:
    assert read_review(broken(later={"a": 1}), "x") == sample_review()
