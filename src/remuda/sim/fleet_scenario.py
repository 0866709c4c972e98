"""What a seed makes: the machines of a simulated fleet, its clusters and their traces, its policy and its faults."""

import random
from typing import Literal, TypeAlias

from msgspec import Struct

from remuda.fleet.policy import Policy, Quota, Rails
from remuda.model.shapes import DOLLAR, CapacityType, Shape
from remuda.model.times import HOUR, MINUTE, SECOND
from remuda.sim.fleet_faults import Fault, Rates

Level: TypeAlias = Literal["none", "some", "hostile"]
GIB = 1 << 30
RACK = "topology.example.com/rack"
GENERATION = "example.com/generation"
GPU = "nvidia.com/gpu"


class Request(Struct, frozen=True):
    """What is simulated. The defaults are one hostile history of half an hour."""

    seed: int = 1
    machines: int = 200
    clusters: int = 4
    hours: float = 0.5
    faults: Level = "hostile"

    @property
    def length(self) -> int:
        """How long faults and traces go on, in milliseconds."""
        return round(self.hours * HOUR)

    def words(self) -> str:
        """The options that ask for the same again."""
        return (
            f"--seed {self.seed} --machines {self.machines} --clusters {self.clusters} --hours {self.hours:g}"
            f" --faults {self.faults}"
        )


class Type(Struct, frozen=True):
    """A type of machine and its price by the hour on demand."""

    name: str
    cores: int
    memory: int
    price: int
    generation: int
    gpus: int = 0


class Span(Struct, frozen=True):
    """From how many to how many milliseconds an operation takes; one in twenty takes up to four times as long."""

    low: int
    high: int

    def draw(self, dice: random.Random) -> int:
        """One length."""
        length = dice.randint(self.low, self.high)
        return length * dice.randint(1, 4) if dice.randrange(20) == 0 else length


class Pace(Struct, frozen=True):
    """How long a provider takes for what."""

    create: Span
    configure: Span
    drain: Span
    delete: Span


class Scenario(Struct, frozen=True):
    """A world before anything has happened in it."""

    request: Request
    shapes: tuple[Shape, ...]
    #: by machine: its shape
    machines: tuple[int, ...]
    providers: tuple[str, ...]
    paces: tuple[Pace, ...]
    policy: Policy
    rates: Rates
    #: how long a person takes to see to a failed machine
    repair: Span
    #: how often clusters report, and how long a shard gathers reports before it decides on them
    report: int
    gather: int


