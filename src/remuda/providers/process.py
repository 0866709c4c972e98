"""Machines that are supervised process groups on this host."""

from typing import Any

import msgspec
from msgspec import Struct

from remuda.machines.process.driver import ProcessMachines
from remuda.machines.process.spec import Limits, ProcessSpec, SeparationPolicy
from remuda.model.machines import Order, Supplied
from remuda.model.quantities import Quantity

#: an idle machine waits so long for the next start of Remuda before it ends itself
ORPHAN_TIMEOUT_MS = 10 * 60 * 1_000


class _LimitWords(Struct, frozen=True, rename="camel"):
    memory: str | None = None
    cpu: str | None = None
    processes: int | None = None
    open_files: int | None = None
    file_size: str | None = None


class _Settings(Struct, frozen=True):
    limits: _LimitWords = _LimitWords()
    env: dict[str, str] = {}
    separation: SeparationPolicy = SeparationPolicy.AUTO


class ProcessProvider:
    """Turns orders into process machines of the driver."""

    def __init__(self, machines: ProcessMachines) -> None:
        self._machines = machines

    async def list(self) -> tuple[Supplied, ...]:
        """Every process machine of this data directory."""
        return tuple(
            Supplied(item.name, item.pool, item.template, item.created_at, item.ready_at, item.ended)
            for item in await self._machines.list()
        )

    async def create(self, order: Order) -> None:
        """Start a machine's shim, or find it started."""
        settings = msgspec.convert(order.settings, _Settings)
        await self._machines.create(
            ProcessSpec(
                name=order.name,
                # Names are never used twice, so the name is identity enough.
                id=order.name,
                pool=order.pool,
                template=order.template,
                idle_timeout_ms=order.idle_timeout,
                orphan_timeout_ms=ORPHAN_TIMEOUT_MS,
                limits=_limits(settings.limits),
                env=settings.env,
                separation_policy=settings.separation,
            )
        )

    async def delete(self, name: str, identity: str, *, at_once: bool = False) -> bool:
        """End a machine and everything it started, at once in any case."""
        del at_once
        return await self._machines.delete(name, int(identity))

    async def console(self, name: str) -> bytes:
        """The last of what its shim said."""
        return await self._machines.console(name)


def read_settings(settings: Any) -> tuple[Limits, SeparationPolicy]:
    """What a pool's words about its machines ask for: their limits, and whether jobs shall be separated."""
    found = msgspec.convert(settings, _Settings)
    return _limits(found.limits), found.separation


def _limits(words: _LimitWords) -> Limits:
    return Limits(
        memory=Quantity.parse(words.memory).bytes if words.memory else None,
        cpu_millis=Quantity.parse(words.cpu).milli if words.cpu else None,
        processes=words.processes,
        open_files=words.open_files,
        file_size=Quantity.parse(words.file_size).bytes if words.file_size else None,
    )
