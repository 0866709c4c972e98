"""What a pod comes to, as Kubernetes counts it."""

from typing import Any

import msgspec
import pytest
from tests.capacity.builders import GIB, sized

from remuda.capacity import manifests
from remuda.model import pods
from remuda.model.amounts import amount, asks_of, pod_sizes

Resources = dict[str, Any]


def container(
    requests: Resources | None = None, limits: Resources | None = None, policy: str = ""
) -> Resources:
    return {
        "resources": {"requests": requests or {}, "limits": limits or {}},
        **({"restartPolicy": policy} if policy else {}),
    }


@pytest.mark.parametrize(
    ("spec", "requests", "limits"),
    [
        pytest.param({}, {}, {}, id="nothing"),
        pytest.param({"containers": [{}]}, {}, {}, id="a container that says nothing"),
        pytest.param(
            {"containers": [container(sized("1500m", "1Gi"), sized("2", "2Gi"))]},
            {"cpu": 1500, "memory": GIB},
            {"cpu": 2000, "memory": 2 * GIB},
            id="one container",
        ),
        pytest.param(
            {"containers": [container(sized("1")), container(sized("2", "1Gi"))]},
            {"cpu": 3000, "memory": GIB},
            {},
            id="containers are summed",
        ),
        pytest.param(
            {"containers": [container({"cpu": "1"}, sized("4", "2Gi"))]},
            {"cpu": 1000, "memory": 2 * GIB},
            {"cpu": 4000, "memory": 2 * GIB},
            id="a limit without a request is the request",
        ),
        pytest.param(
            {
                "containers": [container(sized("1"))],
                "initContainers": [container(sized("3")), container(sized("2"))],
            },
            {"cpu": 3000},
            {},
            id="the largest first container",
        ),
        pytest.param(
            {
                "containers": [container(sized("2"))],
                "initContainers": [container({}, sized("", "4Gi"))],
            },
            {"cpu": 2000, "memory": 4 * GIB},
            {"memory": 4 * GIB},
            id="a first container asks for what no other does",
        ),
        pytest.param(
            {
                "containers": [container(sized("2"))],
                "initContainers": [
                    container(sized("1")),
                    container(sized("1"), policy="Always"),
                    container(sized("4")),
                ],
            },
            {"cpu": 5000},
            {},
            id="a first container runs beside those that never end",
        ),
        pytest.param(
            {
                "containers": [container(sized("2", "8Gi"), sized("", "16Gi"))],
                "initContainers": [container(sized("1", "4Gi"), sized("", "4Gi"), "Always")],
            },
            {"cpu": 3000, "memory": 12 * GIB},
            {"memory": 20 * GIB},
            id="docker beside the runner, as ARC makes it",
        ),
        pytest.param(
            {
                "containers": [container(sized("1", "1Gi"), sized("", "2Gi"))],
                "overhead": sized("250m", "1Gi"),
            },
            {"cpu": 1250, "memory": 2 * GIB},
            {"memory": 3 * GIB},
            id="overhead raises limits that are there",
        ),
        pytest.param(
            {
                "containers": [container(sized("1", "1Gi")), container()],
                "resources": {"requests": sized("3"), "limits": sized("4", "8Gi")},
            },
            {"cpu": 3000, "memory": GIB},
            {"cpu": 4000, "memory": 8 * GIB},
            id="what the pod as a whole asks for",
        ),
    ],
)
def test_a_pod_comes_to_what_kubernetes_counts_however_it_was_read(
    spec: dict[str, Any], requests: dict[str, int], limits: dict[str, int]
) -> None:
    assert pod_sizes(msgspec.convert(spec, manifests.PodSpec)) == (requests, limits)
    read = msgspec.convert(spec, pods.PodSpec)
    assert pod_sizes(read) == (requests, limits)
    assert asks_of(read) == {"pods": 1, **requests}


def test_what_a_pod_asks_for_is_read_without_what_is_no_quantity() -> None:
    spec = {"containers": [container({"cpu": "much", "memory": "1Gi"})]}
    assert asks_of(msgspec.convert(spec, pods.PodSpec)) == {"pods": 1, "memory": GIB}


@pytest.mark.parametrize(
    ("name", "written", "read"),
    [
        ("cpu", "2", 2000),
        ("cpu", 2, 2000),
        ("cpu", "100u", 1),
        ("memory", "1e3", 1000),
        ("memory", "128974848500m", 128974849),
        ("pods", "110", 110),
        ("example.com/kvm", "1k", 1000),
    ],
)
def test_processors_are_thousandths_and_the_rest_is_whole(name: str, written: object, read: int) -> None:
    assert amount(name, written) == read


@pytest.mark.parametrize(
    "written", ["8GB ", "8e3Mi", "-1", "", " 1", "1 Gi", "1gi", "0x10", 0.5, True, None, [], {}, -1, "9Ei"]
)
@pytest.mark.parametrize("name", ["cpu", "memory"])
def test_what_is_no_quantity_is_refused(name: str, written: object) -> None:
    amount(name, "1")
    with pytest.raises(ValueError, match=r"quantity|large"):
        amount(name, written)