TYPES = (
    Type("c4", 4, 16, DOLLAR // 5, 2),
    Type("c16", 16, 64, DOLLAR * 4 // 5, 3),
    Type("m32", 32, 256, 2 * DOLLAR, 4),
    Type("g16", 16, 128, 9 * DOLLAR, 5, gpus=8),
)
_PROVIDERS = ("metal", "east", "west")
_PACES = (
    Pace(Span(60 * SECOND, 240 * SECOND), Span(20 * SECOND, 60 * SECOND), Span(5 * SECOND, 90 * SECOND), Span(10 * SECOND, 30 * SECOND)),
    Pace(Span(15 * SECOND, 60 * SECOND), Span(10 * SECOND, 40 * SECOND), Span(5 * SECOND, 120 * SECOND), Span(5 * SECOND, 30 * SECOND)),
    Pace(Span(30 * SECOND, 120 * SECOND), Span(10 * SECOND, 60 * SECOND), Span(5 * SECOND, 120 * SECOND), Span(5 * SECOND, 60 * SECOND)),
)  # fmt: skip


def scenario(request: Request) -> Scenario:
    """The world of a request: the same for the same one."""
    dice = random.Random(f"fleet {request.seed} {request.machines} {request.clusters}")
    shapes, machines = _machines(dice, request.machines)
    return Scenario(
        request=request,
        shapes=shapes,
        machines=machines,
        providers=_PROVIDERS,
        paces=_PACES,
        policy=_policy(dice, shapes, machines),
        rates=_rates(dice, request),
        repair=Span(2 * MINUTE, 8 * MINUTE),
        report=10 * SECOND if request.clusters <= 64 else 30 * SECOND,
        gather=SECOND if request.clusters <= 64 else 5 * SECOND,
    )


def _machines(dice: random.Random, count: int) -> tuple[tuple[Shape, ...], tuple[int, ...]]:
    """A third owned in racks, the rest rented in two regions."""
    numbers: dict[tuple[object, ...], int] = {}
    shapes: list[Shape] = []
    machines = []
    owned = count * dice.randint(25, 50) // 100
    in_rack = dice.choice((8, 12, 16)) if count < 5_000 else 80
    rack_type = TYPES[1]
    for number in range(count):
        if number < owned:
            if number % in_rack == 0:
                rack_type = dice.choices(TYPES[1:], (6, 3, 2))[0]
            shape = _owned(rack_type, number // in_rack)
        else:
            shape = _rented(dice)
        key = shape.key()
        if key not in numbers:
            numbers[key] = len(shapes)
            shapes.append(shape)
        machines.append(numbers[key])
    return tuple(shapes), tuple(machines)


def _owned(kind: Type, rack: int) -> Shape:
    zone = f"hall-{'abc'[rack % 3]}"
    labels = {RACK: f"rack-{rack}", GENERATION: str(kind.generation)}
    return Shape(
        kind.name,
        zone,
        "hall",
        "metal",
        CapacityType.BARE_METAL,
        _resources(kind),
        labels,
        kind.price // 2,
        0,
    )


def _rented(dice: random.Random) -> Shape:
    east = dice.randrange(3) > 0
    capacity = dice.choices(
        (CapacityType.RESERVED, CapacityType.ON_DEMAND, CapacityType.SPOT), (1 if east else 0, 5, 4)
    )[0]
    kind = dice.choices(TYPES, (4, 5, 2, 1))[0] if east else dice.choice(TYPES[:2])
    zone = f"east-{dice.choice('abc')}" if east else f"west-{dice.choice('ab')}"
    price, interruption = kind.price, 0
    if capacity is CapacityType.RESERVED:
        price = kind.price * 6 // 10
    elif capacity is CapacityType.SPOT:
        price, interruption = kind.price * 3 // 10, 50_000 if east else 200_000
    return Shape(
        kind.name, zone, "east" if east else "west", "east" if east else "west", capacity, _resources(kind),
        {GENERATION: str(kind.generation)}, price, interruption,
    )  # fmt: skip


def _resources(kind: Type) -> dict[str, int]:
    offered = {"cpu": kind.cores * 1_000, "memory": kind.memory * GIB}
    return {**offered, GPU: kind.gpus} if kind.gpus else offered


def _policy(dice: random.Random, shapes: tuple[Shape, ...], machines: tuple[int, ...]) -> Policy:
    quotas = []
    if dice.randrange(2):
        there = sum(
            shapes[shape].provider == "east" and shapes[shape].instance_type == "c16" for shape in machines
        )
        quotas.append(Quota("east", max(1, there * dice.randint(40, 90) // 100), instance_type="c16"))
    if dice.randrange(3) == 0:
        there = sum(shapes[shape].region == "west" for shape in machines)
        quotas.append(Quota("west", max(1, there * dice.randint(50, 90) // 100), region="west"))
    spending = {}
    if dice.randrange(2):
        worth = sum(shapes[shape].price for shape in machines if shapes[shape].provider == "east")
        spending["east"] = worth * dice.randint(40, 80) // 100
    rails = Rails(
        reclaim_percent=dice.choice((5, 5, 20)),
        preempt_percent=dice.choice((2, 2, 10)),
        spending=spending,
        quotas=tuple(quotas),
    )
    return Policy(rails=rails, gang_patience=dice.choice((3, 10)) * MINUTE)


def _rates(dice: random.Random, request: Request) -> Rates:
    if request.faults == "none":
        return Rates()
    often = 1_000 if request.faults == "some" else dice.choice((5_000, 15_000, 40_000))
    length = max(request.length, 30 * MINUTE)
    rare = length if request.faults == "some" else length // 4
    chances = {
        Fault.CREATE_FAILS: often,
        Fault.CONFIGURE_FAILS: often,
        Fault.DRAIN_FAILS: often // 2,
        Fault.DELETE_FAILS: often,
        Fault.JOINS_LATE: often,
        Fault.NEVER_JOINS: often // 2,
        Fault.PROVIDER_ERROR: often * 2,
        Fault.CALL_LOST: often,
        Fault.CALL_LATE: often,
        Fault.CALL_DUPLICATED: often * 2,
        Fault.REPLY_LOST: often,
        Fault.REPLY_DUPLICATED: often * 2,
        Fault.LIST_FAILS: often * 2,
        Fault.LIST_STALE: often * 3,
        Fault.REPORT_LOST: often * 2,
        Fault.REPORT_EMPTY: often // 2,
    }
    every = {
        Fault.SPOT_INTERRUPTION: MINUTE,
        Fault.FORGOTTEN: rare // 2,
        Fault.PRICE_CHANGE: rare // 2,
        Fault.PROVIDER_OUTAGE: rare,
        Fault.PROVIDER_RESTART: rare,
        Fault.CLUSTER_SILENT: rare,
        Fault.CRASH: rare,
        Fault.PAUSED: 2 * rare,
        Fault.LIMITS_CHANGED: rare,
    }
    return Rates(chances, every)
