"""
Kyverno's ClusterPolicies that give what a policy says: generated limits and quotas, changes and rules for pods.

Rules for pods are the very expressions that a ValidatingAdmissionPolicy has. Which namespace has which tier is said by label
selectors and names in everything else, since Kyverno's own language knows no more; patterns with brackets are none of its.
Pods are changed when they are made and never later: a change of a running pod is asked again when it is deleted.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from remuda.model.amount_texts import quantity
from remuda.rules.cel import Condition
from remuda.rules.tiers import Sidecar, Tier, TierPolicy
from remuda.tiers.decide import cel
from remuda.tiers.decide.admission import cluster_objects
from remuda.tiers.decide.desired import (
    LIMITS_NAME,
    limit_range,
    metadata,
    quota_name,
    resource_quota,
)
from remuda.tiers.rendering import Rendered, classes
from remuda.tiers.rendering.kyverno_matches import (
    CREATE,
    NAME,
    is_,
    labels_of,
    match_namespaces,
    match_pods,
    with_any_tier,
    with_conditions,
    with_tier,
    without,
)

_GIVEN = "request.object.metadata.annotations.\"kubernetes.io/limit-ranger\" || ''"
#: a rule for pods is not to be copied for Deployments, whose templates belong to their authors
_AUTOGEN = {"pod-policies.kyverno.io/autogen-controllers": "none"}


def render(policies: Iterable[TierPolicy]) -> Rendered:
    """PriorityClasses, and the ClusterPolicies of each policy."""
    all_ = tuple(policies)
    made = list(chain.from_iterable(_policies(policy, all_) for policy in all_))
    notes = [
        "Kyverno gives no order: until the LimitRange of a new namespace is there, its quota refuses pods without requests.",
        "Kyverno's background controller needs the verbs of limitranges and resourcequotas, which its chart gives it.",
    ]
    if any("[" in pattern for each in all_ for pattern in _patterns(each)):
        notes.append("Kyverno knows * and ? in names, and takes brackets for themselves.")
    if len(all_) > 1:
        notes.append(
            "A namespace that two policies claim is left alone by rules for pods, and gets what both generate."
        )
    return Rendered((*classes(all_), *made), tuple(notes))


def _patterns(policy: TierPolicy) -> Iterator[str]:
    yield from (*policy.namespaces, *policy.excluded)
    yield from chain.from_iterable(each.names for each in policy.sidecars)
    yield from chain.from_iterable((each.namespace, each.name) for each in policy.guaranteed)


def _policies(policy: TierPolicy, all_: tuple[TierPolicy, ...]) -> Iterator[dict[str, Any]]:
    tiers = policy.tiers.values()
    limits = ((each, limit_range(policy, each, NAME)) for each in tiers)
    yield _policy(policy, "-limits", _generated(policy, limits, LIMITS_NAME, policy.limits_opt_out))
    quotas = ((each, resource_quota(policy, each, NAME)) for each in tiers)
    yield _policy(policy, "-quota", _generated(policy, quotas, quota_name(NAME), policy.quota_opt_out))
    left_out = (cel.no_mirror(), cel.no_runner())
    yield _policy(policy, "-priority", _priorities(policy), left_out)
    if rules := [*_sidecars(policy), *_raised(policy)]:
        yield _policy(policy, "-sizes", rules, (cel.no_mirror(),))
    if policy.cpu_limits == "strip":
        yield _policy(policy, "-cpu-limits", [*_stripped(policy)], (*left_out, cel.no_own_class("")))
    yield from _validating(policy, all_)


def _policy(
    policy: TierPolicy,
    suffix: str,
    rules: Iterable[Mapping[str, Any]],
    conditions: Iterable[Condition] = (),
    **words: Any,
) -> dict[str, Any]:
    hook: dict[str, Any] = {"failurePolicy": "Ignore"}
    if written := [each.written() for each in conditions]:
        hook["matchConditions"] = written
        # new pods are meant, and none that are there
        words["background"] = False
    meta = metadata(policy, f"remuda-tiers-{policy.name}{suffix}")
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {**meta, "annotations": _AUTOGEN},
        "spec": {"webhookConfiguration": hook, **words, "rules": list(rules)},
    }


def _generated(
    policy: TierPolicy, objects: Iterable[tuple[Tier, Mapping[str, Any]]], name: str, opt_out: str
) -> Iterator[dict[str, Any]]:
    for tier, manifest in objects:
        for asked in with_tier(policy, tier.name):
            yield {
                "name": asked.name,
                **match_namespaces(policy, asked, opt_out),
                "generate": {
                    "apiVersion": manifest["apiVersion"],
                    "kind": manifest["kind"],
                    "name": name,
                    "namespace": NAME,
                    "synchronize": True,
                    "generateExisting": True,
                    "data": {
                        "metadata": {"labels": manifest["metadata"]["labels"]},
                        "spec": manifest["spec"],
                    },
                },
            }


_NO_CLASS = is_("{{ request.object.spec.priorityClassName || '' }}", "Equals", "")


def _priorities(policy: TierPolicy) -> Iterator[dict[str, Any]]:
    """What a workload's own label says comes first, and what comes later finds a class."""
    labels = labels_of(policy)
    tiers = policy.tiers.values()
    for tier in tiers:
        selectors = []
        for at, label in enumerate(labels):
            unknown = [
                {"key": each, "operator": "NotIn", "values": list(policy.tiers)} for each in labels[:at]
            ]
            here = {"key": label, "operator": "In", "values": [tier.name]}
            selectors.append({"selector": {"matchExpressions": [*unknown, here]}})
        own = match_pods(policy, with_any_tier(policy), selectors)
        yield _priority(f"own-{tier.name}", own, tier)
    for tier in tiers:
        for asked in with_tier(policy, tier.name):
            yield _priority(asked.name, match_pods(policy, asked), tier)


