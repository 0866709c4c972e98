"""
`RunnerPool`: what a person writes about a pool.

These are the words of the file; `remuda.pools.policy` turns them into the plain numbers that `decide` reads.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from remuda.model.quantities import Quantity
from remuda.model.times import HOUR, MINUTE, Duration
from remuda.objects.kinds import Column, Rule
from remuda.objects.scalars import ClassName, Count, CronText, ObjectName, Share, ZoneName
from remuda.pools.runners import CircleciSource, KubevirtProvider
from remuda.rules.bounds import DEFAULT_MAX


class ProcessLimits(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Resource limits of a machine that is a process group on this host."""

    memory: Annotated[
        Quantity | UnsetType, Meta(description="Most memory all processes of a machine may use, like 512Mi.")
    ] = UNSET
    cpu: Annotated[
        Quantity | UnsetType,
        Meta(description="Processor share, like 2 or 500m; not enforced without a delegated cgroup v2."),
    ] = UNSET
    processes: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | UnsetType, Meta(description="Most processes and threads.")
    ] = UNSET
    open_files: Annotated[
        Annotated[int, Meta(ge=16, le=10_000_000)] | UnsetType, Meta(description="Most open files a process.")
    ] = UNSET
    file_size: Annotated[
        Quantity | UnsetType, Meta(description="Largest file a process may write, like 2Gi.")
    ] = UNSET


class ProcessProvider(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Machines that are supervised process groups on this host."""

    limits: Annotated[ProcessLimits, Meta(description="Resource limits of each machine.")] = ProcessLimits()
    env: Annotated[
        dict[str, str],
        Meta(description="Environment variables every job of this pool gets. No secrets here."),
    ] = {}
    separation: Annotated[
        Literal["required", "none"] | UnsetType,
        Meta(
            description="Left out, jobs are separated from each other by the best that the host allows. required: no"
            " machine is made where nothing does. none: jobs run as Remuda's own user, for those that need its rights."
        ),
    ] = UNSET


class Provider(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Where the pool's machines come from: exactly one of the keys."""

    process: Annotated[
        ProcessProvider | UnsetType, Meta(description="Supervised process groups on this host.")
    ] = UNSET
    kubevirt: Annotated[
        KubevirtProvider | UnsetType, Meta(description="VMs of KubeVirt; needs `remuda up --cluster`.")
    ] = UNSET


class QueueSource(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The durable job queue in the data directory."""


class Source(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Where the pool's demand comes from: exactly one of the keys."""

    queue: Annotated[QueueSource | UnsetType, Meta(description="The durable local job queue.")] = UNSET
    circleci: Annotated[
        CircleciSource | UnsetType, Meta(description="The tasks of a CircleCI resource class.")
    ] = UNSET


class Schedule(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A window of time with other bounds. The first open window wins whole; what it omits comes from the pool."""

    start: Annotated[CronText, Meta(description="When the window opens: a cron expression of five fields.")]
    end: Annotated[CronText, Meta(description="When it closes: a cron expression of five fields.")]
    timezone: Annotated[ZoneName, Meta(description="IANA time zone the expressions are in.")] = ZoneName(
        "UTC"
    )
    min: Annotated[Count | UnsetType, Meta(description="Fewest machines while the window is open.")] = UNSET
    max: Annotated[Count | UnsetType, Meta(description="Most machines while the window is open.")] = UNSET
    headroom: Annotated[Share | UnsetType, Meta(description="Warm spares while the window is open.")] = UNSET


class RunnerPoolSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What the pool serves, where its machines come from, and the bounds they are kept in."""

    class_: Annotated[ClassName, Meta(description="The class of jobs it serves, like my-org/my-runner.")] = (
        field(name="class")
    )
    source: Annotated[Source, Meta(description="Where demand comes from.")]
    provider: Annotated[Provider, Meta(description="Where machines come from, and their template.")]
    min: Annotated[
        Count | UnsetType, Meta(description="Fewest machines. 3 by default, 0 under a ceiling.")
    ] = UNSET
    max: Annotated[Count, Meta(description="Most machines.")] = DEFAULT_MAX
    headroom: Annotated[
        Share,
        Meta(
            description="Warm spares beyond the load while there is any: a count, or a percentage of the load."
        ),
    ] = Share(0)
    max_surge: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)] | UnsetType,
        Meta(description="Most machines that may be booting at once. No limit by default."),
    ] = UNSET
    scale_down_delay: Annotated[
        Duration, Meta(description="How long demand must stay low before machines are given up.")
    ] = Duration(0)
    schedules: Annotated[
        tuple[Schedule, ...],
        Meta(max_length=64, description="Windows with other bounds, first open one wins."),
    ] = ()
    scale_in: Annotated[
        Literal["active", "natural"],
        Meta(description="active removes surplus idle machines; natural never removes an unused machine."),
    ] = "active"
    idle_window: Annotated[
        Duration | UnsetType,
        Meta(
            description="How far apart two idle readings must be. 0s for an exact source, 60s by default elsewhere."
        ),
    ] = UNSET
    idle_timeout: Annotated[
        Duration | UnsetType,
        Meta(description="A machine without work for this long ends itself. Never by default."),
    ] = UNSET
    single_task: Annotated[
        bool, Meta(description="true: a machine runs one job and is replaced. false: machines are reused.")
    ] = True
    max_uses: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | UnsetType,
        Meta(description="Jobs a reused machine takes before it is replaced."),
    ] = UNSET
    boot_timeout: Annotated[Duration, Meta(description="A machine not ready after this long has failed.")] = (
        Duration(10 * MINUTE)
    )
    job_timeout: Annotated[
        Duration, Meta(description="Longest a job may run unless it says otherwise itself.")
    ] = Duration(6 * HOUR)
    ceiling: Annotated[ObjectName | UnsetType, Meta(description="The Ceiling this pool is under.")] = UNSET


