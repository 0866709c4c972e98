"""What diagnosis brings to Remuda."""

from remuda.job import Command, Job

JOB = Job(
    name="diagnose",
    commands={
        "diagnose": Command(
            "remuda.diagnose.everything:everything",
            "Find out why something does not do what is wanted, and what to do.",
        ),
        "diagnose pools": Command(
            "remuda.diagnose.commands:pools", "Check pools, from the controller down to their guests."
        ),
        "diagnose kubevirt": Command(
            "remuda.diagnose.commands:kubevirt", "Check KubeVirt: whether it is whole, and nodes can run VMs."
        ),
        "diagnose host": Command(
            "remuda.diagnose.commands:host",
            "Check how jobs that run as processes are separated and limited here.",
        ),
        "diagnose metrics": Command(
            "remuda.diagnose.commands:metrics",
            "Check whether workloads are measured well enough to size them.",
        ),
    },
    checkups=(
        "remuda.diagnose.checkups:check_here",
        "remuda.diagnose.checkups:check_host",
        "remuda.diagnose.checkups:check_cluster",
    ),
    permissions="remuda.diagnose.permissions:PERMISSIONS",
)
