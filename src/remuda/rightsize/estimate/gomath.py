"""
Powers and logarithms as Go's `math` package computes them.

The recommender is written in Go, whose functions differ in the last bit from those of the C library. One bit is enough to
move a bucket by one byte, so they are computed here step by step, with the same constants in the same order.
"""

import math

LN2_HI = 6.93147180369123816490e-01
LN2_LO = 1.90821492927058770002e-10
#: coefficients of e^r around 0
P1, P2, P3, P4, P5 = (
    1.66666666666666657415e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
#: below this power of two there is no number but zero
LEAST_POWER = -1074
#: coefficients of the logarithm around 1
_L1, _L2, _L3, _L4, _L5, _L6, _L7 = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


def exp2(x: float) -> float:
    """2 to the power of x, for x below 1,024."""
    if x < LEAST_POWER:
        return 0.0
    whole = int(x + 0.5) if x > 0 else int(x - 0.5)
    part = x - whole
    hi = part * LN2_HI
    lo = -part * LN2_LO
    r = hi - lo
    t = r * r
    c = r - t * (P1 + t * (P2 + t * (P3 + t * (P4 + t * P5))))
    return math.ldexp(1 - ((lo - (r * c) / (2 - c)) - hi), whole)


def log(x: float) -> float:
    """The natural logarithm of a finite x above 0."""
    f1, ki = math.frexp(x)
    if f1 < math.sqrt(2) / 2:
        f1 *= 2
        ki -= 1
    f = f1 - 1
    k = float(ki)
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    t1 = s2 * (_L1 + s4 * (_L3 + s4 * (_L5 + s4 * _L7)))
    t2 = s4 * (_L2 + s4 * (_L4 + s4 * _L6))
    half = 0.5 * f * f
    return k * LN2_HI - ((half - (s * (half + (t1 + t2)) + k * LN2_LO)) - f)


def power(x: float, y: int) -> float:
    """A number of at least 1, or infinity, to a whole power."""
    if y == 1:
        return x
    if math.isinf(x):
        return x if y > 0 else 0.0
    result, exponent = 1.0, 0
    x1, xe = math.frexp(x)
    bits = abs(y)
    while bits:
        if bits & 1:
            result *= x1
            exponent += xe
        x1 *= x1
        xe <<= 1
        if x1 < 0.5:
            x1 += x1
            xe -= 1
        bits >>= 1
    if y < 0:
        result, exponent = 1 / result, -exponent
    return _scaled(result, exponent)


def _scaled(fraction: float, exponent: int) -> float:
    """Go overflows to infinity where Python's `ldexp` raises."""
    try:
        return math.ldexp(fraction, exponent)
    except OverflowError:
        return math.inf
