"""The whole judgement: every container, then everything that binds them together, then what matters most."""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from remuda.model.findings import Finding
from remuda.model.times import SECOND
from remuda.model.workloads import WorkloadId
from remuda.rightsize.decide import words
from remuda.rightsize.decide.advisors import find_in_advisors
from remuda.rightsize.decide.certainty import explain_certainty, is_provisional
from remuda.rightsize.decide.clamps import as_pods_have, defaults_of, name_of
from remuda.rightsize.decide.context import (
    Bounds,
    ContainerContext,
    Resource,
    SizingTier,
    counted,
    requests_limit,
)
from remuda.rightsize.decide.cpu import explain_starved, is_starved, size_cpu
from remuda.rightsize.decide.estimates import adjusted
from remuda.rightsize.decide.findings import Explanation, finding, ordered_findings
from remuda.rightsize.decide.kills import kills_of
from remuda.rightsize.decide.memory import by_rule, size_memory
from remuda.rightsize.decide.missing import (
    find_gone,
    find_operated,
    find_unread,
    find_unsized,
    is_empty,
    without_estimate,
    without_evidence,
)
from remuda.rightsize.decide.odd_sizes import explain_odd_sizes
from remuda.rightsize.decide.order import gravest, ordered
from remuda.rightsize.decide.quotas import Rollout, find_in_quotas, merged, rollout_of, wants_cpu_limit
from remuda.rightsize.decide.ranges import find_in_ranges
from remuda.rightsize.decide.sized import Sized
from remuda.rightsize.decide.tiers import NO_POLICY, SizingTiers, Tiered, tier_of
from remuda.rightsize.decide.traces import estimate_of, explain_samples
from remuda.rightsize.decide.usage_class import usage_class_of
from remuda.rightsize.decide.verdicts import directions_of, size_of, verdict_of
from remuda.rightsize.decide.waste import total_of, waste_of
from remuda.rightsize.estimate.estimator import Estimate
from remuda.rightsize.evidence import Evidence
from remuda.rightsize.objects import RightsizePolicySpec
from remuda.rightsize.review import (
    ContainerReview,
    Review,
    Risk,
    UsageClass,
    Verdict,
    WorkloadReview,
)
from remuda.rightsize.snapshot import Ask, Autoscaler, Container, Kill, LimitRange, Size, Snapshot, Workload


class Inputs(Struct, frozen=True):
    """What all containers are judged on."""

    snapshot: Snapshot
    evidence: Mapping[tuple[WorkloadId, str], Evidence]
    policy: RightsizePolicySpec
    tiers: SizingTiers
    strategy: str
    history_s: int
    #: workload → the kills and autoscalers of it; namespace → its ranges of containers
    kills: dict[WorkloadId, list[Kill]]
    autoscalers: dict[WorkloadId, list[Autoscaler]]
    ranges: dict[str, tuple[LimitRange, ...]]
    #: namespace → its ranges of pods
    pod_ranges: dict[str, tuple[LimitRange, ...]]


def review(
    snapshot: Snapshot,
    evidence: Mapping[tuple[WorkloadId, str], Evidence],
    policy: RightsizePolicySpec,
    *,
    strategy: str,
    usage: str,
    history_s: int,
    tiers: SizingTiers = NO_POLICY,
) -> tuple[Review, tuple[Finding, ...]]:
    """
    What every workload of a world should ask for, and what was found: these findings are not in the review yet.

    Safety: nothing is lowered on partial evidence, or changed without any; no limit is below what was used, unless a
    bound from outside says so, which is an error among the findings. Where use as a whole is in doubt (an `Unknown` whose
    part is `use`), all evidence is partial. A review of what followed a review raises nothing further. Equal inputs in any order give equal reviews.
    """
    if any(each.part == "use" for each in snapshot.unknown):
        evidence = {key: replace(each, is_partial=True) for key, each in evidence.items()}
    inputs = _inputs_of(snapshot, evidence, policy, tiers, strategy, history_s)
    findings: list[Finding] = [
        *find_unread(snapshot),
        *find_unsized(snapshot),
        *find_operated(snapshot),
        *find_gone(snapshot, evidence),
    ]
    reviews: list[WorkloadReview] = []
    rollouts: list[Rollout] = []
    for workload in sorted(snapshot.workloads, key=lambda each: each.id):
        one, found = _workload(inputs, workload)
        reviews.append(one)
        findings += found
        rollouts.append(rollout_of(workload, one.containers, inputs.ranges.get(workload.id.namespace, ())))
    findings += find_in_quotas(snapshot.quotas, rollouts)
    findings += find_in_ranges(snapshot.limit_ranges, rollouts)
    findings += find_in_advisors(snapshot.advisors, [each.id for each in snapshot.workloads])
    made = Review(
        snapshot.at,
        snapshot.source,
        usage,
        strategy,
        history_s,
        ordered(reviews),
        waste=total_of((each.waste for each in reviews), policy.prices),
        currency=policy.prices.currency if policy.prices else "",
        is_partial=bool(snapshot.unknown) or any(each.is_partial for each in evidence.values()),
    )
    return made, ordered_findings(findings)


