"""
A simulated world of pools that is fed what is recorded: the jobs as they came and as long as they ran, and the settings of then.

It is a closed loop: what is decided otherwise changes what happens next. With the settings of then it should come out as it did; how
near it comes says how far it can be trusted with others.
"""

import asyncio
from collections.abc import Callable, Sequence
from statistics import median

from msgspec import Struct, structs

from remuda.loop.loop import Pace
from remuda.model.jobs import Job, JobState
from remuda.model.times import MINUTE, SECOND, Instant
from remuda.pools.decide.model import Policy
from remuda.pools.figures import at_share, wait_of
from remuda.pools.policy import Setup
from remuda.sim.clock import MONDAY
from remuda.sim.light import LightPoolHistory
from remuda.sim.loop import run
from remuda.sim.provider import Behaviour
from remuda.sim.scenario import Arrival, Event, Reload, Scenario, pool_setup

#: machines of the minimum are there when the first job comes
_BEFORE_S = 900.0
#: jobs that are simulated at most, the newest
MOST_JOBS = 20_000
#: of a pool of which no machine was seen to boot
_BOOT_S = 1.0
#: beyond its longest job, the time that a backlog may take
_SETTLE_S = 30 * 24 * 3_600.0

Change = Callable[[Policy], Policy]


class Recorded(Struct, frozen=True):
    """What a world is fed with: settings by the time from which on they held, jobs, and boot times by pool."""

    since: Instant
    until: Instant
    policies: tuple[tuple[Instant, Policy], ...]
    jobs: tuple[Job, ...]
    boots: dict[str, list[int]]
    #: the time of machines that is recorded
    machine_ms: int = 0
    busy_ms: int = 0
    #: jobs that are left out, by why
    left_out: dict[str, int] = {}


class Outcome(Struct, frozen=True):
    """What came of it: by class the waits of its jobs in milliseconds, sorted, and the time of machines."""

    waits: dict[str, list[int]]
    machine_ms: int
    busy_ms: int

    @property
    def all_waits(self) -> list[int]:
        """Those of all classes, sorted."""
        return sorted(wait for waits in self.waits.values() for wait in waits)

    @property
    def waiting_ms(self) -> int:
        """The sum of all waits."""
        return sum(map(sum, self.waits.values()))

    def at(self, percent: int) -> int:
        """The wait that so many of a hundred jobs do not exceed."""
        return at_share(self.all_waits, percent)


def choose(
    jobs: Sequence[Job], policies: Sequence[tuple[Instant, Policy]], most: int = MOST_JOBS
) -> tuple[tuple[Job, ...], dict[str, int]]:
    """The jobs that can be simulated, oldest first, and how many cannot, by why."""
    last = policies[-1][1]
    served = {pool.job_class for pool in last.pools.values() if pool.bounds.max > 0}
    left_out = dict[str, int]()
    found = []
    for job in sorted(jobs, key=lambda item: (item.submitted_at, item.id)):
        why = ""
        if job.job_class not in served:
            why = "no pool serves their class any more"
        elif job.state is JobState.CANCELLED and not job.attempts:
            why = "cancelled before they ran"
        if why:
            left_out[why] = left_out.get(why, 0) + 1
        else:
            found.append(job)
    if len(found) > most:
        left_out[f"older than the newest {most:,}"] = len(found) - most
    return tuple(found[-most:]), left_out


def recorded_waits(recorded: Recorded) -> Outcome:
    """How long the same jobs really waited, and the time of all machines meanwhile."""
    waits: dict[str, list[int]] = {}
    for job in recorded.jobs:
        waits.setdefault(job.job_class, []).append(wait_of(job, recorded.until))
    sorted_ = {name: sorted(found) for name, found in waits.items()}
    return Outcome(sorted_, recorded.machine_ms, recorded.busy_ms)


