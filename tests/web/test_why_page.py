"""The objects on the page Why are written once, however often the page is drawn."""

import asyncio
from typing import Any

from tests.web.clock import NOW, SetClock

from remuda.control.about import About, about_route
from remuda.control.routes import Call
from remuda.ledger.store import InlineStore
from remuda.web.ask import AskRoutes
from remuda.web.why import why_page


def test_objects_are_written_again_only_when_they_changed() -> None:
    store = InlineStore()
    in_force: list[dict[str, Any]] = [{"kind": "Bell", "metadata": {"name": "big"}}]

    def about() -> About:
        return About("1", 1, NOW, NOW, objects=tuple(in_force))

    def written() -> str:
        ask = AskRoutes((about_route(about),), store, SetClock(NOW))
        text: str = asyncio.run(why_page(ask, Call({}, {}), {})).values["objects"]
        return text

    first = written()
    assert "name: big" in first
    assert written() is first
    in_force.append({"kind": "Bell", "metadata": {"name": "small"}})
    assert "name: small" in written()
    store.close()
