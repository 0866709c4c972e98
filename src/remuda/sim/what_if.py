"""
What another ceiling, minimum or schedule would have changed, found by living through what is recorded again with each.

Changes are ranked by the waiting that they save per hour of machines that they add.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from msgspec import structs

from remuda.pools.decide.model import Bounds, Hours, Policy, PoolPolicy
from remuda.pools.figures import Figures, PoolFigures
from remuda.rules.windows import Window
from remuda.sim.from_ledger import Outcome, Recorded, live_again

#: pools and ceilings whose settings are varied: those that waited most
_MOST_POOLS, _MOST_CEILINGS = 2, 2
#: an addition of machines that is as good as none, in milliseconds
_NO_MORE = 60_000
#: a schedule covers this share of what waited
_COVERED = 0.8
#: more waiting than this share of all is felt
_FELT = 0.02


@dataclass(frozen=True, slots=True)
class Change:
    """A setting to try: what it is in words, and how to make it."""

    words: str
    apply: Callable[[Policy], Policy]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change did beside the settings of then."""

    change: Change
    outcome: Outcome
    waiting_saved_ms: int
    machines_added_ms: int

    @property
    def worth(self) -> float:
        """Waiting saved per time of machines added; what adds next to none is worth its waiting for a minute of one."""
        return self.waiting_saved_ms / max(_NO_MORE, self.machines_added_ms)


def candidates(policy: Policy, figures: Figures) -> Iterator[Change]:
    """Settings that may be worth a try, by what was recorded."""
    ceilings = sorted(figures.ceilings.values(), key=lambda each: -each.waiting_ms)
    for each in ceilings[:_MOST_CEILINGS]:
        limit = policy.ceilings.get(each.name)
        if limit is not None and each.waiting_ms:
            for more in dict.fromkeys((1, max(2, limit // 4))):
                yield ceiling_of(each.name, limit, limit + more)
    pools = sorted(figures.pools.values(), key=lambda each: -each.waiting_ms)
    for mine in pools[:_MOST_POOLS]:
        pool = policy.pools.get(mine.name)
        if pool is None or not mine.waiting_ms:
            continue
        low, high = pool.bounds.min, pool.bounds.max
        if mine.held_ms.get("max"):
            yield bounds_of(pool, "max", max(high + 1, high * 3 // 2))
        if low < high:
            yield bounds_of(pool, "min", low + 1)
        if scheduled := busy_hours(pool, mine):
            yield scheduled
    for mine in sorted(figures.pools.values(), key=lambda each: each.busy_ms - each.machine_ms)[:_MOST_POOLS]:
        pool = policy.pools.get(mine.name)
        if pool is not None and pool.bounds.min:
            yield bounds_of(pool, "min", pool.bounds.min - 1)


def ceiling_of(name: str, before: int, after: int) -> Change:
    """Another ceiling."""

    def apply(policy: Policy) -> Policy:
        if name not in policy.ceilings:
            return policy
        return structs.replace(policy, ceilings={**policy.ceilings, name: after})

    return Change(f"ceiling {name}: {before} → {after} machines", apply)


def bounds_of(pool: PoolPolicy, which: str, after: int) -> Change:
    """Another minimum or maximum, also in the schedules of the pool."""

    def set_to(bounds: Bounds) -> Bounds:
        changed = structs.replace(bounds, **{which: after})
        return structs.replace(changed, max=max(changed.min, changed.max))

    def apply(policy: Policy) -> Policy:
        mine = policy.pools.get(pool.name)
        if mine is None:
            return policy
        hours = tuple(structs.replace(each, bounds=set_to(each.bounds)) for each in mine.hours)
        changed = structs.replace(mine, bounds=set_to(mine.bounds), hours=hours)
        return structs.replace(policy, pools={**policy.pools, pool.name: changed})

    return Change(f"pool {pool.name}: {which} {getattr(pool.bounds, which)} → {after}", apply)


def busy_hours(pool: PoolPolicy, mine: PoolFigures) -> Change | None:
    """A schedule with a higher minimum for the hours in which most waited; None where it would be none."""
    first, last = _hours_of(mine.waiting_by_hour)
    hours = [hour % 24 for hour in range(first, last)]
    time = sum(mine.time_by_hour[hour] for hour in hours)
    load = sum(mine.load_by_hour[hour] for hour in hours)
    low = min(pool.bounds.max, -(-load // time) if time else 0)
    if low <= pool.bounds.min or len(hours) == 24:
        return None
    end = last % 24
    window = Window(f"0 {first} * * *", f"0 {end} * * *", "UTC")

    def apply(policy: Policy) -> Policy:
        found = policy.pools.get(pool.name)
        if found is None:
            return policy
        opened = Hours(window, structs.replace(found.bounds, min=min(low, found.bounds.max)))
        changed = structs.replace(found, hours=(opened, *found.hours))
        return structs.replace(policy, pools={**policy.pools, pool.name: changed})

    return Change(
        f"pool {pool.name}: a schedule with min {low} from {first:02}:00 to {end:02}:00 UTC, else {pool.bounds.min}",
        apply,
    )


def _hours_of(waiting: Sequence[int]) -> tuple[int, int]:
    """The shortest run of hours, around midnight too, that covers most of what waited: its first, and the one after its last."""
    total = sum(waiting)
    for length in range(1, 24):
        sums = [sum(waiting[(first + hour) % 24] for hour in range(length)) for first in range(24)]
        best = max(range(24), key=sums.__getitem__)
        if sums[best] >= _COVERED * total:
            return best, best + length
    return 0, 24


def try_out(
    recorded: Recorded, changes: Sequence[Change], progress: Callable[[str], None]
) -> tuple[Outcome, list[Effect]]:
    """The settings of then once more, and what each change does beside them, the one that is worth most first."""
    progress("what was, once more")
    before = live_again(recorded)
    effects = []
    for number, change in enumerate(changes, 1):
        progress(f"what would have been, {number} of {len(changes)}: {change.words}")
        outcome = live_again(recorded, change.apply)
        effects.append(
            Effect(
                change,
                outcome,
                before.waiting_ms - outcome.waiting_ms,
                outcome.machine_ms - before.machine_ms,
            )
        )
    return before, sorted(effects, key=lambda effect: -effect.worth)


def best(before: Outcome, effects: Sequence[Effect], most: int = 3) -> list[Effect]:
    """The changes that save most waiting per hour of machines; those that nobody would notice are not among them."""
    felt = max(1_000, round(before.waiting_ms * _FELT))
    return [effect for effect in effects if effect.waiting_saved_ms >= felt][:most]


def savings(before: Outcome, effects: Sequence[Effect]) -> list[Effect]:
    """The changes that need fewer machines without anybody waiting noticeably longer, the one that saves most first."""
    felt = max(_NO_MORE, round(before.waiting_ms * _FELT))
    found = [
        effect
        for effect in effects
        if effect.machines_added_ms < -_NO_MORE and effect.waiting_saved_ms >= -felt
    ]
    return sorted(found, key=lambda effect: effect.machines_added_ms)
