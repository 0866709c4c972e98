"""`python -m bench [NAME…]`: run the benchmarks and print one table."""

import os
import platform
import sys
import time

from bench import (
    capacity,
    day,
    decision,
    fleet,
    idle,
    jobs,
    kube,
    ledger,
    make,
    rightsize,
    runners,
    start,
    tiers,
    tiers_loop,
    web,
)
from bench.table import print_table

ALL = {
    "decision": decision.rows,
    "start": start.rows,
    "ledger": ledger.rows,
    "idle": idle.rows,
    "jobs": jobs.rows,
    "day": day.rows,
    "kube": kube.rows,
    "runners": runners.rows,
    "fleet": fleet.rows,
    "rightsize": rightsize.rows,
    "capacity": capacity.rows,
    "tiers": tiers.rows,
    "tiers-loop": tiers_loop.rows,
    "web": web.rows,
    "make": make.rows,
}


def main() -> None:
    names = sys.argv[1:] or list(ALL)
    unknown = [name for name in names if name not in ALL]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there is: {', '.join(ALL)}")
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    )
    found = []
    for name in names:
        began = time.perf_counter()
        found += ALL[name]()
        print(f"  {name}: {time.perf_counter() - began:.1f} s", file=sys.stderr)
    print_table(found)
    sys.exit(0 if all(row.ok for row in found) else 1)


main()
