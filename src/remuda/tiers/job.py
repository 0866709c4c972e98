"""What tiers bring to Remuda."""

from remuda.job import Command, Job, KindReference, PageReference, Section

JOB = Job(
    name="tiers",
    kinds=(KindReference("TierPolicy", "tierpolicies", "remuda.objects.tiers:TIER_POLICY", ("tp",)),),
    check="remuda.objects.tier_checks:check_policies",
    commands={
        "tiers": Command(
            "remuda.tiers.commands:tiers",
            "Give every namespace the limits, quota and priority of its tier, and audit what pods get.",
            Section.PLAN,
        ),
        "simulate tiers": Command(
            "remuda.sim.tier_commands:tiers",
            "Namespaces that are kept to their tiers, with other hands in them and an API that fails.",
        ),
        "why pod": Command(
            "remuda.tiers.why_commands:pod", "Why a pod is refused, waits, was preempted, killed or evicted."
        ),
        "why namespace": Command(
            "remuda.tiers.why_commands:namespace",
            "Why a namespace has its tier, what its quotas leave, and what is not as its tier says.",
        ),
        "why node": Command(
            "remuda.tiers.why_commands:node",
            "Why a node is short of memory: what its pods use, and what is used beside them.",
        ),
    },
    subjects={kind: f"remuda.tiers.why_commands:known_{kind}s" for kind in ("pod", "namespace", "node")},
    checkups=("remuda.tiers.checkup:check_tiers",),
    views="remuda.tiers.routes:VIEWS",
    reasons="remuda.tiers.codes:CODES",
    prefixes=("tiers", "tier"),
    permissions="remuda.tiers.permissions:PERMISSIONS",
    loops=("tiers",),
    replay="remuda.tiers.replay:TiersReplay",
    runtime="remuda.tiers.runtime:TiersRuntime",
    pages=(
        PageReference(
            "/tiers",
            "remuda.tiers.pages:tiers_page",
            "/v1/tiers/audits",
            menu="Tiers",
            query={
                "audit": "The number of an audit.",
                "node": "The node whose order of eviction is shown.",
            },
        ),
    ),
)
