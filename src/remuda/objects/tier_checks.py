"""What TierPolicies get wrong together."""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

from msgspec import UNSET

from remuda.objects.kinds import Object
from remuda.objects.load import Blame
from remuda.objects.tiers import BUILT_IN, TIER_POLICY, TierPolicySpec, TierSpec, merged


def check_policies(objects: Iterable[Object[Any]]) -> Iterator[Blame]:
    """
    Namespaces that two policies claim in the same words, and one PriorityClass that has two values.

    Which namespaces patterns match in the end only a cluster tells: there, what two claim has no tier.
    """
    policies = [item for item in objects if item.kind == TIER_POLICY.name]
    for first, second in combinations(policies, 2):
        yield from _claimed_twice(first, second)
        yield from _of_two_values(first, second)


def _claimed_twice(first: Object[TierPolicySpec], second: Object[TierPolicySpec]) -> Iterator[Blame]:
    left_out = {*first.spec.excluded, *second.spec.excluded}
    claimed = set(first.spec.namespaces) - left_out
    for n, pattern in enumerate(second.spec.namespaces):
        if pattern in claimed:
            words = f"{first} claims {pattern}, too: a namespace of two policies has no tier"
            path = f"spec.namespaces[{n}]"
            yield second, path, words, (first, "spec.namespaces"), (first, "spec.excluded")


def _of_two_values(first: Object[TierPolicySpec], second: Object[TierPolicySpec]) -> Iterator[Blame]:
    one, other = _tiers(first), _tiers(second)
    for name, (path, tier) in other.items():
        before = one.get(name)
        if before is None or UNSET in (before[1].priority, tier.priority):
            continue
        for field in ("priority", "preempts"):
            values = getattr(before[1], field), getattr(tier, field)
            if values[0] != values[1]:
                words = f"is {_written(values[1])} in tier {name}, but {_written(values[0])} in {first}"
                words += f": PriorityClass tier-{name} is one for all"
                at = f"{path}.{field}" if path != "spec.tiers" else path
                yield second, at, words, (first, before[0])


def _tiers(item: Object[TierPolicySpec]) -> dict[str, tuple[str, TierSpec]]:
    """Tiers by name: where each is written, and the whole of it; a built-in one that is not is at `spec.tiers`."""
    found = {str(name): ("spec.tiers", spec) for name, spec in BUILT_IN.items()}
    for n, spec in enumerate(item.spec.tiers):
        found[str(spec.name)] = (f"spec.tiers[{n}]", merged(spec))
    return found


def _written(value: object) -> str:
    return str(value).lower()
