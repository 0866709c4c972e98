"""Every kind of object there is, and the checks between them: what `up`, `validate` and `explain` know."""

from collections.abc import Iterable
from pathlib import Path

from remuda.capacity.policy import CAPACITY_POLICY
from remuda.fleet.objects import FLEET_KINDS
from remuda.objects.ceiling import CEILING
from remuda.objects.kinds import Kind, Kinds
from remuda.objects.load import Loaded, load_files
from remuda.pools.objects import RUNNER_POOL_COLUMNS, RUNNER_POOL_RULES, RunnerPoolSpec, RunnerPoolStatus
from remuda.pools.policy import check_objects, check_pool
from remuda.rightsize.objects import RIGHTSIZE_POLICY

#: what `up` follows in a cluster
FOLLOWED: Kinds = (
    Kind(
        "RunnerPool",
        "runnerpools",
        RunnerPoolSpec,
        ("rp", "pool"),
        check_pool,
        rules=RUNNER_POOL_RULES,
        columns=RUNNER_POOL_COLUMNS,
        status=RunnerPoolStatus,
    ),
    CEILING,
)
#: what a cluster keeps, and what `up` reads from files: policies are for people and audits
KINDS: Kinds = (*FOLLOWED, CAPACITY_POLICY)
#: also those that only files hold, which no cluster keeps and `up` does not run
EVERY_KIND: Kinds = (*KINDS, *FLEET_KINDS, RIGHTSIZE_POLICY)
CHECKS = (check_objects,)


def load(paths: Iterable[str | Path]) -> Loaded:
    """Load files and directories of what `up` runs, with every check there is."""
    return load_files(paths, KINDS, CHECKS)


def load_any(paths: Iterable[str | Path]) -> Loaded:
    """Load files and directories of every kind there is, with every check."""
    return load_files(paths, EVERY_KIND, CHECKS)
