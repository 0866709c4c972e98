"""Which way the kernels run: interpreted (the reference) or compiled. Both give the same plan."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from remuda.errors import BadInput
from remuda.fleet.decide import arrays, kernels

#: Machines, and needs × kinds, up to which the interpreted kernels take less time than importing Numba does.
_FEW_MACHINES, _FEW_PAIRS = 20_000, 10_000


class Engine(NamedTuple):
    """The kernels, one way or the other."""

    name: str
    serve_plain: Callable[..., bool]
    drop_surplus: Callable[..., None]
    credit: Callable[..., tuple[int, int]]


NUMPY = Engine("numpy", kernels.serve_plain, kernels.drop_surplus, arrays.credit)


def fitting(machines: int, pairs: int) -> Engine:
    """The engine that is sooner done with a decision about so many machines, and so many needs times kinds."""
    if machines <= _FEW_MACHINES and pairs <= _FEW_PAIRS:
        return NUMPY
    return choose()


@cache
def choose(name: str = "") -> Engine:
    """The engine of that name; without one, the fastest there is."""
    if name == "numpy":
        return NUMPY
    if name not in {"", "numba"}:
        raise BadInput(f"there is no engine {name!r}: choose numpy or numba")
    try:
        import numba  # noqa: PLC0415 - the reference needs only NumPy, and importing Numba takes half a second
    except ImportError:
        if not name:
            return NUMPY
        raise BadInput("the engine numba needs Numba: pip install 'remuda[fleet]'") from None
    compile_: Callable[[Any], Any] = numba.njit(cache=True, nogil=True)  # pragma: no mutate - only speed
    return Engine(
        "numba", compile_(kernels.serve_plain), compile_(kernels.drop_surplus), compile_(kernels.credit)
    )
