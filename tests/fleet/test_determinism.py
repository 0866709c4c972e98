"""The same input gives the same plan, to the byte: whatever the engine, the hash seed or the number of threads."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.fleet.generate import PLAIN, draw_free_machines, draw_needs
from tests.fleet.world import STEP, LivingFleet, draw_world, world_of

from remuda.fleet.decide.engine import choose

ROOT = Path(__file__).parents[2]
SEEDS = st.integers(0, 2**32 - 1)
_SCRIPT = """
from tests.fleet.test_determinism import digests
from tests.fleet.world import draw_world
import hashlib, sys
engine = sys.argv[1]
lines = "".join(digest for seed in range(20) for digest in digests(draw_world(seed), engine))
print(hashlib.sha256(lines.encode()).hexdigest())
"""


def digests(world: LivingFleet, engine: str, cycles: int = 8) -> list[str]:
    """The digests of the plans of a few cycles, the needs that are unmet and since when."""
    world.engine = choose(engine)
    found = []
    for _ in range(cycles):
        plan = world.decide()
        found.append(
            plan.digest() + world.memory.unmet.tobytes().hex() + world.memory.unmet_since.tobytes().hex()
        )
        world.begin(plan)
        world.complete()
        world.now += STEP
    return found


@pytest.mark.slow
@examples(100)
@given(SEEDS)
def test_the_same_fleet_and_demand_give_the_same_plans(seed: int) -> None:
    assert digests(draw_world(seed), "numpy") == digests(draw_world(seed), "numpy")


@pytest.mark.slow
@examples(150)
@given(SEEDS)
def test_the_compiled_engine_gives_the_plans_of_the_reference(seed: int) -> None:
    machines, needs = (60, 20) if seed % 4 == 0 else (12, 6)
    reference = draw_world(seed, machines=machines, needs=needs)
    compiled = draw_world(seed, machines=machines, needs=needs)
    assert digests(reference, "numpy") == digests(compiled, "numba")


@pytest.mark.slow
def test_neither_hash_seed_nor_threads_nor_engine_change_a_plan() -> None:
    found = set()
    for hashes, threads, engine in (("0", "1", "numpy"), ("1", "2", "numba"), ("4711", "1", "numba")):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hashes,
            "OMP_NUM_THREADS": threads,
            "NUMBA_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "PYTHONPATH": str(ROOT),
        }
        command = [sys.executable, "-c", _SCRIPT, engine]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout.strip())
    assert len(found) == 1


@pytest.mark.slow
@examples(60)
@given(SEEDS)
def test_the_order_in_which_machines_became_known_does_not_change_how_much_is_served(seed: int) -> None:
    """Rows settle ties, so the machines may be others."""
    rng = Random(seed)
    machines, needs = draw_free_machines(rng, 6), draw_needs(rng, 4, PLAIN)
    shuffled = rng.sample(machines, len(machines))
    assert world_of(machines, needs).decide().missing == world_of(shuffled, needs).decide().missing
