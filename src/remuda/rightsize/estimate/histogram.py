"""
Decaying histograms, bucket for bucket as the recommender keeps them.

A bucket is 5 % wider than the one before. The weight of a sample doubles with every half-life, so that older ones fade
without being touched; when weights would grow too large, all are scaled and the reference time moves. A percentile is
the end of the bucket that reaches it. All amounts are whole: millicores or bytes.
"""

from bisect import bisect_right
from math import ceil, floor, ldexp

from msgspec import Struct

from remuda.rightsize.estimate import gomath

#: seconds since 1970
Second = int

DAY_S = 86_400
HALF_LIFE_S = DAY_S
#: half-lives after the reference time until the weights are scaled
MOST_HALF_LIVES = 100
#: what weighs less is not there
EPSILON = 0.0001
RATIO = 1.05
_NANO = 1_000_000_000
_HALF_LIFE_NS = float(HALF_LIFE_S * _NANO)


class Buckets(Struct, frozen=True):
    """Where buckets begin and end."""

    #: the least whole amount in each bucket, found by trying: a logarithm decides, and its last bit counts
    firsts: tuple[int, ...]
    #: what a percentile in each bucket answers; the last bucket has no end and answers its beginning
    answers: tuple[int, ...]

    def find(self, amount: int) -> int:
        """The bucket of an amount."""
        return bisect_right(self.firsts, amount) - 1


def make_buckets(first: float, most: float, amounts: float) -> Buckets:
    """Buckets from 0 to over `most`, the first one `first` wide, in a unit of so many amounts."""
    growth = RATIO - 1
    base = gomath.log(RATIO)

    def place(value: float) -> float:
        return gomath.log(value * growth / first + 1) / base

    def bucket(amount: int) -> int:
        value = amount / amounts
        return 0 if value < first else int(place(value))

    count = ceil(place(most)) + 1
    starts = [0.0] + [first * (gomath.power(RATIO, n) - 1) / growth for n in range(1, count)]
    firsts = [0]
    for n in range(1, count):
        amount = ceil(starts[n] * amounts)
        while bucket(amount) < n:
            amount += 1
        while bucket(amount - 1) >= n:
            amount -= 1
        firsts.append(amount)
    ends = [*starts[1:], starts[-1]]
    return Buckets(tuple(firsts), tuple(int(end * amounts) for end in ends))


CPU = make_buckets(0.01, 1000.0, 1000.0)
MEMORY = make_buckets(1e7, 1e12, 1.0)


def decay_exponent(at: Second, reference: Second) -> float:
    """How many half-lives `at` is after the reference; negative before it."""
    return float((at - reference) * _NANO) / _HALF_LIFE_NS


def rounded_reference(at: Second) -> Second:
    """The multiple of the half-life nearest to a time, the later one of two."""
    return (at + HALF_LIFE_S // 2) // HALF_LIFE_S * HALF_LIFE_S


class Histogram:
    """Weights of buckets. Samples may come in any order of time; sums are made in the order they come in."""

    __slots__ = ("_high", "_low", "buckets", "reference", "total", "weights")

    def __init__(self, buckets: Buckets) -> None:
        self.buckets = buckets
        self.weights = [0.0] * len(buckets.firsts)
        self.total = 0.0
        self.reference: Second | None = None
        # The first and last buckets that are there. When none is, they have passed each other.
        self._low, self._high = len(self.weights) - 1, 0

    @property
    def is_empty(self) -> bool:
        """True when nothing has a weight."""
        return self.weights[self._low] < EPSILON

    def add(self, amount: int, weight: float, at: Second) -> None:
        """Count a sample."""
        weight *= self._decay(at)
        bucket = self.buckets.find(amount)
        self.weights[bucket] += weight
        self.total += weight
        if self.weights[bucket] >= EPSILON:
            self._low = min(self._low, bucket)
            self._high = max(self._high, bucket)

    def subtract(self, amount: int, weight: float, at: Second) -> None:
        """Take back a sample that was added with the same words."""
        weight *= self._decay(at)
        bucket = self.buckets.find(amount)
        self.total = _less(self.total, weight)
        self.weights[bucket] = _less(self.weights[bucket], weight)
        self._narrow()

    def replace(self, old: int, new: int, weight: float, at: Second) -> bool:
        """Take back a sample and count another; False if that changes nothing, however often it is done again."""
        bucket = self.buckets.find(old)
        before = self.total, self.weights[bucket], self._low, self._high
        self.subtract(old, weight, at)
        self.add(new, weight, at)
        return before != (self.total, self.weights[bucket], self._low, self._high)

    def merge(self, other: "Histogram") -> None:
        """Count all samples of another histogram, which stays as it is."""
        if other.reference is None:
            return
        if self.reference is None or self.reference < other.reference:
            self._shift(other.reference)
        elif other.reference < self.reference:
            other = other.copy()
            other._shift(self.reference or 0)  # noqa: SLF001 - its own kind
        for bucket in range(other._low, other._high + 1):  # noqa: SLF001
            self.weights[bucket] += other.weights[bucket]
        self.total += other.total
        self._low = min(self._low, other._low)  # noqa: SLF001
        self._high = max(self._high, other._high)  # noqa: SLF001

    def copy(self) -> "Histogram":
        """Another histogram with the same weights."""
        made = Histogram(self.buckets)
        made.weights = self.weights.copy()
        made.total, made.reference = self.total, self.reference
        made._low, made._high = self._low, self._high
        return made

    def percentile(self, part: float) -> int:
        """The amount under which that part of the weight lies: the end of a bucket, 0 without samples."""
        bucket = self.bucket(part)
        return 0 if bucket < 0 else self.buckets.answers[bucket]

    def bucket(self, part: float) -> int:
        """The bucket that reaches that part of the weight, -1 without samples."""
        if self.is_empty:
            return -1
        threshold = part * self.total
        reached = 0.0
        bucket = self._low
        while bucket < self._high:
            reached += self.weights[bucket]
            if reached >= threshold:
                break
            bucket += 1
        return bucket

    def _decay(self, at: Second) -> float:
        if self.reference is None or at > self.reference + MOST_HALF_LIVES * HALF_LIFE_S:
            self._shift(at)
        return gomath.exp2(decay_exponent(at, self.reference or 0))

    def _shift(self, at: Second) -> None:
        reference = rounded_reference(at)
        if self.reference is not None:
            factor = ldexp(1.0, floor(decay_exponent(self.reference, reference) + 0.5))
            for bucket in range(self._low, self._high + 1):
                self.weights[bucket] *= factor
            self.total *= factor
            self._narrow()
        self.reference = reference

    def _narrow(self) -> None:
        """Leave out buckets at both ends that lost their weight."""
        last = len(self.weights) - 1
        while self._low < last and self.weights[self._low] < EPSILON:
            self._low += 1
        while self._high > 0 and self.weights[self._high] < EPSILON:
            self._high -= 1


def _less(value: float, weight: float) -> float:
    value -= weight
    return value if value >= EPSILON else 0.0
