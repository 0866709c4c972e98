"""What `remuda report` says of pools: how long jobs waited, how much of machines was used, what held them, and who waited for whom."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import to_builtins

from remuda.errors import BadInput
from remuda.model.jobs import Job
from remuda.model.times import HOUR
from remuda.objects.problems import did_you_mean
from remuda.output.moments import age
from remuda.output.sections import Section, Wanted
from remuda.output.show import Table
from remuda.pools.figures import POINTS, Figures, PoolFigures, Waits, waits_of
from remuda.web.chart import Chart, Series

_MOST_PAIRS = 10


def sections_of(figures: Figures, jobs: Sequence[Job], wanted: Wanted) -> Iterator[Section]:
    """The sections of recorded figures; `BadInput` for the price of a pool that there was not."""
    for name in sorted(wanted.prices.keys() - figures.pools.keys() - {""}):
        known = ", ".join(sorted(figures.pools)) or "none"
        raise BadInput(
            f"--price {name}=…: there was no pool {name} in that time; there was: {known}{did_you_mean(name, figures.pools)}"
        )
    yield _waiting(figures, waits_of(jobs, wanted.until))
    yield _machines(figures, wanted)
    yield _limits(figures)
    yield _who(figures)
    yield _unknown(figures, wanted)


def _waiting(figures: Figures, waits: list[Waits]) -> Section:
    pools = {pool.job_class: pool.name for pool in figures.pools.values()}
    rows = tuple(
        (
            each.job_class,
            pools.get(each.job_class, "-"),
            f"{each.jobs:,}",
            *map(_short, (each.mean, each.p50, each.p95, each.longest)),
            f"{each.still:,}",
        )
        for each in waits
    )
    total = sum(pool.waiting_ms for pool in figures.pools.values())
    headings = ("CLASS", "POOL", "JOBS", "MEAN", "P50", "P95", "LONGEST", "STILL WAIT")
    sentences = [f"Together, tasks waited {_hours(total)} for a machine."]
    if waits:
        worst = waits[0]
        sentences.append(
            f"{worst.job_class} waited most: half of its {worst.jobs:,} jobs ran within {_short(worst.p50)}, and one in"
            f" twenty waited longer than {_short(worst.p95)}."
        )
    drawn = _drawn(figures, "Tasks that wait", "tasks", [("waiting", "demand", figures.waiting)])
    table = Table(
        headings, rows, note="no job of the local queue ran; tasks of other sources are not kept one by one"
    )
    return Section(
        "Waiting",
        tuple(sentences),
        (table,),
        (drawn,),
        data={"waits": to_builtins(waits), "waiting_ms": total},
    )


def _machines(figures: Figures, wanted: Wanted) -> Section:
    pools = sorted(figures.pools.values(), key=lambda pool: (-pool.machine_ms, pool.name))
    rows = tuple(
        (
            pool.name,
            _hours(pool.machine_ms),
            _hours(pool.busy_ms),
            _share(pool.busy_ms, pool.machine_ms),
            _share(pool.booting_ms, pool.machine_ms),
            str(pool.peak),
            _cost(pool, wanted),
        )
        for pool in pools
    )
    machine_ms, busy_ms = sum(pool.machine_ms for pool in pools), sum(pool.busy_ms for pool in pools)
    sentences = [
        f"Machines were there for {_hours(machine_ms)} and worked for {_hours(busy_ms)}: {_share(busy_ms, machine_ms)}."
    ]
    known = [cost for pool in pools if (cost := _dollars(pool, wanted)) is not None]
    if known:
        sentences.append(
            f"That cost ${sum(known):,.2f}, of which ${_idle_cost(pools, wanted):,.2f} were for machines without work."
        )
    lines = [("there", "supply", figures.live), ("busy", "busy", figures.busy)]
    drawn = _drawn(figures, "Machines", "machines", lines)
    headings = ("POOL", "MACHINE-HOURS", "BUSY", "USED", "BOOTING", "MOST AT ONCE", "COST")
    data: dict[str, Any] = {
        "pools": [
            {
                "pool": pool.name,
                "machine_ms": pool.machine_ms,
                "busy_ms": pool.busy_ms,
                "peak": pool.peak,
                "cost": _dollars(pool, wanted),
            }
            for pool in pools
        ]
    }
    return Section("Machines and cost", tuple(sentences), (Table(headings, rows),), (drawn,), data=data)


def _limits(figures: Figures) -> Section:
    ceilings = sorted(figures.ceilings.values(), key=lambda each: (-each.waiting_ms, each.name))
    rows = [
        (
            f"ceiling {each.name} ({each.limit})",
            _held(each.held_ms, figures),
            _hours(each.waiting_ms),
            str(each.peak),
        )
        for each in ceilings
    ]
    for pool in sorted(figures.pools.values(), key=lambda each: each.name):
        for limit, held in sorted(pool.held_ms.items()):
            if limit != "ceiling":
                waited = pool.held_waiting_ms[limit]
                rows.append(
                    (f"{limit} of pool {pool.name}", _held(held, figures), _hours(waited), str(pool.peak))
                )
    hit = [each for each in ceilings if each.held_ms]
    said = (
        f"{', '.join(each.name for each in hit)} {'was' if len(hit) == 1 else 'were'} reached."
        if hit
        else "No ceiling was reached."
    )
    table = Table(
        ("LIMIT", "HELD FOR", "WAITED MEANWHILE", "MOST AT ONCE"), tuple(rows), note="no limit held a pool"
    )
    data = {"ceilings": to_builtins(ceilings)}
    return Section("Limits that were hit", (said,), (table,), data=data)


def _who(figures: Figures) -> Section:
    pairs = sorted(figures.waited_for.items(), key=lambda item: (-item[1], item[0]))
    rows = tuple((waiter, holder, _hours(waited)) for (waiter, holder), waited in pairs[:_MOST_PAIRS])
    table = Table(
        ("WHO WAITED", "FOR MACHINES OF", "WAITED"), rows, note="nobody waited for machines of another pool"
    )
    data = [{"waiter": waiter, "holder": holder, "waiting_ms": waited} for (waiter, holder), waited in pairs]
    notes = (
        ("What a pool waited under a ceiling is shared among the others under it by the machines they had.",)
        if rows
        else ()
    )
    return Section("Who waited for whom", (), (table,), notes=notes, data={"pairs": data})


def _unknown(figures: Figures, wanted: Wanted) -> Section:
    span = max(1, wanted.until - wanted.since)
    notes = [
        (
            f"Recorded is {_share(figures.covered_ms, span)} of the span; nothing is said of the rest: Remuda did not run, or its"
            " history was given up (--keep, --keep-size)."
        ),
        "Tasks of CircleCI are counted while they wait, not kept one by one: of their pools there are no waits of single tasks.",
    ]
    if not wanted.prices:
        notes.append("What a machine costs is not recorded: say it with --price 0.04, or --price POOL=0.04.")
    if figures.changes_of_policy:
        count = figures.changes_of_policy
        notes.append(f"Settings changed {count} time{'s' * (count != 1)} in the span.")
    if figures.by_hand:
        notes.append(f"Set by hand for some time: {', '.join(sorted(figures.by_hand))}.")
    return Section("What is not known", notes=tuple(notes), data={"covered_ms": figures.covered_ms})


def _drawn(figures: Figures, title: str, unit: str, lines: Sequence[tuple[str, str, list[int]]]) -> Chart:
    """A chart of averages over all pools; times of which nothing is recorded are gaps."""
    step = max(1, (figures.until - figures.since) // POINTS)
    begin = figures.since + step // 2
    series = tuple(
        Series(
            name,
            colour,
            [
                round(value / time, 2) if time else None
                for value, time in zip(values, figures.times, strict=True)
            ],
            is_area=colour == "supply",
        )
        for name, colour, values in lines
    )
    times = range(begin, begin + step * POINTS, step)
    return Chart(title, unit, times, series, summary=f"{title}, on average, of all pools")


def _dollars(pool: PoolFigures, wanted: Wanted) -> float | None:
    price = wanted.prices.get(pool.name, wanted.prices.get(""))
    return None if price is None else price * pool.machine_ms / HOUR


def _idle_cost(pools: Sequence[PoolFigures], wanted: Wanted) -> float:
    return sum(
        cost * (pool.machine_ms - pool.busy_ms) / pool.machine_ms
        for pool in pools
        if pool.machine_ms and (cost := _dollars(pool, wanted)) is not None
    )


def _cost(pool: PoolFigures, wanted: Wanted) -> str:
    cost = _dollars(pool, wanted)
    return "-" if cost is None else f"${cost:,.2f}"


def _held(length: int, figures: Figures) -> str:
    return f"{age(length)} ({_share(length, figures.covered_ms)})" if length else "never"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


def _hours(ms: int) -> str:
    return f"{ms / HOUR:,.1f} h" if ms >= HOUR // 10 or not ms else age(ms)


def _short(ms: int) -> str:
    return f"{ms / 1_000:.1f}s" if ms < 60_000 else age(ms)
