"""Tiers kept once, without a loop: the same judgement, over and over until nothing is left to do."""

import asyncio
import random

from msgspec import Struct

from remuda.errors import RemudaError
from remuda.kube.client import Client
from remuda.loop.clock import Clock
from remuda.model.plans import Operation, Outcome, Reason
from remuda.tiers.controller import TiersController
from remuda.tiers.decide.model import Memory, Policies, Snapshot, TierAction
from remuda.tiers.watched import WatchedCluster

#: how often a cluster is read anew because somebody changed it meanwhile, and how much is changed at a time
_MOST_PASSES, _PARALLEL = 3, 16


class Kept(Struct, frozen=True):
    """What was done, how each ended, and what is said of everything now."""

    done: tuple[tuple[TierAction, Outcome], ...]
    reasons: tuple[Reason, ...]


async def look(client: Client, policies: Policies, clock: Clock) -> Snapshot:
    """The cluster as it is."""
    world = WatchedCluster(client, client, clock, random.Random())
    controller = TiersController(world, clock)
    controller.follow(policies)
    await world.load()
    return await controller.observe(())


async def keep(client: Client, policies: Policies, clock: Clock) -> Kept:
    """Bring a cluster to what policies say; what fails is tried once, and what somebody changed meanwhile is looked at again."""
    world = WatchedCluster(client, client, clock, random.Random())
    controller = TiersController(world, clock)
    controller.follow(policies)
    done: dict[str, tuple[TierAction, Outcome]] = {}
    reasons: tuple[Reason, ...] = ()
    for _ in range(_MOST_PASSES):
        await world.load()
        # what failed in this pass is not tried again in it: its time does not come
        memory, operations, now = Memory(), tuple[Operation[TierAction], ...](), clock.now()
        while True:
            seen = await controller.observe(operations)
            plan, memory = controller.decide(seen, memory, policies, now)
            reasons = plan.reasons
            if not plan.actions:
                break
            slots = asyncio.Semaphore(_PARALLEL)
            operations = tuple(
                await asyncio.gather(
                    *(
                        _carry_out(controller, Operation(number, action), slots, clock)
                        for number, action in enumerate(plan.actions)
                    )
                )
            )
            for operation in operations:
                assert operation.outcome is not None
                done[operation.action.target] = operation.action, operation.outcome
        if not any(outcome.status == "refused" for _, outcome in done.values()):
            break
    return Kept(tuple(done.values()), reasons)


async def _carry_out(
    controller: TiersController, operation: Operation[TierAction], slots: asyncio.Semaphore, clock: Clock
) -> Operation[TierAction]:
    async with slots:
        try:
            outcome = await controller.act(operation)
        except RemudaError as error:
            outcome = Outcome("failed", clock.now(), str(error))
    return Operation(operation.id, operation.action, outcome)
