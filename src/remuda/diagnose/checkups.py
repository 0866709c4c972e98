"""What `remuda diagnose` without a word looks at beside what other jobs bring: this data directory, host and cluster."""

import asyncio
import os
from collections.abc import Callable, Iterator

from remuda.control.about import About
from remuda.control.command import Session
from remuda.diagnose.decide import judge_pools
from remuda.diagnose.decide.here import judge_here, judge_process
from remuda.diagnose.decide.host import judge_host
from remuda.diagnose.decide.verdicts import Seen
from remuda.diagnose.job import JOB
from remuda.diagnose.observe.here import Looker
from remuda.errors import BadInput, RemudaError
from remuda.job import load
from remuda.kube.config import find_access
from remuda.loop.clock import SystemClock
from remuda.model.checks import CheckResult
from remuda.objects.load import Objects


def check_here(session: Session, progress: Callable[[str], None]) -> Iterator[CheckResult]:
    """The data directory, and the process that works with it."""
    found = Looker(session, progress).look()
    return judge_here(found) if session.server is None else judge_process(found)


def check_host(session: Session, progress: Callable[[str], None]) -> Iterator[CheckResult]:
    """What holds jobs in on this host; of a server somewhere else nothing can be said."""
    if session.server is not None:
        return
    objects = objects_in_force(session)
    progress("what this host allows")
    look_at_host = load(session.jobs.backends[JOB.name][1].make)
    yield from judge_host(look_at_host(objects or Objects(), session.data_dir))


def objects_in_force(session: Session) -> Objects | None:
    """The objects of the files that a running Remuda was started with; None where they cannot be read from here."""
    try:
        files = session.remuda.get("/v1/about", About).files
    except RemudaError:
        return None
    loaded = session.jobs.load(files) if files else None
    return None if loaded is None or loaded.problems else loaded.objects


def check_cluster(session: Session, progress: Callable[[str], None]) -> Iterator[CheckResult]:
    """Pools in the cluster of the kubeconfig, or the one we run in, where Remuda's kinds are installed."""
    try:
        access = find_access(os.environ, SystemClock())
    except BadInput:
        return  # no cluster is known, and none is needed
    from remuda.diagnose.cluster_checkup import TIMEOUT_S, look_at_cluster  # noqa: PLC0415 - a laptop does not pay for it

    progress("the cluster")
    try:
        snapshot = asyncio.run(look_at_cluster(session, access, progress))
    except (RemudaError, TimeoutError) as error:
        words = str(error) or f"it did not answer within {TIMEOUT_S:.0f} s"
        yield Seen("cluster").unknown(f"the cluster at {access.server} could not be asked", (words,))
        return
    if snapshot is None:
        yield Seen("cluster").ok(
            f"the cluster at {access.server} knows no kinds of Remuda: nothing to check there"
        )
        return
    yield from judge_pools(snapshot)
