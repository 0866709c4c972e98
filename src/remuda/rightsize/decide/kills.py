"""
What OOM kills say about how much is needed.

As in the recommender, a kill is a sample of more than was used: 100 MiB more, or a fifth. What was used is what was
requested, the peak of that day, and the limit that the killed container had, where its pod still tells: it ran into it.
The limit of today may have been raised for this very kill, so that it counts only where the peak of that day came near to
it: else each review would raise the one before it. As the limit it ran into is thus often not certain, who was killed is
not given a lower one either, for as long as the history tells of the kill.
"""

from collections.abc import Iterable

from msgspec import Struct

from remuda.rightsize.decide import words
from remuda.rightsize.decide.context import ContainerContext, requested
from remuda.rightsize.decide.days import peak_of_day
from remuda.rightsize.decide.rounding import scaled
from remuda.rightsize.estimate.estimator import OOM_BYTES
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.evidence import Evidence, OomKill
from remuda.rightsize.snapshot import Container, Kill

#: × 1.2
_RATIO = (12, 10)
#: a peak of at least so much of the limit ran into it; what was raised for a peak by a fifth is never so near to it
_NEAR = (85, 100)


class Bump(Struct, frozen=True):
    """The kill that asks for the most, what was used then, and what that asks for."""

    kill: OomKill
    used: int
    why: str
    amount: int


def kills_of(
    container: Container, evidence: Evidence | None, kills: Iterable[Kill], since: Second
) -> tuple[OomKill, ...]:
    """All kills of a container since a moment, of its samples and of its workload's pods, in the order of time."""
    of_pods = [
        OomKill(kill.at, kill.requested or 0, kill.limit or 0)
        for kill in kills
        if kill.container == container.name
    ]
    latest: dict[Second, OomKill] = {}
    for kill in (*of_pods, *(evidence.kills if evidence else ())):
        if kill.at >= since:
            same = latest.get(kill.at, kill)
            latest[kill.at] = OomKill(
                kill.at,
                max(same.requested_bytes, kill.requested_bytes),
                max(same.limit_bytes, kill.limit_bytes),
            )
    return tuple(latest[at] for at in sorted(latest))


def bump_of(context: ContainerContext) -> Bump | None:
    """What the kills ask for; None without any, or when nothing at all is known of the use then."""
    bumps = [_bump(context, kill) for kill in context.kills]
    known = [bump for bump in bumps if bump.used]
    return max(known, key=lambda bump: (bump.amount, bump.kill.at), default=None)


def was_changed(context: ContainerContext, kill: OomKill) -> bool:
    """Whether it is known to have had another request or limit then than it has now."""
    is_other_request = kill.requested_bytes not in {0, requested(context.size, "memory")}
    return is_other_request or kill.limit_bytes not in {0, context.size.limits.memory_bytes}


def _bump(context: ContainerContext, kill: OomKill) -> Bump:
    of_day = peak_of_day(context.evidence.days, kill.at)
    peak = of_day or context.evidence.memory_peak
    limit = context.size.limits.memory_bytes
    ran_into = limit if limit is not None and of_day * _NEAR[1] >= limit * _NEAR[0] else 0
    ways = [
        (kill.limit_bytes, "its limit then, which it ran into"),
        (kill.requested_bytes, "what it requested then"),
        (peak, "the peak of that day" if of_day else "the most that was seen"),
        (ran_into, f"its limit, near which it came with {words.memory(of_day)} that day"),
    ]
    used, why = max(ways, key=lambda way: way[0])
    return Bump(kill, used, why, max(used + OOM_BYTES, scaled(used, *_RATIO)))
