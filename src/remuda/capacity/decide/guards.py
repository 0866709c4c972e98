"""
Guard rails from a policy alone, so that they can live in Git: a quota of pods, and rules for scale sets.

A quota counts pods only and never what they request: GitHub's controller waits when a quota is exceeded, and gives a
runner up for good on any other refusal. For the same reason no rule is ever about runner pods.
"""

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from msgspec import Struct, UnsetType

from remuda.capacity.decide.cel import conditions, rules, unjudged_pattern, variables
from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.policy import read_end
from remuda.model.times import Instant
from remuda.objects.scalars import ObjectName
from remuda.rules.ceilings import Member, share

Action: TypeAlias = Literal["Deny", "Warn", "Audit"]
POLICY_LABEL = "remuda.dev/capacity-policy"
NOTES = "remuda.dev/not-caught"


class Rendered(Struct, frozen=True):
    """Objects to apply in this order, what a reader should know, and what the objects do not catch."""

    objects: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    not_caught: tuple[str, ...]


def quota_problems(name: str, policy: CapacityPolicySpec, namespace: str | None) -> Iterator[str]:
    """Why no quota can be made of a policy: it must know in which namespaces runners are."""
    if priority_class_of(name, policy).startswith("system-"):
        words = "is the cluster's own, as all that begin with system-: set another"
        yield f"spec.priorityClass: {priority_class_of(name, policy)} {words}"
    if not policy.sets and namespace is None:
        yield "spec.sets: names no set, so that no namespace is known: list sets as namespace/name, or give --namespace"
    for index, item in enumerate(policy.sets):
        where, slash, set_name = item.name.rpartition("/")
        if not slash and namespace is None:
            words = f"{item.name} names no namespace: write namespace/{item.name}, or give --namespace"
            yield f"spec.sets[{index}].name: {words}"
        if slash:
            try:
                ObjectName.parse(where)
            except ValueError as error:
                yield f"spec.sets[{index}].name: {item.name}: the namespace {error}"
        if not set_name:
            yield f"spec.sets[{index}].name: {item.name} names no set"


def shares_of(policy: CapacityPolicySpec, namespace: str | None) -> dict[str, int]:
    """
    How many runners each namespace may have: what its sets may have together, and in all never more than the ceiling.

    Where maxima come to more, namespaces share the ceiling by them, after what owners in one namespace are guaranteed.
    """
    wants: dict[str, int] = {}
    of_set: dict[str, str] = {}
    for item in policy.sets:
        where = item.name.rpartition("/")[0] or namespace or ""
        of_set[item.name] = of_set[item.name.rpartition("/")[2]] = where
        wants[where] = wants.get(where, 0) + item.max
    if not wants and namespace is not None:
        wants[namespace] = policy.ceiling
    guaranteed = dict.fromkeys(wants, 0)
    for owner in policy.owners:
        places = {of_set.get(scale_set, scale_set.rpartition("/")[0]) for scale_set in owner.lanes}
        if len(places) == 1 and (place := places.pop()) in guaranteed:
            guaranteed[place] += owner.guaranteed
    names = sorted(wants)
    members = [
        Member(name, wants[name], guaranteed=guaranteed[name], weight=max(1, wants[name])) for name in names
    ]
    return dict(zip(names, share(policy.ceiling, members), strict=True))


def priority_class_of(name: str, policy: CapacityPolicySpec) -> str:
    """The PriorityClass by which runners of a policy are counted."""
    return name if isinstance(policy.priority_class, UnsetType) else str(policy.priority_class)


def quota(name: str, policy: CapacityPolicySpec, namespace: str | None = None) -> Rendered:
    """A PriorityClass, and a ResourceQuota in each namespace that counts pods of that class. See `quota_problems` first."""
    counted = priority_class_of(name, policy)
    shares = shares_of(policy, namespace)
    not_caught = tuple(_uncounted(policy, counted, shares))
    annotations = {NOTES: "\n".join(not_caught)}
    described = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": _metadata(counted, name),
        "value": 0,
        "globalDefault": False,
        "preemptionPolicy": "Never",
        "description": f"Runners of {policy.label}, which a quota counts by this class. It gives no precedence.",
    }
    quotas = [
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": _metadata(_name(name), name) | {"namespace": where, "annotations": annotations},
            "spec": {
                "hard": {"pods": str(most)},
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": [counted]}
                    ]
                },
            },
        }
        for where, most in shares.items()
    ]
    return Rendered((described, *quotas), tuple(_share_notes(policy, counted, shares)), not_caught)


