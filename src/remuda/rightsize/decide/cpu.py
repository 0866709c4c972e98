"""The CPU of a container: the target as request, and no limit, which would slow it down while processors are idle."""

from remuda.model.plans import Term
from remuda.rightsize.decide import words
from remuda.rightsize.decide.clamps import Clamp, clamped, clamps_of, default_cpu_limit, name_of, tightest
from remuda.rightsize.decide.context import ContainerContext, requested
from remuda.rightsize.decide.demands import size_as_demanded
from remuda.rightsize.decide.findings import Explanation
from remuda.rightsize.decide.sized import Sized, is_near
from remuda.rightsize.decide.traces import explain_estimate
from remuda.rightsize.estimate.estimator import FLOOR_MILLICORES, Estimate
from remuda.rightsize.snapshot import LimitRange


def size_cpu(context: ContainerContext, estimate: Estimate, explanation: Explanation) -> Sized:
    """What CPU it should have, or what it has where it must be left."""
    now = Sized(context.size.requests.cpu_millicores, context.size.limits.cpu_millicores)
    explain_estimate(context, estimate, "cpu", explanation)
    target = estimate.target.cpu_millicores
    clamps = clamps_of(context, "cpu")
    request = clamped(target, clamps, explanation, "cpu")
    made = _held(context, now, explanation)
    if made is None:
        if request < min(target, lower_bound(context, estimate)):
            _explain_clamped(request, estimate, clamps, explanation)
        made = _settled(context, now, request, estimate, clamps, explanation)
    explanation.step(
        "cpu",
        f"request {words.cpu(made.request)}, limit {words.cpu(made.limit)}",
        "left as it is"
        if made.is_held
        else f"now request {words.cpu(now.request)}, limit {words.cpu(now.limit)}",
    )
    return made


def lower_bound(context: ContainerContext, estimate: Estimate) -> int:
    """Below what a request is too small; a pod's floor is not counted, as it says nothing about use."""
    trace = context.evidence.cpu
    if trace is not None and context.strategy == "vpa":
        least = trace.lower_bound
        return min(least.amount, int(least.padded * least.factor) if least.factor > 0 else 0)
    amount = estimate.lower_bound.cpu_millicores
    return amount if amount > FLOOR_MILLICORES else 0


def is_starved(context: ContainerContext, estimate: Estimate) -> bool:
    """
    Whether the request is more than a tenth below the lower bound: what is nearer is raised, and no risk.

    The bound has a margin: who uses exactly its request is not starved, and half of what was measured must be above it. Where use scales the workload, the autoscaler sees to that.
    """
    now = requested(context.effective, "cpu") or 0
    has_samples = context.evidence.cpu_samples > 0 or context.is_advice
    trace = context.evidence.cpu
    is_used_more = trace is None or context.strategy != "vpa" or now < trace.lower_bound.first
    return (
        has_samples
        and is_used_more
        and "cpu" not in context.autoscalers
        and now * 10 < lower_bound(context, estimate) * 9
    )


def explain_starved(
    context: ContainerContext, estimate: Estimate, made: Sized, explanation: Explanation
) -> None:
    """What helps a starved container: its request, or, where that is not raised, what keeps it down."""
    now = requested(context.effective, "cpu")
    terms: dict[str, Term]
    if made.request and (not now or made.request > now):
        terms = {"enough": words.cpu(made.request)}
    else:
        terms = {"enough": words.cpu(estimate.target.cpu_millicores)}
        bound = tightest(clamps_of(context, "cpu"))
        if bound is None or bound.most is None or bound.most >= estimate.target.cpu_millicores:
            terms["held"] = True
        else:
            terms |= {"who": bound.who, "most": words.cpu(bound.most)}
    least = words.cpu(lower_bound(context, estimate))
    explanation.find("starved", "warning", "requests.cpu", request=words.cpu(now), least=least, **terms)


