"""Memory that is not enough: kills, a limit below the use, a bound that allows less than that."""

from collections.abc import Sequence

from remuda.model.plans import Term
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
    explanation.find(
        "clamped-below-use",
        "error",
        "limits.memory",
        amount=words.memory(limit),
        who=bound.who if bound else "a bound",
        need=words.memory(then.need),
        enough=words.memory(round_up(then.need)),
        left=None if is_more else words.memory(now.limit),
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
    terms: dict[str, Term]
    if made.is_leaking:
        terms = {"leaking": True}
    elif not is_mended or _is_raised(now, made):
        terms = _raise(now, made)
    else:
        terms = {"changed" if is_changed else "unsure": True}
    if bump is not None:
        terms |= {"used": words.memory(bump.used), "why": bump.why, "least": words.memory(bump.amount)}
    explanation.find(
        "killed",
        "error" if not is_mended else "info" if is_changed else "warning",
        "limits.memory",
        kills=len(context.kills),
        last=words.moment(context.kills[-1].at),
        limit=words.memory(now),
        **terms,
    )


def explain_need(context: ContainerContext, made: Sized, explanation: Explanation) -> None:
    """A limit that is below what was used; of what was killed that is reported already."""
    now, need = context.effective.limits.memory_bytes, made.need
    if now is None or now >= need or context.kills:
        return
    explanation.find(
        "limit-below-use",
        "error",
        "limits.memory",
        limit=words.memory(now),
        need=words.memory(need),
        used=words.memory(context.evidence.memory_peak) if context.evidence.memory_peak else None,
        **({"leaking": True} if made.is_leaking else _raise(now, made)),
    )


def _is_raised(now: int | None, made: Sized) -> bool:
    return made.limit is not None and (now is None or made.limit > now)


def _raise(now: int | None, made: Sized) -> dict[str, Term]:
    """By the number that is recommended; where nothing is, because it is held, by what is needed."""
    how = "set_to" if now is None else "raise_to"
    if made.limit is not None and _is_raised(now, made):
        return {how: words.quantity(made.limit)}
    return {how: words.quantity(round_up(made.need)), "held": True} if made.need else {"unknown": True}
