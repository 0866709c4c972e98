"""LimitRanges of containers clamp; those of pods are told."""

from typing import Literal

import msgspec
import pytest
from tests.rightsize.decide.builders import (
    MI,
    container,
    evidence,
    found,
    judge,
    memory_of,
    rules,
    size,
    steps_of,
    the,
    workload,
)
from tests.rightsize.estimate.builders import BEGIN

from remuda.model.quantities import Quantity
from remuda.rightsize.decide.clamps import Clamp, clamped, least_for_ratio, tightest
from remuda.rightsize.decide.findings import Explanation
from remuda.rightsize.objects import RightsizePolicySpec, TierSpec
from remuda.rightsize.snapshot import Ask, LimitRange, Size, Workload


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
        assert any("LimitRange shop/" in remark for _, remark in steps_of(the(made), "range")) or steps_of(
            the(made), "request"
        )


def test_bounds_admit_what_they_say_and_nothing_beyond() -> None:
    both = Clamp("range", "x", 10, 20)
    assert [both.admits(amount) for amount in (9, 10, 20, 21)] == [False, True, True, False]
    assert Clamp("range", "x", None, 20).admits(0)
    assert Clamp("range", "x", 10, None).admits(99)


def test_the_tightest_bound_is_the_lowest_maximum_and_of_equal_ones_the_first_by_name() -> None:
    low, high, other = (Clamp("range", who, None, most) for who, most in (("b", 10), ("a", 20), ("c", 10)))
    for some in ([low, high, other], [other, high, low]):
        assert tightest([*some, Clamp("range", "0", 5, None)]) == low
    assert tightest([Clamp("range", "0", 5, None)]) is None


def test_a_ratio_that_raises_the_request_is_explained() -> None:
    one = the(
        judge(workload(container(memory=300, memory_limit=300)), limit_ranges=(limit_range(ratio=1.2),))
    )
    remark = "LimitRange shop/defaults allows a limit of at most 1.2 × the request"
    assert steps_of(one, "range") == [("request 560Mi, up from 500Mi", remark)]


def test_a_ratio_is_read_as_it_is_written() -> None:
    assert least_for_ratio(110, 1.1) == 100
    assert least_for_ratio(111, 1.1) == 101
    assert least_for_ratio(100, float("nan")) == 0
    assert least_for_ratio(100, float("inf")) == 1
    assert least_for_ratio(100, None) == 0


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


def test_bounds_that_contradict_each_other_are_reported_and_the_last_is_kept_to() -> None:
    made = judge(
        limit_ranges=(limit_range(least=(None, 900), name="a"), limit_range(most=(None, 800), name="b"))
    )
    assert memory_of(the(made)) == (800, 800)
    assert found(made, "limit-range-conflict").is_ == "800Mi, against LimitRange shop/a"


@pytest.mark.parametrize(
    ("request_now", "memory"),
    [
        pytest.param(560, (520, 450, 560), id="at the upper bound"),
        pytest.param(490, (520, 490, 560), id="at the lower bound"),
    ],
)
def test_what_is_near_is_kept_up_to_the_bounds_of_the_estimate(
    request_now: int, memory: tuple[int, int, int]
) -> None:
    near = workload(container(memory=request_now, memory_limit=672))
    one = the(judge(near, known=evidence(memory)))
    assert memory_of(one) == (request_now, 672)
    assert [text for text, _ in steps_of(one, "keep")] == ["the CPU request is kept", "memory is kept"]


def test_what_is_near_but_out_of_bounds_is_not_kept() -> None:
    near = workload(container(memory=500, memory_limit=700))
    assert the(judge(near)).recommended.limits.memory_bytes == 700 * MI
    made = judge(near, limit_ranges=(limit_range(most=(None, 690)),))
    assert memory_of(the(made)) == (500, 672)


