"""The document of an audit: what it shares between nodes is what each of them would say alone."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capacity.builders import (
    CAPABILITY,
    GIB,
    LABEL,
    NOW,
    measured,
    node,
    scale_set,
    sized,
    snapshot,
    written_set,
)

from remuda.capacity import manifests
from remuda.capacity.decide.admission import Admission
from remuda.capacity.decide.audit import audit
from remuda.capacity.observe.gather import node_of, scale_set_from
from remuda.capacity.show import document
from remuda.capacity.snapshot import Snapshot, Usage
from remuda.model.findings import Place


def usage(cpu: int, *, is_runner: bool) -> Usage:
    taken = {"cpu": cpu * 1_000, "memory": cpu * GIB, "pods": 1}
    limits = {"memory": 2 * cpu * GIB}
    if not is_runner:
        return Usage(taken, limits)
    return Usage(taken, limits, {"arc/a": 1}, {"arc/a": taken}, {"arc/a": limits})


def herd(kinds: list[tuple[bool, int, bool]]) -> Snapshot:
    sets = [
        scale_set("a", requests=measured("2", "8Gi"), limits=measured("8", "64Gi"), node_selector={}),
        scale_set(
            "b", requests=measured("3", "9Gi"), limits=measured("4", "16Gi"), node_selector={"big": "yes"}
        ),
    ]
    nodes = [
        node(
            f"n{at:02}", memory="64Gi" if is_big else "32Gi", labels={"big": "yes"} if is_big else CAPABILITY
        )
        for at, (is_big, _, _) in enumerate(kinds)
    ]
    used = {
        f"n{at:02}": usage(cpu, is_runner=is_runner) for at, (_, cpu, is_runner) in enumerate(kinds) if cpu
    }
    return snapshot(*sets, *nodes, usage=used)


@pytest.mark.slow
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.booleans()), max_size=12))
def test_nodes_that_share_a_text_say_what_each_would_alone(kinds: list[tuple[bool, int, bool]]) -> None:
    made = audit(herd(kinds), (LABEL,), {}, NOW)
    (context,) = made.contexts
    for index, row in enumerate(document.data(made)["nodes"]):
        for alike in context.alike:
            for each in alike.scale_sets:
                assert row["fits"][each.name] == alike.fits.get(index, 0)
                beyond = context.overcommitted(alike, index)
                assert tuple(row["overcommits"].get(each.name, ())) == beyond


@pytest.mark.parametrize(
    ("pod", "cpu"),
    [
        pytest.param({}, "1.5", id="written once"),
        pytest.param({"overhead": {"cpu": "250m"}}, "1750m", id="come to from several"),
    ],
)
def test_a_quantity_is_given_raw_as_it_is_written(pod: dict[str, Any], cpu: str) -> None:
    body = written_set(requests=sized("1.5", "1024Mi"), runnerScaleSetName=LABEL, maxRunners=1, pod=pod)
    there = node_of(
        msgspec.convert(
            {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": 4, "memory": "57336136Ki"}}},
            manifests.Node,
        ),
        Place(),
        {},
    )
    seen = snapshot(scale_set_from(msgspec.convert(body, manifests.ScaleSet), Place(), Admission()), there)
    found = document.data(audit(seen, (LABEL,), {}, NOW))
    assert found["scaleSets"][0]["requests"]["raw"]["cpu"] == cpu
    assert found["nodes"][0]["allocatable"]["raw"] == {"cpu": "4", "memory": "57336136Ki"}


def test_a_large_document_is_the_same_but_for_what_does_not_fit() -> None:
    made = audit(herd([(False, 0, False), (True, 1, True)]), (LABEL,), {}, NOW)
    small, large = (json.loads("".join(document.text(made, most))) for most in (1_000, 0))
    (first, _) = small["nodes"]
    assert first["fits"].pop("b") == 0
    assert large == small
