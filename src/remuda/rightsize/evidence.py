"""What is known of the use of one container: what a recommendation is made from, and shown with."""

from msgspec import Struct, field

from remuda.rightsize.estimate.estimator import Estimate
from remuda.rightsize.estimate.histogram import Second


class Day(Struct, frozen=True, gc=False):
    """The most and the least memory of a day (UTC), over all replicas; the least is what a leak cannot hide."""

    at: Second
    peak: int
    least: int


class Floor(Struct, frozen=True, gc=False):
    """
    What one replica never fell below in each step of its life; None is a gap.

    Times are multiples of the step, which is a part of a day. The first hour of a replica, while it fills, is not in it.
    """

    begin: Second
    step: int
    least: tuple[int | None, ...]

    @property
    def end(self) -> Second:
        """When the last step ended."""
        return self.begin + self.step * len(self.least)


class Percentile(Struct, frozen=True, gc=False, rename="camel"):
    """Where a percentile fell: a bucket, and what was made of its end."""

    part: float
    bucket: int
    #: the least amount in the bucket, and what the percentile answers: its end
    first: int
    end: int
    #: with the margin
    padded: int
    #: what confidence makes of it
    factor: float
    #: in the end, not below the floor
    amount: int


class Trace(Struct, frozen=True, gc=False, rename="camel"):
    """How the three numbers of one resource came about."""

    target: Percentile
    lower_bound: Percentile
    upper_bound: Percentile
    floor: int


class Series(Struct, frozen=True, gc=False, rename="camel"):
    """Use over time for a plot: the highest of all replicas in each step; None is a gap."""

    begin: Second
    step: int
    cpu_millicores: tuple[int | None, ...] = ()
    memory_bytes: tuple[int | None, ...] = ()


class OomKill(Struct, frozen=True, gc=False, rename="camel"):
    """When a container was OOM-killed, what it had requested, and its limit then; 0 is not known."""

    at: Second
    requested_bytes: int
    limit_bytes: int = 0


class Evidence(Struct, frozen=True, rename="camel"):
    """What is known of the use of one container. Of an advisor's word there are no samples, only the estimate."""

    #: prometheus, samples or vpa, with where: the URL, the file, the object
    origin: str
    estimate: Estimate
    #: what KRR's rule would give; None with too few samples
    krr: Estimate | None = None
    #: by the strategy that was asked for, where it is neither of these
    other: Estimate | None = None
    replicas: int = 0
    cpu_samples: int = 0
    memory_samples: int = 0
    first: Second | None = None
    last: Second | None = None
    #: days of a sample a minute, at most those between the first and the last
    confidence: float = 0.0
    cpu_p99: int = 0
    cpu_peak: int = 0
    memory_p99: int = 0
    memory_peak: int = 0
    memory_peak_at: Second | None = None
    days: tuple[Day, ...] = ()
    kills: tuple[OomKill, ...] = ()
    cpu: Trace | None = None
    memory: Trace | None = None
    series: Series | None = None
    #: what is odd about the samples, in words: gaps, values that were left out
    anomalies: tuple[str, ...] = field(default=(), name="oddities")
    #: a part of the samples could not be read
    is_partial: bool = False
    #: of the replicas whose memory rose most; for the judgement alone, a review does not hold them
    floors: tuple[Floor, ...] = ()
