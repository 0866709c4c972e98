"""
The plan of one cycle: what the cluster as a whole needs, then each namespace, then nodes.

Nothing is judged by what was not read: of a kind that cannot be listed nothing is known, and nothing that depends on it is
touched.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from remuda.model.plans import Plan, Reason
from remuda.model.times import MINUTE, Instant
from remuda.tiers.decide.desk import Desk
from remuda.tiers.decide.model import Memory, Policies, Snapshot, TierAction
from remuda.tiers.decide.namespaces import BLOCKED, SETTLED, Judged, judge
from remuda.tiers.decide.shared import judge_shared
from remuda.tiers.decide.taints import judge_node

#: what must be read before a namespace can be judged
_OF_NAMESPACES = ("Namespace", "LimitRange", "ResourceQuota")
#: a policy that is gone is forgotten when nothing of it was seen for so long
_FORGOTTEN_AFTER = 10 * MINUTE


def decide(
    seen: Snapshot, memory: Memory, policies: Policies, now: Instant
) -> tuple[Plan[TierAction], Memory]:
    """What to change now, and why everything is as it is."""
    in_force = [policy.name for policy in policies.policies]
    known = frozenset(memory.policies).union(in_force)
    broken = frozenset(policies.broken) - frozenset(in_force)
    judged = Judged(policies.policies, known - broken, broken)
    if not known:
        return Plan(), Memory()
    desk = Desk(seen.operations, memory, now)
    objects = {(item.kind, item.namespace, item.name): item for item in seen.objects}
    shared = list(judge_shared(seen, objects, judged, desk))
    namespaces = []
    if not any(kind in seen.unread for kind in _OF_NAMESPACES):
        found = (judge(namespace, objects, judged, desk) for namespace in seen.namespaces)
        namespaces = [reason for reason in found if reason is not None]
    nodes = []
    if "Node" not in seen.unread:
        marked = (judge_node(node, policies.policies, desk, clears=not broken) for node in seen.nodes)
        nodes = [reason for reason in marked if reason is not None]
    reasons = (*_summaries(policies, namespaces), *_unread(seen), *shared, *namespaces, *nodes)
    names, traceless = _remembered(seen, known, policies, memory, now)
    return Plan(tuple(desk.actions), reasons), Memory(names, desk.failures, traceless)


def _remembered(
    seen: Snapshot, known: frozenset[str], policies: Policies, before: Memory, now: Instant
) -> tuple[tuple[str, ...], dict[str, Instant]]:
    """
    Policies that are followed, and those that were and may have left something; and since when nothing is seen of these.

    A write for one that is gone may still be on its way, or show late: it is remembered for a while.
    """
    left = {item.owner for item in seen.objects}
    is_unsure = bool(seen.unread or seen.operations) or any(node.owned for node in seen.nodes)
    in_force = {policy.name for policy in policies.policies}
    kept, traceless = set(in_force), dict[str, Instant]()
    for name in known.difference(in_force):
        if not (is_unsure or name in left or name in policies.broken):
            since = before.traceless.get(name, now)
            if now - since >= _FORGOTTEN_AFTER:
                continue
            traceless[name] = since
        kept.add(name)
    return tuple(sorted(kept)), dict(sorted(traceless.items()))


def _summaries(policies: Policies, namespaces: Iterable[Reason]) -> Iterator[Reason]:
    """How many namespaces each policy has, and how many are as it says."""
    there, settled, blocked = Counter[object](), Counter[object](), Counter[object]()
    for reason in namespaces:
        by = reason.terms.get("policy")
        there[by] += bool(reason.terms.get("tier"))
        settled[by] += reason.code in SETTLED
        blocked[by] += reason.code in BLOCKED
    for policy in policies.policies:
        terms = {
            "namespaces": there[policy.name],
            "settled": settled[policy.name],
            "blocked": blocked[policy.name],
        }
        yield Reason("tiers.policy", f"tierpolicy/{policy.name}", {**terms})


def _unread(seen: Snapshot) -> Iterator[Reason]:
    for kind, why in sorted(seen.unread.items()):
        yield Reason("tiers.unread", f"kind/{kind}", {"detail": why})
