"""JSON patches: their operations, and what has none."""

import json
from typing import Any

import pytest
from hypothesis import given
from tests.rightsize.patches.cases import container, hostile_workloads, review, unchecked, workload
from tests.rightsize.report.reviews import size

from remuda.rightsize.patches import make
from remuda.rightsize.review import ContainerReview, WorkloadReview

AT = "/spec/template/spec/containers/0"
BOTH = {"requests": {"cpu": "587m", "memory": "768Mi"}, "limits": {"memory": "768Mi"}}


_WHY = (
    "app: raise; cpu request 100m limit 200m -> request 587m limit none; "
    "memory request 128Mi limit 256Mi -> request 768Mi limit 768Mi"
)


def operations(item: ContainerReview, **words: Any) -> list[dict[str, Any]]:
    """What changes the container, behind the tests of who it is."""
    (file,) = make(review(workload(item, **words)), "json").files
    made: list[dict[str, Any]] = json.loads(file.text)
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


def test_all_requests_and_limits_are_tested_as_a_server_writes_them() -> None:
    item = container(
        now=size(500, 512, 1000, 1024),
        others={"nvidia.com/gpu": "1"},
        written={
            "requests": {"cpu": "0.5", "memory": "512Mi"},
            "limits": {"cpu": "1", "memory": "1024Mi", "nvidia.com/gpu": "1"},
        },
    )
    assert operations(item)[4:] == [
        {
            "op": "test",
            "path": f"{AT}/resources/requests",
            "value": {"cpu": "500m", "memory": "512Mi"},
        },
        {
            "op": "test",
            "path": f"{AT}/resources/limits",
            "value": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
        },
        {"op": "add", "path": f"{AT}/resources/requests/cpu", "value": "587m"},
        {"op": "add", "path": f"{AT}/resources/requests/memory", "value": "768Mi"},
        {"op": "remove", "path": f"{AT}/resources/limits/cpu"},
        {"op": "add", "path": f"{AT}/resources/limits/memory", "value": "768Mi"},
    ]


def test_a_part_that_stays_is_tested_as_well_and_one_that_is_not_there_to_be_missing() -> None:
    item = container(
        now=size(587, 768),
        recommended=size(700, 768),
        written={"requests": {"cpu": "587m", "memory": "768Mi"}},
    )
    assert operations(item)[4:] == [
        {"op": "test", "path": f"{AT}/resources/requests", "value": {"cpu": "587m", "memory": "768Mi"}},
        {"op": "test", "path": f"{AT}/resources/limits", "value": None},
        {"op": "add", "path": f"{AT}/resources/requests/cpu", "value": "700m"},
    ]


def test_a_container_that_is_written_without_resources_gets_them_whole() -> None:
    assert operations(container(now=size(), written={})) == operations(container(now=size()))


def test_a_review_that_does_not_say_how_sizes_are_written_says_that_amounts_are_not_guarded() -> None:
    bare = container("bare", size())
    (line,) = make(review(workload(container(), bare)), "json").beware
    assert line.startswith(
        "Deployment shop/web, container app: the review does not say how its sizes are written"
    )
    known = container(written={"requests": {"cpu": "100m"}})
    assert make(review(workload(known)), "json").beware == ()


def test_an_operation_has_no_member_that_kubectl_warns_of() -> None:
    (file,) = make(review(), "json").files
    assert all(set(each) <= {"op", "path", "value"} for each in json.loads(file.text))
    assert file.about[1:] == (
        "Deployment shop/web",
        _WHY,
    )


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
    for file in unchecked(review(item), "json").files:
        assert file.text.isascii()
        made = json.loads(file.text)
        assert made[2]["value"] == item.name
        names = [
            each["value"] for each in made if each["path"].endswith("/name") and "ontainers" in each["path"]
        ]
        assert names == [each.name for each in item.containers]
        assert all(set(each["path"]) <= set("/abcdefghijklmnopqrstuvwxyzTCI0123456789") for each in made)
