import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.machines.process.stand_in import PATIENCE_S, Remuda, eventually, is_alive, output, run, sh

from remuda.errors import BadInput, Unavailable
from remuda.machines.process import landlock
from remuda.machines.process.cgroups import Cgroups, find_cgroups
from remuda.machines.process.driver import ProcessMachines
from remuda.machines.process.pidfd import open_pidfd
from remuda.machines.process.records import identity
from remuda.machines.process.spec import Limits, Means, ProcessMachine, ProcessSpec

pytestmark = pytest.mark.slow
Drive = Callable[..., Awaitable[ProcessMachines]]


class Ticking:
    """A clock that no two machines share an instant of."""

    def __init__(self) -> None:
        self.at = 1_000

    def now(self) -> int:
        self.at += 1
        return self.at


def spec(name: str = "m", *, id_: str | None = None, **more: object) -> ProcessSpec:
    return ProcessSpec(name=name, id=id_ or f"id-{name}", pool="p", template="t", **more)  # type: ignore[arg-type]


async def seen(
    machines: ProcessMachines, is_so: Callable[[ProcessMachine], object], name: str = "m"
) -> ProcessMachine:
    """The machine, once it is as asked."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        for machine in await machines.list():
            if machine.name == name and is_so(machine):
                return machine
        assert time.monotonic() < deadline, await machines.list()
        await asyncio.sleep(0.005)


async def ready(machines: ProcessMachines, name: str = "m") -> ProcessMachine:
    return await seen(machines, lambda machine: machine.ready_at and machine.pid, name)


async def until(look: Callable[[], object]) -> None:
    await asyncio.to_thread(eventually, look)


def shims(root: Path) -> list[int]:
    """Pids of all shims of machines below a directory."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                if len(words) > 2 and words[-2].startswith(os.fsencode(root)) and is_alive(int(process.name)):
                    found.append(int(process.name))
    return found


@contextlib.contextmanager
def stranger(**environment: str) -> Iterator[int]:
    """A process that is none of ours."""
    process = subprocess.Popen(["sleep", "600"], env={**os.environ, **environment})
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


@pytest.fixture
async def drive(tmp_path: Path, remuda: Remuda) -> AsyncIterator[Drive]:
    """Makes drivers of one directory; in the end everything is deleted by one of them."""
    clock, root = Ticking(), tmp_path / "machines"
    made: list[ProcessMachines] = []

    async def start(
        grace_s: float = 10.0,
        cgroups: Cgroups | None = Cgroups(),  # noqa: B008
        watch: Callable[[int], int | None] = open_pidfd,
        find_means: Callable[[], Means] = lambda: Means.NONE,
    ) -> ProcessMachines:
        driver = ProcessMachines(
            root,
            remuda.path,
            clock,
            lambda: None,
            cgroups=cgroups,
            find_means=find_means,
            grace_s=grace_s,
            watch=watch,
        )
        made.append(driver)
        await driver.adopt()
        return driver

    yield start
    for driver in made:
        driver.close()
    last = await start(grace_s=20)
    for machine in await last.list():
        assert await last.delete(machine.name, machine.created_at)
    last.close()
    assert shims(tmp_path) == []


async def test_a_machine_is_made_becomes_ready_and_is_deleted(
    drive: Drive, tmp_path: Path, remuda: Remuda
) -> None:
    machines = await drive()
    await machines.create(spec())
    machine = await ready(machines)
    assert machine == ProcessMachine("m", "p", "t", 1_001, machine.ready_at, machine.pid)
    assert b"held by pid" in await machines.console("m")

    assert await machines.delete("m", machine.created_at)

    assert await machines.list() == ()
    assert not is_alive(machine.pid or 0)
    assert list((tmp_path / "machines").iterdir()) == []
    assert await machines.delete("m", machine.created_at), "gone already is as good"


