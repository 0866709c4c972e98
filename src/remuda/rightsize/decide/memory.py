"""
The memory of a container: the upper bound × its multiplier, in steps, raised for kills and peaks, held within bounds.

Where the upper bound shows nothing but too little data, only what kills and peaks ask for is given, and else nothing is
changed. The peak is a floor of our own. The estimator forgets a peak within some four days, and a limit below what was used a
week ago will kill; a tenth above it is for what happens between two samples.
"""

from remuda.model.amount_texts import MIB
from remuda.rightsize.decide import words
from remuda.rightsize.decide.certainty import explain_wide, is_too_wide
from remuda.rightsize.decide.clamps import (
    Clamp,
    clamped,
    clamps_of,
    least_for_ratio,
    least_of,
    within_ratios,
)
from remuda.rightsize.decide.context import ContainerContext
from remuda.rightsize.decide.findings import Explanation
from remuda.rightsize.decide.kills import Bump, bump_of
from remuda.rightsize.decide.leaking import Leak, explain_leak, leak_of
from remuda.rightsize.decide.rounding import MULTIPLIERS, round_up, scaled, step_of
from remuda.rightsize.decide.shortage import explain_kills, explain_need, too_little
from remuda.rightsize.decide.sized import Sized, is_near, not_lowered
from remuda.rightsize.decide.traces import explain_estimate
from remuda.rightsize.estimate.estimator import FLOOR_BYTES, Estimate
from remuda.rightsize.review import UsageClass

#: × 1.1
PEAK_RATIO = (11, 10)


def by_rule(estimate: Estimate, usage_class: UsageClass, *, is_guaranteed: bool) -> tuple[int, int]:
    """Request and limit before bounds: request = limit where it is guaranteed, else the target as request."""
    limit = round_up(scaled(estimate.upper_bound.memory_bytes, *MULTIPLIERS[usage_class]))
    return limit if is_guaranteed else min(estimate.target.memory_bytes, limit), limit