class RunnerPoolStatus(Struct, frozen=True, rename="camel"):
    """How the pool fares, as of the last cycle that changed it."""

    wanted: Annotated[int, Meta(description="Machines it aims for, after its ceiling.")] = 0
    ready: Annotated[int, Meta(description="Machines that work or could work now.")] = 0
    busy: Annotated[int, Meta(description="Machines that work.")] = 0
    booting: Annotated[int, Meta(description="Machines being made.")] = 0
    waiting: Annotated[int, Meta(description="Tasks nobody has claimed.")] = 0
    old: Annotated[int, Meta(description="Machines that still have an older template.")] = 0
    why: Annotated[str, Meta(description="Why it is so, in words.")] = ""


def _only_one(spec: type[Struct]) -> str:
    """CEL for: exactly one of the keys."""
    count = " + ".join(f"(has(self.{name}) ? 1 : 0)" for name in spec.__struct_encode_fields__)
    return f"{count} == 1"


_MOST = "(has(self.max) ? self.max : 10)"

RUNNER_POOL_RULES = (
    Rule("", f"!has(self.min) || self.min <= {_MOST}", "min is more than max"),
    Rule(
        "",
        "!has(self.maxUses) || (has(self.singleTask) && !self.singleTask)",
        "maxUses is for reused machines only",
    ),
    Rule(
        "",
        "!has(self.schedules) || self.schedules.all(s, has(s.min) || has(s.max) || has(s.headroom))",
        "a schedule changes nothing: give it min, max or headroom",
    ),
    Rule("source", _only_one(Source), "source wants exactly one key"),
    Rule("provider", _only_one(Provider), "provider wants exactly one key"),
    Rule(
        "",
        "has(self.source.circleci) == has(self.provider.kubevirt)",
        "circleci and kubevirt go together: tasks of CircleCI are served by VMs that claim them",
    ),
    Rule(
        "",
        "!has(self.source.circleci) || self.class == oldSelf.class",
        "the class of CircleCI runners cannot be changed: who of the VMs works would not be known; make another pool",
    ),
    Rule(
        "",
        "!has(self.source.circleci) || !has(self.singleTask) || self.singleTask",
        "a CircleCI runner takes one task: leave singleTask out",
    ),
    Rule(
        "provider.kubevirt",
        "has(self.spec) != has(self.provisioner)",
        "kubevirt wants exactly one of spec, provisioner",
    ),
    Rule(
        "provider.kubevirt",
        "has(self.spec) == has(self.token)",
        "kubevirt wants a token with its spec, and none with provisioner",
    ),
)
RUNNER_POOL_COLUMNS = (
    Column("Desired", "integer", ".status.wanted"),
    Column("Ready", "integer", ".status.ready"),
    Column("Busy", "integer", ".status.busy"),
    Column("Waiting", "integer", ".status.waiting"),
    Column("Ceiling", "string", ".spec.ceiling"),
)
