"""CircleCI on KubeVirt: what a cycle, a change of the queue, a change of a VM and many VMs cost."""

import json
import subprocess
import sys
from typing import Any

from tests.kubevirt.installation import NEEDED
from tests.servers.found import ServersError

from bench.kube import programs
from bench.runners_circle import Circle
from bench.runners_cluster import CHANGES, CLASSES, EACH, Changed, Held, measured
from bench.runners_work import CHANGES as ENDS
from bench.runners_work import CLASSES as ASKED
from bench.runners_work import CYCLES, POOLS, VMS_EACH
from bench.runners_work import EACH as VMS_OF_CLASS
from bench.table import Row, at_most, quantile

WORK_S = 600.0


def ask(*words: str) -> Any:
    """What a fresh process that did the work says."""
    command = [sys.executable, "-m", "bench.runners_work", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WORK_S)
    if done.returncode != 0:
        sys.exit(f"bench runners: {words[0]} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def cycle() -> list[Row]:
    with Circle() as circle:
        found = ask("cycles", circle.url)
    cpu = quantile(found["cpus"], 0.5) * 1e3
    conditions = (
        f"{2 * ASKED} counts over one pool of connections with no rate limit, observe and decide for {ASKED} pools of "
        f"{VMS_OF_CLASS} VMs; agents not listed; a loopback API in another process"
    )
    return [
        at_most(
            f"a cycle over {ASKED} classes",
            quantile(found["walls"], 0.5) * 1e3,
            150,
            "ms",
            f"{conditions}; median of {CYCLES} warm ones, {cpu:.0f} ms CPU, the best {min(found['walls']) * 1e3:.0f} ms; "
            f"the first, which connects, {found['first'] * 1e3:.0f} ms",
        ),
        at_most(
            f"memory of {ASKED} classes",
            found["mb"],
            60,
            "MB",
            f"RSS added in a fresh process after {CYCLES + 1} cycles, {found['mb'] - found['mb_alone']:.0f} MB of it by "
            "imports",
        ),
    ]


def change() -> Row:
    found = ask("changes")
    return at_most(
        f"a status change among {POOLS * VMS_EACH:,} VMs",
        quantile(found["cpus"], 0.5) * 1e3,
        20,
        "ms CPU",
        f"median of {ENDS} guests that end, from the line of the watch to the plan that replaces the VM: the event decoded "
        f"and taken in {found['taken'] * 1e3:.1f} ms, all VMs listed and joined with their agents "
        f"{found['observed'] * 1e3:.1f} ms, decided {found['decided'] * 1e3:.1f} ms; {POOLS} pools of {VMS_EACH} VMs with "
        f"their guests and agents, no network, nothing recorded; {quantile(found['walls'], 0.5) * 1e3:.0f} ms by the clock",
    )


def on_servers(changed: Changed, held: Held) -> list[Row]:
    took = [seconds * 1e3 for seconds in changed.took]
    return [
        at_most(
            "a queue change to its scale patch",
            quantile(took, 0.95),
            200,
            "ms",
            f"p95 of {CHANGES}, median {quantile(took, 0.5):.0f} ms: from the poll's answer with the changed count until a "
            "watch on the real API server tells the VirtualMachinePool's new replicas; a real remuda up --cluster and "
            "virt-controller",
        ),
        at_most(
            f"memory with {CLASSES} classes and {CLASSES * EACH} VMs",
            held.mb,
            120,
            "MB",
            f"largest RSS of a real remuda up --cluster within {held.seconds:.0f} s, all VMs with guests and agents, idle; "
            f"{held.peak_mb:.0f} MB at its peak since it started",
        ),
    ]


def rows() -> list[Row]:
    found = [*cycle(), change()]
    try:
        servers = programs(*NEEDED)
    except ServersError as error:
        print(f"runners: not measured on real servers: {error}")
        return found
    return [*found, *on_servers(*measured(servers))]