def test_what_is_near_but_too_far_apart_is_not_kept() -> None:
    near = workload(container(memory=480, memory_limit=700))
    assert memory_of(the(judge(near))) == (480, 700)
    assert memory_of(the(judge(near, limit_ranges=(limit_range(ratio=1.4),)))) == (500, 672)


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
            pod_range(most=(199, None)), "limits.cpu", "200m together", "at most 199m", id="too much CPU"
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
def test_containers_that_together_are_out_of_a_pods_bounds_are_reported_and_nobody_is_cut(
    each: LimitRange, field: str, is_: str, should: str
) -> None:
    made = judge(workload(container(), container("side")), limit_ranges=(each,))
    one = found(made, "limit-range-of-pod")
    assert (one.severity, one.object, one.is_) == ("error", "Deployment shop/web", is_)
    assert one.field == f"{field} of all containers"
    assert one.should == f"{should}, by LimitRange shop/pods"
    assert memory_of(the(made)) == (500, 672)


@pytest.mark.parametrize("each", [pod_range(most=(None, 672)), pod_range(ratio=1.344)])
def test_containers_that_ask_for_nothing_add_nothing_to_a_pod(each: LimitRange) -> None:
    bare = container("bare", cpu=None, memory=None, memory_limit=None)
    item = workload(container(), bare)
    made = judge(item, known={(item.id, "main"): evidence()}, limit_ranges=(each,))
    assert "limit-range-of-pod" not in rules(made)


@pytest.mark.parametrize(
    "each", [pod_range(most=(None, 1344)), pod_range(least=(200, 1000)), pod_range(ratio=1.344)]
)
def test_a_pod_within_its_bounds_is_fine(each: LimitRange) -> None:
    assert rules(judge(workload(container(), container("side")), limit_ranges=(each,))) == set()


def test_the_cpu_limits_of_a_pod_within_its_maximum_are_fine() -> None:
    made = judge(workload(container(), container("side")), limit_ranges=(pod_range(most=(200, 1344)),))
    assert rules(made) == {"limit-range-wants-cpu-limit"}
    assert [each.recommended.limits.cpu_millicores for each in made.workloads[0].containers] == [100, 100]


@pytest.mark.parametrize(
    "each",
    [
        limit_range(most=(4000, None)),
        LimitRange("shop", "defaults", "Container", defaults=Size(Ask(), Ask(4000))),
    ],
    ids=["a maximum", "a default"],
)
def test_a_range_that_gives_a_cpu_limit_to_those_that_have_none_is_reported(each: LimitRange) -> None:
    one = found(judge(limit_ranges=(each,)), "limit-range-gives-cpu-limit")
    assert (one.object, one.field) == ("LimitRange shop/defaults", "spec.limits[Container].default.cpu")
    assert one.is_ == "4000m: containers without a CPU limit get it, as those of Deployment shop/web"


def test_a_range_gives_a_cpu_limit_to_one_container_of_several_that_has_none() -> None:
    both = workload(container(), container("side", cpu_limit=500))
    made = judge(both, known={(both.id, "main"): evidence()}, limit_ranges=(default(4000),))
    assert the(made, part="side").recommended.limits.cpu_millicores == 500
    assert "as those of Deployment shop/web" in found(made, "limit-range-gives-cpu-limit").is_


def test_nothing_is_reported_ranges_that_give_nothing_where_nothing_changes() -> None:
    kept = workload(container(memory=500, memory_limit=672))
    assert rules(judge(kept, known=evidence(), limit_ranges=(limit_range(most=(None, 4000)),))) == set()
    assert rules(judge(kept, known=evidence(), limit_ranges=(pod_range(most=(None, 100)),))) == set()


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
    assert any("its pods are refused" in remark for _, remark in steps_of(the(made), "range"))
    assert "cpu-limit" not in rules(made)


def test_a_default_that_is_enough_gives_no_limit_of_its_own() -> None:
    made = judge(workload(container(cpu_limit=500)), limit_ranges=(default(100),))
    assert the(made).recommended.limits.cpu_millicores is None
    assert found(made, "limit-range-gives-cpu-limit").severity == "warning"


