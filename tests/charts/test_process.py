"""The process that the chart describes, started beside the API server, with the permissions that the chart grants."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.charts.rendering import Chart, container
from tests.processes import ceiling, eventually, pool
from tests.servers.cluster import Cluster

from remuda.kube.rbac import NEEDS

pytestmark = pytest.mark.slow

OBJECTS = "/apis/remuda.dev/v1alpha1/namespaces/{}/{}"
MERGE = "application/merge-patch+json"
#: health on ports that are free, or two tests could not run at once
VALUES = {"extraArgs": ["--health-port=0", "--live-port=0"], "interval": 0.2}
#: (group, resource, verb)
Grant = tuple[str, str, str]


@pytest.fixture
def installed(chart: Chart, cluster: Cluster, namespace: str) -> dict[str, Any]:
    """The container of a release; what it needs is in the cluster."""
    objects = chart.objects(VALUES, namespace=namespace)
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-f", "-", stdin=yaml.safe_dump_all(objects))
    cluster.kubectl(
        "wait", "--for=condition=Established", "--timeout=60s", "crd", "-l", "app.kubernetes.io/name=remuda"
    )
    return container(next(item for item in objects if item["kind"] == "Deployment"))


@contextmanager
def started(made: dict[str, Any], cluster: Cluster, namespace: str, directory: Path) -> Iterator[Path]:
    """What a kubelet would start, but for its place: a data directory and a kubeconfig with the pods' own token."""
    data = directory / "data"
    known = {"metadata.name": "remuda-0", "metadata.namespace": namespace}
    environ = {
        item["name"]: item["value"] if "value" in item else known[item["valueFrom"]["fieldRef"]["fieldPath"]]
        for item in made["env"]
    }
    token = cluster.token_for(namespace, "remuda")
    own = {
        "PATH": os.environ["PATH"],
        "KUBECONFIG": str(cluster.kubeconfig("remuda", token=token, namespace="nowhere")),
        **environ,
        "REMUDA_DATA_DIR": str(data),
    }
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "remuda", *made["args"]], env=own, stdout=log, stderr=log
        )
        try:
            yield data
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, (directory / "log").read_text()
        finally:
            process.kill()
            process.wait()


def asked(cluster: Cluster, namespace: str) -> tuple[set[Grant], list[str]]:
    """What the pods asked of the API server, and what of it was refused; discovery is everybody's."""
    used, refused = set[Grant](), list[str]()
    for line in cluster.audit():
        about = line.get("objectRef")
        if line["user"].get("username") == f"system:serviceaccount:{namespace}:remuda" and about:
            what = "/".join(filter(None, (about["resource"], about.get("subresource"))))
            used.add((about.get("apiGroup", ""), what, line["verb"]))
            if line.get("responseStatus", {}).get("code") == 403:
                refused.append(f"{line['verb']} {line['requestURI']}")
    return used, refused


def test_no_permission_is_missing_or_unused(
    installed: dict[str, Any], cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    pools, ceilings = OBJECTS.format(namespace, "runnerpools"), OBJECTS.format(namespace, "ceilings")
    assert cluster.request("POST", pools, pool("good", min=0, max=1)).status == 201
    assert cluster.request("POST", pools, pool("lost", ceiling="nowhere")).status == 201
    assert cluster.request("POST", ceilings, ceiling("room", 3)).status == 201
    table = {
        (rule.group, resource, verb)
        for rule in NEEDS["up"]
        for resource in rule.resources
        for verb in rule.verbs
    }

    def accepted(path: str) -> tuple[int, str]:
        status = cluster.request("GET", path).json().get("status", {})
        states = {item["type"]: item["status"] for item in status.get("conditions", ())}
        return status.get("observedGeneration", 0), states.get("Accepted", "")

    with started(installed, cluster, namespace, tmp_path) as data:
        eventually(lambda: accepted(f"{pools}/good") == (1, "True"), "good is accepted")
        eventually(lambda: accepted(f"{ceilings}/room") == (1, "True"), "room is accepted")
        eventually(lambda: accepted(f"{pools}/lost") == (1, "False"), "lost is refused")
        # the same problem once more is the same event, counted
        change = {"spec": {"max": 7}}
        assert cluster.request("PATCH", f"{pools}/lost", change, content_type=MERGE).status == 200
        eventually(lambda: accepted(f"{pools}/lost") == (2, "False"), "lost is refused again")
        port = json.loads((data / "ports.json").read_bytes())["health"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=10) as answer:
            assert json.load(answer)["details"]["leader"] == "remuda-0"
        eventually(lambda: table <= asked(cluster, namespace)[0], "every permission is used")

    used, refused = asked(cluster, namespace)
    assert refused == []
    assert used == table
