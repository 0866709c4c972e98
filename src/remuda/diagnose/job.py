"""What diagnosis brings to Remuda."""

from remuda.job import Command, Job

JOB = Job(
    name="diagnose",
    commands={
        "diagnose pools": Command(
            "remuda.cli.diagnose:pools", "Check pools, from the controller down to their guests."
        ),
        "diagnose kubevirt": Command(
            "remuda.cli.diagnose:kubevirt", "Check KubeVirt: whether it is whole, and nodes can run VMs."
        ),
        "diagnose metrics": Command(
            "remuda.cli.diagnose:metrics", "Check whether workloads are measured well enough to size them."
        ),
    },
    permissions="remuda.diagnose.permissions:PERMISSIONS",
)