def _priority(name: str, matched: dict[str, Any], tier: Tier) -> dict[str, Any]:
    patch = {"patchesJson6902": _priority_patch(tier)}
    return {"name": name, **with_conditions(matched, _NO_CLASS), "mutate": patch}


def _priority_patch(tier: Tier) -> str:
    # the server filled these in for no class, and would forbid the pod; Kyverno removes what is not there, too
    return (
        f"- op: add\n  path: /spec/priorityClassName\n  value: {tier.priority_class}\n"
        "- op: remove\n  path: /spec/priority\n"
        "- op: remove\n  path: /spec/preemptionPolicy\n"
    )


def _is_default(what: str, kind: str) -> dict[str, Any]:
    """Whether LimitRanger gave a container what is meant, by its annotation: `cpu, memory request for container a; …`."""
    text = f"join('', ['{what} for {kind} ', element.name, '(;|$)'])"
    return is_(f"{{{{ regexmatch_namespaces({text}, {_GIVEN}) }}}}", "Equals", True)


def _each(place: str, conditions: Iterable[Mapping[str, Any]], patch: str) -> dict[str, Any]:
    return {
        "list": f"request.object.spec.{place}[]",
        "preconditions": {"all": list(conditions)},
        "patchesJson6902": patch,
    }


def _add(place: str, field: str, value: str) -> str:
    return f'- op: add\n  path: /spec/{place}/{{{{elementIndex}}}}/resources/{field}\n  value: "{value}"\n'


def _remove(place: str, field: str) -> str:
    return f"- op: remove\n  path: /spec/{place}/{{{{elementIndex}}}}/resources/{field}\n"


def _sidecars(policy: TierPolicy) -> Iterator[dict[str, Any]]:
    """Sidecars that are on defaults get their own sizes; who asks for more memory than that keeps it as limit."""
    everywhere = match_pods(policy, with_any_tier(policy), opt_out=policy.limits_opt_out)
    matched = without(everywhere, _runners())
    earlier: list[str] = []
    for at, each in enumerate(policy.sidecars):
        named = [is_("{{ element.name }}", "AnyIn", list(each.names))]
        if earlier:
            named.append(is_("{{ element.name }}", "AllNotIn", list(earlier)))
        yield {"name": f"sidecars.{at}", **matched, "mutate": {"foreach": [*_sized(each, named)]}}
        earlier += each.names


