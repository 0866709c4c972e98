"""
The best there is for a small fleet, by looking at every way to give its machines to its needs.

It shares the data of the model with the engine and none of its judgement: how a machine matches, how many units fit,
what is usable of several machines and what they cost is written here a second time.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from remuda.model.labels import Operator, Requirement
from remuda.model.machines import State
from remuda.model.shapes import FleetMachine, Shape
from remuda.model.units import PINNED, FleetNeed, Unsatisfiable

#: What was reached, as one whole number that adds up and compares: see `_worth`.
Worth: TypeAlias = int
#: how many bits a number of units, a sum bought and a sum idle have in it
_BITS = 64
#: domain of a gang (empty for other needs) → the values of its spread's key that count there
Domains: TypeAlias = Mapping[str, set[str]]
NOWHERE: Domains = {}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Units served by priority, the highest first, and the effective cost of what was bought and of what was idle."""

    served: tuple[int, ...]
    bought: int
    idle: int


def labels_of(shape: Shape) -> dict[str, str]:
    """What requirements, spreads and gangs may name of a shape."""
    fields = {
        "node.kubernetes.io/instance-type": shape.instance_type,
        "topology.kubernetes.io/zone": shape.zone,
        "topology.kubernetes.io/region": shape.region,
        "remuda.dev/capacity-type": str(shape.capacity_type),
    }
    return shape.labels | {key: value for key, value in fields.items() if value}


def meets(requirement: Requirement, labels: dict[str, str]) -> bool:
    """True when labels meet one requirement, by the rules of Kubernetes."""
    has = requirement.key in labels
    value = labels.get(requirement.key, "")
    number = int(value) if value.lstrip("+-").isdigit() else None
    rules: dict[Operator, Callable[[], bool]] = {
        Operator.IN: lambda: has and value in requirement.values,
        Operator.NOT_IN: lambda: not has or value not in requirement.values,
        Operator.EXISTS: lambda: has,
        Operator.DOES_NOT_EXIST: lambda: not has,
        Operator.GT: lambda: number is not None and number > int(requirement.values[0]),
        Operator.LT: lambda: number is not None and number < int(requirement.values[0]),
    }
    return rules[requirement.operator]()


