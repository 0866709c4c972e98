"""What an idle `remuda up` with 20 pools costs."""

import os
import time
from pathlib import Path

from bench.running import pool, remuda_up, wait_ready
from bench.table import Row, at_most

POOLS, EACH, SECONDS = 20, 2, 15


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1_024


def rows() -> list[Row]:
    text = "".join(pool(f"pool-{i:02}", min=EACH, max=4) for i in range(POOLS))
    with remuda_up(text) as (remuda, pid, _):
        wait_ready(remuda, POOLS * EACH)
        time.sleep(3)
        before, began = cpu_seconds(pid), time.monotonic()
        time.sleep(SECONDS)
        used = (cpu_seconds(pid) - before) / (time.monotonic() - began) * 100
        memory = rss_mb(pid)
    conditions = f"{POOLS} pools, {POOLS * EACH} warm machines"
    return [
        at_most(
            "memory of an idle remuda up",
            memory,
            80,
            "MB",
            f"{conditions}, RSS of the process, machines apart",
        ),
        at_most("processor of an idle remuda up", used, 1, "% of a core", f"{conditions}, over {SECONDS} s"),
    ]