async def test_wake_is_called_when_a_machine_becomes_ready_and_when_it_ends(
    tmp_path: Path, remuda: Remuda
) -> None:
    woken = asyncio.Event()
    machines = ProcessMachines(tmp_path / "machines", remuda.path, Ticking(), woken.set, cgroups=Cgroups())
    await machines.adopt()
    await machines.create(spec())
    await asyncio.wait_for(woken.wait(), PATIENCE_S)
    assert (await machines.list())[0].ready_at is not None
    woken.clear()
    remuda.order("m", {"do": "end"})
    await asyncio.wait_for(woken.wait(), PATIENCE_S)
    machine = (await machines.list())[0]
    assert machine.ended is not None
    assert (machine.ended.code, machine.pid) == ("closed", None)
    assert await machines.delete("m", machine.created_at)
    machines.close()


async def test_creating_twice_makes_one_machine(drive: Drive, tmp_path: Path) -> None:
    machines = await drive()
    await asyncio.gather(*(machines.create(spec()) for _ in range(3)))
    first = await ready(machines)
    await machines.create(spec())
    assert await machines.list() == (first,)
    assert shims(tmp_path) == [first.pid]
    with pytest.raises(Unavailable, match="another one of that name"):
        await machines.create(spec(id_="other"))


@pytest.mark.parametrize("bad", ["", ".hidden", "a/b", "..", "a b", "x" * 200])
async def test_a_name_that_is_no_file_name_is_refused(drive: Drive, bad: str) -> None:
    machines = await drive()
    with pytest.raises(BadInput):
        await machines.create(spec(bad, id_="x"))
    assert await machines.list() == ()


async def test_a_machine_made_but_never_started_is_started_by_the_next_create(
    drive: Drive, tmp_path: Path
) -> None:
    first = await drive()
    first._make_directory(spec())
    first.close()

    machines = await drive()
    found = (await machines.list())[0]
    assert (found.pid, found.ended) == (None, None)
    await machines.create(spec())
    assert (await ready(machines)).created_at == found.created_at
    assert len(shims(tmp_path)) == 1


async def test_a_shim_started_just_before_a_crash_is_found(drive: Drive, tmp_path: Path) -> None:
    first = await drive()
    await first.create(spec())
    first.close()

    machines = await drive()
    await machines.create(spec())
    await ready(machines)
    await until(lambda: len(shims(tmp_path)) == 1)
    await seen(machines, lambda machine: [machine.pid] == shims(tmp_path))


async def test_half_made_and_half_removed_directories_are_swept_and_foreign_ones_left(
    drive: Drive, tmp_path: Path
) -> None:
    root = tmp_path / "machines"
    for name in (".new-a", ".gone-b-7", "foreign", "copy"):
        (root / name).mkdir(parents=True)
    (root / ".gone-b-7" / "file").touch()
    (root / "stray").write_text("x")
    (root / "copy" / "machine.json").write_text("{")
    machines = ProcessMachines(root, tmp_path / "s", Ticking(), lambda: None, cgroups=Cgroups())
    problems = await machines.adopt()
    assert [problem.split()[0] for problem in problems] == [
        str(root / name) for name in ("copy", "foreign", "stray")
    ]
    assert sorted(each.name for each in root.iterdir()) == ["copy", "foreign", "stray"]
    assert not await machines.delete("foreign", 1)
    with pytest.raises(Unavailable):
        await machines.create(spec("copy"))
    assert (root / "copy" / "machine.json").read_text() == "{"
    machines.close()


async def test_machines_are_adopted_with_their_jobs_running(
    drive: Drive, tmp_path: Path, remuda: Remuda
) -> None:
    first = await drive()
    await first.create(spec())
    before = await ready(first)
    order = sh(
        tmp_path, "j", f"touch {tmp_path}/on; while ! test -e {tmp_path}/go; do sleep 0.02; done; echo ok"
    )
    remuda.order("m", order)
    await until((tmp_path / "on").exists)
    first.close()

    machines = await drive()
    assert await machines.list() == (before,)
    (tmp_path / "go").touch()
    assert (await asyncio.to_thread(remuda.result, "j"))["exit_code"] == 0
    assert output(order) == b"ok\n"
    remuda.order("m", {"do": "end"})
    ended = await seen(machines, lambda machine: machine.ended)
    assert ended.ended is not None
    assert ended.ended.code == "finished"


