"""What a real API server makes of runners' pods, and whether a real scheduler places them, beside what is worked out here."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.capacity.builders import CAPABILITY, LABEL, NOW, written_node, written_set
from tests.capacity.live import new_place
from tests.processes import eventually
from tests.servers.cluster import ALWAYS, Cluster
from tests.servers.fixtures import Programs, require_openssl

from remuda.capacity import manifests
from remuda.capacity.decide.admission import Admission, admit
from remuda.capacity.decide.audit import audit
from remuda.capacity.observe.gather import Gathering
from remuda.model.amounts import pod_sizes
from remuda.model.findings import Place
from remuda.model.manifests import LimitRange

pytestmark = pytest.mark.slow

MEMORY = {"memory": "64Mi"}
HOST = "kubernetes.io/hostname"


@pytest.fixture(scope="module")
def scheduled(programs: Programs) -> Iterator[Cluster]:
    """An API server with the controllers and the scheduler; nodes are told to be ready."""
    require_openssl()
    names = programs(*ALWAYS, "kubectl", "kube-controller-manager", "kube-scheduler")
    with Cluster(names, extras=("kube-controller-manager", "kube-scheduler")) as running:
        yield running


def container(name: str = "runner", requests: Any = None, limits: Any = None, **words: Any) -> dict[str, Any]:
    given = {"requests": requests, "limits": limits}
    resources = {key: value for key, value in given.items() if value is not None}
    return {"name": name, "image": "example.invalid/x", "resources": resources, **words}


def limit_range(**item: Any) -> dict[str, Any]:
    return {"metadata": {"name": "range"}, "spec": {"limits": [{"type": "Container"} | item]}}


PODS: dict[str, dict[str, Any]] = {
    "nothing": {"containers": [container()]},
    "a request": {"containers": [container(requests={"cpu": "100m", "memory": "32Mi"})]},
    "a limit": {"containers": [container(limits={"cpu": "1", "memory": "128Mi"})]},
    "both": {"containers": [container(requests={"cpu": "100m"}, limits={"memory": "1Gi"})]},
    "a sidecar": {
        "containers": [container(requests={"cpu": "10m", "memory": "32Mi"}), container("dind")],
        "initContainers": [container("first", limits=MEMORY), container("stays", restartPolicy="Always")],
    },
    "a runtime": {"containers": [container(requests=MEMORY)], "runtimeClassName": "kata"},
    "a runtime that conflicts": {
        "containers": [container()], "runtimeClassName": "kata", "nodeSelector": {"runtime": "other"},
    },
    "a runtime that nobody has": {"containers": [container()], "runtimeClassName": "absent"},
    "a class that nobody has": {"containers": [container()], "priorityClassName": "absent"},
    "a class that all have": {"containers": [container()], "priorityClassName": "system-node-critical"},
}  # fmt: skip
RANGES: dict[str, dict[str, Any] | None] = {
    "none": None,
    "defaults": limit_range(default={"memory": "512Mi", "cpu": "1"}, defaultRequest=MEMORY),
    "a default alone": limit_range(default={"memory": "57Mi", "ephemeral-storage": "1Gi"}),
    "a maximum": limit_range(max={"memory": "256Mi"}),
    "a minimum": limit_range(min={"memory": "48Mi", "cpu": "50m"}),
    "a ratio": limit_range(maxLimitRequestRatio={"memory": "2"}, default=MEMORY),
    "a fraction as ratio": limit_range(maxLimitRequestRatio={"memory": "1500m"}, default={"memory": "128Mi"}),
    "of pods": limit_range(type="Pod", max={"memory": "100Mi"}, min={"cpu": "5m"}),
}
KATA = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "kata"},
    "handler": "kata",
    "overhead": {"podFixed": {"memory": "160Mi", "cpu": "250m"}},
    "scheduling": {
        "nodeSelector": {"runtime": "kata"},
        "tolerations": [{"key": "kata", "operator": "Exists"}],
    },
}


@pytest.mark.parametrize("bounds", RANGES)
def test_what_admission_makes_of_a_pod_is_what_the_server_does(scheduled: Cluster, bounds: str) -> None:
    place = new_place(scheduled)
    scheduled.kubectl("apply", "-f", "-", stdin=msgspec.json.encode(KATA).decode())
    kept: tuple[LimitRange, ...] = ()
    if (body := RANGES[bounds]) is not None:
        path = f"/api/v1/namespaces/{place}/limitranges"
        assert scheduled.request("POST", path, body).status == 201
        kept = (msgspec.convert(body, LimitRange),)
    rules = Admission({place: kept}, {"kata": msgspec.convert(KATA, manifests.RuntimeClass)}, frozenset())
    probe = {"metadata": {"name": "probe"}, "spec": PODS["nothing"]}
    pods = f"/api/v1/namespaces/{place}/pods?dryRun=All"
    if kept:  # admission looks at what it has been told of, a little later
        eventually(lambda: _is_changed(scheduled.request("POST", pods, probe)), "the range")
    for name, spec in PODS.items():
        answer = scheduled.request("POST", pods, {"metadata": {"name": "try"}, "spec": spec})
        found = admit(place, msgspec.convert(spec, manifests.PlacedSpec), rules)
        # what is no request at all, like a limit below its request, is invalid, which is another's to tell
        if answer.status == 422:
            continue
        assert (answer.status == 201) == (found.refused == ()), (name, answer.text, found.refused)
        if answer.status == 201:
            stored = msgspec.convert(answer.json()["spec"], manifests.PlacedSpec)
            assert pod_sizes(found.spec) == pod_sizes(stored), name
            assert found.spec.node_selector == stored.node_selector, name
            assert set(found.spec.tolerations) <= set(stored.tolerations), name


def _is_changed(answer: Any) -> bool:
    return answer.status != 201 or bool(answer.json()["spec"]["containers"][0]["resources"])


def anti(labels: dict[str, str], key: str = HOST) -> dict[str, Any]:
    each = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [each]}}}


#: the pod of a runner, of which three are to be on two nodes; each has two CPU
RUNNERS: dict[str, dict[str, Any]] = {
    "small ones": {},
    "a host port": {"containers": [container(requests={"cpu": "1"}, ports=[{"containerPort": 80, "hostPort": 8080}])]},
    "the host's network": {
        "hostNetwork": True, "containers": [container(requests={"cpu": "1"}, ports=[{"containerPort": 80}])],
    },
    "apart from each other": anti({"app": "a"}),
    "apart from another pod": anti({"app": "resident"}),
    "near another pod's node by zone": anti({"app": "resident"}, "zone"),
    "kept off by another pod": {"labels": {"hated": "yes"}},
    "a runtime": {"runtimeClassName": "heavy"},
    "a selector": {"nodeSelector": {HOST: "one"}},
}  # fmt: skip


@pytest.mark.parametrize("case", RUNNERS)
def test_what_fits_is_what_the_scheduler_places(scheduled: Cluster, case: str) -> None:
    place = new_place(scheduled)
    pod = {"containers": [container(requests={"cpu": "1"})]} | RUNNERS[case]
    labels = {"app": "a", **pod.pop("labels", {})}
    pod["nodeSelector"] = {**pod.get("nodeSelector", {}), "place": place}
    hosts = _nodes(scheduled, place)
    if HOST in pod["nodeSelector"]:
        pod["nodeSelector"][HOST] = hosts[0]["metadata"]["name"]
    heavy = {
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "heavy"}, "handler": "x",
        "overhead": {"podFixed": {"cpu": "500m"}},
    }  # fmt: skip
    scheduled.kubectl("apply", "-f", "-", stdin=msgspec.json.encode(heavy).decode())
    resident = {
        "metadata": {"name": "resident", "namespace": place, "labels": {"app": "resident"}},
        "spec": {
            "nodeName": hosts[0]["metadata"]["name"], "containers": [container()], **anti({"hated": "yes"}),
        },
    }  # fmt: skip
    path = f"/api/v1/namespaces/{place}/pods"
    stored = scheduled.request("POST", path, resident)
    assert stored.status == 201, stored.text
    for at in range(3):
        made = scheduled.request(
            "POST", path, {"metadata": {"name": f"r{at}", "labels": labels}, "spec": pod}
        )
        assert made.status == 201, made.text

    def judged() -> list[bool] | None:
        found = [scheduled.request("GET", f"{path}/r{at}").json() for at in range(3)]
        messages = [
            [each for each in item["status"].get("conditions", []) if each["type"] == "PodScheduled"]
            for item in found
        ]
        return [each[0]["status"] == "True" for each in messages] if all(messages) else None

    placed = eventually(judged, "the scheduler")
    body = written_set("a", namespace=place, maxRunners=3, runnerScaleSetName=LABEL)
    body["spec"]["template"] = {"metadata": {"labels": labels}, "spec": pod}
    gathering = Gathering()
    gathering.add_scale_set(msgspec.convert(body, manifests.ScaleSet), Place())
    gathering.add_runtime_class(msgspec.convert(heavy, manifests.RuntimeClass), Place())
    gathering.add_pod(msgspec.convert(stored.json(), manifests.Pod), Place())
    for each in hosts:
        gathering.add_node(msgspec.convert(each, manifests.Node), Place())
    (label,) = audit(gathering.snapshot("", NOW), (LABEL,), {}, NOW).labels
    # all runners are equal, so that whatever the scheduler does first does not hinder the others
    assert label.placement == ("fits" if all(placed) else "cannot fit"), (placed, label)


def _nodes(cluster: Cluster, place: str) -> list[dict[str, Any]]:
    made = []
    for name in ("one", "two"):
        body = written_node(f"{place}-{name}", {"cpu": "2", "memory": "4Gi", "pods": "9"})
        body["metadata"]["labels"] = {**CAPABILITY, HOST: f"{place}-{name}", "place": place, "zone": place}
        status = body["status"]
        assert cluster.request("POST", "/api/v1/nodes", body).status == 201
        path = f"/api/v1/nodes/{place}-{name}"
        merge = "application/merge-patch+json"
        assert (
            cluster.request("PATCH", f"{path}/status", {"status": status}, content_type=merge).status == 200
        )
        # the server taints what is new until the controllers have seen that it is ready
        cluster.request("PATCH", path, {"spec": {"taints": None}}, content_type=merge)
        made.append(body)

    def is_open() -> bool:
        taints = [
            cluster.request("GET", f"/api/v1/nodes/{place}-{name}").json()["spec"].get("taints")
            for name in ("one", "two")
        ]
        return not any(taints)

    eventually(is_open, "nodes without taints")
    return made