def size_memory(
    context: ContainerContext, estimate: Estimate, why_class: str, explanation: Explanation
) -> Sized:
    """What memory it should have, or what it has where it must be left."""
    now = Sized(context.size.requests.memory_bytes, context.size.limits.memory_bytes)
    explain_estimate(context, estimate, "memory", explanation)
    bump = bump_of(context)
    peak = scaled(context.evidence.memory_peak, *PEAK_RATIO)
    advised = _advised(context, estimate)
    need = max(peak, bump.amount if bump else 0, advised)
    limit = _start(context, estimate, why_class, explanation)
    if is_too_wide(context, estimate):
        if not _is_short(_effective(context), need, bump):
            return _not_yet(context, now, estimate, need, bump, explanation)
        explain_wide(estimate, "only what is known to be needed is given", explanation)
        limit = round_up(advised)
    limit = _raised(context, limit, bump, peak, explanation)
    clamps = clamps_of(context, "memory")
    limit = clamped(limit, clamps, explanation, "memory")
    # As a person writes it: no bytes, which nobody can read in a template.
    target = -(-estimate.target.memory_bytes // MIB) * MIB
    request = limit if context.is_guaranteed else min(target, limit)
    if not context.is_guaranteed:
        explanation.step("request", words.memory(request), "the target in whole MiB, not above the limit")
    if request < (least := min(least_of(clamps), limit)):
        explanation.step(
            "request", f"{words.memory(least)}, up from {words.memory(request)}", "the least that is allowed"
        )
        request = least
    request = within_ratios(request, limit, context.ranges, explanation)
    then = Sized(request, limit, need=need)
    made = _settled(context, now, then, estimate, clamps, leak_of(context, limit), explanation)
    if not made.is_held and limit < need:
        made = too_little(now, made, limit, clamps, explanation)
    return _explained(context, now, made, bump, explanation)


def _effective(context: ContainerContext) -> Sized:
    return Sized(context.effective.requests.memory_bytes, context.effective.limits.memory_bytes)


def _is_short(now: Sized, need: int, bump: Bump | None) -> bool:
    return bump is not None if now.limit is None else now.limit < need


def _not_yet(
    context: ContainerContext,
    now: Sized,
    estimate: Estimate,
    need: int,
    bump: Bump | None,
    explanation: Explanation,
) -> Sized:
    """What it has, as there is too little data; a leak is seen nevertheless, where there is a limit that it comes to."""
    explain_wide(estimate, "memory is left as it is: not yet", explanation)
    then = Sized(now.request, now.limit, is_held=True, need=need)
    leak = None if now.limit is None else leak_of(context, now.limit)
    return _explained(
        context, now, _settled(context, now, then, estimate, (), leak, explanation), bump, explanation
    )


def _explained(
    context: ContainerContext, now: Sized, made: Sized, bump: Bump | None, explanation: Explanation
) -> Sized:
    explain_kills(context, made, bump, explanation)
    explain_need(context, made, explanation)
    _explain_result(context, now, made, explanation)
    return made


def _advised(context: ContainerContext, estimate: Estimate) -> int:
    """What an advisor's word says is used; its floor says nothing."""
    target = estimate.target.memory_bytes
    return target if context.is_advice and target > FLOOR_BYTES else 0


def _start(context: ContainerContext, estimate: Estimate, why_class: str, explanation: Explanation) -> int:
    if context.strategy == "krr":
        return estimate.target.memory_bytes
    upper = estimate.upper_bound.memory_bytes
    numerator, denominator = MULTIPLIERS[context.usage_class]
    amount = scaled(upper, numerator, denominator)
    explanation.step(
        context.usage_class,
        f"{words.memory(amount)} = {words.memory(upper)} × {numerator / denominator:g}",
        why_class,
    )
    rounded = round_up(amount)
    explanation.step(
        "rounding", words.memory(rounded), f"up to a multiple of {words.memory(step_of(amount))}"
    )
    return rounded


def _raised(
    context: ContainerContext, limit: int, bump: Bump | None, peak: int, explanation: Explanation
) -> int:
    if bump is not None:
        why = (
            f"killed {words.counted(len(context.kills), 'time')}, at {words.moment(bump.kill.at)} with {words.memory(bump.used)}"
            f" used ({bump.why}): 100Mi or a fifth more is {words.memory(bump.amount)}"
        )
        if bump.amount > limit:
            limit = round_up(bump.amount)
            explanation.step("kills", f"{words.memory(limit)}, raised", why)
        else:
            explanation.step("kills", f"{words.memory(limit)} is enough", why)
    if context.evidence.memory_peak:
        at = context.evidence.memory_peak_at
        when = "" if at is None else f" at {words.moment(at)}"
        seen = f"the most was {words.memory(context.evidence.memory_peak)}{when}: with a tenth {words.memory(peak)}"
        if peak > limit:
            limit = round_up(peak)
            explanation.step("peak", f"{words.memory(limit)}, raised", seen)
        else:
            explanation.step("peak", f"{words.memory(limit)} is enough", seen)
    now = context.effective.limits.memory_bytes
    if context.kills and now is not None and limit < now:
        explanation.step(
            "kills",
            f"{words.memory(now)} stays, up from {words.memory(limit)}",
            "who was killed within the history is not given less"
            + (
                ""
                if all(kill.limit_bytes for kill in context.kills)
                else ": which limit it ran into is not certain"
            ),
        )
        return now
    return limit


def _settled(
    context: ContainerContext,
    now: Sized,
    then: Sized,
    estimate: Estimate,
    clamps: tuple[Clamp, ...],
    leak: Leak | None,
    explanation: Explanation,
) -> Sized:
    """What is left as it is, for which reason; what is near enough; and else what was found."""
    held = Sized(now.request, now.limit, is_held=True, is_leaking=leak is not None, need=then.need)
    if leak is not None:
        explain_leak(context, leak, explanation)
    scaler = context.autoscalers.get("memory")
    if scaler is not None:
        explanation.find_scaled(scaler, words.memory(now.request))
        return held
    if leak is not None:
        return held
    if then.is_held:
        return then
    if not context.evidence.memory_samples and not context.is_advice:
        explanation.find("no-evidence", "warning", "requests.memory", resource="memory")
        return held
    if _is_near(context, _effective(context), then, estimate, clamps):
        explanation.step(
            "keep", "memory is kept", "within its bounds, and less than a tenth from what was found"
        )
        return Sized(now.request, now.limit, need=then.need)
    return not_lowered(_effective(context), then) if context.evidence.is_partial else then


def _is_near(
    context: ContainerContext, now: Sized, then: Sized, estimate: Estimate, clamps: tuple[Clamp, ...]
) -> bool:
    request, limit = now.request, now.limit
    if request is None or limit is None or request > limit or limit < then.need:
        return False
    if context.is_guaranteed and request != limit:
        return False
    if context.strategy != "krr" and request < estimate.lower_bound.memory_bytes:
        return False
    if not context.is_guaranteed and request > estimate.upper_bound.memory_bytes:
        return False
    if not all(clamp.admits(request) and clamp.admits(limit) for clamp in clamps):
        return False
    if any(request < least_for_ratio(limit, each.memory_ratio) for each in context.ranges):
        return False
    return is_near(request, then.request or 0) and is_near(limit, then.limit or 0)


def _explain_result(context: ContainerContext, now: Sized, made: Sized, explanation: Explanation) -> None:
    words_now = f"request {words.memory(now.request)}, limit {words.memory(now.limit)}"
    explanation.step(
        "memory",
        f"request {words.memory(made.request)}, limit {words.memory(made.limit)}",
        ("left as it is" if made.is_held else f"now {words_now}")
        + ("; nothing is lowered, because the samples are partial" if context.evidence.is_partial else ""),
    )
