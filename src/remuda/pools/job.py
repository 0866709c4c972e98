"""What pools bring to Remuda."""

from remuda.job import Command, Job, KindReference, PageReference, PanelReference, Section

JOB = Job(
    name="pools",
    kinds=(
        KindReference("RunnerPool", "runnerpools", "remuda.pools.policy:RUNNER_POOL", ("rp", "pool")),
        KindReference("Ceiling", "ceilings", "remuda.objects.ceiling:CEILING", ("ceil",)),
    ),
    check="remuda.pools.policy:check_objects",
    commands={
        "pools": Command("remuda.pools.commands:pools", "Look at pools and steer them.", Section.RUN),
        "machines": Command("remuda.pools.commands:machines", "Look at machines.", Section.RUN),
        "top": Command(
            "remuda.pools.commands:top", "A live view of pools, machines, jobs and decisions.", Section.RUN
        ),
        "why pool": Command("remuda.pools.why_commands:pool", "Why a pool has as many machines as it has."),
        "why machine": Command("remuda.pools.why_commands:machine", "Why a machine was made or removed."),
        "why job": Command("remuda.pools.why_commands:job", "Why a job waits, runs or ended as it did."),
        "simulate pools": Command(
            "remuda.sim.commands:pools", "Pools, their queue and their machines, with faults and crashes."
        ),
        "simulate runners": Command(
            "remuda.sim.commands:runners", "CircleCI runners on VMs, with an API that fails."
        ),
        "import provisioner-values": Command(
            "remuda.pools.import_commands:provisioner_values", "Pools from values of Runner Provisioner."
        ),
    },
    subjects={
        "pool": "remuda.pools.questions:known_pools",
        "machine": "remuda.pools.questions:known_machines",
        "job": "remuda.pools.questions:known_jobs",
    },
    report=("remuda.sim.sections:pool_sections",),
    checkups=("remuda.pools.checkup:check_pools",),
    views="remuda.pools.routes:VIEWS",
    reasons="remuda.pools.codes:CODES",
    prefixes=("pool", "machine"),
    permissions="remuda.pools.permissions:PERMISSIONS",
    loops=("pools",),
    replay="remuda.pools.replay:PoolsReplay",
    runtime="remuda.pools.runtime:PoolsRuntime",
    live_view="remuda.pools.top:watch",
    pages=(
        PageReference("/pools", "remuda.pools.pages:pools_page", "/v1/pools", menu="Pools"),
        PageReference(
            "/pools/{pool}",
            "remuda.pools.pages:pool_page",
            "/v1/pools/{pool}",
            query={"span": "How much of the past is shown."},
        ),
    ),
    panel=PanelReference("remuda.pools.pages:now_panel", "/v1/pools"),
)
