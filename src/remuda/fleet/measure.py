"""
How long decisions take for a workload, and that they are the right ones.

A cycle replaces every column of fleet and demand, counts anew and decides, or applies a delta and decides where the
workload changes by deltas. What is checked is checked outside the time that is measured: a fleet that is empty by
mistake decides very fast.
"""

import gc
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import Struct

from remuda.errors import InvariantError
from remuda.fleet import states
from remuda.fleet.act import begin
from remuda.fleet.columns import Fleet
from remuda.fleet.decide import decide
from remuda.fleet.decide.engine import Engine, choose
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Op, Plan
from remuda.fleet.workloads.workload import Expected, Workload, machine_ids
from remuda.model.times import MINUTE, Instant

#: When a workload begins: long after anything in it happened.
START: Instant = 1_800_000_000_000
#: Fewer cycles say too little.
LEAST_CYCLES = 5
#: What must be carried out until nothing is left to do: preempted, assigned, and one that finds nothing.
_ROUNDS = 10


class Spent(Struct, frozen=True):
    """Milliseconds."""

    min: float
    median: float
    p99: float


class Measured(Struct, frozen=True, omit_defaults=True):
    """What `remuda fleet bench -o json` prints."""

    workload: str
    machines: int
    needs: int
    clusters: int
    #: of the last cycle
    actions: int
    #: needs that are not met in the last cycle
    unmet: int
    cycles: int
    wall_ms: Spent
    cpu_ms: Spent
    #: decisions after nothing changed
    quiet_ms: Spent
    peak_rss_mb: float
    engine: str
    #: equal for equal plans of the last cycle
    digest: str
    #: a fleet made of machines that were never heard of, and its decision
    new_ids_ms: Spent | None = None
    gangs_placed: int | None = None


def measure(workload: Workload, cycles: int = LEAST_CYCLES, engine: str | None = None) -> Measured:
    """Run a workload: one cycle to warm up, then those that count."""
    chosen = choose(engine or "")
    machines = len(workload.machines)
    run = _Run(workload, chosen)
    run.cycle()
    # What importing and compiling left behind is looked through here once, and not in some cycle.
    gc.collect()
    walls, cpus = zip(*(run.cycle() for _ in range(cycles)), strict=True)
    plan = run.plan
    quiet = run.quiet(cycles)
    return Measured(
        workload.name,
        machines,
        len(workload.demand),
        len(workload.names.clusters),
        len(plan),
        len(plan.shortfalls),
        cycles,
        spent(walls),
        spent(cpus),
        spent(quiet),
        engine=chosen.name,
        digest=plan.digest(),
        gangs_placed=gangs_placed(workload, plan) if workload.name == "gangs" else None,
        new_ids_ms=spent(run.new_ids(cycles)) if workload.name == "aggregate-warm" else None,
        peak_rss_mb=round(peak_rss_mb(), 1),
    )


class _Run:
    """A workload with the memory its decisions leave and the time that passes in it."""

    def __init__(self, workload: Workload, engine: Engine) -> None:
        self.plan = Plan()
        self._workload = workload
        self._engine = engine
        self._machines = len(workload.machines)
        self._memory = Memory()
        self._now = START

    def cycle(self) -> tuple[float, float]:
        """One cycle: wall and CPU in milliseconds."""
        workload = self._workload
        self._now += MINUTE
        if workload.changes is None:
            took = _timed(workload.replace, self._decide)
            self._check(workload.expected)
            return took
        self._carry_out()
        fleet, demand = workload.fleet, workload.demand
        delta = workload.changes.delta(fleet, demand)
        self._machines += delta.grows
        took = _timed(lambda: delta.apply(fleet, demand, self._now), self._decide)
        self._check(delta.expected(fleet, demand))
        return took

    def quiet(self, times: int) -> list[float]:
        """Wall milliseconds of decisions after which nothing was left to do, and before which nothing changed."""
        for _ in range(_ROUNDS):
            if not len(self.plan):
                break
            self._carry_out()
            self._now += MINUTE
            self._decide()
        else:
            raise InvariantError(
                f"{self._workload.name}: {len(self.plan)} actions are left after {_ROUNDS} rounds, and 0 should be"
            )
        return [_timed(self._decide)[0] for _ in range(times)]

    def new_ids(self, times: int) -> list[float]:
        """Wall milliseconds of making the fleet from ids that are new, and deciding."""
        workload, found = self._workload, []
        for number in range(times):
            workload.forget()
            ids = machine_ids(len(workload.machines), f"renewed{number}")
            self._memory = Memory()
            renew = partial(workload.renew, ids)
            found.append(_timed(renew, self._decide)[0])
            self._check(workload.expected)
        return found

    def _decide(self) -> None:
        workload = self._workload
        self.plan, self._memory = decide(
            workload.fleet, workload.demand, self._memory, workload.policy, self._now, engine=self._engine
        )

    def _carry_out(self) -> None:
        begin(self._workload.fleet, self._workload.demand, self.plan, self._now)
        complete(self._workload.fleet, self._now)

    def _check(self, expected: Expected) -> None:
        check(self._workload, self.plan, expected, self._machines)


