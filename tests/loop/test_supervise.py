"""Several loops in one process: one that fails does not take the others down, and says so."""

import asyncio

from tests.loop.toy import Memory, Policy, Rig, Seen, Turn, turn, virtually

from remuda.errors import InvariantError, Unavailable
from remuda.ledger.record import MemoryRecorder
from remuda.loop.loop import Pace, Phase
from remuda.loop.supervise import run_loops
from remuda.model.plans import Operation, Plan

EXACT = Pace(jitter=0)


class Dies(MemoryRecorder[Seen, Memory, Policy, Turn]):
    """A recorder that breaks the loop where nothing expects it."""

    def operations(self) -> tuple[Operation[Turn], ...]:
        raise OSError("the disk is gone")


async def run_for(seconds: float, *rigs: Rig) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, stop.set)
    await run_loops([rig.loop for rig in rigs], stop, rigs[0].log)


@virtually
async def test_a_loop_that_fails_breaks_or_dies_leaves_the_others_alone() -> None:
    fails, breaks, dies, lives = Rig(EXACT), Rig(EXACT), Rig(EXACT, Dies(Memory())), Rig(EXACT)

    def fail() -> None:
        raise Unavailable("no")

    def broken() -> None:
        raise InvariantError("no such thing")

    fails.toy.on_decide, breaks.toy.on_decide = fail, broken
    await run_for(10.5, dies, fails, breaks, lives)
    assert len(lives.toy.began) == 11
    assert len(fails.toy.began) == 4
    assert breaks.toy.began == [0]
    assert breaks.loop.standing.phase is Phase.BROKEN
    assert dies.loop.standing.phase is Phase.BROKEN
    assert dies.loop.standing.last_error == "OSError: the disk is gone"
    (line,) = dies.messages("loop died")
    assert line["loop"] == "toy"


@virtually
async def test_when_all_loops_are_broken_the_process_stays_to_say_so() -> None:
    dies = Rig(EXACT, Dies(Memory()))
    await run_for(1_000, dies)
    assert dies.clock.monotonic() == 1_000


@virtually
async def test_a_stop_lets_each_loop_wind_down_at_the_same_time() -> None:
    rigs = [Rig(Pace(interval=100, jitter=0, stop_grace=20), name=f"toy-{number}") for number in range(3)]

    async def work(_: Operation[Turn]) -> None:
        await asyncio.sleep(15)

    for rig in rigs:
        rig.toy.plans = [Plan((turn("a"),))]
        rig.toy.on_act = work
    await run_for(5, *rigs)
    assert rigs[0].clock.monotonic() == 15
    assert [rig.loop.standing.phase for rig in rigs] == [Phase.STOPPED] * 3
    assert all(rig.recorder.operations()[0].outcome is not None for rig in rigs)
