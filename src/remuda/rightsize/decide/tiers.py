"""Which tier a workload is of, and what the policy allows there."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from remuda.model.findings import Finding
from remuda.rightsize.decide.context import Bounds
from remuda.rightsize.decide.findings import finding
from remuda.rightsize.estimate.estimator import Amounts, floors
from remuda.rightsize.objects import RightsizePolicySpec, WorkloadSpec
from remuda.rightsize.snapshot import Snapshot, Workload


class Tiered(Struct, frozen=True):
    """A tier, None for none, and who says so."""

    tier: int | None
    why: str
    findings: tuple[Finding, ...] = ()


def tier_of(workload: Workload, snapshot: Snapshot, policy: RightsizePolicySpec) -> Tiered:
    """By the policy, by the workload's label, by its namespace's, by the policy's default; else none."""
    for spec in matching(workload, policy):
        if spec.tier is not None:
            return Tiered(spec.tier, f"the policy says so of {spec.kind} {spec.namespace}/{spec.name}")
    label = str(policy.tier_label)
    unread: list[Finding] = []
    places = (
        (str(workload.id), workload.labels, "its label"),
        (
            f"Namespace {workload.id.namespace}",
            snapshot.namespaces.get(workload.id.namespace, {}),
            "its namespace's label",
        ),
    )
    for name, labels, who in places:
        value = labels.get(label)
        if value is None:
            continue
        tier = read_tier(value)
        if tier is not None:
            return Tiered(tier, f"{who} {label} is {value}", tuple(unread))
        unread.append(finding("tier-not-read", "warning", name, f"metadata.labels[{label}]", value=value))
    if policy.default_tier is not None:
        return Tiered(policy.default_tier, "the policy's defaultTier", tuple(unread))
    return Tiered(None, f"no label {label}, and nothing in the policy", tuple(unread))


def read_tier(value: str) -> int | None:
    """The number that a label begins with; None where that is no tier."""
    digits = value[: len(value) - len(value.lstrip("0123456789"))]
    return int(digits) if len(digits) == 1 and digits in "01234" else None


def matching(workload: Workload, policy: RightsizePolicySpec) -> Iterator[WorkloadSpec]:
    """What the policy says of a workload; the first that says a thing counts."""
    namespace, kind, name = workload.id
    for spec in policy.workloads:
        if (
            fnmatchcase(namespace, spec.namespace)
            and fnmatchcase(kind, spec.kind)
            and fnmatchcase(name, spec.name)
        ):
            yield spec


def minimum_of(workload: Workload, container: str, policy: RightsizePolicySpec) -> tuple[Amounts, str]:
    """What the estimate of a container is not below, and who says so of memory."""
    said = policy.minimums
    of_pod = floors(max(1, len(workload.containers)), Amounts(said.pod_cpu.milli, said.pod_memory.bytes))
    cpu = of_pod.cpu_millicores if said.container_cpu is None else said.container_cpu.milli
    memory = of_pod.memory_bytes if said.container_memory is None else said.container_memory.bytes
    of = [spec for spec in matching(workload, policy) if fnmatchcase(container, spec.container)]
    of_cpu = next((spec.min_cpu for spec in of if spec.min_cpu is not None), None)
    of_memory = next((spec.min_memory for spec in of if spec.min_memory is not None), None)
    who = (
        "the least that the policy says of it"
        if of_memory is not None or said.container_memory is not None
        else "this container's share of a pod's floor"
    )
    return Amounts(
        cpu if of_cpu is None else of_cpu.milli, memory if of_memory is None else of_memory.bytes
    ), who


def bounds_of(tier: int | None, policy: RightsizePolicySpec) -> tuple[Bounds, Bounds]:
    """What containers of a tier may ask for: CPU, memory."""
    found = next((spec for spec in policy.tiers if spec.tier == tier), None)
    if found is None:
        return Bounds(), Bounds()
    cpu = Bounds(
        None if found.min_cpu is None else found.min_cpu.milli,
        None if found.max_cpu is None else found.max_cpu.milli,
    )
    memory = Bounds(
        None if found.min_memory is None else found.min_memory.bytes,
        None if found.max_memory is None else found.max_memory.bytes,
    )
    return cpu, memory
