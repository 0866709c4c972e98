"""
The memory of a container: the upper bound × its multiplier, in steps, raised for kills and peaks, held within bounds.

The peak is a floor of our own. The estimator forgets a peak within some four days, and a limit below what was used a
week ago will kill; a tenth above it is for what happens between two samples.
"""

from remuda.rightsize.decide import words
from remuda.rightsize.decide.case import Case
from remuda.rightsize.decide.clamps import (
    Clamp,
    clamped,
    clamps_of,
    least_for_ratio,
    least_of,
    tightest,
    within_ratios,
)
from remuda.rightsize.decide.findings import Telling
from remuda.rightsize.decide.kills import Bump, bump_of
from remuda.rightsize.decide.leaking import Leak, leak_of, tell_leak
from remuda.rightsize.decide.rounding import MULTIPLIERS, round_up, scaled, step_of
from remuda.rightsize.decide.sized import Sized, is_near, not_lowered
from remuda.rightsize.decide.traces import tell_estimate
from remuda.rightsize.estimate.estimator import FLOOR_BYTES, Estimate
from remuda.rightsize.review import Evenness

#: × 1.1
PEAK_RATIO = (11, 10)


def by_rule(estimate: Estimate, evenness: Evenness, *, is_guaranteed: bool) -> tuple[int, int]:
    """Request and limit before bounds: request = limit where it is guaranteed, else the target as request."""
    limit = round_up(scaled(estimate.upper_bound.memory_bytes, *MULTIPLIERS[evenness]))
    return limit if is_guaranteed else min(estimate.target.memory_bytes, limit), limit


def size_memory(case: Case, estimate: Estimate, why_even: str, told: Telling) -> Sized:
    """What memory it should have, or what it has where it must be left."""
    now = Sized(case.size.requests.memory_bytes, case.size.limits.memory_bytes)
    tell_estimate(case, "memory", told)
    bump = bump_of(case)
    peak = scaled(case.evidence.memory_peak, *PEAK_RATIO)
    need = max(peak, bump.amount if bump else 0, _advised(case, estimate))
    limit = _start(case, estimate, why_even, told)
    limit = _raised(case, limit, bump, peak, told)
    clamps = clamps_of(case, "memory")
    limit = clamped(limit, clamps, told, "memory")
    request = limit if case.is_guaranteed else min(estimate.target.memory_bytes, limit)
    if not case.is_guaranteed:
        told.step("request", words.memory(request), "the target, not above the limit")
    if request < (least := min(least_of(clamps), limit)):
        told.step(
            "request", f"{words.memory(least)}, up from {words.memory(request)}", "the least that is allowed"
        )
        request = least
    request = within_ratios(request, limit, case.ranges, told)
    then = Sized(request, limit, need=need)
    leak = leak_of(case, limit)
    _tell_kills(case, bump, limit, told, is_leaking=leak is not None)
    _tell_need(case, need, told, is_leaking=leak is not None)
    made = _settled(case, now, then, estimate, clamps, leak, told)
    if not made.is_held and limit < need:
        made = _too_little(now, made, limit, clamps, told)
    _tell_result(case, now, made, told)
    return made


def _advised(case: Case, estimate: Estimate) -> int:
    """What an advisor's word says is used; its floor says nothing."""
    target = estimate.target.memory_bytes
    return target if case.is_advice and target > FLOOR_BYTES else 0


def _start(case: Case, estimate: Estimate, why_even: str, told: Telling) -> int:
    if case.strategy == "krr":
        return estimate.target.memory_bytes
    upper = estimate.upper_bound.memory_bytes
    numerator, denominator = MULTIPLIERS[case.evenness]
    amount = scaled(upper, numerator, denominator)
    told.step(
        case.evenness,
        f"{words.memory(amount)} = {words.memory(upper)} × {numerator / denominator:g}",
        why_even,
    )
    rounded = round_up(amount)
    told.step("rounding", words.memory(rounded), f"up to a multiple of {words.memory(step_of(amount))}")
    return rounded


def _raised(case: Case, limit: int, bump: Bump | None, peak: int, told: Telling) -> int:
    if bump is not None:
        wanted = (
            f"killed {words.counted(len(case.kills), 'time')}, at {words.moment(bump.kill.at)} with {words.memory(bump.used)}"
            f" used ({bump.why}): 100Mi or a fifth more is {words.memory(bump.amount)}"
        )
        if bump.amount > limit:
            limit = round_up(bump.amount)
            told.step("kills", f"{words.memory(limit)}, raised", wanted)
        else:
            told.step("kills", f"{words.memory(limit)} is enough", wanted)
    if case.evidence.memory_peak:
        at = case.evidence.memory_peak_at
        when = "" if at is None else f" at {words.moment(at)}"
        seen = (
            f"the most was {words.memory(case.evidence.memory_peak)}{when}: with a tenth {words.memory(peak)}"
        )
        if peak > limit:
            limit = round_up(peak)
            told.step("peak", f"{words.memory(limit)}, raised", seen)
        else:
            told.step("peak", f"{words.memory(limit)} is enough", seen)
    return limit


