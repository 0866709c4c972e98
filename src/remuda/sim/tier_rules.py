"""What must hold in a simulated cluster once the loop of tiers has settled, said without the loop's own judgement."""

from collections.abc import Iterable, Iterator
from typing import Any

from remuda.model.quantities import Quantity
from remuda.rules.tiers import tier_of
from remuda.sim.tier_cluster import Item, Key, SimCluster
from remuda.tiers.decide.admission import cluster_objects
from remuda.tiers.decide.compare import key_of, owner_of
from remuda.tiers.decide.desired import LIMITS_NAME, limit_range, quota_name, resource_quota
from remuda.tiers.decide.model import Policies
from remuda.tiers.decide.taints import OWNED_TAINTS, parse_taint


def broken_rules(
    cluster: SimCluster, policies: Policies, known: Iterable[str], mutation: str
) -> Iterator[str]:
    """Where a cluster is not what policies say; `known` are all policies that there ever were."""
    yield from cluster.sins
    ours = frozenset(known) - frozenset(policies.broken)
    yield from _shared(cluster, policies, ours, mutation)
    for name in cluster.namespaces:
        yield from _namespace(cluster, name, policies, ours)
    for name in cluster.nodes:
        yield from _node(cluster, name, policies)


def _shared(cluster: SimCluster, policies: Policies, ours: frozenset[str], mutation: str) -> Iterator[str]:
    wanted: dict[Key, dict[str, Any]] = {}
    for policy in policies.policies:
        others = [other for other in policies.policies if other is not policy]
        for manifest in cluster_objects(policy, mutating=mutation or None, others=others):
            wanted.setdefault(key_of(manifest), manifest)
    for manifest in wanted.values():
        yield from _as_wanted(cluster, manifest, policies)
    for key, item in cluster.objects.items():
        if not key[1] and key not in wanted and _owner(item) in ours:
            yield f"{key} is left over"


def _namespace(cluster: SimCluster, name: str, policies: Policies, ours: frozenset[str]) -> Iterator[str]:
    namespace = cluster.namespaces[name]
    keys: tuple[Key, Key] = ("LimitRange", name, LIMITS_NAME), ("ResourceQuota", name, quota_name(name))
    there = [cluster.objects.get(key) for key in keys]
    if any(item is not None and _owner(item) in policies.broken for item in there):
        return
    member = tier_of(name, namespace.labels, policies.policies)
    if member.problem in {"two-policies", "unknown-tier"}:
        return
    if not member.tier:
        yield from (
            f"{key} is left over in a namespace without a tier"
            for key, item in zip(keys, there, strict=True)
            if item is not None and _owner(item) in ours
        )
        return
    policy = next(each for each in policies.policies if each.name == member.policy)
    tier = policy.tiers[member.tier]
    for key, item, opt_out, manifest in zip(
        keys,
        there,
        (policy.limits_opt_out, policy.quota_opt_out),
        (limit_range(policy, tier, name), resource_quota(policy, tier, name)),
        strict=True,
    ):
        if namespace.labels.get(opt_out) == "true":
            if item is not None and _owner(item) in ours:
                yield f"{key} is there though {name} opted out"
        elif item is not None and _owner(item) is None:
            return  # somebody else's, and nothing comes after it
        else:
            yield from _as_wanted(cluster, manifest, policies)


def _node(cluster: SimCluster, name: str, policies: Policies) -> Iterator[str]:
    node = cluster.nodes[name]
    wanted = {
        "{}={}:{}".format(*policy.gpu.taint)
        for policy in policies.policies
        if policy.gpu is not None and node.labels.get(policy.gpu.device_label) == policy.gpu.device_value
    }
    places = {(taint.key, taint.effect) for taint in map(parse_taint, node.taints)}
    for text in wanted:
        taint = parse_taint(text)
        if (taint.key, taint.effect) not in places:
            yield f"node {name} has no {text}"
    owned = set(filter(None, node.annotations.get(OWNED_TAINTS, "").split(",")))
    if not owned <= set(node.taints):
        yield f"node {name} claims {owned} and has {node.taints}"
    if not policies.broken and not owned <= wanted:
        yield f"node {name} keeps {owned - wanted}"


def _as_wanted(cluster: SimCluster, manifest: dict[str, Any], policies: Policies) -> Iterator[str]:
    key = key_of(manifest)
    item = cluster.objects.get(key)
    if item is None:
        yield f"{key} is missing"
    elif _owner(item) is None or _owner(item) in policies.broken:
        return
    elif _owner(item) != owner_of(manifest["metadata"]["labels"]):
        yield f"{key} is of policy {_owner(item)}"
    elif not _holds(manifest, item.manifest, is_whole=key[0] == "LimitRange"):
        yield f"{key} is not as its policy says: {item.manifest}"


def _owner(item: Item) -> str | None:
    return owner_of(item.manifest["metadata"].get("labels", {}))


def _holds(wanted: Any, found: Any, *, is_whole: bool) -> bool:
    """Whether all that is wanted is found, and of a LimitRange nothing else."""
    if isinstance(wanted, dict):
        if not isinstance(found, dict) or (is_whole and "type" in wanted and wanted.keys() != found.keys()):
            return False
        return all(_holds(value, found.get(key), is_whole=is_whole) for key, value in wanted.items())
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(wanted) == len(found)
            and all(_holds(a, b, is_whole=is_whole) for a, b in zip(wanted, found, strict=True))
        )
    return bool(wanted == found) or _quantity(wanted) == _quantity(found) is not None


def _quantity(written: Any) -> int | None:
    try:
        return int(Quantity.parse(written))
    except ValueError:
        return None
