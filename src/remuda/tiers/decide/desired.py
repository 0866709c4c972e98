"""
What tiers give: PriorityClasses of a policy, and the LimitRange and ResourceQuota of a namespace, as manifests.

A LimitRange names no CPU limit, neither as default nor as maximum: the API server would inject it into every container. How
much CPU a container may request is a rule of admission instead (`remuda.tiers.decide.admission`).
"""

from collections.abc import Mapping
from typing import Any

from remuda.model.amount_texts import quantity
from remuda.rules.tiers import Tier, TierPolicy

MANAGED_BY = ("app.kubernetes.io/managed-by", "remuda")
POLICY_LABEL = "remuda.dev/tier-policy"
LIMITS_NAME = "tier-defaults"


def quota_name(namespace: str) -> str:
    """The ResourceQuota of a namespace's tier."""
    return f"{namespace}-quota"


def priority_class(policy: TierPolicy, tier: Tier) -> dict[str, Any]:
    """The PriorityClass of a tier's pods."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": metadata(policy, tier.priority_class),
        "value": tier.priority,
        "globalDefault": False,
        "preemptionPolicy": "PreemptLowerPriority" if tier.preempts else "Never",
        "description": f"Pods of tier {tier.name}, by TierPolicy {policy.name}.",
    }


def limit_range(policy: TierPolicy, tier: Tier, namespace: str) -> dict[str, Any]:
    """What containers of a namespace get that do not say, and the most memory that one may have."""
    memory = {"memory": quantity("memory", tier.default_limit)}
    requests = {
        "cpu": quantity("cpu", tier.default_cpu),
        "memory": quantity("memory", tier.default_memory),
    }
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": metadata(policy, LIMITS_NAME, namespace),
        "spec": {
            "limits": [
                {
                    "type": "Container",
                    "default": memory,
                    "defaultRequest": requests,
                    "max": {"memory": quantity("memory", tier.max_memory)},
                }
            ]
        },
    }


def resource_quota(policy: TierPolicy, tier: Tier, namespace: str) -> dict[str, Any]:
    """What the pods of a namespace may request together."""
    hard = {name: quantity(name.removeprefix("requests."), most) for name, most in tier.quota.items()}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata(policy, quota_name(namespace), namespace),
        "spec": {"hard": hard},
    }


def namespace_objects(
    policy: TierPolicy, tier: Tier, namespace: str, labels: Mapping[str, str]
) -> tuple[dict[str, Any], ...]:
    """
    What a namespace gets, in the order to apply: a quota refuses pods without requests, until a LimitRange gives them some.

    What its labels opt out of is left out.
    """
    made = []
    for opt_out, manifest in (
        (policy.limits_opt_out, limit_range(policy, tier, namespace)),
        (policy.quota_opt_out, resource_quota(policy, tier, namespace)),
    ):
        if labels.get(opt_out) != "true":
            made.append(manifest)
    return tuple(made)


def metadata(policy: TierPolicy, name: str, namespace: str = "") -> dict[str, Any]:
    """The name of what belongs to a policy, and how it is known as ours."""
    made: dict[str, Any] = {"name": name, "labels": {MANAGED_BY[0]: MANAGED_BY[1], POLICY_LABEL: policy.name}}
    return made | {"namespace": namespace} if namespace else made