def test_a_request_above_the_maximum_that_is_not_lowered_is_reported_and_no_limit_helps() -> None:
    made = judge(
        workload(container(cpu=900)), known=evidence(is_partial=True), limit_ranges=(default(200, 300),)
    )
    then = the(made).recommended
    assert (then.requests.cpu_millicores, then.limits.cpu_millicores) == (900, None)
    [one] = [each for each in made.findings if each.severity == "error"]
    assert one.fix == "raise the maximum of LimitRange shop/defaults to 900m or more"


def ratio_of(
    of: Literal["Container", "Pod"], ratio: float, given: int | None = None, most: int | None = None
) -> LimitRange:
    """Of CPU."""
    return LimitRange("shop", "cpu", of, most=Ask(most), defaults=Size(Ask(), Ask(given)), cpu_ratio=ratio)


POD_MAXIMUM = LimitRange("shop", "cpu", "Pod", most=Ask(4000))


@pytest.mark.parametrize(
    ("ranges", "now", "peak", "then"),
    [
        pytest.param((POD_MAXIMUM,), (500, 1000), 0, (63, 1000), id="a maximum of pods keeps the limit"),
        pytest.param((POD_MAXIMUM,), (500, 9000), 0, (63, 4000), id="or lowers it"),
        pytest.param((POD_MAXIMUM,), (500, None), 300, (63, 300), id="or asks for one, the most it used"),
        pytest.param((POD_MAXIMUM,), (50, 55), 0, (63, 63), id="that is not below the request"),
        pytest.param((ratio_of("Container", 10),), (500, 1000), 0, (63, 630), id="a ratio lowers the limit"),
        pytest.param((ratio_of("Pod", 10),), (500, 1000), 0, (63, 630), id="so does one of pods"),
        pytest.param((ratio_of("Container", 20),), (500, 1000), 0, (63, 1000), id="or keeps it"),
        pytest.param((ratio_of("Container", 1.5),), (500, 1000), 0, (63, 94), id="it is rounded down"),
        pytest.param((ratio_of("Container", 10),), (500, 1000), 900, (90, 900), id="not below what was used"),
        pytest.param((ratio_of("Container", 10),), (500, 1000), 1200, (100, 1000), id="nor above what it had"),
        pytest.param((ratio_of("Container", 4, 1000),), (None, None), 0, (63, 252), id="a default too far above"),
        pytest.param((ratio_of("Container", 4, 50),), (None, None), 0, (63, 63), id="a default below the request"),
        pytest.param((ratio_of("Container", 4, 200),), (None, None), 0, (63, None), id="a default that is fine"),
        pytest.param((ratio_of("Container", 10, most=500),), (500, 1000), 0, (63, 500), id="a maximum beside it"),
        pytest.param(
            (ratio_of("Container", 10), ratio_of("Pod", 3)), (500, 1000), 0, (63, 189), id="the tightest of them"
        ),
        pytest.param(
            (ratio_of("Container", 10), ratio_of("Pod", 3)), (500, 900), 900, (300, 900), id="and what was used stays"
        ),
    ],
)  # fmt: skip
def test_a_cpu_limit_that_a_limit_range_demands_is_one_that_it_takes(
    ranges: tuple[LimitRange, ...],
    now: tuple[int | None, int | None],
    peak: int,
    then: tuple[int, int | None],
) -> None:
    item = workload(container(cpu=now[0], cpu_limit=now[1]))
    made = judge(item, known=evidence(cpu=(63, 50, 80), cpu_peak=peak), limit_ranges=ranges)
    made_cpu = the(made).recommended
    assert (made_cpu.requests.cpu_millicores, made_cpu.limits.cpu_millicores) == then
    assert any(
        "LimitRange shop/cpu demands a CPU limit" in remark for _, remark in steps_of(the(made), "range")
    )
    assert not rules(made) & {"cpu-limit", "limit-range-of-pod"}
    if then[1] is not None:
        had = "not set" if now[1] is None else f"{now[1]}m"
        given = next(
            (f"{each.defaults.limits.cpu_millicores}m" for each in ranges if each.defaults != Size()), had
        )
        stays = "stays" if then[1] == now[1] else f"instead of {given if now[1] is None else had}"
        assert f"a CPU limit of {then[1]}m {stays}" in [text for text, _ in steps_of(the(made), "range")]
        one = found(made, "limit-range-wants-cpu-limit")
        assert one.severity == "warning"
        assert "LimitRange shop/cpu" in one.fix
        assert f"{'keep' if then[1] == now[1] else 'set'} a CPU limit of {then[1]}m" in one.fix


