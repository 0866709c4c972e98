"""What is recommended under LimitRanges, on a real API server: it takes such pods."""

import json
from typing import Any

import pytest
from tests.rightsize.decide.builders import container, evidence, judge, the, workload
from tests.servers.cluster import Cluster
from tests.servers.found import ServersError

from remuda.rightsize.decide.case import requested
from remuda.rightsize.workloads import Ask, LimitRange, Size, WorkloadId

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


def test_a_cpu_request_above_a_default_limit_is_refused_and_what_is_recommended_is_not(
    cluster: Cluster, namespace: str
) -> None:
    bounds = {"type": "Container", "default": {"cpu": "200m"}, "max": {"cpu": "400m"}}
    written = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "defaults", "namespace": namespace},
        "spec": {"limits": [bounds]},
    }
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(written))
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
