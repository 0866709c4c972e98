import pytest

from remuda.model.labels import Operator, Requirement, check_key, check_value
from remuda.model.pods import Match

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
    ("key", "operator", "values", "matches"),
    [
        pytest.param("tier", "In", ("gold",), True, id="equal"),
        pytest.param("tier", "In", ("silver",), False, id="not equal"),
        pytest.param("tier", "NotIn", ("silver",), True, id="different"),
        pytest.param("tier", "NotIn", ("gold",), False, id="not different"),
        pytest.param("absent", "NotIn", ("silver",), True, id="an absent key is different"),
        pytest.param("absent", "In", ("silver",), False, id="an absent key is not equal"),
        pytest.param("zone", "In", ("a", "b"), True, id="in a set"),
        pytest.param("zone", "In", ("b", "c"), False, id="not in a set"),
        pytest.param("zone", "NotIn", ("b", "c"), True, id="outside a set"),
        pytest.param("tier", "Exists", (), True, id="exists"),
        pytest.param("absent", "Exists", (), False, id="does not exist"),
        pytest.param("absent", "DoesNotExist", (), True, id="must not exist"),
        pytest.param("tier", "DoesNotExist", (), False, id="must not exist, but does"),
        pytest.param("size", "Gt", ("11",), True, id="greater"),
        pytest.param("size", "Gt", ("12",), False, id="not greater than itself"),
        pytest.param("size", "Lt", ("13",), True, id="less, as numbers and not as text"),
        pytest.param("size", "Lt", ("12",), False, id="not less than itself"),
        pytest.param("odd", "Gt", ("1",), False, id="text is not greater than a number"),
        pytest.param("absent", "Lt", ("1",), False, id="an absent key is not less"),
        pytest.param("example.com/team", "In", ("",), True, id="the empty value"),
        pytest.param("example.com/team", "In", ("", "x"), True, id="the empty value in a set"),
    ],
)
def test_a_requirement_matches_as_in_kubernetes(
    key: str, operator: str, values: tuple[str, ...], matches: bool
) -> None:
    assert Requirement(key, Operator(operator), values).matches(LABELS) is matches
    assert Match(key, operator, values).holds(LABELS) is matches


@pytest.mark.parametrize("match", [Match("a", "Near"), Match("a b", "Exists"), Match("a", "In"), Match()])
def test_of_a_condition_that_no_server_takes_nothing_is_known(match: Match) -> None:
    assert match.holds(LABELS) is None


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
    ("operator", "values", "text"),
    [
        ("Exists", (), "a"),
        ("DoesNotExist", (), "!a"),
        ("In", ("b",), "a=b"),
        ("In", ("",), "a="),
        ("In", ("x", "y"), "a in (x,y)"),
        ("NotIn", ("b",), "a!=b"),
        ("NotIn", ("x", "y"), "a notin (x,y)"),
        ("Gt", ("1",), "a>1"),
        ("Lt", ("2",), "a<2"),
    ],
)
def test_a_requirement_is_written_as_kubectl_writes_it(
    operator: str, values: tuple[str, ...], text: str
) -> None:
    assert str(Requirement("a", Operator(operator), values)) == text
