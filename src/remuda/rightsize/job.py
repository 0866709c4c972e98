"""What right-sizing brings to Remuda."""

from remuda.job import Command, Job, KindReference, PageReference, Place, Section

JOB = Job(
    name="rightsize",
    kinds=(
        KindReference(
            "RightsizePolicy",
            "rightsizepolicies",
            "remuda.rightsize.objects:RIGHTSIZE_POLICY",
            ("rsp",),
            Place.FILES,
        ),
    ),
    check="remuda.rightsize.tier_policies:check_tiers",
    commands={
        "rightsize": Command(
            "remuda.rightsize.commands:rightsize",
            "The size each workload really needs, from what it used.",
            Section.PLAN,
        ),
        "why workload": Command(
            "remuda.rightsize.why_commands:workload",
            "Why a workload should have the size that a review advises.",
        ),
    },
    subjects={"workload": "remuda.rightsize.questions:known_workloads"},
    report=("remuda.rightsize.lead:size_sections",),
    reasons="remuda.rightsize.codes:CODES",
    prefixes=("rightsize",),
    permissions="remuda.rightsize.permissions:PERMISSIONS",
    pages=(
        PageReference(
            "/sizes",
            "remuda.rightsize.pages:sizes_page",
            "/v1/documents",
            menu="Sizes",
            query={
                "review": "The number of a review.",
                "sort": "By what workloads are sorted; with - before it the other way.",
                "namespace": "Only workloads of this namespace.",
                "risk": "Only workloads of this risk.",
                "find": "Only workloads with these words in their names, kinds or verdicts.",
            },
            family="rightsize",
        ),
        PageReference(
            "/sizes/workload",
            "remuda.rightsize.pages:workload_page",
            "/v1/documents",
            query={"review": "The number of a review.", "name": "NAMESPACE/KIND/NAME of a workload."},
            family="rightsize",
        ),
    ),
)
