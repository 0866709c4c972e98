"""What capacity brings to Remuda."""

from remuda.job import Command, Job, KindReference, Place, Section

JOB = Job(
    name="capacity",
    kinds=(
        KindReference(
            "CapacityPolicy",
            "capacitypolicies",
            "remuda.capacity.policy:CAPACITY_POLICY",
            ("cap",),
            Place.KEPT,
        ),
    ),
    commands={
        "capacity": Command(
            "remuda.capacity.commands:capacity",
            "Audit, plan and guard what runner scale sets that share a label take together.",
            Section.PLAN,
        ),
    },
    reasons="remuda.capacity.codes:CODES",
    prefixes=("capacity",),
    permissions="remuda.capacity.permissions:PERMISSIONS",
)
