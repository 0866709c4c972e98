"""LimitRanges of containers clamp; those of pods are told."""

import pytest
from tests.rightsize.decide.builders import (
    MI,
    container,
    evidence,
    found,
    judge,
    memory_of,
    rules,
    the,
    told,
    workload,
)

from remuda.rightsize.decide.clamps import least_for_ratio
from remuda.rightsize.workloads import Ask, LimitRange, Size


def limit_range(
    least: tuple[int | None, int | None] = (None, None),
    most: tuple[int | None, int | None] = (None, None),
    *,
    name: str = "defaults",
    namespace: str = "shop",
    ratio: float | None = None,
) -> LimitRange:
    """Of millicores and MiB."""
    return LimitRange(namespace, name, "Container", _ask(least), _ask(most), ratio)


def pod_range(
    least: tuple[int | None, int | None] = (None, None),
    most: tuple[int | None, int | None] = (None, None),
    ratio: float | None = None,
) -> LimitRange:
    return LimitRange("shop", "pods", "Pod", _ask(least), _ask(most), ratio)


def _ask(pair: tuple[int | None, int | None]) -> Ask:
    return Ask(pair[0], None if pair[1] is None else pair[1] * MI)


@pytest.mark.parametrize(
    ("ranges", "memory", "cpu"),
    [
        pytest.param([limit_range(most=(None, 600))], (500, 600), 100, id="the most of memory"),
        pytest.param([limit_range(least=(None, 800))], (800, 800), 100, id="the least of memory"),
        pytest.param([limit_range(least=(None, 600))], (600, 672), 100, id="the least is for the request, too"),
        pytest.param([limit_range(least=(300, None))], (500, 672), 300, id="the least of CPU"),
        pytest.param([limit_range(most=(85, None))], (500, 672), 85, id="the most of CPU"),
        pytest.param(
            [limit_range(most=(None, 650), name="b"), limit_range(most=(None, 600), name="a")],
            (500, 600), 100, id="the tightest",
        ),
        pytest.param([limit_range(most=(None, 100), namespace="other")], (500, 672), 100, id="of others"),
        pytest.param([limit_range(ratio=1.2)], (560, 672), 100, id="a ratio raises the request"),
        pytest.param([limit_range(ratio=2.0)], (500, 672), 100, id="a ratio that is kept"),
        pytest.param([limit_range(ratio=0.5)], (500, 672), 100, id="a ratio below 1 says nothing"),
    ],
)  # fmt: skip
def test_a_limit_range_of_containers_clamps(
    ranges: list[LimitRange], memory: tuple[int, int], cpu: int
) -> None:
    made = judge(workload(container(cpu=1000, memory=300, memory_limit=300)), limit_ranges=tuple(ranges))
    assert memory_of(the(made)) == memory
    assert the(made).recommended.requests.cpu_millicores == cpu
    if memory != (500, 672) or cpu != 100:
        assert any("LimitRange shop/" in remark for _, remark in told(the(made), "range")) or told(
            the(made), "request"
        )


def test_a_ratio_is_read_as_it_is_written() -> None:
    assert least_for_ratio(110, limit_range(ratio=1.1)) == 100
    assert least_for_ratio(111, limit_range(ratio=1.1)) == 101
    assert least_for_ratio(100, limit_range(ratio=float("nan"))) == 0
    assert least_for_ratio(100, limit_range(ratio=float("inf"))) == 1
    assert least_for_ratio(100, limit_range()) == 0


def test_a_maximum_below_the_use_is_an_error_that_says_what_to_raise() -> None:
    made = judge(
        workload(container(memory=200, memory_limit=200)), limit_ranges=(limit_range(most=(None, 384)),)
    )
    assert memory_of(the(made)) == (384, 384)
    one = found(made, "clamped-below-use")
    assert one.is_ == "at most 384Mi by LimitRange shop/defaults"
    assert one.fix == "raise the maximum of LimitRange shop/defaults to 448Mi or more"


def test_a_maximum_below_what_it_has_does_not_take_away_what_it_uses() -> None:
    made = judge(limit_ranges=(limit_range(most=(None, 384)),))
    assert memory_of(the(made)) == (1024, 1024)
    assert "clamped-below-use" in the(made).rules


def test_a_maximum_below_the_request_lowers_it_where_the_use_allows() -> None:
    made = judge(limit_ranges=(limit_range(most=(None, 640)),))
    assert memory_of(the(made)) == (500, 640)


def test_bounds_that_contradict_each_other_are_told_and_the_last_is_kept_to() -> None:
    made = judge(
        limit_ranges=(limit_range(least=(None, 900), name="a"), limit_range(most=(None, 800), name="b"))
    )
    assert memory_of(the(made)) == (800, 800)
    assert found(made, "limit-range-conflict").is_ == "800Mi, against LimitRange shop/a"


def test_what_is_near_but_out_of_bounds_is_not_kept() -> None:
    near = workload(container(memory=500, memory_limit=700))
    assert the(judge(near)).recommended.limits.memory_bytes == 700 * MI
    made = judge(near, limit_ranges=(limit_range(most=(None, 690)),))
    assert memory_of(the(made)) == (500, 672)


