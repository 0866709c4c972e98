"""Values and blocks as Terraform's own formatter lays them out."""

import pytest

from remuda.output import hcl


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a", 'x = "a"\n'),
        (7, "x = 7\n"),
        (True, "x = true\n"),
        (hcl.Reference("a.b"), "x = a.b\n"),
        ({}, "x = {}\n"),
        ([], "x = []\n"),
        (["a", 1, False], 'x = ["a", 1, false]\n'),
        ([{"a": "b"}], 'x = [\n  {\n    a = "b"\n  },\n]\n'),
        ({"a": {"b": "c"}}, 'x = {\n  a = {\n    b = "c"\n  }\n}\n'),
    ],
)
def test_every_kind_of_value_is_written(value: hcl.Value, written: str) -> None:
    assert hcl.attribute("x", value) == written


def test_lines_that_follow_each_other_are_aligned_and_longer_values_part_them() -> None:
    values: dict[str, hcl.Value] = {"a": "1", "long": "2", "x": {"y": "3"}, "b": "4", "longer": "5"}
    assert hcl.attributes(values, 2) == (
        '  a    = "1"\n  long = "2"\n  x = {\n    y = "3"\n  }\n  b      = "4"\n  longer = "5"\n'
    )


def test_a_remark_parts_lines() -> None:
    assert hcl.attributes({"a": "1", "long": "2"}, notes={"long": ["why"]}) == (
        'a = "1"\n# why\nlong = "2"\n'
    )


def test_blocks_are_within_each_other() -> None:
    inner = hcl.block("spec", hcl.attributes({"a": 1}, 4), 2)
    assert hcl.block('resource "x" "y"', inner) == 'resource "x" "y" {\n  spec {\n    a = 1\n  }\n}\n'
