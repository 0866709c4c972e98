"""A job with a secret, and a hostile job beside it that tries every way to it: what it could do, by name."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.machines.process.stand_in import PATIENCE_S, Remuda, output, sh

from remuda.machines.process import kernel
from remuda.machines.process.cgroups import Cgroups
from remuda.machines.process.driver import ProcessMachines
from remuda.machines.process.sandbox import become
from remuda.machines.process.spec import Limits, Means, ProcessMachine, ProcessSpec

SECRET = "hunter2-of-the-victim"
#: what a job must always be able to do
RIGHTS = {"use its home", "use its temporary directory", "start processes", "see itself"}
SCRIPT = r"""
can() { if (eval "$2") >/dev/null 2>&1; then echo "$1"; fi; }
can "use its home" 'echo x > $HOME/mine && cd $HOME && test "$(pwd -P)" = "$HOME" && test "$(cat mine)" = x'
can "use its temporary directory" 'rm $(mktemp)'
can "start processes" 'test "$(sh -c "sh -c \"echo deep\"")" = deep'
can "see itself" 'test -r /proc/self/environ && test -d /proc/$$'
can "read the victim's environment" 'head -c 1 /proc/$VICTIM/environ | grep -q .'
can "read the secret in some environment" 'cat /proc/[0-9]*/environ | grep -aq hunter2'
can "read the victim's memory" 'head -c 1 /proc/$VICTIM/maps | grep -q .'
can "see the victim's files" 'ls /proc/$VICTIM/fd/1 /proc/$VICTIM/cwd/'
can "read the shim's environment" 'head -c 1 /proc/$SHIM/environ | grep -q .'
can "read the shim's memory" 'head -c 1 /proc/$SHIM/maps | grep -q .'
can "see the shim's files" 'ls /proc/$SHIM/fd/'
can "signal the victim" 'kill -0 $VICTIM'
can "signal the shim" 'kill -0 $SHIM'
can "signal its own shim" 'kill -0 $OWN'
can "signal Remuda" 'kill -0 $REMUDA'
can "read the store" 'cat $DATA/remuda.db | grep -q .'
can "plant a file" 'echo x > $DATA/planted'
can "plant a result" 'mkdir -p $DATA/jobs && echo x > $DATA/jobs/1-1.json'
can "read the victim's orders" 'cat $DATA/machines/victim/machine.json | grep -q .'
can "read the victim's work" 'cat $DATA/machines/victim/work/private | grep -q .'
can "change its own orders" 'echo x >> $DATA/machines/hostile/machine.json'
can "see the control socket" 'test -S $DATA/control.sock'
can "uncover the data" 'umount $DATA && cat $DATA/remuda.db | grep -q .'
can "uncover the data in a namespace of its own" 'unshare -Urm sh -c "umount $DATA && cat $DATA/remuda.db" | grep -q .'
can "become root" 'test "$(id -u)" = 0'
"""


class _Clock:
    def now(self) -> int:
        return time.time_ns() // 1_000_000


async def attack(data: Path, means: Means, script: str = SCRIPT, limits: Limits = Limits()) -> set[str]:  # noqa: B008
    """Let a hostile job run beside one with a secret; what it printed, once the other was found unharmed."""
    (data / "remuda.db").write_text("what jobs are there")
    remuda = Remuda(data / "control.sock")
    remuda.start()
    machines = ProcessMachines(
        data / "machines",
        remuda.path,
        _Clock(),
        lambda: None,
        private=data,
        cgroups=Cgroups(),
        find_means=lambda: means,
        grace_s=20,
    )
    await machines.adopt()
    try:
        for name in ("victim", "hostile"):
            await machines.create(ProcessSpec(name=name, id=name, pool="p", template="t", limits=limits))
        shims = {name: (await _when(machines, name)).pid for name in ("victim", "hostile")}
        order = sh(data, "1", "echo private > private; echo up; exec sleep 600", secrets={"TOKEN": SECRET})
        remuda.order("victim", order)
        await _until(lambda: output(order) == b"up\n" or remuda.finished)
        assert not remuda.finished, remuda.finished
        victim = _find_sleeper(shims["victim"] or 0)
        facts = {"VICTIM": victim, "SHIM": shims["victim"], "OWN": shims["hostile"], "REMUDA": os.getpid()}
        env = {"DATA": str(data), **{key: str(value) for key, value in facts.items()}}
        hostile = sh(data, "2", script, env=env)
        remuda.order("hostile", hostile)
        result = await asyncio.to_thread(remuda.result, "2")
        assert result["status"] in {"exited", "signaled"}, result
        assert Path(f"/proc/{victim}/cmdline").read_bytes().startswith(b"sleep"), "the victim lives"
        remuda.cancel("1")
        assert (await asyncio.to_thread(remuda.result, "1"))["status"] == "cancelled"
        return set(output(hostile).decode().splitlines())
    finally:
        for machine in await machines.list():
            await machines.delete(machine.name, machine.created_at)
        machines.close()
        remuda.stop()


async def _when(machines: ProcessMachines, name: str) -> ProcessMachine:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        for machine in await machines.list():
            if machine.name == name and machine.ready_at and machine.pid:
                return machine
        assert time.monotonic() < deadline, await machines.list()
        await asyncio.sleep(0.01)


async def _until(look: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not look():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def _find_sleeper(pid: int) -> int:
    """The innermost process below a shim."""
    while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        pid = int(children[0])
    return pid


def as_ordinary_user(uid: int) -> None:
    """
    Go on as a user who is not root, with an empty /mnt of its own and everything that Python needs within its reach.

    Developers and CI keep interpreters and checkouts below /root, where no other user may go.
    """
    needs = {Path(path).resolve() for path in (sys.prefix, sys.base_prefix, Path(__file__).parents[3])}
    kernel.unshare(kernel.NEW_NAMESPACE)
    kernel.mount("none", "/", "", kernel.SLAVE | kernel.REC)
    closed = {above: [n for n in needs if above in n.parents] for need in needs if (above := _closed(need))}
    for above, below in closed.items():
        files = [(need, os.open(need, os.O_PATH)) for need in below]
        kernel.mount("tmpfs", str(above), "tmpfs", 0, "mode=0755")
        for need, file in files:
            need.mkdir(parents=True)
            kernel.mount(f"/proc/self/fd/{file}", str(need), "", kernel.BIND)
            os.close(file)
    kernel.mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755")
    Path("/mnt/data").mkdir(mode=0o700)
    os.chown("/mnt/data", uid, uid)
    become(uid)
    os.environ["HOME"] = "/nonexistent"
    kernel.prctl(kernel.SET_DUMPABLE, 1)


def _closed(path: Path) -> Path | None:
    return next((above for above in reversed(path.parents) if not above.stat().st_mode & 0o001), None)


if __name__ == "__main__":
    as_ordinary_user(int(sys.argv[2]))
    limits = Limits(processes=int(sys.argv[4])) if len(sys.argv) > 4 else Limits()
    script = sys.argv[3] if len(sys.argv) > 3 else SCRIPT
    could = asyncio.run(attack(Path("/mnt/data"), Means(sys.argv[1]), script, limits))
    sys.stdout.write(json.dumps(sorted(could)))