def test_a_request_that_is_raised_beside_a_limit_that_must_stay_is_explained() -> None:
    known = evidence(cpu=(63, 50, 80), cpu_peak=900)
    made = judge(
        workload(container(cpu=500, cpu_limit=1000)),
        known=known,
        limit_ranges=(ratio_of("Container", 10),),
    )
    assert "request 90m, up from 63m" in [text for text, _ in steps_of(the(made), "range")]


@pytest.mark.parametrize("ratio", [0.5, float("nan")])
def test_a_cpu_ratio_that_says_nothing_demands_nothing(ratio: float) -> None:
    made = judge(workload(container(cpu_limit=500)), limit_ranges=(ratio_of("Container", ratio),))
    assert the(made).recommended.limits.cpu_millicores is None
    assert rules(made) == {"cpu-limit"}


@pytest.mark.parametrize(
    ("each", "now", "is_partial"),
    [
        pytest.param(LimitRange("shop", "cpu", "Pod", most=Ask(60)), (500, 1000), False, id="above the maximum"),
        pytest.param(ratio_of("Container", 2, most=700), (400, 1000), True, id="a limit that is not lowered"),
    ],
)  # fmt: skip
def test_where_no_cpu_limit_fits_it_is_an_error_and_cpu_is_left_as_it_is(
    each: LimitRange, now: tuple[int, int], is_partial: bool
) -> None:
    made = judge(
        workload(container(cpu=now[0], cpu_limit=now[1])),
        known=evidence(cpu=(63, 50, 80), is_partial=is_partial),
        limit_ranges=(each,),
    )
    then = the(made).recommended
    assert (then.requests.cpu_millicores, then.limits.cpu_millicores) == now
    assert found(made, "limit-range-wants-cpu-limit").severity == "error"
    assert "LimitRange shop/cpu" in found(made, "limit-range-wants-cpu-limit").is_


def test_on_partial_evidence_the_request_is_raised_and_the_cpu_limit_stays() -> None:
    made = judge(
        workload(container(cpu=100, cpu_limit=1000)),
        known=evidence(is_partial=True),
        limit_ranges=(ratio_of("Container", 4),),
    )
    then = the(made).recommended
    assert (then.requests.cpu_millicores, then.limits.cpu_millicores) == (250, 1000)


@pytest.mark.parametrize(
    ("each", "is_", "should"),
    [
        (POD_MAXIMUM, "1 container without", "a CPU limit on every container"),
        (ratio_of("Pod", 4), "1 container without", "a CPU limit on every container"),
    ],
)
def test_a_container_that_stays_without_a_cpu_limit_is_reported_where_pods_must_have_one(
    each: LimitRange, is_: str, should: str
) -> None:
    item = workload(container(cpu=500), container("new"))
    made = judge(item, known={(item.id, "main"): evidence()}, limit_ranges=(each,))
    one = found(made, "limit-range-of-pod")
    assert (one.severity, one.is_, one.should) == ("error", is_, f"{should}, by LimitRange shop/cpu")


@pytest.mark.parametrize(
    ("each", "field"),
    [
        (LimitRange("shop", "cpu", "Pod", most=Ask(4000)), "limits.cpu"),
        (ratio_of("Pod", 4), "requests.cpu"),
    ],
)
def test_cpu_limits_that_together_are_out_of_a_pods_bounds_are_reported(each: LimitRange, field: str) -> None:
    item = workload(container(cpu=500, cpu_limit=500), container("new", cpu_limit=3950))
    made = judge(item, known={(item.id, "main"): evidence()}, limit_ranges=(each,))
    assert found(made, "limit-range-of-pod").field == f"{field} of all containers"