async def test_ends_are_seen_where_no_descriptor_tells_them(drive: Drive, remuda: Remuda) -> None:
    machines = await drive(watch=lambda _pid: None)
    for name in ("m", "n", "o"):
        await machines.create(spec(name))
        await ready(machines, name)
    remuda.order("m", {"do": "end"})
    ended = await seen(machines, lambda machine: machine.ended)
    assert ended.ended is not None
    assert ended.ended.code == "closed"
    killed = await ready(machines, "n")
    os.kill(killed.pid or 0, signal.SIGKILL)
    assert (await seen(machines, lambda machine: machine.ended, "n")).ended is not None
    living = await ready(machines, "o")
    assert await machines.delete("o", living.created_at)
    assert not is_alive(living.pid or 0)
    assert not Path(f"/proc/{living.pid}").exists(), "no zombie is left"


async def test_an_incarnation_that_was_not_meant_is_not_deleted(drive: Drive) -> None:
    machines = await drive()
    await machines.create(spec())
    machine = await ready(machines)
    assert not await machines.delete("m", machine.created_at - 1)
    assert is_alive(machine.pid or 0)


async def test_a_killed_shim_is_seen_and_what_it_left_is_found(
    drive: Drive, tmp_path: Path, remuda: Remuda
) -> None:
    machines = await drive()
    await machines.create(spec())
    machine = await ready(machines)
    note = tmp_path / "daemon"
    remuda.order("m", sh(tmp_path, "j", f"setsid sleep 600 & echo $! > {note}; exec sleep 601"))
    await until(lambda: note.exists() and note.read_text().strip())
    daemon = int(note.read_text())

    os.kill(machine.pid or 0, signal.SIGKILL)

    ended = await seen(machines, lambda machine: machine.ended)
    assert ended.ended is not None
    assert (ended.ended.code, ended.ended.detail) == ("crashed", "its shim was killed by signal 9")
    assert is_alive(daemon)
    assert await machines.delete("m", machine.created_at)
    assert not is_alive(daemon)


async def test_the_same_id_under_another_directory_is_another_machine(drive: Drive, tmp_path: Path) -> None:
    machines = await drive()
    await machines.create(spec())
    machine = await ready(machines)
    strange = {"REMUDA_MACHINE_ID": "id-m", "REMUDA_MACHINE_DIR": "/elsewhere/machines/m"}
    with stranger(**strange) as pid:
        os.kill(machine.pid or 0, signal.SIGKILL)
        assert await machines.delete("m", machine.created_at)
        assert is_alive(pid)


@pytest.mark.parametrize(
    ("lie", "shim_lives"),
    [
        pytest.param({}, False, id="it looks just like the dead shim"),
        pytest.param({"start": "1"}, False, id="it began later than the dead shim"),
        pytest.param({"start": "1"}, True, id="it began later than what the file says"),
        pytest.param({"boot": "earlier"}, True, id="it is of a later boot than the file"),
    ],
)
async def test_a_stranger_with_a_recycled_pid_is_never_touched(
    drive: Drive, tmp_path: Path, lie: dict[str, str], shim_lives: bool
) -> None:
    first = await drive()
    await first.create(spec())
    machine = await ready(first)
    first.close()
    if not shim_lives:
        os.kill(machine.pid or 0, signal.SIGKILL)
        await until(lambda: not is_alive(machine.pid or 0))
    with stranger() as pid:
        note = tmp_path / "machines" / "m" / "shim.json"
        truth = note.read_text()
        note.write_text(json.dumps(identity(pid) | lie))
        machines = await drive(grace_s=0.5)
        if shim_lives:
            with pytest.raises(Unavailable, match="its lock is held, but not by its shim"):
                await machines.delete("m", machine.created_at)
            note.write_text(truth)
        else:
            assert await machines.delete("m", machine.created_at)
        assert is_alive(pid)


