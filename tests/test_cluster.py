"""`remuda up --cluster` against a real API server: objects in, statuses out, one leader."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.servers.cluster import Cluster

from remuda.catalog import KINDS
from remuda.objects.crds import crd_of

DEADLINE_S = 60.0
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
    for kind in KINDS:
        server.kubectl(
            "wait", "--for=condition=Established", "--timeout=60s", f"crd/{kind.plural}.remuda.dev"
        )


class Replica:
    """A real `remuda up --cluster` process."""

    def __init__(self, server: Cluster, namespace: str, directory: Path, name: str) -> None:
        self.data = directory / name
        self._log = (directory / f"{name}.log").open("wb")
        environ = {
            **os.environ,
            "KUBECONFIG": str(server.kubeconfig(namespace=namespace)),
            "POD_NAME": name,
            "POD_NAMESPACE": namespace,
        }
        command = [sys.executable, "-m", "remuda", "up", "--cluster", "--data-dir", str(self.data)]
        command += ["--health-port", "0", "--live-port", "0"]
        self.process = subprocess.Popen(command, env=environ, stdout=self._log, stderr=self._log)

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait(30)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
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


def leader(server: Cluster, namespace: str) -> str:
    answer = server.request("GET", f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/remuda")
    return str(answer.json().get("spec", {}).get("holderIdentity", "")) if answer.status == 200 else ""


def test_objects_of_the_cluster_are_followed_and_their_status_is_told(
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

    # A person mends one and removes another: both are followed.
    defined.request(
        "PATCH",
        f"{API}/{namespace}/runnerpools/lost",
        {"spec": {"ceiling": None}},
        content_type="application/merge-patch+json",
    )
    until(lambda: conditions(defined, namespace, "lost")["Accepted"]["status"] == "True", "lost is mended")
    until(
        lambda: conditions(defined, namespace, "lost").get("Ready", {}).get("status") == "True",
        "lost is ready",
    )
    defined.request("DELETE", f"{API}/{namespace}/runnerpools/good")
    until(lambda: not list(one.data.glob("machines/good-*")), "the machines of good are gone")


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
    first.stop()
    until(lambda: leader(defined, namespace) == "second", "second leads")
    until(lambda: list(second.data.glob("machines/shared-*")), "second makes machines")


def test_a_server_without_our_kinds_is_waited_for_and_told(new_cluster: Any, tmp_path: Path) -> None:
    server: Cluster = new_cluster()
    one = Replica(server, "default", tmp_path, "early")
    try:
        ports = until(
            lambda: (one.data / "ports.json").exists() and (one.data / "ports.json").read_text(), "it is up"
        )
        port = json.loads(ports)["health"]

        def ready() -> dict[str, Any]:
            done = subprocess.run(
                ["curl", "-s", f"http://127.0.0.1:{port}/ready"], capture_output=True, check=False
            )
            return dict(json.loads(done.stdout or b"{}"))

        until(lambda: "404" in str(ready().get("details", {}).get("trouble")), "the trouble is told")
        define(server)
        server.request("POST", f"{API}/default/runnerpools", pool("late"))
        until(
            lambda: conditions(server, "default", "late").get("Ready", {}).get("status") == "True",
            "it goes on",
        )
    finally:
        one.end()
