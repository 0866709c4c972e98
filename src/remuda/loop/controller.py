"""What the runtime needs of a controller, and of the record it keeps."""

from typing import Protocol, TypeVar

from remuda.model.plans import Action, Operation, Outcome, Plan
from remuda.model.times import Instant

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)
M = TypeVar("M")
P_contra = TypeVar("P_contra", contravariant=True)
A = TypeVar("A", bound=Action)


class Controller(Protocol[S, M, P_contra, A]):
    """
    A controller: three steps, the middle one pure.

    `observe` is given the operations before it reads the world, so that what an operation made is either in the
    world or still under way, never neither. `act` starts from scratch each time: it checks `expects` right before it
    acts, is idempotent, and answers a mismatch with a refused outcome instead of an error.
    """

    @property
    def name(self) -> str:
        """The loop's name in logs, metrics and commands."""
        ...

    async def observe(self, operations: tuple[Operation[A], ...]) -> S:
        """Read the world into a snapshot."""
        ...

    def decide(self, seen: S, memory: M, policy: P_contra, now: Instant) -> tuple[Plan[A], M]:
        """Judge: no I/O, no clock, no dice."""
        ...

    async def act(self, operation: Operation[A]) -> Outcome:
        """Carry out one operation."""
        ...

    def report(self, seen: S, plan: Plan[A]) -> dict[str, object]:
        """Set the job's metrics and return the numbers a person debugs with."""
        ...

    def stand_by(self) -> None:
        """Another replica acts from now on: what was reported here is no longer so."""
        ...


class Recorder(Protocol[S_contra, M, P_contra, A]):
    """Where a loop keeps its cycles and operations: the ledger, or a notebook in memory."""

    def memory(self) -> M:
        """What the loop remembered last."""
        ...

    def operations(self) -> tuple[Operation[A], ...]:
        """Operations under way or not yet seen by a plan."""
        ...

    async def record(
        self,
        seen: S_contra,
        memory: M,
        policy: P_contra,
        now: Instant,
        plan: Plan[A],
        after: M,
        saw: tuple[Operation[A], ...],
    ) -> tuple[Operation[A], ...]:
        """Write a cycle in one transaction and return the operations to start."""
        ...

    async def finish(self, operation: Operation[A], outcome: Outcome) -> None:
        """Keep how an operation ended."""
        ...
