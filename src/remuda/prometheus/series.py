"""Series as arrays, without what cannot be a sample; what was left out is counted."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

#: a clock may be this much ahead of ours
AHEAD_S = 60
_PLUS_INF = re.compile(rb',\s*"\+Inf"(?=\s*\])')


class _Written(Struct, gc=False):
    metric: dict[str, str]
    values: list[tuple[float, float]] = []


_decode = msgspec.json.Decoder(_Written, strict=False).decode


@dataclass(slots=True)
class Dropped:
    """How many samples were left out, and why."""

    not_numbers: int = 0
    out_of_order: int = 0
    repeated: int = 0
    future: int = 0

    def add(self, other: "Dropped") -> None:
        """Count these, too."""
        self.not_numbers += other.not_numbers
        self.out_of_order += other.out_of_order
        self.repeated += other.repeated
        self.future += other.future

    def __bool__(self) -> bool:
        return bool(self.not_numbers or self.out_of_order or self.repeated or self.future)


@dataclass(frozen=True, slots=True)
class Series:
    """One series: whole seconds, strictly increasing, and finite values."""

    labels: Mapping[str, str]
    times: NDArray[np.int64]
    values: NDArray[np.float64]
    dropped: Dropped


@dataclass(slots=True)
class Ranged:
    """The answer to a range query."""

    series: list[Series] = field(default_factory=list)
    #: what the server says about its own answer
    warnings: tuple[str, ...] = ()


def read_series(piece: bytes, now: int) -> Series:
    """One element of an answer, or `ValueError`."""
    if b"+Inf" in piece:
        piece = _PLUS_INF.sub(b',"Inf"', piece)
    read = _decode(piece)
    pairs = np.fromiter(chain.from_iterable(read.values), np.float64, 2 * len(read.values)).reshape(-1, 2)
    dropped = Dropped()
    is_number = np.isfinite(pairs).all(axis=1)
    # Beyond this a float is no whole second any more.
    is_number &= np.abs(pairs[:, 0]) < 2**52
    if not is_number.all():
        dropped.not_numbers = int((~is_number).sum())
        pairs = pairs[is_number]
    times, values = np.rint(pairs[:, 0]).astype(np.int64), np.ascontiguousarray(pairs[:, 1])
    is_future = times > now + AHEAD_S
    if is_future.any():
        dropped.future = int(is_future.sum())
        times, values = times[~is_future], values[~is_future]
    times, values = _ordered(times, values, dropped)
    return Series(read.metric, times, values, dropped)


def _ordered(
    times: NDArray[np.int64], values: NDArray[np.float64], dropped: Dropped
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Only samples that are later than all before them."""
    if len(times) < 2 or (times[1:] > times[:-1]).all():
        return times, values
    before = np.maximum.accumulate(times)[:-1]
    is_late = np.concatenate(([False], times[1:] < before))
    is_again = np.concatenate(([False], times[1:] == before))
    dropped.out_of_order, dropped.repeated = int(is_late.sum()), int(is_again.sum())
    keeps = ~(is_late | is_again)
    return times[keeps], values[keeps]
