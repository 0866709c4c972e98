"""What changed since the last review: what is new, what was followed, and what was solved."""

from typing import Any

import msgspec
import pytest
from tests.rightsize.report.reviews import FINDINGS, GI, MI, changed, sample_review, size

from remuda.rightsize.report.compare import Changes, Place, changes
from remuda.rightsize.review import Review
from remuda.rightsize.snapshot import Size

APP = Place("shop", "Deployment", "checkout", "app")
TRAINER = Place("ml", "Deployment", "trainer", "trainer")


def with_container(review: Review, name: str, **fields: Any) -> Review:
    """The review with other fields of the first container of a workload."""
    workload = next(item for item in review.workloads if item.name == name)
    first, *rest = workload.containers
    return changed(review, name, containers=(msgspec.structs.replace(first, **fields), *rest))


def is_empty(found: Changes) -> bool:
    return not any((found.new, found.gone, found.moved, found.risks, found.appeared, found.solved))


def test_a_review_is_not_different_from_itself() -> None:
    found = changes(sample_review(), sample_review())
    assert is_empty(found)
    assert {item.outcome for item in found.heard} == {"not"}
    assert [item.place.name for item in found.heard] == ["checkout", "trainer", "front"]


def test_what_is_provisional_kept_or_left_was_nothing_to_follow() -> None:
    heard = {item.place for item in changes(sample_review(), sample_review()).heard}
    assert all(place.name not in ("fresh", "cart", "report") for place in heard)
    assert Place("shop", "Deployment", "checkout", "proxy") not in heard


def test_new_and_gone_containers_are_named_in_the_order_of_the_reviews() -> None:
    review = sample_review()
    fewer = msgspec.structs.replace(review, workloads=review.workloads[1:])
    proxy = Place("shop", "Deployment", "checkout", "proxy")
    assert changes(fewer, review).new == (APP, proxy)
    assert changes(review, fewer).gone == (APP, proxy)
    one = changed(review, "checkout", containers=review.workloads[0].containers[:1])
    assert changes(review, one).gone == (proxy,)


def test_workloads_of_one_name_and_two_kinds_do_not_mix() -> None:
    review = sample_review()
    without = msgspec.structs.replace(
        review, workloads=tuple(item for item in review.workloads if item.kind != "StatefulSet")
    )
    found = changes(review, without)
    assert Place("web", "StatefulSet", "front", "front") in found.gone
    assert not found.moved


@pytest.mark.parametrize(
    ("now", "outcome"),
    [
        pytest.param(size(4_065, None, None, None), "in part", id="the CPU alone"),
        pytest.param(size(8_000, 65_536, 16_000, 65_536), "not", id="nothing"),
        pytest.param(size(6_000, 32_768, 12_000, 32_768), "otherwise", id="something else"),
    ],
)
def test_what_became_of_a_recommendation(now: Size, outcome: str) -> None:
    before = sample_review()
    found = changes(before, with_container(before, "trainer", now=now))
    heard = next(item for item in found.heard if item.place == TRAINER)
    assert heard.outcome == outcome
    assert heard.now == now
    assert heard.then == size(8_000, 65_536, 16_000, 65_536)


def test_what_is_as_recommended_was_followed() -> None:
    before = sample_review()
    wanted = before.workloads[2].containers[0].recommended
    found = changes(before, with_container(before, "trainer", now=wanted))
    assert next(item for item in found.heard if item.place == TRAINER).outcome == "followed"


def test_a_recommendation_that_changed_shows_both_amounts() -> None:
    before = sample_review()
    after = with_container(before, "trainer", recommended=size(None, 20 * 1024, None, 20 * 1024))
    moved = {item.field: (item.before, item.after) for item in changes(before, after).moved}
    assert moved["requests.cpu"] == (4_065, None)
    assert moved["limits.memory"] == (20_224 * MI, 20 * GI)
    assert set(moved) == {"requests.cpu", "requests.memory", "limits.memory"}


def test_risks_that_come_and_go_are_reported() -> None:
    review = sample_review()
    calm = with_container(review, "checkout", risk="")
    came, went = changes(calm, review).risks, changes(review, calm).risks
    assert [(item.place, item.before, item.after) for item in came] == [(APP, "", "will-oom")]
    assert [(item.place, item.before, item.after) for item in went] == [(APP, "will-oom", "")]


def test_a_finding_is_the_same_one_whatever_it_counts() -> None:
    review = sample_review()
    reworded = msgspec.structs.replace(FINDINGS[0], is_="512Mi; killed twice")
    other = msgspec.structs.replace(FINDINGS[1], field="elsewhere")
    found = changes(review, msgspec.structs.replace(review, findings=(reworded, other, *FINDINGS[3:])))
    assert found.appeared == (other,)
    assert found.solved == (FINDINGS[1], FINDINGS[2])


def test_what_cannot_be_compared_is_noted() -> None:
    review = msgspec.structs.replace(sample_review(), is_partial=False)
    assert changes(review, review).notes == ()
    other = msgspec.structs.replace(review, source="b", strategy="krr", currency="", is_partial=True)
    assert changes(review, other).notes == (
        "the one before was of https://cluster.example:6443, this one is of b",
        "the one before was by vpa, this one is by krr",
        "money was in EUR, and is in none",
        "this one is partial: what is new, gone or solved may only not have been read",
    )
