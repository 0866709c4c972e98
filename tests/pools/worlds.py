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


@st.composite
def machines(draw: st.DrawFn, pool: str) -> tuple[Machine, ...]:
    """Machines as a controller may show them: who is idle has no job, who is configured has one."""
    found = []
    for number in range(draw(st.integers(0, 8))):
        state = draw(st.sampled_from([state for state in State if state is not State.SPECULATIVE]))
        has_job = state is State.CONFIGURED or (state is State.DRAINING and draw(st.booleans()))
        ended = Ended(draw(codes)) if draw(st.integers(0, 4)) == 0 else None
        drains = draw(st.booleans())
        created_at = draw(st.sampled_from((NOW - 20 * MINUTE, NOW)) | instants)
        found.append(
            Machine(
                name=f"{pool}-{number}",
                pool=pool,
                state=state,
                template=draw(st.sampled_from(TEMPLATES)),
                created_at=created_at,
                since=draw(instants),
                ready_at=draw(st.none() | instants),
                job=str(number) if has_job else None,
                uses=draw(st.integers(0, 2)),
                ended=ended,
                unsure=state is State.IDLE and draw(st.booleans()),
                drains=drains,
                abrupt=not drains and draw(st.booleans()),
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
needs = st.none() | st.builds(Need, small, small, lately, lately)


@st.composite
def snapshots(draw: st.DrawFn, *, is_quiet: bool = False) -> Snapshot:
    """Pools, and operations of which each target has at most one under way. A quiet one has none."""
    pools = tuple(
        PoolSeen(name, draw(needs), draw(machines(name)), draw(st.just(Override()) | overrides))
        for name in sorted(draw(st.sets(st.sampled_from(NAMES), min_size=1)))
    )
    return Snapshot(pools, () if is_quiet else draw(operations(pools)))


@st.composite
def operations(draw: st.DrawFn, pools: tuple[PoolSeen, ...]) -> tuple[Operation[PoolAction], ...]:
    """Operations under way or just ended."""
    found: dict[str, Operation[PoolAction]] = {}
    for number in range(draw(st.integers(0, 6))):
        pool = draw(st.sampled_from(pools))
        status = draw(st.sampled_from((None, None, "done", "failed", "refused")))
        kind = draw(st.sampled_from((closing, deletion, creation)))
        if kind is creation:
            made = creation(draw(st.integers(0, 12)), pool.name, slot=number + 1, outcome=status)
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


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Settings of most pools, and two ceilings whose promises may be more than they hold."""
    ceilings = {"roof": draw(st.integers(0, 12)), "shed": draw(st.integers(0, 6))}
    pools = {
        name: PoolPolicy(
            name=name,
            job_class=f"class-{name}",
            template=draw(st.sampled_from(TEMPLATES)),
            bounds=draw(bounds),
            hours=tuple(draw(st.lists(windows, max_size=2))),
            max_surge=draw(st.none() | st.integers(1, 4)),
            scale_down_delay=draw(st.sampled_from((0, MINUTE))),
            natural=draw(st.booleans()),
            idle_window=draw(st.sampled_from((0, 10 * SECOND))),
            boot_timeout=draw(st.sampled_from((MINUTE, 2 * HOUR))),
            ceiling=draw(st.sampled_from((None, *ceilings))),
            guaranteed=draw(small),
            priority=draw(st.integers(-1, 1)),
            weight=draw(st.integers(1, 3)),
            reused=draw(st.booleans()),
        )
        for name in sorted(draw(st.sets(st.sampled_from(NAMES), min_size=1)))
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
