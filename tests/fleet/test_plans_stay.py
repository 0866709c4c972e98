"""
What is decided about worlds drawn from seeds, written down: a change of judgement shows here as a change of plans.

Properties say what every plan must be; they leave much open, and what nobody looks at breaks unnoticed. Each line is a
world over some cycles: what was done how often, what is missing at the end and what the machines cost, which say whether a
change is for the better, and a digest of who got what and why.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest
from tests.fleet.generate import (
    ALL,
    PLAIN,
    SPECIAL,
    Traits,
    draw_claims,
    draw_machines,
    draw_needs,
    draw_shapes,
)
from tests.fleet.world import STEP, LivingFleet, draw_world, world_of

from remuda.fleet import states
from remuda.fleet.plan import Op, Plan
from remuda.fleet.policy import Policy, Quota, Rails
from remuda.model.machines import State

GOLDEN = Path(__file__).with_name("plans.txt")
SUMS = replace(ALL, gangs=False, spreads=False, by_domain=False, separation=False)
GANGS = Traits(gangs=True, separation=False, mixed=True)
#: name, what is asked for, seeds, machines and needs; the seeds after the ranges are those that go rare ways
SIZES = (
    ("small", ALL, range(30), 12, 6),
    ("plain", PLAIN, [*range(10), 217], 20, 8),
    ("gangs", GANGS, range(20), 20, 6),
    ("sums", SUMS, [*range(16), 187], 16, 6),
    ("special", SPECIAL, range(8), 24, 8),
)
TIGHT = (
    ("tight small", ALL, range(20), 12, 6),
    ("tight plain", PLAIN, range(10), 20, 8),
    ("tight gangs", GANGS, [*range(18), 137, 209], 20, 6),
    ("tight sums", SUMS, range(15), 16, 6),
    ("tight special", SPECIAL, [*range(8), 71], 24, 8),
)


def drawn(seed: int, traits: Traits, machines: int, needs: int) -> LivingFleet:
    """A world, half of the time with rails that differ from the defaults."""
    world = draw_world(seed, traits, machines=machines, needs=needs)
    rng = Random(f"rails {seed}")
    rails: Rails = world.policy.rails
    if rng.random() < 0.5:
        rails = msgspec.structs.replace(
            rails, reclaim_percent=rng.choice([None, 1, 30]), preempt_percent=rng.choice([None, None, 10, 50])
        )
    world.policy = msgspec.structs.replace(world.policy, rails=rails)
    return world


def tight(seed: int, traits: Traits, machines: int, needs: int) -> LivingFleet:
    """A world of few kinds, some of which have what no need asks for, most of it held, under quotas and caps that bite."""
    rng = Random(f"tight {seed}")
    asked = draw_needs(rng, needs, replace(traits, most_units=8))
    shapes = [
        msgspec.structs.replace(
            shape, allocatable=shape.allocatable | rng.choice([{}, {}, {"gpu": rng.randint(1, 4)}])
        )
        for shape in draw_shapes(rng, 5)
    ]
    there = [
        msgspec.structs.replace(machine, shape=rng.choice(shapes))
        for machine in draw_machines(rng, machines, asked)
    ]
    rails = Rails(
        reclaim_percent=rng.choice([None, 5, 30]),
        preempt_percent=rng.choice([None, None, 10, 50]),
        quotas=tuple(
            Quota(rng.choice(["p", "q"]), rng.randint(2, machines), rng.choice(["", "north"]))
            for _ in range(rng.choice([0, 1, 2]))
        ),
        spending={
            provider: sum(
                machine.shape.price
                for machine in there
                if machine.state is not State.SPECULATIVE and machine.shape.provider == provider
            )
            + rng.randint(0, 12) * 10_000
            for provider in rng.choice([[], ["p"], ["p", "q"]])
        },
    )
    return world_of(there, asked, Policy(rails=rails), draw_claims(rng, there, asked))


def living(world: LivingFleet, cycles: int = 8) -> Iterator[Plan]:
    """Each plan of a few cycles, in which some operations take longer than others, before it is carried out."""
    rng = Random(world.fleet.rows)
    for _ in range(cycles):
        plan = world.decide()
        yield plan
        world.begin(plan)
        moving = world.in_motion()
        world.complete(moving[[rng.random() < 0.8 for _ in moving]] if len(moving) else moving)
        world.now += STEP * rng.choice([1, 1, 6, 40])


def lived(world: LivingFleet) -> str:
    """What happens in a few cycles, in one line."""
    done: Counter[str] = Counter()
    digest = hashlib.sha256()
    for plan in living(world):
        digest.update(repr(outline(plan)).encode())
        for op in Op:
            done[op.name.lower()] += plan.count(op)
    fleet = world.fleet
    there = np.flatnonzero(~np.isin(fleet.state, [states.SPECULATIVE, states.DELETING]))
    price = sum(world.shape(row).price for row in there.tolist())
    counts = " ".join(f"{name} {count}" for name, count in sorted(done.items()) if count)
    return f"{counts}; missing {plan.missing} of {plan.asked}; price {price}; {digest.hexdigest()[:12]}"


def outline(plan: Plan) -> list[object]:
    """All that a plan says, in plain values."""
    blocks = [
        (
            block.op.name,
            block.code,
            block.rows.tolist(),
            block.needs.tolist(),
            block.grace.tolist(),
            [sorted(block.terms_at(place).items()) for place in range(len(block))],
        )
        for block in plan.blocks
    ]
    reasons = [(one.code, one.subject, sorted(one.terms.items())) for one in (*plan.rails, *plan.notes)]
    short = [
        (one.need, one.units, one.since, one.reason.code, sorted(one.reason.terms.items()))
        for one in plan.shortfalls
    ]
    return [blocks, reasons, short, plan.missing, plan.asked]


@pytest.mark.slow
def test_the_plans_of_worlds_drawn_from_seeds_stay_as_they_are(pytestconfig: pytest.Config) -> None:
    found = [
        f"{name} {seed}: {lived(draw(seed, traits, machines, needs))}\n"
        for draw, table in ((drawn, SIZES), (tight, TIGHT))
        for name, traits, seeds, machines, needs in table
        for seed in seeds
    ]
    if pytestconfig.getoption("--update-golden"):
        GOLDEN.write_text("".join(found), encoding="utf-8")
    before = GOLDEN.read_text(encoding="utf-8").splitlines(keepends=True)
    changed = [f"- {old}+ {new}" for old, new in zip(before, found, strict=True) if old != new]
    assert not changed, (
        f"{len(changed)} plans are others; if they are better or as good: python -m pytest tests/fleet --update-golden\n"
        + "".join(changed[:20])
    )