def _settled(
    case: Case,
    now: Sized,
    then: Sized,
    estimate: Estimate,
    clamps: tuple[Clamp, ...],
    leak: Leak | None,
    told: Telling,
) -> Sized:
    """What is left as it is, for which reason; what is near enough; and else what was found."""
    held = Sized(now.request, now.limit, is_held=True, is_leaking=leak is not None, need=then.need)
    if leak is not None:
        tell_leak(case, leak, told)
    scaler = case.autoscalers.get("memory")
    if scaler is not None:
        told.step("hpa", "memory is left as it is", f"HorizontalPodAutoscaler {scaler.name} counts its use")
        told.find(
            "scaled-by-use",
            "info",
            "requests.memory",
            f"{words.memory(now.request)}, against which HorizontalPodAutoscaler {scaler.name} counts use",
            "left as it is",
            f"change it together with the target of HorizontalPodAutoscaler {scaler.name}, or scale by something else",
        )
        return held
    if leak is not None:
        return held
    if not case.evidence.memory_samples and not case.is_advice:
        told.find(
            "no-evidence",
            "warning",
            "requests.memory",
            "no samples of memory",
            "samples of memory",
            "see remuda diagnose metrics",
        )
        return held
    if _is_near(case, now, then, estimate, clamps):
        told.step("keep", "memory is kept", "within its bounds, and less than a tenth from what was found")
        return Sized(now.request, now.limit, need=then.need)
    return not_lowered(now, then) if case.evidence.is_partial else then


def _is_near(case: Case, now: Sized, then: Sized, estimate: Estimate, clamps: tuple[Clamp, ...]) -> bool:
    request, limit = now.request, now.limit
    if request is None or limit is None or request > limit or limit < then.need:
        return False
    if case.is_guaranteed and request != limit:
        return False
    if case.strategy != "krr" and request < estimate.lower_bound.memory_bytes:
        return False
    if not case.is_guaranteed and request > estimate.upper_bound.memory_bytes:
        return False
    if not all(clamp.admits(request) and clamp.admits(limit) for clamp in clamps):
        return False
    if any(request < least_for_ratio(limit, each) for each in case.ranges):
        return False
    return is_near(request, then.request or 0) and is_near(limit, then.limit or 0)


def _too_little(now: Sized, then: Sized, limit: int, clamps: tuple[Clamp, ...], told: Telling) -> Sized:
    """Where bounds allow less than what was used, the most they allow; but nothing is taken away for that."""
    bound = tightest(clamps)
    is_more = now.limit is not None and now.limit <= limit
    who = bound.who if bound else "a bound"
    told.find(
        "clamped-below-use",
        "error",
        "limits.memory",
        f"at most {words.memory(limit)} by {who}",
        f"at least {words.memory(then.need)}: less was not enough within the history",
        f"raise the maximum of {who} to {words.memory(round_up(then.need))} or more"
        + ("" if is_more else f"; until then memory is left at {words.memory(now.limit)}"),
    )
    return then if is_more else Sized(now.request, now.limit, is_held=True, need=then.need)


def _tell_kills(case: Case, bump: Bump | None, limit: int, told: Telling, *, is_leaking: bool) -> None:
    if not case.kills:
        return
    now = case.size.limits.memory_bytes
    is_mended = now is not None and bump is not None and now >= bump.amount
    used = "" if bump is None else f", with {words.memory(bump.used)} used"
    fix = (
        "nothing: its limit has been raised since"
        if is_mended
        else f"raise its memory limit to {words.memory(limit)}"
    )
    told.find(
        "killed",
        "info" if is_mended else "error",
        "limits.memory",
        f"killed for want of memory {words.counted(len(case.kills), 'time')}, last at"
        f" {words.moment(case.kills[-1].at)}{used}; the limit is {words.memory(now)}",
        "never killed" if bump is None else f"at least {words.memory(bump.amount)}",
        "mend the leak: more memory only delays the next kill" if is_leaking and not is_mended else fix,
    )


def _tell_need(case: Case, need: int, told: Telling, *, is_leaking: bool) -> None:
    now = case.size.limits.memory_bytes
    if now is None or now >= need or case.kills:
        return
    told.find(
        "limit-below-use",
        "error",
        "limits.memory",
        words.memory(now),
        f"at least {words.memory(need)}: {words.memory(case.evidence.memory_peak)} was used"
        if case.evidence.memory_peak
        else f"at least {words.memory(need)}, the target",
        "mend the leak" if is_leaking else f"raise it to {words.memory(round_up(need))} or more",
    )


def _tell_result(case: Case, now: Sized, made: Sized, told: Telling) -> None:
    words_now = f"request {words.memory(now.request)}, limit {words.memory(now.limit)}"
    told.step(
        "memory",
        f"request {words.memory(made.request)}, limit {words.memory(made.limit)}",
        ("left as it is" if made.is_held else f"now {words_now}")
        + (
            "; nothing is lowered, because a part of the samples is missing"
            if case.evidence.is_partial
            else ""
        ),
    )
