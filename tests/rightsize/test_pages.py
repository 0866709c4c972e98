"""The page of sizes: what is kept of the newest review, sorted, with every way in which it can be missing."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from markupsafe import escape
from tests.rightsize.report.reviews import sample_review
from tests.web.clock import SetClock

from remuda.control.documents import VIEWS
from remuda.control.routes import Call
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.ledger.store import FILE, InlineStore, SqliteStore
from remuda.model.workloads import WorkloadId
from remuda.rightsize.pages import MOST, sizes_page, workload_page
from remuda.rightsize.patches import FORMS, make, text_of
from remuda.rightsize.report.kept import keep
from remuda.rightsize.report.sizes import write_key
from remuda.rightsize.review import Review, WorkloadReview
from remuda.web.access import Person
from remuda.web.ask import AskRoutes
from remuda.web.draw import environment
from remuda.web.page import Ask, Content, Role


class Place:
    """A data directory, and what its page of sizes shows."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def keep(self, review: Review, scope: str = "") -> None:
        assert keep(self.home, review, scope) == ""

    def workload(self, **query: str) -> Content:
        return self._content(workload_page, query)

    def content(self, **query: str) -> Content:
        return self._content(sizes_page, query)

    def _content(self, page: Callable[[Ask, Call], Awaitable[Content]], query: dict[str, str]) -> Content:
        store = SqliteStore(self.home / FILE)

        async def render() -> Content:
            return await page(AskRoutes(VIEWS, store, SetClock()), Call({}, query))

        try:
            return asyncio.run(render())
        finally:
            store.close()

    def html(self, content: Content) -> str:
        made = environment(["remuda.rightsize"])
        person = Person("a person", Role.READ)
        frame = {
            "title": content.title,
            "person": person,
            "version": "1",
            "now": 0,
            "menu": (),
            "may_write": False,
        }
        return made.get_template(content.template).render(frame | dict(content.values))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_a_review_it_says_how_to_make_one(place: Place) -> None:
    assert "remuda rightsize review" in place.html(place.content())


def test_the_newest_review_is_shown_with_what_is_and_what_is_advised(place: Place) -> None:
    review = sample_review()
    place.keep(review)
    html = place.html(place.content())
    for workload in review.workloads:
        assert f"{workload.namespace}/{workload.name}" in html
    assert " → " in html
    for finding in review.findings:
        assert f"<b>{finding.rule}</b>" in html


def test_findings_are_grouped_by_their_cause(place: Place) -> None:
    review = sample_review()
    finding = review.findings[0]
    place.keep(msgspec.structs.replace(review, findings=(finding,) * 5))
    (cause,) = place.content().values["causes"]
    assert (cause.rule, len(cause.found)) == (finding.rule, 5)
    assert "5 times" in place.html(place.content())


KEYS: dict[str, Callable[[WorkloadReview], Any]] = {
    "cpu": lambda each: -each.waste.cpu_millicores,
    "memory": lambda each: -each.waste.memory_bytes,
    "pods": lambda each: -each.replicas,
    "name": lambda each: (each.namespace, each.name, each.kind),
}


def shown(content: Content) -> list[str]:
    return [row.key for row in content.values["rows"]]


@pytest.mark.parametrize("sort", KEYS)
def test_workloads_are_sorted_as_asked_and_the_other_way(place: Place, sort: str) -> None:
    review = sample_review()
    place.keep(review)
    expected = [write_key(each) for each in sorted(review.workloads, key=KEYS[sort])]
    assert shown(place.content(sort=sort)) == expected
    assert shown(place.content(sort=f"-{sort}")) == expected[::-1]


def test_what_matters_most_comes_first_when_nobody_asks(place: Place) -> None:
    place.keep(sample_review())
    assert shown(place.content()) == [write_key(each) for each in sample_review().workloads]


def test_a_heading_leads_to_the_same_workloads_sorted_and_then_the_other_way(place: Place) -> None:
    place.keep(sample_review())
    content = place.content(namespace="shop")
    link = content.values["sort_link"]("cpu")
    assert parse_qs(urlsplit(link).query) == {"review": ["1"], "sort": ["cpu"], "namespace": ["shop"]}
    sorted_so = place.content(namespace="shop", sort="cpu")
    assert "sort=-cpu" in sorted_so.values["sort_link"]("cpu")
    assert '<th scope="col" class="n" aria-sort="descending">' in place.html(sorted_so)
    assert sorted_so.values["sorted_by"]("name") == ""
    assert place.content(sort="name").values["sorted_by"]("name") == "ascending"
    assert place.content(sort="-name").values["sorted_by"]("name") == "descending"


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        pytest.param({"namespace": "shop"}, lambda each: each.namespace == "shop", id="of a namespace"),
        pytest.param({"risk": "will-oom"}, lambda each: each.risk == "will-oom", id="of a risk"),
        pytest.param({"risk": "none"}, lambda each: not each.risk, id="without a risk"),
        pytest.param({"find": "WEB front"}, lambda each: "front" in each.name, id="by words of its name"),
        pytest.param({"find": "cronjob"}, lambda each: each.kind == "CronJob", id="by its kind"),
        pytest.param(
            {"namespace": "web", "find": "provisional"},
            lambda each: each.name == "fresh",
            id="by its namespace and its advice",
        ),
    ],
)
def test_only_workloads_that_were_asked_for_are_shown(
    place: Place, query: dict[str, str], fits: Callable[[WorkloadReview], bool]
) -> None:
    review = sample_review()
    place.keep(review)
    expected = [write_key(each) for each in review.workloads if fits(each)]
    assert shown(place.content(**query)) == expected
    assert 0 < len(expected) < len(review.workloads)


