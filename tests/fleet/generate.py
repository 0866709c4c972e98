"""Fleets and needs drawn by chance: from a seed, or by Hypothesis through the same interface."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from remuda.fleet.policy import Policy, Quota, Rails
from remuda.model.labels import Operator, Requirement
from remuda.model.machines import State
from remuda.model.shapes import INSTANCE_TYPE, ZONE, CapacityType, FleetMachine, Shape
from remuda.model.times import HOUR, SECOND
from remuda.model.units import PINNED, FleetNeed, Separation, Spread, Unsatisfiable

RACK = "rack"
CPU = 1_000
GIB = 1 << 30
_CENT = 10_000
#: When drawn worlds begin.
START = 1_000 * HOUR


@dataclass(frozen=True, slots=True)
class Traits:
    """What a drawn demand may contain besides plain needs."""

    gangs: bool = False
    spreads: bool = False
    separation: bool = True
    by_domain: bool = False
    sums: bool = False
    #: gangs whose units are also spread or separated, and sums that must be in one domain
    mixed: bool = False
    most_units: int = 5


PLAIN = Traits()
SPECIAL = Traits(gangs=True, spreads=True, by_domain=True)
ALL = Traits(gangs=True, spreads=True, by_domain=True, sums=True, mixed=True)


def draw_shape(rng: Random) -> Shape:
    """Small whole sizes, so that fits range from none to four."""
    size = rng.choice([1, 1, 2, 2, 3, 4])
    labels = {RACK: f"r{rng.randrange(4)}"} if rng.random() < 0.85 else {}
    if rng.random() < 0.6:
        labels["generation"] = rng.choice(["1", "2", "3", "9", "new"])
    if rng.random() < 0.5:
        labels["disk"] = rng.choice(["ssd", "hdd"])
    capacity = rng.choice(list(CapacityType))
    spot = capacity is CapacityType.SPOT
    return Shape(
        f"t{size}",
        zone=rng.choice("abc") if rng.random() < 0.95 else "",
        region=rng.choice(["north", "south"]),
        provider=rng.choice(["p", "q"]),
        capacity_type=capacity,
        allocatable={"cpu": size * CPU, "memory": size * rng.choice([1, 2, 4]) * GIB},
        labels=labels,
        price=rng.choice([0, 1, 2, 3, 5, 8, 13]) * size * _CENT,
        interruption=rng.choice([0, 1_000, 50_000, 300_000]) if spot or rng.random() < 0.1 else 0,
    )


def draw_shapes(rng: Random, most: int) -> list[Shape]:
    """Between one and `most` shapes."""
    return [draw_shape(rng) for _ in range(rng.randint(1, most))]


def draw_requirement(rng: Random) -> Requirement:
    """One of any operator, over labels, instance type and zone, that some shapes meet and others do not."""
    match rng.randrange(8):
        case 0:
            return Requirement(INSTANCE_TYPE, Operator.IN, tuple(rng.sample(["t1", "t2", "t3", "t4"], 2)))
        case 1:
            return Requirement(ZONE, Operator.IN, tuple(rng.sample("abc", rng.randint(1, 2))))
        case 2:
            return Requirement(ZONE, Operator.NOT_IN, (rng.choice("abc"),))
        case 3:
            return Requirement("disk", Operator.NOT_IN, (rng.choice(["ssd", "hdd"]),))
        case 4:
            return Requirement("disk", Operator.EXISTS)
        case 5:
            return Requirement("disk", Operator.DOES_NOT_EXIST)
        case 6:
            return Requirement("generation", Operator.GT, (rng.choice(["0", "1", "2"]),))
    return Requirement("generation", Operator.LT, (rng.choice(["2", "3", "10"]),))


def draw_need(rng: Random, cluster: str, name: str, traits: Traits) -> FleetNeed:
    """A need of a few units, with as much else as the traits allow."""
    unit = {"cpu": rng.choice([1, 1, 2]) * CPU}
    if rng.random() < 0.4:
        unit["memory"] = rng.choice([1, 2]) * GIB
    same, spread, separation = "", None, None
    kinds = ["plain", "plain"]
    kinds += ["gang"] * traits.gangs + ["spread"] * traits.spreads + ["domain"] * traits.by_domain
    kinds += ["machine"] * traits.separation + ["sum"] * traits.sums
    sort = rng.choice(kinds)
    key = rng.choice([RACK, ZONE])
    match sort:
        case "gang":
            same = key
        case "spread":
            when = rng.choice(
                [Unsatisfiable.DO_NOT_SCHEDULE, Unsatisfiable.DO_NOT_SCHEDULE, Unsatisfiable.SCHEDULE_ANYWAY]
            )
            spread = Spread(key, rng.randint(1, 2), when)
        case "domain":
            separation = Separation(rng.randint(1, 3), key)
        case "machine":
            separation = Separation(rng.randint(1, 2))
    if traits.mixed and sort in {"gang", "sum"} and rng.random() < 0.3:
        same = ZONE
        if sort == "gang" and rng.random() < 0.5:
            separation = Separation(rng.randint(1, 3), rng.choice(["", RACK]))
        elif sort == "gang":
            spread = Spread(RACK, rng.randint(1, 2))
    count: int | None = rng.randint(1, traits.most_units)
    total: dict[str, int] = {}
    if sort == "sum":
        total = {
            resource: used * rng.randint(1, 4) + rng.randint(0, 1) * used // 2
            for resource, used in unit.items()
        }
        count = None
    return FleetNeed(
        cluster,
        name,
        unit,
        count=count,
        total=total,
        requirements=tuple(draw_requirement(rng) for _ in range(rng.choice([0, 0, 1, 1, 2]))),
        priority=rng.choice([100, 100, 200, 1_000, 600_000]),
        arrival=rng.randint(0, 2),
        same=same,
        spread=spread,
        separation=separation,
        interruption_penalty=rng.choice([0, 0, 50 * _CENT, 800 * _CENT, PINNED]),
        reclamation_penalty=rng.choice([0, 0, 100 * _CENT, PINNED]),
    )


def draw_needs(
    rng: Random, most: int, traits: Traits, clusters: Sequence[str] = ("c0", "c1", "c2")
) -> list[FleetNeed]:
    """Between one and `most` needs of these clusters."""
    return [
        draw_need(rng, rng.choice(clusters), f"n{number}", traits)
        for number in range(rng.choice([most, rng.randint(1, most)]))
    ]


def draw_free_machines(rng: Random, most: int, most_shapes: int = 6) -> list[FleetMachine]:
    """Idle machines and such as could be bought, of which several may be alike."""
    shapes = draw_shapes(rng, most_shapes)
    return [
        FleetMachine(f"m{number}", rng.choice([State.IDLE, State.SPECULATIVE]), rng.choice(shapes))
        for number in range(rng.choice([most, rng.randint(1, most)]))
    ]


def by_cluster(needs: Sequence[FleetNeed]) -> dict[str, list[FleetNeed]]:
    """What each cluster tells."""
    reported: dict[str, list[FleetNeed]] = {}
    for need in needs:
        reported.setdefault(need.cluster, []).append(need)
    return reported


def draw_machines(
    rng: Random, most: int, needs: Sequence[FleetNeed], most_shapes: int = 6
) -> list[FleetMachine]:
    """
    Machines in every state; those that serve somebody serve a need, or one that is long gone.

    What they were given to need not fit them any more, and nothing says that a need has no more than it asks for.
    """
    shapes = draw_shapes(rng, most_shapes)
    loose = [State.IDLE, State.SPECULATIVE]
    moving = [State.CREATING, State.DELETING, State.FAILED]
    serving = [State.CONFIGURED, State.CONFIGURED, State.CONFIGURED, State.CONFIGURING, State.DRAINING]
    found = []
    for number in range(rng.choice([most, rng.randint(1, most)])):
        state = rng.choice([*loose, *loose, *serving, rng.choice(moving)])
        cluster = need = ""
        priority = 0
        if state in serving:
            holder = rng.choice(needs)
            cluster, need, priority = holder.cluster, holder.name, holder.priority
            if rng.random() < 0.15:
                need, priority = "gone", rng.choice([0, 100, 5_000])
        since = START - rng.choice([0, 0, 5, 30, 300, 3_600]) * SECOND
        found.append(FleetMachine(f"m{number}", state, rng.choice(shapes), cluster, need, priority, since))
    return found


def draw_claims(
    rng: Random, machines: Sequence[FleetMachine], needs: Sequence[FleetNeed]
) -> dict[str, tuple[str, str]]:
    """For some machines that are idle or on their way, the need they are meant for."""
    able = (State.IDLE, State.CREATING, State.DRAINING)
    meant = [machine.id for machine in machines if machine.state in able and rng.random() < 0.4]
    chosen = [rng.choice(needs) for _ in meant]
    return {machine: (need.cluster, need.name) for machine, need in zip(meant, chosen, strict=True)}


def draw_policy(rng: Random) -> Policy:
    """The defaults, sometimes with quotas and a cap."""
    quotas = tuple(
        Quota(
            rng.choice(["p", "q"]),
            rng.randint(0, 8),
            rng.choice(["", "north"]),
            rng.choice(["", "", "t1", "t2"]),
        )
        for _ in range(rng.choice([0, 0, 1, 2]))
    )
    spending = {"p": rng.randint(0, 60) * _CENT * 5} if rng.random() < 0.3 else {}
    return Policy(rails=Rails(quotas=quotas, spending=spending))
