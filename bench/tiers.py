"""
An audit of the tiers of a large cluster from files, each try in a fresh process.

    python -m bench.tiers FILE…

does the work once and prints one JSON object of what was measured.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.table import Row, at_most
from bench.tiers_files import write_cluster

NAMESPACES, PODS, NODES = 500, 20_000, 400
TRIES, WORK_S = 3, 120.0
MB = 1_000_000
MOST_AUDIT_S, MOST_MB = 2.0, 300

Measured = dict[str, float]


def work(files: list[Path]) -> Measured:
    """Read the files, audit every namespace and write it all as JSON; measure every step."""
    import msgspec

    from remuda.model.times import DAY
    from remuda.objects.tiers import DEFAULT_POLICY
    from remuda.tiers.decide.audit import audit
    from remuda.tiers.observe.files import read_files
    from remuda.tiers.show.document import document

    found: Measured = {}

    def timed(name: str, step: Callable[[], Any]) -> Any:
        began, cpu = time.perf_counter(), time.process_time()
        made = step()
        found[f"{name}_s"] = time.perf_counter() - began
        found[f"{name}_cpu_s"] = time.process_time() - cpu
        return made

    read = timed("read", lambda: read_files(files, 20_000 * DAY))
    assert not read.problems, read.problems[:3]
    assert (len(read.snapshot.namespaces), len(read.snapshot.pods)) == (NAMESPACES, PODS)
    made = timed("audit", lambda: audit(read.snapshot, (DEFAULT_POLICY,), 20_000 * DAY))
    assert len(made.namespaces) == NAMESPACES
    timed("json", lambda: len(msgspec.json.format(msgspec.json.encode(document(made)), indent=2)))
    found["findings"] = len(made.findings)
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB
    return found


def rows() -> list[Row]:
    """The promises, each by the best of several tries."""
    with TemporaryDirectory(prefix="remuda-bench-") as folder:
        files = write_cluster(Path(folder), NAMESPACES, PODS, NODES)
        size = sum(file.stat().st_size for file in files) / MB
        tries = [_measured(files) for _ in range(TRIES)]
    best = {name: min(each[name] for each in tries) for name in tries[0]}
    what = f"{NAMESPACES} namespaces, {PODS:,} pods, {NODES} nodes: {size:,.0f} MB of JSON"
    return [
        at_most(
            "tiers: an audit from files",
            best["read_cpu_s"] + best["audit_cpu_s"] + best["json_cpu_s"],
            MOST_AUDIT_S,
            "s CPU",
            f"{what}; reading {best['read_cpu_s']:.2f} s, {best['findings']:,.0f} findings {best['audit_cpu_s']:.2f} s, "
            f"the document {best['json_cpu_s']:.2f} s; {best['read_s'] + best['audit_s'] + best['json_s']:.2f} s of wall clock",
        ),
        at_most(
            "tiers: memory of the same",
            best["peak_mb"],
            MOST_MB,
            "MB",
            "peak of the process, the files included",
        ),
    ]


def _measured(files: list[Path]) -> Measured:
    command = [sys.executable, "-m", "bench.tiers", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WORK_S)
    if done.returncode != 0:
        sys.exit(f"bench tiers: the work failed:\n{done.stderr}")
    read: Measured = json.loads(done.stdout)
    return read


if __name__ == "__main__":
    print(json.dumps(work([Path(name) for name in sys.argv[1:]])))
