import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.servers.cluster import Cluster
from tests.servers.fixtures import NewCluster, Programs
from tests.servers.loopback import Answer
from tests.servers.test_kept import is_running, wait_gone

pytestmark = pytest.mark.slow

DEADLINE_S = 60.0
#: starts a cluster, says what must be gone when it is killed, and stays
STARTER = """
import sys, time
from pathlib import Path
from tests.servers.cluster import Cluster
with Cluster({"etcd": Path(sys.argv[1]), "kube-apiserver": Path(sys.argv[2])}) as cluster:
    print(cluster.directory, *(process.pid for process in cluster.processes.values()), flush=True)
    time.sleep(600)
"""


def eventually(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline, "not so in time"
        time.sleep(0.05)


def created(answer: Answer) -> Any:
    assert answer.status == 201, answer.text
    return answer.json()


def config_map(cluster: Cluster, namespace: str, name: str) -> Any:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    return created(cluster.request("POST", path, {"metadata": {"name": name}, "data": {"key": "value"}}))


def watch_from(cluster: Cluster, namespace: str, version: str) -> Answer:
    path = f"/api/v1/namespaces/{namespace}/configmaps?watch=1&timeoutSeconds=2&resourceVersion={version}"
    return cluster.request("GET", path)


def test_objects_are_created_and_read_back(cluster: Cluster, namespace: str) -> None:
    config_map(cluster, namespace, "settings")
    got = cluster.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/settings")
    assert (got.status, got.json()["data"]) == (200, {"key": "value"})
    assert cluster.kubectl("get", "configmaps", "-n", namespace, "-o", "name") == "configmap/settings\n"


def test_a_pod_can_be_created_without_the_controllers(cluster: Cluster, namespace: str) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    created(cluster.request("POST", f"/api/v1/namespaces/{namespace}/pods", pod))


@pytest.fixture
def used(cluster: Cluster) -> Iterator[list[str]]:
    """Namespaces that tests of this module used, which must be gone when the next begins."""
    names: list[str] = []
    yield names
    for name in names:
        assert not [key for key in cluster.etcd.stored() if name.encode() in key]


def test_a_namespace_is_erased_with_what_finalizers_would_hold(
    cluster: Cluster, used: list[str], namespace: str
) -> None:
    used.append(namespace)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    created(
        cluster.request("POST", path, {"metadata": {"name": "held", "finalizers": ["example.org/never"]}})
    )


def test_a_service_account_may_do_nothing_until_it_is_permitted(cluster: Cluster, namespace: str) -> None:
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    created(cluster.request("POST", accounts, {"metadata": {"name": "robot"}}))
    token = cluster.token_for(namespace, "robot")
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    denied = cluster.request("GET", path, token=token)
    assert denied.status == 403
    assert (
        f'"system:serviceaccount:{namespace}:robot" cannot list resource "configmaps"'
        in denied.json()["message"]
    )

    at = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    created(cluster.request("POST", f"{at}/roles", {"metadata": {"name": "read"}, "rules": rules}))
    binding = {
        "metadata": {"name": "read"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "read"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": namespace}],
    }
    created(cluster.request("POST", f"{at}/rolebindings", binding))
    eventually(lambda: cluster.request("GET", path, token=token).status == 200)
    assert cluster.request("GET", path, token="wrong").status == 401


def test_the_audit_log_has_each_request_once(cluster: Cluster, namespace: str) -> None:
    config_map(cluster, namespace, "seen")

    def seen() -> list[dict[str, Any]]:
        expected = {"namespace": namespace, "resource": "configmaps"}
        return [one for one in cluster.audit() if expected.items() <= one.get("objectRef", {}).items()]

    eventually(lambda: bool(seen()))
    (event,) = seen()
    assert (event["verb"], event["user"]["username"], event["responseStatus"]["code"]) == (
        "create",
        "admin",
        201,
    )


def test_a_killed_api_server_refuses_and_comes_back_with_its_data(cluster: Cluster, namespace: str) -> None:
    config_map(cluster, namespace, "kept")
    cluster.kill_apiserver()
    with pytest.raises(OSError, match="refused"):
        cluster.request("GET", "/readyz")
    cluster.restart_apiserver()
    assert cluster.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/kept").status == 200


def test_a_watch_from_before_a_compaction_is_answered_with_410(cluster: Cluster, namespace: str) -> None:
    before = config_map(cluster, namespace, "before")["metadata"]["resourceVersion"]
    config_map(cluster, namespace, "after")
    (added,) = watch_from(cluster, namespace, before).lines()
    assert (added["type"], added["object"]["metadata"]["name"]) == ("ADDED", "after")
    cluster.compact()
    (gone,) = watch_from(cluster, namespace, before).lines()
    assert (gone["type"], gone["object"]["code"]) == ("ERROR", 410)
    listed = cluster.request("GET", f"/api/v1/namespaces/{namespace}/configmaps").json()
    assert [one["metadata"]["name"] for one in listed["items"]] == ["after", "before"]


def test_users_certificates_and_no_audit_are_had_on_request(new_cluster: NewCluster) -> None:
    cluster = new_cluster(users={"dana": ("devs", "ops")}, audit=False)
    assert who(cluster, f"--kubeconfig={cluster.kubeconfig('dana')}") == ("dana", {"devs", "ops"})
    certificate, key = cluster.certificate_for("carol", ("certified",))
    with_certificate = [
        f"--client-certificate={certificate}",
        f"--client-key={key}",
        "--kubeconfig=/dev/null",
    ]
    at = [f"--server={cluster.url}", f"--certificate-authority={cluster.ca}"]
    assert who(cluster, *with_certificate, *at) == ("carol", {"certified"})
    assert not (cluster.directory / "audit.log").exists()


def who(cluster: Cluster, *flags: str) -> tuple[str, set[str]]:
    user = json.loads(cluster.kubectl(*flags, "auth", "whoami", "-o", "json"))["status"]["userInfo"]
    return user["username"], set(user["groups"]) - {"system:authenticated"}


def test_controllers_scheduler_and_kwok_bring_a_deployment_up(new_cluster: NewCluster) -> None:
    cluster = new_cluster(extras=("kube-controller-manager", "kube-scheduler", "kwok"))
    created(cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": "fake"}}))
    cluster.kubectl("create", "deployment", "web", "--image=none", "--replicas=2")
    path = "/apis/apps/v1/namespaces/default/deployments/web"
    eventually(lambda: cluster.request("GET", path).json()["status"].get("readyReplicas") == 2)


def test_nothing_is_left_when_a_cluster_ends(programs: Programs) -> None:
    with Cluster(programs("etcd", "kube-apiserver")) as cluster:
        pids = [process.pid for process in cluster.processes.values()]
        assert len(pids) == 2
        assert all(is_running(pid) for pid in pids)
    assert not [pid for pid in pids if is_running(pid)]
    assert not cluster.directory.exists()


def test_nothing_is_left_when_the_test_process_is_killed(programs: Programs) -> None:
    paths = [str(path) for path in programs("etcd", "kube-apiserver").values()]
    command = [sys.executable, "-c", STARTER, *paths]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as starter:
        assert starter.stdout is not None
        directory, *pids = starter.stdout.readline().split()
        assert all(is_running(int(pid)) for pid in pids)
        starter.kill()
    wait_gone([int(pid) for pid in pids], Path(directory))
