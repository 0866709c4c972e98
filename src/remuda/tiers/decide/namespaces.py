"""
What one namespace needs: the LimitRange of its tier, then the ResourceQuota.

In this order, because a quota on requests refuses every pod that has none, and the LimitRange gives them; taken away in the
other order for the same reason.
"""

from typing import Any, NamedTuple

from remuda.model.plans import Reason, Term
from remuda.rules.tiers import Membership, TierPolicy, tier_of
from remuda.tiers.decide.compare import fingerprint, is_as_wanted, key_of
from remuda.tiers.decide.desired import LIMITS_NAME, limit_range, quota_name, resource_quota
from remuda.tiers.decide.desk import Desk, failed
from remuda.tiers.decide.model import ABSENT, NamespaceSeen, ObjectSeen, Remove, TierAction, Write

#: codes of namespaces that have all that their tier gives
SETTLED = ("tier.settled", "tier.own")
#: codes of namespaces that stay without it until somebody does something
BLOCKED = ("tier.foreign", "tier.failed", "tier.unknown", "tier.two-policies", "tier.unread")
_PROBLEMS = {"unknown-tier": "tier.unknown", "two-policies": "tier.two-policies"}


class Judged(NamedTuple):
    """What policies say of namespaces, and whose leftovers may be removed."""

    policies: tuple[TierPolicy, ...]
    #: names of policies that are followed, or were
    ours: frozenset[str]
    broken: frozenset[str]


def judge(
    namespace: NamespaceSeen, objects: dict[tuple[str, str, str], ObjectSeen], judged: Judged, desk: Desk
) -> Reason | None:
    """Ask for what a namespace needs next, and say why; nothing of one that no policy is for and that has nothing of ours."""
    name = namespace.name
    member = tier_of(name, namespace.labels, judged.policies)
    limits = objects.get(("LimitRange", name, LIMITS_NAME))
    quota = objects.get(("ResourceQuota", name, quota_name(name)))
    if broken := _of_broken(judged, limits, quota):
        return _reason("tier.unread", name, member, policy=broken)
    if member.problem in _PROBLEMS:
        return _reason(
            _PROBLEMS[member.problem],
            name,
            member,
            label=member.label,
            value=member.value,
            other=member.other,
        )
    if namespace.is_terminating:
        return _reason("tier.terminating", name, member) if member.tier else None
    if not member.tier:
        return _without_tier(name, member, (quota, limits), judged, desk)
    return _with_tier(namespace, member, limits, quota, judged, desk)


def _of_broken(judged: Judged, *objects: ObjectSeen | None) -> str:
    """The policy that cannot be read and that something here was made for."""
    owners = (item.owner for item in objects if item is not None and item.owner is not None)
    return next((owner for owner in owners if owner in judged.broken), "")


def _without_tier(
    name: str, member: Membership, objects: tuple[ObjectSeen | None, ...], judged: Judged, desk: Desk
) -> Reason | None:
    """Take away what is left of ours, the first that is there."""
    for item in objects:
        if item is not None and item.owner in judged.ours:
            return _asked(desk, removal(item, _reason("tier.removing", name, member)), name, member)
    return _reason("tier.none", name, member) if member.policy else None


def _with_tier(
    namespace: NamespaceSeen,
    member: Membership,
    limits: ObjectSeen | None,
    quota: ObjectSeen | None,
    judged: Judged,
    desk: Desk,
) -> Reason:
    name = namespace.name
    policy = next(each for each in judged.policies if each.name == member.policy)
    tier = policy.tiers[member.tier]
    own = []
    for what, opt_out, seen, manifest in (
        ("limits", policy.limits_opt_out, limits, limit_range(policy, tier, name)),
        ("quota", policy.quota_opt_out, quota, resource_quota(policy, tier, name)),
    ):
        if namespace.labels.get(opt_out) == "true":
            own.append(what)
            if seen is not None and seen.owner in judged.ours:
                reason = _reason("tier.opting-out", name, member, object=_named(seen), label=opt_out)
                return _asked(desk, removal(seen, reason), name, member)
        elif seen is not None and seen.owner is None:
            return _reason("tier.foreign", name, member, object=_named(seen))
        elif seen is None or not is_as_wanted(manifest, seen):
            reason = _reason(
                "tier.applying", name, member, object=" ".join((manifest["kind"], _path(manifest)))
            )
            return _asked(desk, writing(manifest, seen, reason, namespace.uid), name, member)
    if own:
        return _reason("tier.own", name, member, own=" and ".join(own))
    return _reason("tier.settled", name, member)


def writing(
    manifest: dict[str, Any],
    seen: ObjectSeen | None,
    reason: Reason,
    namespace_uid: str = "",
    *,
    anew: bool = False,
) -> Write:
    """Make an object that is not there, or change what was seen."""
    return Write(
        target=f"{manifest['kind']} {_path(manifest)}",
        expects=ABSENT if seen is None else fingerprint(seen),
        reason=reason,
        manifest=manifest,
        namespace_uid=namespace_uid,
        anew=anew,
    )


def removal(seen: ObjectSeen, reason: Reason) -> Remove:
    """Delete what was seen."""
    terms = {**reason.terms, "object": _named(seen)}
    return Remove(
        target=_named(seen),
        expects=fingerprint(seen),
        reason=Reason(reason.code, reason.subject, terms),
        kind=seen.kind,
        name=seen.name,
        namespace=seen.namespace,
    )


def _asked(desk: Desk, action: TierAction, name: str, member: Membership) -> Reason:
    """The reason of an action, or why it waits."""
    match desk.ask(action):
        case "failed":
            made = failed("tier.failed", f"namespace/{name}", desk.failure(action.target), action.target)
            return Reason(made.code, made.subject, {**_terms(member), **made.terms})
        case "waiting":
            return _reason("tier.waiting", name, member, object=action.target)
        case _:
            return action.reason


def _named(seen: ObjectSeen) -> str:
    return f"{seen.kind} {'/'.join(filter(None, (seen.namespace, seen.name)))}"


def _path(manifest: dict[str, Any]) -> str:
    _, namespace, name = key_of(manifest)
    return "/".join(filter(None, (namespace, name)))


def _terms(member: Membership) -> dict[str, Term]:
    return {"policy": member.policy, "tier": member.tier}


def _reason(code: str, name: str, member: Membership, **terms: str) -> Reason:
    return Reason(code, f"namespace/{name}", {**_terms(member), **terms})
