"""What `remuda diagnose` says of pools and their queue, from the last recorded cycle: whether or not anything runs."""

from collections import Counter
from collections.abc import Callable, Iterator

from remuda.control.client import NothingRuns
from remuda.control.command import Session
from remuda.errors import BadInput, RemudaError
from remuda.model.checks import CheckResult
from remuda.model.jobs import Job, JobList, JobState, QueueHosts
from remuda.output.moments import age
from remuda.pools.views import PoolsView, PoolView

_CONSOLE = "see what its machines said: remuda machines list --pool {name}, remuda machines console MACHINE"
_WHY = "remuda why pool {name} --history says since when, and what came before"
#: codes of pools that do not get what they want because something is wrong, and what to do
_WRONG = {
    "pool.failing": (_CONSOLE, _WHY),
    "pool.backing-off": (_CONSOLE, _WHY),
    "pool.provider-silent": ("see that its provider can be reached, and why it could not in the log", _WHY),
    "pool.source-silent": ("see that its source can be reached and its token is right", _WHY),
    "pool.held-by-stale": ("see that its source can be reached and its token is right", _WHY),
    "pool.broken": ("remuda validate FILE names what is wrong with its object",),
    "pool.surplus-undrainable": (_WHY,),
}
#: codes of pools whose machines a person holds back
_BY_HAND = frozenset({"pool.paused", "pool.draining", "pool.drained"})
#: codes of pools that a setting keeps from more
_HELD = frozenset(
    {"pool.held-by-max", "pool.held-by-ceiling", "pool.over-ceiling", "pool.held-by-concurrency"}
)
_MOST_JOBS = 1_000


def check_pools(session: Session, progress: Callable[[str], None]) -> Iterator[CheckResult]:
    """Whether pools get what they want, and jobs a pool; nothing where no pool was ever decided about."""
    progress("pools and their queue")
    try:
        view = session.remuda.get("/v1/pools", PoolsView)
    except BadInput:
        return  # there is no store that could be read: another check says so
    if not view.pools:
        return
    yield judge_pools(view)
    try:
        waiting = session.remuda.get("/v1/jobs", JobList, most=_MOST_JOBS, state=JobState.WAITING)
    except RemudaError:
        return  # no job is handed in here: all pools have other sources
    served = _served_elsewhere(session)
    yield judge_queue(view, waiting.jobs, waiting.total, session.now(), runs=_runs(session), elsewhere=served)


def _served_elsewhere(session: Session) -> frozenset[str]:
    """The classes that other hosts of a shared queue serve."""
    try:
        found = session.remuda.get("/v1/queue/hosts", QueueHosts).hosts
    except RemudaError:
        return frozenset()
    return frozenset(name for host in found if not host.is_ended for name in host.classes)


def _runs(session: Session) -> bool:
    try:
        session.remuda.get("/v1/loops", dict)
    except NothingRuns:
        return False
    return True


def judge_pools(view: PoolsView) -> CheckResult:
    """Whether something keeps a pool from what it wants that nobody asked for."""
    wrong, fixes, held = [], dict[str, None](), []
    for pool in view.pools:
        advice = _WRONG.get(pool.code)
        if pool.code in _BY_HAND and pool.waiting:
            advice = (f"remuda pools resume {pool.name}, when its jobs should run",)
        if advice:
            wrong.append(f"{pool.why}{_waiting(pool)}")
            fixes |= dict.fromkeys(text.format(name=pool.name) for text in advice)
        elif pool.code in _HELD or pool.code in _BY_HAND:
            held.append(f"{pool.why}{_waiting(pool)}")
    if wrong:
        return CheckResult(
            "pools", "problem", "a pool does not get what it wants", tuple(wrong + held), tuple(fixes)
        )
    what = f"{len(view.pools)} pool{'s' * (len(view.pools) != 1)} in order"
    return CheckResult("pools", "ok", f"{what}, {len(held)} at a limit" if held else what, tuple(held))


def judge_queue(
    view: PoolsView,
    waiting: tuple[Job, ...],
    total: int,
    now: int,
    *,
    runs: bool,
    elsewhere: frozenset[str] = frozenset(),
) -> CheckResult:
    """
    Whether every job that waits has a pool that will take it. `waiting` are the newest of all that wait.

    `elsewhere` are classes that other hosts serve.
    """
    served = {pool.job_class for pool in view.pools} | elsewhere
    unserved = Counter(job.job_class for job in waiting if job.job_class not in served)
    evidence = [
        f"{count} job{'s' * (count != 1)} of class {name} wait{'s' * (count == 1)}, and no pool serves it"
        for name, count in sorted(unserved.items())
    ]
    fixes = []
    if unserved:
        classes = ", ".join(sorted(served))
        fixes = [f"give a RunnerPool that class, or cancel them and submit to one of: {classes}"]
    if waiting and not runs:
        evidence.insert(0, f"{total} job{'s' * (total != 1)} wait{'s' * (total == 1)}, and no remuda runs")
        fixes.insert(0, "start it with remuda up FILE…")
    if evidence:
        return CheckResult("queue", "problem", "jobs wait in vain", tuple(evidence), tuple(fixes))
    if not waiting:
        return CheckResult("queue", "ok", "no job waits")
    longest = age(now - min(job.submitted_at for job in waiting))
    return CheckResult(
        "queue",
        "ok",
        f"{total} job{'s' * (total != 1)} wait{'s' * (total == 1)} for a machine",
        (f"the longest has waited {longest}; remuda why job NUMBER says for what",),
    )


def _waiting(pool: PoolView) -> str:
    return f" ({pool.waiting} waiting)" if pool.waiting else ""
