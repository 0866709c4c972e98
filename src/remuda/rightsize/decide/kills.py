"""
What kills for want of memory say about how much is needed.

As in the recommender, a kill is a sample of more than was used: 100 MiB more, or a fifth. What was used is what was
requested and the peak of that day; and where the size has not been changed since, the limit: that is what it ran into,
also when no sample was taken in time to see it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from remuda.rightsize.decide.case import Case, requested
from remuda.rightsize.decide.days import peak_of_day
from remuda.rightsize.decide.rounding import scaled
from remuda.rightsize.estimate.estimator import OOM_BYTES
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.evidence import Evidence, OomKill
from remuda.rightsize.workloads import Container, Kill

#: × 1.2
_RATIO = (12, 10)


@dataclass(frozen=True, slots=True)
class Bump:
    """The kill that asks for the most, what was used then, and what that asks for."""

    kill: OomKill
    used: int
    why: str
    amount: int


def kills_of(
    container: Container, evidence: Evidence | None, kills: Iterable[Kill], since: Second
) -> tuple[OomKill, ...]:
    """All kills of a container since a moment, of its samples and of its workload's pods, in the order of time."""
    told = [OomKill(kill.at, kill.requested or 0) for kill in kills if kill.container == container.name]
    latest: dict[Second, int] = {}
    for kill in (*told, *(evidence.kills if evidence else ())):
        if kill.at >= since:
            latest[kill.at] = max(latest.get(kill.at, 0), kill.requested_bytes)
    return tuple(OomKill(at, latest[at]) for at in sorted(latest))


def bump_of(case: Case) -> Bump | None:
    """What the kills ask for; None without any, or when nothing at all is known of the use then."""
    bumps = [_bump(case, kill) for kill in case.kills]
    known = [bump for bump in bumps if bump.used]
    return max(known, key=lambda bump: (bump.amount, bump.kill.at), default=None)


def _bump(case: Case, kill: OomKill) -> Bump:
    limit = case.size.limits.memory_bytes
    is_unchanged = kill.requested_bytes in {0, requested(case.size, "memory")}
    ways = [
        (kill.requested_bytes, "what it requested then"),
        (peak_of_day(case.evidence.days, kill.at), "the peak of that day"),
        (limit if limit is not None and is_unchanged else 0, "its limit, which it still has"),
    ]
    used, why = max(ways, key=lambda way: way[0])
    return Bump(kill, used, why, max(used + OOM_BYTES, scaled(used, *_RATIO)))
