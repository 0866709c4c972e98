"""Which tier a namespace has and by what, what its quotas leave, and what is not as its tier says."""

from collections.abc import Iterator

from remuda.model.findings import Finding, Severity
from remuda.model.plans import Term
from remuda.rules.tiers import PLAIN_LABEL, Membership, TierPolicy
from remuda.tiers.decide.causes import cause
from remuda.tiers.decide.context import places_of
from remuda.tiers.decide.headroom import rooms_of
from remuda.tiers.decide.why_world import World, judged


def why_namespace(world: World, name: str) -> tuple[Finding, ...] | None:
    """Its tier, then what is wrong, then what is left; None where there is no such namespace."""
    if name not in world.snapshot.namespaces:
        return None
    member, policy = world.member(name)
    subject = f"Namespace {name}"
    if not member.tier or policy is None:
        label = (
            policy.label if policy is not None else next((each.label for each in world.policies), PLAIN_LABEL)
        )
        why = _why_none(member, policy, name)
        return (cause(subject, "namespace-no-tier", "info", why=why, namespace=name, label=label),)
    origin = _origin(member, policy)
    first = cause(subject, "namespace-tier", "info", tier=member.tier, policy=member.policy, origin=origin)
    return (first, *judged(world, subject, name), *_headroom(world, name))


def _origin(member: Membership, policy: TierPolicy) -> str:
    match member.origin:
        case "label":
            doubt = f"; {_doubt(member)}" if member.problem else ""
            return f"its label {member.label} is {member.value}{doubt}"
        case "prefix":
            return f"its name begins with {member.tier}"
    return f"it says none, and {policy.default_tier} is the defaultTier"


def _doubt(member: Membership) -> str:
    if member.problem == "labels-disagree":
        return f"its label {PLAIN_LABEL} says {member.other}, which does not count"
    return f"its name begins with {member.other}, which does not count beside a label"


def _why_none(member: Membership, policy: TierPolicy | None, name: str) -> str:
    if member.problem == "two-policies":
        return f"TierPolicies {member.other} all claim it"
    if policy is None:
        return f"no TierPolicy is for {name}"
    if member.problem == "unknown-tier":
        return f"its label {member.label} is {member.value}, and TierPolicy {policy.name} has no such tier"
    labels = " or ".join(dict.fromkeys((policy.label, PLAIN_LABEL)))
    return f"no label {labels}, no tier in its name, and no defaultTier in TierPolicy {policy.name}"


def _headroom(world: World, name: str) -> Iterator[Finding]:
    _, places = places_of(world.snapshot, world.policies)
    place = next(each for each in places if each.name == name)
    for room in rooms_of(place):
        terms: dict[str, Term] = {
            "resource": room.resource,
            "quota": room.quota,
            "used": room.text(room.used),
            "hard": room.text(room.hard),
            "free": room.text(max(room.free, 0)),
        }
        severity: Severity = "info" if room.free > 0 else "warning"
        yield cause(f"Namespace {name}", "namespace-headroom", severity, **terms)
