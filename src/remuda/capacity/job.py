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
        "why label": Command(
            "remuda.capacity.why_commands:label",
            "Why a label has the runners it has, and what holds it.",
        ),
    },
    subjects={"label": "remuda.capacity.why_commands:known_labels"},
    checkups=("remuda.capacity.checkup:check_capacity",),
    views="remuda.capacity.routes:VIEWS",
    reasons="remuda.capacity.codes:WORDS",
    prefixes=("capacity", "label"),
    permissions="remuda.capacity.permissions:PERMISSIONS",
)
