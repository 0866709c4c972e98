"""How many machines a pool wants: demand, bounds in force, the delay before it wants fewer, and surge."""

from msgspec import Struct

from remuda.model.needs import Need
from remuda.model.times import Instant
from remuda.pools.decide.census import Census
from remuda.pools.decide.model import Bounds, Override, PoolMemory, PoolPolicy
from remuda.rules.windows import first_open

Steps = tuple[tuple[Instant, int], ...]
_NO_OVERRIDE = Override()


class Wish(Struct, frozen=True, gc=False):
    """What a pool wants before its ceiling is asked, with every term behind it."""

    unclaimed: int
    running: int
    headroom: int
    min: int
    max: int
    #: `pool`, `window N` or `override`
    bounds_from: str
    #: what it can always have of its ceiling: guaranteed, or the minimum that no hand has raised
    promised: int
    #: demand within the bounds
    bounded: int
    #: after delay and surge: what it asks its ceiling for
    wanted: int
    #: of these, what it wants without the delay
    firm: int
    #: the stable word for what changed the number last
    held_by: str
    steps: Steps
    #: unclaimed tasks that the organisation may not run now
    beyond: int = 0


def bounds_in_force(policy: PoolPolicy, override: Override, now: Instant) -> tuple[Bounds, str]:
    """The override's, else the first open window's, else the pool's own bounds, and which of them it was."""
    bounds, origin = scheduled_bounds(policy, now)
    if override.draining:
        return Bounds(0, 0), "override"
    if override.min is None and override.max is None:
        return bounds, origin
    low = bounds.min if override.min is None else override.min
    high = bounds.max if override.max is None else override.max
    # The bound that was set by hand moves the other one, so that min ≤ max always holds.
    if low > high:
        low, high = (low, low) if override.max is None else (high, high)
    return Bounds(low, high, bounds.headroom, bounds.headroom_percent), "override"


def scheduled_bounds(policy: PoolPolicy, now: Instant) -> tuple[Bounds, str]:
    """The first open window's bounds, else the pool's own, and which of them it was."""
    if policy.hours:
        index = first_open([hours.window for hours in policy.hours], now)
        if index is not None:
            return policy.hours[index].bounds, f"window {index + 1}"
    return policy.bounds, "pool"


def wish(
    policy: PoolPolicy,
    need: Need | None,
    override: Override,
    memory: PoolMemory,
    census: Census,
    beyond: int,
    now: Instant,
) -> Wish:
    """
    Judge one pool by itself. `beyond` of its unclaimed tasks cannot run yet and count for nothing.

    Never wants fewer than it has while its source is silent or stale, and wants what it has while it is paused. Those
    pending are not among what it has: they may have been seen already, under another name than their order's.
    """
    bounds, origin = scheduled_bounds(policy, now) if policy.hours else (policy.bounds, "pool")
    promised = bounds.min
    if override != _NO_OVERRIDE:
        bounds, origin = bounds_in_force(policy, override, now)
        promised = min(promised, bounds.min)
    unclaimed, running = (need.unclaimed, need.running) if need is not None else (0, 0)
    tasks = unclaimed + running - beyond
    spare = 0
    if tasks:
        spare = bounds.headroom
        if not spare and bounds.headroom_percent:
            spare = -(-tasks * bounds.headroom_percent // 100)
    load = tasks + spare
    bounded, held_by = load, "concurrency" if beyond else "demand"
    if load > bounds.max:
        bounded, held_by = bounds.max, "max"
    elif load < bounds.min:
        bounded, held_by = bounds.min, "min"
    wanted = bounded

    live = census.live
    there = live - census.pending
    if override.paused:
        wanted, held_by = there, "paused"
    elif wanted < there and (need is None or need.stale_since is not None) and not override.draining:
        wanted, held_by = there, "stale"

    steps: Steps = ()
    firm = wanted
    if policy.scale_down_delay:
        steps = falling_steps(memory.wanted, wanted, there, now, policy.scale_down_delay)
        if steps[0][1] > wanted and not override.draining and not override.paused:
            held = min(steps[0][1], bounds.max)
            if held > wanted:
                wanted, held_by = held, "delay"

    if policy.max_surge is not None and wanted > live:
        # Who lingers does not boot any more, and must not keep others from it for ever.
        most = max(census.ready + census.lingering + policy.max_surge, live)
        if wanted > most:
            wanted, held_by = most, "surge"
    if policy.guaranteed:
        promised = max(promised, policy.guaranteed)
    low, high = bounds.min, bounds.max
    return Wish(
        unclaimed,
        running,
        spare,
        low,
        high,
        origin,
        promised,
        bounded,
        wanted,
        min(firm, wanted),
        held_by,
        steps,
        beyond,
    )


def falling_steps(before: Steps, wanted: int, live: int, now: Instant, delay: int) -> Steps:
    """
    Keep the highest number wanted within the last `delay`, as strictly falling steps.

    The first step is the highest still in force. With nothing remembered the machines that exist count as wanted
    until now, so that a lost memory waits the whole delay. Steps change only when something changed, so a quiet
    pool remembers the same bytes.
    """
    if before:
        since, count = before[-1]
        if count == wanted and since <= now and (len(before) == 1 or before[1][0] + delay > now):
            return before
    steps = [(min(since, now), count) for since, count in before] or [(now, live)]
    if steps[-1][1] != wanted:
        since = now
        while steps and steps[-1][1] <= wanted:
            # The step above ended when this one began, not now: a small rise must not keep it in force.
            since = steps.pop()[0]
        steps.append((since if steps else now, wanted))
    # A step holds until the next one began; it is over once that was `delay` ago.
    while len(steps) > 1 and steps[1][0] + delay <= now:
        steps.pop(0)
    return tuple(steps)


def give_way(steps: Steps, most: int) -> Steps:
    """The steps without what was given away: the delay holds at most so many, and as many as are wanted now."""
    most = max(most, steps[-1][1])
    kept = [(since, count) for since, count in steps if count < most]
    return ((steps[0][0], most), *kept)
