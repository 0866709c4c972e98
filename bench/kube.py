"""The Kubernetes client on real servers, beside `lightkube` and the official client in the same run."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct
from tests.kube.replica import Replica
from tests.servers.catalog import SERVERS
from tests.servers.cluster import ALWAYS, Cluster
from tests.servers.found import ServersError, find, surroundings

from bench.kube_nodes import EVENTS, NODE_COUNT, fill_nodes, record
from bench.kube_work import APPLIES, AT_ONCE, NAMESPACE, PAGE, TRIES
from bench.table import Row, at_most
from remuda.kube.lease import Term

PEERS = ("lightkube", "kubernetes")
#: an interpreter that can import the peers; this one unless given
PEERS_PYTHON = os.environ.get("REMUDA_BENCH_PYTHON", sys.executable)
TERM = Term(duration=3, act_for=2, renew_every=0.3)
FAILOVERS, WORK_S, SETTLE_S, FAILOVER_S = 3, 600.0, 1.5, 60.0


class Served(Struct, frozen=True):
    """All nodes as the server sends them: how many bytes, and the seconds it needs."""

    size: int
    alone_s: float


@cache
def ask(client: str, work: str, given: Path) -> Any:
    """What a process that did the work says; None if it cannot be done."""
    python = PEERS_PYTHON if client in PEERS else sys.executable
    command = [python, "-m", "bench.kube_work", client, work, str(given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WORK_S)
    if done.returncode == 0:
        return json.loads(done.stdout)
    if work != "version":
        sys.stderr.write(f"bench kube: {client} cannot {work}:\n{done.stderr}")
    return None


def ours(given: Path, work: str, what: str) -> float:
    found = ask("remuda", work, given)
    if found is None:
        sys.exit(f"bench kube: {work} failed")
    return float(found[what])


def beside(given: Path, work: str, what: str, scale: float, unit: str) -> str:
    """The same with the peers, in words."""
    shown = []
    for name in PEERS:
        version = ask(name, "version", given)
        if version:
            found = ask(name, work, given)
            shown.append(
                f"{name} {version}: " + (f"{found[what] * scale:,.4g} {unit}" if found else "failed")
            )
    return (
        ", ".join(shown)
        or "lightkube and kubernetes not installed; REMUDA_BENCH_PYTHON may name a Python that has them"
    )


def clients(given: Path, served: Served) -> list[Row]:
    """The rows that other clients can be compared in."""
    listed = f"{NODE_COUNT:,} nodes, {served.size / 1e6:.0f} MB of JSON, in pages of {PAGE}"
    return [
        at_most(
            "a list of 10,000 nodes decoded",
            ours(given, "decode", "cpu") * 1e3,
            150,
            "ms CPU",
            f"{beside(given, 'decode', 'cpu', 1e3, 'ms')}; {listed} recorded from the server, best of up to {TRIES}",
        ),
        at_most(
            "a list of 10,000 nodes, whole",
            ours(given, "list", "wall"),
            1,
            "s",
            f"{beside(given, 'list', 'wall', 1, 's')}; {listed} one after another from the server, with TLS, connecting "
            f"and decoding; the server alone needs {served.alone_s:.2f} s; {ours(given, 'list', 'cpu') * 1e3:.0f} ms CPU of ours, best of up to {TRIES}",
        ),
        at_most(
            "10,000 objects cached",
            ours(given, "hold", "mb"),
            150,
            "MB",
            f"{beside(given, 'hold', 'mb', 1, 'MB')} in a dict; RSS added by a synced cache of {NODE_COUNT:,} nodes in a "
            "fresh process, the client and its connections included",
        ),
        at_most(
            "a watch event handled",
            ours(given, "handle", "cpu") * 1e6,
            50,
            "µs CPU",
            f"{beside(given, 'handle', 'cpu', 1e6, 'µs')}; {EVENTS:,} recorded changes of nodes through a cache; with TLS "
            f"and HTTP from the server {ours(given, 'watch', 'cpu') * 1e6:.0f} µs "
            f"({beside(given, 'watch', 'cpu', 1e6, 'µs')}), best of up to {TRIES}",
        ),
        at_most(
            f"{APPLIES:,} server-side applies",
            ours(given, "apply", "wall"),
            3,
            "s",
            f"{beside(given, 'apply', 'wall', 1, 's')}; new ConfigMaps of ten keys, {AT_ONCE} at once, no rate limit; "
            f"{ours(given, 'apply', 'cpu') * 1e3:.0f} ms CPU of ours",
        ),
    ]


def heard(replica: Replica, word: str) -> float:
    """The wall clock's seconds when a replica said a word first."""
    deadline = time.monotonic() + FAILOVER_S
    while time.monotonic() < deadline:
        if times := replica.times(word):
            return times[0]
        time.sleep(0.02)
    sys.exit(f"bench kube: {replica.identity} was not {word} within {FAILOVER_S:g} s")


