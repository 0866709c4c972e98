"""The quality of service of pods, as the API server decides it."""

from typing import Any

import msgspec
import pytest

from remuda.tiers import manifests
from remuda.tiers.decide.qos import missing_for_guaranteed, qos_of
from remuda.tiers.observe.pods import containers_of
from remuda.tiers.snapshot import Containers

BOTH = {"cpu": "1", "memory": "1Gi"}
#: name → spec, class, and what it lacks; the live tests ask a real API server about each of these
CASES: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "nothing": ({"containers": [{"name": "a"}]}, "BestEffort", ["a: no cpu limit", "a: no memory limit"]),
    "zeros": (
        {"containers": [{"name": "a", "resources": {"requests": {"cpu": "0", "memory": "0"}}}]},
        "BestEffort",
        ["a: no cpu limit", "a: no memory limit"],
    ),
    "memory equal and no CPU limit": (
        {"containers": [{"name": "a", "resources": {"requests": BOTH, "limits": {"memory": "1Gi"}}}]},
        "Burstable",
        ["a: no cpu limit"],
    ),
    "limits alone": ({"containers": [{"name": "a", "resources": {"limits": BOTH}}]}, "Guaranteed", []),
    "limits above requests": (
        {"containers": [{"name": "a", "resources": {"requests": BOTH, "limits": BOTH | {"cpu": "2"}}}]},
        "Burstable",
        ["a: cpu request is not its limit"],
    ),
    "one container without": (
        {"containers": [{"name": "a", "resources": {"limits": BOTH}}, {"name": "b"}]},
        "Burstable",
        ["b: no cpu limit", "b: no memory limit"],
    ),
    "a first container without": (
        {"containers": [{"name": "a", "resources": {"limits": BOTH}}], "initContainers": [{"name": "f"}]},
        "Burstable",
        ["f: no cpu limit", "f: no memory limit"],
    ),
    "huge pages do not count": (
        {
            "containers": [
                {"name": "a", "resources": {"limits": BOTH | {"ephemeral-storage": "1Gi"}, "requests": BOTH}}
            ]
        },
        "Guaranteed",
        [],
    ),
    "the pod as a whole, and containers without": (
        {"containers": [{"name": "a"}], "resources": {"requests": BOTH, "limits": BOTH}},
        "Guaranteed",
        [],
    ),
    "the pod as a whole without a CPU limit": (
        {"containers": [{"name": "a"}], "resources": {"requests": BOTH, "limits": {"memory": "1Gi"}}},
        "Burstable",
        ["spec.resources: no cpu limit"],
    ),
    "the pod as a whole requests alone": (
        {"containers": [{"name": "a"}], "resources": {"requests": {"memory": "1Gi"}}},
        "Burstable",
        ["spec.resources: no cpu limit", "spec.resources: no memory limit"],
    ),
}


def read(spec: dict[str, Any]) -> Containers:
    return containers_of(msgspec.convert(spec, manifests.PodSpec))


@pytest.mark.parametrize(("spec", "expected", "missing"), CASES.values(), ids=list(CASES))
def test_the_class_of_a_pod_and_what_it_lacks_to_be_guaranteed(
    spec: dict[str, Any], expected: str, missing: list[str]
) -> None:
    assert qos_of(read(spec)) == expected
    assert list(missing_for_guaranteed(read(spec))) == missing
