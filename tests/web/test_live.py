"""Pages that move: drawn once for all who watch, and only what changed is sent."""

import asyncio
from collections.abc import AsyncGenerator

from tests.loop.toy import virtually

from remuda.errors import Unavailable
from remuda.web.live import Hub, Regions

Changes = AsyncGenerator[tuple[Regions, str] | None, None]


class Drawn:
    """A page whose regions are set by hand."""

    def __init__(self, **regions: str) -> None:
        self.regions = regions
        self.count = 0
        self.problem = ""

    async def __call__(self) -> Regions:
        self.count += 1
        if self.problem:
            raise Unavailable(self.problem)
        return dict(self.regions)


async def take(changes: Changes) -> tuple[Regions, str] | None:
    return await anext(changes)


@virtually
async def test_first_comes_everything_and_then_what_changed() -> None:
    page = Drawn(a="1", b="1")
    changes = Hub().watch("p", page, 60)
    assert await take(changes) == ({"a": "1", "b": "1"}, "")
    page.regions["b"] = "2"
    assert await take(changes) == ({"b": "2"}, "")
    await changes.aclose()


@virtually
async def test_a_hundred_who_watch_cost_one_drawing_a_second() -> None:
    page, hub = Drawn(a="1"), Hub()
    watchers = [hub.watch("p", page, 60) for _ in range(100)]
    for each in watchers:
        assert await take(each) == ({"a": "1"}, "")
    assert hub.watchers == 100
    await asyncio.sleep(10.5)
    assert page.count <= 12
    for each in watchers:
        await each.aclose()
    assert hub.watchers == 0


@virtually
async def test_a_page_that_nobody_watches_is_not_drawn() -> None:
    page, hub = Drawn(a="1"), Hub()
    changes = hub.watch("p", page, 60)
    await take(changes)
    await changes.aclose()
    before = page.count
    await asyncio.sleep(30)
    assert page.count == before


@virtually
async def test_a_slow_reader_misses_drawings_but_not_the_last() -> None:
    page = Drawn(a="1", b="1")
    changes = Hub().watch("p", page, 60)
    await take(changes)
    for number in range(2, 6):
        page.regions["a"] = str(number)
        await asyncio.sleep(2)
    assert await take(changes) == ({"a": "5"}, "")
    await changes.aclose()


@virtually
async def test_when_nothing_changes_something_is_heard_now_and_then() -> None:
    changes = Hub().watch("p", Drawn(a="1"), 15)
    await take(changes)
    assert await take(changes) is None
    assert await take(changes) is None
    await changes.aclose()


@virtually
async def test_a_page_that_cannot_be_drawn_says_why_keeps_what_it_showed_and_recovers() -> None:
    page = Drawn(a="1")
    changes = Hub().watch("p", page, 60)
    await take(changes)
    page.problem = "the store is away"
    assert await take(changes) == ({}, "the store is away")
    page.problem, page.regions["a"] = "", "2"
    assert await take(changes) == ({"a": "2"}, "")
    await changes.aclose()


@virtually
async def test_who_comes_later_gets_everything_too() -> None:
    page, hub = Drawn(a="1"), Hub()
    first = hub.watch("p", page, 60)
    await take(first)
    page.regions["a"] = "2"
    await take(first)
    second = hub.watch("p", page, 60)
    assert await take(second) == ({"a": "2"}, "")
    await first.aclose()
    assert hub.watchers == 1
    page.regions["a"] = "3"
    assert await take(second) == ({"a": "3"}, ""), "it is drawn as long as anybody watches"
    await second.aclose()