def test_a_maximum_of_containers_gives_the_cpu_limit_that_one_of_pods_demands() -> None:
    item = workload(container(cpu=500), container("new"))
    most = limit_range(most=(1000, None))
    made = judge(item, known={(item.id, "main"): evidence()}, limit_ranges=(POD_MAXIMUM, most))
    assert "limit-range-of-pod" not in rules(made)


GIVING = LimitRange("shop", "giving", "Container", defaults=Size(Ask(2000, 300 * MI), Ask(None, 300 * MI)))


def test_what_a_limit_range_gives_is_what_a_container_has() -> None:
    bare = workload(container(cpu=None, memory=None, memory_limit=None), replicas=2)
    known = evidence((280, 250, 290), (63, 50, 80), 290)
    made = judge(bare, known=known, limit_ranges=(GIVING,))
    one = the(made)
    assert one.now == Size()
    assert (one.risk, "starved" in rules(made)) == ("will-oom", False)
    assert found(made, "limit-below-use").is_ == "300Mi"
    assert made.waste.cpu_millicores == 2 * (2000 - 63)
    [(text, remark)] = steps_of(one, "limits")
    assert "CPU request 2000m" in text
    assert remark == "LimitRange shop/giving gives what it does not say"


def test_what_is_given_is_not_lowered_on_partial_evidence() -> None:
    bare = workload(container(cpu=None, memory=None, memory_limit=None))
    made = judge(
        bare, known=evidence((80, 60, 90), (63, 50, 80), 70, is_partial=True), limit_ranges=(GIVING,)
    )
    assert the(made).recommended.requests.cpu_millicores == 2000
    assert memory_of(the(made)) == (300, 300)


def test_what_is_held_wastes_nothing_of_what_is_given() -> None:
    bare = workload(container(cpu=None, memory=None, memory_limit=None))
    made = judge(bare, known=evidence(cpu_samples=0), limit_ranges=(GIVING,))
    assert the(made).verdict == "raise"
    assert made.waste.cpu_millicores == 0


@pytest.mark.parametrize("cpu", [None, 10])
def test_a_starved_container_is_to_be_raised_to_what_it_is_given(cpu: int | None) -> None:
    policy = RightsizePolicySpec(tiers=(TierSpec(tier=3, min_cpu=Quantity.parse("300m")),))
    made = judge(workload(container(cpu=cpu), tier="3"), policy=policy)
    assert found(made, "starved").fix == "raise it to 300m"


def test_a_starved_container_that_a_tier_keeps_down_is_told_which() -> None:
    policy = RightsizePolicySpec(tiers=(TierSpec(tier=3, max_cpu=Quantity.parse("100m")),))
    item = workload(container(cpu=100), tier="3")
    made = judge(item, known=evidence(cpu=(400, 300, 500)), policy=policy)
    assert found(made, "starved").fix == "raise the maximum of the policy of tier 3, 100m, to 400m or more"


def test_a_starved_container_that_no_maximum_of_its_own_keeps_down_is_told_to_look_further() -> None:
    most = LimitRange("shop", "cpu", "Pod", most=Ask(60))
    made = judge(workload(container(cpu=50, cpu_limit=55)), limit_ranges=(most,))
    assert the(made).recommended.requests.cpu_millicores == 50
    assert (
        found(made, "starved").fix
        == "raise it to 100m once what holds it is out of the way: see the other findings"
    )
    assert found(made, "limit-range-wants-cpu-limit").severity == "error"


LIMITING = LimitRange("shop", "defaults", "Container", defaults=size(cpu_limit=50), created=BEGIN)