def _inputs_of(
    snapshot: Snapshot,
    evidence: Mapping[tuple[WorkloadId, str], Evidence],
    policy: RightsizePolicySpec,
    tiers: SizingTiers,
    strategy: str,
    history_s: int,
) -> Inputs:
    kills: dict[WorkloadId, list[Kill]] = {}
    for kill in snapshot.kills:
        kills.setdefault(kill.workload, []).append(kill)
    autoscalers: dict[WorkloadId, list[Autoscaler]] = {}
    for scaler in sorted(snapshot.autoscalers, key=lambda each: (each.name, repr(each))):
        autoscalers.setdefault(scaler.target, []).append(scaler)
    ranges: dict[str, tuple[LimitRange, ...]] = {}
    pod_ranges: dict[str, tuple[LimitRange, ...]] = {}
    for each in sorted(snapshot.limit_ranges, key=lambda each: (each.name, repr(each))):
        kept = ranges if each.of == "Container" else pod_ranges
        kept[each.namespace] = (*kept.get(each.namespace, ()), each)
    return Inputs(
        snapshot, evidence, policy, tiers, strategy, history_s, kills, autoscalers, ranges, pod_ranges
    )


def _workload(inputs: Inputs, workload: Workload) -> tuple[WorkloadReview, list[Finding]]:
    tiered = tier_of(workload, inputs.snapshot, inputs.policy, inputs.tiers)
    tier = tiered.tier
    findings = list(tiered.findings)
    known = {
        container.name: found
        for container in workload.containers
        if (found := inputs.evidence.get((workload.id, container.name))) is not None and not is_empty(found)
    }
    if not workload.replicas and known:
        findings.append(finding("scaled-to-zero", "info", workload.id, "spec.replicas"))
    containers = []
    for container in workload.containers:
        made, explanation = _container(inputs, workload, container, tiered, known)
        containers.append(made)
        findings += explanation
    return (
        WorkloadReview(
            *workload.id,
            workload.replicas,
            None if tier is None else tier.number,
            tuple(containers),
            gravest([each.risk for each in containers]),
            waste_of(containers, workload.replicas, inputs.policy.prices, workload.initial),
            workload.init_containers,
            tier.name if tier is not None and tier.is_named else "",
        ),
        findings,
    )


def _container(
    inputs: Inputs, workload: Workload, container: Container, tiered: Tiered, known: Mapping[str, Evidence]
) -> tuple[ContainerReview, list[Finding]]:
    explanation = Explanation(workload, container)
    explain_odd_sizes(container.size, explanation)
    evidence = known.get(container.name)
    since = inputs.snapshot.at // SECOND - inputs.history_s
    kills = kills_of(container, evidence, inputs.kills.get(workload.id, ()), since)
    if evidence is None:
        made = without_evidence(workload, container, kills, explanation, siblings_have=bool(known))
        return made, explanation.findings
    evidence = adjusted(workload, container, evidence, inputs.policy)
    judged = usage_class_of(workload, container, evidence, inputs.policy, inputs.tiers.gpus)
    explanation.findings += judged.findings
    explain_samples(workload, evidence, explanation)
    estimate = estimate_of(evidence, inputs.strategy)
    if estimate is None:
        made = without_estimate(container, evidence, judged.usage_class, inputs.strategy, kills, explanation)
        return made, explanation.findings
    ranges, pod_ranges = (
        tuple(as_pods_have(each, workload) for each in some.get(workload.id.namespace, ()))
        for some in (inputs.ranges, inputs.pod_ranges)
    )
    context = ContainerContext(
        workload,
        container,
        evidence,
        inputs.policy,
        inputs.strategy,
        inputs.snapshot.at // SECOND,
        since,
        tiered.tier,
        judged.usage_class,
        ranges,
        kills,
        _scaling(container, inputs.autoscalers.get(workload.id, ())),
        wants_cpu_limit(workload.id.namespace, inputs.snapshot.quotas),
        pod_ranges,
        merged([defaults_of(each) for each in ranges]),
    )
    _explain_defaults(context, explanation)
    _explain_tier(context, tiered, explanation)
    return _judged(context, estimate, judged.why, explanation), explanation.findings


