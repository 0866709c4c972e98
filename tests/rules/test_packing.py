"""Packing: placements are valid, bounds refute nothing that can be placed, and nothing is claimed otherwise."""

from collections.abc import Mapping, Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.rules.packing import Bin, Bound, Group, Packing, pack


def most(size: Mapping[str, int], room: Mapping[str, int]) -> int | None:
    """How many items of a size fit into a room alone; None when the size is nothing, so that there is no end."""
    fits: int | None = None
    for name, value in size.items():
        if value > 0:
            whole = max(0, room.get(name, 0)) // value
            fits = whole if fits is None or whole < fits else fits
    return fits


sizes = st.dictionaries(st.sampled_from(("cpu", "memory", "pods")), st.integers(0, 4), max_size=3)
rooms = st.dictionaries(st.sampled_from(("cpu", "memory", "pods")), st.integers(-1, 8), max_size=3)


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Group], list[Bin]]:
    bins = [Bin(f"bin-{index}", draw(rooms)) for index in range(draw(st.integers(0, 3)))]
    places = st.none() | st.lists(st.sampled_from(range(len(bins))), unique=True).map(sorted).map(tuple)
    groups = [
        Group(
            f"group-{index}",
            draw(st.integers(0, 3)),
            draw(sizes),
            draw(places if bins else st.sampled_from((None, ()))),
        )
        for index in range(draw(st.integers(0, 3)))
    ]
    return groups, bins


def overfull(groups: Sequence[Group], bins: Sequence[Bin], counts: dict[tuple[int, int], int]) -> bool:
    """Whether some bin holds more than it has, or what may not be there."""
    for (group, at), count in counts.items():
        allowed = groups[group].bins
        if count and allowed is not None and at not in allowed:
            return True
    for at, each in enumerate(bins):
        for name in {name for group in groups for name in group.size}:
            taken = sum(
                count * max(0, groups[group].size.get(name, 0))
                for (group, where), count in counts.items()
                if where == at
            )
            if taken > max(0, each.room.get(name, 0)):
                return True
    return False


def by_brute_force(groups: Sequence[Group], bins: Sequence[Bin]) -> bool:
    """The definition: every way to spread every group over all bins."""
    spreads = [
        [spread for spread in product(range(group.count + 1), repeat=len(bins)) if sum(spread) == group.count]
        for group in groups
    ]
    for choice in product(*spreads):
        counts = {
            (group, at): count for group, spread in enumerate(choice) for at, count in enumerate(spread)
        }
        if not overfull(groups, bins, counts):
            return True
    return False


def counted(packing: Packing) -> dict[tuple[int, int], int]:
    counts: dict[tuple[int, int], int] = {}
    for part in packing.placed:
        assert part.count > 0
        counts[part.group, part.bin] = counts.get((part.group, part.bin), 0) + part.count
    return counts


@pytest.mark.slow
@given(problems())
def test_the_answer_is_that_of_brute_force(problem: tuple[list[Group], list[Bin]]) -> None:
    groups, bins = problem
    assert pack(groups, bins).outcome == ("fits" if by_brute_force(groups, bins) else "cannot fit")


@given(problems(), st.integers(0, 3))
def test_little_effort_claims_nothing_that_is_wrong(
    problem: tuple[list[Group], list[Bin]], effort: int
) -> None:
    groups, bins = problem
    outcome = pack(groups, bins, effort).outcome
    assert outcome == "no placement found" or (outcome == "fits") == by_brute_force(groups, bins)


@pytest.mark.slow
@given(problems())
def test_a_placement_is_valid_and_whole(problem: tuple[list[Group], list[Bin]]) -> None:
    groups, bins = problem
    packing = pack(groups, bins)
    counts = counted(packing)
    assert not overfull(groups, bins, counts)
    for index, group in enumerate(groups):
        placed = sum(count for (which, _), count in counts.items() if which == index)
        left = sum(packing.left.values()) if packing.outcome != "fits" else 0
        assert placed <= group.count
        assert left or placed == group.count


@given(problems())
def test_a_bound_is_one(problem: tuple[list[Group], list[Bin]]) -> None:
    groups, bins = problem
    bound = pack(groups, bins).bound
    if bound is not None:
        assert bound.wanted > bound.room
        assert set(bound.groups) <= {group.name for group in groups if group.count}


@given(sizes, rooms)
def test_as_many_as_fit_and_one_more_does_not(size: dict[str, int], room: dict[str, int]) -> None:
    number = most(size, room)
    if number is None:
        assert not any(size.values())
        return
    assert all(number * value <= max(0, room.get(name, 0)) for name, value in size.items())
    assert any((number + 1) * value > max(0, room.get(name, 0)) for name, value in size.items())


GIB = 2**30


