"""The page of the fleet: what it shows of records and of kept plans, what may be chosen, and what it says otherwise."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, run
from tests.fleet.builders import NOW, need
from tests.fleet.test_shard import Process
from tests.web.clock import SetClock

from remuda.control.loops import VIEWS as RECORDED
from remuda.control.routes import Call
from remuda.errors import BadInput, NotFound
from remuda.fleet.pages import fleet_page, hourly
from remuda.fleet.routes import VIEWS
from remuda.jobs import JOBS
from remuda.ledger.place import open_read_only
from remuda.ledger.store import FILE, InlineStore, Store
from remuda.model.times import MINUTE
from remuda.web.access import Person
from remuda.web.ask import AskRoutes
from remuda.web.draw import environment, regions
from remuda.web.page import Role
from remuda.web.why import make_why

__all__ = ["run"]
JOBS.teach()
FILES = ("--inventory", "examples/fleet-inventory.yaml", "--demand", "examples/fleet-demand.yaml")
FRAME: dict[str, Any] = {
    "menu": (), "person": Person("me", Role.READ), "version": "1", "now": NOW, "may_write": False,
}  # fmt: skip


def drawn(store: Store, render: Any = fleet_page, **query: object) -> str:
    """The HTML of the page."""
    ask = AskRoutes((*VIEWS, *RECORDED), store, SetClock(NOW + MINUTE))
    content = asyncio.run(render(ask, Call({}, {name: str(value) for name, value in query.items()})))
    page = environment(["remuda.fleet"]).get_template(content.template)
    return page.render(FRAME | {"title": content.title} | dict(content.values))


@pytest.fixture
def recorded(tmp_path: Path) -> Store:
    made = Process(tmp_path, need("web", 1), need("db", 3), need("gpu", 2, priority=-5))
    for _ in range(2):
        asyncio.run(made.cycle())
    made.store.close()
    return open_read_only(tmp_path / FILE)


@pytest.fixture
def kept(tmp_path: Path, run: Run) -> Store:
    run("fleet", "plan", *FILES, "--keep", "--data-dir", tmp_path)
    return open_read_only(tmp_path / FILE)


def test_a_recorded_fleet_shows_machines_needs_spending_domains_and_its_shard(recorded: Store) -> None:
    html = drawn(recorded)
    assert "2 machines for 1 cluster; 2 needs are not met, of 3." in html
    assert '<a href="/why?kind=need&amp;name=c/db">c/db</a>' in html
    assert "held by equal or higher priority" in html
    assert 'data-areas="{&#34;title&#34;:&#34;Machines by zone and type&#34;' in html
    assert "Machines by zone and type as a table" in html
    assert "all were read since it started" in html
    assert set(regions(html)) == {
        "fleet-head", "fleet-map", "fleet-needs", "fleet-spending", "fleet-zones", "fleet-types", "fleet-clusters",
        "fleet-shard",
    }  # fmt: skip


def test_what_is_sent_again_does_not_change_while_nothing_does(recorded: Store) -> None:
    assert regions(drawn(recorded)) == regions(drawn(recorded))


def test_choosing_keeps_what_is_chosen_in_every_link(recorded: Store) -> None:
    html = drawn(recorded, zone="a", state="configured")
    assert '<a href="/fleet?zone=a&amp;state=configured&amp;cluster=c">c</a>' in html
    assert '<a href="/fleet">all machines</a>' in html
    assert "<option selected>configured</option>" in html
    assert "No machine is like that now." in drawn(recorded, state="failed")


def test_at_another_time_the_needs_lead_to_why_at_that_time(recorded: Store) -> None:
    html = drawn(recorded, at=NOW)
    assert f"/why?kind=need&amp;name=c/db&amp;at={NOW}" in html
    assert "As of" in html


def test_a_kept_plan_is_shown_with_what_would_be_made_and_given_back(kept: Store) -> None:
    html = drawn(kept)
    assert "28 machines for 3 clusters; 2 needs are not met, of 6." in html
    assert "plan on examples/fleet-inventory.yaml, examples/fleet-demand.yaml" in html
    assert "$2.36: $2.36 more for what is made, $0.024 less for what is given back" in html
    assert "aws may cost $2.50 an hour: $0.12 of that is left, too little for more" in html
    assert "6 assigned, 8 created, 1 preempted, 1 reclaimed, 1 released" in html
    assert '<a href="/fleet?plan=1&amp;need=ci%2Fnightly">ci/nightly</a>' in html
    assert "data-slider" not in html


def test_a_need_of_a_kept_plan_is_explained_in_its_place(kept: Store) -> None:
    html = drawn(kept, plan=1, need="ci/nightly")
    assert '<h2 id="need-title">ci/nightly misses 4 of 8 units</h2>' in html
    assert "without a cap on spending" in html
    with pytest.raises(NotFound, match=r"did you mean ci/nightly\?"):
        drawn(kept, plan=1, need="ci/nigtly")


def test_of_several_plans_each_can_be_chosen(tmp_path: Path, run: Run) -> None:
    for _ in range(2):
        run("fleet", "plan", *FILES, "--keep", "--data-dir", tmp_path)
    html = drawn(open_read_only(tmp_path / FILE), plan=1)
    assert '<a href="/fleet">newest</a>' in html
    assert '<a href="/fleet?plan=1" aria-current="true">' in html
    assert '<a href="/fleet?plan=2">' in html


def test_where_there_is_nothing_it_says_how_to_have_something() -> None:
    html = drawn(InlineStore())
    assert "no shard decided, and no plan is kept" in html
    assert "remuda simulate fleet --record DIRECTORY" in html
    assert list(regions(html)) == ["fleet-head"]


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ({"at": "yesterday"}, BadInput, "at wants milliseconds"),
        ({"at": NOW * 2}, BadInput, "in the future"),
        ({"zone": "aa"}, NotFound, "did you mean a"),
        ({"cluster": "C-"}, NotFound, "did you mean c"),
        ({"state": "busy"}, BadInput, "state wants one of"),
        ({"plan": "-1"}, BadInput, "plan wants the number"),
        ({"plan": 7}, NotFound, "no plan 7 is kept"),
    ],
)
def test_what_is_not_there_is_said(
    recorded: Store, query: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        drawn(recorded, **query)


def test_the_page_why_offers_needs_and_explains_one(recorded: Store) -> None:
    html = drawn(recorded, make_why({}).render, kind="need", name="c/db")
    assert "<option selected>need</option>" in html
    assert "c/db misses 1 of 3 units" in html or "c/db misses 2 of 3 units" in html
    assert "gives all" in html
    assert "did you mean c/db?" in drawn(recorded, make_why({}).render, kind="need", name="c/bd")


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "$0.00"),
        (24_000, "$0.024"),
        (999_999, "$0.999999"),
        (1_234_567, "$1.23"),
        (50_189_958_205, "$50,189.96"),
    ],
)
def test_money_is_exact_where_it_is_little_and_to_the_cent_where_it_is_not(micros: int, text: str) -> None:
    assert hourly(micros) == text
