"""What is wrong with the tier of a namespace, and with the objects that its tier gives it."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from remuda.model.amount_texts import quantity
from remuda.model.amounts import Amounts
from remuda.model.findings import Finding, Severity
from remuda.model.sentences import some
from remuda.rules.tiers import Membership, TierPolicy
from remuda.tiers.decide.context import Place
from remuda.tiers.decide.defaults import kept, tier_item
from remuda.tiers.decide.desired import LIMITS_NAME, MANAGED_BY, POLICY_LABEL, quota_name
from remuda.tiers.snapshot import LIMIT_RANGES, PRIORITY_CLASSES, QUOTAS, LimitRange, Quota, Snapshot

#: what a LimitRange does with CPU, by what it bounds
_CPU_RULES: Final[dict[str, tuple[str, Severity]]] = {
    "Container": ("cpu-limits-injected", "warning"),
    "Pod": ("cpu-limits-demanded", "error"),
}
#: quotas on these ask every pod to say so much of the resource
_REQUESTS = {"requests.cpu": "cpu", "cpu": "cpu", "requests.memory": "memory", "memory": "memory"}


def of_members(members: Mapping[str, Membership], policies: Iterable[TierPolicy]) -> Iterator[Finding]:
    """What is wrong with how namespaces say their tier."""
    known = {policy.name: policy for policy in policies}
    for name, member in members.items():
        policy = known.get(member.policy)
        terms: dict[str, Any] = {"policy": member.policy, "label": member.label, "value": member.value}
        match member.problem:
            case "two-policies":
                yield _about(name, "two-policies", "error", "metadata.name", policies=member.other)
            case "unknown-tier":
                tiers = list(policy.tiers) if policy else []
                alike = difflib.get_close_matches(member.value, tiers, 1, 0.5)
                terms |= {"alike": "".join(alike), "known": ", ".join(tiers)}
                yield _about(name, "unknown-tier", "error", _label(member.label), **terms)
            case "labels-disagree":
                terms |= {"tier": member.tier, "other": member.other}
                yield _about(name, "labels-disagree", "warning", _label(member.label), **terms)
            case "prefix-disagrees":
                terms |= {"tier": member.tier, "other": member.other}
                yield _about(name, "prefix-disagrees", "warning", _label(member.label), **terms)
            case "" if policy is not None and not member.tier:
                yield _about(name, "no-tier", "info", _label(policy.label), label=policy.label)


def _label(key: str) -> str:
    return f"metadata.labels[{key}]"


def _about(name: str, rule: str, severity: Any, field: str, **terms: Any) -> Finding:
    return Finding(f"tiers.{rule}", severity, f"Namespace {name}", field, terms, name)


def of_objects(place: Place) -> Iterator[Finding]:
    """What a namespace's LimitRanges and quotas are not as its tier says, or do that its tier does not want."""
    snapshot = place.snapshot
    if not snapshot.is_unknown(LIMIT_RANGES):
        if not place.keeps_limits:
            yield from _own_limit_range(place)
        for limits in place.limit_ranges:
            yield from _cpu_limits(place, limits)
    if not snapshot.is_unknown(QUOTAS):
        if not place.keeps_quota:
            yield from _own_quota(place)
        for quota in place.quotas:
            yield from _quota(place, quota)
        if not snapshot.is_unknown(LIMIT_RANGES):
            yield from _without_defaults(place)


def _own_limit_range(place: Place) -> Iterator[Finding]:
    subject = f"LimitRange {place.name}/{LIMITS_NAME}"
    own = next((each for each in place.limit_ranges if each.name == LIMITS_NAME), None)
    if own is None:
        yield place.found(subject, "limit-range-missing", "warning")
        return
    wanted = tier_item(place.tier)
    if not _is_ours(own.labels, place.policy):
        yield place.found(subject, "object-of-another", "warning", "metadata.labels", kind="LimitRange")
    items = [kept(each) for each in own.items]
    found = [each for each in items if each.type == wanted.type]
    differences = [
        *(f"{each.type} is bounded" for each in items if each.type != wanted.type),
        *([] if found else ["nothing about containers"]),
        *(
            words
            for part in ("default", "default_request", "min", "max")
            for each in found
            for words in _differences(_camel(part), getattr(each, part), getattr(wanted, part))
        ),
    ]
    if differences:
        what = some(differences, 5)
        yield place.found(subject, "limit-range-differs", "warning", "spec.limits", differences=what)


def _camel(name: str) -> str:
    return name.replace("_request", "Request")


def _differences(part: str, found: Amounts, wanted: Amounts) -> Iterator[str]:
    for name in sorted(found.keys() | wanted.keys()):
        one, other = found.get(name), wanted.get(name)
        if one != other:
            resource = name.removeprefix("requests.")
            words = [("none" if each is None else quantity(resource, each)) for each in (one, other)]
            yield f"{part}{'.' if part else ''}{name} is {words[0]}, not {words[1]}"


def _is_ours(labels: Mapping[str, str], policy: TierPolicy) -> bool:
    return labels.get(MANAGED_BY[0]) == MANAGED_BY[1] and labels.get(POLICY_LABEL) == policy.name


