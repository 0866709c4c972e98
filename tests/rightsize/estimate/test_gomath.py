"""Numbers that Go's `math` gave, printed by Go 1.26 on amd64; the C library differs where it says so."""

import math

import pytest

from remuda.rightsize.estimate import gomath


@pytest.mark.parametrize(
    ("x", "go"),
    [
        pytest.param(0.0, "0x1p+00", id="zero"),
        pytest.param(0.1, "0x1.125fbee250664p+00", id="a part"),
        pytest.param(-7.77, "0x1.2c3ee9468e86ap-08", id="below zero"),
        pytest.param(99.999, "0x1.ffa52de61c101p+99", id="the largest that is used"),
        pytest.param(1_825_821 / 86_400, "0x1.18907438c85e2p+21", id="not the C library's"),
        pytest.param(-278_117 / 86_400, "0x1.b7e8130815da8p-04", id="not the C library's, below zero"),
        pytest.param(-1073.5, "0x1p-1074", id="the least number there is"),
        pytest.param(-1074.5, "0x0p+00", id="nothing, where C still has a number"),
    ],
)
def test_powers_of_two_are_go_s(x: float, go: str) -> None:
    assert gomath.exp2(x) == float.fromhex(go)


@pytest.mark.parametrize(
    ("y", "go"),
    [
        pytest.param(1, "0x1.0cccccccccccdp+00", id="itself"),
        pytest.param(4, "0x1.372b6ae7d566dp+00", id="not the C library's"),
        pytest.param(100, "0x1.0700a4de51799p+07", id="14 bits off"),
        pytest.param(175, "0x1.3f28c0b1c2558p+12", id="the last bucket"),
        pytest.param(-2, "0x1.d0662af4f8741p-01", id="below zero"),
    ],
)
def test_powers_are_go_s(y: int, go: str) -> None:
    assert gomath.power(1.05, y) == float.fromhex(go)


def test_the_power_of_the_lower_bound_is_go_s_and_not_the_c_library_s() -> None:
    assert gomath.power(1.001, -2) == float.fromhex("0x1.fefa3faa4d8d6p-01") != 1.001**-2


@pytest.mark.parametrize(
    ("x", "go"),
    [
        (1.05, "0x1.8fb063ef2c7fp-05"),
        (1.5, "0x1.9f323ecbf984cp-02"),
        (0.7, "-0x1.6d3c324e13f5p-02"),
        (1234.5, "0x1.c79436f818745p+02"),
        (1e12, "0x1.ba18a998fffap+04"),
    ],
)
def test_logarithms_are_go_s(x: float, go: str) -> None:
    assert gomath.log(x) == float.fromhex(go)


@pytest.mark.parametrize(
    ("x", "y", "limit"), [(math.inf, -2, 0.0), (math.inf, 1, math.inf), (1e200, 2, math.inf)]
)
def test_what_is_too_large_is_infinite(x: float, y: int, limit: float) -> None:
    assert gomath.power(x, y) == limit
