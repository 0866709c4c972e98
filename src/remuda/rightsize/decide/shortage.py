"""Memory that is not enough: kills, a limit below the use, a bound that allows less than that."""

from collections.abc import Sequence

from remuda.rightsize.decide import words
from remuda.rightsize.decide.clamps import Clamp, tightest
from remuda.rightsize.decide.context import ContainerContext
from remuda.rightsize.decide.findings import Explanation
from remuda.rightsize.decide.kills import Bump, was_changed
from remuda.rightsize.decide.rounding import round_up
from remuda.rightsize.decide.sized import Sized


def too_little(
    now: Sized, then: Sized, limit: int, clamps: Sequence[Clamp], explanation: Explanation
) -> Sized:
    """Where bounds allow less than what was used, the most they allow; but nothing is taken away for that."""
    bound = tightest(clamps)
    is_more = now.limit is not None and now.limit <= limit
    who = bound.who if bound else "a bound"
    explanation.find(
        "clamped-below-use",
        "error",
        "limits.memory",
        f"at most {words.memory(limit)} by {who}",
        f"at least {words.memory(then.need)}: less was not enough within the history",
        f"raise the maximum of {who} to {words.memory(round_up(then.need))} or more"
        + ("" if is_more else f"; until then memory is left at {words.memory(now.limit)}"),
    )
    return then if is_more else Sized(now.request, now.limit, is_held=True, need=then.need)


def explain_kills(
    context: ContainerContext, made: Sized, bump: Bump | None, explanation: Explanation
) -> None:
    """How often it was killed, and whether what it has now is more than what was used then."""
    if not context.kills:
        return
    now = context.effective.limits.memory_bytes
    is_mended = now is not None and bump is not None and now >= bump.amount
    is_changed = bump is not None and was_changed(context, bump.kill)
    used = "" if bump is None else f", with {words.memory(bump.used)} used ({bump.why})"
    if made.is_leaking:
        fix = "fix the leak: more memory only delays the next kill"
    elif not is_mended or _is_raised(now, made):
        fix = _raise(now, made)
    elif is_changed:
        fix = "nothing: its size has been changed since"
    else:
        fix = (
            "nothing, if its limit has been raised since the kill; if not, raise it by a fifth: which limit it ran into is"
            " not known"
        )
    explanation.find(
        "killed",
        "error" if not is_mended else "info" if is_changed else "warning",
        "limits.memory",
        f"OOM-killed {words.counted(len(context.kills), 'time')}, last at"
        f" {words.moment(context.kills[-1].at)}{used}; the limit is {words.memory(now)}",
        "never killed" if bump is None else f"at least {words.memory(bump.amount)}",
        fix,
    )


def explain_need(context: ContainerContext, made: Sized, explanation: Explanation) -> None:
    """A limit that is below what was used; of what was killed that is told already."""
    now, need = context.effective.limits.memory_bytes, made.need
    if now is None or now >= need or context.kills:
        return
    explanation.find(
        "limit-below-use",
        "error",
        "limits.memory",
        words.memory(now),
        f"at least {words.memory(need)}: {words.memory(context.evidence.memory_peak)} was used"
        if context.evidence.memory_peak
        else f"at least {words.memory(need)}, the target",
        "fix the leak" if made.is_leaking else _raise(now, made),
    )


def _is_raised(now: int | None, made: Sized) -> bool:
    return made.limit is not None and (now is None or made.limit > now)


def _raise(now: int | None, made: Sized) -> str:
    """By the number that is recommended; where nothing is, because it is held, by what is needed."""
    verb = "set its memory limit to" if now is None else "raise its memory limit to"
    if made.limit is not None and _is_raised(now, made):
        return f"{verb} {words.quantity(made.limit)}"
    if not made.need:
        return "raise its memory limit: by how much cannot be told, as nothing tells what was used"
    return f"{verb} {words.quantity(round_up(made.need))} once what holds it is out of the way: see the other findings"