def _cpu_limits(place: Place, limits: LimitRange) -> Iterator[Finding]:
    """CPU limits that a LimitRange injects into every container, or asks every pod to have."""
    subject = f"LimitRange {place.name}/{limits.name}"
    for n, item in enumerate(limits.items):
        # what the server keeps of a maximum without a default is both
        where = "default" if item.default.get("cpu", item.max.get("cpu")) != item.max.get("cpu") else "max"
        cpu = kept(item).default.get("cpu") if item.type == "Container" else item.max.get("cpu")
        if cpu is None or item.type not in _CPU_RULES:
            continue
        rule, severity = _CPU_RULES[item.type]
        field = f"spec.limits[{n}].{where}.cpu"
        yield place.found(subject, rule, severity, field, cpu=quantity("cpu", cpu))


def _own_quota(place: Place) -> Iterator[Finding]:
    name = quota_name(place.name)
    subject = f"ResourceQuota {place.name}/{name}"
    own = next((each for each in place.quotas if each.name == name), None)
    if own is None:
        yield place.found(subject, "quota-missing", "warning")
        return
    if not _is_ours(own.labels, place.policy):
        yield place.found(subject, "object-of-another", "warning", "metadata.labels", kind="ResourceQuota")
    differences = list(_differences("", own.hard, place.tier.quota))
    differences += [f"it counts some pods alone: {scope}" for scope in own.scopes]
    if differences:
        what = some(differences, 5)
        yield place.found(subject, "quota-differs", "warning", "spec.hard", differences=what)


def _quota(place: Place, quota: Quota) -> Iterator[Finding]:
    subject = f"ResourceQuota {place.name}/{quota.name}"
    if "limits.cpu" in quota.hard:
        yield place.found(subject, "quota-on-cpu-limits", "error", "spec.hard[limits.cpu]")
    if quota.hard and not quota.enforced:
        yield place.found(subject, "quota-not-counted", "info", "status")
    for name, most in sorted(quota.enforced.items()):
        used = quota.used.get(name, 0)
        if used > most:
            resource = name.removeprefix("requests.").removeprefix("limits.")
            terms = {"resource": name, "used": quantity(resource, used), "hard": quantity(resource, most)}
            terms["percent"] = f"{100 * used / most:.0f}" if most else ""
            yield place.found(subject, "quota-exceeded", "error", f"status.used[{name}]", **terms)


def _without_defaults(place: Place) -> Iterator[Finding]:
    """A quota on requests where nothing gives requests to pods that have none: the server refuses these."""
    if not place.keeps_limits:
        return
    given = {
        name for item in map(kept, place.items) if item.type == "Container" for name in item.default_request
    }
    asked = {
        _REQUESTS[name]: quota.name for quota in place.quotas if not quota.scopes for name in quota.hard if name in _REQUESTS
    }  # fmt: skip
    missing = sorted(asked.keys() - given)
    if not missing:
        return
    bare = [
        str(workload.id)
        for workload in place.workloads
        if any(
            name not in each.asks
            for each in workload.spec.containers.all
            for name in missing
            if workload.spec.containers.pod is None or name not in workload.spec.containers.pod.asks
        )
    ]
    yield place.about(
        "quota-without-defaults",
        "error" if bare else "warning",
        _label(place.policy.limits_opt_out),
        resources=" and ".join(missing),
        quota=", ".join(sorted(set(asked.values()))),
        workloads=some(bare, 5),
    )


def of_classes(
    places: Iterable[Place], policies: Sequence[TierPolicy], snapshot: Snapshot
) -> Iterator[Finding]:
    """What is wrong with the PriorityClasses of tiers."""
    if snapshot.is_unknown(PRIORITY_CLASSES):
        return
    known = {each.name: each for each in snapshot.priority_classes}
    homes: dict[str, list[str]] = {}
    for place in places:
        homes.setdefault(place.tier.priority_class, []).append(place.name)
    # policies that have a tier of one name share its class, and agree about it
    tiers = {tier.priority_class: tier for policy in reversed(policies) for tier in policy.tiers.values()}
    for name, tier in sorted(tiers.items()):
        owners = [policy for policy in policies if tier.name in policy.tiers]
        subject, used = f"PriorityClass {name}", homes.get(name, [])
        terms: dict[str, Any] = {"tier": tier.name}
        found = known.get(name)
        if found is None:
            terms["namespaces"] = some(used)
            yield Finding("tiers.priority-class-missing", "error" if used else "info", subject, "", terms)
            continue
        if not any(_is_ours(found.labels, policy) for policy in owners):
            terms["kind"] = "PriorityClass"
            yield Finding("tiers.object-of-another", "warning", subject, "metadata.labels", terms)
        preemption = "PreemptLowerPriority" if tier.preempts else "Never"
        if (found.value, found.preemption_policy) != (tier.priority, preemption):
            terms["found"] = f"{found.value}, {found.preemption_policy}"
            terms["wanted"] = f"{tier.priority}, {preemption}"
            yield Finding("tiers.priority-class-differs", "warning", subject, "value", terms)
