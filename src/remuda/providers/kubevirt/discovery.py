"""What KubeVirt there is: where its VMs are, and whether its pools leave the choice of VMs to us."""

from typing import Any

import msgspec
from msgspec import Struct

from remuda.kube.client import Client
from remuda.kube.discovery import find_resource, served
from remuda.kube.errors import Forbidden, Missing
from remuda.kube.resources import Resource
from remuda.providers.kubevirt.resources import POOL_GROUP, POOL_KIND, POOL_PLURAL, VMIS, VMS

ABSENT = (
    "KubeVirt is not installed in this cluster: install its operator and its KubeVirt object as "
    "https://kubevirt.io/user-guide/cluster_admin/installation/ says; `kubectl get kubevirt -A` shows it"
)


class Api(Struct, frozen=True):
    """KubeVirt as this cluster serves it; without `pools`, VMs are made one by one."""

    vms: Resource
    vmis: Resource
    pools: Resource | None = None


async def discover(client: Client) -> Api | None:
    """
    KubeVirt, if it is there.

    Pools that delete and restart VMs by their own choice are as good as none: `unmanaged` strategies came with KubeVirt
    1.7, together with v1beta1.
    """
    vms = await find_resource(client, VMS.group, VMS.plural)
    if vms is None:
        return None
    vmis = Resource(VMIS.group, vms.version, VMIS.plural, VMIS.kind)
    async for pools in served(client, POOL_GROUP, POOL_PLURAL):
        if pools.version == "v1beta1" or await _is_unmanageable(client, pools):
            return Api(vms, vmis, pools)
    return Api(vms, vmis)


async def _is_unmanageable(client: Client, pools: Resource) -> bool:
    """Whether the schema of a version has both strategies."""
    path = f"/openapi/v3/apis/{pools.group}/{pools.version}"
    try:
        data = await client.request("GET", path, doing=f"reading the schema of {pools.plural}", safe=True)
    except (Missing, Forbidden):
        return False
    try:
        schemas = msgspec.json.decode(data)["components"]["schemas"].values()
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return any(_has_strategies(schema) for schema in schemas if _is_pool(schema, pools))


def _is_pool(schema: dict[str, Any], pools: Resource) -> bool:
    kinds = schema.get("x-kubernetes-group-version-kind") or ()
    return any(item.get("kind") == POOL_KIND and item.get("version") == pools.version for item in kinds)


def _has_strategies(schema: dict[str, Any]) -> bool:
    spec = schema.get("properties", {}).get("spec", {}).get("properties", {})
    return all(
        "unmanaged" in spec.get(name, {}).get("properties", {})
        for name in ("scaleInStrategy", "updateStrategy")
    )
