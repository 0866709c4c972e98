"""
A job at work in `remuda up`: what it is handed, and what it offers.

`App` builds the runtimes of the jobs that run, hands them services, and iterates over them for everything else: routes,
objects that changed, statuses, health, upkeep. It knows none by name.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from prometheus_client import CollectorRegistry

from remuda.control.routes import Route
from remuda.kube.client import Client
from remuda.ledger.address import PostgresAddress
from remuda.ledger.record import Kinds
from remuda.ledger.retention import Retention
from remuda.ledger.store import Store
from remuda.loop.clock import Clock
from remuda.loop.controller import Controller
from remuda.loop.faults import FaultPoint, no_fault
from remuda.loop.logs import Log
from remuda.loop.loop import Loop
from remuda.model.plans import Action
from remuda.model.times import Instant
from remuda.objects.load import Objects

S = TypeVar("S")
M = TypeVar("M")
P = TypeVar("P")
A = TypeVar("A", bound=Action)


class MakeLoop(Protocol):
    """Makes a loop that is recorded and supervised; in a dry run it is recorded nowhere."""

    def __call__(
        self, controller: Controller[S, M, P, A], records: Kinds[S, M, P, A], policy: P
    ) -> Loop[S, M, P, A]:
        """The loop of a controller, with the types of its records and the policy it begins with."""
        ...


class ClusterAccess(Struct, frozen=True):
    """A cluster we run in: `reader` always reads, `writer` writes only while we lead."""

    reader: Client
    writer: Client
    namespace: str


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """A database that several hosts share the job queue in; who shows no sign of life for `lease_ms` has lost its jobs."""

    address: PostgresAddress
    lease_ms: int


@dataclass(frozen=True, slots=True)
class Services:
    """What a job is handed."""

    clock: Clock
    rng: random.Random
    log: Log
    store: Store
    data_dir: Path
    #: where the control API listens, for what is started and calls back
    socket: Path
    registry: CollectorRegistry
    make_loop: MakeLoop
    #: ask for a cycle of the job's loops soon
    wake: Callable[[], None]
    #: ask for the statuses of the job's objects to be written soon
    status_changed: Callable[[], None]
    cluster: ClusterAccess | None = None
    fault_point: FaultPoint = no_fault
    #: by the pid of a caller, whether the control API refuses it; a job may add to it
    refused_callers: list[Callable[[int], bool]] = field(default_factory=list)
    #: where jobs are handed in and taken from together with other hosts; None where the store has them
    queue: SharedPlace | None = None
    #: nothing outside the process may be changed
    is_dry_run: bool = False


class Condition(Struct, frozen=True):
    """One fact about an object, as Kubernetes shows it; when it began is kept by who writes it."""

    type: str
    is_true: bool
    reason: str
    message: str = ""


class Status(Struct, frozen=True):
    """What a job says about one of its objects. Without conditions nothing is known yet, and what was shown stays."""

    conditions: tuple[Condition, ...] = ()
    #: fields of the object's status
    fields: dict[str, Any] = {}
    #: what a person must supply though the object's words are right: a Secret that is not there
    incomplete: str = ""


class Runtime:
    """
    One job at work; what is not written otherwise does nothing.

    It is made with `(services, backends)`; making it starts nothing and changes nothing.
    """

    def routes(self) -> tuple[Route, ...]:
        """Its part of the control API."""
        return ()

    def compile(self, objects: Objects, broken: frozenset[tuple[str, str]]) -> Any:  # noqa: ARG002 - a default
        """
        What objects mean, for `apply`; `BadInput` with every problem when they cannot be followed here.

        `broken` are kind and name of objects that are there and cannot be read. Nothing changes yet.
        """
        return None

    def apply(self, compiled: Any) -> None:
        """Go by what was compiled. Nothing awaits here, so that a loop sees all of it or nothing."""

    async def start(self) -> None:
        """Find what an earlier process left; called once, when nothing can be refused any more."""

    async def lead(self) -> None:
        """Begin to write the store that other replicas have written meanwhile; called each time that this one begins to lead."""

    async def run(self) -> None:
        """What goes on beside the loops, until cancelled."""

    async def settle(self) -> None:
        """Wait until the world is known, for a dry run; what cannot be known is part of the plan."""

    def status(self, kind: str, name: str) -> Status:  # noqa: ARG002 - a default
        """What is to be said about one of its objects."""
        return Status()

    def details(self) -> Mapping[str, Any]:
        """Numbers for `/ready`."""
        return {}

    def trouble(self) -> list[str]:
        """What does not answer, while it is needed."""
        return []

    async def keep_house(self, keep: Retention, now: Instant) -> None:
        """Forget what is older or more than is kept; called every minute."""

    def close(self) -> None:
        """Let go of what was opened. What it started outside this process goes on."""
