from typing import Any

import pytest
from tests.catalog import KINDS as EVERY_KIND
from tests.objects.sample import KINDS, Limits, Nothing, Part, SampleSpec, load, problems, sample

from remuda.model.quantities import Quantity
from remuda.model.times import Duration
from remuda.objects.convert import convert_partly
from remuda.objects.kinds import Kind, Object
from remuda.objects.nodes import MapNode
from remuda.objects.problems import Problem
from remuda.objects.scalars import Share
from remuda.objects.tree import parse

FULL = """
  class: a
  min: 1
  max: 5
  factor: 2
  exact: false
  mode: natural
  delay: 1m30s
  headroom: 25%
  ceiling: top
  limits: {memory: 512Mi, openFiles: 16}
  parts:
  - startAt: 0 8 * * *
    zone: Europe/Berlin
  words: [x, z]
  env: {A: b, c.d: e}
  owner: null
  nothing: {}
"""


def test_a_field_of_every_sort_is_read() -> None:
    loaded = load(sample(FULL))
    assert loaded.problems == ()
    assert loaded.objects[0].spec == SampleSpec(
        class_="a",
        min=1,
        max=5,
        factor=2.0,
        exact=False,
        mode="natural",
        delay=Duration(90_000),
        headroom=Share(percent=25),
        ceiling="top",  # type: ignore[arg-type]
        limits=Limits(memory=Quantity.parse("512Mi"), open_files=16),
        parts=(Part(start_at="0 8 * * *", zone="Europe/Berlin"),),  # type: ignore[arg-type]
        words=["x", "z"],
        env={"A": "b", "c.d": "e"},
        owner=None,
        nothing=Nothing(),
    )
    assert isinstance(loaded.objects[0].spec.factor, float)


def test_what_is_left_out_has_its_default() -> None:
    assert load(sample()).objects[0].spec == SampleSpec(class_="a")


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(
            "{class: 5}", "4:15: spec.class: wants text, found the number 5: put it in quotes", id="text"
        ),
        pytest.param("{class: [a]}", "4:15: spec.class: wants text, found a list", id="text, not a list"),
        pytest.param(
            "{class: ''}",
            "4:15: spec.class: wants at least 1 and at most 8 characters, found 0",
            id="too short",
        ),
        pytest.param(
            "{class: }", "4:8: spec.class: has no value: give it one, or leave the key out", id="nothing"
        ),
        pytest.param("{}", "4:1: spec.class: is required: what it is", id="a required key"),
        pytest.param(
            "{clas: a}", "4:8: spec.clas: is not a known key; did you mean class?", id="a slip is named once"
        ),
        pytest.param("{class: a, zebra: 1}", "4:18: spec.zebra: is not a known key", id="a key far from all"),
        pytest.param(
            "{class: a, limits: {zebra: 1}}",
            "4:27: spec.limits.zebra: is not a known key: the known ones are memory, openFiles",
            id="the known keys are listed when they are few",
        ),
        pytest.param(
            "{class: a, nothing: {zebra: 1}}",
            "4:28: spec.nothing.zebra: is not a known key: nothing can be set here",
            id="no key is known",
        ),
        pytest.param(
            "{class: a, min: ten}",
            '4:23: spec.min: wants a whole number, found the text "ten"',
            id="a word for a number",
        ),
        pytest.param(
            "{class: a, min: '1'}", '4:23: spec.min: wants a whole number, found the text "1"', id="quoted"
        ),
        pytest.param(
            "{class: a, min: 1.0}",
            "4:23: spec.min: wants a whole number, found the number 1.0",
            id="not whole",
        ),
        pytest.param(
            "{class: a, min: true}",
            "4:23: spec.min: wants a whole number, found true",
            id="a bool is no number",
        ),
        pytest.param(
            "{class: a, min: -1}",
            "4:23: spec.min: wants at least 0 and at most 100000, found -1",
            id="below its range",
        ),
        pytest.param(
            "{class: a, max: 100001}",
            "4:23: spec.max: wants at least 0 and at most 100000, found 100001",
            id="above its range",
        ),
        pytest.param(
            "{class: a, factor: 0}",
            "4:26: spec.factor: wants more than 0 and less than 100, found 0.0",
            id="outside an open range",
        ),
        pytest.param(
            "{class: a, factor: x}", '4:26: spec.factor: wants a number, found the text "x"', id="a number"
        ),
        pytest.param(
            "{class: a, exact: 1}", "4:25: spec.exact: wants true or false, found the number 1", id="a bool"
        ),
        pytest.param(
            "{class: a, mode: activ}",
            '4:24: spec.mode: wants one of active, natural, found the text "activ"; did you mean active?',
            id="a choice",
        ),
        pytest.param(
            "{class: a, mode: {}}",
            "4:24: spec.mode: wants one of active, natural, found a mapping",
            id="no choice at all",
        ),
        pytest.param(
            "{class: a, delay: 10 minutes}",
            "4:25: spec.delay: '10 minutes' is not a duration: write a number and a unit, like 90s, 10m or 1h30m",
            id="a duration",
        ),
        pytest.param(
            "{class: a, delay: [1m]}",
            "4:25: spec.delay: wants something like 90s, 10m or 1h30m, found a list",
            id="a list for a duration",
        ),
        pytest.param(
            "{class: a, delay: " + "1" * 900 + "x" * 900 + "}",
            "4:25: spec.delay: wants something like 90s, 10m or 1h30m, found 1,800 characters",
            id="a duration without end",
        ),
        pytest.param(
            "{class: a, limits: {memory: 1XB}}",
            "4:35: spec.limits.memory: '1XB' is not a quantity: write a number with or without a suffix, like"
            " 512Mi, 2 or 500m",
            id="a quantity in a struct in a struct",
        ),
        pytest.param(
            "{class: a, limits: 5}",
            "4:26: spec.limits: wants a mapping with keys like memory, openFiles, found the number 5",
            id="a mapping with keys",
        ),
        pytest.param(
            "{class: a, limits: }",
            "4:18: spec.limits: has no value: write {}, or leave the key out",
            id="a mapping left empty",
        ),
        pytest.param(
            "{class: a, nothing: 1}",
            "4:27: spec.nothing: wants {}, found the number 1",
            id="an empty mapping",
        ),
        pytest.param("{class: a, parts: {}}", "4:25: spec.parts: wants a list, found a mapping", id="a list"),
        pytest.param(
            "{class: a, words: [a, 5]}",
            "4:29: spec.words[1]: wants text, found the number 5: put it in quotes",
            id="an item of a list",
        ),
        pytest.param(
            "{class: a, env: {A: true}}",
            "4:27: spec.env.A: wants text, found true: put it in quotes",
            id="a value of a mapping",
        ),
        pytest.param("{class: a, env: [A]}", "4:23: spec.env: wants a mapping, found a list", id="a mapping"),
        pytest.param(
            "{class: a, owner: 5}",
            "4:25: spec.owner: wants text, found the number 5: put it in quotes",
            id="opt",
        ),
    ],
)
def test_a_wrong_value_says_what_was_found_and_what_is_wanted(spec: str, problem: str) -> None:
    assert problems(sample(spec)) == [f"f.yaml:{problem}"]


