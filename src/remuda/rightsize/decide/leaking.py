"""Whether a rise of memory is a leak: it comes to the limit before the next review looks at it."""

from msgspec import Struct

from remuda.model.times import SECOND
from remuda.output.moments import age
from remuda.rightsize.decide import words
from remuda.rightsize.decide.context import ContainerContext
from remuda.rightsize.decide.findings import Explanation
from remuda.rightsize.decide.leaks import rise_of
from remuda.rightsize.decide.rises import Rise
from remuda.rightsize.estimate.histogram import Second


class Leak(Struct, frozen=True):
    """A rise, and what it comes to."""

    rise: Rise
    bound: int
    #: when it comes to that
    at: Second
    #: the limit it has, or the one it would be given
    is_limit: bool


def leak_of(context: ContainerContext, limit: int) -> Leak | None:
    """
    A rise that comes to the limit it has before the next review, or to the one it would be given.

    The latter matters where there is no limit, and where a lower one would make a kill of what is none now.
    """
    now = context.size.limits.memory_bytes
    is_job = context.workload.id.kind in {"CronJob", "Job"}
    rise = rise_of(context.evidence, context.kills, now, is_job=is_job)
    if rise is None:
        return None
    until = context.now + context.policy.review_every // SECOND
    for bound in [limit] if now is None else [now, min(now, limit)]:
        at = rise.reaches(bound)
        if at is not None and at <= until:
            return Leak(rise, bound, at, is_limit=bound == now)
    return None


def explain_leak(context: ContainerContext, leak: Leak, explanation: Explanation) -> None:
    """How fast it rises, and when it is there."""
    rise = leak.rise
    pace, bound = words.about(rise.bytes_a_day), words.memory(leak.bound)
    after = age((leak.at - rise.last) * SECOND) if rise.killed else None
    at = None if rise.killed or leak.at <= context.now else words.moment(leak.at)
    when = (
        f"will be reached at {at}" if at else f"is reached {after} after a restart" if after else "is reached"
    )
    restarted = _restarted(rise)
    least = "the memory that it never falls below" if rise.killed else "the least memory of a day"
    compared = "two steps of a life" if rise.killed else f"{rise.days} days"
    explanation.step(
        "leak",
        f"+{pace} a day: {'its' if leak.is_limit else 'a'} limit of {bound} {when}",
        f"{least} rises in {rise.rising} of {rise.pairs} pairs of {compared}, from"
        f" {words.moment(rise.first)} to {words.moment(rise.last)}, "
        + (f"{restarted}, after which it" if restarted else "when the line")
        + f" is at {words.about(rise.level)}",
    )
    explanation.find(
        "leak",
        "error" if leak.is_limit or context.size.limits.memory_bytes is None else "warning",
        "limits.memory",
        restarts=None if rise.killed else rise.restarts or None,
        killed=rise.killed or None,
        pace=pace,
        limited=leak.is_limit,
        bound=bound,
        at=at,
        after=after,
        review_every=str(context.policy.review_every),
    )


def _restarted(rise: Rise) -> str:
    """By kills, or nobody knows by what."""
    if rise.killed:
        return f"killed and restarted {words.counted(rise.killed, 'time')}"
    return f"restarted {words.counted(rise.restarts, 'time')}" if rise.restarts else ""
