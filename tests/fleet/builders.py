"""Small fleets, demands and scratch tables that show only what a test is about."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import decide as judgement
from remuda.fleet.columns import Fleet
from remuda.fleet.decide import specials
from remuda.fleet.decide.assign import free_rows
from remuda.fleet.decide.engine import NUMPY
from remuda.fleet.decide.serve import in_order
from remuda.fleet.decide.work import TIERS, Work
from remuda.fleet.demand import Demand
from remuda.fleet.memory import Memory
from remuda.fleet.names import Names
from remuda.fleet.policy import Policy
from remuda.model.labels import Operator, Requirement
from remuda.model.machines import State
from remuda.model.shapes import DOLLAR, FleetMachine, Shape
from remuda.model.times import HOUR
from remuda.model.units import FleetNeed

RACK = "rack"
NOW = 1_000 * HOUR


def shape(zone: str = "a", *, rack: str = "", units: int = 1, dollars: int = 0, provider: str = "") -> Shape:
    """A machine with room for so many units of the needs of `need`."""
    return Shape(
        f"t{units}",
        zone=zone,
        provider=provider,
        allocatable={"cpu": units * 1_000},
        labels={RACK: rack} if rack else {},
        price=dollars * DOLLAR,
    )


def machines(
    number: int,
    of: Shape,
    state: State = State.IDLE,
    *,
    cluster: str = "",
    need: str = "",
    prefix: str = "",
    since: int = NOW,
) -> list[FleetMachine]:
    """So many equal machines."""
    name = prefix or f"{of.instance_type}-{of.zone}-{of.labels.get(RACK, '')}-{of.price}-{state}-{need}"
    return [FleetMachine(f"{name}-{i}", state, of, cluster, need, 0, since) for i in range(number)]


def need(name: str = "n", count: int | None = 1, *, cluster: str = "c", **more: object) -> FleetNeed:
    """A need for units of one processor."""
    return FleetNeed(cluster, name, {"cpu": 1_000}, count, **more)  # type: ignore[arg-type]


def fleet_of(*groups: Sequence[FleetMachine]) -> Fleet:
    """A fleet of the machines given."""
    fleet = Fleet(Names())
    fleet.upsert([machine for group in groups for machine in group])
    return fleet


def demand_of(fleet: Fleet, *needs: FleetNeed) -> Demand:
    """The demand of all clusters that the needs name."""
    demand = Demand(fleet)
    clusters = dict.fromkeys(need.cluster for need in needs)
    demand.put_all({cluster: [need for need in needs if need.cluster == cluster] for cluster in clusters})
    return demand


def work_of(
    fleet: Fleet,
    *needs: FleetNeed,
    policy: Policy | None = None,
    memory: Memory | None = None,
    now: int = NOW,
) -> Work:
    """The scratch table as it is when needs begin to be served."""
    demand = demand_of(fleet, *needs)
    work = judgement._observe(fleet, demand, memory or Memory(), policy or Policy(), now, NUMPY)
    specials.credit(work)
    for tier, rows in enumerate(free_rows(work)):
        work.free[tier] = np.bincount(fleet.kind[rows], minlength=len(fleet.kinds))
    work.order = in_order(demand, np.flatnonzero(work.unmet > 0))
    return work


def place(work: Work) -> None:
    """Serve the needs in their order, each by its own rules."""
    for at, row in enumerate(work.order.tolist()):
        specials.place(work, at, row)


def given(work: Work, name: str = "n", cluster: str = "c") -> NDArray[np.int64]:
    """Machines by tier and kind that a need was given."""
    row = work.demand.row(cluster, name)
    table = np.zeros((TIERS, len(work.fleet.kinds)), np.int64)
    for first, needs, each, kind, tier in work.picks.table().tolist():
        if row in work.order[first : first + needs].tolist():
            table[tier, kind] += each
    return table


def by_domain(work: Work, key: str, name: str = "n", cluster: str = "c") -> dict[str, int]:
    """The same by the values of a label."""
    codes, values = work.fleet.kinds.domains(key)
    number = given(work, name, cluster).sum(axis=0)
    return {
        value: int(number[codes == code].sum())
        for code, value in enumerate(values)
        if number[codes == code].any()
    }


def unmet(work: Work, name: str = "n", cluster: str = "c") -> int:
    """What a need still misses."""
    return int(work.unmet[work.demand.row(cluster, name)])


def surplus(work: Work) -> list[int]:
    """Machines by kind that no need claims."""
    counts = np.bincount(work.fleet.kind[work.surplus], minlength=len(work.fleet.kinds))
    return [int(count) for count in counts]


_SIGNS = {"=": Operator.IN, "!=": Operator.NOT_IN, ">": Operator.GT, "<": Operator.LT}


def requirements(text: str) -> tuple[Requirement, ...]:
    """Conditions in short: `a=x,b!=y,c in (x,y),d notin (z),e>3,f,!g`."""
    made = []
    for each in re.findall(r"(?:[^,(]|\([^)]*\))+", text):
        if found := re.fullmatch(r"(\S+) (in|notin) \((.*)\)", each):
            operator = Operator.IN if found[2] == "in" else Operator.NOT_IN
            made.append(Requirement(found[1], operator, tuple(found[3].split(","))))
        elif found := re.fullmatch(r"([^!=<>]+)(!=|[=<>])(.*)", each):
            made.append(Requirement(found[1], _SIGNS[found[2]], (found[3],)))
        else:
            operator = Operator.DOES_NOT_EXIST if each.startswith("!") else Operator.EXISTS
            made.append(Requirement(each.removeprefix("!"), operator))
    return tuple(made)
