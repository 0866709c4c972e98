"""One container on its way through the rules: what is known of it and what bounds it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.evidence import Evidence, OomKill
from remuda.rightsize.objects import RightsizePolicySpec
from remuda.rightsize.review import UsageClass
from remuda.rightsize.snapshot import Ask, Autoscaler, Container, InitContainer, LimitRange, Size, Workload

Resource: TypeAlias = Literal["cpu", "memory"]


class Bounds(Struct, frozen=True):
    """The least and the most of one resource by the policy's tier."""

    least: int | None = None
    most: int | None = None


class SizingTier(Struct, frozen=True):
    """What a tier means for sizes."""

    #: as sentences say it: a tier of a TierPolicy by its name, else the digit
    name: str
    #: the digit that its name begins with, from 0 to 4
    number: int | None
    #: whether a memory request may be below its limit
    is_burst: bool
    #: who bounds it
    who: str
    #: whether it is a TierPolicy's
    is_named: bool = False
    cpu: Bounds = Bounds()
    memory: Bounds = Bounds()


class ContainerContext(Struct, frozen=True):
    """A container with evidence, and everything that is looked at to judge it."""

    workload: Workload
    container: Container
    evidence: Evidence
    policy: RightsizePolicySpec
    strategy: str
    #: when the world was as it is, and since when use and kills count
    now: Second
    since: Second
    tier: SizingTier | None
    usage_class: UsageClass
    #: those of containers of its namespace, by name
    ranges: tuple[LimitRange, ...]
    #: within the history, in the order of time
    kills: tuple[OomKill, ...]
    #: what counts use of a resource of this container against its request
    autoscalers: dict[Resource, Autoscaler]
    #: the quota that refuses pods without a CPU limit
    wants_cpu_limit: str = ""
    #: those of pods of its namespace, by name
    pod_ranges: tuple[LimitRange, ...] = ()
    #: what its namespace gives to containers that do not say
    defaults: Size = field(default_factory=Size)

    @property
    def size(self) -> Size:
        """What it asks for now, as it is written."""
        return self.container.size

    @property
    def effective(self) -> Size:
        """What it has in the end, as the API server makes it: this is what its use is judged by."""
        return counted(self.size, self.defaults)

    @property
    def is_guaranteed(self) -> bool:
        """Whether its memory is requested in full: in tiers that do not burst, and always by KRR's rule."""
        return self.strategy == "krr" or requests_limit(self.tier)

    @property
    def is_advice(self) -> bool:
        """Whether all that is known is an advisor's word."""
        return is_advice(self.evidence)


def requests_limit(tier: SizingTier | None) -> bool:
    """Whether a tier wants memory to be requested in full; what has no tier may burst."""
    return tier is not None and not tier.is_burst


def is_advice(evidence: Evidence) -> bool:
    """Whether all there is is an advisor's word: an estimate without samples."""
    return evidence.origin.startswith("vpa") and not (evidence.cpu_samples or evidence.memory_samples)


def requested(size: Size, resource: Resource) -> int | None:
    """What counts as requested: where only a limit is set, the API server makes it the request, too."""
    if resource == "cpu":
        return (
            size.limits.cpu_millicores
            if size.requests.cpu_millicores is None
            else size.requests.cpu_millicores
        )
    return size.limits.memory_bytes if size.requests.memory_bytes is None else size.requests.memory_bytes


def filled(ask: Ask, by: Ask) -> Ask:
    """What is set, and else what something gives."""
    return Ask(
        by.cpu_millicores if ask.cpu_millicores is None else ask.cpu_millicores,
        by.memory_bytes if ask.memory_bytes is None else ask.memory_bytes,
    )


def counted(size: Size, defaults: Size) -> Size:
    """What a container asks for in the end: a limit alone is its request, and what is not set is given."""
    own = Ask(requested(size, "cpu"), requested(size, "memory"))
    return Size(filled(own, defaults.requests), filled(size.limits, defaults.limits))


def reserved(
    amounts: Mapping[str, int],
    initial: Iterable[InitContainer],
    of: Callable[[Size], int | None],
    defaults: Size,
) -> int:
    """
    What a pod reserves of one value, by what each of its containers asks for.

    That is the sum, or more while an init container runs: what that asks for beside the sidecars that run by then.
    """
    most = sum(amounts.values())
    for each in initial:
        beside = sum(amounts.get(name, 0) for name in each.sidecars)
        most = max(most, (of(counted(each.size, defaults)) or 0) + beside)
    return most