def _judged(
    context: ContainerContext, estimate: Estimate, why_class: str, explanation: Explanation
) -> ContainerReview:
    explain_certainty(context, explanation)
    cpu = size_cpu(context, estimate, explanation)
    memory = size_memory(context, estimate, why_class, explanation)
    recommended = size_of(cpu, memory)
    risk = _risk(context, estimate, memory)
    if is_starved(context, estimate):
        explain_starved(context, estimate, cpu, explanation)
    evidence = context.evidence
    return ContainerReview(
        context.container.name,
        context.size,
        recommended,
        _verdict(context, recommended, is_held=cpu.is_held or memory.is_held),
        context.usage_class,
        risk,
        is_provisional(context),
        context.container.is_sidecar,
        context.container.others,
        other_requests=context.container.other_requests,
        index=context.container.index,
        written=context.container.written,
        vpa_rule=_vpa_rule(evidence.estimate, context.usage_class, context.tier),
        krr_rule=_krr_rule(evidence.krr),
        steps=tuple(explanation.steps),
        rules=explanation.rules,
        evidence=replace(evidence, floors=()),
        defaults=context.defaults,
        directions=directions_of(context.size, recommended),
    )


def _verdict(context: ContainerContext, recommended: Size, *, is_held: bool) -> Verdict:
    """By what it has in the end; where that stays, by what is written."""
    made = verdict_of(context.effective, counted(recommended, context.defaults), is_held=is_held)
    return made if made in {"raise", "lower"} else verdict_of(context.size, recommended, is_held=is_held)


def _explain_defaults(context: ContainerContext, explanation: Explanation) -> None:
    own = counted(context.size, Size())
    if context.effective == own:
        return
    has = context.effective
    who = words.some(dict.fromkeys(name_of(each) for each in context.ranges if defaults_of(each) != Size()))
    explanation.step(
        "limits",
        f"in the end CPU request {words.cpu(has.requests.cpu_millicores)}, limit {words.cpu(has.limits.cpu_millicores)};"
        f" memory request {words.memory(has.requests.memory_bytes)}, limit {words.memory(has.limits.memory_bytes)}",
        f"{who} gives what it does not say",
    )


def _risk(context: ContainerContext, estimate: Estimate, memory: Sized) -> Risk:
    """
    A leak is called one also when it has been killed. A kill counts until the limit is what it asked for.

    One of which nothing tells what it asked for counts for as long as it is in the history.
    """
    if memory.is_leaking:
        return "leak"
    limit = context.effective.limits.memory_bytes
    if (context.kills and (limit is None or not memory.need)) or (limit is not None and limit < memory.need):
        return "will-oom"
    return "starved" if is_starved(context, estimate) else ""


def _vpa_rule(estimate: Estimate, usage_class: UsageClass, tier: SizingTier | None) -> Size:
    request, limit = by_rule(estimate, usage_class, is_guaranteed=requests_limit(tier))
    return Size(Ask(estimate.target.cpu_millicores, request), Ask(None, limit))


def _krr_rule(estimate: Estimate | None) -> Size | None:
    if estimate is None:
        return None
    amounts = estimate.target
    return Size(Ask(amounts.cpu_millicores, amounts.memory_bytes), Ask(None, amounts.memory_bytes))


def _scaling(container: Container, scalers: Iterable[Autoscaler]) -> dict[Resource, Autoscaler]:
    found: dict[Resource, Autoscaler] = {}
    for each in scalers:
        if each.container in {"", container.name}:
            found.setdefault(each.resource, each)
    return found


def _explain_tier(context: ContainerContext, tiered: Tiered, explanation: Explanation) -> None:
    tier = tiered.tier
    name = "no tier" if tier is None else f"tier {tier.name}"
    rule = "memory request = limit" if context.is_guaranteed else "memory request = target"
    explanation.step("tier", f"{name}: {rule}, no CPU limit", tiered.why)
    if tier is None:
        return
    for resource, bounds, write in (("CPU", tier.cpu, words.cpu), ("memory", tier.memory, words.memory)):
        if bounds != Bounds():
            least = "any" if bounds.least is None else write(bounds.least)
            most = "any" if bounds.most is None else write(bounds.most)
            explanation.step("tier", f"{resource} from {least} to {most}", tier.who)
