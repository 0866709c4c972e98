"""The providers of a simulated fleet as a shard meets them: over a network that loses, delays and repeats."""

import asyncio
from collections.abc import Callable

from remuda.errors import Unavailable
from remuda.fleet.ports import Answer, Changes
from remuda.fleet.ports import Call as PortCall
from remuda.model.times import MINUTE, SECOND
from remuda.sim.fleet_faults import Fault, Faults
from remuda.sim.fleet_machines import Call, SimulatedMachines
from remuda.sim.fleet_queue import Queue


class SimProvider:
    """Satisfies `remuda.fleet.ports.Provider`."""

    def __init__(
        self,
        number: int,
        name: str,
        world: SimulatedMachines,
        queue: Queue,
        faults: Faults,
        calls: Callable[[PortCall], None],
    ) -> None:
        """`calls` hears of every call before it leaves."""
        self.number, self.name = number, name
        self._world, self._queue, self._faults, self._calls = world, queue, faults, calls
        self._last: Changes | None = None
        self._before: Changes | None = None

    async def changes(self, cursor: str) -> Changes:
        """What changed, unless it fails, takes long or comes from a copy that is behind."""
        if self._queue.now < self._world.down_until[self.number] or self._faults.strikes(Fault.LIST_FAILS):
            raise Unavailable(f"{self.name} cannot be read")
        found = self._world.changes(self.number, cursor)
        if self._faults.strikes(Fault.LIST_STALE):
            if cursor and self._before is not None and self._faults.between(Fault.LIST_STALE, 0, 2) == 0:
                self._faults.count(Fault.LIST_REORDERED)
                return self._before
            await asyncio.sleep(self._faults.between(Fault.LIST_STALE, 2 * SECOND, 25 * SECOND) / SECOND)
        self._before, self._last = self._last if cursor else None, found
        return found

    async def call(self, call: PortCall) -> Answer:
        """Send a call; no answer comes when it or its reply is lost."""
        self._calls(call)
        machine, _, generation = call.machine.removeprefix("m").partition("-")
        world, faults, queue = self._world, self._faults, self._queue
        sent = Call(
            call.op,
            int(machine),
            call.token,
            int(generation or 0),
            world.number_of_cluster(call.cluster) if call.cluster else -1,
            world.number_of_need(call.cluster, call.need) if call.cluster else -1,
            call.priority,
            call.grace,
        )
        reply: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        wait = world.dice.randint(5, 200)
        if faults.strikes(Fault.CALL_LATE):
            queue.after(faults.between(Fault.CALL_LATE, 20 * SECOND, 90 * SECOND), self._arrive, sent, reply)
        elif not faults.strikes(Fault.CALL_LOST):
            queue.after(wait, self._arrive, sent, reply)
        if faults.strikes(Fault.CALL_DUPLICATED):
            again = faults.between(Fault.CALL_DUPLICATED, SECOND, 2 * MINUTE)
            queue.after(wait + again, self._arrive, sent, reply)
        return await reply

    def _arrive(self, call: Call, reply: asyncio.Future[Answer]) -> None:
        """The call comes to the provider, whatever became of who sent it."""
        answer = Answer(self._world.call(call))
        wait = self._world.dice.randint(5, 200)
        if not self._faults.strikes(Fault.REPLY_LOST):
            self._queue.after(wait, _answer, reply, answer)
        if self._faults.strikes(Fault.REPLY_DUPLICATED):
            again = self._faults.between(Fault.REPLY_DUPLICATED, SECOND, MINUTE)
            self._queue.after(wait + again, _answer, reply, answer)


def _answer(reply: asyncio.Future[Answer], answer: Answer) -> None:
    """An answer; one that nobody waits for any more is passed over."""
    if not reply.done():
        reply.set_result(answer)