def _held(context: ContainerContext, now: Sized, explanation: Explanation) -> Sized | None:
    scaler = context.autoscalers.get("cpu")
    if scaler is not None:
        explanation.find_scaled(scaler, words.cpu(now.request))
    elif not context.evidence.cpu_samples and not context.is_advice:
        explanation.find("no-evidence", "warning", "requests.cpu", resource="CPU")
    else:
        return None
    return Sized(now.request, now.limit, is_held=True)


def _settled(
    context: ContainerContext,
    now: Sized,
    request: int,
    estimate: Estimate,
    clamps: tuple[Clamp, ...],
    explanation: Explanation,
) -> Sized:
    if _is_near(context, now, request, estimate, clamps):
        explanation.step(
            "keep", "the CPU request is kept", "within its bounds, and less than a tenth from what was found"
        )
        request = now.request or request
    elif context.evidence.is_partial:
        request = max(requested(context.effective, "cpu") or request, request)
    limited = size_as_demanded(context, now, request, clamps, explanation)
    if limited is not None:
        return limited
    default = default_below(context, request)
    if default is not None:
        return _with_limit(context, now, request, default, explanation)
    if now.limit is None:
        return Sized(request, None)
    if context.wants_cpu_limit:
        explanation.step(
            "quota", "the CPU limit stays", f"{context.wants_cpu_limit} refuses pods without one"
        )
        return Sized(request, max(now.limit, request))
    explanation.find("cpu-limit", "info", "limits.cpu", limit=words.cpu(now.limit))
    return Sized(request, None)


def default_below(context: ContainerContext, request: int) -> LimitRange | None:
    """The LimitRange that would give it a CPU limit below a request, if it had none: the API server refuses that."""
    giving = [(limit, each) for each in context.ranges if (limit := default_cpu_limit(each)) is not None]
    limit, least = min(giving, key=lambda pair: pair[0], default=(request, None))
    return least if limit < request else None


def _with_limit(
    context: ContainerContext, now: Sized, request: int, by: LimitRange, explanation: Explanation
) -> Sized:
    """
    A limit of its own, so that it does not get one below its request.

    It is the one it has, the most it used or the request, whichever is most, so that it is slowed down least. Where the
    request itself is above what is allowed, no limit helps, and it is left as it is.
    """
    who, default = name_of(by), words.cpu(default_cpu_limit(by))
    most = min(
        (each.most.cpu_millicores for each in context.ranges if each.most.cpu_millicores is not None),
        default=None,
    )
    desired = max(request, now.limit or request, context.evidence.cpu_peak)
    limit = desired if most is None else min(desired, most)
    fits = limit >= request
    if fits:
        explanation.step(
            "range",
            f"a CPU limit of {words.cpu(limit)}",
            f"{who} gives {default} for containers without a CPU limit, below the request {words.cpu(request)}: without one its"
            " pods are refused",
        )
    explanation.find(
        "limit-range-gives-cpu-limit",
        "warning" if fits and limit == now.limit else "error",
        "limits.cpu",
        limit=words.cpu(now.limit),
        range=who,
        default=default,
        request=words.cpu(request),
        set_to=words.cpu(limit) if fits else None,
        needed=None if fits else words.cpu(request),
    )
    return Sized(request, limit if fits else now.limit)


def _is_near(
    context: ContainerContext, now: Sized, request: int, estimate: Estimate, clamps: tuple[Clamp, ...]
) -> bool:
    if now.request is None or not all(clamp.admits(now.request) for clamp in clamps):
        return False
    lower, upper = estimate.lower_bound.cpu_millicores, estimate.upper_bound.cpu_millicores
    if context.strategy != "krr" and not lower <= now.request <= upper:
        return False
    return is_near(now.request, request)


def _explain_clamped(
    request: int, estimate: Estimate, clamps: tuple[Clamp, ...], explanation: Explanation
) -> None:
    bound = tightest(clamps)
    target = words.cpu(estimate.target.cpu_millicores)
    explanation.find(
        "clamped-below-use",
        "warning",
        "requests.cpu",
        amount=words.cpu(request),
        who=bound.who if bound else "a bound",
        target=target,
        enough=target,
    )
