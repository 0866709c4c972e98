"""Agents read as workers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.circleci.loopback import agent

from remuda.model.needs import Worker
from remuda.model.times import MINUTE, SECOND
from remuda.sim.clock import MONDAY
from remuda.sources.circleci.agents import Listing, machine_of, read_agents

CLASS = "org/a"
IDLE = Worker(MONDAY, connected_at=MONDAY)
BUSY = Worker(MONDAY + MINUTE, "task", 1, connected_at=MONDAY)


def listing(workers: dict[str, Worker], unreadable: int = 0) -> Listing:
    """Of agents that called last when `agent` says so."""
    return Listing(workers, unreadable, dict.fromkeys(workers, MONDAY))


@pytest.mark.parametrize(
    ("item", "worker"),
    [
        pytest.param(agent("a-1"), IDLE, id="never used is idle"),
        pytest.param(agent("a-1", last_used="2026-01-05T00:01:00Z"), BUSY, id="used is busy"),
        pytest.param(agent("a-1", last_used="2026-01-05T01:01:00+01:00"), BUSY, id="any zone"),
        pytest.param(agent("a-1", last_used="2026-01-05T00:01:00.000999999Z"), BUSY, id="nanoseconds"),
        pytest.param(agent("a-1", last_used=""), IDLE, id="an empty time is none"),
        pytest.param(agent("a-1", last_used="0001-01-01T00:00:00Z"), IDLE, id="the year one is none"),
        pytest.param(agent("a-1", hostname="other"), IDLE, id="the name beats the hostname"),
        pytest.param(agent("", hostname="a-1"), IDLE, id="the hostname stands in for a name"),
        pytest.param(agent("a-1", ip="10.0.0.1", later="x"), IDLE, id="unknown fields are nothing to us"),
        pytest.param(
            agent("a-1", last_used="yesterday"),
            Worker(MONDAY, "task", 1, connected_at=MONDAY),
            id="used at an unreadable time is busy",
        ),
    ],
)
def test_an_agent_is_a_worker(item: dict[str, object], worker: Worker) -> None:
    assert read_agents([item], CLASS) == listing({"a-1": worker})


@pytest.mark.parametrize(
    ("called", "at"),
    [
        pytest.param("2026-01-05T00:01:00Z", MONDAY + MINUTE, id="a time"),
        pytest.param("", MONDAY, id="none is the first call"),
        pytest.param("lately", MONDAY, id="so is one that cannot be read"),
    ],
)
def test_a_listing_says_when_an_agent_called_last(called: str, at: int) -> None:
    assert read_agents([agent("a-1", last_connected=called)], CLASS).called_at == {"a-1": at}


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        pytest.param("linux-3", "linux-3", id="a machine's name alone"),
        pytest.param("linux-3.0a1b2c3d", "linux-3", id="with its boot"),
        pytest.param("my.pool-3.0a1b2c3d", "my.pool-3", id="a name with dots"),
        pytest.param("linux-3.example", "linux-3.example", id="no boot is that long or of such letters"),
    ],
)
def test_an_agents_name_tells_of_its_machine(name: str, machine: str) -> None:
    assert machine_of(name) == machine


def test_an_agent_that_does_not_say_its_class_is_of_the_one_asked_for() -> None:
    item = agent("a-1")
    del item["resource_class"]
    assert read_agents([item], CLASS) == listing({"a-1": IDLE})


BAD: list[Any] = [
    pytest.param(None, id="null"),
    pytest.param("a-1", id="a text"),
    pytest.param([], id="a list"),
    pytest.param({}, id="an empty object"),
    pytest.param(agent("", hostname=""), id="no name"),
    pytest.param({**agent("x"), "name": 5}, id="a name that is a number"),
    pytest.param(agent("x", first_connected=""), id="never connected"),
    pytest.param(agent("x", first_connected="soon"), id="connected at no time"),
    pytest.param(agent("x", first_connected="2026-01-05T00:00:00"), id="connected in no zone"),
    pytest.param({**agent("x"), "first_connected": 5}, id="connected at a number"),
    pytest.param(agent("x", "org/b"), id="of another class"),
]


@pytest.mark.parametrize("item", BAD)
def test_what_cannot_be_read_is_skipped_and_counted(item: object) -> None:
    assert read_agents([item, agent("a-1"), item], CLASS) == listing({"a-1": IDLE}, 2)


@pytest.mark.parametrize("item", BAD)
def test_a_listing_without_one_that_can_be_read_is_an_error(item: object) -> None:
    with pytest.raises(ValueError, match="none of 2 agents can be read: "):
        read_agents([item, item], CLASS)


def test_an_empty_listing_is_a_good_one() -> None:
    assert read_agents([], CLASS) == Listing({})


@given(st.permutations(range(4)))
def test_of_several_with_one_name_the_last_to_connect_is_meant(order: list[int]) -> None:
    items: list[object] = [
        agent("a-1", last_used="2026-01-05T09:00:00Z"),
        agent("a-1", first_connected="2026-01-05T00:00:02Z"),
        agent("a-1", first_connected="2026-01-05T00:00:02Z", last_used="2026-01-05T00:00:03Z"),
        agent("a-1", first_connected="2026-01-05T00:00:01Z"),
    ]
    listing = read_agents([items[place] for place in order], CLASS)
    after = MONDAY + 2 * SECOND
    assert listing.workers == {"a-1": Worker(after + SECOND, "task", 1, connected_at=after)}


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.slow
@given(
    st.lists(
        JSON
        | st.fixed_dictionaries(
            {"name": JSON, "first_connected": JSON | st.just("2026-01-05T00:00:00Z"), "last_used": JSON}
        )
    )
)
def test_safety_every_item_is_a_worker_or_counted(items: list[object]) -> None:
    try:
        listing = read_agents(items, CLASS)
    except ValueError:
        return
    assert len(listing.workers) + listing.unreadable <= len(items)
    assert bool(items) <= bool(listing.workers)
