"""What tiers give, for people who apply with something else: manifests, Kyverno's policies, Terraform."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from remuda.model.plans import Reason
from remuda.rules.tiers import TierPolicy, tier_of
from remuda.tiers.decide.desired import namespace_objects, priority_class
from remuda.tiers.decide.shared import wanted_objects


class Rendered(Struct, frozen=True):
    """Objects in the order to apply, and what a reader should know."""

    objects: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()


def manifests(
    policies: Iterable[TierPolicy],
    namespaces: Mapping[str, Mapping[str, str]],
    mutating: str | None,
    default_class: str = "",
) -> Rendered:
    """Exactly what the loop applies: what is of the cluster, then each namespace with a tier, by name; `namespaces` are labels by name."""
    all_ = tuple(policies)
    whole, claims = wanted_objects(all_, mutating or "", default_class)
    inside: list[dict[str, Any]] = []
    notes = [*_unserved(mutating), *(_claimed(each) for each in claims)]
    for name, labels in sorted(namespaces.items()):
        member = tier_of(name, labels, all_)
        policy = next((each for each in all_ if each.name == member.policy), None)
        if policy is not None and member.tier:
            inside += namespace_objects(policy, policy.tiers[member.tier], name, labels)
        elif member.problem == "unknown-tier":
            notes.append(
                f"Namespace {name} is left alone: its label {member.label} says {member.value!r}, which is no tier."
            )
        elif member.problem:
            notes.append(f"Namespace {name} is left alone: two policies claim it, {member.other}.")
        else:
            notes.append(f"Namespace {name} is left alone: it has no tier.")
    return Rendered((*whole.values(), *inside), tuple(notes))


def classes(policies: Iterable[TierPolicy]) -> tuple[dict[str, Any], ...]:
    """The PriorityClasses alone; of two of one name the first."""
    found: dict[str, dict[str, Any]] = {}
    for policy in policies:
        for tier in policy.tiers.values():
            found.setdefault(tier.name, priority_class(policy, tier))
    return tuple(found.values())


def _claimed(claim: Reason) -> str:
    terms = claim.terms
    return f"{terms['object']} is as TierPolicy {terms['owner']} says: {claim.subject.partition('/')[2]} says it otherwise."


def _unserved(mutating: str | None) -> Iterator[str]:
    if mutating is None:
        yield (
            "Without MutatingAdmissionPolicies pods get no PriorityClass, sidecars no sizes of their own and CPU limits stay:"
            " give --mutating where the server serves them, or render --as kyverno."
        )
