import re
from typing import Any

import pytest
from msgspec import json
from tests.objects.sample import SAMPLE, load, sample

from remuda.objects.ceiling import CEILING
from remuda.objects.schema import schema_of

SCHEMA = schema_of(SAMPLE)
TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float), "null": type(None)
}  # fmt: skip


def accepts(schema: dict[str, Any], data: Any) -> bool:
    """The keywords that our schemas use, as draft 2020-12 defines them."""
    is_number = isinstance(data, int | float) and not isinstance(data, bool)
    wanted = schema.get("type")
    if wanted and (not isinstance(data, TYPES[wanted]) or (isinstance(data, bool) and wanted != "boolean")):
        return False
    rules = [
        "enum" not in schema or data in schema["enum"],
        "anyOf" not in schema or any(accepts(each, data) for each in schema["anyOf"]),
        not is_number or data >= schema.get("minimum", data),
        not is_number or data <= schema.get("maximum", data),
        not is_number or data > schema.get("exclusiveMinimum", data - 1),
        not is_number or data < schema.get("exclusiveMaximum", data + 1),
    ]
    if isinstance(data, str):
        rules += [
            len(data) >= schema.get("minLength", 0),
            len(data) <= schema.get("maxLength", len(data)),
            bool(re.search(schema.get("pattern", ""), data)),
        ]
    if isinstance(data, list):
        rules += [
            len(data) <= schema.get("maxItems", len(data)),
            *(accepts(schema.get("items", {}), item) for item in data),
        ]
    if isinstance(data, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        rules += [key in data for key in schema.get("required", [])]
        rules += [
            accepts(known[key], item)
            if key in known
            else (others if isinstance(others, bool) else accepts(others, item))
            for key, item in data.items()
        ]
    return all(rules)


@pytest.mark.parametrize(
    ("spec", "is_good"),
    [
        pytest.param({"class": "a"}, True, id="the least"),
        pytest.param(
            {"class": "a", "min": 0, "max": 100_000, "factor": 1, "exact": False}, True, id="numbers"
        ),
        pytest.param({"class": "a", "headroom": 3}, True, id="a count"),
        pytest.param({"class": "a", "headroom": "25%"}, True, id="a percentage"),
        pytest.param({"class": "a", "limits": {"memory": "512Mi", "openFiles": 16}}, True, id="a quantity"),
        pytest.param({"class": "a", "limits": {"memory": 512}}, True, id="a quantity as a number"),
        pytest.param(
            {"class": "a", "delay": "1h30m", "mode": "natural", "ceiling": "top"}, True, id="scalars"
        ),
        pytest.param(
            {"class": "a", "parts": [{"startAt": "0 8 * * *"}], "words": [], "env": {"a": "b"}},
            True,
            id="lists",
        ),
        pytest.param({"class": "a", "owner": None, "nothing": {}}, True, id="nothing where it is allowed"),
        pytest.param({}, False, id="a required key is missing"),
        pytest.param({"class": ""}, False, id="too short"),
        pytest.param({"class": 5}, False, id="a number for text"),
        pytest.param({"class": "a", "clas": "b"}, False, id="an unknown key"),
        pytest.param({"class": "a", "min": "1"}, False, id="text for a number"),
        pytest.param({"class": "a", "min": True}, False, id="a bool for a number"),
        pytest.param({"class": "a", "min": -1}, False, id="below the range"),
        pytest.param({"class": "a", "factor": 100}, False, id="at the end of an open range"),
        pytest.param({"class": "a", "min": None}, False, id="nothing where it is not allowed"),
        pytest.param({"class": "a", "headroom": "25"}, False, id="a percentage without its sign"),
        pytest.param({"class": "a", "headroom": -1}, False, id="a count below zero"),
        pytest.param({"class": "a", "limits": {"memory": "512MB"}}, False, id="a wrong suffix"),
        pytest.param({"class": "a", "limits": {"memory": 1.5}}, False, id="a fraction as a bare number"),
        pytest.param({"class": "a", "limits": {"memory": -1}}, False, id="a quantity below zero"),
        pytest.param({"class": "a", "delay": "10 minutes"}, False, id="a duration in words"),
        pytest.param({"class": "a", "mode": "activ"}, False, id="no choice of the list"),
        pytest.param({"class": "a", "ceiling": "Top"}, False, id="a name with a capital"),
        pytest.param({"class": "a", "parts": [{}]}, False, id="an item without its required key"),
        pytest.param({"class": "a", "parts": [{"startAt": "0 8 * * *"}] * 4}, False, id="too many items"),
        pytest.param({"class": "a", "env": {"a": 1}}, False, id="a number in a mapping of texts"),
        pytest.param({"class": "a", "nothing": []}, False, id="a list for a mapping"),
    ],
)
def test_the_schema_and_the_loader_agree(spec: dict[str, Any], is_good: bool) -> None:
    whole = {"apiVersion": "remuda.dev/v1alpha1", "kind": "Sample", "metadata": {"name": "one"}, "spec": spec}
    assert accepts(SCHEMA, whole) is is_good
    assert (load(json.encode(whole).decode()).problems == ()) is is_good


@pytest.mark.parametrize(
    "whole",
    [
        pytest.param({"apiVersion": "v1"}, id="another version"),
        pytest.param({"kind": "Other"}, id="another kind"),
        pytest.param({"metadata": {}}, id="no name"),
        pytest.param({"metadata": {"name": "a", "nmae": "b"}}, id="an unknown key in metadata"),
        pytest.param({"spek": {}}, id="an unknown key at the top"),
    ],
)
def test_the_schema_covers_the_whole_object(whole: dict[str, Any]) -> None:
    good = {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "Sample",
        "metadata": {"name": "one"},
        "spec": {"class": "a"},
    }
    assert accepts(SCHEMA, good | {"status": {"x": 1}})
    assert not accepts(SCHEMA, good | whole)
    assert load(sample()).problems == ()


def test_the_schema_has_descriptions_and_defaults_for_editors() -> None:
    spec = SCHEMA["properties"]["spec"]["properties"]
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["description"] == "One field of every sort."
    assert spec["max"] == {
        "type": "integer",
        "minimum": 0,
        "maximum": 100_000,
        "description": "Most.",
        "default": 10,
    }
    assert spec["delay"]["default"] == "0s"
    assert spec["headroom"]["default"] == 0
    assert spec["limits"]["default"] == {}
    assert "default" not in spec["min"]


@pytest.mark.parametrize("kind", [SAMPLE, CEILING])
def test_a_schema_is_plain_json_without_references(kind: Any) -> None:
    text = json.encode(schema_of(kind)).decode()
    assert "$ref" not in text
    assert json.decode(text) == schema_of(kind)
