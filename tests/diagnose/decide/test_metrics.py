"""What `remuda diagnose metrics` makes of what was seen."""

from typing import Any

import msgspec
import pytest

from remuda.diagnose.decide.metrics import CPU, MEMORY, REQUESTS, _long, judge_metrics
from remuda.diagnose.measurements import Advisor, Api, Component, Measurements, Prometheus
from remuda.model.checks import CheckResult

DAY = 86_400
WHOLE = Prometheus(
    "http://prometheus:9090",
    version="3.7.0",
    series={MEMORY: 40, CPU: 40, REQUESTS: 20},
    reach={MEMORY: 8 * DAY, CPU: 8 * DAY},
    pods=("shop/web-1", "shop/web-2"),
)
GOOD = Measurements(0, api=Api(), pods=("shop/web-1", "shop/web-2"), prometheus=WHOLE)
VPA = Advisor("shop", "web", "Deployment web", has_recommendation=True)
RECOMMENDER = Component("Deployment", "kube-system", "vpa-recommender", 1, 1)


def judged(snapshot: Measurements) -> dict[str, CheckResult]:
    return {item.check: item for item in judge_metrics(snapshot)}


def asked(**fields: Any) -> Measurements:
    return msgspec.structs.replace(GOOD, prometheus=msgspec.structs.replace(WHOLE, **fields))


def seen(**fields: Any) -> Measurements:
    return msgspec.structs.replace(GOOD, **fields)


def test_a_prometheus_with_all_samples_is_enough_without_anything_else() -> None:
    found = judged(seen(api=None))
    assert {item.verdict for item in found.values()} == {"ok"}
    assert "not needed" in found["metrics-server"].message
    assert "none is needed" in found["recommender"].message
    assert "none is needed" in found["vpa-objects"].message


