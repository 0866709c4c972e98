"""What capacity brings to Remuda."""

from remuda.job import Command, Job, KindReference, PageReference, Place, Section

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
    answered_from={"label": "capacity"},
    checkups=("remuda.capacity.checkup:check_capacity",),
    views="remuda.capacity.routes:VIEWS",
    reasons="remuda.capacity.codes:WORDS",
    prefixes=("capacity", "label"),
    permissions="remuda.capacity.permissions:PERMISSIONS",
    pages=(
        PageReference(
            "/capacity",
            "remuda.capacity.pages:capacity_page",
            "/v1/capacity/audits",
            menu="Capacity",
            query={
                "audit": "The number of an audit.",
                "label": "The label that is shown in full.",
                "ceiling": "What if: another ceiling of the label.",
                "set": "What if: the set that changes.",
                "max": "What if: another maximum of the set.",
                "min": "What if: another minimum of the set.",
                "envelope": "What if: another envelope of the set.",
                "like": "What if: one more node like this one.",
                "drain": "What if: a node that is drained.",
                "more": "What if: more changes, as on the command line.",
            },
            family="capacity",
        ),
    ),
)
