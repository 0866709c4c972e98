"""The page of sizes: what is kept of the newest review, sorted, with every way in which it can be missing."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from tests.rightsize.report.reviews import sample_review
from tests.web.clock import SetClock

from remuda.control.documents import VIEWS
from remuda.control.routes import Call
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.ledger.store import FILE, InlineStore, SqliteStore
from remuda.rightsize.pages import sizes_page
from remuda.rightsize.report.kept import keep
from remuda.rightsize.review import Review
from remuda.web.ask import AskRoutes
from remuda.web.draw import environment
from remuda.web.page import Content


class Place:
    """A data directory, and what its page of sizes shows."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def keep(self, review: Review, scope: str = "") -> None:
        assert keep(self.home, review, scope) == ""

    def content(self, **query: str) -> Content:
        store = SqliteStore(self.home / FILE)
        try:
            return asyncio.run(sizes_page(AskRoutes(VIEWS, store, SetClock()), Call({}, query)))
        finally:
            store.close()

    def html(self, **query: str) -> str:
        content = self.content(**query)
        made = environment(["remuda.rightsize"])
        source = made.loader.get_source(made, content.template)[0] if made.loader else ""
        block = source.partition("{% block main %}")[2].partition("{% endblock %}")[0]
        return made.from_string(block).render(content.values)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_a_review_it_says_how_to_make_one(place: Place) -> None:
    assert "remuda rightsize review" in place.html()


def test_the_newest_review_is_shown_with_what_is_and_what_is_advised(place: Place) -> None:
    review = sample_review()
    place.keep(review)
    html = place.html()
    for workload in review.workloads:
        assert f"{workload.namespace}/{workload.name}" in html
    assert " → " in html
    for finding in review.findings:
        assert f"<code>{finding.rule}</code>" in html


def test_findings_of_one_rule_are_one_line(place: Place) -> None:
    review = sample_review()
    finding = review.findings[0]
    place.keep(msgspec.structs.replace(review, findings=(finding,) * 5))
    (cause,) = place.content().values["shown"].causes
    assert (cause.rule, cause.times) == (finding.rule, 5)


@pytest.mark.parametrize("sort", ["cpu", "memory", "name"])
def test_workloads_are_sorted_as_asked(place: Place, sort: str) -> None:
    review = sample_review()
    place.keep(review)
    shown = [(row.namespace, row.name) for row in place.content(sort=sort).values["rows"]]
    keys = {
        "cpu": lambda each: -each.waste.cpu_millicores,
        "memory": lambda each: -each.waste.memory_bytes,
        "name": lambda each: (each.namespace, each.name, each.kind),
    }
    assert shown == [(each.namespace, each.name) for each in sorted(review.workloads, key=keys[sort])]


def test_another_review_is_chosen_by_its_number(place: Place) -> None:
    place.keep(sample_review())
    place.keep(
        msgspec.structs.replace(sample_review(), source="other", at=sample_review().at + 1, workloads=())
    )
    newest, older = place.content().values["reviews"]
    assert newest.kind == "rightsize/other"
    assert "There is no workload." in place.html()
    assert place.content(review=str(older.id)).values["chosen"] == older


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"sort": "colour"}, "sort wants one of"),
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
