"""The form of the what-if panel: what its fields mean, and at which field each problem is said."""

import pytest

from remuda.capacity.answers import WhatIf
from remuda.capacity.form import Form, read_form


def form(**query: str) -> Form:
    return read_form(query, "nix-kvm", ("honey", "one-more"))


def words(**query: str) -> list[tuple[str, str]]:
    return [(each.option, each.words) for each in form(**query).written]


@pytest.mark.parametrize(
    ("query", "means"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"ceiling": " 6 "}, [("--ceiling", "nix-kvm=6")], id="a ceiling"),
        pytest.param(
            {"set": "arc/vm", "max": "3", "min": "1", "envelope": "vm"},
            [("--set", "arc/vm.max=3"), ("--set", "arc/vm.min=1"), ("--set", "arc/vm.envelope=vm")],
            id="all of a set",
        ),
        pytest.param({"like": "honey"}, [("--node-add", "name=one-more-2,like=honey")], id="a name of its own"),
        pytest.param({"drain": "honey"}, [("--node-drain", "honey")], id="a drain"),
        pytest.param(
            {"more": "--set docs.max=2 --add='name=a,max=1' --ceiling=3"},
            [("--set", "docs.max=2"), ("--add", "name=a,max=1"), ("--ceiling", "3")],
            id="as on the command line",
        ),
    ],
)  # fmt: skip
def test_fields_mean_the_words_of_the_command(query: dict[str, str], means: list[tuple[str, str]]) -> None:
    assert words(**query) == means
    assert form(**query).problems == {}
    assert form(**query).is_asked is bool(means)


@pytest.mark.parametrize(
    ("query", "field", "says"),
    [
        ({"max": "3", "min": "1"}, "set", "say of which set the max and the min would be"),
        ({"set": "docs"}, "max", "say what of the set changes: its max, min or envelope"),
        ({"more": "--cieling 5"}, "more", 'there is no option "--cieling"; did you mean --ceiling?'),
        (
            {"more": "zzz"},
            "more",
            'there is no option "zzz"; there is: --set, --add, --ceiling, --node-add, --node-drain',
        ),
        ({"more": "--set --ceiling 3"}, "more", "--set has nothing behind it"),
        ({"more": "--set"}, "more", "--set has nothing behind it"),
        ({"more": "--set 'a"}, "more", "it cannot be read: no closing quotation"),
        ({"ceiling": "9" * 2_001}, "ceiling", "that is too long: 2,000 letters are the most"),
    ],
)
def test_what_cannot_be_meant_is_said_at_its_field(query: dict[str, str], field: str, says: str) -> None:
    assert form(**query).problems == {field: [says]}
    assert form(**query).is_asked


def test_what_is_too_long_is_not_shown_again() -> None:
    assert form(set="x" * 2_001, max="3").values["set"] == ""


def test_the_question_has_the_words_by_option() -> None:
    asked = form(ceiling="6", set="docs", max="2", more="--set lint.max=1").what_if(7, "nix-kvm")
    assert asked == WhatIf(7, ("nix-kvm",), ("docs.max=2", "lint.max=1"), ceilings=("nix-kvm=6",))


def test_problems_of_an_answer_are_said_at_the_fields_they_are_about() -> None:
    asked = form(ceiling="x", set="dcs", max="2", min="1", like="hony", more="--ceiling zz=1 --nope")
    answer = """\
--ceiling "nix-kvm=x": "x" is no whole number
--set "dcs.max=2": there is no set dcs; did you mean docs?
--set "dcs.min=1": there is no set dcs; did you mean docs?
--node-add "name=one-more-2,like=hony": there is no node hony; did you mean honey?
--ceiling "zz=1": there is no policy for zz
something else
"""
    assert asked.blamed(answer) == {
        "more": ['there is no option "--nope"; there is: --set, --add, --ceiling, --node-add, --node-drain',
                 "there is no policy for zz"],
        "ceiling": ['"x" is no whole number'],
        "set": ["there is no set dcs; did you mean docs?"],
        "like": ["there is no node hony; did you mean honey?"],
        "": ["something else"],
    }  # fmt: skip
