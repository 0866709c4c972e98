"""What tiers bring to Remuda."""

from remuda.job import Command, Job, KindReference, Section

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
    },
    reasons="remuda.tiers.codes:CODES",
    prefixes=("tiers", "tier"),
)
