import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.model.labels import Operator, Requirement, Selector, check_key, check_value

LABELS = {"tier": "gold", "zone": "a", "size": "12", "example.com/team": "", "odd": "v1"}


@pytest.mark.parametrize("key", ["a", "tier", "A.b_c-d", "example.com/team", "x" * 63, f"{'a.' * 120}com/x"])
def test_a_key_that_kubernetes_takes_is_taken(key: str) -> None:
    check_key(key)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/",
        "-a",
        "a-",
        "a b",
        "x" * 64,
        "a/b/c",
        "/a",
        "Example.com/a",
        "example..com/a",
        f"{'a.' * 130}com/x",
        "é",
    ],
)
def test_a_key_that_kubernetes_refuses_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="is no label key"):
        check_key(key)


@pytest.mark.parametrize("value", ["", "a", "A.b_c-9", "x" * 63])
def test_a_value_that_kubernetes_takes_is_taken(value: str) -> None:
    check_value(value)


@pytest.mark.parametrize("value", ["-", "a ", "x" * 64, "a/b", "a\n", ".a"])
def test_a_value_that_kubernetes_refuses_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="is no label value"):
        check_value(value)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        pytest.param("", True, id="no requirement matches everything"),
        pytest.param("tier=gold", True, id="equal"),
        pytest.param("tier==gold", True, id="equal with two signs"),
        pytest.param("tier=silver", False, id="not equal"),
        pytest.param("tier!=silver", True, id="different"),
        pytest.param("absent!=silver", True, id="an absent key is different"),
        pytest.param("absent=silver", False, id="an absent key is not equal"),
        pytest.param("zone in (a, b)", True, id="in a set"),
        pytest.param("zone in (b)", False, id="not in a set"),
        pytest.param("zone notin (b,c)", True, id="outside a set"),
        pytest.param("absent notin (b,c)", True, id="an absent key is outside every set"),
        pytest.param("tier", True, id="exists"),
        pytest.param("absent", False, id="does not exist"),
        pytest.param("!absent", True, id="must not exist"),
        pytest.param("! tier", False, id="must not exist, but does"),
        pytest.param("size>11", True, id="greater"),
        pytest.param("size > 12", False, id="not greater than itself"),
        pytest.param("size<13", True, id="less, as numbers and not as text"),
        pytest.param("odd>1", False, id="text is not greater than a number"),
        pytest.param("absent<1", False, id="an absent key is not less"),
        pytest.param("example.com/team=", True, id="the empty value"),
        pytest.param("example.com/team in (,x)", True, id="the empty value in a set"),
        pytest.param("tier=gold, zone in (a,b) ,!absent", True, id="all must hold"),
        pytest.param("tier=gold,zone=b", False, id="one does not hold"),
    ],
)
def test_a_selector_matches_as_kubectl_does(text: str, matches: bool) -> None:
    assert Selector.parse(text).matches(LABELS) is matches


@pytest.mark.parametrize(
    "text",
    [
        ",",
        "a,",
        "a=b,,c",
        "=b",
        "a in",
        "a in b",
        "a in (b",
        "a in (b))",
        "a b",
        "!",
        "a>x",
        "a<",
        "a=b=c",
        "a!",
        "(a)",
    ],
)
def test_a_selector_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"selector|is no label|whole number"):
        Selector.parse(text)


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        pytest.param(Operator.IN, (), id="In without values"),
        pytest.param(Operator.NOT_IN, (), id="NotIn without values"),
        pytest.param(Operator.EXISTS, ("x",), id="Exists with a value"),
        pytest.param(Operator.DOES_NOT_EXIST, ("x",), id="DoesNotExist with a value"),
        pytest.param(Operator.GT, ("1", "2"), id="Gt with two"),
        pytest.param(Operator.LT, ("x",), id="Lt with text"),
        pytest.param(Operator.IN, ("a b",), id="In with what is no label value"),
    ],
)
def test_a_requirement_with_the_wrong_values_cannot_be_made(
    operator: Operator, values: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError):
        Requirement("a", operator, values)


@pytest.mark.parametrize(
    "text", ["", "a", "!a", "a=b", "a!=b", "a in (x,y)", "a notin (x,y)", "a>1,b<2", "a=,b"]
)
def test_a_selector_is_written_as_it_is_read(text: str) -> None:
    assert str(Selector.parse(text)) == text


@given(st.text(alphabet="ab=!(), <>in", max_size=20))
def test_any_text_is_read_or_refused_and_what_is_read_is_written_the_same(text: str) -> None:
    try:
        selector = Selector.parse(text)
    except ValueError:
        return
    assert Selector.parse(str(selector)) == selector
