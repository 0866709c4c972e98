"""`remuda up --cluster` against a real API server: objects in, statuses out, one leader."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.catalog import KINDS, load
from tests.processes import ENVIRON
from tests.servers.cluster import Cluster
from tests.servers.postgres import PASSWORD, PostgresServer

from remuda.cluster.preflight import read_cluster
from remuda.cluster.replica import ReplicaConfig
from remuda.jobs import JOBS
from remuda.kube.client import Client
from remuda.kube.config import from_kubeconfig
from remuda.loop.clock import SystemClock
from remuda.objects.crds import crd_of
from remuda.pools.policy import EXACT_SOURCES, compile_objects

DEADLINE_S = 60.0
#: those with pools, which `up` runs
EXAMPLES = sorted(
    path
    for path in (Path(__file__).parents[1] / "examples").glob("*.yaml")
    if "kind: RunnerPool" in path.read_text()
)
API = "/apis/remuda.dev/v1alpha1/namespaces"

pytestmark = pytest.mark.slow


def pool(name: str, **spec: Any) -> dict[str, Any]:
    body = {
        "class": f"a/{name}",
        "source": {"queue": {}},
        "provider": {"process": {}},
        "min": 1,
        "max": 2,
        **spec,
    }
    return {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "RunnerPool",
        "metadata": {"name": name},
        "spec": body,
    }


@pytest.fixture(scope="module")
def defined(cluster: Cluster) -> Cluster:
    """A server that knows our kinds."""
    define(cluster)
    return cluster


def define(server: Cluster) -> None:
    server.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(map(crd_of, KINDS)))
    names = [f"crd/{kind.plural}.remuda.dev" for kind in KINDS]
    server.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)


class Replica:
    """A real `remuda up --cluster` process."""

    def __init__(
        self,
        server: Cluster,
        namespace: str,
        directory: Path,
        name: str,
        program: Sequence[str] = (),
        more: Mapping[str, str] | None = None,
    ) -> None:
        """`program` is run in the place of `remuda up`, with the same options; `more` is for its environment."""
        self.data = directory / name
        self.log = directory / f"{name}.log"
        self._log = self.log.open("ab")
        environ = {
            **os.environ,
            **ENVIRON,
            "KUBECONFIG": str(server.kubeconfig(namespace=namespace)),
            "POD_NAME": name,
            "POD_NAMESPACE": namespace,
            **(more or {}),
        }
        command = [sys.executable, *(program or ("-m", "remuda", "up", "--cluster"))]
        command += ["--data-dir", str(self.data)]
        command += ["--health-port", "0", "--live-port", "0"]
        self.process = subprocess.Popen(command, env=environ, stdout=self._log, stderr=self._log)

    def page(self, name: str) -> str:
        """What /ready or /metrics answers; nothing while there is none."""
        try:
            port = json.loads((self.data / "ports.json").read_bytes())["health"]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=10) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return error.read().decode()
        except OSError:
            return ""

    def pools_shown(self) -> set[str]:
        """The pools that its gauges are about."""
        lines = self.page("metrics").splitlines()
        return {
            line.split('pool="')[1].split('"')[0]
            for line in lines
            if line.startswith("remuda_pool_") and not line.startswith("remuda_pool_actions")
        }

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()  # also one that is frozen
            self.process.wait()
        self._log.close()
        for shim in self.data.glob("machines/*/shim.json"):
            try:
                os.kill(json.loads(shim.read_bytes())["pid"], signal.SIGTERM)
            except (OSError, ValueError):
                continue


@pytest.fixture
def replica(defined: Cluster, namespace: str, tmp_path: Path) -> Iterator[Callable[[str], Replica]]:
    made: list[Replica] = []

    def make(name: str) -> Replica:
        made.append(Replica(defined, namespace, tmp_path, name))
        return made[-1]

    yield make
    for one in made:
        one.end()


def until(found: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        seen = found()
        if seen:
            return seen
        time.sleep(0.1)
    pytest.fail(f"not within {DEADLINE_S:g} s: {what}")


def conditions(server: Cluster, namespace: str, name: str) -> dict[str, dict[str, Any]]:
    body = server.request("GET", f"{API}/{namespace}/runnerpools/{name}").json()
    return {item["type"]: item for item in body.get("status", {}).get("conditions", [])}


def change(server: Cluster, namespace: str, name: str, spec: dict[str, Any]) -> None:
    path = f"{API}/{namespace}/runnerpools/{name}"
    answer = server.request("PATCH", path, {"spec": spec}, content_type="application/merge-patch+json")
    assert answer.status == 200, answer.text


def leader(server: Cluster, namespace: str) -> str:
    answer = server.request("GET", f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/remuda")
    return str(answer.json().get("spec", {}).get("holderIdentity", "")) if answer.status == 200 else ""


def test_objects_of_the_cluster_are_followed_and_their_status_is_written(
    defined: Cluster, namespace: str, replica: Callable[[str], Replica]
) -> None:
    defined.request("POST", f"{API}/{namespace}/runnerpools", pool("good"))
    defined.request("POST", f"{API}/{namespace}/runnerpools", pool("lost", ceiling="nowhere"))
    defined.request("POST", f"{API}/{namespace}/runnerpools", pool("odd", bootTimeout="1ms"))
    one = replica("one")
    until(
        lambda: conditions(defined, namespace, "good").get("Ready", {}).get("status") == "True",
        "good is ready",
    )
    body = defined.request("GET", f"{API}/{namespace}/runnerpools/good").json()
    assert body["status"]["wanted"] == body["status"]["ready"] == 1
    assert body["status"]["observedGeneration"] == body["metadata"]["generation"]

    lost = until(lambda: conditions(defined, namespace, "lost").get("Accepted"), "lost is judged")
    assert lost["status"] == "False"
    assert "there is no Ceiling nowhere" in lost["message"]
    odd = until(lambda: conditions(defined, namespace, "odd").get("Accepted"), "odd is judged")
    assert odd["status"] == "False"
    assert "bootTimeout" in odd["message"]
    events = defined.request("GET", f"/api/v1/namespaces/{namespace}/events").json()["items"]
    assert {event["involvedObject"]["name"] for event in events if event["reason"] == "NotAccepted"} == {
        "lost",
        "odd",
    }

    # What was accepted before stays in force while a change to it has problems.
    machines = set(one.data.glob("machines/good-*"))
    change(defined, namespace, "good", {"bootTimeout": "1ms", "min": 2})
    until(lambda: conditions(defined, namespace, "good")["Accepted"]["status"] == "False", "good is refused")
    seen = conditions(defined, namespace, "good")
    assert (seen["Accepted"]["observedGeneration"], seen["Ready"]["status"]) == (2, "True")
    assert set(one.data.glob("machines/good-*")) == machines

    # A person mends one and removes another: both are followed.
    change(defined, namespace, "lost", {"ceiling": None})
    until(lambda: conditions(defined, namespace, "lost")["Accepted"]["status"] == "True", "lost is mended")
    until(
        lambda: conditions(defined, namespace, "lost").get("Ready", {}).get("status") == "True",
        "lost is ready",
    )
    defined.request("DELETE", f"{API}/{namespace}/runnerpools/good")
    until(lambda: not list(one.data.glob("machines/good-*")), "the machines of good are gone")


@pytest.mark.parametrize("example", [pytest.param(path, id=path.name) for path in EXAMPLES])
async def test_an_example_means_the_same_in_a_file_and_in_a_cluster(
    defined: Cluster, namespace: str, example: Path
) -> None:
    defined.kubectl("apply", "-n", namespace, "-f", str(example))
    clock = SystemClock()
    access = from_kubeconfig([defined.kubeconfig(namespace=namespace)], clock)
    rng = random.Random(1)
    async with Client(access, clock, rng) as client:
        loaded, problems = await read_cluster(
            client, ReplicaConfig(access, namespace, "one"), JOBS, clock, rng
        )
    assert problems == ()
    setup = compile_objects(loaded.objects, EXACT_SOURCES)
    assert setup.pools
    assert setup == compile_objects(load([example]).objects, EXACT_SOURCES)


def test_a_mistake_in_one_object_takes_no_machines_from_the_others(
    defined: Cluster, namespace: str, replica: Callable[[str], Replica]
) -> None:
    members = [{"name": "shell", "guaranteed": 1}, {"name": "brief", "guaranteed": 1}]
    roof = {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "Ceiling",
        "metadata": {"name": "roof"},
        "spec": {"machines": 3, "members": members},
    }
    assert defined.request("POST", f"{API}/{namespace}/ceilings", roof).status == 201
    for name in ("shell", "brief"):
        made = pool(name, ceiling="roof")
        assert defined.request("POST", f"{API}/{namespace}/runnerpools", made).status == 201
    one = replica("one")

    def is_ready() -> bool:
        return conditions(defined, namespace, "shell").get("Ready", {}).get("status") == "True"

    def refusal() -> str:
        body = defined.request("GET", f"{API}/{namespace}/ceilings/roof").json()
        (accepted,) = body.get("status", {}).get("conditions", [{"status": ""}])
        return str(accepted["message"]) if accepted["status"] == "False" else ""

    until(is_ready, "shell is ready")
    machines = set(one.data.glob("machines/shell-*"))
    # A minimum that does not fit, a pool that others name and that goes, a newcomer that wants the same class.
    change(defined, namespace, "brief", {"min": 3, "max": 9})
    until(lambda: "more than the ceiling of 3" in refusal(), "the ceiling cannot hold")
    defined.request("DELETE", f"{API}/{namespace}/runnerpools/brief")
    until(lambda: "there is no RunnerPool brief" in refusal(), "the ceiling names nobody")
    newcomer = {**pool("a-newcomer"), "spec": pool("shell")["spec"]}
    assert defined.request("POST", f"{API}/{namespace}/runnerpools", newcomer).status == 201
    until(lambda: conditions(defined, namespace, "a-newcomer").get("Accepted"), "the newcomer is judged")
    assert conditions(defined, namespace, "a-newcomer")["Accepted"]["status"] == "False"
    assert conditions(defined, namespace, "shell")["Accepted"]["status"] == "True"
    assert is_ready()
    assert machines
    assert machines <= set(one.data.glob("machines/shell-*"))


def test_of_two_replicas_one_leads_and_the_other_takes_over(
    defined: Cluster, namespace: str, replica: Callable[[str], Replica]
) -> None:
    defined.request("POST", f"{API}/{namespace}/runnerpools", pool("shared"))
    first = replica("first")
    until(lambda: leader(defined, namespace) == "first", "first leads")
    second = replica("second")
    until((second.data / "ports.json").exists, "second is up")
    until(
        lambda: conditions(defined, namespace, "shared").get("Ready", {}).get("status") == "True",
        "shared is ready",
    )
    assert not list(second.data.glob("machines/*"))
    until(lambda: first.pools_shown() == {"shared"}, "the leader shows the pool")
    assert second.pools_shown() == set()
    first.stop()
    until(lambda: leader(defined, namespace) == "second", "second leads")
    until(lambda: list(second.data.glob("machines/shared-*")), "second makes machines")


def test_a_replica_that_was_frozen_past_its_term_shows_and_writes_nothing_any_more(
    defined: Cluster, namespace: str, replica: Callable[[str], Replica]
) -> None:
    defined.request("POST", f"{API}/{namespace}/runnerpools", pool("shared"))
    defined.request("POST", f"{API}/{namespace}/runnerpools", pool("lost", ceiling="nowhere"))
    first = replica("first")
    until(lambda: first.pools_shown() == {"shared"}, "first leads")
    until(lambda: conditions(defined, namespace, "lost"), "lost is judged")
    until(lambda: "Accepted" in conditions(defined, namespace, "shared"), "shared is judged")
    before = conditions(defined, namespace, "shared")["Accepted"]
    second = replica("second")
    until(
        lambda: json.loads(second.page("ready") or "{}").get("details", {}).get("pools") == 1, "second knows"
    )
    assert second.pools_shown() == set()

    first.process.send_signal(signal.SIGSTOP)
    until(lambda: leader(defined, namespace) == "second", "second leads")
    first.process.send_signal(signal.SIGCONT)
    until(lambda: second.pools_shown() == {"shared"}, "the leader shows the pool")
    until(lambda: first.pools_shown() == set(), "whoever does not lead shows nothing")
    until(lambda: list(second.data.glob("machines/shared-*")), "second makes machines")
    after = conditions(defined, namespace, "shared")["Accepted"]
    assert after["lastTransitionTime"] == before["lastTransitionTime"], "the leader changed, not the fact"
    assert "a status cannot be written" not in first.log.read_text() + second.log.read_text()


def test_a_server_without_our_kinds_is_refused_and_one_that_loses_them_is_waited_for(
    new_cluster: Any, tmp_path: Path
) -> None:
    server: Cluster = new_cluster()
    early = Replica(server, "default", tmp_path, "early")
    try:
        assert early.process.wait(DEADLINE_S) == 2
        log_text = early.log.read_text()
        assert "the cluster knows no runnerpools.remuda.dev: install them with remuda crds" in log_text
        assert "Traceback" not in log_text
    finally:
        early.end()

    define(server)
    one = Replica(server, "default", tmp_path, "one")
    try:
        until(lambda: leader(server, "default") == "one", "it leads")
        server.kubectl("delete", "crd", *(f"{kind.plural}.remuda.dev" for kind in KINDS))
        until(lambda: "404" in one.page("ready"), "the trouble is told")
        define(server)
        server.request("POST", f"{API}/default/runnerpools", pool("late"))
        until(
            lambda: conditions(server, "default", "late").get("Ready", {}).get("status") == "True",
            "it goes on",
        )
    finally:
        one.end()


def test_with_nothing_valid_to_run_it_says_what_is_wrong_and_exits(
    defined: Cluster, namespace: str, replica: Callable[[str], Replica]
) -> None:
    path = f"{API}/{namespace}/runnerpools"
    assert defined.request("POST", path, pool("lost", ceiling="nowhere")).status == 201
    one = replica("one")
    assert one.process.wait(DEADLINE_S) == 2
    log_text = one.log.read_text()
    assert (
        f"remuda: no object in namespace {namespace} can be run: RunnerPool lost: spec.ceiling: " in log_text
    )
    assert "there is no Ceiling nowhere" in log_text
    assert "problems" not in log_text
    assert defined.request("POST", path, pool("good")).status == 201
    two = replica("two")
    until(lambda: '"ok":true' in two.page("ready").replace(" ", ""), "one good pool is enough")


def asked(data: Path, *words: str) -> str:
    """What a command prints that asks the replica of a data directory."""
    command = [sys.executable, "-m", "remuda", *words, "--data-dir", str(data)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_replicas_that_share_a_database_have_one_history_which_outlives_the_leader(
    defined: Cluster,
    namespace: str,
    replica: Callable[[str], Replica],
    postgres: PostgresServer,
    schema: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REMUDA_STORE", postgres.url(schema))
    defined.request("POST", f"{API}/{namespace}/runnerpools", pool("shared"))
    first = replica("first")
    machine = until(lambda: list(first.data.glob("machines/shared-*")), "first makes a machine")[0].name
    until(
        lambda: conditions(defined, namespace, "shared").get("Ready", {}).get("status") == "True",
        "shared is ready",
    )
    second = replica("second")
    until((second.data / "ports.json").exists, "second is up")
    assert "shared has the 1 machine" in asked(second.data, "why", "pool", "shared"), "a standby answers, too"
    made = asked(second.data, "why", "machine", machine)
    assert "shared makes a machine" in made

    first.process.kill()
    first.process.wait()
    until(lambda: list(second.data.glob("machines/shared-*")), "second makes machines")
    assert "shared makes a machine" in asked(second.data, "why", "machine", machine), (
        "the old leader's decision"
    )
    assert "0 decided differently" in asked(second.data, "replay")

    epochs = postgres.psql(
        f"SELECT holder, ended_at IS NULL FROM {schema}.writers ORDER BY epoch"
    ).splitlines()
    assert epochs == ["first|f", "second|t"]
    names = [path.name for each in (first, second) for path in each.data.glob("machines/shared-*")]
    assert len(names) == len(set(names)), "no name was used twice"
    logs = first.log.read_text() + second.log.read_text()
    assert PASSWORD not in logs + second.page("ready") + asked(second.data, "loops", "list", "-o", "json")
    assert json.loads(second.page("ready"))["details"]["store"].startswith("postgresql://remuda:***@")
