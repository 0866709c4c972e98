"""
CPU limits that LimitRanges demand: by a ratio of limit and request, or by a maximum of pods, which is one of limits.

Pods without such a limit, or with one too far above the request, are refused by the API server: there, a container gets a
limit although it slows it down.
"""

from remuda.rightsize.decide import words
from remuda.rightsize.decide.clamps import Clamp, default_cpu_limit, exact_ratio, least_for_ratio, name_of
from remuda.rightsize.decide.context import ContainerContext
from remuda.rightsize.decide.findings import Explanation
from remuda.rightsize.decide.sized import Sized
from remuda.rightsize.snapshot import LimitRange


def demands_cpu_limit(each: LimitRange) -> bool:
    """Whether it refuses pods whose containers have no CPU limit; a maximum of containers gives them one instead."""
    if each.is_overruled:
        return False
    has_most = each.of == "Pod" and each.most.cpu_millicores is not None
    return has_most or exact_ratio(each.cpu_ratio) is not None


def size_as_demanded(
    context: ContainerContext, now: Sized, request: int, clamps: tuple[Clamp, ...], explanation: Explanation
) -> Sized | None:
    """
    A request with a limit that all LimitRanges take; None where none demands one.

    The limit is the one it has, or is given, as far as they allow it; else the most it used or the request. The request is
    raised where a limit below what was used would be too far above it. Where nothing fits, CPU is left as it is.
    """
    demanding = [each for each in (*context.ranges, *context.pod_ranges) if demands_cpu_limit(each)]
    if not demanding:
        return None
    who = words.some(dict.fromkeys(_demand(each) for each in demanding))
    defaults = [limit for each in context.ranges if (limit := default_cpu_limit(each)) is not None]
    has = min(defaults, default=None) if now.limit is None else now.limit
    request = _raised(request, _needed(context, now, has), demanding, clamps, explanation)
    most = _most(context, request, demanding)
    desired = max(request, context.evidence.cpu_peak if has is None else has)
    limit = desired if most is None else min(desired, most)
    if limit < request or (context.evidence.is_partial and limit < (now.limit or request)):
        _explain_unfit(now, request, most, who, explanation)
        return Sized(now.request, now.limit, is_held=True)
    if now.limit is None and defaults and all(each == limit for each in defaults):
        explanation.step("range", f"a CPU limit of {words.cpu(limit)} is given", f"{who}: it is enough")
        return Sized(request, None)
    stays = "stays" if limit == now.limit else f"instead of {words.cpu(has)}"
    explanation.step(
        "range", f"a CPU limit of {words.cpu(limit)} {stays}", f"{who}: else its pods are refused"
    )
    explanation.find(
        "limit-range-wants-cpu-limit",
        "warning",
        "limits.cpu",
        limit=words.cpu(now.limit),
        who=who,
        fitting=words.cpu(limit),
        request=words.cpu(request),
        ranges=words.some(dict.fromkeys(map(name_of, demanding))),
        verb="keep" if limit == now.limit else "set",
    )
    return Sized(request, limit)


def _demand(each: LimitRange) -> str:
    if exact_ratio(each.cpu_ratio) is not None:
        return f"{name_of(each)} demands a CPU limit of at most {each.cpu_ratio:g} × the request"
    return f"{name_of(each)} demands a CPU limit, of at most {words.cpu(each.most.cpu_millicores)} a pod"


def _needed(context: ContainerContext, now: Sized, has: int | None) -> int:
    """What of the limit it has must stay: all of it on partial evidence, else what was used."""
    if context.evidence.is_partial and now.limit is not None:
        return now.limit
    return 0 if has is None else min(has, context.evidence.cpu_peak)


def _raised(
    request: int,
    needed: int,
    demanding: list[LimitRange],
    clamps: tuple[Clamp, ...],
    explanation: Explanation,
) -> int:
    """The request that the limit that must stay is not too far above, where the bounds allow it."""
    least = max(least_for_ratio(needed, each.cpu_ratio) for each in demanding)
    if least <= request or not all(clamp.admits(least) for clamp in clamps):
        return request
    explanation.step(
        "range",
        f"request {words.cpu(least)}, up from {words.cpu(request)}",
        f"a CPU limit below {words.cpu(needed)} would slow it down more than before, and a smaller request would be too far"
        " below it",
    )
    return least


def _most(context: ContainerContext, request: int, demanding: list[LimitRange]) -> int | None:
    """The highest limit that is taken beside a request."""
    bounds = [each.most.cpu_millicores for each in (*context.ranges, *context.pod_ranges)]
    ratios = [exact_ratio(each.cpu_ratio) for each in demanding]
    by_ratio = [request * ratio.numerator // ratio.denominator for ratio in ratios if ratio is not None]
    return min((*(bound for bound in bounds if bound is not None), *by_ratio), default=None)


def _explain_unfit(now: Sized, request: int, most: int | None, who: str, explanation: Explanation) -> None:
    explanation.step(
        "range", "CPU is left as it is", f"{who}: no limit beside the request {words.cpu(request)} fits"
    )
    explanation.find(
        "limit-range-wants-cpu-limit",
        "error",
        "limits.cpu",
        limit=words.cpu(now.limit),
        who=who,
        least=words.cpu(max(request, now.limit or request)),
        most=words.cpu(most),
    )
