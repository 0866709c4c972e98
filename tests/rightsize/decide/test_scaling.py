"""Autoscalers: what counts use against requests is left alone, what sets sizes itself is told."""

import pytest
from tests.rightsize.decide.builders import (
    WEB,
    container,
    estimate,
    evidence,
    found,
    judge,
    memory_of,
    rules,
    steps_of,
    the,
    workload,
)

from remuda.model.workloads import WorkloadId
from remuda.rightsize.snapshot import Advisor, Autoscaler, Kill

LARGE = container(cpu=900, cpu_limit=2000)


def test_cpu_that_an_autoscaler_counts_is_left_as_it_is() -> None:
    made = judge(workload(LARGE), autoscalers=(Autoscaler("web", WEB, "cpu", most=9),))
    one = the(made)
    assert (one.recommended.requests.cpu_millicores, one.recommended.limits.cpu_millicores) == (900, 2000)
    assert memory_of(one) == (500, 672)
    finding = found(made, "scaled-by-use")
    assert (finding.severity, finding.field) == (
        "info",
        "spec.template.spec.containers[main].resources.requests.cpu",
    )
    assert finding.is_ == "900m; HorizontalPodAutoscaler web scales it by CPU"
    assert steps_of(one, "hpa") == [("CPU is left as it is", "HorizontalPodAutoscaler web counts its use")]


def test_memory_that_an_autoscaler_counts_is_left_as_it_is() -> None:
    one = the(judge(workload(LARGE), autoscalers=(Autoscaler("web", WEB, "memory"),)))
    assert memory_of(one) == (1024, 1024)
    assert (one.recommended.requests.cpu_millicores, one.verdict) == (100, "lower")


def test_what_is_scaled_by_both_is_left_altogether() -> None:
    made = judge(
        workload(LARGE), autoscalers=(Autoscaler("web", WEB, "memory"), Autoscaler("web", WEB, "cpu"))
    )
    one = the(made)
    assert (one.verdict, one.recommended, one.rules) == ("leave", one.now, ("scaled-by-use",))


def test_an_autoscaler_of_one_container_leaves_the_others() -> None:
    made = judge(
        workload(LARGE, container("side", cpu=900)),
        autoscalers=(Autoscaler("web", WEB, "cpu", container="side"),),
    )
    assert the(made, part="main").recommended.requests.cpu_millicores == 100
    assert the(made, part="side").recommended.requests.cpu_millicores == 900


def test_an_autoscaler_of_another_workload_is_none_of_its_business() -> None:
    other = Autoscaler("web", WorkloadId("shop", "StatefulSet", "web"), "cpu")
    assert "scaled-by-use" not in rules(judge(autoscalers=(other,)))


def test_memory_that_kills_is_a_risk_also_where_an_autoscaler_holds_it() -> None:
    made = judge(
        autoscalers=(Autoscaler("web", WEB, "memory"),),
        kills=(Kill(WEB, "main", "web-0", 1_767_600_000, 2**30),),
    )
    assert (the(made).risk, memory_of(the(made))) == ("will-oom", (1024, 1024))
    assert found(made, "killed").fix == (
        "raise its memory limit to 1280Mi once what holds it is out of the way: see the other findings"
    )


def test_where_use_scales_cpu_nothing_starves() -> None:
    small = workload(container(cpu=10))
    assert the(judge(small)).risk == "starved"
    assert the(judge(small, autoscalers=(Autoscaler("web", WEB, "cpu"),))).risk == ""


@pytest.mark.parametrize(
    ("mode", "is_reported"),
    [("Off", False), ("Initial", True), ("Auto", True), ("InPlaceOrRecreate", True), ("", True)],
)
def test_an_advisor_that_sets_sizes_itself_is_reported(mode: str, is_reported: bool) -> None:
    made = judge(advisors=(Advisor("web-vpa", WEB, mode),))
    assert ("advisor-acts" in rules(made)) is is_reported
    if is_reported:
        one = found(made, "advisor-acts")
        assert (one.object, one.field) == (
            "VerticalPodAutoscaler shop/web-vpa",
            "spec.updatePolicy.updateMode",
        )
        how = "when pods are made" if mode == "Initial" else "and evicts or resizes pods for it"
        assert one.is_.endswith(f"it sets the sizes of Deployment shop/web itself, {how}")


def test_two_advisors_of_one_container_are_reported_with_their_names() -> None:
    one, other = (Advisor(name, WEB, "Off", {"main": estimate()}) for name in ("old", "new"))
    finding = found(judge(advisors=(one, other)), "many-advisors")
    assert (finding.severity, finding.object) == ("warning", "Deployment shop/web")
    assert finding.is_ == (
        "VerticalPodAutoscalers new and old all recommend for main; without samples old is taken at its word"
    )


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Advisor("new", WEB, "Off"), id="without a recommendation"),
        pytest.param(Advisor("new", WEB, "Off", {"side": estimate()}), id="of another container"),
        pytest.param(
            Advisor("new", WorkloadId("shop", "Deployment", "api"), "Off", {"main": estimate()}),
            id="of another workload",
        ),
    ],
)
def test_two_advisors_that_do_not_speak_of_the_same_are_fine(other: Advisor) -> None:
    one = Advisor("old", WEB, "Off", {"main": estimate()})
    assert "many-advisors" not in rules(judge(advisors=(one, other)))


def test_an_advisor_of_what_is_not_looked_at_is_not_reported() -> None:
    assert rules(judge(advisors=(Advisor("x", WorkloadId("a", "Deployment", "b"), "Auto"),))) == set()


@pytest.mark.parametrize(
    ("cpu", "is_starved"),
    [(71, True), (72, False), (79, False), (None, True)],
)
def test_a_request_that_is_more_than_a_tenth_below_the_lower_bound_starves(
    cpu: int | None, is_starved: bool
) -> None:
    made = judge(workload(container(cpu=cpu)), known=evidence())
    assert (the(made).risk == "starved") is is_starved
    assert ("starved" in rules(made)) is is_starved


def test_a_request_below_a_pods_floor_does_not_starve() -> None:
    made = judge(workload(container(cpu=5)), known=evidence(cpu=(25, 25, 25)))
    assert the(made).risk == ""


def test_without_samples_of_cpu_nothing_starves_and_what_is_held_is_left() -> None:
    made = judge(workload(container(cpu=10, memory=500, memory_limit=672)), known=evidence(cpu_samples=0))
    assert (the(made).risk, the(made).verdict) == ("", "leave")
    assert "starved" not in rules(made)
