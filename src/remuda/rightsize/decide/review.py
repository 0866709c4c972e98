"""The whole judgement: every container, then everything that binds them together, then what matters most."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from remuda.model.times import SECOND
from remuda.rightsize.decide import words
from remuda.rightsize.decide.advisors import find_in_advisors
from remuda.rightsize.decide.case import Bounds, Case, Resource, counted, requested
from remuda.rightsize.decide.certainty import is_provisional, tell_certainty
from remuda.rightsize.decide.clamps import as_pods_have, given_by, name_of
from remuda.rightsize.decide.cpu import is_starved, lower_bound, size_cpu, starved_fix
from remuda.rightsize.decide.estimates import adjusted
from remuda.rightsize.decide.evenness import evenness_of
from remuda.rightsize.decide.findings import Telling, rank
from remuda.rightsize.decide.kills import kills_of
from remuda.rightsize.decide.memory import by_rule, size_memory
from remuda.rightsize.decide.missing import (
    find_gone,
    find_unread,
    find_unsized,
    is_empty,
    without_estimate,
    without_evidence,
)
from remuda.rightsize.decide.oddities import tell_oddities
from remuda.rightsize.decide.order import gravest, ordered
from remuda.rightsize.decide.quotas import Rollout, find_in_quotas, merged, rollout_of, wants_cpu_limit
from remuda.rightsize.decide.ranges import find_in_ranges
from remuda.rightsize.decide.sized import Sized
from remuda.rightsize.decide.tiers import Tiered, bounds_of, tier_of
from remuda.rightsize.decide.traces import estimate_of, tell_samples
from remuda.rightsize.decide.verdicts import size_of, verdict_of
from remuda.rightsize.decide.waste import total_of, waste_of
from remuda.rightsize.estimate.estimator import Estimate
from remuda.rightsize.evidence import Evidence
from remuda.rightsize.objects import RightsizePolicySpec
from remuda.rightsize.review import ContainerReview, Evenness, Finding, Review, Risk, Verdict, WorkloadReview
from remuda.rightsize.workloads import (
    Ask,
    Autoscaler,
    Container,
    Kill,
    LimitRange,
    Size,
    Workload,
    WorkloadId,
    World,
)


@dataclass(frozen=True, slots=True)
class Ground:
    """What all containers are judged on."""

    world: World
    evidence: Mapping[tuple[WorkloadId, str], Evidence]
    policy: RightsizePolicySpec
    strategy: str
    history_s: int
    #: workload → the kills and autoscalers of it; namespace → its ranges of containers
    kills: dict[WorkloadId, list[Kill]]
    autoscalers: dict[WorkloadId, list[Autoscaler]]
    ranges: dict[str, tuple[LimitRange, ...]]
    #: namespace → its ranges of pods
    pod_ranges: dict[str, tuple[LimitRange, ...]]


def review(
    world: World,
    evidence: Mapping[tuple[WorkloadId, str], Evidence],
    policy: RightsizePolicySpec,
    *,
    strategy: str,
    usage: str,
    history_s: int,
) -> Review:
    """
    What every workload of a world should ask for.

    Safety: nothing is lowered on partial evidence, or changed without any; no limit is below what was used, unless a
    bound from outside says so, which is an error among the findings. Where use as a whole is in doubt (an `Unknown` whose
    part is `use`), all evidence is partial. A review of what followed a review raises nothing further. Equal inputs in any order give equal reviews.
    """
    if any(each.part == "use" for each in world.unknown):
        evidence = {key: replace(each, is_partial=True) for key, each in evidence.items()}
    ground = _ground(world, evidence, policy, strategy, history_s)
    findings: list[Finding] = [*find_unread(world), *find_unsized(world), *find_gone(world, evidence)]
    reviews: list[WorkloadReview] = []
    rollouts: list[Rollout] = []
    for workload in sorted(world.workloads, key=lambda each: each.id):
        made, found = _workload(ground, workload)
        reviews.append(made)
        findings += found
        rollouts.append(rollout_of(workload, made.containers, ground.ranges.get(workload.id.namespace, ())))
    findings += find_in_quotas(world.quotas, rollouts)
    findings += find_in_ranges(world.limit_ranges, rollouts)
    findings += find_in_advisors(world.advisors, [each.id for each in world.workloads])
    return Review(
        world.at,
        world.source,
        usage,
        strategy,
        history_s,
        ordered(reviews),
        tuple(sorted(_unique(findings), key=rank)),
        total_of((each.waste for each in reviews), policy.prices),
        policy.prices.currency if policy.prices else "",
        is_partial=bool(world.unknown) or any(each.is_partial for each in evidence.values()),
    )


def _ground(
    world: World,
    evidence: Mapping[tuple[WorkloadId, str], Evidence],
    policy: RightsizePolicySpec,
    strategy: str,
    history_s: int,
) -> Ground:
    kills: dict[WorkloadId, list[Kill]] = {}
    for kill in world.kills:
        kills.setdefault(kill.workload, []).append(kill)
    autoscalers: dict[WorkloadId, list[Autoscaler]] = {}
    for scaler in sorted(world.autoscalers, key=lambda each: (each.name, repr(each))):
        autoscalers.setdefault(scaler.target, []).append(scaler)
    ranges: dict[str, tuple[LimitRange, ...]] = {}
    pod_ranges: dict[str, tuple[LimitRange, ...]] = {}
    for each in sorted(world.limit_ranges, key=lambda each: (each.name, repr(each))):
        kept = ranges if each.of == "Container" else pod_ranges
        kept[each.namespace] = (*kept.get(each.namespace, ()), each)
    return Ground(world, evidence, policy, strategy, history_s, kills, autoscalers, ranges, pod_ranges)


def _workload(ground: Ground, workload: Workload) -> tuple[WorkloadReview, list[Finding]]:
    tiered = tier_of(workload, ground.world, ground.policy)
    findings = list(tiered.findings)
    known = {
        container.name: found
        for container in workload.containers
        if (found := ground.evidence.get((workload.id, container.name))) is not None and not is_empty(found)
    }
    if not workload.replicas and known:
        findings.append(
            Finding(
                "scaled-to-zero",
                "info",
                str(workload.id),
                "spec.replicas",
                "0",
                "known: quotas and waste count no pods of it",
                "nothing: its size takes effect when it is scaled up",
            )
        )
    containers = []
    for container in workload.containers:
        made, told = _container(ground, workload, container, tiered, known)
        containers.append(made)
        findings += told
    return (
        WorkloadReview(
            *workload.id,
            workload.replicas,
            tiered.tier,
            tuple(containers),
            gravest([each.risk for each in containers]),
            waste_of(containers, workload.replicas, ground.policy.prices),
            workload.init_containers,
        ),
        findings,
    )


def _container(
    ground: Ground, workload: Workload, container: Container, tiered: Tiered, known: Mapping[str, Evidence]
) -> tuple[ContainerReview, list[Finding]]:
    told = Telling(workload, container)
    tell_oddities(container.size, told)
    evidence = known.get(container.name)
    since = ground.world.at // SECOND - ground.history_s
    kills = kills_of(container, evidence, ground.kills.get(workload.id, ()), since)
    if evidence is None:
        made = without_evidence(workload, container, kills, told, siblings_have=bool(known))
        return made, told.findings
    evidence = adjusted(workload, container, evidence, ground.policy)
    judged = evenness_of(workload, container, evidence, ground.policy)
    told.findings += judged.findings
    tell_samples(workload, evidence, told)
    estimate = estimate_of(evidence, ground.strategy)
    if estimate is None:
        made = without_estimate(container, evidence, judged.evenness, ground.strategy, kills, told)
        return made, told.findings
    ranges, pod_ranges = (
        tuple(as_pods_have(each, workload) for each in some.get(workload.id.namespace, ()))
        for some in (ground.ranges, ground.pod_ranges)
    )
    cpu_bounds, memory_bounds = bounds_of(tiered.tier, ground.policy)
    case = Case(
        workload,
        container,
        evidence,
        ground.policy,
        ground.strategy,
        ground.world.at // SECOND,
        since,
        tiered.tier,
        judged.evenness,
        cpu_bounds,
        memory_bounds,
        ranges,
        kills,
        _scaling(container, ground.autoscalers.get(workload.id, ())),
        wants_cpu_limit(workload.id.namespace, ground.world.quotas),
        pod_ranges,
        merged([given_by(each) for each in ranges]),
    )
    _tell_given(case, told)
    _tell_tier(case, tiered, told)
    return _judged(case, estimate, judged.why, told), told.findings


def _judged(case: Case, estimate: Estimate, why_even: str, told: Telling) -> ContainerReview:
    tell_certainty(case, told)
    cpu = size_cpu(case, estimate, told)
    memory = size_memory(case, estimate, why_even, told)
    recommended = size_of(cpu, memory)
    risk = _risk(case, estimate, memory)
    if is_starved(case, estimate):
        told.find(
            "starved",
            "warning",
            "requests.cpu",
            words.cpu(requested(case.effective, "cpu")),
            f"at least {words.cpu(lower_bound(case, estimate))}, the lower bound",
            starved_fix(case, estimate, cpu),
        )
    evidence = case.evidence
    return ContainerReview(
        case.container.name,
        case.size,
        recommended,
        _verdict(case, recommended, is_held=cpu.is_held or memory.is_held),
        case.evenness,
        risk,
        is_provisional(case),
        case.container.is_sidecar,
        case.container.others,
        other_requests=case.container.other_requests,
        index=case.container.index,
        written=case.container.written,
        vpa_rule=_vpa_rule(evidence.estimate, case.evenness, case.tier),
        krr_rule=_krr_rule(evidence.krr),
        steps=tuple(told.steps),
        rules=told.rules,
        evidence=replace(evidence, floors=()),
        given=case.given,
    )


def _verdict(case: Case, recommended: Size, *, is_held: bool) -> Verdict:
    """By what it has in the end; where that stays, by what is written."""
    made = verdict_of(case.effective, counted(recommended, case.given), is_held=is_held)
    return made if made in {"raise", "lower"} else verdict_of(case.size, recommended, is_held=is_held)


def _tell_given(case: Case, told: Telling) -> None:
    own = counted(case.size, Size())
    if case.effective == own:
        return
    has = case.effective
    who = words.some(dict.fromkeys(name_of(each) for each in case.ranges if given_by(each) != Size()))
    told.step(
        "limits",
        f"in the end CPU request {words.cpu(has.requests.cpu_millicores)}, limit {words.cpu(has.limits.cpu_millicores)};"
        f" memory request {words.memory(has.requests.memory_bytes)}, limit {words.memory(has.limits.memory_bytes)}",
        f"{who} gives what it does not say",
    )


def _risk(case: Case, estimate: Estimate, memory: Sized) -> Risk:
    """
    A leak is called one also when it has been killed. A kill counts until the limit is what it asked for.

    One of which nothing tells what it asked for counts for as long as it is in the history.
    """
    if memory.is_leaking:
        return "leak"
    limit = case.effective.limits.memory_bytes
    if (case.kills and (limit is None or not memory.need)) or (limit is not None and limit < memory.need):
        return "will-oom"
    return "starved" if is_starved(case, estimate) else ""


def _vpa_rule(estimate: Estimate, evenness: Evenness, tier: int | None) -> Size:
    request, limit = by_rule(estimate, evenness, is_guaranteed=tier is not None and tier <= 2)
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


def _tell_tier(case: Case, tiered: Tiered, told: Telling) -> None:
    name = "no tier" if tiered.tier is None else f"tier {tiered.tier}"
    rule = "memory request = limit" if case.is_guaranteed else "memory request = target"
    told.step("tier", f"{name}: {rule}, no CPU limit", tiered.why)
    for resource, bounds, write in (
        ("CPU", case.cpu_bounds, words.cpu),
        ("memory", case.memory_bounds, words.memory),
    ):
        if bounds != Bounds():
            least = "any" if bounds.least is None else write(bounds.least)
            most = "any" if bounds.most is None else write(bounds.most)
            told.step("tier", f"{resource} from {least} to {most}", f"the policy of tier {case.tier}")


def _unique(findings: Iterable[Finding]) -> list[Finding]:
    """Each once: what is about a workload may be found with each of its containers."""
    seen: dict[tuple[str, ...], Finding] = {}
    for each in findings:
        seen.setdefault(
            (each.rule, each.severity, each.object, each.field, each.is_, each.should, each.fix), each
        )
    return list(seen.values())
