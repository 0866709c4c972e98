"""Paths of objects, and names that would be the path of something else."""

import pytest

from remuda.errors import BadInput
from remuda.kube.resources import CRDS, LEASES, NODES, PODS


def test_a_path_is_of_a_collection_an_object_or_a_part_of_it() -> None:
    assert PODS.path() == "/api/v1/pods"
    assert PODS.path("ci") == "/api/v1/namespaces/ci/pods"
    assert PODS.path("ci", "runner-1", "log") == "/api/v1/namespaces/ci/pods/runner-1/log"
    assert NODES.path(name="n") == NODES.path("ignored", "n") == "/api/v1/nodes/n"
    assert LEASES.path("ci", "it") == "/apis/coordination.k8s.io/v1/namespaces/ci/leases/it"
    assert CRDS.path(name="system:x") == "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/system%3Ax"


def test_an_object_is_described_with_its_namespace() -> None:
    assert PODS.describe("ci", "runner-1") == "pods ci/runner-1"
    assert (PODS.describe("ci"), PODS.describe(), NODES.describe("ci", "n")) == ("pods ci", "pods", "nodes n")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../../nodes", "a%2Fb"])
def test_what_cannot_be_a_name_is_refused(name: str) -> None:
    """An empty one would be the whole collection, and two dots what is above it."""
    with pytest.raises(BadInput, match="cannot be the name of an object"):
        PODS.path("ci", name)
    if name:
        with pytest.raises(BadInput, match="cannot be the name of an object"):
            PODS.path(name, "runner-1")


def test_an_object_in_a_namespace_is_not_asked_for_without_one() -> None:
    with pytest.raises(BadInput, match="pods runner-1: its namespace is missing"):
        PODS.path(None, "runner-1")
