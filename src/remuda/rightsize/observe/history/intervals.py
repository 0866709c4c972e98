"""How often containers are scraped, seen from their samples: what windows must be as long as, or use goes missing."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from remuda.prometheus.errors import PrometheusError, TooMuch
from remuda.prometheus.series import Ranged
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.observe.history.asking import Asker
from remuda.rightsize.observe.history.promql import Pods

_WINDOW_S = 900
_HOUR_S, _DAY_S = 3600, 86_400
#: pods that are looked at
_MOST_PODS = 100
#: from so many samples on a series tells of its interval whatever was missed
_ENOUGH = 4


class Intervals(Struct):
    """Remembers the last, for containers that were gone at all moments that are looked at."""

    asker: Asker
    last: int = 60

    async def of(self, pods: Sequence[Pods], begin: Second, end: Second) -> int:
        """Seconds between two samples of these pods, of nine in ten containers at most."""
        some = pods[:: -(-len(pods) // _MOST_PODS)]
        back = (0, _HOUR_S, 6 * _HOUR_S, *range(_DAY_S, end - begin, _DAY_S))
        for at in (end - each for each in back if end - each >= begin):
            found = await self._at(some, at)
            if found:
                self.last = found
                break
        return self.last

    async def _at(self, pods: Sequence[Pods], at: Second) -> int | None:
        """The interval at a moment; None without samples."""
        what = "how often there are samples"
        while not self.asker.has_given_up:
            try:
                answer = await self.asker.prometheus.samples(
                    self.asker.queries.scraped(pods), _WINDOW_S, at, what=what
                )
            except PrometheusError as error:
                if isinstance(error, TooMuch) and len(pods) > 1:
                    pods = pods[: len(pods) // 10 or 1]
                    continue
                self.asker.fail(error, what)
                return None
            self.asker.succeed(answer.warnings)
            return interval_of(answer)
        return None


def interval_of(answer: Ranged) -> int | None:
    """The usual seconds between samples; of several intervals a long one, with which none goes missing."""
    series = [each.times for each in answer.series if len(each.times) > 1]
    series = [each for each in series if len(each) >= _ENOUGH] or series
    if not series:
        return None
    usual = sorted(float(np.median(np.diff(each))) for each in series)
    return max(1, round(usual[len(usual) * 9 // 10]))