def failovers(given: Path, kind: str, end: Callable[[Replica], None]) -> list[float]:
    """Seconds from each end of a leader to the moment another leads."""
    took = []
    with ExitStack() as stack:

        def started(number: int) -> Replica:
            name = f"{kind}-{number}"
            made = Replica(given / "kubeconfig", NAMESPACE, name, given / f"{name}.log", TERM)
            stack.callback(made.close)
            return made

        leader = started(0)
        heard(leader, "leading")
        for number in range(FAILOVERS):
            follower = started(number + 1)
            heard(follower, "ready")
            time.sleep(SETTLE_S)
            ended = time.time()
            end(leader)
            took.append(heard(follower, "leading") - ended)
            leader = follower
    return took


def elections(given: Path) -> list[Row]:
    """The rows about leaders."""
    stopped = failovers(given, "stopped", lambda leader: leader.process.terminate())
    killed = failovers(given, "killed", lambda leader: leader.process.kill())
    conditions = f"worst of {FAILOVERS}, two processes, a lease of {TERM.duration:g} s"
    return [
        at_most("failover of a leader killed with -9", max(killed), TERM.duration + 2, "s", conditions),
        at_most("failover of a leader stopped cleanly", max(stopped), 1, "s", conditions),
    ]


def programs(*more: str) -> dict[str, Path]:
    """The servers, and more programs; `ServersError` says what is missing."""
    around = surroundings()
    found = {name: find(SERVERS[name], around) for name in (*ALWAYS, "kubectl", *more)}
    missing = [name for name, path in found.items() if path is None]
    if shutil.which("openssl") is None:
        raise ServersError("needs the openssl command")
    if missing:
        raise ServersError(f"needs {', '.join(missing)}; `make servers` provides what is missing")
    return {name: path for name, path in found.items() if path is not None}


def read_s(cluster: Cluster) -> float:
    """Seconds to get all nodes and do nothing with them: what the server itself needs."""
    began = time.perf_counter()
    cluster.request("GET", "/api/v1/nodes")
    return time.perf_counter() - began


@contextmanager
def prepared(servers: dict[str, Path]) -> Iterator[tuple[Path, Served]]:
    """A directory for the work on a filled server, and what that serves."""
    with Cluster(servers, audit=False) as cluster, tempfile.TemporaryDirectory(prefix="remuda-") as name:
        given = Path(name)
        shutil.copy(cluster.kubeconfig(), given / "kubeconfig")
        answer = cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        assert answer.status == 201, answer.text
        fill_nodes(cluster)
        size = asyncio.run(record(cluster, given))
        yield given, Served(size, min(read_s(cluster) for _ in range(TRIES)))


def rows() -> list[Row]:
    try:
        servers = programs()
    except ServersError as error:
        print(f"kube: not measured: {error}")
        return []
    with prepared(servers) as (given, served):
        return [*clients(given, served), *elections(given)]
