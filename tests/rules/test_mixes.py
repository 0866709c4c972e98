"""The worst mix under a ceiling and the highest safe ceiling, against trying everything."""

from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.rules.mixes import Safe, Share, Worst, _compositions, _Mixes, weigh
from remuda.rules.packing import EFFORT, Bin, Group, pack


def worst(shares: Sequence[Share], bins: Sequence[Bin], ceiling: int | None) -> Worst:
    return _Mixes(shares, bins).judge(ceiling, EFFORT)


def safe(shares: Sequence[Share], bins: Sequence[Bin]) -> Safe:
    return _Mixes(shares, bins).safe()


Problem = tuple[list[Share], list[Bin]]


def share(
    name: str, most: int | None, cpu: int, memory: int = 0, bins: tuple[int, ...] | None = None
) -> Share:
    return Share(name, most, {"cpu": cpu, "memory": memory}, bins)


def room(cpu: int, memory: int = 0, name: str = "n") -> Bin:
    return Bin(name, {"cpu": cpu, "memory": memory})


def packs(items: Sequence[Share], bins: Sequence[Bin]) -> bool:
    """Whether the items fit: every assignment is tried."""

    def place(at: int, free: tuple[tuple[int, int], ...]) -> bool:
        if at == len(items):
            return True
        item = items[at]
        allowed = range(len(bins)) if item.bins is None else item.bins
        for index in allowed:
            cpu, memory = free[index][0] - item.size["cpu"], free[index][1] - item.size["memory"]
            if cpu >= 0 and memory >= 0 and place(at + 1, (*free[:index], (cpu, memory), *free[index + 1 :])):
                return True
        return False

    return place(0, tuple((each.room["cpu"], each.room["memory"]) for each in bins))


def mixes(shares: Sequence[Share], ceiling: int) -> Iterator[list[Share]]:
    ranges = [range(min(each.most if each.most is not None else ceiling, ceiling) + 1) for each in shares]
    for counts in product(*ranges):
        if sum(counts) <= ceiling:
            yield [each for each, count in zip(shares, counts, strict=True) for _ in range(count)]


def is_safe(shares: Sequence[Share], bins: Sequence[Bin], ceiling: int) -> bool:
    return all(packs(mix, bins) for mix in mixes(shares, ceiling))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    bins = [
        room(draw(st.integers(0, 8)), draw(st.integers(0, 8)), f"bin-{index}")
        for index in range(draw(st.integers(1, 3)))
    ]
    allowed = st.one_of(
        st.none(),
        st.lists(st.integers(0, len(bins) - 1), unique=True).map(lambda found: tuple(sorted(found))),
    )
    shares = [
        share(f"share-{index}", draw(st.integers(0, 3)), draw(st.integers(1, 5)), draw(st.integers(0, 5)), draw(allowed))
        for index in range(draw(st.integers(1, 3)))
    ]  # fmt: skip
    return shares, bins


def is_valid(shares: Sequence[Share], bins: Sequence[Bin], found: Worst) -> bool:
    free = [dict(each.room) for each in bins]
    placed = dict.fromkeys((each.name for each in shares), 0)
    for part in found.packing.placed:
        each = shares[part.group]
        assert part.count > 0
        assert each.bins is None or part.bin in each.bins
        placed[each.name] += part.count
        for name, size in each.size.items():
            free[part.bin][name] -= part.count * size
    missing = {name: count - placed[name] for name, count in found.mix.items() if count > placed[name]}
    return (
        all(value >= 0 for each in free for value in each.values())
        and missing == found.packing.left
        and all(found.mix.get(name, 0) >= count for name, count in placed.items())
    )


@given(problems(), st.integers(0, 7))
def test_a_ceiling_is_judged_as_trying_every_mix_judges_it(problem: Problem, ceiling: int) -> None:
    shares, bins = problem
    found = worst(shares, bins, ceiling)
    assert found.outcome == ("fits" if is_safe(shares, bins, ceiling) else "cannot fit")
    assert sum(found.mix.values()) <= ceiling
    assert all(found.mix.get(each.name, 0) <= (each.most or 0) for each in shares)
    assert is_valid(shares, bins, found)
    if found.outcome == "cannot fit":
        mix = [each for each in shares for _ in range(found.mix.get(each.name, 0))]
        assert not packs(mix, bins)
        assert found.packing.bound is not None
        assert found.packing.bound.wanted > found.packing.bound.room


@given(problems())
def test_the_highest_safe_ceiling_is_the_one_that_trying_everything_finds(problem: Problem) -> None:
    shares, bins = problem
    found = safe(shares, bins)
    most = sum(each.most or 0 for each in shares)
    right = max(number for number in range(most + 1) if is_safe(shares, bins, number))
    assert (found.number, found.is_proven) == (right, True)
    assert found.is_all == (right == most)


