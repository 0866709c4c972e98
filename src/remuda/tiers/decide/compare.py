"""Whether an object is as it should be: what we say of it, by value. What others add to it is theirs."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from remuda.model.amounts import amount
from remuda.tiers.decide.desired import MANAGED_BY, POLICY_LABEL
from remuda.tiers.decide.model import NodeSeen, ObjectSeen

#: what the server never changes in an object that is there
_FIXED = {"PriorityClass": ("value", "preemptionPolicy")}


def owner_of(labels: Mapping[str, str]) -> str | None:
    """The policy that an object was made for, by its labels; None when Remuda did not make it."""
    return labels.get(POLICY_LABEL) if labels.get(MANAGED_BY[0]) == MANAGED_BY[1] else None


def body_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """All of a manifest that is compared."""
    return {
        key: value
        for key, value in manifest.items()
        if key not in {"apiVersion", "kind", "metadata", "status"}
    }


def key_of(manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    meta = manifest["metadata"]
    return manifest["kind"], meta.get("namespace", ""), meta["name"]


def is_as_wanted(manifest: Mapping[str, Any], seen: ObjectSeen) -> bool:
    """Whether an object of ours has everything that its manifest says."""
    if seen.owner != owner_of(manifest["metadata"]["labels"]):
        return False
    wanted, found = body_of(manifest), seen.body
    if manifest["kind"] == "LimitRange":
        # one list, which is ours as a whole: a CPU limit that somebody adds would be injected into every container
        return bool(_amounts(wanted["spec"]["limits"]) == _amounts(_within(found, "spec", "limits")))
    if manifest["kind"] == "ResourceQuota":
        hard = _within(found, "spec", "hard")
        return isinstance(hard, dict) and all(
            _amount(name, most) == _amount(name, hard.get(name))
            for name, most in wanted["spec"]["hard"].items()
        )
    return _covers(wanted, found)


def must_be_made_anew(manifest: Mapping[str, Any], seen: ObjectSeen) -> bool:
    """Whether the server would refuse to change what differs."""
    wanted = body_of(manifest)
    return any(wanted.get(field) != seen.body.get(field) for field in _FIXED.get(manifest["kind"], ()))


def fingerprint(seen: ObjectSeen | NodeSeen) -> str:
    """What stands for the very state that was seen."""
    data = msgspec.json.encode(seen, order="sorted")
    return hashlib.blake2b(data, digest_size=16).hexdigest()  # pragma: no mutate - any length will do


def _covers(wanted: Any, found: Any) -> bool:
    """Whether everything wanted is found; the server leaves out what is empty, and adds what it assumes."""
    if isinstance(wanted, dict) and isinstance(found, dict | None):
        return all(_covers(value, (found or {}).get(key)) for key, value in wanted.items())
    if isinstance(wanted, list | tuple) and isinstance(found, list | tuple):
        return len(wanted) == len(found) and all(map(_covers, wanted, found))
    return bool(wanted == found) or (not wanted and found is None)


def _within(found: Any, *path: str) -> Any:
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _amounts(limits: Any) -> Any:
    """The items of a LimitRange with amounts for quantities."""
    if not isinstance(limits, list | tuple):
        return None
    return [
        {
            key: {name: _amount(name, most) for name, most in value.items()}
            if isinstance(value, dict)
            else value
            for key, value in item.items()
        }
        if isinstance(item, dict)
        else item
        for item in limits
    ]


def _amount(name: str, written: Any) -> int | None:
    """An amount, so that 1000m is 1; None for what is none."""
    try:
        return amount(name.removeprefix("requests.").removeprefix("limits."), written)
    except ValueError:
        return None
