"""Whatever files hold, they are read or told of, and never a traceback."""

import copy
import io
import json
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from tests.capacity.builders import (
    NOW,
    listed,
    sized,
    written_node,
    written_pod,
    written_pool,
    written_runner,
    written_set,
    written_summary,
)
from tests.examples import examples

from remuda.capacity.observe.files import read_files
from remuda.capacity.snapshot import Snapshot
from remuda.objects.dumps import FilesRead

WORDS = st.sampled_from(
    ["kind", "apiVersion", "metadata", "name", "spec", "status", "items", "node", "nodeName", "Pod", "Node", "List", "v1"]
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
GOOD = [
    written_set(requests=sized("2", "8Gi"), limits=sized("", "16Gi"), maxRunners=2, runnerScaleSetLabels=["a"]),
    written_pool(),
    written_node(),
    written_pod(requests=sized("1"), overhead=sized("1")),
    written_runner(initContainers=[{"resources": {"limits": sized("3")}}]),
    written_summary(),
]  # fmt: skip


def read(data: bytes) -> FilesRead[Snapshot]:
    return read_files(["-"], NOW, io.BytesIO(data))


def places(value: Any, way: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    keys: Any = (
        value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    return [way, *(place for key in keys for place in places(value[key], (*way, key)))]  # fmt: skip


@examples(200)
@given(st.binary(max_size=200))
@example(b"\xff\xfe")
@example(b"{}")
@example(b"[[]]")
def test_any_bytes_are_reported(data: bytes) -> None:
    found = read(data)
    assert found.problems or data.strip()


@pytest.mark.slow
@examples(300)
@given(st.lists(JUNK, max_size=3), st.booleans(), st.booleans())
def test_any_values_are_reported(values: list[object], is_list: bool, is_yaml: bool) -> None:
    whole: object = listed(*values) if is_list else values
    read((yaml.safe_dump(whole) if is_yaml else json.dumps(whole)).encode())


def is_writable(value: object) -> bool:
    """Both forms can say it: no number that is none or beyond what is read, no letter that YAML forbids."""
    if isinstance(value, float):
        return abs(value) < 2**53
    return value.isprintable() if isinstance(value, str) else True


@pytest.mark.slow
@examples(200)
@given(st.data())
def test_junk_in_the_midst_of_objects_is_read_alike_as_json_and_as_yaml(data: st.DataObject) -> None:
    items: Any = copy.deepcopy(GOOD)
    for _ in range(data.draw(st.integers(1, 3))):
        way = data.draw(st.sampled_from(places(items)[1:]))
        at = items
        for key in way[:-1]:
            at = at[key]
        at[way[-1]] = data.draw(SCALARS.filter(is_writable))
    quick, slow = read(json.dumps(listed(*items)).encode()), read(yaml.safe_dump(listed(*items)).encode())
    messages = [{(each.path, each.message) for each in found.problems} for found in (quick, slow)]
    assert messages[0] == messages[1]
    assert quick.snapshot.usage == slow.snapshot.usage
    assert [scale_set.requests for scale_set in quick.snapshot.scale_sets] == [
        scale_set.requests for scale_set in slow.snapshot.scale_sets
    ]
    assert quick.notes == slow.notes