@given(problems(), st.integers(0, 8), st.integers(0, 8))
def test_another_bin_never_lowers_the_highest_safe_ceiling(problem: Problem, cpu: int, memory: int) -> None:
    shares, bins = problem
    everywhere = [Share(each.name, each.most, each.size, None if each.bins is None else (*each.bins, len(bins))) for each in shares]  # fmt: skip
    assert safe(everywhere, [*bins, room(cpu, memory)]).number >= safe(shares, bins).number


@pytest.mark.parametrize(
    ("shares", "bins", "number"),
    [
        pytest.param([share("a", 4, 2)], [room(7)], 3, id="whole items"),
        pytest.param([share("a", 4, 2)], [room(3), room(3), room(3)], 3, id="not a sum"),
        pytest.param([share("a", 2, 4), share("b", 9, 1)], [room(8)], 2, id="the large ones first"),
        pytest.param([share("a", 1, 4), share("b", 9, 1)], [room(8)], 5, id="as many large ones as there can be"),
        pytest.param([share("a", None, 2)], [room(7), room(9)], 7, id="without end"),
        pytest.param([share("a", 2, 1, 4), share("b", 2, 4, 1)], [room(8, 8)], 2, id="neither stands for the other"),
        pytest.param([share("a", 2, 1, 0, ()), share("b", 2, 1)], [room(8)], 0, id="nowhere to go"),
        pytest.param([], [room(8)], 0, id="nobody"),
        pytest.param([share("a", 2, 1)], [], 0, id="no bins"),
    ],
)  # fmt: skip
def test_the_highest_safe_ceiling(shares: list[Share], bins: list[Bin], number: int) -> None:
    found = safe(shares, bins)
    assert (found.number, found.is_proven) == (number, True)


def test_all_at_their_most_is_no_ceiling() -> None:
    assert safe([share("a", 2, 1), share("b", 3, 2)], [room(8)]) == Safe(5, is_proven=True, is_all=True)


def test_many_unlike_shares_are_shown_to_fit_without_trying_each_mix() -> None:
    shares = [share(f"s{index}", 20, 10 + index, 60 - index) for index in range(30)]
    found = worst(shares, [room(10_000, 10_000)], 40)
    assert found.outcome == "fits"
    assert sum(found.mix.values()) == 40


def test_what_can_be_neither_shown_nor_refuted_is_not_claimed() -> None:
    shares = [share(f"s{index}", 20, 10 + index, 60 - index) for index in range(30)]
    bins = [room(145, 150, f"n{index}") for index in range(9)]
    found = safe(shares, bins)
    assert 0 < found.number < 30
    below = worst(shares, bins, found.number)
    assert below.outcome == "fits"
    assert is_valid(shares, bins, below)
    assert found.beyond is not None
    assert found.is_proven == (found.beyond.outcome == "cannot fit")


@pytest.mark.slow
def test_few_unlike_shares_and_many_bins_come_to_an_end() -> None:
    shares = [share("a", 900, 1, 4), share("b", 900, 4, 1), share("c", 900, 3, 3)]
    bins = [room(4, 4, f"n{index}") for index in range(1_600)]
    found = safe(shares, bins)
    assert 0 < found.number <= 1_600
    assert worst(shares, bins, 1_600).outcome == "fits"
    assert worst(shares, bins, 1_700).outcome == "cannot fit"


@pytest.mark.slow
@given(problems(), st.integers(0, 7))
def test_the_worst_mix_and_the_highest_safe_ceiling_agree(problem: Problem, ceiling: int) -> None:
    shares, bins = problem
    groups = [Group(each.name, each.most or 0, each.size, each.bins) for each in shares]
    found, number = weigh(shares, bins, ceiling, pack(groups, bins), guess=ceiling)
    assert found.outcome == worst(shares, bins, ceiling).outcome
    assert (number.number, number.is_proven) == (safe(shares, bins).number, True)
    assert is_valid(shares, bins, found)
    assert (found.outcome == "fits") == (number.is_all or ceiling <= number.number)


def test_a_number_that_is_found_is_not_called_proven() -> None:
    shares = [share(f"s{index}", 40, 10 + 3 * index, 60 - 4 * index) for index in range(12)]
    bins = [room(75 + index % 7, 130 - index % 5, f"n{index}") for index in range(40)]
    found, number = weigh(shares, bins, 35)
    assert found.outcome == "fits"
    assert number.number >= 35
    assert number.beyond is not None
    assert (number.is_proven, number.beyond.outcome) == (False, "no placement found")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=3), st.integers(1, 9), st.integers(1, 5))
def test_mixes_that_are_answered_together_are_covered_by_one_that_asks_for_more(
    caps: list[int], total: int, step: int
) -> None:
    tried = list(_compositions(caps, total, step))
    for mix in product(*(range(cap + 1) for cap in caps)):
        if sum(mix) <= total:
            assert any(all(map(int.__ge__, each, mix)) for each in tried), mix
    assert all(each <= cap for found in tried for each, cap in zip(found, caps, strict=True))


