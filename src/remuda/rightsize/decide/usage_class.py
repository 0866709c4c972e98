"""How even the use of memory is: what its multiplier follows."""

from collections.abc import Sequence

from msgspec import Struct

from remuda.model.findings import Finding
from remuda.model.quantities import Quantity
from remuda.rightsize.decide.days import whole_days
from remuda.rightsize.decide.findings import finding
from remuda.rightsize.decide.tiers import matching
from remuda.rightsize.evidence import Evidence
from remuda.rightsize.objects import RightsizePolicySpec
from remuda.rightsize.review import UsageClass
from remuda.rightsize.snapshot import Container, Workload

_CLASSES: dict[str, UsageClass] = {"stable": "stable", "volatile": "volatile", "gpu": "gpu"}
#: GPUs, TPUs, Gaudi and Neuron: what is on them is not in the memory that is measured
_ACCELERATORS = (
    "nvidia.com/gpu", "nvidia.com/mig-", "amd.com/gpu", "gpu.intel.com/", "google.com/tpu", "habana.ai/gaudi",
    "aws.amazon.com/neuron",
)  # fmt: skip
#: daily peaks that vary by more than a fourth of their mean are volatile
_MOST_VARIATION = 4


class Judged(Struct, frozen=True):
    """A class of use, and why."""

    usage_class: UsageClass
    why: str
    findings: tuple[Finding, ...] = ()


def usage_class_of(
    workload: Workload,
    container: Container,
    evidence: Evidence | None,
    policy: RightsizePolicySpec,
    gpus: tuple[str, ...] = (),
) -> Judged:
    """
    By the policy, by the workload's label, by a GPU, by how much the daily peaks vary; stable where none says so.

    `gpus` are resources that TierPolicies call GPUs, beside those that everybody does.
    """
    for spec in matching(workload, policy):
        if spec.class_ is not None:
            return Judged(spec.class_, f"the policy says so of {spec.kind} {spec.namespace}/{spec.name}")
    label = str(policy.class_label)
    value = workload.labels.get(label)
    if value in _CLASSES:
        return Judged(_CLASSES[value], f"its label {label} says so")
    where = f"metadata.labels[{label}]"
    unread = () if value is None else (finding("class-not-read", "warning", workload.id, where, value=value),)
    gpu = next(
        (name for name, amount in sorted(container.others.items()) if _is_gpu(name, amount, gpus)), None
    )
    if gpu is not None:
        return Judged("gpu", f"it has {container.others[gpu]} of {gpu}", unread)
    if container.claims:
        return Judged("gpu", f"it claims the device {container.claims[0]}", unread)
    usage_class, why = _by_peaks(evidence)
    return Judged(usage_class, why, unread)


def _by_peaks(evidence: Evidence | None) -> tuple[UsageClass, str]:
    days = () if evidence is None else whole_days(evidence)
    peaks = [day.peak for day in days]
    if len(peaks) < 2:
        return (
            "stable",
            f"{'one whole day is' if peaks else 'no whole day is'} known: daily peaks cannot be compared",
        )
    words = f"{len(peaks)} daily peaks vary by {variation(peaks):.3f} of their mean"
    if is_volatile(peaks):
        return "volatile", f"{words}, more than 0.25"
    return "stable", f"{words}, not more than 0.25"


def is_volatile(peaks: Sequence[int]) -> bool:
    """Whether the coefficient of variation (standard deviation of them all ÷ mean) exceeds 1/4, exactly."""
    total, squares = sum(peaks), sum(peak * peak for peak in peaks)
    return _MOST_VARIATION**2 * (len(peaks) * squares - total * total) > total * total


def variation(peaks: Sequence[int]) -> float:
    """The coefficient of variation, to be shown."""
    total, squares = sum(peaks), sum(peak * peak for peak in peaks)
    return float((len(peaks) * squares - total * total) ** 0.5 / total) if total else 0.0


def _is_gpu(name: str, amount: str, gpus: tuple[str, ...]) -> bool:
    try:
        return (name in gpus or name.startswith(_ACCELERATORS)) and bool(Quantity.parse(amount))
    except ValueError:
        return False
