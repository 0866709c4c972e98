"""
What a policy gives the cluster as a whole: PriorityClasses, and rules of admission.

A class comes before the policy that hands it to pods, and goes after it: a pod that names a class which is not there is
refused by the server. A rule comes before its binding, and goes after it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from remuda.model.plans import Reason, Term
from remuda.rules.tiers import TierPolicy
from remuda.tiers.decide.admission import cluster_objects
from remuda.tiers.decide.compare import (
    body_of,
    is_as_wanted,
    key_of,
    must_be_made_anew,
    owner_of,
)
from remuda.tiers.decide.desk import Desk, failed
from remuda.tiers.decide.model import ObjectSeen, Snapshot, TierAction
from remuda.tiers.decide.namespaces import Judged, removal, writing

Key = tuple[str, str, str]
#: kinds in the order in which they come
KINDS = (
    "PriorityClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
)


def wanted_objects(
    policies: Sequence[TierPolicy], mutation: str, default_class: str = ""
) -> tuple[dict[Key, dict[str, Any]], list[Reason]]:
    """What all policies give the cluster; of two that say the same name differently the first has it, and the other hears of it."""
    wanted: dict[Key, dict[str, Any]] = {}
    claims = []
    for policy in policies:
        others = [other for other in policies if other is not policy]
        for manifest in cluster_objects(
            policy, mutating=mutation or None, others=others, default_class=default_class
        ):
            key = key_of(manifest)
            first = wanted.setdefault(key, manifest)
            if first is not manifest and _values(first) != _values(manifest):
                owner = owner_of(first["metadata"]["labels"])
                terms: dict[str, Term] = {"object": f"{key[0]} {key[2]}", "owner": owner}
                claims.append(Reason("tiers.claimed", f"tierpolicy/{policy.name}", terms))
    return dict(sorted(wanted.items(), key=lambda item: (KINDS.index(item[0][0]), item[0]))), claims


def _values(manifest: dict[str, Any]) -> dict[str, Any]:
    """What two policies must agree on; whose it is may be said by one alone."""
    return {key: value for key, value in body_of(manifest).items() if key != "description"}


def judge_shared(
    seen: Snapshot, objects: dict[Key, ObjectSeen], judged: Judged, desk: Desk
) -> Iterator[Reason]:
    """Ask for what the cluster needs next, and say why; nothing of what is as it should be."""
    wanted, claims = wanted_objects(judged.policies, seen.mutation, seen.default_class)
    yield from claims
    standing: set[Key] = set()
    for key, manifest in wanted.items():
        if key[0] in seen.unread:
            continue
        there = objects.get(key)
        if there is not None and (there.owner is None or is_as_wanted(manifest, there)):
            standing.add(key)
            if there.owner is None:
                yield _reason("tiers.foreign", key)
        elif there is not None and there.owner in judged.broken:
            standing.add(key)
            yield _reason("tiers.unread-policy", key, policy=str(there.owner))
        elif before := next((need for need in _needs(manifest, wanted) if need not in standing), None):
            yield _reason("tiers.after", key, other=f"{before[0]} {before[2]}")
        else:
            anew = there is not None and must_be_made_anew(manifest, there)
            code = "tiers.renewing" if anew else "tiers.applying"
            yield _asked(desk, writing(manifest, there, _reason(code, key), anew=anew), key)
    is_settled = standing == wanted.keys() and not any(kind in seen.unread for kind in KINDS)
    yield from _leftovers(objects, wanted, judged, desk, is_settled=is_settled)


def _needs(manifest: dict[str, Any], wanted: dict[Key, dict[str, Any]]) -> Iterator[Key]:
    """What must be there before this."""
    kind = manifest["kind"]
    if kind.startswith("Mutating"):
        yield from (key for key in wanted if key[0] == "PriorityClass")
    if kind.endswith("Binding"):
        yield kind.removesuffix("Binding"), "", manifest["spec"]["policyName"]


def _leftovers(
    objects: dict[Key, ObjectSeen], wanted: dict[Key, Any], judged: Judged, desk: Desk, *, is_settled: bool
) -> Iterator[Reason]:
    """Take away what nobody wants any more: bindings, then their rules, and classes when all else is as it should be."""
    left = [
        item
        for key, item in objects.items()
        if key[0] in KINDS and key not in wanted and item.owner in judged.ours
    ]
    bound = {item.body.get("spec", {}).get("policyName") for item in left if item.kind.endswith("Binding")}
    rules = [item for item in left if item.kind != "PriorityClass"]
    for item in left:
        key = (item.kind, item.namespace, item.name)
        is_used = item.name in bound and not item.kind.endswith("Binding")
        if item.kind == "PriorityClass":
            is_used = bool(rules) or not is_settled
        if is_used:
            yield _reason("tiers.later", key)
        else:
            yield _asked(desk, removal(item, _reason("tiers.removing", key)), key)


def _asked(desk: Desk, action: TierAction, key: Key) -> Reason:
    match desk.ask(action):
        case "failed":
            return failed("tiers.failed", _subject(key), desk.failure(action.target), action.target)
        case "waiting":
            return _reason("tiers.waiting", key)
        case _:
            return action.reason


def _subject(key: Key) -> str:
    return f"{key[0].lower()}/{key[2]}"


def _reason(code: str, key: Key, **terms: str) -> Reason:
    return Reason(code, _subject(key), {"object": f"{key[0]} {key[2]}", **terms})