UNALIKE = [share("a", 2, 1, 4), share("b", 2, 4, 1)]


@pytest.mark.parametrize(
    ("shares", "bins"),
    [
        pytest.param(
            [share("a", 2, 7, 4), share("b", 3, 6, 9), share("c", 1, 1, 17)],
            [room(6, 34), room(31, 12), room(4, 34), room(29, 13)],
            id="what simple orders miss",
        ),
        pytest.param(
            [share("a", 1, 1, 1), share("b", 2, 0, 2, (0, 1, 2)), share("c", 2, 2, 1), share("d", 2, 1, 1, (2,))],
            [room(3, 0), room(3, 1), room(3, 4)],
            id="every mix is looked at",
        ),
        pytest.param([share("a", 3, 3, 2), share("b", 9, 2, 3), share("c", 9, 1, 1, (0,))], [room(1, 6)], id="one bin"),
    ],
)  # fmt: skip
def test_a_ceiling_that_is_found_is_safe_and_the_next_is_not(shares: list[Share], bins: list[Bin]) -> None:
    found = safe(shares, bins)
    assert is_safe(shares, bins, found.number)
    assert not found.is_proven or found.is_all or not is_safe(shares, bins, found.number + 1)


def test_a_bin_that_does_not_have_a_resource_has_none_of_it() -> None:
    found = worst([share("a", None, 3, 2)], [Bin("n", {"cpu": 9})], 1)
    assert found.outcome == "cannot fit"
    assert (
        safe([share("a", None, 3, 2)], [Bin("n", {"cpu": 9}), Bin("m", {"cpu": -1, "memory": -1})]).number
        == 0
    )


def test_what_fits_at_its_most_fits_under_every_ceiling() -> None:
    bins = [room(20, 20)]
    at_most = pack([Group(each.name, 2, each.size, (0,)) for each in UNALIKE], bins)
    assert at_most.outcome == "fits"
    found, highest = weigh(UNALIKE, bins, 3, at_most)
    assert (found.outcome, sum(found.mix.values()), highest.number) == ("fits", 3, 4)


@pytest.mark.parametrize("guess", [0, 1, 2, 9])
def test_a_guess_changes_nothing_about_the_answer(guess: int) -> None:
    assert weigh(UNALIKE, [room(8, 8)], None, None, guess)[1] == safe(UNALIKE, [room(8, 8)])


def test_of_mixes_that_nobody_can_place_nothing_is_claimed() -> None:
    """Of 35 and 32 a bin of 100 takes one and two: 21 and 38 pass every bound on 20 bins, and do not fit."""
    bins = [room(100, 0, f"n{index}") for index in range(20)]
    assert worst([share("a", 21, 35), share("b", 39, 32)], bins, 59).outcome == "no placement found"


def test_where_mixes_are_too_many_and_joining_them_shows_nothing_it_says_so() -> None:
    """Two of (8, 8) take a bin each, and 98 bins hold 196 of the others, of which there would be 196."""
    shares = [share("a", 200, 1, 4), share("b", 200, 4, 1), share("c", 2, 8, 8)]
    bins = [room(8, 8, f"n{index}") for index in range(100)]
    assert worst(shares, bins, 197).outcome == "fits"
    assert worst(shares, bins, 198).outcome == "no placement found"
    assert worst(shares, bins, 199).outcome != "fits"
    # of four kinds also three are made
    assert worst([*shares, share("d", 1, 2, 3)], bins, 198).outcome == "no placement found"


def test_more_kinds_than_are_put_in_order_are_judged_one_by_one() -> None:
    shares = [share(f"s{index}", 1, 1 + index, 301 - index) for index in range(201)]
    assert worst(shares, [room(1_000, 1_000)], 2).outcome == "fits"
    assert worst(shares, [room(300, 300)], 2).outcome == "cannot fit"


def test_what_fits_at_its_most_needs_no_ceiling_and_says_how_much_it_takes() -> None:
    bins = [room(20, 20), room(0, 20)]
    at_most = pack([Group(each.name, 2, each.size, (0, 1)) for each in UNALIKE], bins)
    found, highest = weigh(UNALIKE, bins, None, at_most)
    assert (found.outcome, found.mix, found.taken) == ("fits", {"a": 2, "b": 2}, {"cpu": 0.5, "memory": 0.25})
    assert highest == Safe(4, is_proven=True, is_all=True)


def test_shares_that_are_alike_are_one_kind_and_each_has_its_part() -> None:
    found = worst([share("a", 1, 2), share("b", 2, 2)], [room(4)], 2)
    assert (found.outcome, sum(found.mix.values())) == ("fits", 2)
    assert worst([share("a", 1, 2), share("b", 2, 2)], [room(4)], 3).packing.left == {"b": 1}
