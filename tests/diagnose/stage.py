"""
Objects that kubectl makes in a real cluster, with much that is wrong with them and a secret in every corner.

KubeVirt's own controller makes the guest and its launcher; what a kubelet and a scheduler would tell is told here.
"""

import base64
import json
import time
from typing import Any

import yaml
from tests.catalog import KINDS
from tests.servers.cluster import Cluster
from tests.sources.circleci.loopback import TOKEN

from remuda.objects.crds import crd_of

STATUS_PATCH = "application/strategic-merge-patch+json"
#: planted where the names say; none may be in a bundle
SECRETS = {
    "api token": TOKEN,
    "class token": "ba5eba11c0ffee00ba5eba11c0ffee00ba5eba11c0ffee00",
    "provisioner": "s3cr3t-Of-The-Provisioner",
    "pull secret": "p4ssw0rd-Of-The-Registry",
    "environment variable": "env-value-4711-is-secret",
    "argument": "argument-0815-is-secret",
    "annotation": "annotation-1234-is-secret",
    "label": "label-99-is-secret",
    "inline user data": "inline-user-data-77-is-secret",
    "console": "consolepassphrase",
    "event": "eventpass42",
    "log": "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4QQ",
    "RunnerPool variable": "pool-variable-31-is-secret",
    "message": "bearer-in-a-message-0001",
}
CONSOLE = f"""\
[    0.000000] Linux version 6.8
ci-info: password={SECRETS["console"]}
auth_token: {SECRETS["class token"]}
set -x: curl -H 'Circle-Token: {SECRETS["api token"]}' https://x:{SECRETS["pull secret"]}@images.example/
remuda-guest: step=boot seconds=21.0
remuda-guest: step=detect seconds=0.2
remuda-guest: FAILED step=install reason=adding the package repository failed 5 times: no such host
"""
LOG = f"the token {SECRETS['provisioner']} is bad\nremuda: {SECRETS['log']}\n"


def install_kinds(cluster: Cluster) -> None:
    """Remuda's own definitions, served."""
    crds = [crd_of(kind) for kind in KINDS]
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump_all(crds))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/runnerpools.remuda.dev")


def objects(namespace: str, circle_url: str) -> list[dict[str, Any]]:
    """What a person applied."""
    spec = {
        "domain": {"devices": {}, "memory": {"guest": "2Gi"}},
        "terminationGracePeriodSeconds": 3600,
    }
    pools: list[dict[str, Any]] = [
        {
            "class": "acme/linux",
            "min": 1,
            "source": {"circleci": {"url": circle_url, "token": {"secret": "circle", "key": "circle-token"}}},
            "provider": {"kubevirt": {"spec": spec, "token": {"secret": "circle", "key": "class-token"}}},
        },
        {
            "class": "acme/old",
            "source": {"circleci": {"url": circle_url, "token": {"secret": "circle", "key": "mistyped"}}},
            "provider": {"kubevirt": {"provisioner": {"secret": "provisioner", "key": "config.yaml"}}},
        },
        {
            "class": "acme/shell",
            "source": {"queue": {}},
            "provider": {"process": {"env": {"PASSWORD": SECRETS["RunnerPool variable"]}}},
        },
    ]
    config = yaml.safe_dump({"resourceClass": {"acme/old": {"token": SECRETS["provisioner"]}}})
    annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": SECRETS["annotation"],
        "note": SECRETS["annotation"],
    }
    return [
        _object(
            "v1",
            "Secret",
            "circle",
            stringData={"circle-token": TOKEN, "class-token": SECRETS["class token"]},
        ),
        _object("v1", "Secret", "provisioner", stringData={"config.yaml": config}),
        _object(
            "v1",
            "Secret",
            "regcred",
            type="kubernetes.io/dockerconfigjson",
            stringData={".dockerconfigjson": _docker(SECRETS["pull secret"])},
        ),
        *(
            _object(
                "remuda.dev/v1alpha1",
                "RunnerPool",
                str(item["class"]).partition("/")[2],
                annotations,
                spec=item,
            )
            for item in pools
        ),
        _virtual_machine(annotations),
        _deployment(annotations),
    ]


def apply(cluster: Cluster, namespace: str, made: list[dict[str, Any]]) -> None:
    """kubectl apply."""
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-f", "-", stdin=yaml.safe_dump_all(made))