def test_when_no_workload_is_like_that_it_says_so_and_leads_back(place: Place) -> None:
    place.keep(sample_review())
    html = place.html(place.content(find="no-such"))
    assert "No workload is like that." in html
    assert '<a href="/sizes?review=1&amp;sort=risk">Show all 7.</a>' in html


def test_more_workloads_than_fit_are_counted(place: Place) -> None:
    review = sample_review()
    many = tuple(msgspec.structs.replace(review.workloads[0], name=f"w{n}") for n in range(MOST + 5))
    place.keep(msgspec.structs.replace(review, workloads=many))
    assert "5 more are not shown" in place.html(place.content())


def test_a_workload_has_charts_findings_steps_and_the_patches_of_the_command(place: Place) -> None:
    review = sample_review()
    place.keep(review)
    item = review.workloads[0]
    content = place.workload(name=write_key(item))
    workload = content.values["shown"]
    assert content.title == f"{item.namespace}/{item.name}"
    container = workload.containers[0]
    assert [len(chart.times) for chart in container.charts] == [192, 192]
    assert [each.finding for each in container.findings] == [
        each
        for each in review.findings
        if each.object == f"{item.kind} {item.namespace}/{item.name}" and "[app]" in each.field
    ]
    assert container.findings
    only = [WorkloadId(item.namespace, item.kind, item.name)]
    assert {patch.form: patch.text for patch in workload.patches} == {
        form: text_of(make(review, form, only), form) for form in FORMS
    }
    html = place.html(content)
    assert html.count("data-chart=") == 2 * len(item.containers)
    for patch in workload.patches:
        assert str(escape(patch.text)) in html
        assert f'data-copy="p-{patch.form}"' in html
    for step in item.containers[0].steps:
        assert str(escape(step.text)) in html


def test_a_review_that_was_kept_by_an_older_version_shows_all_but_charts(place: Place) -> None:
    review = sample_review()
    item = review.workloads[0].containers[0]
    assert item.evidence is not None
    old = msgspec.structs.replace(item, evidence=msgspec.structs.replace(item.evidence, series=None))
    workload = msgspec.structs.replace(review.workloads[0], containers=(old,))
    place.keep(msgspec.structs.replace(review, workloads=(workload,)))
    html = place.html(place.workload(name=write_key(workload)))
    assert html.count("review again to see it") == 2
    assert "data-chart=" not in html
    assert "no use to draw; request and limit 512Mi; advised 816Mi" in html


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({}, "no workload of this review is called ''"),
        ({"name": "shop/Deployment/chekout"}, "near to it: shop/Deployment/checkout"),
        ({"name": "x", "review": "99"}, "there is no review 99 any more"),
    ],
)
def test_a_workload_that_is_not_there_is_named(place: Place, query: dict[str, str], says: str) -> None:
    place.keep(sample_review())
    with pytest.raises(NotFound, match=says):
        place.workload(**query)


def test_a_workload_without_any_review_says_how_to_make_one(place: Place) -> None:
    with pytest.raises(NotFound, match="remuda rightsize review makes one"):
        place.workload(name="shop/Deployment/checkout")


def test_another_review_is_chosen_by_its_number(place: Place) -> None:
    place.keep(sample_review())
    place.keep(
        msgspec.structs.replace(sample_review(), source="other", at=sample_review().at + 1, workloads=())
    )
    newest, older = place.content().values["reviews"]
    assert (newest.name, newest.is_chosen) == ("other", True)
    assert "There is no workload." in place.html(place.content())
    chosen = place.content(review=older.link.rpartition("=")[2])
    assert chosen.values["review"].source == sample_review().source
    assert [each.is_chosen for each in chosen.values["reviews"]] == [False, True]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"sort": "colour"}, "sort wants one of"),
        ({"risk": "high"}, "risk wants one of will-oom, leak, starved, none"),
        ({"review": "first"}, "wants the number of one"),
        ({"review": "99"}, "there is no review 99 any more"),
    ],
)
def test_what_is_wrong_with_the_address_is_said(place: Place, query: dict[str, str], says: str) -> None:
    place.keep(sample_review())
    with pytest.raises(BadInput, match=says):
        place.content(**query)


def test_a_review_of_another_version_is_not_guessed_at(place: Place) -> None:
    place.keep(msgspec.structs.replace(sample_review(), schema="remuda.dev/rightsize-review/v9"))
    with pytest.raises(Unavailable, match="v9: review again"):
        place.content()


def test_documents_are_asked_for_by_family_and_number() -> None:
    store = InlineStore()
    ask = AskRoutes(VIEWS, store, SetClock())
    assert asyncio.run(ask.get("/v1/documents", list, family="rightsize")) == []
    for family in ("", "../x", "x" * 50):
        with pytest.raises(BadInput, match="family wants a word"):
            asyncio.run(ask.get("/v1/documents", list, family=family))
    with pytest.raises(NotFound, match="there is no document 7"):
        asyncio.run(ask.get("/v1/documents/7", dict))
    store.close()
