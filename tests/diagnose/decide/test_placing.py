"""Room for a pod on a node: enough is enough, and what lacks is counted."""

import pytest
from tests.diagnose.snapshots import node

from remuda.diagnose.decide.placing import Obstacle, Wish, obstacles
from remuda.model.pods import Match, Term

ROOM = {"cpu": "8", "pods": "10"}
FUSE = "example.com/fuse"


def found(asks: dict[str, int], taken: dict[str, int] | None) -> list[Obstacle]:
    wish = Wish("vm", asks)
    return list(obstacles(wish, node(room=ROOM), None if taken is None else {"node-1": taken}))


@pytest.mark.parametrize(
    ("asks", "taken", "short", "is_too_small"),
    [
        pytest.param({"cpu": 8_000, "pods": 10}, None, {}, False, id="all of it"),
        pytest.param({"cpu": 8_001}, None, {"cpu": 1}, True, id="more than all"),
        pytest.param({"cpu": 8_000}, {"pods": 3}, {}, False, id="what nobody takes is there"),
        pytest.param({"cpu": 5_000}, {"cpu": 3_000}, {}, False, id="all that is left"),
        pytest.param({"cpu": 5_001}, {"cpu": 3_000}, {"cpu": 1}, False, id="more than is left"),
        pytest.param({"cpu": 8_000}, {"cpu": 3_000}, {"cpu": 3_000}, False, id="as much as an empty one has"),
        pytest.param({"cpu": 1_000}, {"cpu": 9_000}, {"cpu": 1_000}, False, id="more is taken than there is"),
        pytest.param({FUSE: 1}, None, {FUSE: 1}, True, id="what it does not have"),
    ],
)
def test_what_lacks_on_a_node_is_counted(
    asks: dict[str, int], taken: dict[str, int] | None, short: dict[str, int], is_too_small: bool
) -> None:
    seen = found(asks, taken)
    assert [each.short for each in seen] == ([short] if short else [])
    assert [each.is_too_small for each in seen] == ([is_too_small] if short else [])


def test_a_node_that_is_closed_is_not_called_too_small() -> None:
    (one,) = obstacles(Wish("vm", {"cpu": 1}), node(is_cordoned=True), None)
    assert (one.kind, one.is_too_small) == ("down", False)


def test_one_of_several_terms_of_affinity_is_enough() -> None:
    terms = tuple(Term((Match("zone", "In", (zone,)),)) for zone in ("a", "b"))
    for zone, kinds in (("b", []), ("c", ["affinity"])):
        there = node(labels={"zone": zone})
        assert [each.kind for each in obstacles(Wish("vm", {}, terms=terms), there, None)] == kinds
