"""What a newcomer and a developer wait for: `make run` in a fresh clone, `make quick`, and collecting the tests."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.running import end_machines
from bench.table import Row, at_most
from remuda.control.client import Remuda
from remuda.pools.views import PoolsView

MOST_RUN_S = 40
MOST_QUICK_S = 25
MOST_COLLECT_S = 5
PATIENCE_S = 600
ROOT = Path(__file__).parent.parent


def rows() -> list[Row]:
    """Every row; `make run` needs a package registry and the ports 8000 and 8001."""
    return [run(), quick(), collect()]


def run() -> Row:
    """From nothing installed to machines that are idle."""
    with tempfile.TemporaryDirectory(prefix="remuda-") as name:
        clone, data = Path(name, "clone"), Path(name, "data")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        began = time.perf_counter()
        process = subprocess.Popen(
            ["make", "run"],
            cwd=clone,
            env={**os.environ, "REMUDA_DATA_DIR": str(data)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            _wait_for_machines(data, process)
            took = time.perf_counter() - began
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            end_machines(data)
    return at_most(
        "make run in a fresh clone",
        took,
        MOST_RUN_S,
        "s",
        "until a machine is idle; packages as pip keeps them",
    )


def _wait_for_machines(data: Path, process: subprocess.Popen[bytes]) -> None:
    remuda = Remuda(data, None, lambda: ())
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"make run ended with {process.returncode}")
        with contextlib.suppress(Exception):
            if any(pool.idle for pool in remuda.get("/v1/pools", PoolsView).pools):
                return
        time.sleep(0.1)
    sys.exit(f"make run had no idle machine within {PATIENCE_S} s")


def quick() -> Row:
    began = time.perf_counter()
    subprocess.run(["make", "quick"], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return at_most("make quick", time.perf_counter() - began, MOST_QUICK_S, "s", "start included")


def collect() -> Row:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q"]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return at_most("collecting the tests", used, MOST_COLLECT_S, "s CPU", "one process")
