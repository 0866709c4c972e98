"""What pools need of the world: a source of needs and a provider of machines. Adapters satisfy these by shape."""

from typing import Protocol

from remuda.model.machines import Order, Supplied
from remuda.model.needs import Reading


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
        Give a machine no more work, for good. True when it has none; repeated calls tell the same.

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

    async def delete(self, name: str, created_at: int, *, at_once: bool = False) -> bool:
        """
        Remove a machine and everything it started; True when it is gone, or ends what it does first and then goes.

        A machine that is listed as one that drains always ends what it does first.
        `at_once` does not wait for a job that it may have. False, and nothing touched, when the machine of that name is another one than the caller knew.
        """
        ...

    async def console(self, name: str) -> bytes:
        """The last of what the machine said."""
        ...