def complete(fleet: Fleet, at: Instant) -> None:
    """End everything that is in motion, as if providers had done it all at once."""
    for before, after in ((states.CREATING, states.IDLE), (states.CONFIGURING, states.CONFIGURED)):
        fleet.change(np.flatnonzero(fleet.state == before), after, at)
    for before, after in ((states.DRAINING, states.IDLE), (states.DELETING, states.SPECULATIVE)):
        rows = np.flatnonzero(fleet.state == before)
        fleet.change(rows, after, at, cluster=-1, need=-1, priority=0)


def check(workload: Workload, plan: Plan, expected: Expected, machines: int) -> None:
    """Raise `InvariantError` unless the fleet holds the machines and the plan is what the workload defines."""
    fleet, name = workload.fleet, workload.name
    counted = int(fleet.census.by_kind_and_state(len(fleet.kinds))[:, states.ABSENT + 1 :].sum())
    if not len(fleet) == counted == machines:
        raise InvariantError(
            f"{name}: the fleet holds {len(fleet)} machines and counts {counted}, and should hold {machines}"
        )
    if expected.actions is not None and len(plan) != expected.actions:
        raise InvariantError(f"{name}: the plan has {len(plan)} actions, and should have {expected.actions}")
    if expected.unmet is not None and len(plan.shortfalls) != expected.unmet:
        raise InvariantError(
            f"{name}: {len(plan.shortfalls)} needs are unmet, and {expected.unmet} should be"
        )
    rows = np.concatenate([block.rows for block in plan.blocks]) if plan.blocks else np.zeros(0, np.int64)
    if len(np.unique(rows)) != len(rows):
        raise InvariantError(f"{name}: {len(rows)} actions are for {len(np.unique(rows))} machines")
    demand = workload.demand
    for block in plan.blocks:
        if block.op in {Op.ASSIGN, Op.CREATE, Op.PREEMPT, Op.ADOPT}:
            profile = demand.profile[demand.row_of()[block.needs]]
            unfit = int((demand.profiles.fit[profile, fleet.kind[block.rows]] == 0).sum())
            if unfit:
                raise InvariantError(
                    f"{name}: {unfit} of {len(block)} machines do not fit the needs they are given to"
                )


def gangs_placed(workload: Workload, plan: Plan) -> int:
    """How many gangs got their machines. Raises `InvariantError` when one is torn apart or incomplete."""
    demand, fleet = workload.demand, workload.fleet
    blocks = [block for block in plan.blocks if block.op is Op.ASSIGN]
    if not blocks:
        return 0
    row = demand.row_of()[np.concatenate([block.needs for block in blocks])]
    served = np.bincount(row, minlength=len(demand))
    part = int(((served > 0) & (served != demand.count)).sum())
    # A rack is a shape here.
    racks = np.unique(np.stack([row, fleet.kind[plan.rows(Op.ASSIGN)]]), axis=1)
    torn = int((np.bincount(racks[0], minlength=len(demand)) > 1).sum())
    if part or torn:
        raise InvariantError(f"{workload.name}: {part} gangs are incomplete and {torn} in more than one rack")
    return int((served > 0).sum())


def spent(times: Sequence[float]) -> Spent:
    """The least, the middle and the 99th percentile."""
    ordered = sorted(times)
    highest = ordered[-(-99 * len(ordered) // 100) - 1]
    return Spent(round(ordered[0], 3), round(statistics.median(ordered), 3), round(highest, 3))


def peak_rss_mb() -> float:
    """The most memory this process had at once. Where the kernel says it of the program alone, that is believed."""
    try:
        # The peak in `getrusage` outlives an exec: it begins with what the parent had.
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1_024
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1_024 * 1_024 if sys.platform == "darwin" else 1_024)


def _timed(*work: Callable[[], None]) -> tuple[float, float]:
    """The wall and CPU milliseconds that it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    for step in work:
        step()
    return (time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3
