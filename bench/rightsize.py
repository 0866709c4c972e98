"""
Estimates for a large cluster, in a process of its own: 8 days of a sample a minute of 2,000 containers, from memory.

Evidence is all that a review wants to know of them. The plain loop is the reference estimator, measured on a few of the same containers and scaled to all.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.table import Row, at_least, at_most

CONTAINERS, DAYS, LOOPED, TIMES = 2_000, 8, 20, 5
MOST_S, MOST_MB, LEAST_TIMES = 1.5, 300, 50
MOST_EVIDENCE_S = 4.0
WORK_S = 900.0
#: 2026-01-01
BEGIN = 1_767_225_600


def rows() -> list[Row]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.rightsize"], capture_output=True, text=True, check=False, timeout=WORK_S
    )
    if done.returncode != 0:
        sys.exit(f"bench rightsize failed:\n{done.stderr}")
    found = json.loads(done.stdout)
    where = f"{CONTAINERS:,} containers, {found['points'] / 1e6:.1f} M samples of each of CPU and memory"
    runs = ", ".join(f"{each:.2f}" for each in found["seconds"])
    return [
        at_most(
            "estimates for a cluster",
            found["median"],
            MOST_S,
            "s",
            f"median of {runs} s, {found['cpu_s']:.2f} s CPU; {where}; 2 threads, compiled before",
        ),
        at_most(
            "memory beside the samples",
            found["beside_mb"],
            MOST_MB,
            "MB",
            f"peak less what there was before; the samples take {found['input_mb']:,.0f} MB",
        ),
        at_least(
            "against a plain loop",
            found["loop_s"] / found["median"],
            LEAST_TIMES,
            "times",
            f"the loop took {found['looped_s']:.1f} s for {LOOPED} of the containers, scaled to all: "
            f"{found['loop_s']:,.0f} s; the same integers",
        ),
        at_most(
            "evidence for a cluster",
            found["evidence_s"],
            MOST_EVIDENCE_S,
            "s",
            f"estimates, KRR's rule, percentiles, days and plots, {found['evidence_cpu_s']:.2f} s CPU; "
            f"{found['evidence_mb']:,.0f} MB with all that is told",
        ),
    ]


def make() -> Any:
    """Daily waves with noise and some growth, a replica of each container; times are shared by both resources."""
    import numpy as np

    from remuda.rightsize.estimate.columns import Column, Columns

    points = DAYS * 1440
    random = np.random.default_rng(8)
    times = np.empty(CONTAINERS * points, np.int64)
    cores, used = np.empty(len(times)), np.empty(len(times))
    minutes = np.arange(points)
    for container in range(CONTAINERS):
        rows = slice(container * points, (container + 1) * points)
        wave = 1 + 0.5 * np.sin(minutes * (2 * np.pi / 1440) + container)
        times[rows] = BEGIN + container % 60 + 60 * minutes
        cores[rows] = wave * random.lognormal(random.uniform(-4, 1), 0.3, points)
        growth = 1 + minutes * random.uniform(0, 2e-5)
        used[rows] = np.trunc(wave * growth * random.lognormal(random.uniform(17, 22), 0.1, points))
    starts = np.arange(CONTAINERS + 1) * points
    nothing = Column(times[:0], cores[:0], np.zeros(CONTAINERS + 1, np.int64))
    return Columns(
        Column(times, cores, starts),
        Column(times, used, starts),
        nothing,
        np.arange(CONTAINERS + 1),
        np.ones(CONTAINERS, np.int64),
    )


def memory_mb(field: str) -> float:
    """VmRSS or VmHWM of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise RuntimeError(field)


def measure() -> None:
    from remuda.rightsize.estimate.columns import columns_of
    from remuda.rightsize.estimate.engine import estimate_columns
    from remuda.rightsize.estimate.estimator import estimate_pod
    from remuda.rightsize.estimate.summaries import summarize
    from remuda.rightsize.estimate.usage import Replica, Sample

    estimate_columns(columns_of([{"warm": [Replica([Sample(1, 1.0)], [Sample(1, 1.0)])]}]))
    columns = make()
    before = memory_mb("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    seconds, cpu = [], []
    for _ in range(TIMES):
        began, began_cpu = time.perf_counter(), time.process_time()
        estimates = estimate_columns(columns)
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - began_cpu)
    beside = memory_mb("VmHWM") - before
    evidence: list[Any] = []
    evidence_s, evidence_cpu_s = [], []
    for _ in range(TIMES):
        evidence.clear()
        began, began_cpu = time.perf_counter(), time.process_time()
        evidence += summarize(columns, "samples bench", since=BEGIN, now=BEGIN + DAYS * 86_400)
        evidence_s.append(time.perf_counter() - began)
        evidence_cpu_s.append(time.process_time() - began_cpu)
    evidence_mb = memory_mb("VmHWM") - before
    if [each.estimate for each in evidence] != estimates:
        sys.exit("evidence and estimates do not say the same")
    pods = [{"main": columns.replicas_of(n * CONTAINERS // LOOPED)} for n in range(LOOPED)]
    began = time.perf_counter()
    looped = [estimate_pod(pod)["main"] for pod in pods]
    looped_s = time.perf_counter() - began
    if looped != [estimates[n * CONTAINERS // LOOPED] for n in range(LOOPED)]:
        sys.exit("the loop and the columns do not say the same")
    median = sorted(seconds)[TIMES // 2]
    print(
        json.dumps(
            {
                "points": len(columns.cpu.times),
                "seconds": seconds,
                "median": median,
                "cpu_s": sorted(cpu)[TIMES // 2],
                "beside_mb": beside,
                "input_mb": (
                    columns.cpu.times.nbytes + columns.cpu.values.nbytes + columns.memory.values.nbytes
                )
                / 1e6,
                "looped_s": looped_s,
                "loop_s": looped_s * CONTAINERS / LOOPED,
                "evidence_s": sorted(evidence_s)[TIMES // 2],
                "evidence_cpu_s": sorted(evidence_cpu_s)[TIMES // 2],
                "evidence_mb": evidence_mb,
            }
        )
    )


if __name__ == "__main__":
    measure()