def play(cluster: Cluster, namespace: str) -> None:
    """What the parts of a cluster that are not there would tell."""
    at = f"/api/v1/namespaces/{namespace}"
    pod = {
        "metadata": {"name": "remuda-x", "labels": {"app.kubernetes.io/name": "remuda"}},
        "spec": _deployment({})["spec"]["template"]["spec"] | {"nodeName": "node-0"},
    }
    _made(cluster.request("POST", f"{at}/pods", pod).status)
    waiting = {
        "reason": "CrashLoopBackOff",
        "message": f"back-off, Authorization: Bearer {SECRETS['message']}",
    }
    ended = {"exitCode": 2, "reason": "Error", "startedAt": None, "finishedAt": None}
    status = {"name": "remuda", "image": "x", "imageID": "", "ready": False, "restartCount": 4}
    status |= {"state": {"waiting": waiting}, "lastState": {"terminated": ended}}
    body = {"status": {"phase": "Running", "containerStatuses": [status]}}
    assert (
        cluster.request("PATCH", f"{at}/pods/remuda-x/status", body, content_type=STATUS_PATCH).status == 200
    )
    event = {
        "metadata": {"generateName": "e"},
        "type": "Warning",
        "reason": "FailedMount",
        "message": f"mounting failed: password: {SECRETS['event']}",
        "involvedObject": {"kind": "Pod", "name": "remuda-x", "namespace": namespace},
    }
    _made(cluster.request("POST", f"{at}/events", event).status)


def launcher(cluster: Cluster, namespace: str, deadline_s: float = 120.0) -> str:
    """The name of the pod that KubeVirt made for the VM, once it has a node."""
    until = time.monotonic() + deadline_s
    path = f"/api/v1/namespaces/{namespace}/pods?labelSelector=kubevirt.io%3Dvirt-launcher"
    vmi = f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachineinstances/linux-0"
    while time.monotonic() < until:
        pods = cluster.request("GET", path).json()["items"]
        phase = cluster.request("GET", vmi).json().get("status", {})
        if pods and isinstance(phase, dict) and phase.get("phase") == "Running":
            return str(pods[0]["metadata"]["name"])
        time.sleep(0.05)
    raise AssertionError(f"no guest runs within {deadline_s:g} s")


def _virtual_machine(annotations: dict[str, str]) -> dict[str, Any]:
    labels = {"remuda.dev/pool": "linux", "remuda.dev/template": "t1", "team": SECRETS["label"]}
    inline = {
        "name": "init",
        "cloudInitNoCloud": {"userData": f"#cloud-config\npassword: {SECRETS['inline user data']}"},
    }
    instance = {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {
            "domain": {
                "devices": {"disks": [{"name": "init", "disk": {"bus": "virtio"}}]},
                "resources": {"requests": {"memory": "64Mi"}},
            },
            "volumes": [inline],
            "terminationGracePeriodSeconds": 3600,
        },
    }
    made = _object("kubevirt.io/v1", "VirtualMachine", "linux-0", annotations)
    made["metadata"]["labels"] = labels
    return made | {"spec": {"runStrategy": "Once", "template": instance}}


def _deployment(annotations: dict[str, str]) -> dict[str, Any]:
    container = {
        "name": "remuda",
        "image": "images.example/remuda:1",
        "args": ["up", f"--token={SECRETS['argument']}"],
        "env": [{"name": "PASSWORD", "value": SECRETS["environment variable"]}],
        "envFrom": [{"secretRef": {"name": "circle"}}],
    }
    labels = {"app.kubernetes.io/name": "remuda"}
    made = _object("apps/v1", "Deployment", "remuda", annotations)
    made["metadata"]["labels"] = labels
    pod = {
        "serviceAccountName": "default",
        "automountServiceAccountToken": False,
        "imagePullSecrets": [{"name": "regcred"}],
        "containers": [container],
    }
    template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod}
    return made | {"spec": {"selector": {"matchLabels": labels}, "template": template}}


def _object(
    version: str, kind: str, name: str, annotations: dict[str, str] | None = None, **rest: Any
) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name}
    if annotations:
        meta["annotations"] = annotations
    return {"apiVersion": version, "kind": kind, "metadata": meta, **rest}


def _docker(password: str) -> str:
    auth = base64.b64encode(f"robot:{password}".encode()).decode()
    return json.dumps(
        {"auths": {"images.example": {"username": "robot", "password": password, "auth": auth}}}
    )


def _made(status: int) -> None:
    assert status == 201, status
