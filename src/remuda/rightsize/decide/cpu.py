"""The CPU of a container: the target as request, and no limit, which would slow it down while processors are idle."""

from remuda.rightsize.decide import words
from remuda.rightsize.decide.case import Case, requested
from remuda.rightsize.decide.clamps import Clamp, clamped, clamps_of, given_cpu_limit, name_of, tightest
from remuda.rightsize.decide.demands import size_as_demanded
from remuda.rightsize.decide.findings import Telling
from remuda.rightsize.decide.sized import Sized, is_near
from remuda.rightsize.decide.traces import tell_estimate
from remuda.rightsize.estimate.estimator import FLOOR_MILLICORES, Estimate
from remuda.rightsize.workloads import LimitRange


def size_cpu(case: Case, estimate: Estimate, told: Telling) -> Sized:
    """What CPU it should have, or what it has where it must be left."""
    now = Sized(case.size.requests.cpu_millicores, case.size.limits.cpu_millicores)
    tell_estimate(case, "cpu", told)
    target = estimate.target.cpu_millicores
    clamps = clamps_of(case, "cpu")
    request = clamped(target, clamps, told, "cpu")
    made = _held(case, now, told)
    if made is None:
        if request < min(target, lower_bound(case, estimate)):
            _tell_clamped(request, estimate, clamps, told)
        made = _settled(case, now, request, estimate, clamps, told)
    told.step(
        "cpu",
        f"request {words.cpu(made.request)}, limit {words.cpu(made.limit)}",
        "left as it is"
        if made.is_held
        else f"now request {words.cpu(now.request)}, limit {words.cpu(now.limit)}",
    )
    return made


def lower_bound(case: Case, estimate: Estimate) -> int:
    """Below what a request is too small; a pod's floor is not counted, as it says nothing about use."""
    trace = case.evidence.cpu
    if trace is not None and case.strategy == "vpa":
        least = trace.lower_bound
        return min(least.amount, int(least.padded * least.factor) if least.factor > 0 else 0)
    amount = estimate.lower_bound.cpu_millicores
    return amount if amount > FLOOR_MILLICORES else 0


def is_starved(case: Case, estimate: Estimate) -> bool:
    """
    Whether the request is more than a tenth below the lower bound: what is nearer is raised, and no risk.

    The bound has a margin: who uses exactly its request is not starved, and half of what was measured must be above it. Where use scales the workload, the autoscaler sees to that.
    """
    now = requested(case.effective, "cpu") or 0
    has_samples = case.evidence.cpu_samples > 0 or case.is_advice
    trace = case.evidence.cpu
    is_used_more = trace is None or case.strategy != "vpa" or now < trace.lower_bound.first
    return (
        has_samples
        and is_used_more
        and "cpu" not in case.autoscalers
        and now * 10 < lower_bound(case, estimate) * 9
    )


def starved_fix(case: Case, estimate: Estimate, made: Sized) -> str:
    """What helps a starved container: its request, or, where that is not raised, what keeps it down."""
    if made.request is not None and made.request > (requested(case.effective, "cpu") or 0):
        return f"raise it to {words.cpu(made.request)}"
    bound = tightest(clamps_of(case, "cpu"))
    target = words.cpu(estimate.target.cpu_millicores)
    if bound is None or bound.most is None or bound.most >= estimate.target.cpu_millicores:
        return f"raise it to {target} once what keeps it as it is, which is told beside this, is mended"
    return f"raise the maximum of {bound.who}, {words.cpu(bound.most)}, to {target} or more"


def _held(case: Case, now: Sized, told: Telling) -> Sized | None:
    scaler = case.autoscalers.get("cpu")
    if scaler is not None:
        told.step("hpa", "CPU is left as it is", f"HorizontalPodAutoscaler {scaler.name} counts its use")
        told.find(
            "scaled-by-use",
            "info",
            "requests.cpu",
            f"{words.cpu(now.request)}; HorizontalPodAutoscaler {scaler.name} scales it by CPU",
            "left as it is",
            f"change it together with the target of HorizontalPodAutoscaler {scaler.name}, or scale by something else",
        )
    elif not case.evidence.cpu_samples and not case.is_advice:
        told.find(
            "no-evidence",
            "warning",
            "requests.cpu",
            "no samples of CPU",
            "samples of CPU",
            "see remuda diagnose metrics",
        )
    else:
        return None
    return Sized(now.request, now.limit, is_held=True)


