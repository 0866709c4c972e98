"""JSON patches: their operations, and what has none."""

import json
from typing import Any

import pytest
from hypothesis import given
from tests.rightsize.patches.cases import container, hostile_workloads, review, workload
from tests.rightsize.report.reviews import size

from remuda.rightsize.patches import make
from remuda.rightsize.review import ContainerReview, WorkloadReview

AT = "/spec/template/spec/containers/0"
BOTH = {"requests": {"cpu": "587m", "memory": "768Mi"}, "limits": {"memory": "768Mi"}}


def operations(item: ContainerReview, **words: Any) -> list[dict[str, Any]]:
    """What changes the container, behind the tests of who it is; without comments."""
    (file,) = make(review(workload(item, **words)), "json").files
    made = [{key: value for key, value in each.items() if key != "comment"} for each in json.loads(file.text)]
    assert [each["op"] for each in made[:4]] == ["test"] * 4
    return made


def test_it_begins_with_tests_of_the_object_and_the_container() -> None:
    assert operations(container(), kind="CronJob")[:4] == [
        {"op": "test", "path": "/kind", "value": "CronJob"},
        {"op": "test", "path": "/metadata/namespace", "value": "shop"},
        {"op": "test", "path": "/metadata/name", "value": "web"},
        {
            "op": "test",
            "path": "/spec/jobTemplate/spec/template/spec/containers/0/name",
            "value": "app",
        },
    ]


def test_a_container_without_resources_gets_them_whole() -> None:
    assert operations(container(now=size()))[4:] == [
        {"op": "test", "path": f"{AT}/resources", "value": {}},
        {"op": "add", "path": f"{AT}/resources", "value": BOTH},
    ]


def test_a_container_without_limits_gets_them_whole_where_there_are_still_none() -> None:
    assert operations(container(now=size(587, 768)))[4:] == [
        {"op": "remove", "path": f"{AT}/resources/requests/memory"},
        {"op": "add", "path": f"{AT}/resources/requests/memory", "value": "768Mi"},
        {"op": "test", "path": f"{AT}/resources/limits", "value": None},
        {"op": "add", "path": f"{AT}/resources/limits", "value": {"memory": "768Mi"}},
    ]


def test_limits_of_other_resources_stay() -> None:
    item = container(now=size(587, 768), others={"nvidia.com/gpu": "1"})
    assert operations(item)[6:] == [
        {"op": "test", "path": f"{AT}/resources/limits/memory", "value": None},
        {"op": "add", "path": f"{AT}/resources/limits/memory", "value": "768Mi"},
    ]


def test_requests_of_other_resources_stay() -> None:
    item = container(now=size(None, None, None, 768), other_requests={"ephemeral-storage": "1Gi"})
    paths = [each["path"] for each in operations(item)[4:]]
    assert f"{AT}/resources/requests/cpu" in paths
    assert f"{AT}/resources/requests" not in paths


def test_a_cpu_limit_alone_is_removed() -> None:
    item = container(now=size(587, 768, 1000, 768))
    assert operations(item)[4:] == [
        {"op": "remove", "path": f"{AT}/resources/requests/cpu"},
        {"op": "add", "path": f"{AT}/resources/requests/cpu", "value": "587m"},
        {"op": "remove", "path": f"{AT}/resources/limits/cpu"},
    ]


def test_a_sidecar_is_among_the_first_containers() -> None:
    (found,) = make(review(workload(container("p", is_sidecar=True, index=3))), "json").files
    assert '"/spec/template/spec/initContainers/3/name"' in found.text


@pytest.mark.parametrize(
    ("item", "why"),
    [
        pytest.param(
            workload(container("p", is_sidecar=True)),
            "Deployment shop/web, container p: where it stands among the initContainers is not in the review",
            id="a sidecar whose place is not known",
        ),
        pytest.param(
            workload(kind="Job"), "Job shop/web: the template of a Job that is there cannot", id="a Job"
        ),
        pytest.param(
            workload(kind="X"), "X shop/web: where a X has its containers is not", id="another kind"
        ),
    ],
)
def test_what_cannot_be_patched_in_a_cluster_is_left_out(item: WorkloadReview, why: str) -> None:
    made = make(review(item), "json")
    assert made.files == ()
    assert made.left[0].startswith(why)


@given(hostile_workloads())
def test_hostile_names_are_only_values(item: WorkloadReview) -> None:
    for file in make(review(item), "json").files:
        made = json.loads(file.text)
        assert made[2]["value"] == item.name
        names = [
            each["value"] for each in made if each["path"].endswith("/name") and "ontainers" in each["path"]
        ]
        assert names == [each.name for each in item.containers]
        assert all(set(each["path"]) <= set("/abcdefghijklmnopqrstuvwxyzTCI0123456789") for each in made)