def _runners() -> Iterator[dict[str, Any]]:
    for label in cel.RUNNER_LABELS:
        yield {"kinds": ["Pod"], "selector": {"matchExpressions": [{"key": label, "operator": "Exists"}]}}


def _sized(each: Sidecar, named: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    memory, limit = quantity("memory", each.memory), quantity("memory", each.memory_limit)
    asked = "{{ element.resources.requests.memory || '0' }}"
    for place, kind in cel.LISTS.items():
        defaulted, requested = _is_default("memory limit", kind), _is_default("memory request", kind)
        stated = {**requested, "value": False}
        yield _each(place, [*named, defaulted, requested], _add(place, "limits/memory", limit))
        yield _each(
            place,
            [*named, defaulted, stated, is_(asked, "LessThanOrEquals", limit)],
            _add(place, "limits/memory", limit),
        )
        yield _each(
            place,
            [*named, defaulted, stated, is_(asked, "GreaterThan", limit)],
            _add(place, "limits/memory", asked),
        )
        yield _each(place, [*named, requested], _add(place, "requests/memory", memory))
        cpu = _add(place, "requests/cpu", quantity("cpu", each.cpu))
        yield _each(place, [*named, _is_default("cpu(, memory)? request", kind)], cpu)


def _raised(policy: TierPolicy) -> Iterator[dict[str, Any]]:
    """A default limit below a request gives way, which the server would refuse."""
    asked, most = (f"{{{{ element.resources.{what}.memory || '0' }}}}" for what in ("requests", "limits"))
    each = [
        _each(
            place,
            [_is_default("memory limit", kind), is_(asked, "GreaterThan", most)],
            _add(place, "limits/memory", asked),
        )
        for place, kind in cel.LISTS.items()
    ]
    for tier in policy.tiers.values():
        for where in () if tier.burst else with_tier(policy, tier.name):
            yield {
                "name": where.name,
                **match_pods(policy, where, opt_out=policy.limits_opt_out),
                "mutate": {"foreach": each},
            }


def _stripped(policy: TierPolicy) -> Iterator[dict[str, Any]]:
    """No CPU limits, but for workloads that are to be Guaranteed: of these only names are known here, as pods' names begin."""
    meant = (
        {"kinds": ["Pod"], "namespaces": [each.namespace], "names": [each.name, f"{each.name}-*"]}
        for each in policy.guaranteed
    )
    matched = without(match_pods(policy, with_any_tier(policy)), meant)
    limit = is_("{{ element.resources.limits.cpu || '' }}", "NotEquals", "")
    each = [
        _each(
            place,
            [limit, {**_is_default("cpu(, memory)? limit", kind), "value": False}],
            _remove(place, "limits/cpu"),
        )
        for place, kind in cel.LISTS.items()
    ]
    yield {"name": "containers", **matched, "mutate": {"foreach": each}}
    whole = is_("{{ request.object.spec.resources.limits.cpu || '' }}", "NotEquals", "")
    patch = "- op: remove\n  path: /spec/resources/limits/cpu\n"
    yield {"name": "pod", **with_conditions(matched, whole), "mutate": {"patchesJson6902": patch}}


def _validating(policy: TierPolicy, all_: tuple[TierPolicy, ...]) -> Iterator[dict[str, Any]]:
    """The rules of the ValidatingAdmissionPolicies, one by one."""
    for each in cluster_objects(policy, mutating=None, others=all_):
        if each["kind"] != "ValidatingAdmissionPolicy":
            continue
        spec = each["spec"]
        suffix = each["metadata"]["name"].removeprefix(f"remuda-tiers-{policy.name}")
        is_warning = suffix == "-warn"
        rule = {
            "name": "pods",
            "match": {"any": [{"resources": {"kinds": ["Pod"], "operations": CREATE}}]},
            "celPreconditions": spec["matchConditions"],
            "validate": {
                "failureAction": "Audit" if is_warning else "Enforce",
                "cel": {"variables": spec["variables"], "expressions": spec["validations"]},
            },
        }
        yield _policy(policy, suffix, [rule], emitWarning=is_warning, background=False)
