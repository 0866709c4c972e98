"""
An audit of a large cluster from files, each step in a fresh process.

    python -m bench.capacity FILE…

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
from typing import TYPE_CHECKING, Any

from bench.capacity_files import CAPABILITY, LABELS, write_cluster
from bench.table import Row, at_most

if TYPE_CHECKING:
    from remuda.capacity.objects import CapacityPolicySpec
    from remuda.capacity.snapshot import Snapshot

SETS, NODES, PODS = 2_000, 5_000, 50_000
TRIES, WORK_S = 3, 120.0
MB = 1_000_000
MOST_READ_S, MOST_AUDIT_S, MOST_PLAN_MS, MOST_BEYOND_MB = 2.0, 3.0, 500, 150

Measured = dict[str, float]


def work(files: list[Path]) -> Measured:
    """Read the files, audit every label and write it all as JSON; measure every step."""
    from remuda.capacity.decide.audit import audit
    from remuda.capacity.observe.files import read_files
    from remuda.capacity.show import document
    from remuda.model.times import DAY

    found: Measured = {}

    def timed(name: str, step: Callable[[], object]) -> object:
        began, cpu = time.perf_counter(), time.process_time()
        made = step()
        found[f"{name}_s"] = time.perf_counter() - began
        found[f"{name}_cpu_s"] = time.process_time() - cpu
        return made

    before = _peak_mb()
    read = timed("read", lambda: read_files(files, 20_000 * DAY))
    assert not read.problems, read.problems[:3]  # type: ignore[attr-defined]
    snapshot = read.snapshot  # type: ignore[attr-defined]
    assert (len(snapshot.scale_sets), len(snapshot.nodes)) == (SETS, NODES)
    made: Any = timed("audit", lambda: audit(snapshot, (), {}, 20_000 * DAY))
    assert len(made.labels) == LABELS
    timed("json", lambda: sum(map(len, document.text(made))))
    timed("plan", lambda: _planned(snapshot, {"kvm": _policy()}))
    timed("plans", lambda: _planned(snapshot, {}))
    # Files are read one after another.
    found["beyond_mb"] = _peak_mb() - before - max(file.stat().st_size for file in files) / MB
    return found


def _policy() -> "CapacityPolicySpec":
    """A ceiling for one of the labels, below what its sets may have together."""
    from remuda.capacity.objects import CapacityPolicySpec, Nodes
    from remuda.objects.scalars import LabelKey, LabelValue

    return CapacityPolicySpec("label-0", SETS // LABELS, Nodes({LabelKey(CAPABILITY): LabelValue("true")}))


def _planned(snapshot: "Snapshot", policies: "dict[str, CapacityPolicySpec]") -> None:
    """With a policy a set and nodes change; without one only nodes, so that every label is looked at."""
    from remuda.capacity.decide.plan import plan
    from remuda.capacity.decide.what_if import read_changes
    from remuda.model.times import DAY

    changes, problems = read_changes(
        {
            "--set": ["set-0.max=9"] if policies else [],
            "--node-add": ["name=fresh,like=node-0"],
            "--node-drain": ["node-5"],
        }
    )
    assert not problems
    made = plan(snapshot, (), policies, changes, 20_000 * DAY)
    assert len(made.labels) == (1 if policies else LABELS)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB


def rows() -> list[Row]:
    """The promises, each by the best of several tries."""
    with TemporaryDirectory(prefix="remuda-bench-") as folder:
        files = write_cluster(Path(folder), SETS, NODES, PODS)
        size = sum(file.stat().st_size for file in files) / MB
        tries = [_measured(files) for _ in range(TRIES)]
    best = {name: min(each[name] for each in tries) for name in tries[0]}
    what = (
        f"{SETS:,} scale sets, {NODES:,} nodes, {PODS:,} pods: {size:,.0f} MB of JSON in {len(files)} files"
    )
    walls = f"best of {TRIES}, {best['read_s']:.2f} s of wall clock"
    return [
        at_most("capacity: reading files", best["read_cpu_s"], MOST_READ_S, "s CPU", f"{what}; {walls}"),
        at_most(
            "capacity: an audit from files",
            best["read_cpu_s"] + best["audit_cpu_s"] + best["json_cpu_s"],
            MOST_AUDIT_S,
            "s CPU",
            f"reading {best['read_cpu_s']:.2f} s, all {LABELS} labels {best['audit_cpu_s']:.2f} s, "
            f"the document {best['json_cpu_s']:.2f} s",
        ),
        at_most(
            "capacity: a plan over the same",
            1_000 * best["plan_cpu_s"],
            MOST_PLAN_MS,
            "ms CPU",
            f"beyond reading: a set and two nodes change, for the label of a policy, {1_000 * best['plan_s']:.0f} ms of wall "
            f"clock; two nodes change, for all {LABELS} labels: {1_000 * best['plans_cpu_s']:.0f} ms CPU",
        ),
        at_most(
            "capacity: memory beyond the input", best["beyond_mb"], MOST_BEYOND_MB, "MB", "peak, beside the largest file"
        ),
    ]  # fmt: skip


def _measured(files: list[Path]) -> Measured:
    command = [sys.executable, "-m", "bench.capacity", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WORK_S)
    if done.returncode != 0:
        sys.exit(f"bench capacity: the work failed:\n{done.stderr}")
    read: Measured = json.loads(done.stdout)
    return read


if __name__ == "__main__":
    print(json.dumps(work([Path(name) for name in sys.argv[1:]])))
