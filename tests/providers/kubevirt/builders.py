"""KubeVirt's objects as tests need them: only what matters is said."""

from typing import Any

from remuda.kube.resources import Meta
from remuda.model.manifests import Condition, OwnerReference
from remuda.providers.kubevirt.orders import Notes, write_notes
from remuda.providers.kubevirt.resources import (
    MANAGED_BY,
    MEMBER,
    ORDERS,
    OURS,
    POOL,
    POOL_FINALIZER,
    POOL_KIND,
    TEMPLATE,
    Passed,
    PoolSpec,
    PoolStatus,
    Vm,
    Vmi,
    VmiStatus,
    VmPool,
    VmSpec,
    VmStatus,
)

MADE = "2026-01-31T14:05:00Z"
MADE_AT = 1_769_868_300_000
RAN = "2026-01-31T14:06:00Z"
RAN_AT = MADE_AT + 60_000


def vm(
    name: str = "linux-0",
    *,
    status: str = "Running",
    strategy: str = "Once",
    conditions: tuple[Condition, ...] = (),
    pool: str = "linux",
    owner: str = "pool-uid",
    labels: dict[str, str] | None = None,
    version: str = "7",
    **meta: Any,
) -> Vm:
    """A VM that a pool made, unless told otherwise."""
    owners = (OwnerReference(POOL_KIND, pool, owner, controller=True),) if owner else ()
    said = {
        "finalizers": (POOL_FINALIZER, "kubevirt.io/virtualMachineControllerFinalize"),
        "creation_timestamp": MADE,
        "uid": f"uid-{name}",
    } | meta
    return Vm(
        Meta(
            name=name,
            namespace="ci",
            resource_version=version,
            owner_references=owners,
            labels={POOL: pool, TEMPLATE: "t1", MEMBER: pool} if labels is None else labels,
            **said,
        ),
        VmSpec(strategy),
        VmStatus(status, conditions),
    )


def vmi(
    phase: str,
    name: str = "linux-0",
    *,
    ran: bool = True,
    conditions: tuple[Condition, ...] = (),
    of: str | None = None,
) -> Vmi:
    """The guest of a VM."""
    passed = (Passed("Running", RAN),) if ran else ()
    owner = OwnerReference("VirtualMachine", name, of or f"uid-{name}", controller=True)
    return Vmi(
        Meta(
            name=name, namespace="ci", uid=f"vmi-{name}", owner_references=(owner,), creation_timestamp=MADE
        ),
        VmiStatus(phase, passed, conditions),
    )


def vm_pool(
    replicas: int | None = 0,
    notes: Notes | None = None,
    *,
    name: str = "linux",
    version: str = "1",
    **spec: Any,
) -> VmPool:
    """A pool of ours with these notes."""
    annotations = {ORDERS: write_notes(notes)} if notes is not None else {}
    meta = Meta(
        name=name,
        namespace="ci",
        uid="pool-uid",
        resource_version=version,
        annotations=annotations,
        labels={POOL: name, MANAGED_BY: OURS},
    )
    return VmPool(meta, PoolSpec(replicas, **spec), PoolStatus())
