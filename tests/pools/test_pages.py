"""What pages of pools ask for."""

from typing import Any

import pytest
from tests.builders import NOW

from remuda.model.times import HOUR, MINUTE
from remuda.pools.history import PoolsHistory
from remuda.pools.pages import _last_hours


class Asked:
    """Something that began to be recorded some time ago."""

    def __init__(self, lived: int | None) -> None:
        self.now = NOW
        self.lived = lived
        self.spans: list[int] = []

    async def get(self, path: str, kind: type[Any], **query: Any) -> Any:
        assert (path, kind) == ("/v1/history/pools", PoolsHistory)
        self.spans.append(query["until"] - query["since"])
        times = [] if self.lived is None else [max(query["since"], NOW - self.lived), NOW]
        return PoolsHistory(query["since"], query["until"], times, [])

    async def question(self, path: str, body: object, kind: type[Any]) -> Any:
        raise NotImplementedError

    def routes(self) -> frozenset[str]:
        return frozenset()


@pytest.mark.parametrize(
    ("lived", "spans"),
    [
        pytest.param(None, [3 * HOUR], id="nothing is recorded"),
        pytest.param(20_000, [3 * HOUR, 5 * MINUTE], id="it just began"),
        pytest.param(10 * MINUTE, [3 * HOUR, 15 * MINUTE], id="some minutes"),
        pytest.param(2 * HOUR, [3 * HOUR], id="some hours"),
        pytest.param(90 * HOUR, [3 * HOUR], id="days"),
    ],
)
async def test_who_just_began_sees_the_strips_move(lived: int | None, spans: list[int]) -> None:
    asked = Asked(lived)
    await _last_hours(asked, NOW)
    assert asked.spans == spans
