"""
Several CircleCIs as one source: every address and token has connections and troubles of its own.

What a host is asked for, it is asked for with all tokens together: they share its rate.
"""

import asyncio
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from remuda.errors import Unavailable
from remuda.model.machines import pool_of
from remuda.model.needs import Reading
from remuda.model.times import Instant
from remuda.sources.circleci.pace import Host
from remuda.sources.circleci.source import CircleCI

_PORTS = {"https": 443, "http": 80}


class Account(Struct, frozen=True, order=True):
    """An address, and the Secret and key its token is in; no Secret is the environment's token."""

    url: str
    secret: str = ""
    key: str = ""

    @property
    def host(self) -> tuple[str, int]:
        """Whom it asks, whatever the address is spelt like."""
        read = urlsplit(self.url)
        return read.hostname or "", read.port or _PORTS.get(read.scheme, 0)


class Accounts:
    """All CircleCIs that pools name. It satisfies the `Source` port; `run` must run for anything to become known."""

    exact = False

    def __init__(self, make: Callable[[Account, Host], CircleCI]) -> None:
        self._make = make
        self._hosts: dict[tuple[str, int], Host] = {}
        self._sources: dict[Account, CircleCI] = {}
        self._account_of: dict[str, Account] = {}
        self._changed = asyncio.Event()

    def serve(self, pools: Mapping[str, tuple[Account, str]]) -> None:
        """Set each pool's account and class; an account of no pool is no longer asked."""
        self._account_of = {pool: account for pool, (account, _) in pools.items()}
        needed = {account for account, _ in pools.values()}
        for account in self._sources.keys() - needed:
            self._sources[account].serve({})  # it makes room for the others of its host
        hosts = {account.host for account in needed}
        self._hosts = {name: self._hosts.get(name) or Host() for name in hosts}
        self._sources = {
            account: self._sources.get(account) or self._make(account, self._hosts[account.host])
            for account in sorted(needed)
        }
        for account, source in self._sources.items():
            source.serve({pool: name for pool, (whose, name) in pools.items() if whose == account})
        self._changed.set()

    async def read(self) -> Reading:
        """What all of them said. No class is served twice, and machines have names of their own."""
        readings = [await source.read() for source in self._sources.values()]
        return Reading(
            {name: need for reading in readings for name, need in reading.needs.items()},
            {name: worker for reading in readings for name, worker in reading.workers.items()},
            frozenset(name for reading in readings for name in reading.registering),
        )

    async def close(
        self, machine: str, made_at: int = 0, job_class: str | None = None, boot: str = ""
    ) -> bool:
        """Whether the machine's agent has no task; see `CircleCI.close`."""
        return await self._of(machine, job_class).close(machine, made_at, job_class, boot)

    async def forget(self, machine: str) -> None:
        """A machine is gone."""
        for source in self._sources.values():
            await source.forget(machine)

    async def refresh(self) -> None:
        """Ask all of them once now."""
        await asyncio.gather(*(source.refresh() for source in self._sources.values()))

    def trouble(self) -> dict[str, str]:
        """A sentence for each class that gets no good answers."""
        return {
            name: message for source in self._sources.values() for name, message in source.trouble().items()
        }

    def refusals(self) -> dict[str, str]:
        """By class, why its tasks cannot be counted."""
        return {
            name: message for source in self._sources.values() for name, message in source.refusals().items()
        }

    def heard_at(self) -> dict[str, Instant]:
        """By class, when its tasks were last counted."""
        return {name: at for source in self._sources.values() for name, at in source.heard_at().items()}

    async def run(self) -> None:
        """Poll all of them until cancelled."""
        async with asyncio.TaskGroup() as group:
            running: dict[CircleCI, asyncio.Task[None]] = {}
            while True:
                self._changed.clear()
                needed = set(self._sources.values())
                for source in running.keys() - needed:
                    running.pop(source).cancel()
                for source in needed - running.keys():
                    running[source] = group.create_task(source.run(), name="circleci")
                await self._changed.wait()

    def _of(self, machine: str, job_class: str | None) -> CircleCI:
        """Who is asked about a machine: whoever serves its class, for whatever pool, else its pool."""
        for source in self._sources.values():
            if job_class is not None and source.serves(job_class):
                return source
        account = self._account_of.get(pool_of(machine))
        if account is None:
            raise Unavailable(f"machine {machine} is of no pool that CircleCI serves")
        return self._sources[account]
