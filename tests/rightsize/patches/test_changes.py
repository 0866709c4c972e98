"""What of a review is patched, and what is left out with why."""

import pytest
from tests.rightsize.patches.cases import SMALL, container, finding, review, workload
from tests.rightsize.report.reviews import sample_review, size

from remuda.errors import BadInput
from remuda.model.workloads import WorkloadId
from remuda.rightsize.patches import FORMS, make
from remuda.rightsize.patches.changes import changes_of, difference, whole
from remuda.rightsize.review import ContainerReview, WorkloadReview

WEB = WorkloadId("shop", "Deployment", "web")
CPU = "spec.template.spec.containers[app].resources.requests.cpu"


@pytest.mark.parametrize(
    ("item", "why"),
    [
        pytest.param(container(verdict="keep"), "keeps what it has", id="what a review keeps"),
        pytest.param(
            container(verdict="leave", rules=("no-evidence",)),
            "is left as it is: no-evidence: nothing was seen",
            id="what it leaves",
        ),
        pytest.param(
            container(is_provisional=True, rules=("under-a-day",)),
            "is provisional, with too little data: under-a-day: 6h of data",
            id="what has under a day of data",
        ),
        pytest.param(container(recommended=SMALL), "has what is recommended already", id="what is right"),
        pytest.param(
            container(recommended=size(100, 900, None, 800)),
            "a server refuses: memory request 900Mi above its limit 800Mi",
            id="what a server refuses",
        ),
        pytest.param(container(recommended=size(-5, 900)), "no amount: request -5", id="what is no amount"),
        pytest.param(
            container(recommended=size(5, 0, None, 0)), "no amount: request 0, limit 0", id="nothing"
        ),
    ],
)
def test_what_should_not_be_changed_is_left_out_with_why(item: ContainerReview, why: str) -> None:
    findings = (
        finding("no-evidence", "spec.template.spec.containers[app]", "nothing was seen"),
        finding("under-a-day", "spec.template.spec.containers[app]", "6h of data"),
        finding("under-a-day", "spec.template.spec.containers[other]", "of another container"),
        finding("under-a-day", "spec.template.spec.containers[app]", "of another one", "Deployment shop/b"),
    )
    for form in FORMS:
        made = make(review(workload(item), findings=findings), form)
        assert made.files == ()
        (line,) = made.left
        assert line.startswith("Deployment shop/web, container app: ")
        assert why in line
        assert "another" not in line


def test_a_resource_that_an_autoscaler_scales_by_is_left_alone_and_reported() -> None:
    scaled = container(recommended=size(100, 768, 200, 768), rules=("scaled-by-use",))
    message = finding("scaled-by-use", CPU, "HorizontalPodAutoscaler web counts use against it")
    (changed,), left = changes_of(review(workload(scaled), findings=(message,)))
    assert difference(changed.containers[0]) == {
        "requests": {"memory": "768Mi"},
        "limits": {"memory": "768Mi"},
    }
    (line,) = left
    assert line == (
        "Deployment shop/web, container app: cpu stays request 100m limit 200m: "
        "scaled-by-use: HorizontalPodAutoscaler web counts use against it"
    )


def test_a_finding_about_what_changes_is_not_reported_as_left() -> None:
    message = finding("cpu-limit", "spec.template.spec.containers[app].resources.limits.cpu", "200m")
    assert changes_of(review(findings=(message,)))[1] == []


def test_a_limit_that_should_not_be_is_removed() -> None:
    (changed,), _ = changes_of(review())
    assert difference(changed.containers[0]) == {
        "requests": {"cpu": "587m", "memory": "768Mi"},
        "limits": {"cpu": None, "memory": "768Mi"},
    }


def test_a_limit_that_is_not_there_is_not_removed() -> None:
    (changed,), _ = changes_of(review(workload(container(now=size(100, 128)))))
    assert difference(changed.containers[0])["limits"] == {"memory": "768Mi"}


def test_the_whole_has_other_resources_as_well() -> None:
    item = container(others={"nvidia.com/gpu": "1", "a": "2"}, other_requests={"ephemeral-storage": "1e3"})
    (changed,), _ = changes_of(review(workload(item)))
    assert whole(changed.containers[0]) == {
        "requests": {"cpu": "587m", "memory": "768Mi", "ephemeral-storage": "1e3"},
        "limits": {"memory": "768Mi", "a": "2", "nvidia.com/gpu": "1"},
    }


