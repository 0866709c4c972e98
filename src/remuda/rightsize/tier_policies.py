"""What sizes go by: the RightsizePolicy and the TierPolicies of files, and what old files say about tiers themselves."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from remuda.errors import BadInput
from remuda.objects.load import Blame, Objects, load_files
from remuda.objects.tier_checks import check_policies
from remuda.objects.tiers import BUILT_IN, DEFAULT_POLICY, TIER_POLICY, policy_of
from remuda.rightsize.decide.tiers import SizingTiers, find_tier, is_of_old, read_tier
from remuda.rightsize.objects import RIGHTSIZE_POLICY, RightsizePolicySpec, TierSpec

#: without a TierPolicy, namespaces of the system have sizes as well
BUILT_IN_TIERS = SizingTiers((replace(DEFAULT_POLICY, excluded=()),))


class Policies(Struct, frozen=True):
    """How sizes are judged, by which tiers, and what a person should know about what they wrote."""

    sizes: RightsizePolicySpec
    tiers: SizingTiers = BUILT_IN_TIERS
    notes: tuple[str, ...] = ()


def read_policies(files: tuple[str, ...]) -> Policies:
    """At most one RightsizePolicy of files, and their TierPolicies; the default ones without any."""
    if not files:
        return Policies(RightsizePolicySpec())
    loaded = load_files(files, (RIGHTSIZE_POLICY, TIER_POLICY), (check_policies, check_tiers))
    if loaded.problems:
        raise BadInput("\n".join(map(str, loaded.problems)))
    of_sizes = [item for item in loaded.objects if item.kind == RIGHTSIZE_POLICY.name]
    of_tiers = [item for item in loaded.objects if item.kind == TIER_POLICY.name]
    if len(of_sizes) > 1:
        names = ", ".join(map(str, of_sizes))
        raise BadInput(f"there is more than one RightsizePolicy: {names} in {', '.join(files)}: give one")
    spec: RightsizePolicySpec = of_sizes[0].spec if of_sizes else RightsizePolicySpec()
    if of_tiers:
        policies = tuple(policy_of(item.name, item.spec) for item in of_tiers)
        return Policies(spec, SizingTiers(policies, are_built_in=False))
    return Policies(spec, notes=tuple(_notes(of_sizes[0])) if is_of_old(spec) else ())


def check_tiers(objects: Objects) -> Iterator[Blame]:
    """What a RightsizePolicy says about tiers that TierPolicies say otherwise, or not at all."""
    policies = [item for item in objects if item.kind == TIER_POLICY.name]
    known = {*BUILT_IN, *(tier.name for item in policies for tier in item.spec.tiers)}
    for item in objects:
        if item.kind != RIGHTSIZE_POLICY.name:
            continue
        for field in _of_old(item.spec) if policies else ():
            words = f"tiers are what TierPolicy {policies[0].name} says: leave this out"
            yield item, f"spec.{field}", words
        for n, spec in enumerate(item.spec.workloads):
            if spec.tier is not None and not find_tier(str(spec.tier), known):
                there = ", ".join(sorted(known))
                words = f"there is no tier {spec.tier}: there are {there}"
                others = ((each, "spec.tiers") for each in policies)
                yield item, f"spec.workloads[{n}].tier", words, *others


def _of_old(spec: RightsizePolicySpec) -> Iterator[str]:
    if not isinstance(spec.tier_label, UnsetType):
        yield "tierLabel"
    if spec.default_tier is not None:
        yield "defaultTier"
    if spec.tiers:
        yield "tiers"


def _notes(item: Any) -> Iterator[str]:
    spec: RightsizePolicySpec = item.spec
    written = " and ".join(f"spec.{field}" for field in _of_old(spec))
    parts = []
    if not isinstance(spec.tier_label, UnsetType):
        parts.append(f"tierLabel: {spec.tier_label}")
    if spec.default_tier is not None:
        parts.append(f"defaultTier: {_name(spec.default_tier)}")
    if spec.tiers:
        parts.append(f"tiers: [{', '.join(map(_tier_text, spec.tiers))}]")
    yield (
        f"{item.file}:{item.line}: {item} says {written} itself, and that still holds; write a TierPolicy instead, with"
        f" spec: {{{', '.join(parts)}}} (it bounds every tier: what it leaves out is as built in)"
    )


def _tier_text(spec: TierSpec) -> str:
    bounds = {
        "minCpu": spec.min_cpu,
        "maxCpu": spec.max_cpu,
        "minMemory": spec.min_memory,
        "maxMemory": spec.max_memory,
    }
    said = (f"{name}: {bound}" for name, bound in bounds.items() if bound is not None)
    return f"{{{', '.join((f'name: {_name(spec.tier)}', *said))}}}"


def _name(tier: int) -> str:
    return next(name for name in BUILT_IN if read_tier(name) == tier)
