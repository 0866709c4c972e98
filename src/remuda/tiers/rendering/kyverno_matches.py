"""Which namespaces and pods a rule of Kyverno is for: the tiers of a policy as names and label selectors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from remuda.rules.tiers import PLAIN_LABEL, TierPolicy

NAME = "{{ request.object.metadata.name }}"
CREATE = ["CREATE"]


def labels_of(policy: TierPolicy) -> tuple[str, ...]:
    """The labels that say a tier, the first before the second."""
    return tuple(dict.fromkeys((policy.label, PLAIN_LABEL)))


def _absent(labels: Iterable[str]) -> list[dict[str, Any]]:
    return [{"key": label, "operator": "DoesNotExist"} for label in labels]


class Asked(NamedTuple):
    """Namespaces that a rule is for."""

    #: names, or any, with label selectors; one of them must hold
    places: tuple[tuple[list[str], dict[str, Any]], ...]
    #: names of namespaces without labels that say another tier
    others: Sequence[str] = ()
    #: what the rule is called; no tier has a dot in its name, and Kyverno takes 63 letters
    name: str = ""


def with_tier(policy: TierPolicy, tier: str) -> Iterator[Asked]:
    """The namespaces of one tier. Those that have it by default are asked for apart: no name may say another one then."""
    longer = [other for other in policy.tiers if other.startswith(f"{tier}-")]
    yield Asked((*_labelled(policy, [tier]), (_names([tier]), _silent(policy))), _names(longer), tier)
    if tier == policy.default_tier:
        yield Asked((([], _silent(policy)),), _names(policy.tiers), "default.tier")


def with_any_tier(policy: TierPolicy) -> Asked:
    """The namespaces of all tiers."""
    names = [] if policy.default_tier else _names(policy.tiers)
    return Asked((*_labelled(policy, list(policy.tiers)), (names, _silent(policy))))


def _labelled(policy: TierPolicy, tiers: list[str]) -> Iterator[tuple[list[str], dict[str, Any]]]:
    labels = labels_of(policy)
    for at, label in enumerate(labels):
        wanted = {"key": label, "operator": "In", "values": tiers}
        yield [], {"matchExpressions": [*_absent(labels[:at]), wanted]}


def _silent(policy: TierPolicy) -> dict[str, Any]:
    return {"matchExpressions": _absent(labels_of(policy))}


def _names(tiers: Iterable[str]) -> list[str]:
    return [name for tier in tiers for name in (tier, f"{tier}-*")]


def match_namespaces(policy: TierPolicy, asked: Asked, opt_out: str) -> dict[str, Any]:
    """Namespaces as they are made or changed."""
    kind: dict[str, Any] = {"kinds": ["Namespace"], "operations": ["CREATE", "UPDATE"]}
    found = [kind | ({"names": names} if names else {}) | {"selector": by} for names, by in asked.places]
    left: list[dict[str, Any]] = [{"names": list(policy.excluded)}] if policy.excluded else []
    if asked.others:
        left.append({"names": list(asked.others), "selector": _silent(policy)})
    if opt_out:
        left.append({"selector": {"matchLabels": {opt_out: "true"}}})
    return _matching(found, ({"kinds": ["Namespace"], **each} for each in left), policy, NAME)


def match_pods(
    policy: TierPolicy, asked: Asked, more: Iterable[Mapping[str, Any]] = ({},), opt_out: str = ""
) -> dict[str, Any]:
    """New pods in namespaces; `more` are selectors of pods, of which one must hold."""
    pods: dict[str, Any] = {"kinds": ["Pod"], "operations": CREATE}
    found = [
        {**pods, **({"namespaces": names} if names else {}), "namespaceSelector": by, **selector}
        for selector in more
        for names, by in asked.places
    ]
    left: list[dict[str, Any]] = [{"namespaces": list(policy.excluded)}] if policy.excluded else []
    if asked.others:
        left.append({"namespaces": list(asked.others), "namespaceSelector": _silent(policy)})
    if opt_out:
        left.append({"namespaceSelector": {"matchLabels": {opt_out: "true"}}})
    return _matching(found, ({"kinds": ["Pod"], **each} for each in left), policy, "{{ request.namespace }}")


def without(matched: Mapping[str, Any], more: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A match that leaves out more."""
    left = [*matched.get("exclude", {}).get("any", []), *({"resources": dict(each)} for each in more)]
    return {**matched, "exclude": {"any": left}} if left else dict(matched)


def _matching(
    found: Iterable[Mapping[str, Any]], left: Iterable[Mapping[str, Any]], policy: TierPolicy, name: str
) -> dict[str, Any]:
    made: dict[str, Any] = {"match": {"any": [{"resources": dict(each)} for each in found]}}
    if out := [{"resources": dict(each)} for each in left]:
        made["exclude"] = {"any": out}
    if "*" not in policy.namespaces:
        made["preconditions"] = {"all": [is_(name, "AnyIn", list(policy.namespaces))]}
    return made


def is_(key: str, operator: str, value: Any) -> dict[str, Any]:
    """A condition."""
    return {"key": key, "operator": operator, "value": value}


def with_conditions(matched: dict[str, Any], *conditions: dict[str, Any]) -> dict[str, Any]:
    """A match with more conditions."""
    before = matched.get("preconditions", {}).get("all", [])
    return {**matched, "preconditions": {"all": [*before, *conditions]}}
