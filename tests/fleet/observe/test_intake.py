"""What comes from outside: each bad field is refused by name, the rest goes on, and nothing crashes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.fleet.names import Names
from remuda.fleet.observe.intake import label_keys, read_machines, read_needs
from remuda.fleet.rows import MOST_MACHINES, DemandNeed, InventoryMachine
from remuda.model.labels import Operator, Requirement
from remuda.model.machines import State
from remuda.model.shapes import CapacityType, FleetMachine, Shape
from remuda.model.times import MINUTE
from remuda.model.units import PINNED, FleetNeed, Separation, Spread, Unsatisfiable

NOW = 1_000_000_000
MACHINE_KEYS = InventoryMachine.__struct_encode_fields__
NEED_KEYS = DemandNeed.__struct_encode_fields__
FULL_MACHINE: dict[str, Any] = {
    "id": "m",
    "state": "configured",
    "instanceType": "m6i",
    "zone": "a",
    "region": "eu",
    "provider": "aws",
    "capacityType": "spot",
    "labels": {"example.com/rack": "r 1"},
    "allocatable": {"cpu": "3500m", "memory": "16Gi", "nvidia.com/gpu": 0},
    "pricePerHour": "0.34",
    "interruptionProbability": 0.05,
    "cluster": "prod",
    "need": "web",
    "priority": 7,
    "since": "10m",
}
FULL_NEED: dict[str, Any] = {
    "name": "web",
    "count": 4,
    "unit": {"cpu": "1500m", "memory": "4Gi"},
    "requirements": [
        {"key": "zone", "operator": "In", "values": ["a"]},
        {"key": "gpu", "operator": "DoesNotExist"},
    ],
    "priority": 1_000,
    "arrival": 5,
    "same": "rack",
    "topologySpread": {"key": "zone", "maxSkew": 2, "whenUnsatisfiable": "ScheduleAnyway"},
    "separation": {"most": 3, "key": "rack"},
    "interruptionPenalty": 2.5,
    "reclamationPenalty": "pinned",
}


def test_a_machine_is_read_with_all_it_says() -> None:
    found = read_machines([FULL_MACHINE], NOW)
    assert found.flaws == ()
    assert found.accepted == (
        FleetMachine(
            "m",
            State.CONFIGURED,
            Shape(
                "m6i",
                "a",
                "eu",
                "aws",
                CapacityType.SPOT,
                {"cpu": 3_500, "memory": 16 << 30},
                {"example.com/rack": "r 1"},
                340_000,
                50_000,
            ),
            "prod",
            "web",
            7,
            NOW - 10 * MINUTE,
        ),
    )


def test_a_machine_that_says_little_is_bare_metal_free_and_so_since_now() -> None:
    (found,) = read_machines(
        [{"id": "m", "state": "idle", "instanceType": "t", "allocatable": {"cpu": 1}}], NOW
    ).accepted
    assert found == FleetMachine("m", State.IDLE, Shape("t", allocatable={"cpu": 1_000}), since=NOW)


def test_a_need_is_read_with_all_it_says() -> None:
    found = read_needs("prod", [FULL_NEED])
    assert found.flaws == ()
    assert found.accepted == (
        FleetNeed(
            "prod",
            "web",
            {"cpu": 1_500, "memory": 4 << 30},
            4,
            {},
            (Requirement("zone", Operator.IN, ("a",)), Requirement("gpu", Operator.DOES_NOT_EXIST)),
            1_000,
            5,
            "rack",
            Spread("zone", 2, Unsatisfiable.SCHEDULE_ANYWAY),
            Separation(3, "rack"),
            2_500_000,
            PINNED,
        ),
    )


def test_supply_is_rounded_down_and_demand_up() -> None:
    machine = {**FULL_MACHINE, "allocatable": {"cpu": "1.0005", "memory": "1500m"}}
    need = {**FULL_NEED, "unit": {"cpu": "1.0005", "memory": "1500m"}}
    assert read_machines([machine], NOW).accepted[0].shape.allocatable == {"cpu": 1_000, "memory": 1}
    assert read_needs("c", [need]).accepted[0].unit == {"cpu": 1_001, "memory": 2}


def test_a_need_may_be_expressed_as_a_sum() -> None:
    (need,) = read_needs("c", [{"name": "n", "unit": {"cpu": 2}, "total": {"cpu": 100}}]).accepted
    assert (need.count, need.total) == (None, {"cpu": 100_000})


BAD_MACHINES = [
    pytest.param({"id": ""}, "id", "is empty", id="an empty id"),
    pytest.param({"id": 7}, "id", "wants text, found 7", id="an id that is no text"),
    pytest.param({"id": "a\nb"}, "id", "can be shown", id="an id that cannot be shown"),
    pytest.param({"id": "x" * 254}, "id", "up to 253 characters", id="a long id"),
    pytest.param({"id": None}, "id", "has no value", id="an id of nothing"),
    pytest.param({"count": 0}, "count", "0 is not within 1 to", id="no machines"),
    pytest.param({"count": 1.5}, "count", "1.5 is no whole number", id="one and a half"),
    pytest.param({"count": MOST_MACHINES + 1}, "count", "is not within", id="too many"),
    pytest.param({"state": "idel"}, "state", "did you mean idle?", id="an unknown state"),
    pytest.param({"state": 3}, "state", "wants one of speculative, creating", id="a state by number"),
    pytest.param({"instanceType": ""}, "instanceType", "is empty", id="no type"),
    pytest.param({"zone": 1}, "zone", "wants text", id="a zone"),
    pytest.param({"region": []}, "region", "wants text, found a list", id="a region"),
    pytest.param({"provider": "\x1b[31m"}, "provider", "can be shown", id="a provider"),
    pytest.param(
        {"capacityType": "sport"}, "capacityType", "did you mean spot?", id="an unknown capacity type"
    ),
    pytest.param({"labels": []}, "labels", "wants a mapping", id="labels"),
    pytest.param({"labels": {"a b": "x"}}, 'labels["a b"]', "is no label key", id="the key of a label"),
    pytest.param({"labels": {"a": 1}}, "labels.a", "wants text, found 1", id="the value of a label"),
    pytest.param({"allocatable": 4}, "allocatable", "wants a mapping like", id="resources"),
    pytest.param({"allocatable": {"cpu": "four"}}, "allocatable.cpu", "is not a quantity", id="a quantity"),
    pytest.param({"allocatable": {"memory": "16GB"}}, "allocatable.memory", "did you mean 16Gi", id="a slip"),
    pytest.param({"allocatable": {"cpu": "-1"}}, "allocatable.cpu", "below zero", id="a negative quantity"),
    pytest.param({"allocatable": {"cpu": 1.5}}, "allocatable.cpu", "put it in quotes", id="a float"),
    pytest.param(
        {"allocatable": {"memory": "2Pi"}}, "allocatable.memory", "more than anything", id="too much"
    ),
    pytest.param(
        {"allocatable": {"a b": 1}}, 'allocatable["a b"]', "no label key", id="the name of a resource"
    ),
    pytest.param({"pricePerHour": float("nan")}, "pricePerHour", "nan is not an amount", id="a price of NaN"),
    pytest.param({"pricePerHour": -1}, "pricePerHour", "-1 is below zero", id="a negative price"),
    pytest.param({"pricePerHour": 2_000_000}, "pricePerHour", "more than 1,000,000", id="the highest price"),
    pytest.param({"pricePerHour": "much"}, "pricePerHour", '"much" is not', id="a price in words"),
    pytest.param(
        {"interruptionProbability": 1.01}, "interruptionProbability", "0 to 1", id="a certain thing"
    ),
    pytest.param(
        {"interruptionProbability": -0.1}, "interruptionProbability", "0 to 1", id="less than never"
    ),
    pytest.param(
        {"interruptionProbability": float("nan")}, "interruptionProbability", "nan", id="a chance of NaN"
    ),
    pytest.param({"cluster": 1}, "cluster", "wants text", id="a cluster"),
    pytest.param({"cluster": ""}, "cluster", "is required: a machine that is configured", id="no cluster"),
    pytest.param({"state": "draining", "cluster": ""}, "cluster", "is required", id="a drain for nobody"),
    pytest.param(
        {"state": "idle"}, "cluster", "a machine that is idle serves none", id="an idle one that serves"
    ),
    pytest.param({"state": "speculative"}, "cluster", "serves none", id="one to be that serves"),
    pytest.param({"state": "creating"}, "cluster", "serves none", id="one being made that serves"),
    pytest.param({"state": "deleting"}, "cluster", "serves none", id="one on its way out that serves"),
    pytest.param({"state": "creating", "cluster": ""}, "need", "serves none", id="a need without a cluster"),
    pytest.param({"state": "failed", "cluster": ""}, "need", "there is no cluster", id="a need of nobody"),
    pytest.param({"need": 1}, "need", "wants text", id="a need"),
    pytest.param({"priority": 2**31}, "priority", "is not within", id="a priority of 33 bits"),
    pytest.param({"priority": "high"}, "priority", "no whole number", id="a priority in words"),
    pytest.param({"since": "yesterday"}, "since", "is no time", id="a time"),
    pytest.param({"since": -1}, "since", "is not within", id="a time before time"),
    pytest.param({"colour": "red"}, "colour", "is not a known key", id="an unknown key"),
    pytest.param({"pricePerHuor": 1}, "pricePerHuor", "did you mean pricePerHour?", id="a slip in a key"),
    pytest.param({7: 1}, "7", "is not a known key", id="a key that is no text"),
]


@pytest.mark.parametrize(("change", "field", "words"), BAD_MACHINES)
def test_a_bad_field_of_a_machine_is_refused_by_name_and_the_rest_goes_on(
    change: dict[str, Any], field: str, words: str
) -> None:
    good = {**FULL_MACHINE, "id": "good"}
    found = read_machines([{**FULL_MACHINE, **change}, good], NOW)
    assert [machine.id for machine in found.accepted] == ["good"]
    (flaw,) = found.flaws
    assert (flaw.field, flaw.index, flaw.refused) == (field, 0, True)
    assert words in flaw.message
    name = "#0" if "id" in change else "m"
    assert flaw.subject == f"machine/{name}"
    assert str(flaw).startswith(f"machine {name}: {field}: ")
    assert found.refused == (frozenset() if name == "#0" else {"m"})


BAD_NEEDS = [
    pytest.param({"name": ""}, "name", "is empty", id="no name"),
    pytest.param({"name": ["web"]}, "name", "wants text", id="a name that is none"),
    pytest.param({"count": 0}, "count", "0 is not within 1", id="no units"),
    pytest.param({"count": -3}, "count", "-3 is not within", id="less than none"),
    pytest.param({"count": 2.5}, "count", "2.5 is no whole number", id="half a unit"),
    pytest.param({"count": "4"}, "count", '"4" is no whole number', id="a count in text"),
    pytest.param({"count": 10**12}, "count", "is not within", id="too many units"),
    pytest.param({"unit": {}}, "unit", "is required: what a unit uses", id="no resources"),
    pytest.param({"unit": {"cpu": 0}}, "unit", "is required", id="none of a resource"),
    pytest.param({"unit": "4 cpu"}, "unit", "wants a mapping like", id="resources in words"),
    pytest.param({"unit": {"cpu": "x"}}, "unit.cpu", "is not a quantity", id="a quantity"),
    pytest.param({"unit": {"cpu": None}}, "unit.cpu", "is not a quantity", id="a quantity of nothing"),
    pytest.param({"total": {"cpu": 9, "memory": "9Gi"}}, "count", "beside total", id="a count and a sum"),
    pytest.param({"requirements": {}}, "requirements", "wants a list", id="requirements"),
    pytest.param(
        {"requirements": ["a=b"]}, "requirements[0]", "wants a mapping", id="a requirement in words"
    ),
    pytest.param(
        {"requirements": [{"key": "a", "operator": "in", "values": ["x"]}]},
        "requirements[0].operator",
        "did you mean In?",
        id="an operator",
    ),
    pytest.param(
        {"requirements": [{"operator": "Exists"}]}, "requirements[0].key", "is required", id="no key"
    ),
    pytest.param(
        {"requirements": [{"key": "a b", "operator": "Exists"}]},
        "requirements[0].key",
        "no label key",
        id="a key",
    ),
    pytest.param(
        {"requirements": [{"key": "a", "operator": "In"}]},
        "requirements[0].values",
        "at least one",
        id="no values",
    ),
    pytest.param(
        {"requirements": [{"key": "a", "operator": "Gt", "values": ["x"]}]},
        "requirements[0].values",
        "needs one whole number",
        id="a number",
    ),
    pytest.param(
        {"requirements": [{"key": "a", "operator": "In", "values": [1]}]},
        "requirements[0].values",
        "found 1 in it: put it in quotes",
        id="a value that is no text",
    ),
    pytest.param(
        {"requirements": [{"key": "a", "operator": "In", "values": "x"}]},
        "requirements[0].values",
        "wants a list of texts",
        id="values that are no list",
    ),
    pytest.param(
        {"requirements": [{"key": "a", "operator": "In", "valus": ["x"]}]},
        "requirements[0].valus",
        "did you mean values?",
        id="a slip in a requirement",
    ),
    pytest.param(
        {
            "requirements": [
                {"key": "a", "operator": "In", "values": ["x"]},
                {"key": "a", "operator": "In", "values": ["y"]},
            ]
        },
        "requirements[1]",
        "no machine can meet a=x and a=y",
        id="a contradiction",
    ),
    pytest.param({"priority": -(2**31) - 1}, "priority", "is not within", id="a priority"),
    pytest.param({"arrival": "soon"}, "arrival", "is no time", id="an arrival"),
    pytest.param({"same": "a b"}, "same", "no label key", id="a gang by no key"),
    pytest.param({"same": 3}, "same", "wants the key of a label", id="a gang by a number"),
    pytest.param({"topologySpread": "zone"}, "topologySpread", "wants a mapping", id="a spread"),
    pytest.param({"topologySpread": {"maxSkew": 1}}, "topologySpread.key", "is required", id="by nothing"),
    pytest.param(
        {"topologySpread": {"key": "z", "maxSkew": 0}},
        "topologySpread.maxSkew",
        "is not within 1",
        id="a skew of 0",
    ),
    pytest.param(
        {"topologySpread": {"key": "z", "whenUnsatisfiable": "Never"}},
        "topologySpread.whenUnsatisfiable",
        "wants one of DoNotSchedule, ScheduleAnyway",
        id="what to do",
    ),
    pytest.param({"separation": 1}, "separation", "wants a mapping", id="a separation"),
    pytest.param({"separation": {"most": 0}}, "separation.most", "is not within 1", id="no unit anywhere"),
    pytest.param({"separation": {"key": "a"}}, "separation.most", "is required", id="any number apart"),
    pytest.param({"interruptionPenalty": -1}, "interruptionPenalty", "below zero", id="a negative penalty"),
    pytest.param({"interruptionPenalty": "dear"}, "interruptionPenalty", "no", id="a penalty in words"),
    pytest.param({"reclamationPenalty": float("nan")}, "reclamationPenalty", "nan", id="a penalty of NaN"),
    pytest.param({"reclamationPenalty": -0.5}, "reclamationPenalty", "below zero", id="the other one"),
    pytest.param({"prioritty": 3}, "prioritty", "did you mean priority?", id="a slip in a key"),
]


@pytest.mark.parametrize(("change", "field", "words"), BAD_NEEDS)
def test_a_bad_field_of_a_need_is_refused_by_name_and_the_rest_goes_on(
    change: dict[str, Any], field: str, words: str
) -> None:
    good = {**FULL_NEED, "name": "good"}
    last = read_needs("prod", [{**FULL_NEED, "count": 1}]).accepted
    found = read_needs("prod", [{**FULL_NEED, **change}, good], last=last)
    (flaw,) = (each for each in found.flaws if each.refused)
    assert (flaw.field, flaw.index) == (field, 0)
    assert words in flaw.message
    if "name" in change:
        assert flaw.subject == "need/prod/#0"
        assert [need.name for need in found.accepted] == ["good"]
    else:
        assert flaw.subject == "need/prod/web"
        assert [(need.name, need.count) for need in found.accepted] == [("web", 1), ("good", 4)]
        assert found.kept == {"web"}


@pytest.mark.parametrize(
    ("total", "field", "words"),
    [
        pytest.param({}, "total", "is nothing", id="a sum of nothing"),
        pytest.param({"cpu": 1}, "total.cpu", "less than the largest unit", id="less than its unit"),
        pytest.param({"cpu": "x"}, "total.cpu", "is not a quantity", id="no quantity"),
        pytest.param([], "total", "wants a mapping", id="a list"),
    ],
)
def test_a_bad_sum_is_refused(total: object, field: str, words: str) -> None:
    (flaw,) = read_needs("c", [{"name": "n", "unit": {"cpu": 2}, "total": total}]).flaws
    assert (flaw.field, flaw.refused) == (field, True)
    assert words in flaw.message


def test_every_field_is_in_the_tables() -> None:
    machine_fields = {str(param.values[1]).partition(".")[0].partition("[")[0] for param in BAD_MACHINES}
    need_fields = {str(param.values[1]).partition(".")[0].partition("[")[0] for param in BAD_NEEDS}
    assert set(MACHINE_KEYS) <= machine_fields
    assert set(NEED_KEYS) - {"total"} <= need_fields


def test_all_that_is_wrong_is_reported_at_once() -> None:
    bad = {
        **FULL_MACHINE,
        "state": "x",
        "pricePerHour": -1,
        "allocatable": {"cpu": "x", "memory": "y"},
        "x": 1,
    }
    fields = [flaw.field for flaw in read_machines([bad], NOW).flaws]
    assert fields == ["x", "state", "allocatable.cpu", "allocatable.memory", "pricePerHour"]


def test_an_id_that_comes_again_is_refused_and_the_first_stands() -> None:
    first, again = {**FULL_MACHINE, "priority": 1}, {**FULL_MACHINE, "priority": 2}
    found = read_machines([first, again], NOW)
    assert [machine.priority for machine in found.accepted] == [1]
    assert [(flaw.index, flaw.field, flaw.message) for flaw in found.flaws] == [
        (1, "id", '"m" is here a second time: the first is machines[0]')
    ]
    assert found.refused == frozenset()


def test_a_name_that_comes_again_is_refused_and_the_first_stands() -> None:
    found = read_needs("c", [FULL_NEED, {**FULL_NEED, "count": 9}])
    assert [need.count for need in found.accepted] == [4]
    assert [(flaw.index, flaw.field) for flaw in found.flaws] == [(1, "name")]


def test_a_count_stands_for_so_many_machines_with_ids_of_their_own() -> None:
    found = read_machines([{**FULL_MACHINE, "count": 3}, {**FULL_MACHINE, "id": "m-2"}], NOW)
    assert [machine.id for machine in found.accepted] == ["m-1", "m-2", "m-3"]
    assert len({machine.shape.key() for machine in found.accepted}) == 1
    assert [flaw.message for flaw in found.flaws] == ['"m-2" is here a second time: the first is machines[0]']


def test_no_list_holds_more_machines_than_memory_does() -> None:
    records = [
        {**FULL_MACHINE, "count": 998},
        {**FULL_MACHINE, "id": "x", "count": 3},
        {**FULL_MACHINE, "id": "y"},
    ]
    found = read_machines(records, NOW, most=1_000)
    assert [machine.id for machine in found.accepted][997:] == ["m-998", "y"]
    assert [(flaw.field, flaw.message) for flaw in found.flaws] == [
        ("count", "would be more than 1,000 machines in all")
    ]


def test_a_refused_machine_is_not_taken_for_one_that_vanished() -> None:
    found = read_machines([{**FULL_MACHINE, "count": 2, "pricePerHour": -1}], NOW)
    assert found.refused == {"m-1", "m-2"}


def test_the_last_good_row_of_a_refused_machine_stays() -> None:
    fleet = Fleet(Names())
    fleet.upsert(read_machines([FULL_MACHINE, {**FULL_MACHINE, "id": "other"}], NOW).accepted)
    read = read_machines(
        [{**FULL_MACHINE, "pricePerHour": -1}, {**FULL_MACHINE, "id": "other", "state": "draining"}], NOW
    )
    fleet.upsert(read.accepted)
    assert read.refused == {"m"}
    assert [fleet.state[fleet.row(name)] for name in ("m", "other")] == [states.CONFIGURED, states.DRAINING]
    assert len(fleet) == 2


def test_what_is_strange_is_reported_and_goes_on() -> None:
    machine = {**FULL_MACHINE, "allocatable": {}, "labels": {"topology.kubernetes.io/zone": "b"}}
    found = read_machines([machine], NOW)
    assert len(found.accepted) == 1
    assert [(flaw.field, flaw.refused) for flaw in found.flaws] == [
        ('labels["topology.kubernetes.io/zone"]', False),
        ("allocatable", False),
    ]


def test_a_key_that_no_machine_has_is_reported_and_goes_on() -> None:
    keys = label_keys([Shape("t", zone="a", labels={"zone": "x"})])
    found = read_needs("c", [FULL_NEED], keys=keys)
    assert len(found.accepted) == 1
    assert [(flaw.field, flaw.refused) for flaw in found.flaws] == [
        ("same", False),
        ("separation.key", False),
    ]
    assert "no machine has a label rack" in found.flaws[0].message
    assert read_needs("c", [FULL_NEED], keys={*keys, "rack"}).flaws == ()


def test_a_layout_of_a_sum_is_reported_as_not_kept() -> None:
    need = {
        "name": "n",
        "unit": {"cpu": 1},
        "total": {"cpu": 2},
        "topologySpread": {"key": "zone"},
        "separation": {"most": 1, "key": "zone"},
    }
    found = read_needs("c", [need])
    assert len(found.accepted) == 1
    assert [flaw.field for flaw in found.flaws] == ["topologySpread", "separation.key"]


def test_many_unknown_keys_are_counted() -> None:
    flaws = read_machines([{**FULL_MACHINE, **{f"x{n}": n for n in range(100)}}], NOW).flaws
    assert len(flaws) == 11
    assert flaws[-1].message == "has 90 more keys that are not known"


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.binary(max_size=4),
    st.sampled_from(["idle", "configured", "In", "1", "4Gi", "pinned", "a", "zone"]),
)  # fmt: skip
JUNK: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from([*MACHINE_KEYS, *NEED_KEYS, "key", "operator", "values", "most", "cpu"]) | SCALARS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.slow
@given(
    st.lists(
        JUNK | st.dictionaries(st.sampled_from(MACHINE_KEYS), JUNK, max_size=5).map(FULL_MACHINE.__or__),
        max_size=4,
    )
)
def test_no_junk_is_taken_for_a_machine_and_none_is_dropped_silently(records: list[Any]) -> None:
    found = read_machines([*records, {**FULL_MACHINE, "id": "sane"}], NOW, most=100)
    refused = {flaw.index for flaw in found.flaws if flaw.refused}
    assert found.accepted[-1].id == "sane"
    read = len(refused) + len({machine.id for machine in found.accepted})
    assert read >= len(records) + 1
    for machine in found.accepted:
        assert machine.id
        assert machine.shape.price >= 0
        assert 0 <= machine.shape.interruption <= 1_000_000
    for flaw in found.flaws:
        assert str(flaw).isprintable()


@pytest.mark.slow
@given(
    st.lists(
        JUNK | st.dictionaries(st.sampled_from(NEED_KEYS), JUNK, max_size=5).map(FULL_NEED.__or__), max_size=4
    )
)
def test_no_junk_is_taken_for_a_need_and_none_is_dropped_silently(records: list[Any]) -> None:
    found = read_needs("c", [*records, {**FULL_NEED, "name": "sane"}], keys=set())
    refused = {flaw.index for flaw in found.flaws if flaw.refused}
    assert len(refused) + len(found.accepted) == len(records) + 1
    for need in found.accepted:
        assert need.unit
        assert need.count is None or need.count >= 1
    for flaw in found.flaws:
        assert str(flaw).isprintable()


@given(st.sampled_from(MACHINE_KEYS), JUNK)
def test_any_value_in_any_field_of_a_machine_is_read_or_refused_there(key: str, value: object) -> None:
    found = read_machines([{**FULL_MACHINE, key: value}], NOW, most=100)
    if not found.accepted:
        grid = {"cluster", "need"} if key in {"state", "cluster"} else set()
        assert all(flaw.field.startswith(key) or flaw.field in grid for flaw in found.flaws if flaw.refused)


@given(st.sampled_from(NEED_KEYS), JUNK)
def test_any_value_in_any_field_of_a_need_is_read_or_refused_there(key: str, value: object) -> None:
    found = read_needs("c", [{**FULL_NEED, key: value}])
    if not found.accepted:
        others = {"count", "unit"} if key == "total" else set()
        fields = {flaw.field for flaw in found.flaws if flaw.refused}
        assert all(field.startswith(key) or field in others for field in fields)
