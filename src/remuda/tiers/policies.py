"""From TierPolicy objects to what the loop goes by."""

from remuda.objects.load import Objects
from remuda.objects.tiers import TIER_POLICY, policy_of
from remuda.tiers.decide.model import Policies


def policies_of(objects: Objects, broken: frozenset[tuple[str, str]] = frozenset()) -> Policies:
    """What TierPolicies mean, by name; `broken` are kind and name of objects that are there and cannot be read."""
    found = sorted((item for item in objects if item.kind == TIER_POLICY.name), key=lambda item: item.name)
    return Policies(
        tuple(policy_of(item.name, item.spec) for item in found),
        tuple(sorted(name for kind, name in broken if kind == TIER_POLICY.name)),
    )