async def test_a_machine_of_an_earlier_boot_is_lost(drive: Drive, tmp_path: Path) -> None:
    first = await drive()
    await first.create(spec())
    machine = await ready(first)
    first.close()
    os.kill(machine.pid or 0, signal.SIGKILL)
    await until(lambda: not is_alive(machine.pid or 0))
    (tmp_path / "machines/m/shim.json").write_text(
        json.dumps({"pid": os.getpid(), "start": "1", "boot": "earlier"})
    )
    machines = await drive()
    ended = (await machines.list())[0].ended
    assert ended is not None
    assert (ended.code, ended.detail) == ("lost", "the host was restarted")


async def test_a_shim_that_will_not_listen_is_killed(drive: Drive, tmp_path: Path, remuda: Remuda) -> None:
    machines = await drive(grace_s=0.3)
    await machines.create(spec())
    machine = await ready(machines)
    os.kill(machine.pid or 0, signal.SIGSTOP)
    assert await machines.delete("m", machine.created_at)
    assert not is_alive(machine.pid or 0)
    assert not (tmp_path / "machines/m").exists()


async def test_deleting_a_busy_machine_ends_its_job_and_keeps_its_result(
    drive: Drive, tmp_path: Path, remuda: Remuda
) -> None:
    machines = await drive()
    await machines.create(spec())
    machine = await ready(machines)
    remuda.order("m", sh(tmp_path, "j", f"touch {tmp_path}/on; exec sleep 600"))
    await until((tmp_path / "on").exists)
    assert await machines.delete("m", machine.created_at)
    assert remuda.result("j")["status"] == "killed"


async def test_a_machine_whose_directory_was_deleted_is_lost_and_can_be_deleted(
    drive: Drive, tmp_path: Path, remuda: Remuda
) -> None:
    machines = await drive()
    for name in ("m", "n"):
        await machines.create(spec(name))
        await ready(machines, name)
        shutil.rmtree(tmp_path / "machines" / name)
    remuda.order("m", run(tmp_path, "j", "true"))
    assert (await asyncio.to_thread(remuda.result, "j"))["status"] == "returned"
    ended = await seen(machines, lambda machine: machine.ended)
    assert ended.ended is not None
    assert ended.ended.code == "lost"
    for machine in await machines.list():
        assert await machines.delete(machine.name, machine.created_at)
    assert await machines.list() == ()


async def test_machines_whose_place_became_a_file_are_lost_and_can_be_deleted(
    drive: Drive, tmp_path: Path
) -> None:
    machines, place = await drive(), tmp_path / "machines"
    await machines.create(spec())
    machine = await ready(machines)
    shutil.rmtree(place)
    place.touch()
    assert await machines.delete("m", machine.created_at)
    assert await machines.list() == ()
    with pytest.raises(Unavailable, match="making machine m"):
        await machines.create(spec())
    place.unlink()


async def test_the_place_of_all_machines_is_made_again_when_it_was_deleted(
    drive: Drive, tmp_path: Path
) -> None:
    machines = await drive()
    shutil.rmtree(tmp_path / "machines")
    await machines.create(spec())
    await ready(machines)


async def test_a_start_that_fails_is_reported_and_can_be_tried_again(drive: Drive, tmp_path: Path) -> None:
    first = await drive()
    first._make_directory(spec())
    machines = await drive()
    console = tmp_path / "machines/m/console.log"
    console.mkdir()
    with pytest.raises(Unavailable, match="making machine m"):
        await machines.create(spec())
    console.rmdir()
    await machines.create(spec())
    await ready(machines)


async def test_the_end_of_a_long_console_is_shown(drive: Drive, tmp_path: Path) -> None:
    machines = await drive()
    await machines.create(spec())
    await ready(machines)
    (tmp_path / "machines/m/console.log").write_bytes(b"a" * 300_000 + b"end")
    assert len(await machines.console("m")) == 256 * 1024
    assert (await machines.console("m")).endswith(b"end")
    with pytest.raises(BadInput, match="no machine x"):
        await machines.console("x")


