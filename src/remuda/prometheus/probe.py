"""What a diagnosis wants to know of a Prometheus: whether it answers, what it is, how far back and how much it holds."""

import math
from dataclasses import dataclass

from remuda.prometheus.client import Prometheus
from remuda.prometheus.errors import PrometheusError

#: so far back a server looks for the sample of a moment
_LOOKBACK_S = 300
#: nothing is to be computed for a sign of life: who takes longer hangs
_SIGN_OF_LIFE_S = 10.0
_SIGN_OF_LIFE_TRIES = 2


@dataclass(frozen=True, slots=True)
class Held:
    """What there is of one metric."""

    metric: str
    #: series that have a sample of the last five minutes
    series: int
    #: about the second of the oldest sample; None where there is none
    since: int | None


async def check_up(prometheus: Prometheus) -> None:
    """Return if it lets us in and evaluates a query soon, else raise the `PrometheusError` that says why not."""
    await prometheus.instant(
        "vector(1)", what="a sign of life", within_s=_SIGN_OF_LIFE_S, tries=_SIGN_OF_LIFE_TRIES
    )


async def version(prometheus: Prometheus) -> str:
    """Its version with its name where it has one; empty where it does not tell."""
    try:
        build = await prometheus.buildinfo()
    except PrometheusError:
        return ""
    return " ".join(filter(None, (build.application, build.version)))


async def count_series(prometheus: Prometheus, selector: str, *, at: int) -> int:
    """How many series a selector like `up{job="x"}` has at a moment."""
    answer = await prometheus.instant(f"count({selector})", what=f"the number of series of {selector}", at=at)
    return int(sum(point.value for point in answer.points))


async def oldest_sample(prometheus: Prometheus, selector: str, *, now: int, history_s: int) -> int | None:
    """
    About when the samples of a selector begin, within a history; None without any.

    Only some twenty moments are looked at, so that it costs next to nothing: a time that has samples between two moments
    without any is not seen.
    """
    step = max(60, history_s // 10)
    without, found = now - history_s, None
    for at in range(now, now - history_s - 1, -step):
        oldest = await _oldest_at(prometheus, selector, at)
        if oldest is not None:
            without, found = at - step, min(oldest, found if found is not None else oldest)
    while found is not None and found - without > max(_LOOKBACK_S, step // 64):
        middle = (found + without) // 2
        oldest = await _oldest_at(prometheus, selector, middle)
        if oldest is None:
            without = middle
        else:
            found = min(found, oldest)
    return found


async def _oldest_at(prometheus: Prometheus, selector: str, at: int) -> int | None:
    query, what = f"min(timestamp({selector}))", f"the oldest sample of {selector}"
    answer = await prometheus.instant(query, what=what, at=at)
    return next((int(point.value) for point in answer.points if math.isfinite(point.value)), None)


async def held(prometheus: Prometheus, metric: str, *, now: int, history_s: int) -> Held:
    """What there is of a metric."""
    count = await count_series(prometheus, metric, at=now)
    return Held(metric, count, await oldest_sample(prometheus, metric, now=now, history_s=history_s))
