"""
The process that the chart describes, started beside the API server, with the permissions that the chart grants.

Where the system allows it, in a mount namespace of its own: there the files of the service account, the volumes and the
read-only root are where a kubelet would have put them.
"""

import contextlib
import functools
import hashlib
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from tests.charts.rendering import Chart, container
from tests.processes import ceiling, eventually, pool
from tests.servers.cluster import Cluster

from remuda.jobs import JOBS
from remuda.providers.kubevirt.permissions import PERMISSIONS as VMS

NEEDS = JOBS.permissions()

pytestmark = pytest.mark.slow

OBJECTS = "/apis/remuda.dev/v1alpha1/namespaces/{}/{}"
MERGE = "application/merge-patch+json"
#: health on ports that are free, or two tests could not run at once
VALUES = {"extraArgs": ["--health-port=0", "--live-port=0"], "interval": 0.2}
#: (group, resource, verb)
Grant = tuple[str, str, str]
Start = Callable[[dict[str, Any], Cluster, str, Path], subprocess.Popen[bytes]]
#: a mount namespace of our own; who is not root needs a user namespace for it
APART = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
#: $1 is the service account, $2 the ledger's volume, and the rest what is run
POD = """
set -eu
account=/var/run/secrets/kubernetes.io/serviceaccount ledger=/var/lib/remuda
mount --bind /tmp /tmp
mount -t tmpfs none /var
mkdir -p "$account" "$ledger"
mount --bind "$1" "$account"
mount --bind "$2" "$ledger"
mount -o remount,bind,ro /
shift 2
exec "$@"
"""


@pytest.fixture
def installed(chart: Chart, cluster: Cluster, namespace: str) -> dict[str, Any]:
    """The container of a release; what it needs is in the cluster."""
    objects, crds = chart.objects(VALUES, namespace=namespace), chart.crds()
    every = yaml.safe_dump_all([*crds, *objects])
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-f", "-", stdin=every)
    names = [f"crd/{crd['metadata']['name']}" for crd in crds]
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
    return container(next(item for item in objects if item["kind"] == "Deployment"))


