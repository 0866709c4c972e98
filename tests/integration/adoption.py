"""
A job with a secret whose Remuda is killed with -9 and started again while it runs, and a hostile job on the next machine.

    python -m tests.integration.adoption namespaces|landlock UID
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.machines.process.hostile import SCRIPT, SECRET, as_ordinary_user
from tests.processes import Place, eventually, pool

from remuda.control.client import path_of
from remuda.machines.process import kernel
from remuda.model.machines import Confinement


def adopt(made: Place, shared: Path) -> dict[str, Any]:
    """What became of both jobs and of their separation; `shared` is a directory that jobs see."""
    made.write(pool(provider={"process": {}}, min=2, max=2))
    made.start()
    made.wait_idle(2)
    token, flag = made.home / "token", shared / "go on"
    token.write_text(SECRET)
    token.chmod(0o600)
    wait = f"while [ ! -e '{flag}' ]; do sleep 0.1; done"
    check = f'test "$TOKEN" = {SECRET} && echo kept; test -e $HOME/mine && echo home; id -u; exit 7'
    victim = made.submit("sh", "-c", f"touch mine; {wait}; {check}", secret_files={"TOKEN": str(token)})
    made.wait_running(victim)
    process = made.job_processes(victim)[0]
    machine = made.job(victim).attempts[-1].machine
    shim, separation = made.shims()[machine], _separation(made, machine)

    made.kill()
    remuda = made.start()

    facts = {"VICTIM": process, "SHIM": shim, "OWN": shim, "REMUDA": remuda.pid, "DATA": made.data}
    hostile = made.submit("sh", "-c", SCRIPT, env={key: str(value) for key, value in facts.items()})
    assert made.wait_end(hostile).attempts[-1].machine != machine
    assert not made.job(victim).state.is_end
    # The hostile one's machine is replaced: the new one must be separated from the one that was taken over.
    others = eventually(
        lambda: _others(made, machine, made.job(hostile).attempts[-1].machine), "a new machine"
    )
    adopted = made.shims().get(machine), _separation(made, machine)
    flag.touch()
    ended = made.wait_end(victim)
    return {
        "could": made.output(hostile).decode().splitlines(),
        "is_adopted": adopted == (shim, separation),
        "separation": separation,
        "new": [_separation(made, name) for name in others],
        "victim": [str(ended.state), ended.attempts[-1].exit_code, len(ended.attempts)],
        "output": made.output(victim).decode().split(),
    }


def _separation(made: Place, machine: str) -> str:
    found = made.remuda.get(path_of("v1", "machines", machine, "confinement"), Confinement)
    return dict(found.facts)["separation"]


def _others(made: Place, *known: str) -> list[str]:
    return sorted(set(made.shims()) - set(known))


def forbid_namespaces_of_users(uid: int) -> None:
    """Go on where no process, however it asks, gets a namespace of users: what is left is Landlock."""
    kernel.unshare(kernel.NEW_USER)
    for name, text in (
        ("self/setgroups", "deny"),
        ("self/uid_map", f"{uid} {uid} 1"),
        ("self/gid_map", f"{uid} {uid} 1"),
        ("sys/user/max_user_namespaces", "0"),
    ):
        Path("/proc", name).write_text(text)


if __name__ == "__main__":
    means, who = sys.argv[1], int(sys.argv[2])
    as_ordinary_user(who)
    if means == "landlock":
        forbid_namespaces_of_users(who)
    place = Place(Path("/mnt/data/place"))
    open_to_jobs = Path("/mnt/data/shared")
    for directory in (place.home, open_to_jobs):
        directory.mkdir()
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        sys.stdout.write(json.dumps(adopt(place, open_to_jobs)))
    except BaseException:
        sys.stderr.write(place.log[-10_000:])
        raise
    finally:
        place.clear()