def test_a_container_that_stays_is_whole_as_it_is_now() -> None:
    (changed,), _ = changes_of(review(workload(container(), container("b", verdict="keep"))))
    assert whole(changed.containers[1]) == {
        "requests": {"cpu": "100m", "memory": "128Mi"},
        "limits": {"cpu": "200m", "memory": "256Mi"},
    }
    assert [item.name for item in changed.resized] == ["app"]


@pytest.mark.parametrize(
    ("names", "main"),
    [
        pytest.param(("a", "web"), "web", id="the one called as the workload"),
        pytest.param(("a", "b"), "a", id="else the first"),
    ],
)
def test_the_main_container_is(names: tuple[str, ...], main: str) -> None:
    sidecar = container("zeroth", is_sidecar=True)
    (changed,), _ = changes_of(review(workload(sidecar, *map(container, names))))
    assert changed.main is not None
    assert changed.main.name == main


def test_containers_stand_in_the_order_of_the_review_unless_it_says_where() -> None:
    items = (container("s", is_sidecar=True), container("a"), container("b"), container("c", index=7))
    (changed,), _ = changes_of(review(workload(*items)))
    assert [item.index for item in changed.containers] == [None, 0, 1, 7]


def test_only_some_workloads_are_patched_when_asked_and_the_others_are_not_reported() -> None:
    both = review(workload(), workload(container(verdict="keep"), name="b"), workload(name="c"))
    changed, left = changes_of(both, {WEB})
    assert [item.id for item in changed] == [WEB]
    assert left == []


def test_patches_come_by_name_whatever_the_order_of_a_review() -> None:
    names = ("web", "a", "b.c", "b-c")
    there = review(*(workload(name=name) for name in names))
    back = review(*(workload(name=name) for name in reversed(names)))
    for form in FORMS:
        assert make(there, form) == make(back, form)


@pytest.mark.parametrize(
    ("items", "why"),
    [
        pytest.param((workload(), workload()), "Deployment shop/web: is in the review twice", id="twice"),
        pytest.param((workload(name="a/b"),), "Deployment shop/a/b: is no name", id="a slash"),
        pytest.param((workload(namespace=""),), "Deployment /web: is no name", id="no namespace"),
        pytest.param(
            (workload(container(), container()),), "more than one container called app", id="containers"
        ),
    ],
)
def test_what_cannot_be_told_apart_is_left_out(items: tuple[object, ...], why: str) -> None:
    made = make(review(*items), "helm")  # type: ignore[arg-type]
    assert len(made.files) == len(items) - 1
    assert why in made.left[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("item", "why"),
    [
        pytest.param(workload(name="a\nb"), "the name 'a b' is no name", id="a new line"),
        pytest.param(workload(name="Web"), "the name 'Web' is", id="uppercase"),
        pytest.param(workload(name='a"b'), "the name", id="a quote"),
        pytest.param(workload(name="a..b"), "the name 'a..b'", id="two dots"),
        pytest.param(workload(name="a" * 254), "the name", id="too long"),
        pytest.param(workload(namespace="a.b"), "the namespace 'a.b'", id="a namespace with a dot"),
        pytest.param(workload(kind="De ploy"), "the kind 'De ploy'", id="a kind"),
        pytest.param(workload(container("a\u202eb")), "the container 'a\ufffdb'", id="a container"),
        pytest.param(workload(init_containers=("\x1b[2J",)), "the init container", id="an init container"),
    ],
)
def test_what_no_object_can_be_called_is_left_out(item: WorkloadReview, why: str, form: str) -> None:
    made = make(review(item), form)
    assert made.files == ()
    (line,) = made.left
    assert f": {why}" in line


def test_every_name_that_an_object_can_have_is_patched() -> None:
    names = ("a", "a.b-c.d", "0", "a" * 253)
    made = make(review(*(workload(container("c" * 63), name=name) for name in names)), "helm")
    assert len(made.files) == len(names)
    assert made.left == ()


def test_an_unknown_form_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadInput, match="'pulumi' is no form of patches: there is terraform, tfvars, kustom"):
        make(review(), "pulumi")


def test_every_container_of_a_review_is_patched_or_reported() -> None:
    sample = sample_review()
    for form in FORMS:
        made = make(sample, form)
        text = "".join(file.text for file in made.files)
        for item in sample.workloads:
            assert f"{item.namespace}/{item.name}" in text + "".join(made.left) or form == "json"
        message = "\n".join(made.left)
        for who in ("shop/checkout, container proxy", "shop/cart", "web/fresh", "batch/report"):
            assert who in message
        assert "cpu stays request 400m limit none: hpa" in message