@pytest.mark.parametrize(
    ("each", "field", "is_", "should"),
    [
        pytest.param(
            pod_range(most=(None, 1343)),
            "limits.memory",
            "1344Mi together",
            "at most 1343Mi",
            id="too much memory",
        ),
        pytest.param(
            pod_range(least=(None, 1001)),
            "requests.memory",
            "1000Mi together",
            "at least 1001Mi",
            id="too little memory",
        ),
        pytest.param(
            pod_range(most=(199, None)), "requests.cpu", "200m together", "at most 199m", id="too much CPU"
        ),
        pytest.param(
            pod_range(least=(201, None)),
            "requests.cpu",
            "200m together",
            "at least 201m",
            id="too little CPU",
        ),
        pytest.param(
            pod_range(ratio=1.2), "requests.memory", "1000Mi together", "at least 1120Mi", id="too far apart"
        ),
    ],
)
def test_containers_that_together_are_out_of_a_pods_bounds_are_told_and_nobody_is_cut(
    each: LimitRange, field: str, is_: str, should: str
) -> None:
    made = judge(workload(container(), container("side")), limit_ranges=(each,))
    one = found(made, "limit-range-of-pod")
    assert (one.severity, one.object, one.is_) == ("error", "Deployment shop/web", is_)
    assert one.field == f"{field} of all containers"
    assert one.should == f"{should}, by LimitRange shop/pods"
    assert memory_of(the(made)) == (500, 672)


@pytest.mark.parametrize(
    "each", [pod_range(most=(200, 1344)), pod_range(least=(200, 1000)), pod_range(ratio=1.344)]
)
def test_a_pod_within_its_bounds_is_fine(each: LimitRange) -> None:
    assert rules(judge(workload(container(), container("side")), limit_ranges=(each,))) == set()


@pytest.mark.parametrize(
    "each",
    [
        limit_range(most=(4000, None)),
        LimitRange("shop", "defaults", "Container", defaults=Size(Ask(), Ask(4000))),
    ],
    ids=["a maximum", "a default"],
)
def test_a_range_that_gives_a_cpu_limit_to_those_that_have_none_is_told(each: LimitRange) -> None:
    one = found(judge(limit_ranges=(each,)), "limit-range-gives-cpu-limit")
    assert (one.object, one.field) == ("LimitRange shop/defaults", "spec.limits[Container].default.cpu")
    assert one.is_ == "4000m: containers without a CPU limit get it, as those of Deployment shop/web"


def test_nothing_is_told_of_ranges_where_nothing_changes() -> None:
    kept = workload(container(memory=500, memory_limit=672))
    assert rules(judge(kept, known=evidence(), limit_ranges=(limit_range(most=(4000, None)),))) == set()


def default(cpu: int, most: int | None = None) -> LimitRange:
    return LimitRange("shop", "defaults", "Container", most=Ask(most), defaults=Size(Ask(), Ask(cpu)))


@pytest.mark.parametrize(
    ("limit_now", "most", "peak", "limit", "severity"),
    [
        pytest.param(None, None, 0, 100, "error", id="it gets a limit of its own, the request"),
        pytest.param(None, None, 150, 150, "error", id="or the most it used"),
        pytest.param(None, 120, 150, 120, "error", id="within the maximum"),
        pytest.param(90, None, 0, 100, "error", id="a limit below the request is raised"),
        pytest.param(500, None, 150, 500, "warning", id="a limit that would be removed stays"),
    ],
)
def test_a_default_below_the_request_would_refuse_pods_so_that_they_get_a_cpu_limit(
    limit_now: int | None, most: int | None, peak: int, limit: int, severity: str
) -> None:
    one = workload(container(cpu=50, cpu_limit=limit_now))
    made = judge(one, known=evidence(cpu_peak=peak), limit_ranges=(default(99, most),))
    then = the(made).recommended
    assert (then.requests.cpu_millicores, then.limits.cpu_millicores) == (100, limit)
    finding = found(made, "limit-range-gives-cpu-limit")
    assert (finding.severity, finding.object) == (severity, "Deployment shop/web")
    assert "99m for containers without a CPU limit, below the request 100m" in finding.is_
    assert finding.should == "at least the request: else the API server refuses its pods"
    assert f"set a CPU limit of {limit}m" in finding.fix
    assert any("its pods are refused" in remark for _, remark in told(the(made), "range"))
    assert "cpu-limit" not in rules(made)


def test_a_default_that_is_enough_gives_no_limit_of_its_own() -> None:
    made = judge(workload(container(cpu_limit=500)), limit_ranges=(default(100),))
    assert the(made).recommended.limits.cpu_millicores is None
    assert found(made, "limit-range-gives-cpu-limit").severity == "warning"


def test_a_request_above_the_maximum_that_is_not_lowered_is_told_and_no_limit_helps() -> None:
    made = judge(
        workload(container(cpu=900)), known=evidence(is_partial=True), limit_ranges=(default(200, 300),)
    )
    then = the(made).recommended
    assert (then.requests.cpu_millicores, then.limits.cpu_millicores) == (900, None)
    [one] = [each for each in made.findings if each.severity == "error"]
    assert one.fix == "raise the maximum of LimitRange shop/defaults to 900m or more"
