"""A real `remuda up` to measure."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from remuda.control.client import Remuda
from remuda.pools.views import PoolsView

DEADLINE_S = 60


@contextlib.contextmanager
def remuda_up(text: str, *options: str) -> Iterator[tuple[Remuda, int, Path]]:
    """Run `remuda up` on a file's text; its client, pid and data directory. Machines are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="remuda-") as name:
        home = Path(name)
        (home / "pools.yaml").write_text(text)
        command = [sys.executable, "-m", "remuda", "up", str(home / "pools.yaml")]
        command += ["--data-dir", str(home / "d"), "--health-port", "0", "--live-port", "0", *options]
        with (home / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield Remuda(home / "d", None, lambda: ()), process.pid, home / "d"
        finally:
            process.terminate()
            process.wait()
            end_machines(home / "d")


def end_machines(data: Path) -> None:
    """End what a stopped Remuda leaves running for its next start."""
    for shim in (data / "machines").glob("*/shim.json"):
        with contextlib.suppress(ProcessLookupError, ValueError, KeyError):
            os.kill(json.loads(shim.read_bytes())["pid"], signal.SIGTERM)
    time.sleep(0.5)


def wait_ready(remuda: Remuda, machines: int) -> None:
    """Return when so many machines are idle."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(Exception):
            view = remuda.get("/v1/pools", PoolsView)
            if sum(pool.idle for pool in view.pools) >= machines:
                return
        time.sleep(0.05)
    sys.exit(f"{machines} machines were not ready within {DEADLINE_S} s")


def pool(name: str, **spec: object) -> str:
    """A pool as YAML."""
    body = {"class": f"bench/{name}", "source": {"queue": {}}, "provider": {"process": {}}, **spec}
    whole = {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "RunnerPool",
        "metadata": {"name": name},
        "spec": body,
    }
    return json.dumps(whole) + "\n---\n"
