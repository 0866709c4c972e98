"""Who already has what it needs: what serves before what is only meant for a need, and how long that is meant."""

import pytest
from tests.fleet.builders import RACK, machines, need, shape
from tests.fleet.generate import START
from tests.fleet.world import world_of

from remuda.fleet.plan import Op
from remuda.model.machines import State
from remuda.model.shapes import ZONE
from remuda.model.times import MINUTE
from remuda.model.units import Spread


def test_what_serves_a_need_stays_and_what_is_only_meant_for_it_is_free() -> None:
    serves = machines(1, shape(dollars=9), State.CONFIGURED, cluster="c", need="n", prefix="serves")
    meant = machines(1, shape(), State.CREATING, prefix="meant")
    world = world_of([*serves, *meant], [need("n")], claims={"meant-0": ("c", "n")})
    assert len(world.decide()) == 0


@pytest.mark.parametrize(
    ("state", "minutes", "given"),
    [
        pytest.param(State.CREATING, 20, [], id="what is being made is waited for, however long"),
        pytest.param(State.IDLE, 9, ["meant-0"], id="what became idle is given to whom it was made for"),
        pytest.param(State.IDLE, 11, ["free-0"], id="after the patience of gangs it is as free as any"),
    ],
)
def test_a_machine_is_meant_for_a_need_while_it_comes_and_for_a_while_when_it_is_idle(
    state: State, minutes: int, given: list[str]
) -> None:
    free = machines(1, shape(), prefix="free")
    meant = machines(1, shape(dollars=1), state, since=START - minutes * MINUTE, prefix="meant")
    world = world_of([*free, *meant], [need("n")], claims={"meant-0": ("c", "n")})
    plan = world.decide()
    assert [world.fleet.ids[row] for row in plan.rows(Op.ASSIGN)] == given


def test_machines_made_for_a_gang_wait_while_a_single_unit_is_missing() -> None:
    meant = machines(2, shape(rack="x"), prefix="meant", since=START)
    claims = {f"meant-{number}": ("c", "gang") for number in range(2)}
    world = world_of(meant, [need("gang", 3, same=RACK)], claims=claims)
    plan = world.decide()
    assert (len(plan), plan.missing) == (0, 1)
    assert world.memory.settled is not None
    assert world.memory.settled.until == START + world.policy.gang_patience


def test_what_a_spread_need_can_do_without_is_free_for_others() -> None:
    serves = machines(1, shape(), State.CONFIGURED, cluster="c", need="n", prefix="serves")
    meant = machines(1, shape(), prefix="meant", since=START)
    world = world_of(
        [*serves, *meant],
        [need("n", spread=Spread(ZONE, 1)), need("m", cluster="d")],
        claims={"meant-0": ("c", "n")},
    )
    (block,) = world.decide().blocks
    assert (block.op, [world.needs[code].name for code in block.needs.tolist()]) == (Op.ASSIGN, ["m"])