@pytest.mark.parametrize(
    ("groups", "room", "bound"),
    [
        # 64Gi of 54.68Gi, in whole runners
        ([("vm", 2, {"memory": 32})], [{"memory": 54}], Bound("count", ("vm",), "memory", 2, 1)),
        # each alone would fit
        (
            [("a", 1, {"cpu": 3}), ("b", 1, {"cpu": 2})],
            [{"cpu": 4}],
            Bound("sum", ("a", "b"), "cpu", 5, 4),
        ),
        # three items above a half of two bins, whatever the sum says
        (
            [("a", 1, {"cpu": 6}), ("b", 2, {"cpu": 7})],
            [{"cpu": 10}, {"cpu": 10}],
            Bound("count", ("a", "b"), "cpu", 3, 2),
        ),
        # of two resources the one that has no room for more
        (
            [("vm", 3, {"cpu": 1, "memory": 3})],
            [{"cpu": 10, "memory": 4}, {"cpu": 10, "memory": 4}],
            Bound("count", ("vm",), "memory", 3, 2),
        ),
        # what is in a bin that is too small for any of them is of no use to them
        (
            [("a", 1, {"cpu": 3, "memory": 1}), ("b", 1, {"cpu": 4, "memory": 1})],
            [{"cpu": 5, "memory": 9}, {"cpu": 2, "memory": 9}],
            Bound("sum", ("a", "b"), "cpu", 7, 5),
        ),
        # two of the four in each bin, and no room for the three beside them: only a search tells
        (
            [("a", 4, {"cpu": 4}), ("b", 1, {"cpu": 3})],
            [{"cpu": 10}, {"cpu": 10}],
            Bound("search", ("a", "b"), "cpu", 5, 4),
        ),
        # no place at all, so that nothing runs out
        ([("a", 1, {"cpu": 1})], [], Bound("count", ("a",), "", 1, 0)),
    ],
)
def test_a_refusal_names_what_runs_out(
    groups: list[tuple[str, int, dict[str, int]]], room: list[dict[str, int]], bound: Bound
) -> None:
    packing = pack(
        [Group(*group) for group in groups], [Bin(f"bin-{at}", each) for at, each in enumerate(room)]
    )
    assert packing.outcome == "cannot fit"
    assert packing.bound == bound


def test_what_first_fit_misses_is_searched_for() -> None:
    groups = [Group("a", 2, {"cpu": 4}), Group("b", 2, {"cpu": 3}), Group("c", 2, {"cpu": 3})]
    bins = [Bin("one", {"cpu": 10}), Bin("two", {"cpu": 10})]
    assert pack(groups, bins).outcome == "fits"
    assert (
        pack(
            [Group("a", 3, {"cpu": 4}), Group("b", 4, {"cpu": 3})], [*bins, Bin("three", {"cpu": 4})]
        ).outcome
        == "fits"
    )


def test_groups_of_equal_size_are_placed_as_often_as_each_asks() -> None:
    groups = [Group("a", 2, {"cpu": 1}), Group("b", 3, {"cpu": 1})]
    packing = pack(groups, [Bin(f"bin-{at}", {"cpu": 1}) for at in range(5)])
    assert packing.outcome == "fits"
    counts = counted(packing)
    assert not overfull(groups, [Bin(f"bin-{at}", {"cpu": 1}) for at in range(5)], counts)
    assert [sum(count for (group, _), count in counts.items() if group == which) for which in (0, 1)] == [
        2,
        3,
    ]


def test_a_bin_that_just_holds_the_smallest_counts() -> None:
    """Each of the large bins takes 4, 3 and 3, which no simple order finds; the fifth 3 fills the small one."""
    groups = [Group("a", 2, {"cpu": 4}), Group("b", 5, {"cpu": 3})]
    bins = [Bin("one", {"cpu": 10}), Bin("two", {"cpu": 10}), Bin("three", {"cpu": 3})]
    assert pack(groups, bins).outcome == "fits"


def test_what_is_elsewhere_is_not_held_against_others() -> None:
    """The first two need a search; the third has a bin of its own, as large as theirs."""
    groups = [
        Group("a", 2, {"cpu": 4}, (0, 1)),
        Group("b", 4, {"cpu": 3}, (0, 1)),
        Group("c", 1, {"cpu": 10}, (2,)),
    ]
    assert pack(groups, [Bin(name, {"cpu": 10}) for name in ("one", "two", "three")]).outcome == "fits"


@pytest.mark.slow
def test_many_groups_and_bins_are_placed_in_a_moment() -> None:
    groups = [
        Group(f"group-{at}", 3, {"cpu": 100 + at % 700, "memory": GIB, "pods": 1}) for at in range(2_000)
    ]
    bins = [Bin(f"bin-{at}", {"cpu": 4_000, "memory": 64 * GIB, "pods": 110}) for at in range(1_000)]
    assert pack(groups, bins).outcome == "fits"


def test_more_bins_than_are_searched_may_all_be_full() -> None:
    groups = [Group("a", 600, {"cpu": 3}), Group("b", 600, {"cpu": 2})]
    assert pack(groups, [Bin(f"bin-{at}", {"cpu": 5}) for at in range(600)]).outcome == "fits"


def test_a_search_deeper_than_calls_may_be_nested_is_given_up() -> None:
    """Every bin takes 4, 3 and 3; simple orders put two 4 into one, and no bound says that it cannot be."""
    groups = [Group("a", 1_200, {"cpu": 4}), Group("b", 2_400, {"cpu": 3})]
    bins = [Bin(f"bin-{at}", {"cpu": 10}) for at in range(1_200)]
    assert pack(groups, bins).outcome == "no placement found"


def test_a_search_through_many_bins_ends() -> None:
    groups = [Group("a", 1_500, {"cpu": 3}), Group("b", 1_501, {"cpu": 2, "memory": 1})]
    bins = [Bin(f"bin-{at}", {"cpu": 5, "memory": 2}) for at in range(1_500)]
    assert pack(groups, bins).outcome != "fits"


def test_what_is_asked_for_in_no_amount_bounds_nothing() -> None:
    assert most({"cpu": 0, "memory": 2}, {"memory": 5}) == 2
    assert most({"cpu": 0}, {}) is None