async def test_limits_reach_the_jobs(drive: Drive, tmp_path: Path, remuda: Remuda) -> None:
    machines = await drive(cgroups=None)
    limits = Limits(memory=512 * 1024**2, open_files=99)
    await machines.create(spec(limits=limits, env={"FROM": "pool"}))
    await ready(machines)
    remuda.order("m", order := sh(tmp_path, "j", "ulimit -n; echo $FROM; cat /proc/self/cgroup"))
    await asyncio.to_thread(remuda.result, "j")
    files, origin, *groups = output(order).decode().splitlines()
    assert (files, origin) == ("99", "pool")
    assert any("/remuda-id-m-" in group for group in groups) == (find_cgroups().parent is not None)


async def test_a_process_that_hides_from_its_dead_shim_is_ended_by_its_group(
    drive: Drive, tmp_path: Path, remuda: Remuda
) -> None:
    """Only on hosts that permit groups."""
    machines = await drive(cgroups=None)
    if machines.cgroups.parent is None:
        pytest.skip("no cgroup v2 may be made here")
    await machines.create(spec())
    machine = await ready(machines)
    note = tmp_path / "daemon"
    remuda.order("m", sh(tmp_path, "j", f"env -i setsid sleep 600 & echo $! > {note}; exec sleep 601"))
    await until(lambda: note.exists() and note.read_text().strip())
    daemon = int(note.read_text())
    await until(lambda: b"sleep" in Path(f"/proc/{daemon}/cmdline").read_bytes())
    os.kill(machine.pid or 0, signal.SIGKILL)
    assert await machines.delete("m", machine.created_at)
    assert not is_alive(daemon)
    assert not list(machines.cgroups.parent.glob("remuda-id-m-*")) or find_cgroups().parent is None


async def test_fifty_machines_start_together_and_leave_nothing(drive: Drive, tmp_path: Path) -> None:
    machines = await drive()
    names = [f"m-{number}" for number in range(50)]
    await asyncio.gather(*(machines.create(spec(name)) for name in names))
    for name in names:
        await ready(machines, name)
    listed = await machines.list()
    assert [machine.name for machine in listed] == sorted(names)
    assert sorted(shims(tmp_path)) == sorted(machine.pid or 0 for machine in listed)
    await asyncio.gather(*(machines.delete(machine.name, machine.created_at) for machine in listed))
    assert shims(tmp_path) == []
    assert list((tmp_path / "machines").iterdir()) == []


@pytest.mark.skipif(not landlock.version(), reason="the kernel has no Landlock")
async def test_a_job_that_only_landlock_separates_is_known_by_its_shim(
    drive: Drive, tmp_path: Path, remuda: Remuda
) -> None:
    machines = await drive(find_means=lambda: Means.LANDLOCK)
    await machines.create(spec())
    shim = (await ready(machines)).pid or 0
    order = sh(tmp_path, "j", "sh -c 'setsid sleep 600 & echo $!'; exec sleep 601")
    remuda.order("m", order)
    await until(lambda: output(order).endswith(b"\n"))
    daemon = int(output(order))
    assert machines.is_separated_job(daemon), "also one that its parents left behind"
    assert not machines.is_separated_job(shim)
    assert not machines.is_separated_job(os.getpid())
    assert machines.is_separated_job(2**22 - 1), "what is gone may have been one"
    free = await drive()
    assert free.is_separated_job(daemon), "what an earlier run made is known, too"


async def test_a_host_too_busy_to_try_what_separates_jobs_gets_no_weaker_machine_and_is_asked_again(
    drive: Drive, tmp_path: Path
) -> None:
    asked = 0

    def find() -> Means:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise Unavailable("trying what separates jobs here took longer than 20 s")
        return Means.NONE

    machines = await drive(find_means=find)
    with pytest.raises(Unavailable, match="took longer than 20 s"):
        await machines.create(spec())
    assert await machines.list() == ()
    await machines.create(spec())
    await ready(machines)
    await machines.create(spec("n"))
    await ready(machines, "n")
    assert asked == 2
