"""What recorded times of pools and jobs come to: waiting, use, limits that held, and who waited for whom. Pure sums."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from remuda.model.jobs import Job
from remuda.model.plans import Reason
from remuda.model.times import Instant
from remuda.output.words import number
from remuda.pools.past import Span

#: points of a chart
POINTS = 120
_LIMITS = {
    "pool.held-by-ceiling": "ceiling",
    "pool.over-ceiling": "ceiling",
    "pool.held-by-max": "max",
    "pool.held-by-surge": "maxSurge",
    "pool.held-by-concurrency": "plan",
}


class PoolFigures(Struct):
    """One pool, in milliseconds: of machines, and of jobs that wait."""

    name: str
    job_class: str = ""
    machine_ms: int = 0
    busy_ms: int = 0
    booting_ms: int = 0
    #: jobs that waited, times how long
    waiting_ms: int = 0
    peak: int = 0
    #: by limit, for how long it held, and what waited meanwhile
    held_ms: dict[str, int] = field(default_factory=dict)
    held_waiting_ms: dict[str, int] = field(default_factory=dict)
    #: by hour of the day in UTC, what waited in it, and machines that its load asked for
    waiting_by_hour: list[int] = field(default_factory=lambda: [0] * 24)
    load_by_hour: list[int] = field(default_factory=lambda: [0] * 24)
    time_by_hour: list[int] = field(default_factory=lambda: [0] * 24)


class CeilingFigures(Struct):
    """One ceiling: for how long it kept some pool from machines it wanted, and what waited meanwhile."""

    name: str
    limit: int = 0
    held_ms: int = 0
    waiting_ms: int = 0
    peak: int = 0


class Figures(Struct):
    """Everything over one span of time."""

    since: Instant
    until: Instant
    pools: dict[str, PoolFigures] = field(default_factory=dict)
    ceilings: dict[str, CeilingFigures] = field(default_factory=dict)
    #: (who waited, for whose machines) → jobs that waited, times how long
    waited_for: dict[tuple[str, str], int] = field(default_factory=dict)
    #: time of which something is recorded
    covered_ms: int = 0
    changes_of_policy: int = 0
    by_hand: set[str] = field(default_factory=set)
    #: for charts, by equal parts of the span: time, and machines and jobs times it
    times: list[int] = field(default_factory=lambda: [0] * POINTS)
    live: list[int] = field(default_factory=lambda: [0] * POINTS)
    busy: list[int] = field(default_factory=lambda: [0] * POINTS)
    waiting: list[int] = field(default_factory=lambda: [0] * POINTS)


def add_up(found: Iterable[Span], since: Instant, until: Instant) -> Figures:
    """The sums of recorded times."""
    figures = Figures(since, until)
    policy = None
    for span in found:
        length = span.end - span.begin
        figures.covered_ms += length
        if policy is not None and span.policy is not policy and span.policy != policy:
            figures.changes_of_policy += 1
        policy = span.policy
        pools = {reason.subject.removeprefix("pool/"): reason for reason in span.reasons}
        for name, reason in pools.items():
            mine = figures.pools.setdefault(name, PoolFigures(name))
            if name in span.policy.pools:
                mine.job_class = span.policy.pools[name].job_class
            _add_pool(figures, mine, reason, span, length)
        _add_ceilings(figures, pools, length)
    return figures


def _add_pool(figures: Figures, mine: PoolFigures, reason: Reason, span: Span, length: int) -> None:
    terms = reason.terms
    live, busy, unclaimed = (number(terms, name) for name in ("live", "busy", "unclaimed"))
    mine.machine_ms += live * length
    mine.busy_ms += busy * length
    mine.booting_ms += number(terms, "creating") * length
    mine.waiting_ms += unclaimed * length
    mine.peak = max(mine.peak, live)
    if terms.get("bounds_from") == "override" or reason.code in {"pool.paused", "pool.draining"}:
        figures.by_hand.add(mine.name)
    if limit := _LIMITS.get(reason.code):
        mine.held_ms[limit] = mine.held_ms.get(limit, 0) + length
        mine.held_waiting_ms[limit] = mine.held_waiting_ms.get(limit, 0) + unclaimed * length
    load = unclaimed + number(terms, "running")
    for hour, part in _hours(span.begin, span.end):
        mine.waiting_by_hour[hour] += unclaimed * part
        mine.load_by_hour[hour] += load * part
        mine.time_by_hour[hour] += part
    whole = max(1, figures.until - figures.since)
    for point, part in _parts(span.begin - figures.since, span.end - figures.since, whole, POINTS):
        figures.live[point] += live * part
        figures.busy[point] += busy * part
        figures.waiting[point] += unclaimed * part
        if mine is next(iter(figures.pools.values())):
            figures.times[point] += part


def _add_ceilings(figures: Figures, pools: Mapping[str, Reason], length: int) -> None:
    held = set[str]()
    taken = dict[str, int]()
    for name, reason in pools.items():
        ceiling = reason.terms.get("ceiling")
        if not isinstance(ceiling, str):
            continue
        mine = figures.ceilings.setdefault(ceiling, CeilingFigures(ceiling))
        mine.limit = number(reason.terms, "limit")
        taken[ceiling] = taken.get(ceiling, 0) + number(reason.terms, "live")
        if _LIMITS.get(reason.code) != "ceiling":
            continue
        held.add(ceiling)
        missing = min(
            number(reason.terms, "unclaimed"),
            max(1, number(reason.terms, "wanted") - number(reason.terms, "grant")),
        )
        mine.waiting_ms += missing * length
        _blame(figures, name, ceiling, pools, missing * length)
    for ceiling in held:
        figures.ceilings[ceiling].held_ms += length
    for ceiling, live in taken.items():
        figures.ceilings[ceiling].peak = max(figures.ceilings[ceiling].peak, live)


def _blame(figures: Figures, waiter: str, ceiling: str, pools: Mapping[str, Reason], waiting: int) -> None:
    """Share what a pool waited among the others under its ceiling, by the machines they had."""
    holders = {
        name: number(reason.terms, "live")
        for name, reason in pools.items()
        if name != waiter and reason.terms.get("ceiling") == ceiling and number(reason.terms, "live")
    }
    for name, live in holders.items():
        key = (waiter, name)
        figures.waited_for[key] = figures.waited_for.get(key, 0) + waiting * live // sum(holders.values())


def _hours(begin: Instant, end: Instant) -> Iterable[tuple[int, int]]:
    """The hours of the day that a time touches, and how much of each."""
    hour_ms = 3_600_000
    at = begin
    while at < end:
        following = min(end, (at // hour_ms + 1) * hour_ms)
        yield at // hour_ms % 24, following - at
        at = following


def _parts(begin: int, end: int, whole: int, count: int) -> Iterable[tuple[int, int]]:
    """The equal parts of a whole that a stretch touches, and how much of each."""
    at = max(0, begin)
    while at < end:
        point = min(count - 1, at * count // whole)
        following = end if point == count - 1 else min(end, max(at + 1, -(-(point + 1) * whole // count)))
        yield point, following - at
        at = following


class Waits(Struct, frozen=True):
    """How long jobs of a class waited until they first ran, in milliseconds."""

    job_class: str
    jobs: int
    mean: int
    p50: int
    p95: int
    longest: int
    #: of these, jobs that have not run yet
    still: int = 0


def wait_of(job: Job, until: Instant) -> int:
    """How long a job waited until it first ran, or has waited so far."""
    begun = job.attempts[0].claimed_at if job.attempts else until if not job.state.is_end else job.changed_at
    return max(0, begun - job.submitted_at)


def waits_of(jobs: Sequence[Job], until: Instant) -> list[Waits]:
    """By class, how long jobs waited, the one that waited most in all first."""
    by_class: dict[str, list[Job]] = {}
    for job in jobs:
        by_class.setdefault(job.job_class, []).append(job)
    found = [
        _waits(
            name,
            [wait_of(job, until) for job in mine],
            sum(not job.attempts and not job.state.is_end for job in mine),
        )
        for name, mine in by_class.items()
    ]
    return sorted(found, key=lambda item: (-item.mean * item.jobs, item.job_class))


def _waits(job_class: str, lengths: list[int], still: int) -> Waits:
    ordered = sorted(lengths)
    return Waits(
        job_class,
        len(ordered),
        sum(ordered) // len(ordered),
        at_share(ordered, 50),
        at_share(ordered, 95),
        ordered[-1],
        still,
    )


def at_share(ordered: Sequence[int], percent: int) -> int:
    """The value that so many of a hundred sorted ones do not exceed; 0 of none."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0