def bare(at: int | None) -> Workload:
    """Without a CPU limit in its template; and in its newest pod, if that was made then."""
    return workload(msgspec.structs.replace(container(cpu=100), unlimited_at=at))


@pytest.mark.parametrize(
    ("at", "limit"),
    [
        pytest.param(None, 100, id="no pod shows what it does"),
        pytest.param(BEGIN - 1, 100, id="the pod is older than the range"),
        pytest.param(BEGIN, None, id="the pod was made since"),
        pytest.param(0, None, id="nobody knows when the pod was made"),
    ],
)
def test_what_pods_have_outweighs_what_a_range_would_give_them(at: int | None, limit: int | None) -> None:
    made = judge(bare(at), limit_ranges=(LIMITING,))
    assert the(made).recommended.limits.cpu_millicores == limit
    assert ("limit-range-gives-cpu-limit" in rules(made)) is (limit is not None)


def test_a_range_that_gives_cpu_limits_is_reported_though_nothing_changes() -> None:
    defaults = LimitRange("shop", "defaults", "Container", defaults=size(cpu_limit=500))
    first = judge(workload(container(cpu=300)), limit_ranges=(defaults,))
    then = judge(workload(container(memory=500, memory_limit=672)), limit_ranges=(defaults,))
    assert the(then).verdict == "keep"
    assert (
        found(first, "limit-range-gives-cpu-limit").object
        == found(then, "limit-range-gives-cpu-limit").object
    )


def giving(name: str, cpu: int, ratio: float | None = None) -> LimitRange:
    """A range that gives a CPU limit to containers without one."""
    return LimitRange("shop", name, "Container", defaults=Size(Ask(), Ask(cpu)), cpu_ratio=ratio)


def test_of_several_defaults_the_lowest_is_what_a_container_would_have() -> None:
    made = judge(workload(container(cpu=50)), limit_ranges=(giving("a", 99), giving("b", 80)))
    assert "LimitRange shop/b gives 80m" in found(made, "limit-range-gives-cpu-limit").is_
    known = evidence(cpu=(63, 50, 80))
    both = (giving("a", 200, 4), giving("b", 150))
    one = the(judge(workload(container(cpu=None)), known=known, limit_ranges=both))
    assert one.recommended.limits.cpu_millicores == 150


def test_what_is_lowered_in_the_end_is_so_though_the_template_sets_it_anew() -> None:
    bare = workload(container(cpu=None, memory=None, memory_limit=None))
    made = judge(bare, known=evidence((200, 150, 200), (63, 50, 80), 100), limit_ranges=(GIVING,))
    assert the(made).verdict == "lower"


def test_the_bounds_of_a_tier_are_explained_where_there_are_any() -> None:
    policy = RightsizePolicySpec(tiers=(TierSpec(tier=3, min_cpu=Quantity.parse("300m")),))
    steps = steps_of(the(judge(workload(container(), tier="3"), policy=policy)), "tier")
    assert [text for text, _ in steps[1:]] == ["CPU from 300m to any", "300m, up from 100m"]


@pytest.mark.parametrize(("limit", "left"), [(384, False), (385, True)])
def test_a_limit_that_is_at_the_maximum_already_is_not_said_to_be_left(limit: int, left: bool) -> None:
    item = workload(container(memory=384, memory_limit=limit))
    one = found(judge(item, limit_ranges=(limit_range(most=(None, 384)),)), "clamped-below-use")
    assert ("until then memory is left at" in one.fix) is left


def test_memory_that_a_maximum_does_not_let_grow_is_left_for_that_reason() -> None:
    one = the(
        judge(
            workload(container(memory=500, memory_limit=500)), limit_ranges=(limit_range(most=(None, 384)),)
        )
    )
    assert (memory_of(one), one.verdict) == ((500, 500), "leave")


def test_what_is_at_a_bound_is_not_said_to_be_moved_to_it() -> None:
    explanation = Explanation(workload(), container())
    assert clamped(20, [Clamp("range", "x", 20, 20)], explanation, "cpu") == 20
    assert explanation.steps == []
