"""Inventory and demand from files: problems at their place, refused records by name, and the rest."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.catalog import load_any
from tests.fleet.observe.test_intake import FULL_MACHINE, FULL_NEED, JUNK

from remuda.errors import BadInput
from remuda.fleet.inputs import Inputs
from remuda.fleet.objects import DEMAND, INVENTORY
from remuda.fleet.observe.files import read_files
from remuda.fleet.rows import DemandNeed, InventoryMachine
from remuda.objects.schema import schema_of

NOW = 1_000_000_000
EXAMPLES = Path(__file__).parents[3] / "examples"


def thing(kind: str, name: str = "x", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "remuda.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def machine(**change: Any) -> dict[str, Any]:
    return {"id": "m", "state": "idle", "instanceType": "t", "allocatable": {"cpu": 4}, **change}


def need(**change: Any) -> dict[str, Any]:
    return {"name": "web", "unit": {"cpu": 1}, **change}


def read(*objects: object) -> Inputs:
    """Read objects as if they were a file."""
    text = yaml.safe_dump_all(objects, sort_keys=False)
    return read_files(["-"], NOW, io.BytesIO(text.encode()))


def problems(*objects: object) -> list[str]:
    with pytest.raises(BadInput) as refused:
        read(*objects)
    return str(refused.value).splitlines()


def test_the_examples_are_read_whole() -> None:
    found = read_files([str(EXAMPLES / "fleet-inventory.yaml"), str(EXAMPLES / "fleet-demand.yaml")], NOW)
    assert (found.refused, found.notes) == ((), ())
    assert len(found.machines) == 28
    assert list(found.needs) == ["ml", "prod", "ci"]
    assert found.policy.rails.spending == {"aws": 2_500_000}


def test_the_examples_are_valid() -> None:
    assert load_any(sorted(EXAMPLES.glob("fleet-*.yaml"))).problems == ()


def test_a_demand_is_of_the_cluster_it_names_or_is_named_after() -> None:
    found = read(
        thing("Inventory", machines=[]),
        thing("Demand", "a", needs=[need()]),
        thing("Demand", "b", cluster="C/1", needs=[]),
    )
    assert {cluster: len(needs) for cluster, needs in found.needs.items()} == {"a": 1, "C/1": 0}


def test_the_machines_of_several_inventories_are_one_fleet() -> None:
    found = read(
        thing("Inventory", "one", machines=[machine(id="a")]),
        thing("Inventory", "two", machines=[machine(id="b"), machine(id="a")]),
        thing("Demand", needs=[]),
    )
    assert [each.id for each in found.machines] == ["a", "b"]
    (problem,) = found.refused
    assert problem.path == "spec.machines[1].id"
    assert problem.message == 'machine a is refused: "a" is here a second time: the first is stdin:7'


def test_a_refused_record_is_reported_with_its_place_and_name_and_the_rest_goes_on() -> None:
    text = """\
apiVersion: remuda.dev/v1alpha1
kind: Inventory
metadata: {name: x}
spec:
  machines:
    - {id: a, state: idle, instanceType: t, allocatable: {cpu: 4}, pricePerHour: .nan}
    - {id: b, state: idle, instanceType: t, allocatable: {cpu: .inf}, pricePerHour: 1e999}
    - {id: c, state: idle, instanceType: t, allocatable: {cpu: 4}}
---
apiVersion: remuda.dev/v1alpha1
kind: Demand
metadata: {name: prod}
spec:
  needs:
    - {name: web, unit: {cpu: 1}, interruptionPenalty: .nan}
    - {name: db}
    - {name: ok, unit: {cpu: 1}}
