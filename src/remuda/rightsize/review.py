"""
A review: what every workload should ask for, as a program reads it. The schema is `remuda.dev/rightsize-review/v1`.

Keys are only ever added within a version. A review is kept, compared with the next, shown, and made patches of.
"""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from remuda.model.findings import Severity
from remuda.model.times import Instant
from remuda.output.steps import Step
from remuda.rightsize.evidence import Evidence
from remuda.rightsize.snapshot import Size

SCHEMA = "remuda.dev/rightsize-review/v1"
#: what `usage` of a review is that goes by the word of advisors alone
ADVISED = "vpa objects"

Direction: TypeAlias = Literal["raise", "lower", "set", "remove"]
#: how even the use of memory is
UsageClass: TypeAlias = Literal["stable", "volatile", "gpu"]
Risk: TypeAlias = Literal["", "will-oom", "leak", "starved"]
Verdict: TypeAlias = Annotated[
    Literal["raise", "lower", "keep", "leave"],
    Meta(description="leave: it should not, or cannot be said, for a reason in the findings."),
]


class Finding(Struct, frozen=True):
    """Something to know before, or instead of, changing a size, in words: where, what is, what should be, how to fix it."""

    rule: str
    severity: Severity
    #: kind, namespace/name
    object: str
    field: str
    is_: str = msgspec.field(name="is")
    should: str
    fix: str


class Waste(Struct, frozen=True, gc=False, rename="camel"):
    """What is requested beyond the recommendation by all replicas; below zero is what is missing."""

    cpu_millicores: int = 0
    memory_bytes: int = 0
    #: a month of 730 hours, in the policy's currency; None without prices
    monthly: float | None = None


class ContainerReview(Struct, frozen=True, rename="camel"):
    """What one container should ask for, and why."""

    name: str
    now: Size
    #: what it should be; a value that should not be set is None
    recommended: Size
    verdict: Verdict
    #: serialized as `evenness`, as stored reviews have it
    usage_class: UsageClass = msgspec.field(default="stable", name="evenness")
    risk: Risk = ""
    #: too little data, under a day of a sample a minute: shown, and left out of patches
    is_provisional: bool = False
    is_sidecar: bool = False
    #: limits of other resources, as written
    others: dict[str, str] = {}
    #: what the rule of the Vertical Pod Autoscaler with its multiplier gives before clamps, and what KRR's gives
    vpa_rule: Size = Size()
    krr_rule: Size | None = None
    #: how each number came about
    steps: tuple[Step, ...] = ()
    #: rules of findings that are about it
    rules: tuple[str, ...] = ()
    evidence: Evidence | None = None
    #: requests of other resources, as written
    other_requests: dict[str, str] = {}
    #: where it stands among `containers` of the template, a sidecar among `initContainers`; None is not known
    index: int | None = None
    #: `requests` and `limits` as the template has them, resource → quantity; None is not known
    written: dict[str, dict[str, str]] | None = None
    #: what LimitRanges of its namespace give it where it does not say
    defaults: Size = msgspec.field(default=Size(), name="given")
    #: what becomes of each value that changes: `requests.memory` → raise, `limits.memory` → lower
    directions: dict[str, Direction] = {}


class WorkloadReview(Struct, frozen=True, rename="camel"):
    """A workload with its containers, the one that matters most first in a review."""

    namespace: str
    kind: str
    name: str
    replicas: int
    tier: int | None
    containers: tuple[ContainerReview, ...]
    risk: Risk = ""
    waste: Waste = Waste()
    #: names of all `initContainers` of the template in their order, sidecars and those that end
    init_containers: tuple[str, ...] = ()
    #: its tier by the name that a TierPolicy gives it; `tier` is the digit that this begins with, if it does
    tier_name: str = ""

    @property
    def shown_tier(self) -> str:
        """Its tier as people read it; nothing where it has none."""
        return self.tier_name or ("" if self.tier is None else str(self.tier))


class Review(Struct, frozen=True, rename="camel"):
    """All workloads that were looked at, what is wrong, and what it comes to."""

    at: Instant
    source: str
    #: where use is from
    usage: str
    strategy: str
    #: how far back, in seconds
    history: int
    workloads: tuple[WorkloadReview, ...]
    findings: tuple[Finding, ...] = ()
    waste: Waste = Waste()
    currency: str = ""
    #: a part could not be read: what is missing is in the findings
    is_partial: bool = False
    schema: str = SCHEMA
