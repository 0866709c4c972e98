"""The page of capacity: every way in which an audit can be there or missing, and what if with its answer."""

import asyncio
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.capacity.builders import NOW, node, policy, scale_set, snapshot
from tests.capacity.kept_audits import Home, busy
from tests.web.clock import SetClock

from remuda.capacity.answers import BarPart
from remuda.capacity.pages import capacity_page, draw_label
from remuda.capacity.routes import VIEWS
from remuda.control.routes import Call
from remuda.errors import BadInput, NotFound
from remuda.ledger import documents
from remuda.ledger.store import InlineStore
from remuda.model.times import DAY
from remuda.web.access import Person
from remuda.web.ask import AskRoutes
from remuda.web.draw import environment
from remuda.web.page import Content, Role


class Shown:
    """What the page of a data directory shows."""

    def __init__(self, home: Home) -> None:
        self.home = home

    def content(self, **query: str) -> Content:
        with self.home.store() as store:
            return asyncio.run(capacity_page(AskRoutes(VIEWS, store, SetClock()), Call({}, query)))

    def html(self, **query: str) -> str:
        content = self.content(**query)
        made = environment(["remuda.capacity"])
        frame = {"person": Person("ada", Role.READ), "menu": (), "version": "1", "now": 0, "may_write": False}
        html = made.get_template(content.template).render({**frame, "title": content.title, **content.values})
        return re.sub(r"\s+", " ", html)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def page(home: Home) -> Shown:
    return Shown(home)


def test_without_an_audit_it_says_which_command_makes_one() -> None:
    store = InlineStore()
    content = asyncio.run(capacity_page(AskRoutes(VIEWS, store, SetClock()), Call({}, {})))
    assert content.values["chosen"] is None
    store.close()


def test_the_empty_page_names_the_command(home: Home, page: Shown) -> None:
    documents.keep(home.path, "rightsize/x", NOW, {})
    assert "<code>remuda capacity audit --policy FILE</code> makes one" in page.html()


def test_the_newest_audit_is_shown_with_bars_and_boxes_that_a_table_says_too(home: Home, page: Shown) -> None:
    home.keep(busy(3))
    html = page.html()
    assert "nix-kvm runs 3 of at most 4: 1 more may start" in html
    assert 'aria-label="nix-kvm running: vm-test: 3 running; free: 1 free"' in html
    assert 'aria-label="honey 32 CPU: ' in html
    assert html.count("4 times 2 CPU of vm-test") == 2, "once at the picture, once in the table"
    assert "lower maxima until they come to 4" in html
    assert "<style" not in html
    assert " style=" not in html, "the policy of the page allows none"


def test_another_audit_and_another_label_are_chosen(home: Home, page: Shown) -> None:
    home.keep(busy(1), at=NOW)
    home.keep(
        replace(busy(2), source="other", scale_sets=(scale_set(labels=("docker",)),)),
        at=NOW + DAY,
        docker=policy(label="docker"),
        nix=policy(label="nix"),
    )
    newest, older = page.content().values["audits"]
    assert (newest.source, older.source) == ("other", "cluster")
    assert page.content(audit=str(older.id)).values["chosen"] == older
    assert page.content(label="NIX").values["shown"].chosen == "nix"


def test_an_address_stays_true_when_a_newer_audit_is_kept_and_says_that_there_is_one(
    home: Home, page: Shown
) -> None:
    home.keep(busy(1), at=NOW)
    home.keep(busy(4), at=NOW + DAY)
    older = page.html(audit="1", ceiling="6")
    assert "nix-kvm runs 1 of at most 4" in older
    assert "<code>--ceiling nix-kvm=6</code>" in older
    assert '<a href="/capacity?audit=2&amp;label=nix-kvm">There is a newer audit of it' in older
    assert "There is a newer audit" not in page.html()
    assert "There is a newer audit" not in page.html(audit="2")


def test_what_another_version_kept_is_said_and_the_others_can_be_opened(home: Home, page: Shown) -> None:
    home.keep()
    documents.keep(home.path, "capacity/newer", NOW + DAY, {"schema": "remuda.dev/capacity-kept/v9"})
    html = page.html()
    assert "capacity-kept/v9, and this remuda reads remuda.dev/capacity-kept/v1: audit again" in html
    assert 'href="/capacity?audit=1"' in html