def as_a_pod(
    made: dict[str, Any], cluster: Cluster, namespace: str, directory: Path
) -> subprocess.Popen[bytes]:
    """Start what a kubelet would start."""
    if subprocess.run([*APART, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip(f"needs a mount namespace, and `{' '.join(APART)} true` is refused here")
    account = directory / "account"
    account.mkdir()
    (account / "token").write_text(cluster.token_for(namespace, "remuda"))
    (account / "ca.crt").write_bytes(cluster.ca.read_bytes())
    (account / "namespace").write_text(namespace)
    server = urlsplit(cluster.url)
    environ = rendered_environ(made, namespace) | {
        "KUBERNETES_SERVICE_HOST": str(server.hostname),
        "KUBERNETES_SERVICE_PORT": str(server.port),
    }
    place = ["sh", "-c", POD, "sh", str(account), str(directory / "data")]
    return run([*APART, *place, sys.executable, "-m", "remuda", *made["args"]], environ, directory)


def by_a_kubeconfig(
    made: dict[str, Any], cluster: Cluster, namespace: str, directory: Path
) -> subprocess.Popen[bytes]:
    """The same with a kubeconfig that holds the pods' own token, and a data directory of the test."""
    token = cluster.token_for(namespace, "remuda")
    environ = rendered_environ(made, namespace) | {
        "KUBECONFIG": str(cluster.kubeconfig("remuda", token=token, namespace="nowhere")),
        "REMUDA_DATA_DIR": str(directory / "data"),
    }
    return run([sys.executable, "-m", "remuda", *made["args"]], environ, directory)


def rendered_environ(made: dict[str, Any], namespace: str) -> dict[str, str]:
    known = {"metadata.name": "remuda-0", "metadata.namespace": namespace, "status.podIP": "127.0.0.1"}
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | {
        item["name"]: item["value"] if "value" in item else known[item["valueFrom"]["fieldRef"]["fieldPath"]]
        for item in made["env"]
    }


def run(command: list[str], environ: dict[str, str], directory: Path) -> subprocess.Popen[bytes]:
    (directory / "data").mkdir()
    with (directory / "log").open("wb") as log:
        return subprocess.Popen(command, env=environ, stdout=log, stderr=log)


@contextmanager
def stopped(process: subprocess.Popen[bytes], log: Path) -> Iterator[None]:
    """Stop it as a kubelet does; it must end well."""
    try:
        yield
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def asked(cluster: Cluster, namespace: str) -> tuple[set[Grant], list[str]]:
    """What the pods asked of the API server, and what of it was refused; but for what everybody may ask."""
    used, refused = set[Grant](), list[str]()
    for line in cluster.audit():
        about = line.get("objectRef")
        # discovery is about no object, and to ask what one may do is everybody's
        if about is None or about["resource"] == "selfsubjectaccessreviews":
            continue
        if line["user"].get("username") == f"system:serviceaccount:{namespace}:remuda":
            what = "/".join(filter(None, (about["resource"], about.get("subresource"))))
            used.add((about.get("apiGroup", ""), what, line["verb"]))
            if line.get("responseStatus", {}).get("code") == 403:
                refused.append(f"{line['verb']} {line['requestURI']}")
    return used, refused


@pytest.mark.parametrize("start", [as_a_pod, by_a_kubeconfig])
def test_no_permission_is_missing_or_unused(
    installed: dict[str, Any], cluster: Cluster, namespace: str, tmp_path: Path, start: Start
) -> None:
    pools, ceilings = OBJECTS.format(namespace, "runnerpools"), OBJECTS.format(namespace, "ceilings")
    assert cluster.request("POST", pools, pool("good", min=0, max=1)).status == 201
    assert cluster.request("POST", pools, pool("lost", ceiling="nowhere")).status == 201
    assert cluster.request("POST", ceilings, ceiling("room", 3)).status == 201
    tiers = OBJECTS.format(namespace, "tierpolicies")
    # one that cannot be followed: nothing is asked of the cluster for its sake
    wrong = {**pool("none"), "kind": "TierPolicy", "spec": {"defaultTier": "nowhere"}}
    assert cluster.request("POST", tiers, wrong).status == 201
    table = {
        (rule.group, resource, verb)
        for rule in NEEDS["up"]
        if rule not in VMS  # tests/providers/kubevirt/test_permissions.py uses those
        if not rule.is_cluster_wide  # tests/tiers/test_loop_live.py uses those
        for resource in rule.resources
        for verb in rule.verbs
    }

    def accepted(path: str) -> tuple[int, str]:
        status = cluster.request("GET", path).json().get("status", {})
        states = {item["type"]: item["status"] for item in status.get("conditions", ())}
        return status.get("observedGeneration", 0), states.get("Accepted", "")

    with stopped(start(installed, cluster, namespace, tmp_path), tmp_path / "log"):
        eventually(lambda: accepted(f"{pools}/good") == (1, "True"), "good is accepted")
        eventually(lambda: accepted(f"{ceilings}/room") == (1, "True"), "room is accepted")
        eventually(lambda: accepted(f"{pools}/lost") == (1, "False"), "lost is refused")
        eventually(lambda: accepted(f"{tiers}/none") == (1, "False"), "a tier that is not there is refused")
        # the same problem once more is the same event, counted
        change = {"spec": {"max": 7}}
        assert cluster.request("PATCH", f"{pools}/lost", change, content_type=MERGE).status == 200
        eventually(lambda: accepted(f"{pools}/lost") == (2, "False"), "lost is refused again")
        port = json.loads((tmp_path / "data" / "ports.json").read_bytes())["health"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=10) as answer:
            assert json.load(answer)["details"]["leader"] == "remuda-0"
        eventually(lambda: table <= asked(cluster, namespace)[0], "every permission is used")

    used, refused = asked(cluster, namespace)
    assert refused == []
    assert used == table


WEB = {
    "replicas": 2,
    "web": {"existingSecret": "remuda-web", "accessKey": "access.yaml"},
    # the same host has all replicas, and the last word counts
    "extraArgs": ["--health-port=0", "--live-port=0", "--web-port=0", "--web-address=127.0.0.1"],
    "interval": 0.2,
}
OWN, READ = "the-token-that-the-chart-mounts", "the-token-of-somebody-who-reads"


def test_of_two_replicas_as_the_chart_starts_them_any_answers(
    chart: Chart, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    objects, crds = chart.objects(WEB, namespace=namespace), chart.crds()
    cluster.kubectl(
        "apply", "--server-side", "-n", namespace, "-f", "-", stdin=yaml.safe_dump_all([*crds, *objects])
    )
    names = [f"crd/{crd['metadata']['name']}" for crd in crds]
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
    pools = OBJECTS.format(namespace, "runnerpools")
    assert cluster.request("POST", pools, pool("good", min=1, max=1)).status == 201
    made = container(next(item for item in objects if item["kind"] == "Deployment"))
    mounted = tmp_path / "web"
    mounted.mkdir()
    digest = hashlib.sha256(READ.encode()).hexdigest()
    # as a kubelet does it: files behind links, for the group of the pod
    for name, text in (("token", OWN), ("access.yaml", f'tokens: [{{name: wall, sha256: "{digest}"}}]')):
        (mounted / f"..{name}").write_text(text)
        (mounted / f"..{name}").chmod(0o440)
        (mounted / name).symlink_to(f"..{name}")
    made["args"] = [word.replace("/etc/remuda/web", str(mounted)) for word in made["args"]]

    def begin(name: str) -> tuple[subprocess.Popen[bytes], Path]:
        directory = tmp_path / name
        directory.mkdir()
        token = cluster.token_for(namespace, "remuda")
        environ = rendered_environ(made, namespace) | {
            "KUBECONFIG": str(cluster.kubeconfig(name, token=token, namespace="nowhere")),
            "REMUDA_DATA_DIR": str(directory / "data"),
            "POD_NAME": name,
        }
        return run([sys.executable, "-m", "remuda", *made["args"]], environ, directory), directory

    def ask(directory: Path, path: str, token: str, method: str = "GET") -> tuple[int, Any]:
        port = json.loads((directory / "data" / "ports.json").read_bytes())["web"]
        headers = {"Authorization": f"Bearer {token}"}
        asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, headers=headers)
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def answers(directory: Path) -> bool:
        return ask(directory, "/v1/why/pool/good", OWN)[0] == 200

    with contextlib.ExitStack() as ends:
        replicas = []
        for name in ("remuda-0", "remuda-1"):
            process, directory = begin(name)
            ends.enter_context(stopped(process, directory / "log"))
            eventually((directory / "data" / "ports.json").exists, f"{name} is up")
            replicas.append(directory)
        lease = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/remuda"
        eventually(
            lambda: cluster.request("GET", lease).json().get("spec", {}).get("holderIdentity"), "one leads"
        )
        for directory in replicas:
            knows = functools.partial(answers, directory)
            eventually(knows, f"{directory.name} answers")
            assert ask(directory, "/v1/loops", READ)[1]["loops"][0]["phase"] != "standby"
            assert ask(directory, "/v1/pools/good/pause", READ, "POST")[0] == 403
            assert ask(directory, "/v1/pools", "a-token-of-nobody")[0] == 401
            assert ask(directory, "/v1/pools/good/pause", OWN, "POST")[0] == 200
    _, refused = asked(cluster, namespace)
    assert refused == [], "it takes no permission more"
