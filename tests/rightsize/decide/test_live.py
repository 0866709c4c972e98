"""What is recommended under LimitRanges, on a real API server: it takes such pods."""

import json
from typing import Any

import msgspec
import pytest
from tests.rightsize.decide.builders import container, evidence, judge, the, workload
from tests.servers.cluster import Cluster
from tests.servers.found import ServersError

from remuda.model.workloads import WorkloadId
from remuda.rightsize import manifests
from remuda.rightsize.decide.context import requested
from remuda.rightsize.observe.bounds import limit_ranges_of
from remuda.rightsize.snapshot import Ask, LimitRange, Size

pytestmark = pytest.mark.slow


def tried(cluster: Cluster, item: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(
        cluster.kubectl("create", "--dry-run=server", "-f", "-", "-o", "json", stdin=json.dumps(item))
    )
    return made


def pod(namespace: str, resources: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "x", "resources": resources}],
        },
    }


def limit_range(namespace: str, bounds: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "defaults", "namespace": namespace},
        "spec": {"limits": [bounds]},
    }


def test_a_cpu_request_above_a_default_limit_is_refused_and_what_is_recommended_is_not(
    cluster: Cluster, namespace: str
) -> None:
    bounds = {"type": "Container", "default": {"cpu": "200m"}, "max": {"cpu": "400m"}}
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(limit_range(namespace, bounds)))
    seen = LimitRange(namespace, "defaults", "Container", most=Ask(400), defaults=Size(Ask(), Ask(200)))
    item = workload(container(cpu=100), id=WorkloadId(namespace, "Deployment", "web"))
    then = the(
        judge(item, known=evidence(cpu=(300, 250, 350), cpu_peak=900), limit_ranges=(seen,))
    ).recommended
    asked = f"{requested(then, 'cpu')}m"
    with pytest.raises(ServersError, match="must be less than or equal to cpu limit of 200m"):
        tried(cluster, pod(namespace, {"requests": {"cpu": asked}}))
    limits = {"cpu": f"{then.limits.cpu_millicores}m"}
    made = tried(cluster, pod(namespace, {"requests": {"cpu": asked}, "limits": limits}))
    assert made["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "300m"},
        "limits": {"cpu": "400m"},
    }


@pytest.mark.parametrize(
    ("bounds", "now", "refused", "limit"),
    [
        pytest.param(
            {"type": "Pod", "max": {"cpu": "4"}},
            (500, 1000), "maximum cpu usage per Pod is 4", 1000, id="a maximum of pods",
        ),
        pytest.param(
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "10"}},
            (500, 1000), "cpu max limit to request ratio per Container is 10", 630, id="a ratio",
        ),
        pytest.param(
            {
                "type": "Container",
                "maxLimitRequestRatio": {"cpu": "4"},
                "default": {"cpu": "1"},
                "defaultRequest": {"cpu": "250m"},
            },
            (None, None), "cpu max limit to request ratio per Container is 4", 252, id="a ratio with a default",
        ),
    ],
)  # fmt: skip
def test_pods_without_a_cpu_limit_that_is_demanded_are_refused_and_what_is_recommended_is_not(
    cluster: Cluster,
    namespace: str,
    bounds: dict[str, Any],
    now: tuple[int | None, int | None],
    refused: str,
    limit: int,
) -> None:
    text = json.dumps(limit_range(namespace, bounds))
    read = cluster.kubectl("create", "-f", "-", "-o", "json", stdin=text)
    seen = limit_ranges_of(msgspec.json.decode(read, type=manifests.LimitRange))
    item = workload(container(cpu=now[0], cpu_limit=now[1]), id=WorkloadId(namespace, "Deployment", "web"))
    then = the(judge(item, known=evidence(cpu=(63, 50, 80)), limit_ranges=seen)).recommended
    assert (then.requests.cpu_millicores, then.limits.cpu_millicores) == (63, limit)
    with pytest.raises(ServersError, match=refused):
        tried(cluster, pod(namespace, {"requests": {"cpu": "63m"}}))
    resources = {"requests": {"cpu": "63m"}, "limits": {"cpu": f"{limit}m"}}
    tried(cluster, pod(namespace, resources))
