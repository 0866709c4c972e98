"""What every simulated history of pools with a queue shares: machines, and shims that ask for work."""

import random
from abc import abstractmethod
from collections.abc import Callable

from msgspec import structs

from remuda.model.jobs import Finished, Run
from remuda.sim.history import History
from remuda.sim.provider import SimProvider
from remuda.sim.scenario import Event, Scenario
from remuda.sim.shim import Shim
from remuda.sim.watch import Watch
from remuda.sources.queue.queue import Answer


class PoolHistory(History[Event, Watch]):
    """What both kinds of history share: machines, and work for them."""

    #: whether someone asked for a job to end; None where nobody ever does
    is_cancelled: Callable[[Run], bool] | None = None

    def __init__(self, scenario: Scenario, seed: int) -> None:
        super().__init__(seed, scenario.events, scenario.seconds, scenario.faults, Watch)
        self.scenario = scenario
        self.setup = scenario.setup
        self.shim = Shim(self, self.watch, self.clock, self.is_cancelled)
        self.provider = SimProvider(
            self.clock,
            random.Random(f"machines {seed}"),
            self.faults,
            self.watch,
            self.shim.hold,
            self.start,
        )
        self.provider.behaviour = scenario.behaviour

    async def calm(self) -> None:
        """Stop all faults and take all hands off."""
        await super().calm()
        self.provider.behaviour = structs.replace(
            self.scenario.behaviour, fails=0.0, hangs=0.0, loops=0.0, life_s=None
        )

    @abstractmethod
    async def next(
        self, machine: str, finished: Finished | None, *, leaving: bool, ran: int | None = None
    ) -> Answer:
        """A machine asks for work."""