def test_a_policy_that_cannot_be_read_any_more_is_said(home: Home, page: Shown) -> None:
    broken = {"schema": "remuda.dev/capacity-kept/v1", "policies": {"a": {"label": 3}}}
    documents.keep(home.path, "capacity/x", NOW, broken)
    with pytest.raises(BadInput, match="a policy of the kept audit cannot be read"):
        page.content()


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"audit": "first"}, "audit wants the number of one, found 'first'"),
        ({"audit": "99"}, "no audit 99 is kept, it may have been forgotten for newer ones; there is: 1"),
        ({"label": "nix-kv"}, "did you mean nix-kvm"),
    ],
)
def test_what_is_wrong_with_the_address_is_said(
    home: Home, page: Shown, query: dict[str, str], says: str
) -> None:
    home.keep()
    with pytest.raises((BadInput, NotFound), match=says):
        page.content(**query)


def test_what_if_is_answered_with_before_and_after_and_reasons(home: Home, page: Shown) -> None:
    home.keep(busy(1))
    html = page.html(ceiling="9", set="vm-test", max="9", like="honey")
    assert "This breaks nothing that holds now; 3 errors would stay." in html
    assert "<code>--set vm-test.max=9</code> <code>--ceiling nix-kvm=9</code>" in html
    assert "one-more counts as empty" in html
    assert '<tr class="changed"><th scope="row">ceiling</th><td>4</td><td>9</td><td>changed</td></tr>' in html
    assert "<td>4</td><td>9</td>" in html
    assert 'value="9"' in html, "what was written stays"
    assert "6 at maximum: vm-test 4, docs 2 → 11 at maximum: vm-test 9, docs 2" in html


def test_findings_that_go_are_listed(home: Home, page: Shown) -> None:
    home.keep(busy(1))
    html = page.html(set="vm-test", max="1", ceiling="4")
    assert '<th scope="row">goes</th><td>error</td><td>ceiling-exceeded</td>' in html
    assert "This breaks nothing" in html


def test_bad_input_is_said_at_its_field_and_nothing_is_tried(home: Home, page: Shown) -> None:
    home.keep(busy(1))
    html = page.html(ceiling="x", set="vm-tst", max="2", more="--nope 3")
    assert '<p class="wrong" id="ceiling-wrong">&#34;x&#34; is no whole number from 0 to 100,000</p>' in html
    assert '<p class="wrong" id="set-wrong">there is no set vm-tst; did you mean vm-test?</p>' in html
    assert 'id="more-wrong">there is no option' in html
    assert "Nothing was tried" in html
    assert "verdict" not in html
    assert "verdict" not in page.html(ceiling="5", more="--nope 3"), "all or nothing"


def test_a_label_without_sets_or_nodes_is_shown(home: Home, page: Shown) -> None:
    home.keep(snapshot())
    html = page.html()
    assert "No set carries the label." in html
    assert "No node is admitted for it, or nodes were not read." in html


def test_names_are_escaped(home: Home, page: Shown) -> None:
    home.keep(snapshot(scale_set("<b>", labels=("<script>",)), node("<i>")), kvm=policy(label="<script>"))
    html = page.html()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_parts_of_a_bar_fill_it_and_small_ones_have_no_name(home: Home) -> None:
    home.keep(snapshot(scale_set(max=99), scale_set("a-long-name", max=1), node()), kvm=policy(ceiling=100))
    (label,) = home.ask("/v1/capacity/audits/1").labels
    drawn = draw_label(label)
    maxima = drawn.bars[1]
    assert [(each.x, each.width, each.is_named) for each in maxima.parts] == [
        (0.0, 99.0, True),
        (99.0, 1.0, False),
    ]
    assert drawn.ceiling == 100
    assert maxima.parts[1].part == BarPart("a-long-name", "maximum", 1, "at most 1")


def test_a_page_asks_only_questions(home: Home) -> None:
    home.keep()
    with home.store() as store:
        ask = AskRoutes(VIEWS, store, SetClock())
        with pytest.raises(NotFound, match="there is no POST /v1/capacity/audits"):
            asyncio.run(ask.question("/v1/capacity/audits", None, object))
