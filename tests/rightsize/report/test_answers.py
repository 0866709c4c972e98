"""Why a workload should have its size: which one is meant, and what is reported of it."""

import msgspec
import pytest
from tests.rightsize.report.reviews import AT, sample_review

from remuda.errors import BadInput, NotFound
from remuda.rightsize.report.answers import shown_steps, sizes_and_steps, why
from remuda.rightsize.review import Review


@pytest.mark.parametrize(
    ("name", "subject", "containers"),
    [
        pytest.param("shop/checkout", "shop/Deployment/checkout", ["app", "proxy"], id="a name"),
        pytest.param(
            "shop/Deployment/checkout", "shop/Deployment/checkout", ["app", "proxy"], id="with its kind"
        ),
        pytest.param(
            "shop/deployment/checkout", "shop/Deployment/checkout", ["app", "proxy"], id="a kind in small"
        ),
        pytest.param("shop/checkout/app", "shop/Deployment/checkout", ["app"], id="with a container"),
        pytest.param("shop/deployment/checkout/proxy", "shop/Deployment/checkout", ["proxy"], id="with both"),
        pytest.param("web/statefulset/front", "web/StatefulSet/front", ["front"], id="one of two of a name"),
    ],
)
def test_a_workload_is_found_by_its_name(name: str, subject: str, containers: list[str]) -> None:
    answer = why(sample_review(), name)
    assert answer.subject == f"workload/{subject}"
    assert [item.name for item in answer.containers] == containers


@pytest.mark.parametrize("name", ["web/front", "web/front/front"])
def test_a_name_that_means_two_is_refused_with_both(name: str) -> None:
    with pytest.raises(
        BadInput, match=r"is 2 workloads: say which of web/Deployment/front.*, web/StatefulSet/front"
    ):
        why(sample_review(), name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("shop/chekout", "did you mean shop/checkout?", id="letters swapped"),
        pytest.param("Shop/Checkout", "did you mean shop/checkout?", id="capitals"),
        pytest.param("shop/checkout/ap", "did you mean shop/checkout/app?", id="a container"),
        pytest.param("web/deploymnt/front", "did you mean web/Deployment/front?", id="a kind"),
        pytest.param("checkout", "written NAMESPACE/NAME", id="no namespace"),
        pytest.param(
            "zzz/zzz",
            "there is: shop/checkout, shop/cart, ml/trainer, web/Deployment/front",
            id="nothing near",
        ),
        pytest.param("", 'is called "", written', id="nothing"),
        pytest.param("a/b/c/d/e", "no workload", id="too many parts"),
        pytest.param("shop/" + "x" * 1000, "no workload", id="long"),
    ],
)
def test_a_name_that_means_none_is_refused_with_the_nearest(name: str, message: str) -> None:
    with pytest.raises(NotFound) as error:
        why(sample_review(), name)
    assert message in str(error.value)
    assert len(str(error.value)) < 500


def test_in_a_review_of_nothing_there_is_nothing() -> None:
    with pytest.raises(NotFound, match="there is: none"):
        why(Review(AT, "here", "", "vpa", 1, ()), "a/b")


def test_it_tells_what_is_what_should_be_how_that_came_about_and_what_to_know() -> None:
    answer = why(sample_review(), "shop/checkout/app")
    assert answer.headline == "Deployment shop/checkout: 4 pods, tier 1"
    (app,) = answer.containers
    assert app.headline == "app: raise (will OOM)"
    steps = shown_steps(app)
    assert steps[0].text == "cpu 500m/1, memory 512Mi/512Mi"
    assert steps[1].text == "cpu 813m/-, memory 816Mi/816Mi"
    assert [step.label for step in steps] == [
        "now", "should be", "samples", "upper", "class", "kill", "error",
    ]  # fmt: skip
    assert steps[-1].text.startswith("will-oom: 512Mi; it was OOM-killed once")
    assert sizes_and_steps(app) == steps[:-1]


def test_a_finding_of_another_container_is_not_reported() -> None:
    _, proxy = why(sample_review(), "shop/checkout").containers
    assert proxy.findings == ()


def test_a_finding_of_the_whole_workload_is_reported_every_container() -> None:
    review = sample_review()
    whole = msgspec.structs.replace(review.findings[0], field="")
    answer = why(msgspec.structs.replace(review, findings=(whole,)), "shop/checkout")
    assert [item.findings for item in answer.containers] == [(whole,), (whole,)]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("web/fresh", "fresh: raise (provisional: too little data)"),
        ("web/statefulset/front", "front: keep (partial: not all samples could be read)"),
        ("batch/report", "report: leave"),
    ],
)
def test_what_is_not_certain_is_in_the_headline(name: str, message: str) -> None:
    assert why(sample_review(), name).containers[0].headline == message
