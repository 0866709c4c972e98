import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.model.quantities import NANO, Quantity


@pytest.mark.parametrize(
    ("text", "nano", "canonical"),
    [
        pytest.param("0", 0, "0", id="nothing is zero"),
        pytest.param("2", 2 * NANO, "2", id="no suffix counts units"),
        pytest.param("500m", NANO // 2, "500m", id="m is a thousandth"),
        pytest.param("0.5", NANO // 2, "500m", id="a fraction is written with a smaller suffix"),
        pytest.param("1.5", 3 * NANO // 2, "1500m", id="the written form has no fraction"),
        pytest.param("1000m", NANO, "1", id="the largest suffix without a fraction is written"),
        pytest.param("1000", 1000 * NANO, "1k", id="a thousand is written with k"),
        pytest.param("1024", 1024 * NANO, "1024", id="decimal stays decimal"),
        pytest.param("512Mi", 512 * 2**20 * NANO, "512Mi", id="Mi is two to the twentieth"),
        pytest.param("1024Mi", 2**30 * NANO, "1Gi", id="binary is written with the largest suffix"),
        pytest.param("1.5Gi", 1536 * 2**20 * NANO, "1536Mi", id="binary may have a fraction"),
        pytest.param("0.5Ki", 512 * NANO, "512", id="binary below 1024 is written as decimal"),
        pytest.param(
            "1.0001Ki", 1_024_102_400_000, "1024102400u", id="binary that is not whole stays exact as decimal"
        ),
        pytest.param("1e3", 1000 * NANO, "1e3", id="an exponent is kept"),
        pytest.param("5E-1", NANO // 2, "500e-3", id="an exponent is written in steps of three"),
        pytest.param("15e2", 1500 * NANO, "1500", id="an exponent of zero is not written"),
        pytest.param("1E", 10**18 * NANO, "1E", id="E alone is exa"),
        pytest.param("+.5k", 500 * NANO, "500", id="a sign and a bare fraction are read"),
        pytest.param("3.", 3 * NANO, "3", id="a dot may end the number"),
        pytest.param("1n", 1, "1n", id="n is the smallest suffix"),
        pytest.param("0.1n", 1, "1n", id="finer than nano is rounded up"),
        pytest.param("1e-100", 1, "1e-9", id="a tiny exponent is rounded up"),
        pytest.param(7, 7 * NANO, "7", id="a whole number is read"),
    ],
)
def test_a_quantity_is_read_exactly_and_written_as_kubernetes_does(
    text: object, nano: int, canonical: str
) -> None:
    read = Quantity.parse(text)
    assert (int(read), str(read)) == (nano, canonical)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("512MB", "did you mean 512Mi or 512M?", id="MB is no suffix"),
        pytest.param("2 gib", "did you mean 2Gi?", id="a space and small letters"),
        pytest.param("4K", "did you mean 4Ki or 4k?", id="kilo is small"),
        pytest.param("-1", "below zero", id="never below zero"),
        pytest.param(-1, "below zero", id="nor as a number"),
        pytest.param("8Ei", "too large", id="2⁶³ is too large"),
        pytest.param("1e999", "too large", id="so is a huge exponent"),
        pytest.param(1.5, "quotes", id="a bare fraction, which a custom resource would refuse"),
        pytest.param("", "like 512Mi", id="empty text"),
        pytest.param(".", "like 512Mi", id="a dot alone"),
        pytest.param("much", "like 512Mi", id="a word"),
        pytest.param("1e", "did you mean", id="an exponent without digits"),
        pytest.param("1\n", "like 512Mi", id="a line end"),
        pytest.param("١", "like 512Mi", id="digits of another script"),
        pytest.param("9" * 5000, "like 512Mi", id="thousands of digits"),
        pytest.param(True, "like 512Mi", id="a bool"),
        pytest.param(None, "like 512Mi", id="nothing"),
    ],
)
def test_what_is_no_quantity_is_refused_with_the_right_form(text: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        Quantity.parse(text)
    assert len(str(caught.value)) < 250


def test_bytes_and_milli_are_rounded_up() -> None:
    assert Quantity.parse("1.5").bytes == 2
    assert Quantity.parse("1Ki").bytes == 1024
    assert Quantity.parse("1u").milli == 1
    assert Quantity.parse("1.5").milli == 1500


def test_equal_amounts_are_equal_however_they_are_written() -> None:
    assert Quantity.parse("1Ki") == Quantity.parse("1024") == Quantity.parse("1024e0")


@given(
    st.integers(0, (2**63 - 1) * NANO) | st.integers(0, 2**20).map(lambda whole: whole * 1024 * NANO),
    st.sampled_from(["decimal", "binary", "exponent"]),
)
def test_the_written_form_reads_back_as_the_same(nano: int, form: str) -> None:
    quantity = Quantity(nano, form)  # type: ignore[arg-type]
    read = Quantity.parse(str(quantity))
    assert read == quantity
    assert str(read) == str(quantity)


@given(st.from_regex(Quantity.json_schema["pattern"], fullmatch=True).filter(lambda text: len(text) < 30))
def test_the_schema_and_parse_accept_the_same_texts(text: str) -> None:
    try:
        Quantity.parse(text)
    except ValueError as error:
        assert "too large" in str(error)  # noqa: PT017