def test_a_list_that_is_too_long_is_a_problem() -> None:
    part = "{startAt: 0 8 * * *}"
    assert problems(sample(f"{{class: a, parts: [{part}, {part}, {part}, {part}]}}")) == [
        "f.yaml:4:25: spec.parts: wants at most 3 items, found 4"
    ]


def test_every_problem_is_found_at_once() -> None:
    spec = """
  class: 5
  max: no
  min: -1
  parts: [{}, {startAt: never, zon: UTC}]
  limits: {openfiles: 20}
"""
    assert [problem.path for problem in load(sample(spec)).problems] == [
        "spec.class",
        "spec.max",
        "spec.min",
        "spec.parts[0].startAt",
        "spec.parts[1].startAt",
        "spec.parts[1].zon",
        "spec.limits.openfiles",
    ]


def test_a_missing_key_is_blamed_on_the_key_above_it() -> None:
    assert problems(sample("\n  class: a\n  parts:\n  - zone: UTC\n  limits:\n    memory: 1\n")) == [
        "f.yaml:7:5: spec.parts[0].startAt: is required: when it starts"
    ]


@pytest.mark.parametrize("kind", [*KINDS, *EVERY_KIND], ids=lambda kind: kind.name)
def test_of_an_object_without_anything_something_of_the_right_types_is_left(kind: Kind[Any]) -> None:
    reported: list[Problem] = []
    made, broken = convert_partly(MapNode(1, 1, {}), kind.whole, "f.yaml", reported.append)
    assert broken == {"apiVersion", "kind", "metadata", "spec"} == {problem.path for problem in reported}
    assert isinstance(made.spec, kind.spec)
    assert list(kind.check(Object(kind.name, "x", made.spec)) if kind.check else ()) is not None


def test_what_can_be_read_beside_broken_fields_is_read() -> None:
    reported: list[Problem] = []
    (root,) = parse(
        sample("{class: 5, max: x, delay: 1m, parts: [{startAt: x}, {zone: UTC}], env: {a: 1, b: c}}"),
        "f",
        reported.append,
    )
    made, broken = convert_partly(root, KINDS[0].whole, "f", reported.append)
    spec = made.spec
    assert broken == {
        "spec.class",
        "spec.max",
        "spec.parts[0].startAt",
        "spec.parts[1].startAt",
        "spec.env.a",
    }
    assert (spec.max, spec.delay, len(spec.parts), spec.env) == (10, Duration(60_000), 2, {"b": "c"})
