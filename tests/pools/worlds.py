"""Random snapshots, memories and policies for properties, absurd ones included."""

from hypothesis import strategies as st
from tests.builders import NOW, closing, creation, deletion

from remuda.model.machines import Ended, Machine, State
from remuda.model.needs import Need
from remuda.model.plans import Operation
from remuda.model.times import HOUR, MINUTE, SECOND
from remuda.pools.decide.model import (
    Bounds,
    Hours,
    Memory,
    Override,
    Policy,
    PoolAction,
    PoolMemory,
    PoolPolicy,
    PoolSeen,
    Snapshot,
)
from remuda.rules.windows import Window

NAMES = ("a", "b", "c", "d")
TEMPLATES = ("t", "before")
instants = st.integers(NOW - HOUR, NOW + HOUR)
small = st.integers(0, 6)
codes = st.sampled_from(("finished", "idle", "closed", "crashed", "boot", "lost", "vanished", "orphaned"))
# Made once: a strategy that is made for each draw takes longer to make than to draw from.
booleans = st.booleans()
names = st.sets(st.sampled_from(NAMES), min_size=1)
templates = st.sampled_from(TEMPLATES)
states = st.sampled_from([state for state in State if state is not State.SPECULATIVE])
births = st.sampled_from((NOW - 20 * MINUTE, NOW)) | instants
maybe_instants = st.none() | instants
up_to = [st.integers(0, most) for most in range(13)]


@st.composite
def machines(draw: st.DrawFn, pool: str) -> tuple[Machine, ...]:
    """Machines as a controller may show them: who is idle has no job, who is configured has one."""
    found = []
    for number in range(draw(up_to[8])):
        state = draw(states)
        has_job = state is State.CONFIGURED or (state is State.DRAINING and draw(booleans))
        ended = Ended(draw(codes)) if draw(up_to[4]) == 0 else None
        drains = draw(booleans)
        created_at = draw(births)
        found.append(
            Machine(
                name=f"{pool}-{number}",
                pool=pool,
                state=state,
                template=draw(templates),
                created_at=created_at,
                since=draw(instants),
                ready_at=draw(maybe_instants),
                job=str(number) if has_job else None,
                uses=draw(up_to[2]),
                ended=ended,
                unsure=state is State.IDLE and draw(booleans),
                drains=drains,
                abrupt=not drains and draw(booleans),
            )
        )
    return tuple(found)


overrides = st.builds(
    Override,
    min=st.none() | small,
    max=st.none() | small,
    paused=st.sampled_from((False, False, True)),
    draining=st.sampled_from((False, False, True)),
    finish_rollout=st.sampled_from((None, None, *TEMPLATES)),
    finish_rollout_at=instants,
)
lately = st.sampled_from((None, None, NOW - MINUTE))
usual_overrides = st.just(Override()) | overrides
needs = st.none() | st.builds(Need, small, small, lately, lately)


@st.composite
def snapshots(draw: st.DrawFn, *, is_quiet: bool = False) -> Snapshot:
    """Pools, and operations of which each target has at most one under way. A quiet one has none."""
    pools = tuple(
        PoolSeen(name, draw(needs), draw(machines(name)), draw(usual_overrides))
        for name in sorted(draw(names))
    )
    return Snapshot(pools, () if is_quiet else draw(operations(pools)))


statuses = st.sampled_from((None, None, "done", "failed", "refused"))
orders = st.sampled_from((closing, deletion, creation))


@st.composite
def operations(draw: st.DrawFn, pools: tuple[PoolSeen, ...]) -> tuple[Operation[PoolAction], ...]:
    """Operations under way or just ended."""
    found: dict[str, Operation[PoolAction]] = {}
    for number in range(draw(up_to[6])):
        pool = draw(st.sampled_from(pools))
        status = draw(statuses)
        kind = draw(orders)
        if kind is creation:
            made = creation(draw(up_to[12]), pool.name, slot=number + 1, outcome=status)
        elif pool.machines:
            made = kind(100 + number, draw(st.sampled_from(pool.machines)).name, status)  # type: ignore[operator]
        else:
            continue
        found.setdefault(made.action.target, made)
    return tuple(sorted(found.values(), key=lambda operation: operation.id))


bounds = st.builds(
    lambda low, more, spare, part: Bounds(low, low + more, spare, part), small, small, small, small
)
windows = st.builds(
    Hours,
    st.sampled_from((Window("0 * * * *", "30 * * * *", "UTC"), Window("15 * * * *", "45 * * * *", "UTC"))),
    bounds,
)
several_windows = st.lists(windows, max_size=2)
surges = st.none() | st.integers(1, 4)
delays = st.sampled_from((0, MINUTE))
idle_windows = st.sampled_from((0, 10 * SECOND))
boot_timeouts = st.sampled_from((MINUTE, 2 * HOUR))
ceilings_of_pools = st.sampled_from((None, "roof", "shed"))
priorities = st.integers(-1, 1)
weights = st.integers(1, 3)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Settings of most pools, and two ceilings whose promises may be more than they hold."""
    ceilings = {"roof": draw(up_to[12]), "shed": draw(up_to[6])}
    pools = {
        name: PoolPolicy(
            name=name,
            job_class=f"class-{name}",
            template=draw(templates),
            bounds=draw(bounds),
            hours=tuple(draw(several_windows)),
            max_surge=draw(surges),
            scale_down_delay=draw(delays),
            natural=draw(booleans),
            idle_window=draw(idle_windows),
            boot_timeout=draw(boot_timeouts),
            ceiling=draw(ceilings_of_pools),
            guaranteed=draw(small),
            priority=draw(priorities),
            weight=draw(weights),
            reused=draw(booleans),
        )
        for name in sorted(draw(names))
    }
    return Policy(pools, ceilings)


numbers = st.integers(-(2**40), 2**40)
pool_memories = st.builds(
    PoolMemory,
    wanted=st.lists(st.tuples(instants | numbers, small | numbers), max_size=3).map(tuple),
    idle_since=st.dictionaries(st.sampled_from(("a-0", "b-1", "gone-7")), instants | numbers),
    failures=small | numbers,
    failed_at=instants | numbers,
    retry_at=instants | numbers,
    failed=st.lists(st.sampled_from(("a-0@1", "b-1", "gone-7@3")), max_size=2).map(tuple),
    failure=st.sampled_from(("", "no such file")),
    unsure_since=st.just(0) | instants | numbers,
    unheard_since=st.dictionaries(
        st.sampled_from([f"{name}-{number}@{NOW - 20 * MINUTE}" for name in NAMES for number in range(4)]),
        instants | numbers,
    ),
)
memories = st.builds(Memory, st.dictionaries(st.sampled_from((*NAMES, "gone")), pool_memories))
