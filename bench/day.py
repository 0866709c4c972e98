"""A simulated day."""

import time

from bench.table import Row, at_most
from remuda.sim.pools import day


def rows() -> list[Row]:
    began = time.perf_counter()
    summary = day(pools=50, jobs=100_000, seed=1)
    took = time.perf_counter() - began
    conditions = f"50 pools, {summary.jobs_done:,} jobs done, {summary.machines_created:,} machines made"
    return [at_most("a simulated day", took, 30, "s", conditions)]
