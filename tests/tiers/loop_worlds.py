"""Clusters for tests of the loop of tiers, as snapshots."""

from typing import Any

from msgspec.structs import replace
from tests.builders import NOW

from remuda.model.plans import Plan, Reason
from remuda.objects.tiers import DEFAULT_POLICY
from remuda.rules.tiers import TierPolicy
from remuda.tiers.decide.changes import decide
from remuda.tiers.decide.compare import body_of, key_of, owner_of
from remuda.tiers.decide.desired import limit_range, resource_quota
from remuda.tiers.decide.model import (
    Memory,
    NamespaceSeen,
    ObjectSeen,
    Policies,
    Snapshot,
    TierAction,
)
from remuda.tiers.decide.shared import wanted_objects

POLICY = DEFAULT_POLICY
TIER = "remuda.dev/tier"
ONE = Policies((POLICY,))


def namespace(name: str = "web", tier: str = "4-aux", **labels: str) -> NamespaceSeen:
    """A namespace of a tier, or of none; labels are written with `_` for `-` and belong to remuda.dev."""
    said = {TIER: tier} if tier else {}
    said |= {f"remuda.dev/{key.replace('_', '-')}": value for key, value in labels.items()}
    return NamespaceSeen(name, f"uid-{name}", said)


def seen_of(manifest: dict[str, Any], **changes: Any) -> ObjectSeen:
    """An object as its manifest says, but for changes."""
    kind, where, name = key_of(manifest)
    owner = owner_of(manifest["metadata"]["labels"])
    return replace(
        ObjectSeen(kind, name, where, f"uid-{kind}-{where}-{name}", owner, body_of(manifest)), **changes
    )


def limits(name: str = "web", tier: str = "4-aux", policy: TierPolicy = POLICY, **changes: Any) -> ObjectSeen:
    return seen_of(limit_range(policy, policy.tiers[tier], name), **changes)


def quota(name: str = "web", tier: str = "4-aux", policy: TierPolicy = POLICY, **changes: Any) -> ObjectSeen:
    return seen_of(resource_quota(policy, policy.tiers[tier], name), **changes)


def shared(*policies: TierPolicy, mutation: str = "") -> list[ObjectSeen]:
    """All that the cluster as a whole should have."""
    wanted, _ = wanted_objects(policies or (POLICY,), mutation)
    return [seen_of(manifest) for manifest in wanted.values()]


def world(*parts: NamespaceSeen | ObjectSeen, **more: Any) -> Snapshot:
    """A cluster with everything that is in no namespace, and these."""
    whole = more.pop("shared", None)
    objects = [*(shared(mutation=more.get("mutation", "")) if whole is None else whole)]
    objects += [part for part in parts if isinstance(part, ObjectSeen)]
    return Snapshot(tuple(part for part in parts if isinstance(part, NamespaceSeen)), tuple(objects), **more)


def judged(
    seen: Snapshot, policies: Policies = ONE, memory: Memory | None = None, now: int = NOW
) -> Plan[TierAction]:
    return decide(seen, memory or Memory(), policies, now)[0]


def targets(plan: Plan[TierAction]) -> list[str]:
    """What would be done, in words."""
    return [f"{type(action).__name__.lower()} {action.target}" for action in plan.actions]


def reason_of(plan: Plan[TierAction], subject: str) -> Reason:
    (found,) = [reason for reason in plan.reasons if reason.subject == subject]
    return found
