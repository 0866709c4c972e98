"""Every kind of object there is, and the checks between them: what `up`, `validate` and `explain` know."""

from collections.abc import Iterable
from pathlib import Path

from remuda.objects.ceiling import CEILING
from remuda.objects.kinds import Kind, Kinds
from remuda.objects.load import Loaded, load_files
from remuda.pools.objects import RUNNER_POOL_COLUMNS, RUNNER_POOL_RULES, RunnerPoolSpec, RunnerPoolStatus
from remuda.pools.policy import check_objects, check_pool

KINDS: Kinds = (
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
CHECKS = (check_objects,)


def load(paths: Iterable[str | Path]) -> Loaded:
    """Load files and directories with every check there is."""
    return load_files(paths, KINDS, CHECKS)
