"""Whether a rise of memory is a leak: it comes to the limit before the next review looks at it."""

from dataclasses import dataclass

from remuda.model.times import SECOND
from remuda.output.moments import age
from remuda.rightsize.decide import words
from remuda.rightsize.decide.case import Case
from remuda.rightsize.decide.findings import Telling
from remuda.rightsize.decide.leaks import Rise, rise_of


@dataclass(frozen=True, slots=True)
class Leak:
    """A rise, and what it comes to."""

    rise: Rise
    bound: int
    #: the limit it has, or the one it would be given
    is_limit: bool


def leak_of(case: Case, limit: int) -> Leak | None:
    """
    A rise that comes to the limit it has before the next review, or to the one it would be given.

    The latter matters where there is no limit, and where a lower one would make a kill of what is none now.
    """
    rise = rise_of(case.evidence, case.kills)
    if rise is None:
        return None
    until = case.now + case.policy.review_every // SECOND
    now = case.size.limits.memory_bytes
    if now is not None and rise.reaches(now) <= until:
        return Leak(rise, now, is_limit=True)
    if (now is None or limit < now) and rise.reaches(limit) <= until:
        return Leak(rise, limit, is_limit=False)
    return None


def tell_leak(case: Case, leak: Leak, told: Telling) -> None:
    """How fast it rises, and when it is there."""
    rise = leak.rise
    name = "its limit of" if leak.is_limit else "a limit of"
    what = f"{name} {words.memory(leak.bound)} {_when(case, leak)}"
    restarted = _restarted(rise)
    told.step(
        "leak",
        f"+{words.memory(rise.bytes_a_day)} a day: {what}",
        f"the least of a day rises in {rise.rising} of {rise.pairs} pairs of {rise.days} days, from"
        f" {words.moment(rise.first.at)} to {words.moment(rise.last.at)}, "
        + (f"{restarted}, after which it" if restarted else "when the line")
        + f" is at {words.memory(rise.level)}",
    )
    told.find(
        "leak",
        "error" if leak.is_limit or case.size.limits.memory_bytes is None else "warning",
        "limits.memory",
        (f"{restarted}, and each time " if restarted else "")
        + f"the least memory of a day rises by {words.memory(rise.bytes_a_day)} a day: {what}",
        f"not reached within {case.policy.review_every}",
        "mend the leak, or restart it in time: more memory only delays the kill, so that it is left as it is",
    )


def _when(case: Case, leak: Leak) -> str:
    at = leak.rise.reaches(leak.bound)
    if leak.rise.killed:
        return f"is reached {age((at - leak.rise.last.at) * SECOND)} after a restart"
    return "is reached" if at <= case.now else f"will be reached at {words.moment(at)}"


def _restarted(rise: Rise) -> str:
    """By kills, or nobody knows by what."""
    if rise.killed:
        return f"killed and restarted {words.counted(rise.killed, 'time')}"
    return f"restarted {words.counted(rise.restarts, 'time')}" if rise.restarts else ""
