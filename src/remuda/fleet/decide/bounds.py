"""
Whether what a kernel reads as an index is one: compiled code would read and write beyond the end without a word.

A broken invariant stops the loop; nothing is decided on a fleet that does not hold together.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remuda.errors import InvariantError
from remuda.fleet.decide.work import TIERS, Work

if TYPE_CHECKING:
    from remuda.fleet.decide.serve import Groups

Ints = NDArray[np.int64]


def check_index(what: str, index: NDArray[Any], length: int, least: int = 0) -> None:
    """Every entry is from `least` up to, not including, `length`."""
    if len(index) and not (least <= int(index.min()) and int(index.max()) < length):
        found = f"{int(index.min())} to {int(index.max())}"
        raise InvariantError(f"{what} is {found}, outside {least} to {length - 1}")


def check_crediting(
    state: NDArray[np.int8],
    kind: NDArray[np.int32],
    need: NDArray[np.int32],
    row_of: NDArray[np.int32],
    profile: NDArray[np.int32],
    fit: Ints,
) -> None:
    """What `credit` reads: one row per machine, need −1 for none, which the last entry of `row_of` is for."""
    _check_shape("kind of machines", kind, (len(state),))
    _check_shape("need of machines", need, (len(state),))
    check_index("kind of machines", kind, fit.shape[1])
    check_index("need of machines", need, len(row_of) - 1, -1)
    check_index("row of needs", row_of, len(profile), -1)
    check_index("profile of needs", profile, fit.shape[0])
    if not len(row_of) or row_of[-1] >= 0:
        raise InvariantError("the row of no need is a need")


def check_serving(work: Work, groups: "Groups") -> None:
    """What `serve_plain` reads."""
    kinds, limits = work.fleet.kinds, work.limits
    number = len(kinds)
    table, starts = groups.table, groups.starts
    check_index("list of kinds", table[:, 4], len(starts) - 1)
    check_index("profile of groups", table[:, 6], len(work.demand.profiles.unit))
    check_index("list of kinds", starts, len(groups.kinds) + 1)
    check_index("eligible kind", groups.kinds, number)
    check_index("provider of kinds", kinds.provider, len(limits.money))
    _check_positive("units of groups", table[:, 3])
    _check_positive("units that fit", groups.fits)
    _check_shape("units that fit", groups.fits, (len(groups.kinds),))
    _check_shape("free machines", work.free, (TIERS, number))
    _check_shape("wanted", work.contenders, (number,))
    _check_shape("counted by quotas", limits.counts, (len(limits.left), number))
    _check_shape("bites of quotas", limits.quota_bites, (len(limits.left),))
    _check_shape("bites of caps", limits.money_bites, (len(limits.money),))
    resources = len(kinds.resources)
    _check_shape("allocatable", kinds.allocatable, (number, resources))
    _check_shape("units of profiles", work.demand.profiles.unit, (len(work.demand.profiles.all), resources))
    for what, column in (
        ("price", kinds.price),
        ("interruption", kinds.interruption),
        ("provider", kinds.provider),
    ):
        _check_shape(f"{what} of kinds", column, (number,))


def _check_positive(what: str, column: Ints) -> None:
    """Nothing would ever be served by what is zero."""
    if len(column) and int(column.min()) <= 0:
        raise InvariantError(f"{what} is {int(column.min())}")


def _check_shape(what: str, table: NDArray[Any], shape: tuple[int, ...]) -> None:
    if table.shape != shape:
        raise InvariantError(f"{what} is {table.shape}, not {shape}")
