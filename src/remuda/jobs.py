"""
The jobs there are.

A new job is a package with a `JOB` and one line here; a new source or provider is an adapter, in a backend that a line
here hands to its job.
"""

from remuda.capacity.job import JOB as CAPACITY
from remuda.diagnose.job import JOB as DIAGNOSE
from remuda.fleet.job import JOB as FLEET
from remuda.job import BackendReference, Jobs
from remuda.pools.job import JOB as POOLS
from remuda.rightsize.job import JOB as RIGHTSIZE
from remuda.sources.queue.job import JOB as QUEUE
from remuda.tiers.job import JOB as TIERS

JOBS = Jobs(
    jobs=(QUEUE, POOLS, DIAGNOSE, FLEET, CAPACITY, TIERS, RIGHTSIZE),
    backends={
        DIAGNOSE.name: (
            BackendReference("remuda.backends.circleci_questions:ask_circleci"),
            BackendReference("remuda.backends.process_questions:look_at_host"),
        ),
        POOLS.name: (
            BackendReference(
                "remuda.backends.queue_processes:QueueOnProcesses",
                tables="remuda.sources.queue.schema:TABLES",
                remarks="remuda.backends.queue_processes:remarks",
            ),
            BackendReference(
                "remuda.backends.circleci_kubevirt:CircleciOnKubevirt",
                permissions="remuda.providers.kubevirt.permissions:PERMISSIONS",
                needs_cluster=True,
            ),
        ),
    },
)
