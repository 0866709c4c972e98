"""Requirements that exclude each other are found, and others are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fleet.builders import requirements

from remuda.fleet.observe.contradictions import contradiction
from remuda.model.labels import Operator, Requirement


@pytest.mark.parametrize(
    ("selector", "is_possible"),
    [
        pytest.param("a=x,a=y", False, id="two values"),
        pytest.param("a in (x,y),a in (y,z)", True, id="lists that meet"),
        pytest.param("a in (x,y),a notin (x,y,z)", False, id="nothing left"),
        pytest.param("a in (x,y),a!=x", True, id="one left"),
        pytest.param("a,!a", False, id="there and not"),
        pytest.param("a=x,!a", False, id="a value of nothing"),
        pytest.param("a>1,!a", False, id="a number of nothing"),
        pytest.param("a!=x,!a", True, id="not that, as there is none"),
        pytest.param("a>3,a<5", True, id="room for one"),
        pytest.param("a>3,a<4", False, id="no room"),
        pytest.param("a>5,a<4", False, id="crossed"),
        pytest.param("a in (1,9),a>3", True, id="one is above"),
        pytest.param("a in (1,2),a>3", False, id="none is above"),
        pytest.param("a in (x),a<3", False, id="no number"),
        pytest.param("a=x,b=y", True, id="other keys"),
        pytest.param("a=x,a=x", True, id="twice the same"),
        pytest.param("", True, id="none"),
    ],
)
def test_a_contradiction_is_found_where_there_is_one(selector: str, is_possible: bool) -> None:
    found = contradiction(requirements(selector))
    assert (found == ()) is is_possible


def test_it_names_those_that_exclude_each_other() -> None:
    assert contradiction(requirements("b=1,a=x,c,a=y")) == (1, 3)


VALUES = ("1", "2", "3", "x")
REQUIREMENTS = st.one_of(
    st.builds(
        Requirement,
        st.just("a"),
        st.sampled_from([Operator.IN, Operator.NOT_IN]),
        st.lists(st.sampled_from(VALUES), min_size=1, max_size=3).map(tuple),
    ),
    st.builds(Requirement, st.just("a"), st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])),
    st.builds(
        Requirement,
        st.just("a"),
        st.sampled_from([Operator.GT, Operator.LT]),
        st.sampled_from([("0",), ("1",), ("2",), ("4",)]),
    ),
)


@given(st.lists(REQUIREMENTS, max_size=4))
def test_no_label_meets_what_contradicts_itself(requirements: list[Requirement]) -> None:
    """The other way round does not hold: NotIn may leave no number between two bounds that another text still is."""
    if contradiction(requirements):
        for value in (*VALUES, "0", "5", "-7", "other", None):
            labels = {} if value is None else {"a": value}
            assert not all(requirement.matches(labels) for requirement in requirements)
