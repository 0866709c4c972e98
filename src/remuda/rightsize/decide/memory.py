"""
The memory of a container: the upper bound × its multiplier, in steps, raised for kills and peaks, held within bounds.

Where the upper bound shows nothing but a want of data, only what kills and peaks ask for is given, and else nothing is
changed. The peak is a floor of our own. The estimator forgets a peak within some four days, and a limit below what was used a
week ago will kill; a tenth above it is for what happens between two samples.
"""

from remuda.rightsize.decide import words
from remuda.rightsize.decide.case import Case
from remuda.rightsize.decide.certainty import is_too_wide, tell_wide
from remuda.rightsize.decide.clamps import (
    Clamp,
    clamped,
    clamps_of,
    least_for_ratio,
    least_of,
    within_ratios,
)
from remuda.rightsize.decide.findings import Telling
from remuda.rightsize.decide.kills import Bump, bump_of
from remuda.rightsize.decide.leaking import Leak, leak_of, tell_leak
from remuda.rightsize.decide.rounding import MULTIPLIERS, round_up, scaled, step_of
from remuda.rightsize.decide.shortage import tell_kills, tell_need, too_little
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
    advised = _advised(case, estimate)
    need = max(peak, bump.amount if bump else 0, advised)
    limit = _start(case, estimate, why_even, told)
    if is_too_wide(case, estimate):
        if not _is_short(_effective(case), need, bump):
            return _not_yet(case, now, estimate, need, bump, told)
        tell_wide(estimate, "only what is known to be needed is given", told)
        limit = round_up(advised)
    limit = _raised(case, limit, bump, peak, told)
    clamps = clamps_of(case, "memory")
    limit = clamped(limit, clamps, told, "memory")
    # As a person writes it: no bytes, which nobody can read in a template.
    target = -(-estimate.target.memory_bytes // words.MIB) * words.MIB
    request = limit if case.is_guaranteed else min(target, limit)
    if not case.is_guaranteed:
        told.step("request", words.memory(request), "the target in whole MiB, not above the limit")
    if request < (least := min(least_of(clamps), limit)):
        told.step(
            "request", f"{words.memory(least)}, up from {words.memory(request)}", "the least that is allowed"
        )
        request = least
    request = within_ratios(request, limit, case.ranges, told)
    then = Sized(request, limit, need=need)
    made = _settled(case, now, then, estimate, clamps, leak_of(case, limit), told)
    if not made.is_held and limit < need:
        made = too_little(now, made, limit, clamps, told)
    return _told(case, now, made, bump, told)


def _effective(case: Case) -> Sized:
    return Sized(case.effective.requests.memory_bytes, case.effective.limits.memory_bytes)


def _is_short(now: Sized, need: int, bump: Bump | None) -> bool:
    return bump is not None if now.limit is None else now.limit < need


def _not_yet(
    case: Case, now: Sized, estimate: Estimate, need: int, bump: Bump | None, told: Telling
) -> Sized:
    """What it has, for want of data; a leak is seen nevertheless, where there is a limit that it comes to."""
    tell_wide(estimate, "memory is left as it is: not yet", told)
    then = Sized(now.request, now.limit, is_held=True, need=need)
    leak = None if now.limit is None else leak_of(case, now.limit)
    return _told(case, now, _settled(case, now, then, estimate, (), leak, told), bump, told)


def _told(case: Case, now: Sized, made: Sized, bump: Bump | None, told: Telling) -> Sized:
    tell_kills(case, made, bump, told)
    tell_need(case, made, told)
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
    now = case.effective.limits.memory_bytes
    if case.kills and now is not None and limit < now:
        told.step(
            "kills",
            f"{words.memory(now)} stays, up from {words.memory(limit)}",
            "who was killed within the history is not given less"
            + (
                ""
                if all(kill.limit_bytes for kill in case.kills)
                else ": which limit it ran into is not certain"
            ),
        )
        return now
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
            f"{words.memory(now.request)}; HorizontalPodAutoscaler {scaler.name} scales it by memory",
            "left as it is",
            f"change it together with the target of HorizontalPodAutoscaler {scaler.name}, or scale by something else",
        )
        return held
    if leak is not None:
        return held
    if then.is_held:
        return then
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
    if _is_near(case, _effective(case), then, estimate, clamps):
        told.step("keep", "memory is kept", "within its bounds, and less than a tenth from what was found")
        return Sized(now.request, now.limit, need=then.need)
    return not_lowered(_effective(case), then) if case.evidence.is_partial else then


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
    if any(request < least_for_ratio(limit, each.memory_ratio) for each in case.ranges):
        return False
    return is_near(request, then.request or 0) and is_near(limit, then.limit or 0)


def _tell_result(case: Case, now: Sized, made: Sized, told: Telling) -> None:
    words_now = f"request {words.memory(now.request)}, limit {words.memory(now.limit)}"
    told.step(
        "memory",
        f"request {words.memory(made.request)}, limit {words.memory(made.limit)}",
        ("left as it is" if made.is_held else f"now {words_now}")
        + ("; nothing is lowered, because the samples are partial" if case.evidence.is_partial else ""),
    )
