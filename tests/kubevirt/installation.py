"""
KubeVirt 1.8 in a cluster of its own: its resource definitions and its real virt-controller, nothing else of it.

There is no virt-api, so nothing is defaulted or refused but by the definitions, and no virt-handler: `guests` plays the
virtual machines. Nothing is left when the installation is closed or its process ends.
"""

import json
import subprocess
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from tests.servers.authority import Authority
from tests.servers.cluster import Cluster
from tests.servers.found import ServersError
from tests.servers.loopback import Answer

#: which versions of the pool's definition the cluster serves; 1.8 serves v1alpha1 and v1beta1
Pools = Literal["all", "v1alpha1", "none"]
NEEDED = ("virt-controller", "kubevirt-crds")
CONTROLLER = "virt-controller"
POOL = "virtualmachinepools.pool.kubevirt.io"
NODE = "node-0"
SERVED_S = 60.0
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KUBEVIRTS = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"
#: said when its controllers begin; it serves no port that could be known beforehand
LEADS = b"STARTING controllers"


class Installation:
    """
    KubeVirt that runs from `__enter__` to `__exit__`.

    Args:
        programs: those of `Cluster`, kubectl, and `NEEDED`.
        pools: "none" is a cluster without pools. Where "v1alpha1" alone is served nobody reconciles them, since
            virt-controller 1.8 asks for v1beta1; virtual machines work in all three.
        options: of `Cluster`.
    """

    def __init__(self, programs: Mapping[str, Path], *, pools: Pools = "all", **options: Any) -> None:
        self._programs = programs
        self._pools = pools
        self.cluster = Cluster(programs, **options)
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.cluster)
            self._create_definitions()
            self._create_objects()
            at = self.cluster.directory / CONTROLLER  # it watches the whole directory of its certificate
            self._certificate = Authority(at).issue(CONTROLLER, addresses=("IP:127.0.0.1",))
            self.start_controller()
            self._closing = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    @property
    def is_controlled(self) -> bool:
        """Whether virt-controller runs: false after `kill_controller`, and when it died of itself."""
        process = self.cluster.processes.get(CONTROLLER)
        return process is not None and process.poll() is None

    @property
    def controller_log(self) -> str:
        """All that virt-controller said, also before it was restarted."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def kill_controller(self) -> None:
        """End virt-controller with SIGKILL."""
        self.cluster.kill(CONTROLLER)

    def start_controller(self) -> None:
        """
        Start virt-controller, anew where it runs or died, and wait until it leads.

        It outlives an outage of the API server, but takes up to half a minute to notice the end of one: a test that
        does not care starts it anew.
        """
        self.kill_controller()
        before = self._log.stat().st_size if self._log.exists() else 0
        certificate, key = self._certificate
        command = [
            str(self._programs[CONTROLLER]),
            f"--kubeconfig={self.cluster.kubeconfig()}",
            "--listen=127.0.0.1",
            "--port=0",
            f"--prom-cert-file={certificate}",
            f"--prom-key-file={key}",
            # it would exit for a kubelet to start it again while a test has the API server down
            "--leader-elect-lease-duration=30m",
            "--leader-elect-renew-deadline=20m",
            "--leader-elect-retry-period=1s",
            "--vm-controller-threads=10",  # as many as for instances; 3 make hundreds of machines wait for each other
        ]
        self.cluster.start(CONTROLLER, command, lambda: LEADS in self._log.read_bytes()[before:])

    @property
    def _log(self) -> Path:
        return self.cluster.directory / f"{CONTROLLER}.log"

    def _create_definitions(self) -> None:
        wanted = served(definitions(self._programs["kubevirt-crds"]), self._pools)
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda one: _made(self.cluster.request("POST", DEFINITIONS, one)), wanted))
        missing = {
            f"/apis/{one['spec']['group']}/{version['name']}/{one['spec']['names']['plural']}?limit=1"
            for one in wanted
            for version in one["spec"]["versions"]
        }
        deadline = time.monotonic() + SERVED_S
        while missing := {path for path in missing if self.cluster.request("GET", path).status != 200}:
            if time.monotonic() > deadline:
                raise ServersError(f"not served after {SERVED_S:.0f} s: {', '.join(sorted(missing))}")
            time.sleep(0.05)

    def _create_objects(self) -> None:
        """The namespace, the KubeVirt object that its operator would keep, and a node for virtual machines."""
        ask = self.cluster.request
        _made(ask("POST", "/api/v1/namespaces", {"metadata": {"name": "kubevirt"}}))
        limit = {"rateLimiter": {"tokenBucketRateLimiter": {"qps": 2000, "burst": 4000}}}
        configuration = {
            "controllerConfiguration": {"restClient": limit}
        }  # its own is for clusters to be shared
        body = {
            "apiVersion": "kubevirt.io/v1",
            "kind": "KubeVirt",
            "metadata": {"name": "kubevirt"},
            "spec": {"configuration": configuration},
        }
        _made(ask("POST", KUBEVIRTS, body))
        deployed = {
            "phase": "Deployed",
            "observedKubeVirtVersion": "v1.8.0",
            "conditions": [{"type": "Available", "status": "True", "reason": "AllComponentsReady"}],
        }
        _patch(self.cluster, f"{KUBEVIRTS}/kubevirt/status", {"status": deployed})
        labels = {"kubevirt.io/schedulable": "true", "kubernetes.io/hostname": NODE}
        _made(ask("POST", "/api/v1/nodes", {"metadata": {"name": NODE, "labels": labels}}))
        room = {"cpu": "4k", "memory": "16Ti", "pods": "10k", "devices.kubevirt.io/kvm": "1k"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "played by a test"}
        status = {"capacity": room, "allocatable": room, "conditions": [ready]}
        _patch(self.cluster, f"/api/v1/nodes/{NODE}/status", {"status": status})


def definitions(program: Path) -> list[dict[str, Any]]:
    """The 19 resource definitions as KubeVirt's operator creates them."""
    done = subprocess.run([str(program)], capture_output=True, check=False, timeout=60)
    if done.returncode != 0:
        raise ServersError(f"{program.name} exited with {done.returncode}\n{done.stderr.decode()}")
    return [{key: part for key, part in one.items() if key != "status"} for one in json.loads(done.stdout)]


def served(every: list[dict[str, Any]], pools: Pools) -> list[dict[str, Any]]:
    """The definitions of a cluster with these versions of pools: all, only v1alpha1 (up to 1.6), or none."""
    if pools == "all":
        return every
    rest = [one for one in every if one["metadata"]["name"] != POOL]
    if pools == "none":
        return rest
    (pool,) = (one for one in every if one["metadata"]["name"] == POOL)
    versions = [{**one, "storage": True} for one in pool["spec"]["versions"] if one["name"] == pools]
    return [*rest, {**pool, "spec": {**pool["spec"], "versions": versions}}]


def _patch(cluster: Cluster, path: str, body: object) -> None:
    answer = cluster.request("PATCH", path, body, content_type="application/merge-patch+json")
    if answer.status != 200:
        raise ServersError(f"patching {path}: {answer.status} {answer.text}")


def _made(answer: Answer) -> None:
    if answer.status != 201:
        raise ServersError(f"installing KubeVirt: {answer.status} {answer.text}")