def _share_notes(policy: CapacityPolicySpec, counted: str, shares: dict[str, int]) -> Iterator[str]:
    message = ", ".join(f"{name} {most}" for name, most in shares.items())
    yield f"Of the ceiling of {policy.ceiling} runners of {policy.label} namespaces may have: {message}."
    yield f"Give the runners priorityClassName: {counted} in the template of each scale set."
    if empty := [name for name, most in shares.items() if not most]:
        yield f"No runner can start in {', '.join(empty)}: the ceiling does not reach so far."
    yield "A quota is enforced by a cluster whose kube-controller-manager runs; controllers before 0.13.1 lose a runner that is refused."


def _uncounted(policy: CapacityPolicySpec, counted: str, shares: dict[str, int]) -> Iterator[str]:
    yield f"Pods without priorityClassName {counted} are not counted, whatever label their scale set carries."
    yield "Owners who share a namespace and the class are not distinguished: one of them can take it all."
    yield f"Namespaces other than {', '.join(shares)} have no quota."
    if len(shares) > 1:
        yield "What one namespace does not use, another cannot have: the shares are fixed until this is rendered again."
    yield "What pods request is not counted: `remuda capacity audit` says whether they fit the nodes."
    yield "Pods that a runner makes for its job with this class count as well, and a job whose pod is refused fails."
    del policy


def admission(name: str, policy: CapacityPolicySpec, action: Action, now: Instant) -> Rendered:
    """A ValidatingAdmissionPolicy for scale sets that carry the label, and its binding. `now` ends warm pools."""
    warm = tuple(
        item.name
        for item in policy.sets
        if not isinstance(item.warm_pool, UnsetType) and not _is_over(item.warm_pool.until, now)
    )
    not_caught = tuple(_unjudged(policy))
    judged = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": _metadata(_name(name), name) | {"annotations": {NOTES: "\n".join(not_caught)}},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["actions.github.com"],
                        "apiVersions": ["v1alpha1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["autoscalingrunnersets"],
                    }
                ]
            },
            "matchConditions": [each.written() for each in conditions(policy.label)],
            "variables": [each.written() for each in variables(policy, warm)],
            "validations": [rule.written() for rule in rules(name, policy)],
        },
    }
    bound = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": _metadata(_name(name), name),
        "spec": {"policyName": _name(name), "validationActions": [action]},
    }
    return Rendered((judged, bound), tuple(_rule_notes(policy, warm, action)), not_caught)


def _is_over(until: str, now: Instant) -> bool:
    end = read_end(until)
    return end is not None and end <= now


def _rule_notes(policy: CapacityPolicySpec, warm: tuple[str, ...], action: Action) -> Iterator[str]:
    done = {"Deny": "refused", "Warn": "let through with a warning", "Audit": "noted in the audit log"}
    yield f"A scale set of {policy.label} that breaks a rule is {done[action]} when it is made or its spec changes."
    ends = [
        f"{item.name} until {item.warm_pool.until}"
        for item in policy.sets
        if item.name in warm and not isinstance(item.warm_pool, UnsetType)
    ]
    if ends:
        yield f"A rule knows no time: render again when these warm pools end: {', '.join(ends)}."
    if any(not item.taints for item in policy.nodes.overflow):
        yield "Overflow nodes without taints in the policy: any toleration is taken for one of theirs."


def _unjudged(policy: CapacityPolicySpec) -> Iterator[str]:
    yield "The sum of all maxima: a rule sees one scale set at a time; `remuda capacity audit` adds them up."
    yield "Scale sets that are there already, until their spec changes."
    yield "Runner pods: a runner whose pod is refused is lost for good, so no rule is about pods."
    yield "RunnerPools, which have a maximum of their own and a Ceiling; and RunnerDeployments and RunnerSets of the older controller."
    yield "What a LimitRange would give containers: it must stand in the scale set."
    if unjudged := [pattern for pattern in policy.forbidden_labels if unjudged_pattern(pattern)]:
        yield f"Labels like {', '.join(unjudged)}: the API server's regular expressions do not know such patterns."
    if policy.nodes.overflow:
        yield "Whether a preference really separates primary from overflow nodes: a rule sees no nodes."


def _name(policy: str) -> str:
    return f"remuda-capacity-{policy}"


def _metadata(name: str, policy: str) -> dict[str, Any]:
    return {"name": name, "labels": {"app.kubernetes.io/managed-by": "remuda", POLICY_LABEL: policy}}
