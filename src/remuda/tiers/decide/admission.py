"""
The objects of a policy that are in no namespace, in the order to apply: classes, what is judged, what is changed.

The order is not a matter of taste: a pod that is given a class which is not there yet is forbidden, so the classes come first.
A rule here fails open (`failurePolicy: Ignore`): it keeps a cluster tidy and is no matter of security, what slips through is
found by the audit, and a rule that cannot be evaluated must not keep a cluster from starting pods. Pods are judged when they
are made and never again: a change of a pod that is running down, or of its finalizers, is an update, too, and refusing that
would leave it undeletable.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from remuda.rules.cel import Condition, Judged
from remuda.rules.tiers import TierPolicy
from remuda.tiers.decide import cel
from remuda.tiers.decide.desired import metadata, priority_class
from remuda.tiers.decide.mutations import priority_patch, size_patch_variables, sizes_patch

_GROUP = "admissionregistration.k8s.io"
_PODS = {
    "resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    ]
}


def cluster_objects(
    policy: TierPolicy,
    *,
    mutating: str | None,
    others: Iterable[TierPolicy] = (),
    default_class: str = "",
) -> tuple[dict[str, Any], ...]:
    """
    Everything of a policy that is not in a namespace, in the order to apply.

    Args:
        policy: whose objects they are.
        mutating: the version in which the server serves MutatingAdmissionPolicies, or None where it does not.
        others: the policies beside it: a namespace of two is left alone.
        default_class: the PriorityClass that the cluster gives pods without one (`globalDefault`), if there is any; it is
            no reason of a pod's own.
    """
    rivals = tuple(others)
    made = [priority_class(policy, tier) for tier in policy.tiers.values()]
    made += _judging(policy, rivals, default_class)
    if mutating is not None:
        made += _changing(policy, rivals, default_class, f"{_GROUP}/{mutating}")
    return tuple(made)


def _judging(
    policy: TierPolicy, others: tuple[TierPolicy, ...], default_class: str
) -> Iterator[dict[str, Any]]:
    """What is refused, and what is only warned of: an action is of a binding and holds for all its rules."""
    shared = (*cel.tier_variables(policy, others), *cel.size_variables(policy))
    refused = [cel.most_cpu(policy)]
    warned: list[Judged] = []
    # where CPU limits are stripped, whoever slips through is still told
    (refused if policy.cpu_limits == "deny" else warned).append(cel.cpu_limits(policy))
    if any(not tier.burst for tier in policy.tiers.values()):
        warned.append(cel.even_memory(policy))
    conditions = (cel.no_mirror(), cel.no_runner(), cel.no_own_class(default_class))
    yield from _validating(
        policy, "", "Deny", conditions, (*shared, *cel.oversized_variables(policy)), refused
    )
    if warned:
        yield from _validating(
            policy, "-warn", "Warn", conditions, (*shared, *cel.uneven_variables(policy)), warned
        )


def _validating(
    policy: TierPolicy,
    suffix: str,
    action: Literal["Deny", "Warn"],
    conditions: Iterable[Condition],
    variables: Iterable[Condition],
    rules: Iterable[Judged],
) -> Iterator[dict[str, Any]]:
    name = f"{_name(policy)}{suffix}"
    yield {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata(policy, name),
        "spec": {
            "failurePolicy": "Ignore",
            "matchConstraints": _PODS,
            "matchConditions": [each.written() for each in conditions],
            "variables": [each.written() for each in variables],
            "validations": [each.written() for each in rules],
        },
    }
    yield {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata(policy, name),
        "spec": {"policyName": name, "validationActions": [action]},
    }


def _changing(
    policy: TierPolicy, others: tuple[TierPolicy, ...], default_class: str, version: str
) -> Iterator[dict[str, Any]]:
    """Priorities, and sizes: two policies, so that pods keep one of them when the other cannot be evaluated."""
    tier = tuple(cel.tier_variables(policy, others))
    no_class = Condition("no-class", f"!({cel.has_class(default_class)})")
    yield from _mutating(
        policy,
        "-priority",
        version,
        (cel.no_mirror(), cel.no_runner(), no_class),
        tier,
        priority_patch(cel.workload_tier(policy)),
    )
    variables = (*tier, *cel.size_variables(policy), *size_patch_variables(policy, default_class))
    yield from _mutating(policy, "-sizes", version, (cel.no_mirror(),), variables, sizes_patch(policy))


def _mutating(
    policy: TierPolicy,
    suffix: str,
    version: str,
    conditions: Iterable[Condition],
    variables: Iterable[Condition],
    patch: str,
) -> Iterator[dict[str, Any]]:
    name = f"{_name(policy)}{suffix}"
    yield {
        "apiVersion": version,
        "kind": "MutatingAdmissionPolicy",
        "metadata": metadata(policy, name),
        "spec": {
            "failurePolicy": "Ignore",
            # containers that a webhook adds are looked at, too
            "reinvocationPolicy": "IfNeeded",
            "matchConstraints": _PODS,
            "matchConditions": [each.written() for each in conditions],
            "variables": [each.written() for each in variables],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
        },
    }
    yield {
        "apiVersion": version,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": metadata(policy, name),
        "spec": {"policyName": name},
    }


def _name(policy: TierPolicy) -> str:
    return f"remuda-tiers-{policy.name}"
