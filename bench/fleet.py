"""Decisions for a fleet, each workload in a process of its own: `remuda fleet bench` as it is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.table import Row, at_most

ROOT = Path(__file__).parents[1]
WORK_S = 900.0
MOST_SHARD_MS, MOST_SHARD_QUIET_MS, MOST_SHARD_MB = 40, 3, 450
#: workload, machines, most milliseconds of a cycle
GOALS = (
    ("aggregate-warm", 500_000, 25),
    ("aggregate-cold", 500_000, 300),
    ("one-to-one-cold", 50_000, 100),
    ("one-to-one-cold", 100_000, 250),
    ("one-to-one-warm", 100_000, 60),
    ("one-to-one-warm", 500_000, 250),
    ("realistic", 60_000, 150),
    ("gangs", 60_000, 1_000),
    ("one-pool", 100_000, 100),
    ("churn", 500_000, 15),
    ("preempt", 500_000, 100),
    ("aggregate-warm", 1_000_000, 50),
)
SLOPE = (50_000, 100_000, 250_000, 500_000, 1_000_000)
LARGE, MOST_MB, MOST_QUIET_MS, MOST_NEW_IDS_MS = 500_000, 400, 2, 400


def measured(workload: str, machines: int) -> Any:
    """What a fresh process measures."""
    command = [sys.executable, "-m", "remuda", "fleet", "bench", "--workload", workload, "--machines", str(machines), "-o", "json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WORK_S)
    if done.returncode != 0:
        sys.exit(f"bench fleet: {workload} with {machines} machines failed:\n{done.stderr}")
    return json.loads(done.stdout)


def cycle(found: Any, most: float) -> Row:
    wall, cpu = found["wall_ms"], found["cpu_ms"]
    gangs = f", {found['gangs_placed']:,} gangs placed" if "gangs_placed" in found else ""
    return at_most(
        f"{found['workload']}, {found['machines']:,} machines",
        wall["median"],
        most,
        "ms",
        f"median of {found['cycles']}, {wall['min']:.1f} to {wall['p99']:.1f} ms, {cpu['median']:.1f} ms CPU; "
        f"{found['needs']:,} needs of {found['clusters']:,} clusters, {found['actions']:,} actions, {found['unmet']:,} "
        f"unmet{gangs}; {found['engine']}, {found['peak_rss_mb']:.0f} MB; nothing changed: "
        f"{found['quiet_ms']['median']:.2f} ms",
    )


def beside(warm: Any, realistic: Any) -> list[Row]:
    """What is promised of some workloads beside their cycle."""
    where = f"{warm['workload']}, {warm['machines']:,} machines"
    return [
        at_most(f"{where}, nothing changed", warm["quiet_ms"]["median"], MOST_QUIET_MS, "ms", "median"),
        at_most(
            f"{where}, all ids new",
            warm["new_ids_ms"]["median"],
            MOST_NEW_IDS_MS,
            "ms",
            "median; a fleet made from columns and a list of ids that were never seen, and its decision",
        ),
        at_most("realistic, needs unmet", realistic["unmet"], 0, "needs", f"of {realistic['needs']:,}"),
    ]


def memory(found: list[Any]) -> Row:
    large = {one["workload"]: one["peak_rss_mb"] for one in found if one["machines"] == LARGE}
    shown = ", ".join(f"{name} {mb:.0f} MB" for name, mb in large.items())
    return at_most(
        f"memory of {LARGE:,} machines",
        max(large.values()),
        MOST_MB,
        "MB",
        f"the most a process ever had, with ids and compiled kernels: {shown}",
    )


def slope(found: dict[int, Any]) -> Row:
    """Twenty times the machines should take about twenty times as long, and not more."""
    medians = {machines: one["wall_ms"]["median"] for machines, one in found.items()}
    first, last = SLOPE[0], SLOPE[-1]
    shown = ", ".join(f"{machines // 1_000:,}K {ms:.1f} ms" for machines, ms in medians.items())
    return at_most(
        f"aggregate-warm, {last // first} times the machines",
        medians[last] / medians[first],
        last // first * 1.5,
        "times as long",
        f"medians: {shown}",
    )


def shard() -> list[Row]:
    """The shard on its loop: observed from changes, decided, recorded on disk and handed to act."""
    command = [sys.executable, "-m", "bench.fleet_shard", str(LARGE), "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=WORK_S, cwd=ROOT)
    found = json.loads(done.stdout)
    where = f"shard, {LARGE:,} machines"
    conditions = (
        f"median of {found['cycles']}, {found['least_ms']:.1f} to {found['most_ms']:.1f} ms, {found['cpu_ms']:.1f} ms CPU; "
        f"{found['changed']:,.0f} machines changed, {found['actions']:,.0f} actions handed to act; {found['written_mb']:.1f} MB "
        "on disk in all"
    )
    return [
        at_most(f"{where}, 1 % changed", found["median_ms"], MOST_SHARD_MS, "ms", conditions),
        at_most(f"{where}, nothing changed", found["quiet_ms"], MOST_SHARD_QUIET_MS, "ms", "median"),
        at_most(f"{where}, memory", found["peak_mb"], MOST_SHARD_MB, "MB", "the most the process ever had"),
    ]


def rows() -> list[Row]:
    runs = {(workload, machines): measured(workload, machines) for workload, machines, _ in GOALS}
    shown = [cycle(runs[workload, machines], most) for workload, machines, most in GOALS]
    warm = "aggregate-warm"
    sizes = {machines: runs.get((warm, machines)) or measured(warm, machines) for machines in SLOPE}
    return [
        *shown,
        *beside(runs[warm, LARGE], runs["realistic", 60_000]),
        memory(list(runs.values())),
        slope(sizes),
        *shard(),
    ]
