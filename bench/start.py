"""How long a command takes to say something."""

import subprocess
import sys
import time
from pathlib import Path

from bench.table import Row, at_most, quantile

TRIES = 15


def rows() -> list[Row]:
    remuda = str(Path(sys.executable).with_name("remuda"))
    times = []
    for _ in range(TRIES):
        began = time.perf_counter()
        subprocess.run([remuda, "--help"], check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - began) * 1_000)
    return [at_most("remuda --help", quantile(times, 0.5), 150, "ms", f"median of {TRIES} warm starts")]
