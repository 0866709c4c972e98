"""How long commands on small inputs take to answer."""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.running import pool, remuda_up, wait_ready
from bench.table import Row, at_most, quantile

TRIES = 15
ROOT = Path(__file__).parent.parent
REMUDA = str(Path(sys.executable).with_name("remuda"))
MOST_SMALL_S = 0.5
MOST_SUBMIT_S = 0.15


def rows() -> list[Row]:
    """Every row of a command that starts, answers and ends."""
    return [help_row(), *small_inputs(), submit()]


def help_row() -> Row:
    times = []
    for _ in range(TRIES):
        began = time.perf_counter()
        subprocess.run([REMUDA, "--help"], check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - began) * 1_000)
    return at_most("remuda --help", quantile(times, 0.5), 150, "ms", f"median of {TRIES} warm starts")


def small_inputs() -> list[Row]:
    """The examples of the documentation: a small input is answered at once."""
    with tempfile.TemporaryDirectory(prefix="remuda-") as name:
        usage = Path(name, "usage.json")
        with usage.open("wb") as file:
            subprocess.run(
                [sys.executable, "examples/rightsize-usage.py", "1767225600"],
                check=True,
                stdout=file,
                cwd=ROOT,
            )
        commands = {
            "rightsize review, the example": f"--from examples/rightsize-cluster.yaml --usage {usage} --policy examples/rightsize-policy.yaml --at 2026-01-01T00:00:00Z --no-keep",
            "capacity audit, the example": f"--from examples/capacity-cluster.json --policy examples/capacity-policy.yaml --data-dir {name}/data",
            "fleet plan, 28 machines": "--inventory examples/fleet-inventory.yaml --demand examples/fleet-demand.yaml",
        }
        return [small_input(what, f"{what.split(',')[0]} {options}") for what, options in commands.items()]


def small_input(name: str, words: str) -> Row:
    conditions = f"of the whole process, best of {TRIES}, the first may compile"
    return at_most(f"remuda {name}", least_cpu(words.split()), MOST_SMALL_S, "s CPU", conditions)


def submit() -> Row:
    """One job handed in on the command line, to a running Remuda."""
    with remuda_up(pool("warm", min=1, max=1)) as (remuda, _, home):
        wait_ready(remuda, 1)
        words = ["--data-dir", str(home), "submit", "bench/warm", "--", "true"]
        return at_most("remuda submit", least_cpu(words), MOST_SUBMIT_S, "s CPU", f"best of {TRIES}")


def least_cpu(words: Sequence[str]) -> float:
    """The least processor time of a whole process, in seconds."""
    seconds = []
    for _ in range(TRIES):
        before = _children_cpu()
        done = subprocess.run([REMUDA, *words], capture_output=True, text=True, check=False, cwd=ROOT)
        seconds.append(_children_cpu() - before)
        assert done.returncode in (0, 1), done.stderr
    return min(seconds)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
