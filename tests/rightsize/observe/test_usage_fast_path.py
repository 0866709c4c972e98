"""What is read quickly is what is read slowly, and whatever is wrong is left to the reader that can say what it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.errors import BadInput
from remuda.rightsize.estimate.span import cut
from remuda.rightsize.observe import usage
from remuda.rightsize.observe.usage_fast_path import read_quickly

RIGHT = {
    "workloads": [
        {
            "namespace": "shop",
            "kind": "Deployment",
            "name": "web",
            "containers": {
                "app": {
                    "instances": [
                        {
                            "cpu": [{"t": 1, "cores": 0.25}, {"t": 2, "cores": 1}],
                            "memory": [{"t": 1, "bytes": 5}, {"t": 1, "bytes": 6.5}],
                            "oom": [{"t": 9, "requested_bytes": 7}, {"t": 3, "requested_bytes": 0}],
                        },
                        {"memory": []},
                    ]
                }
            },
        }
    ]
}


def slowly(text: bytes) -> Any:
    """As it is read where nothing is quick."""
    return usage.read_usage(b" " + text.replace(b'"shop"', b'"\\u0073hop"'), "usage.json")


def test_what_is_right_is_read_quickly_and_as_it_is_read_slowly() -> None:
    text = json.dumps(RIGHT).encode()
    assert read_quickly(text) == slowly(text) == usage.read_usage(text, "usage.json")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            '"namespace": "shop"', '"namespace": "shop", "namespace": "b"', id="a key of a workload twice"
        ),
        pytest.param('"cores": 0.25', '"cores": 0.25, "cores": 0.5', id="a value twice"),
        pytest.param('{"memory": []}', '{"memory": [], "memory": []}', id="a series twice"),
        pytest.param('"app": {', '"app": {"instances": [{}]}, "app": {', id="a container twice"),
        pytest.param('"t": 2', '"t": 1', id="CPU that does not go on"),
        pytest.param('"t": 2', '"t": true', id="no number"),
        pytest.param('"cores": 1}', '"cores": -1}', id="below zero"),
        pytest.param('"cores": 1}', '"cores": NaN}', id="not a number"),
        pytest.param('"cores": 1}', '"cores": 1, "x": 1}', id="unknown"),
        pytest.param('"Deployment"', '"Deploiment"', id="an unknown kind"),
        pytest.param('"web"', '""', id="no name"),
        pytest.param("}", "", id="cut off"),
    ],
)
def test_what_is_wrong_is_not_read_quickly(old: str, new: str) -> None:
    text = json.dumps(RIGHT)
    assert old in text
    broken = (text.replace(old, new, 1) if new else text[:-1]).encode()
    assert read_quickly(broken) is None
    with pytest.raises(BadInput):
        usage.read_usage(broken, "usage.json")


def test_a_workload_that_comes_twice_is_not_read_quickly() -> None:
    twice: dict[str, Any] = {"workloads": RIGHT["workloads"] * 2}
    assert read_quickly(json.dumps(twice).encode()) is None


@given(st.sampled_from(["t", "cpu", "name", "memory", 'qu"ote', "é", "plain"]))
def test_a_name_that_is_a_key_or_has_an_escape_is_read_all_the_same(name: str) -> None:
    text = json.dumps(RIGHT).replace('"app"', json.dumps(name)).encode()
    [(_, pod)] = usage.read_usage(text, "usage.json")
    assert list(pod) == [name]


def test_kills_need_no_order_and_are_cut_as_those_that_are_read_slowly() -> None:
    oom = '"oom": [{"t": 9, "requested_bytes": 7}, {"t": 3, "requested_bytes": 0}]'
    right = json.dumps(RIGHT)
    assert oom in right
    text = right.replace(oom, oom[:-1] + ', {"t": 5, "requested_bytes": 3}]').encode()
    [(_, quick)], [(_, slow)] = read_quickly(text) or [], slowly(text)
    assert cut(quick, 4, 9) == cut(slow, 4, 9)
    assert [kill.at for kill in cut(quick, 4, 9).pod["app"][0].oom] == [5, 9]
