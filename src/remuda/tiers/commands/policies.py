"""Which policies a command of tiers goes by: those of files, those that a cluster keeps, or the built-in one."""

from typing import TYPE_CHECKING, Any

from remuda.control.command import Session
from remuda.errors import BadInput
from remuda.kube.errors import Missing
from remuda.kube.resources import Resource
from remuda.objects.load import Loaded, load_files, load_text
from remuda.objects.tier_checks import check_policies
from remuda.objects.tiers import DEFAULT_POLICY, TIER_POLICY, policy_of
from remuda.rules.tiers import TierPolicy

if TYPE_CHECKING:
    from remuda.kube.client import Client

TIER_POLICIES = Resource("remuda.dev", "v1alpha1", "tierpolicies", "TierPolicy")


def policies_of_files(session: Session, files: tuple[str, ...]) -> tuple[TierPolicy, ...]:
    """The TierPolicies among what files hold, the built-in one without any file; `BadInput` with everything that is wrong."""
    from remuda.job import Place

    if not files:
        return (DEFAULT_POLICY,)
    found = _policies(load_files(files, session.jobs.kinds(Place.RUN, Place.KEPT), (check_policies,)))
    if not found:
        raise BadInput(f"there is no TierPolicy in {', '.join(files)}")
    return found


async def policies_in(client: "Client") -> tuple[TierPolicy, ...]:
    """The TierPolicies that a cluster keeps, the built-in one where it keeps none; `BadInput` with everything that is wrong."""
    import msgspec

    try:
        listed = await client.list(TIER_POLICIES, dict[str, Any])
    except Missing:
        return (DEFAULT_POLICY,)
    items = [
        {"apiVersion": TIER_POLICIES.api_version, "kind": TIER_POLICIES.kind, **each} for each in listed.items
    ]
    if not items:
        return (DEFAULT_POLICY,)
    texts = "\n---\n".join(msgspec.json.encode(each).decode() for each in items)
    where = f"the cluster's {TIER_POLICIES.plural}"
    return _policies(load_text(texts, where, (TIER_POLICY,), (check_policies,)))


def _policies(loaded: Loaded) -> tuple[TierPolicy, ...]:
    if loaded.problems:
        raise BadInput("\n".join(map(str, loaded.problems)))
    found = [item for item in loaded.objects if item.kind == TIER_POLICY.name]
    return tuple(policy_of(item.name, item.spec) for item in found)
