"""What people commonly believe about limits, quotas, classes and taints, and what real servers do instead."""

from collections.abc import Iterator

import pytest
from tests.processes import eventually
from tests.servers.cluster import ALWAYS, Cluster
from tests.servers.fixtures import Programs, require_openssl
from tests.tiers.live import apply, container
from tests.tiers.scheduled import GPU_TAINT, Scheduled

from remuda.objects.tiers import DEFAULT_POLICY
from remuda.tiers.decide.desired import limit_range, priority_class, resource_quota

pytestmark = pytest.mark.slow

AUX, CORE = DEFAULT_POLICY.tiers["4-aux"], DEFAULT_POLICY.tiers["0-core"]


@pytest.fixture(scope="module")
def world(programs: Programs) -> Iterator[Scheduled]:
    require_openssl()
    names = programs(*ALWAYS, "kubectl", "kube-controller-manager", "kube-scheduler", "kwok")
    with Cluster(names, extras=("kube-controller-manager", "kube-scheduler", "kwok")) as running:
        yield Scheduled(running)


def test_a_limit_range_with_a_maximum_of_cpu_gives_every_container_a_cpu_limit(world: Scheduled) -> None:
    for number, item in enumerate(({"max": {"cpu": "2"}}, {"default": {"cpu": "2"}})):
        name = world.name()
        made = limit_range(DEFAULT_POLICY, AUX, name)
        apply(world.cluster, made)
        assert "cpu" not in world.pod(name, "by-tier")["spec"]["containers"][0]["resources"]["limits"], number
        for key, amounts in item.items():
            made["spec"]["limits"][0][key] |= amounts
        apply(world.cluster, made)
        eventually(
            lambda where=name: (
                world.cluster.request(  # type: ignore[misc]
                    "POST",
                    f"/api/v1/namespaces/{where}/pods?dryRun=All",
                    {"metadata": {"name": "x"}, "spec": {"containers": [container()]}},
                )
                .json()["spec"]["containers"][0]["resources"]["limits"]
                .get("cpu")
                == "2"
            ),
            "a CPU limit that nobody asked for",
        )


def test_a_toleration_of_noschedule_does_not_match_prefernoschedule_which_keeps_nobody_out(
    world: Scheduled,
) -> None:
    name = world.name()
    world.node(f"{name}-plain", name)
    world.node(f"{name}-gpu", name, taints=[GPU_TAINT])
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists"}
    # who tolerates the taint is spread evenly; who tolerates only NoSchedule avoids the node as everybody does
    nodes = {"NoSchedule": set[str](), "PreferNoSchedule": set[str]()}
    for effect, found in nodes.items():
        for number in range(4):
            pod = f"{effect.lower()}-{number}"
            world.pod(name, pod, requests={"cpu": "10m"}, tolerations=[toleration | {"effect": effect}])
            found.add(world.node_of(name, pod))
    assert nodes["NoSchedule"] == {f"{name}-plain"}
    assert f"{name}-gpu" in nodes["PreferNoSchedule"]
    # but where nothing else is left, it goes there without any toleration
    for pod, node in (("big", "plain"), ("bigger", "gpu")):
        world.pod(name, pod, requests={"cpu": "3900m"})
        assert world.node_of(name, pod) == f"{name}-{node}"


def test_a_class_nobody_uses_protects_nobody(world: Scheduled) -> None:
    apply(world.cluster, priority_class(DEFAULT_POLICY, CORE), priority_class(DEFAULT_POLICY, AUX))
    name = world.name()
    world.node(f"{name}-only", name)
    world.pod(name, "core-without-class", requests={"cpu": "3"})
    world.node_of(name, "core-without-class")
    # the class of the lowest tier is enough to push out a pod of the highest that names none
    world.pod(name, "aux", requests={"cpu": "3"}, priorityClassName=AUX.priority_class)
    assert world.node_of(name, "aux") == f"{name}-only"
    gone = world.read(name, "core-without-class")
    assert not gone or gone["metadata"].get("deletionTimestamp")


def test_a_quota_before_its_limit_range_refuses_pods_without_requests(world: Scheduled) -> None:
    name = world.name()
    apply(world.cluster, resource_quota(DEFAULT_POLICY, AUX, name))
    path = f"/api/v1/namespaces/{name}/pods?dryRun=All"
    body = {"metadata": {"name": "x"}, "spec": {"containers": [container()]}}

    def refused() -> str:
        answer = world.cluster.request("POST", path, body)
        return answer.text if answer.status == 403 else ""

    eventually(lambda: "must specify requests.cpu" in refused(), "a refusal")
    apply(world.cluster, limit_range(DEFAULT_POLICY, AUX, name))
    eventually(lambda: world.cluster.request("POST", path, body).status == 201, "a pod")
