"""YAML that every reader takes for the same."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.rightsize.patches.cases import HOSTILE

from remuda.rightsize.patches.yamls import dump


@given(st.dictionaries(HOSTILE | st.text(), HOSTILE))
def test_what_is_written_is_read_back(value: dict[str, str]) -> None:
    assert yaml.safe_load(dump(value)) == value


@pytest.mark.parametrize(
    "text", ["1e3", "1", "0x1f", "0o7", "1_000", "y", "No", "on", "null", "~", "", "1.5", ".inf", "NaN"]
)
def test_what_some_reader_takes_for_something_else_is_quoted(text: str) -> None:
    assert dump({"a": text}) == f'a: "{text}"\n'


@pytest.mark.parametrize("text", ["587m", "768Mi", "web", "apps/v1", "shop_deployment_web.yaml"])
def test_what_is_plainly_text_is_not(text: str) -> None:
    assert dump({"a": text}) == f"a: {text}\n"


def test_objects_lists_and_nothing_are_read_back() -> None:
    value: dict[str, Any] = {
        "a": {"b": {"c": None}, "d": {}},
        "e": [{"f": "g", "h": {"i": "j"}}, {"k": [{"l": "m"}]}],
        "n": [],
    }
    assert yaml.safe_load(dump(value)) == value
    assert yaml.safe_load(dump({})) == {}
