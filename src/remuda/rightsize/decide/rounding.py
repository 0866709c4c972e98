"""Amounts times a ratio, and memory in steps: whole numbers only, always rounded up."""

from remuda.model.amount_texts import GIB, MIB
from remuda.rightsize.review import UsageClass

#: × 1.2 and × 1.3, as ratios of whole numbers
MULTIPLIERS: dict[UsageClass, tuple[int, int]] = {"stable": (12, 10), "volatile": (13, 10), "gpu": (13, 10)}
#: the step of memory below so much; above, the last
_STEPS = ((GIB, 16 * MIB), (8 * GIB, 64 * MIB))
_LARGEST = 256 * MIB


def scaled(amount: int, numerator: int, denominator: int) -> int:
    """An amount times a ratio."""
    return -(-amount * numerator // denominator)


def step_of(amount: int) -> int:
    """In which steps memory of this size is given."""
    return next((step for below, step in _STEPS if amount < below), _LARGEST)


def round_up(amount: int) -> int:
    """Memory as a whole number of steps."""
    step = step_of(amount)
    return -(-amount // step) * step
