"""
What other stores left in the data directory: machines, and the files of jobs.

It is there after a store was moved away, or an older copy was restored. Nobody but a person can say that it is not
needed any more, so it is kept and listed, never believed, and removed only by order.
"""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from remuda.control.routes import Call, Route
from remuda.errors import Unavailable
from remuda.ledger.store import Store
from remuda.machines.process.driver import ProcessMachines
from remuda.machines.process.spec import ForeignMachine
from remuda.model.jobs import Run
from remuda.sources.queue import rows
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.queue import Queue


class ForeignFiles(Struct, frozen=True):
    """Output and results of one other store: how many attempts they are of, and how large."""

    store: str
    attempts: int
    bytes: int


class ForeignView(Struct, frozen=True):
    """Everything that other stores left here."""

    identity: str
    machines: tuple[ForeignMachine, ...] = ()
    files: tuple[ForeignFiles, ...] = ()


class Clean(Struct, frozen=True, forbid_unknown_fields=True):
    """The order to remove it; `even_busy` ends the jobs that foreign machines work on."""

    even_busy: bool = False


class Cleaned(Struct, frozen=True):
    """What was removed, what was kept because it is busy, and what could not be removed."""

    machines: tuple[str, ...]
    attempts: int
    kept: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class Foreign:
    """Lists what is not this store's, and removes it by order."""

    def __init__(
        self,
        identity: Callable[[], str],
        machines: ProcessMachines,
        files: JobFiles,
        store: Store,
        queue: Queue,
    ) -> None:
        self._identity, self._machines, self._files, self._store = identity, machines, files, store
        self._queue = queue

    def routes(self) -> tuple[Route, ...]:
        """Its part of the control API."""
        return (
            Route("GET", "/v1/foreign", "What other stores left here.", ForeignView, handler=self.show),
            Route(
                "POST",
                "/v1/foreign/clean",
                "Remove what other stores left here.",
                Cleaned,
                handler=self.clean,
                body=Clean,
            ),
        )

    async def show(self, call: Call) -> ForeignView:
        """List it."""
        del call
        sizes = await asyncio.to_thread(self._sizes)
        stores = sorted({run.store for run in sizes})
        files = []
        for store in stores:
            mine = [size for run, size in sizes.items() if run.store == store]
            files.append(ForeignFiles(store, len(mine), sum(mine)))
        return ForeignView(self._identity(), self._machines.foreign(), tuple(files))

    async def clean(self, call: Call) -> Cleaned:
        """Remove it; a busy machine only if ordered, and files stay while anyone may still write them."""
        order: Clean = call.body
        gone, problems = list[str](), list[str]()
        kept = list(self._queue.elsewhere())
        for machine in self._machines.foreign():
            try:
                is_gone = await self._machines.remove_foreign(machine.name, even_busy=order.even_busy)
            except Unavailable as error:
                is_gone = False
                problems.append(str(error))
            (gone if is_gone else kept).append(machine.name)
        runs = [] if kept else list(await asyncio.to_thread(self._sizes))
        for run in runs:
            await asyncio.to_thread(self._files.forget, run)
        return Cleaned(tuple(gone), len(runs), tuple(kept), tuple(problems))

    def _sizes(self) -> dict[Run, int]:
        """The files first: what a machine writes after that belongs to an attempt that is known by then."""
        sizes = self._files.sizes()
        known = self._store.read(rows.all_runs)
        return {run: size for run, size in sizes.items() if run not in known}