def units_on(need: FleetNeed, shape: Shape) -> int:
    """How many units of a need one machine of a shape has room for; 0 when it may not serve it at all."""
    labels = labels_of(shape)
    if not all(meets(requirement, labels) for requirement in need.requirements):
        return 0
    keys = [need.same]
    keys.append(need.spread.key if need.spread else "")
    keys.append(need.separation.key if need.separation else "")
    if any(key and key not in labels for key in keys):
        return 0
    room = min(shape.allocatable.get(name, 0) // used for name, used in need.unit.items() if used)
    if need.separation and not need.separation.key:
        room = min(room, need.separation.most)
    return room


def usable(need: FleetNeed, shapes: Iterable[Shape], counted: Domains = NOWHERE) -> int:
    """Units that machines of these shapes serve together, never more than are asked for."""
    return _usable(need, [(shape, units_on(need, shape)) for shape in shapes], counted)


def _usable(need: FleetNeed, mine: Sequence[tuple[Shape, int]], counted: Domains) -> int:
    assert need.count is not None
    if not need.same:
        return min(need.count, _apart(need, mine, counted.get("", set())))
    by_domain: dict[str, list[tuple[Shape, int]]] = defaultdict(list)
    for shape, units in mine:
        if units:
            by_domain[labels_of(shape)[need.same]].append((shape, units))
    whole = any(
        _apart(need, here, counted.get(domain, set())) >= need.count for domain, here in by_domain.items()
    )
    return need.count if whole else 0


def counted_domains(need: FleetNeed, standing: Iterable[Shape]) -> Domains:
    """
    The values of the key of a need's spread that hold a machine it could use, among those that have not failed.

    For a gang they are told for each domain that it could be in.
    """
    found: dict[str, set[str]] = defaultdict(set)
    if need.spread:
        for shape in standing:
            if units_on(need, shape):
                labels = labels_of(shape)
                found[labels[need.same] if need.same else ""].add(labels[need.spread.key])
    return found


def effective_cost(need: FleetNeed, shape: Shape) -> int:
    """Micro-dollars per hour that a machine costs a need, the risk of losing it included."""
    if not shape.interruption:
        return shape.price
    if need.interruption_penalty >= PINNED:
        return PINNED
    return shape.price + shape.interruption * need.interruption_penalty // 1_000_000


def outcome_of(
    machines: Sequence[FleetMachine], needs: Sequence[FleetNeed], given: Sequence[Sequence[int]]
) -> Outcome:
    """What it amounts to when need n is given the machines `given[n]`."""
    levels = _levels(needs)
    served, bought, idle = [0] * len(levels), 0, 0
    for need, places in zip(needs, given, strict=True):
        mine = [machines[place] for place in places]
        counted = counted_domains(need, (machine.shape for machine in machines))
        served[levels[need.priority]] += usable(need, (machine.shape for machine in mine), counted)
        for machine in mine:
            cost = effective_cost(need, machine.shape)
            if machine.state is State.SPECULATIVE:
                bought += cost
            else:
                idle += cost
    return Outcome(tuple(served), bought, idle)


def best(machines: Sequence[FleetMachine], needs: Sequence[FleetNeed]) -> Outcome:
    """
    The best outcome: most units for the highest priority, then for the next; then the least bought, then idle.

    For each need in turn, every set of machines it could use is tried with every set the needs before it left. The
    parts of an outcome add up, so only the best way to leave each set need be known.
    """
    levels = _levels(needs)
    everything = (1 << len(machines)) - 1
    ways: dict[int, Worth] = {everything: 0}
    for need in needs:
        sets = [*_worths(machines, need, levels).items()]
        after: dict[int, Worth] = {}
        for left, reached in ways.items():
            for taken, more in sets:
                if taken & ~left:
                    continue
                rest = left ^ taken
                known = after.get(rest)
                if known is None or reached + more > known:
                    after[rest] = reached + more
        ways = after
    return _outcome(max(ways.values()), len(levels))


def _worths(machines: Sequence[FleetMachine], need: FleetNeed, levels: dict[int, int]) -> dict[int, Worth]:
    """What every set of machines that all fit would be worth to a need; a set is a number with one bit for each."""
    sized = [(machine.shape, units_on(need, machine.shape)) for machine in machines]
    fitting = [place for place, (_, units) in enumerate(sized) if units]
    costs = [effective_cost(need, machine.shape) for machine in machines]
    counted = counted_domains(need, (machine.shape for machine in machines))
    found: dict[int, Worth] = {}
    for chosen in range(1 << len(fitting)):
        places = [place for bit, place in enumerate(fitting) if chosen >> bit & 1]
        served = _usable(need, [sized[place] for place in places], counted)
        bought = idle = 0
        for place in places:
            if machines[place].state is State.SPECULATIVE:
                bought += costs[place]
            else:
                idle += costs[place]
        level = len(levels) - 1 - levels[need.priority]
        found[sum(1 << place for place in places)] = _worth(served << _BITS * level, bought, idle)
    return found


def _worth(served: int, bought: int, idle: int) -> Worth:
    """Units count first, those of the highest priority in the highest bits; then what was bought, then what was idle."""
    return (served << 2 * _BITS) - (bought << _BITS) - idle


def _outcome(worth: Worth, levels: int) -> Outcome:
    """What a worth says."""
    served = -(-worth >> 2 * _BITS)
    bought, idle = divmod((served << 2 * _BITS) - worth, 1 << _BITS)
    digits = [served >> _BITS * level & (1 << _BITS) - 1 for level in reversed(range(levels))]
    return Outcome(tuple(digits), bought, idle)


def _levels(needs: Sequence[FleetNeed]) -> dict[int, int]:
    """The place of each priority, the highest first."""
    return {
        priority: place
        for place, priority in enumerate(sorted({need.priority for need in needs}, reverse=True))
    }


def _apart(need: FleetNeed, mine: Sequence[tuple[Shape, int]], counted: set[str]) -> int:
    """Units of these machines that a spread and a separation let count."""
    total = sum(units for _, units in mine)
    if need.separation and need.separation.key:
        here = _by_domain(need.separation.key, mine)
        total = sum(min(units, need.separation.most) for units in here.values())
    if need.spread and need.spread.when is Unsatisfiable.DO_NOT_SCHEDULE:
        here = _by_domain(need.spread.key, mine)
        least = min((here.get(domain, 0) for domain in counted), default=0)
        total = min(total, sum(min(units, least + need.spread.max_skew) for units in here.values()))
    return total


def _by_domain(key: str, mine: Iterable[tuple[Shape, int]]) -> dict[str, int]:
    """Units by the value of a key."""
    found: dict[str, int] = defaultdict(int)
    for shape, units in mine:
        if units:
            found[labels_of(shape)[key]] += units
    return found
