"""What pools need of the world: a source of needs and a provider of machines. Adapters satisfy these by shape."""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from remuda.control.routes import Route
from remuda.ledger.retention import Retention
from remuda.model.machines import Order, Supplied
from remuda.model.needs import Reading
from remuda.model.plans import Reason
from remuda.model.times import Instant
from remuda.pools.decide.model import Policy
from remuda.pools.policy import PoolSetup


class Source(Protocol):
    """
    Where needs come from, and who knows which machine works.

    An `exact` source knows at every moment who is busy; for any other one, two readings must agree.
    """

    @property
    def exact(self) -> bool:
        """Whether a reading is the truth at its moment."""
        ...

    async def read(self) -> Reading:
        """The needs of all classes and all workers. A source that fails says its last good numbers, marked stale."""
        ...

    async def close(
        self, machine: str, made_at: int = 0, job_class: str | None = None, boot: str = ""
    ) -> bool:
        """
        Give a machine no more work, for good. True when it has none; repeated calls return the same.

        Work of a machine of that name from before `made_at` is not its own. `job_class` is the one it was made for,
        where that is known: its pool may be gone, or have another one by now. `boot` is the one the machine calls
        itself by.
        """
        ...

    async def forget(self, machine: str) -> None:
        """A machine is gone: settle what it was working on. Repeated calls change nothing."""
        ...


class Provider(Protocol):
    """Where machines come from. A machine that was made is listed until it is deleted, also when it has ended."""

    async def list(self) -> tuple[Supplied, ...]:
        """Every machine of ours, sorted by name, and none of anybody else."""
        ...

    async def create(self, order: Order) -> None:
        """Make a machine, or find that it was made already."""
        ...

    async def delete(self, name: str, identity: str, *, at_once: bool = False) -> bool:
        """
        Remove a machine and everything it started; True when it is gone, or ends what it does first and then goes.

        A machine that is listed as one that drains always ends what it does first.
        `at_once` does not wait for a job that it may have. False, and nothing touched, when the machine of that name
        has another identity than the caller knew.
        """
        ...

    async def console(self, name: str) -> bytes:
        """The last of what the machine said."""
        ...


class Backend:
    """
    Sources and providers that belong together, and what they need to live; what is not written otherwise does nothing.

    It is made with `(services,)`;
    making it starts nothing and changes nothing.
    """

    sources: Mapping[str, Source]
    providers: Mapping[str, Provider]
    #: by provider, the source that its machines take their work from
    partners: Mapping[str, str]
    #: to be called when what machines are made of may be another than before
    changed: Callable[[], None] = staticmethod(lambda: None)

    def routes(self) -> tuple[Route, ...]:
        """Its part of the control API."""
        return ()

    def fingerprint(self, setup: PoolSetup, /) -> str:  # noqa: ARG002 - a default
        """What its machines are made of beside the pool's own words, as a short text; nothing for other pools."""
        return ""

    def user_data(self, setup: PoolSetup, /) -> str | None:  # noqa: ARG002 - a default
        """What new machines of a pool are given at boot, without secrets; None where there is no such thing."""
        return None

    def serve(self, setups: Collection[PoolSetup]) -> None:
        """All pools there are now, also those of other backends."""

    def problems(self) -> Mapping[str, str]:
        """By pool, what a person must supply before it gets machines or its tasks are known."""
        return {}

    def silent(self) -> Mapping[str, str]:
        """By class, why its source gives no good answer."""
        return {}

    def decided(self, reasons: tuple[Reason, ...], policy: Policy) -> None:
        """A cycle is over: the reasons of all pools."""

    def trouble(self) -> list[str]:
        """What does not answer, while pools need it."""
        return []

    async def start(self) -> None:
        """Find what an earlier process left."""

    async def lead(self) -> None:
        """Begin to write a store that other replicas have written meanwhile."""

    async def run(self) -> None:
        """Follow the world until cancelled."""

    async def settle(self) -> None:
        """Wait until the world is known, for a dry run."""

    async def keep_house(self, keep: Retention, now: Instant) -> None:
        """Forget what is older or more than is kept."""

    def close(self) -> None:
        """Let go of what was opened."""