def live_again(recorded: Recorded, change: Change = lambda policy: policy) -> Outcome:
    """Live through it with the settings of then, or with changed ones; the same input gives the same outcome."""
    return run(_live(recorded, change))


async def _live(recorded: Recorded, change: Change) -> Outcome:
    world = _World(recorded, change)
    try:
        await world.live()
        return world.outcome()
    finally:
        await world.end()


class _World(LightPoolHistory):
    """The light world, at the time and with the jobs of then."""

    settle_s = _SETTLE_S

    def __init__(self, recorded: Recorded, change: Change) -> None:
        begin = min([recorded.since, *(job.submitted_at for job in recorded.jobs[:1])])
        first, *later = [(at, _setup(change(policy))) for at, policy in recorded.policies]
        usual = _usual_lengths(recorded.jobs, recorded.until)

        def second(at: Instant) -> float:
            return _BEFORE_S + max(0, at - begin) / SECOND

        arrivals = [
            Arrival(
                second(job.submitted_at),
                job.job_class,
                _length(job, recorded.until, usual),
                priority=job.priority,
            )
            for job in recorded.jobs
        ]
        events: list[Event] = [*arrivals, *(Reload(second(at), setup) for at, setup in later)]
        events.sort(key=lambda event: event.at)
        boots = {pool: median(times) / SECOND for pool, times in recorded.boots.items() if times}
        scenario = Scenario(
            first[1],
            tuple(events),
            second(recorded.until),
            Behaviour(median(boots.values()) if boots else _BOOT_S, 0.0, boots),
            pace=Pace(interval=60.0, gap=0.1, jitter=0.0),
            light=True,
        )
        super().__init__(scenario, 0)
        # Schedules go by the wall clock.
        self.clock.jump(begin - MONDAY - round(_BEFORE_S * SECOND))
        self._machine_s_before = 0.0
        self._classes = [event.job_class for event in events if isinstance(event, Arrival)]

    def begin(self) -> None:
        """Start the loop; what machines do before the first job can come does not count."""
        super().begin()
        self.start(self._count_from(_BEFORE_S))

    async def _count_from(self, second: float) -> None:
        await asyncio.sleep(second)
        self.watch.settle()
        self._machine_s_before = self.watch.machine_s

    def outcome(self) -> Outcome:
        """What came of it."""
        waits: dict[str, list[int]] = {}
        for number, begun in self.watch.first_runs.items():
            waited = round((begun - self.arrivals[number]) * SECOND)
            waits.setdefault(self._classes[number - 1], []).append(waited)
        return Outcome(
            {name: sorted(found) for name, found in waits.items()},
            round((self.watch.machine_s - self._machine_s_before) * SECOND),
            round(self.watch.busy_s * SECOND),
        )


def _setup(policy: Policy) -> Setup:
    """A recorded policy as far as the local queue and machines that always boot are concerned."""
    pools = {name: structs.replace(pool, organisation=None) for name, pool in policy.pools.items()}
    return Setup(
        structs.replace(policy, pools=pools, broken=(), concurrency={}),
        {name: pool_setup(pool, max_uses=None if pool.reused else 1) for name, pool in pools.items()},
    )


def _usual_lengths(jobs: Sequence[Job], until: Instant) -> dict[str, float]:
    """By class, how long its jobs usually run: for those that have not."""
    found: dict[str, list[int]] = {}
    for job in jobs:
        if job.attempts:
            found.setdefault(job.job_class, []).append(_ran(job, until))
    return {name: median(lengths) / SECOND for name, lengths in found.items()}


def _length(job: Job, until: Instant, usual: dict[str, float]) -> float:
    """How long a job runs, all its attempts together."""
    if job.attempts:
        return _ran(job, until) / SECOND
    return usual.get(job.job_class, MINUTE / SECOND)


def _ran(job: Job, until: Instant) -> int:
    return sum(max(0, (attempt.finished_at or until) - attempt.claimed_at) for attempt in job.attempts)
