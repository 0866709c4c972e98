"""What other stores left behind: listed, never believed, and removed by order alone."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from remuda.backends.foreign import Clean, Foreign, ForeignFiles
from remuda.control.routes import Call
from remuda.errors import Unavailable
from remuda.ledger.store import FILE, SqliteStore
from remuda.loop.clock import SystemClock
from remuda.machines.process.driver import ProcessMachines
from remuda.machines.process.spec import ForeignMachine
from remuda.model.jobs import JobSpec, Run
from remuda.sources.queue import rows
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.queue import Queue
from remuda.sources.queue.schema import TABLES

MINE = Run("s1", 1, 1)
THEIRS = (Run("s9", 1, 1), Run("s9", 2, 1), Run("", 1, 1))


class Machines:
    """Foreign machines, of which some are busy and one does not go."""

    def __init__(self) -> None:
        self.there: dict[str, ForeignMachine] = {}
        self.stuck = set[str]()

    def add(self, name: str, *, is_busy: bool) -> None:
        self.there[name] = ForeignMachine(name, "s9", 1, is_busy=is_busy)

    def foreign(self) -> tuple[ForeignMachine, ...]:
        return tuple(self.there.values())

    async def remove_foreign(self, name: str, *, even_busy: bool) -> bool:
        if name in self.stuck:
            raise Unavailable(f"{name} does not go")
        if self.there[name].is_busy and not even_busy:
            return False
        del self.there[name]
        return True


class Rig:
    """A store with one attempt of its own, and files of it and of others."""

    def __init__(self, home: Path) -> None:
        self.store = SqliteStore(home / FILE, tables=(TABLES,))
        self.files = JobFiles(home / "jobs")
        self.files.prepare()
        self.machines = Machines()
        self.queue = Queue(self.store, self.files, SystemClock(), lambda: None, identity="s1")
        machines = cast("ProcessMachines", self.machines)
        self.foreign = Foreign(lambda: "s1", machines, self.files, self.store, self.queue)
        for run in (MINE, *THEIRS):
            Path(f"{self.files.stem(run)}.log").write_bytes(b"12345")

    async def give_out(self) -> None:
        job = rows.Submission("a", JobSpec(("true",)))
        await self.store.write(lambda db: rows.submit(db, job, 1))
        await self.store.write(lambda db: rows.claim(db, "shell-1", "a", 1, "s1"))

    async def clean(self, *, even_busy: bool = False) -> tuple[set[str], int, set[str], int]:
        done = await self.foreign.clean(Call({}, {}, Clean(even_busy)))
        return set(done.machines), done.attempts, set(done.kept), len(done.problems)

    def left(self) -> set[Run]:
        return set(self.files.sizes())


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path)
    await made.give_out()
    yield made
    made.store.close()


async def test_files_are_listed_by_the_store_they_are_of_and_our_own_are_not(rig: Rig) -> None:
    rig.machines.add("shell-7", is_busy=True)
    found = await rig.foreign.show(Call({}, {}))
    assert found.identity == "s1"
    assert [machine.name for machine in found.machines] == ["shell-7"]
    assert found.files == (ForeignFiles("", 1, 5), ForeignFiles("s9", 2, 10))


async def test_what_is_foreign_goes_and_what_is_ours_stays(rig: Rig) -> None:
    rig.machines.add("shell-7", is_busy=False)
    assert await rig.clean() == ({"shell-7"}, 3, set(), 0)
    assert rig.left() == {MINE}


async def test_a_busy_machine_stays_and_so_do_all_files_that_it_may_write(rig: Rig) -> None:
    rig.machines.add("shell-7", is_busy=True)
    rig.machines.add("shell-8", is_busy=False)
    assert await rig.clean() == ({"shell-8"}, 0, {"shell-7"}, 0)
    assert rig.left() == {MINE, *THEIRS}
    assert await rig.clean(even_busy=True) == ({"shell-7"}, 3, set(), 0)


async def test_one_that_does_not_go_is_reported_and_keeps_its_files(rig: Rig) -> None:
    rig.machines.add("shell-7", is_busy=False)
    rig.machines.stuck.add("shell-7")
    assert await rig.clean(even_busy=True) == (set(), 0, {"shell-7"}, 1)
    assert rig.left() == {MINE, *THEIRS}


async def test_files_stay_while_a_machine_of_ours_has_not_said_what_it_does(rig: Rig) -> None:
    rig.queue.adopt(["shell-1"])
    assert await rig.clean() == (set(), 0, {"shell-1"}, 0)
    assert rig.left() == {MINE, *THEIRS}