@pytest.mark.parametrize(
    ("snapshot", "check", "message", "evidence"),
    [
        (asked(trouble="401: Unauthorized"), "prometheus", "Prometheus does not answer", "401"),
        (
            seen(prometheis=(Component("StatefulSet", "monitoring", "prometheus", 2, 1),)),
            "prometheus",
            "Prometheus is down, or a part of it",
            "StatefulSet monitoring/prometheus: 1 of 2 ready",
        ),
        (
            asked(down=("cadvisor/node-1",)),
            "prometheus",
            "1 target that measure containers cannot be scraped",
            "target cadvisor/node-1 is down",
        ),
        (
            asked(series={MEMORY: 4}, reach={MEMORY: 8 * DAY}),
            "samples",
            "use of containers is not measured",
            f"no series of {CPU}",
        ),
        (
            asked(series={}),
            "samples",
            "use of containers is not measured any more",
            f"{CPU} has no sample of the last five minutes, though samples go back 8.0 days: scraping has stopped",
        ),
        (
            asked(reach={MEMORY: DAY // 2, CPU: 8 * DAY}),
            "history",
            "there is less than a day of samples",
            (
                "samples go back 12.0 hours, and 12.0 hours are missing until recommendations are more than provisional: "
                "an upper bound is 3.0 times what it will come to"
            ),
        ),
        (
            asked(pods=("shop/web-1",)),
            "pods",
            "1 pod of 2 have no samples",
            "without samples: shop/web-2",
        ),
        (
            seen(api=Api("MissingEndpoints: no endpoints")),
            "metrics-server",
            "metrics-server is down",
            "MissingEndpoints",
        ),
        (
            seen(servers=(Component("Deployment", "kube-system", "metrics-server", 1, 0),)),
            "metrics-server",
            "metrics-server is down",
            "0 of 1 ready",
        ),
        (
            seen(api=None, advisors=(VPA,), recommenders=(RECOMMENDER,)),
            "metrics-server",
            "metrics-server is not installed",
            "1 VerticalPodAutoscaler would be fed by it",
        ),
        (
            seen(advisors=(VPA,)),
            "recommender",
            "the recommender is not installed",
            "no recommender fills 1 VerticalPodAutoscaler",
        ),
        (
            seen(recommenders=(msgspec.structs.replace(RECOMMENDER, desired=0, ready=0),)),
            "recommender",
            "the recommender is down",
            "is scaled to 0",
        ),
        (
            seen(
                advisors=(
                    msgspec.structs.replace(
                        VPA, has_recommendation=False, complaints={"NoPodsMatched": "no pods"}
                    ),
                )
            ),
            "vpa-objects",
            "VPA objects without a recommendation, or with a poor one",
            "VerticalPodAutoscaler shop/web for Deployment web: NoPodsMatched: no pods",
        ),
        (
            seen(advisors=(msgspec.structs.replace(VPA, has_recommendation=False),)),
            "vpa-objects",
            "VPA objects without a recommendation, or with a poor one",
            "has no recommendation yet",
        ),
        (seen(prometheus=None), "vpa-objects", "no VPA object", "the cluster does not know the kind"),
        (seen(prometheus=None, advisors=()), "vpa-objects", "no VPA object", "there is none"),
    ],
)
def test_what_is_wrong_is_reported_with_what_was_seen_and_a_fix(
    snapshot: Measurements, check: str, message: str, evidence: str
) -> None:
    found = judged(snapshot)[check]
    assert (found.verdict, found.message) == ("problem", message)
    assert any(evidence in line for line in found.evidence), found.evidence
    assert found.fix


@pytest.mark.parametrize(
    ("part", "check"),
    [
        ("pods", "pods"),
        ("apiservices", "metrics-server"),
        ("deployments", "recommender"),
        ("verticalpodautoscalers", "vpa-objects"),
    ],
)
def test_what_could_not_be_read_is_unknown_and_no_problem(part: str, check: str) -> None:
    found = judged(seen(unread={part: f"may not list {part}"}))[check]
    assert found.verdict == "unknown"
    assert found.evidence == (f"may not list {part}",)


def test_without_a_prometheus_nothing_is_said_of_samples() -> None:
    found = judged(seen(prometheus=None))
    assert [found[name].verdict for name in ("prometheus", "samples", "history", "pods")] == ["unknown"] * 4


def test_more_than_a_day_is_fine_and_what_is_missing_of_eight_is_reported() -> None:
    found = judged(asked(reach={MEMORY: 3 * DAY, CPU: 3 * DAY}))["history"]
    assert (found.verdict, found.message) == ("ok", "samples go back 3.0 days")
    assert found.evidence == ("5.0 days more will narrow the bounds: 8 days are looked at",)


def test_without_kube_state_metrics_the_weaker_knowledge_of_kills_is_reported() -> None:
    found = judged(asked(series={MEMORY: 4, CPU: 4}))["samples"]
    assert found.verdict == "ok"
    assert any("kills are known only" in line for line in found.evidence)


def test_pods_that_are_not_there_are_not_called_measured() -> None:
    assert judged(seen(pods=()))["pods"].verdict == "unknown"


@pytest.mark.parametrize(
    ("ready", "desired", "message"),
    [
        pytest.param(1, 1, "the recommender runs", id="all are ready"),
        pytest.param(2, 1, "the recommender runs", id="more are, for a while"),
        pytest.param(1, 2, "the recommender is down", id="one is missing"),
        pytest.param(0, 0, "the recommender is down", id="it is scaled to nothing"),
    ],
)
def test_a_recommender_runs_when_as_many_are_ready_as_are_wanted(
    ready: int, desired: int, message: str
) -> None:
    one = Component("Deployment", "kube-system", "vpa-recommender", desired, ready)
    assert judged(seen(recommenders=(one,)))["recommender"].message == message


def test_a_length_of_time_is_said_in_minutes_hours_or_days() -> None:
    assert [_long(seconds) for seconds in (-9, 60, 3_599, 3_600, 2 * DAY - 1, 2 * DAY)] == [
        "0 minutes",
        "1 minutes",
        "60 minutes",
        "1.0 hours",
        "48.0 hours",
        "2.0 days",
    ]
