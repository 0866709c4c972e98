"""Components: which patches there are, and that no container changes its place."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from tests.rightsize.patches.cases import container, hostile_workloads, review, unchecked, workload
from tests.rightsize.report.reviews import size

from remuda.rightsize.patches import make
from remuda.rightsize.patches.templates import KINDS
from remuda.rightsize.review import WorkloadReview


def pod(text: str) -> Any:
    found = yaml.safe_load(text)
    for step in KINDS[found["kind"]].path:
        found = found[step]
    return found


def test_a_component_lists_a_patch_for_each_workload_that_names_its_object() -> None:
    item = workload(container(now=size(100, 128, 200)), kind="CronJob")
    component, patch = make(review(item), "kustomize").files
    assert component.path == "kustomization.yaml"
    assert yaml.safe_load(component.text) == {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "patches": [{"path": patch.path}],
    }
    assert yaml.safe_load(patch.text) == {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"jobTemplate": {"spec": {"template": {"spec": {
            "containers": [{
                "name": "app",
                "resources": {
                    "requests": {"cpu": "587m", "memory": "768Mi"},
                    "limits": {"cpu": None, "memory": "768Mi"},
                },
            }],
        }}}}},
    }  # fmt: skip


def test_there_is_no_component_without_a_patch() -> None:
    assert make(review(workload(container(verdict="keep"))), "kustomize").files == ()


def test_containers_before_one_that_changes_are_named_and_those_behind_are_not() -> None:
    names = [container("a", verdict="keep"), container("b"), container("c", verdict="keep")]
    (_, patch) = make(review(workload(*names)), "kustomize").files
    first, second = pod(patch.text)["containers"]
    assert first == {"name": "a"}
    assert second["name"] == "b"
    assert "initContainers" not in pod(patch.text)


def test_first_containers_keep_their_order() -> None:
    sidecar = container("proxy", is_sidecar=True, index=1)
    item = workload(container(verdict="keep"), sidecar, init_containers=("setup", "proxy", "more"))
    (_, patch) = make(review(item), "kustomize").files
    assert [each["name"] for each in pod(patch.text)["initContainers"]] == ["setup", "proxy"]
    assert "containers" not in pod(patch.text)


@pytest.mark.parametrize("index", [1, None])
def test_a_sidecar_behind_unknown_first_containers_is_left_out(index: int | None) -> None:
    sidecar = container("proxy", is_sidecar=True, index=index)
    made = make(review(workload(container(), sidecar)), "kustomize")
    assert "initContainers" not in pod(made.files[1].text)
    (line,) = made.left
    assert line.startswith(
        "Deployment shop/web, container proxy: which initContainers stand before it is not"
    )


def test_a_kind_without_a_known_template_is_left_out() -> None:
    made = make(review(workload(kind="GameServer")), "kustomize")
    assert made.files == ()
    assert made.left[0].startswith("GameServer shop/web: where a GameServer has its containers is not known")


@given(hostile_workloads())
def test_hostile_names_are_read_back_exactly(item: WorkloadReview) -> None:
    files = unchecked(review(item), "kustomize").files[1:]
    for file in files:
        found = yaml.safe_load(file.text)
        assert found["metadata"] == {"name": item.name, "namespace": item.namespace}
        listed = [each for part in pod(file.text).values() for each in part]
        assert {each["name"] for each in listed} <= {each.name for each in item.containers}


@pytest.mark.parametrize("kind", ["Rollout", "DeploymentConfig"])
def test_what_kustomize_would_replace_instead_of_merging_is_left_to_json(kind: str) -> None:
    found = review(workload(kind=kind))
    made = make(found, "kustomize")
    assert made.files == ()
    assert made.left[0].startswith(
        f"{kind} shop/web: kustomize does not know how containers of this kind are merged"
    )
    (file,) = make(found, "json").files
    assert f'"value":"{kind}"' in file.text
    assert "/spec/template/spec/containers/0/resources" in file.text
