"""What is in an answer as arrays, without what cannot be a sample."""

import json

import numpy as np
import pytest

from remuda.prometheus.series import AHEAD_S, Dropped, read_series

NOW = 1_760_000_000


def piece(values: object) -> bytes:
    return json.dumps({"metric": {"pod": "a", "le": "+Inf"}, "values": values}).encode()


def test_samples_are_whole_seconds_and_exact_values() -> None:
    read = read_series(piece([[NOW - 60, "0.1"], [NOW - 0.0004, "123456789.123"]]), NOW)
    assert read.times.tolist() == [NOW - 60, NOW]
    assert read.values.tolist() == [0.1, 123456789.123]
    assert read.times.dtype == np.int64
    assert not read.dropped
    assert read.labels == {"pod": "a", "le": "+Inf"}


def test_what_cannot_be_a_sample_is_left_out_and_counted() -> None:
    values = [
        [NOW - 100, "1"],
        [NOW - 90, "NaN"],
        [NOW - 80, "+Inf"],
        [NOW - 70, "-Inf"],
        [1e300, "1"],
        [NOW - 60, "2"],
        [NOW - 60, "3"],
        [NOW - 95, "4"],
        [NOW - 50, "5"],
        [NOW + AHEAD_S, "6"],
        [NOW + AHEAD_S + 1, "7"],
    ]
    read = read_series(piece(values), NOW)
    assert read.times.tolist() == [NOW - 100, NOW - 60, NOW - 50, NOW + AHEAD_S]
    assert read.values.tolist() == [1, 2, 5, 6]
    assert read.dropped == Dropped(not_numbers=4, out_of_order=1, repeated=1, future=1)


def test_a_series_without_samples_has_none() -> None:
    read = read_series(b'{"metric":{}}', NOW)
    assert len(read.times) == len(read.values) == 0


def test_counts_add_up() -> None:
    total = Dropped(1, 2, 3, 4)
    total.add(Dropped(1, 1, 1, 1))
    assert total == Dropped(2, 3, 4, 5)


@pytest.mark.parametrize(
    "values",
    ["x", 1, [1, 2], [[1]], [[1, "2", 3]], [["x", "1"]], [[1, "x"]], [[1, None]], [[1, {}]], {"a": 1}, [[]]],
)
def test_wrong_types_are_an_error(values: object) -> None:
    with pytest.raises(ValueError, match="values"):
        read_series(piece(values), NOW)