"""
    found = read_files(["-"], NOW, io.BytesIO(text.encode()))
    assert [each.id for each in found.machines] == ["c"]
    assert [each.name for each in found.needs["prod"]] == ["ok"]
    assert [str(problem).partition(": write")[0] for problem in found.refused] == [
        'stdin:6:68: spec.machines[0].pricePerHour: machine a is refused: ".nan" is not an amount of dollars',
        "stdin:7:59: spec.machines[1].allocatable.cpu: machine b is refused: '.inf' is not a quantity",
        'stdin:7:71: spec.machines[1].pricePerHour: machine b is refused: "1e999" is more than 1,000,000 dollars, the most it can be',
        'stdin:15:35: spec.needs[0].interruptionPenalty: need prod/web is refused: ".nan" is not a penalty',
        "stdin:16:7: spec.needs[1].unit: need prod/db is refused: is required: what a unit uses, like {cpu: 4, memory: 16Gi}",
    ]
    assert found.refused_records == "4 records"


def test_what_is_strange_is_distinguished() -> None:
    found = read(thing("Inventory", machines=[machine()]), thing("Demand", needs=[need(same="rack")]))
    assert found.refused == ()
    assert [problem.path for problem in found.notes] == ["spec.needs[0].same"]


@pytest.mark.parametrize(
    ("objects", "messages"),
    [
        pytest.param(
            [thing("Inventory", machines=[machine(pricePerHuor=1)]), thing("Demand", needs=[{"nam": "web"}])],
            ["spec.machines[0].pricePerHuor: is not a known key; did you mean pricePerHour?",
             "spec.needs[0].nam: is not a known key; did you mean name?"],
            id="keys",
        ),
        pytest.param(
            [thing("Inventory", machines={}), thing("Demand", needs=3)],
            ["spec.machines: wants a list, found a mapping", "spec.needs: wants a list, found the number 3"],
            id="lists",
        ),
        pytest.param(
            [thing("Inventory", machines=[machine(zone=["a"]), 7]), thing("Demand", needs=[])],
            ["spec.machines[0].zone: wants something like my-name, found a list",
             "spec.machines[1]: wants a mapping with keys like id, state, instanceType, found the number 7"],
            id="values that cannot be",
        ),
        pytest.param(
            [thing("Inventory", machines=[{"state": "idle", "instanceType": "t"}]), thing("Demand", needs=[])],
            ["spec.machines[0].id: is required: its id, which no other machine has"],
            id="what is required",
        ),
        pytest.param([thing("Inventry"), thing("Demand", needs=[])], ['"Inventry" is no kind: did you mean Inventory?'], id="a kind"),
        pytest.param(
            [thing("Inventory", machines=[]), thing("Demand", "a", needs=[]), thing("Demand", "b", cluster="a", needs=[])],
            ['spec.cluster: cluster "a" has a second Demand: one Demand is all that a cluster needs; the first is at stdin:8'],
            id="a cluster twice",
        ),
        pytest.param(
            [thing("Inventory", machines=[]), thing("Demand", needs=[]), thing("FleetPolicy", "a"), thing("FleetPolicy", "b")],
            ["is a second FleetPolicy: a fleet has one"],
            id="two policies",
        ),
        pytest.param(
            [thing("Inventory", machines=[]), thing("Demand", cluster="a\tb", needs=[])],
            ["spec.cluster: wants up to 253 characters that can be shown"],
            id="a cluster that cannot be shown",
        ),
        pytest.param([thing("Inventory", machines=[])], ["the files hold no Demand"], id="no demand"),
        pytest.param([thing("Demand", needs=[])], ["the files hold no Inventory"], id="no inventory"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_bad_input_with_every_problem(
    objects: list[object], messages: list[str]
) -> None:
    found = problems(*objects)
    assert len(found) == len(messages)
    for line, words in zip(found, messages, strict=True):
        assert words in line


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("{", id="no YAML"),
        pytest.param("&a [*a]", id="a loop"),
        pytest.param("a: 1\na: 2", id="a key twice"),
        pytest.param("[" * 100 + "]" * 100, id="too deep"),
        pytest.param("\x00", id="a character that cannot be"),
    ],
)
def test_a_hostile_file_is_bad_input(text: str) -> None:
    with pytest.raises(BadInput, match="stdin"):
        read_files(["-"], NOW, io.BytesIO(text.encode()))


def test_the_same_file_may_be_named_twice(tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    file.write_text(
        json.dumps({"kind": "List", "items": [thing("Inventory", machines=[]), thing("Demand", needs=[])]})
    )
    assert read_files([str(file), str(file)], NOW).machines == ()


def test_the_schema_names_the_choices_and_bounds() -> None:
    machines = schema_of(INVENTORY)["properties"]["spec"]["properties"]["machines"]["items"]["properties"]
    assert machines["state"]["enum"][:3] == ["speculative", "creating", "idle"]
    assert machines["interruptionProbability"]["maximum"] == 1
    needs = schema_of(DEMAND)["properties"]["spec"]["properties"]["needs"]["items"]["properties"]
    assert needs["topologySpread"]["properties"]["whenUnsatisfiable"]["enum"] == [
        "DoNotSchedule",
        "ScheduleAnyway",
    ]


def test_validate_refuses_what_a_plan_would_refuse(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    objects = [
        thing("Inventory", machines=[machine(since="10m", pricePerHour=-1), machine()]),
        thing("Demand", needs=[need(count=0, arrival="1h")]),
    ]
    file.write_text(yaml.safe_dump_all(objects))
    paths = [problem.path for problem in load_any([file]).problems]
    assert paths == ["spec.machines[0].pricePerHour", "spec.machines[1].id", "spec.needs[0].count"]


@pytest.mark.slow
@given(
    st.lists(
        st.dictionaries(st.sampled_from(InventoryMachine.__struct_encode_fields__), JUNK, max_size=2).map(
            FULL_MACHINE.__or__
        ),
        max_size=3,
    ),
    st.lists(
        st.dictionaries(st.sampled_from(DemandNeed.__struct_encode_fields__), JUNK, max_size=2).map(
            FULL_NEED.__or__
        ),
        max_size=3,
    ),
)
def test_no_junk_in_a_file_does_more_than_be_refused(machines: list[Any], needs: list[Any]) -> None:
    text = "\n---\n".join(
        json.dumps(each, default=repr, skipkeys=True)
        for each in (thing("Inventory", machines=machines), thing("Demand", needs=needs))
    )
    messages = ""
    try:
        found = read_files(["-"], NOW, io.BytesIO(text.encode()))
    except BadInput as error:
        messages = str(error)
    if messages:
        assert all(line.startswith("stdin:") for line in messages.splitlines())
    else:
        assert len(found.needs["x"]) <= len(needs)
        assert found.refused or len({each.id for each in found.machines}) >= len(machines)