def _settled(
    case: Case, now: Sized, request: int, estimate: Estimate, clamps: tuple[Clamp, ...], told: Telling
) -> Sized:
    if _is_near(case, now, request, estimate, clamps):
        told.step(
            "keep", "the CPU request is kept", "within its bounds, and less than a tenth from what was found"
        )
        request = now.request or request
    elif case.evidence.is_partial:
        request = max(requested(case.effective, "cpu") or 0, request)
    limited = size_as_demanded(case, now, request, clamps, told)
    if limited is not None:
        return limited
    given = given_below(case, request)
    if given is not None:
        return _with_limit(case, now, request, given, told)
    if now.limit is None:
        return Sized(request, None)
    if case.wants_cpu_limit:
        told.step("quota", "the CPU limit stays", f"{case.wants_cpu_limit} refuses pods without one")
        return Sized(request, max(now.limit, request))
    told.find(
        "cpu-limit",
        "info",
        "limits.cpu",
        words.cpu(now.limit),
        "not set",
        "remove it: the request keeps its share when processors are short, and the limit only slows it down",
    )
    return Sized(request, None)


def given_below(case: Case, request: int) -> LimitRange | None:
    """The LimitRange that would give it a CPU limit below a request, if it had none: the API server refuses that."""
    giving = [(limit, each) for each in case.ranges if (limit := given_cpu_limit(each)) is not None]
    limit, least = min(giving, key=lambda pair: pair[0], default=(request, None))
    return least if limit < request else None


def _with_limit(case: Case, now: Sized, request: int, by: LimitRange, told: Telling) -> Sized:
    """
    A limit of its own, so that it does not get one below its request.

    It is the one it has, the most it used or the request, whichever is most, so that it is slowed down least. Where the
    request itself is above what is allowed, no limit helps, and it is left as it is.
    """
    who, given = name_of(by), words.cpu(given_cpu_limit(by))
    most = min(
        (each.most.cpu_millicores for each in case.ranges if each.most.cpu_millicores is not None),
        default=None,
    )
    wanted = max(request, now.limit or 0, case.evidence.cpu_peak)
    limit = wanted if most is None else min(wanted, most)
    refused = f"{given} for containers without a CPU limit, below the request {words.cpu(request)}"
    if limit < request:
        limit_now, fix = now.limit, f"raise the maximum of {who} to {words.cpu(request)} or more"
    else:
        limit_now, fix = (
            limit,
            f"raise or remove default.cpu of {who}; until then set a CPU limit of {words.cpu(limit)}",
        )
        told.step(
            "range",
            f"a CPU limit of {words.cpu(limit)}",
            f"{who} gives {refused}: without one its pods are refused",
        )
    told.find(
        "limit-range-gives-cpu-limit",
        "warning" if limit_now == now.limit and limit >= request else "error",
        "limits.cpu",
        f"{words.cpu(now.limit)}; {who} gives {refused}",
        "at least the request: else the API server refuses its pods",
        fix,
    )
    return Sized(request, limit_now)


def _is_near(case: Case, now: Sized, request: int, estimate: Estimate, clamps: tuple[Clamp, ...]) -> bool:
    if now.request is None or not all(clamp.admits(now.request) for clamp in clamps):
        return False
    lower, upper = estimate.lower_bound.cpu_millicores, estimate.upper_bound.cpu_millicores
    if case.strategy != "krr" and not lower <= now.request <= upper:
        return False
    return is_near(now.request, request)


def _tell_clamped(request: int, estimate: Estimate, clamps: tuple[Clamp, ...], told: Telling) -> None:
    bound = tightest(clamps)
    who = bound.who if bound else "a bound"
    target = words.cpu(estimate.target.cpu_millicores)
    told.find(
        "clamped-below-use",
        "warning",
        "requests.cpu",
        f"at most {words.cpu(request)} by {who}",
        f"{target}, the target",
        f"raise the maximum of {who} to {target} or more",
    )
