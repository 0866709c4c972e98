"""What LimitRanges make of the pods of a template, as the API server's own plugin does it."""

from pathlib import Path

import pytest
from tests.tiers.clusters import audited, container, deployment, found_in, governed, sizes

from remuda.objects.tiers import DEFAULT_POLICY
from remuda.tiers.decide.defaults import filled, kept, tier_item
from remuda.tiers.snapshot import Container, Containers, LimitRangeItem

MIB = 2**20
BOUNDS = LimitRangeItem("Container", {"memory": 8}, {"memory": 4}, max={"cpu": 2})


@pytest.mark.parametrize(
    ("written", "requests", "limits"),
    [
        pytest.param(Container("a"), {"cpu": 2, "memory": 4}, {"cpu": 2, "memory": 8}, id="nothing"),
        pytest.param(
            Container("a", {"memory": 6}), {"cpu": 2, "memory": 6}, {"cpu": 2, "memory": 8}, id="a request"
        ),
        pytest.param(
            Container("a", {}, {"memory": 5}),
            {"cpu": 2, "memory": 5},
            {"cpu": 2, "memory": 5},
            id="a limit is the request, too, before defaults are given",
        ),
        pytest.param(
            Container("a", {"cpu": 1, "memory": 1}, {"cpu": 1, "memory": 1}),
            {"cpu": 1, "memory": 1},
            {"cpu": 1, "memory": 1},
            id="everything",
        ),
    ],
)
def test_what_a_container_gets_that_does_not_say(
    written: Container, requests: dict[str, int], limits: dict[str, int]
) -> None:
    made = filled(Containers((written,)), [BOUNDS, LimitRangeItem("Pod", max={"memory": 1})])
    assert (made.all[0].requests, made.all[0].limits) == (requests, limits)
    assert (made.requests, made.limits) == (requests, limits)


def test_of_several_that_give_the_same_the_first_counts_and_each_container_gets_it() -> None:
    other = LimitRangeItem("Container", {"memory": 99}, {"memory": 98})
    made = filled(Containers((Container("f", is_init=True), Container("a"), Container("b"))), [BOUNDS, other])
    assert [each.limits["memory"] for each in made.all] == [8, 8, 8]
    assert made.requests["memory"] == 8, "two that run together, and one before them"


@pytest.mark.parametrize(
    ("item", "default", "request_"),
    [
        pytest.param(LimitRangeItem("Container", max={"cpu": 2}), {"cpu": 2}, {"cpu": 2}, id="a maximum is default and request"),
        pytest.param(LimitRangeItem("Container", min={"cpu": 1}), {}, {"cpu": 1}, id="a minimum is a request"),
        pytest.param(
            LimitRangeItem("Container", {"cpu": 2}, {"cpu": 1}, min={"cpu": 3}), {"cpu": 2}, {"cpu": 1}, id="what is said counts"
        ),
        pytest.param(LimitRangeItem("Pod", max={"cpu": 2}), {}, {}, id="pods get nothing"),
    ],
)  # fmt: skip
def test_what_a_server_keeps_of_bounds(
    item: LimitRangeItem, default: dict[str, int], request_: dict[str, int]
) -> None:
    assert (kept(item).default, kept(item).default_request) == (default, request_)


def test_a_template_without_resources_is_even_in_a_tier_that_wants_it(tmp_path: Path) -> None:
    bare = deployment("web", "dns", {"containers": [container()]}, replicas=0)
    assert found_in(audited(tmp_path, *governed("dns", "0-core"), bare)) == []
    half = deployment(
        "web", "dns", {"containers": [container("app", sizes({"memory": "100Mi"}))]}, replicas=0
    )
    assert [each.rule for each in found_in(audited(tmp_path, *governed("dns", "0-core"), half))] == [
        "uneven-memory"
    ]


def test_the_item_of_a_tier_names_no_cpu_limit() -> None:
    for tier in DEFAULT_POLICY.tiers.values():
        item = kept(tier_item(tier))
        assert item == tier_item(tier), "a server keeps it as it is"
        assert "cpu" not in item.default
