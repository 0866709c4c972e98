"""Sharing a ceiling: floors, guarantees, priority, fairness, and nothing wasted."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.rules.ceilings import Member, share


def members(most: int = 7) -> st.SearchStrategy[list[Member]]:
    return st.lists(
        st.builds(
            Member,
            name=st.text("abcdef", min_size=1, max_size=3),
            wants=st.integers(0, 12),
            floor=st.integers(0, 4),
            guaranteed=st.integers(0, 5),
            priority=st.integers(-1, 1),
            weight=st.sampled_from((1, 1, 2, 3, 501, 999)),
        ),
        max_size=most,
        unique_by=lambda member: member.name,
    )


limits = st.integers(0, 40)


def needed(member: Member) -> int:
    return max(member.wants, member.floor)


def exact_share(limit: int, sharing: Sequence[Member]) -> list[Fraction]:
    """The definition, slowly: floors, then guarantees, then wants; each by priority, each rank to one water level."""
    got = [Fraction(member.floor) for member in sharing]
    guarantees = [max(member.floor, min(member.wants, member.guaranteed)) for member in sharing]
    for caps in (guarantees, [needed(member) for member in sharing]):
        for priority in sorted({member.priority for member in sharing}, reverse=True):
            rank = [index for index, member in enumerate(sharing) if member.priority == priority]
            amount = limit - sum(got, Fraction()) + sum(got[index] for index in rank)
            tubs = [(got[index], Fraction(caps[index]), sharing[index].weight) for index in rank]
            for index, held in zip(rank, poured(amount, tubs), strict=True):
                got[index] = held
    return got


def poured(amount: Fraction, tubs: Sequence[tuple[Fraction, Fraction, int]]) -> list[Fraction]:
    """Each tub's content when `amount` stands at one level, found by trying every level where a tub changes."""

    def at(level: Fraction) -> list[Fraction]:
        return [min(max(level * weight, base), cap) for base, cap, weight in tubs]

    levels = sorted({edge / weight for base, cap, weight in tubs for edge in (base, cap)})
    below = max((level for level in levels if sum(at(level)) <= amount), default=None)
    if below is None:
        return [base for base, _, _ in tubs]
    above = next((level for level in levels if level > below), None)
    if above is None:
        return at(below)
    low, high = sum(at(below)), sum(at(above))
    return at(below + (above - below) * (amount - low) / (high - low))


@pytest.mark.parametrize(
    ("limit", "sharing", "grants"),
    [
        pytest.param(5, [], (), id="nobody shares nothing"),
        pytest.param(0, [Member("a", 3)], (0,), id="a ceiling of zero grants nothing"),
        pytest.param(9, [Member("a", 3), Member("b", 4)], (3, 4), id="all get what they want when it fits"),
        pytest.param(6, [Member("a", 9), Member("b", 9)], (3, 3), id="equals share equally"),
        pytest.param(
            6, [Member("a", 1), Member("b", 9)], (1, 5), id="what one does not want goes to the other"
        ),
        pytest.param(6, [Member("a", 9, weight=2), Member("b", 9)], (4, 2), id="weight 2 gets twice as much"),
        pytest.param(5, [Member("b", 9), Member("a", 9)], (2, 3), id="the odd machine goes by name"),
        pytest.param(
            4,
            [Member("a", 9, weight=5), Member("b", 9, weight=2), Member("c", 9, weight=2)],
            (2, 1, 1),
            id="the odd machine goes to the largest remainder, whatever the name",
        ),
        pytest.param(
            6, [Member("a", 9), Member("b", 4, priority=1)], (2, 4), id="higher priority is served first"
        ),
        pytest.param(
            6,
            [Member("a", 9, guaranteed=2), Member("b", 9, priority=1)],
            (2, 4),
            id="a guarantee comes before priority",
        ),
        pytest.param(
            6,
            [Member("a", 1, guaranteed=4), Member("b", 9)],
            (1, 5),
            id="a guarantee that is not wanted is not kept",
        ),
        pytest.param(
            6,
            [Member("a", 9, guaranteed=3), Member("b", 9)],
            (3, 3),
            id="what a guarantee gave counts towards the fair share",
        ),
        pytest.param(
            3,
            [Member("a", 9, guaranteed=3), Member("b", 9, guaranteed=3, priority=1)],
            (0, 3),
            id="guarantees that do not all fit go by priority",
        ),
        pytest.param(
            3,
            [Member("a", 9, guaranteed=3, weight=2), Member("b", 9, guaranteed=3)],
            (2, 1),
            id="guarantees of one priority that do not fit go by weight",
        ),
        pytest.param(
            6, [Member("a", 9, floor=5), Member("b", 9)], (5, 1), id="a busy machine does not give way"
        ),
        pytest.param(
            3,
            [Member("a", 9, floor=3), Member("b", 9, floor=2), Member("c", 4)],
            (3, 2, 0),
            id="floors beyond it stay",
        ),
        pytest.param(
            4, [Member("a", 0, floor=3), Member("b", 9)], (3, 1), id="a floor nobody wants is still held"
        ),
        pytest.param(
            6,
            [Member("a", 4, floor=2, weight=501), Member("b", 3, weight=999), Member("c", 5, weight=3)],
            (3, 3, 0),
            id="levels that almost meet are told apart",
        ),
        pytest.param(
            # b and c are full; a and d share two machines as 4 to 13: 8/17 and 26/17
            4,
            [
                Member("a", 1, weight=4),
                Member("b", 1, weight=13),
                Member("c", 1, weight=10),
                Member("d", 2, weight=13),
            ],
            (0, 1, 1, 2),
            id="levels as far apart as a part of a machine are told apart",
        ),
        pytest.param(-1, [Member("a", 2)], (0,), id="a negative ceiling grants nothing"),
    ],
)
def test_a_ceiling_is_shared(limit: int, sharing: list[Member], grants: tuple[int, ...]) -> None:
    assert share(limit, sharing) == grants


@given(limits, members())
def test_safety_everyone_keeps_its_floor(limit: int, sharing: list[Member]) -> None:
    assert all(got >= member.floor for got, member in zip(share(limit, sharing), sharing, strict=True))


@given(limits, members())
def test_safety_nobody_gets_more_than_it_wants_or_holds(limit: int, sharing: list[Member]) -> None:
    assert all(got <= needed(member) for got, member in zip(share(limit, sharing), sharing, strict=True))


@given(limits, members())
def test_safety_the_ceiling_holds_or_nobody_gets_more_than_its_floor(
    limit: int, sharing: list[Member]
) -> None:
    grants, floors = share(limit, sharing), tuple(member.floor for member in sharing)
    assert sum(grants) <= limit or grants == floors


@given(limits, members())
def test_liveness_nothing_is_left_while_somebody_wants_it(limit: int, sharing: list[Member]) -> None:
    if sum(member.floor for member in sharing) <= limit:
        assert sum(share(limit, sharing)) == min(limit, sum(map(needed, sharing)))


@given(limits, members())
def test_liveness_guarantees_that_fit_are_kept(limit: int, sharing: list[Member]) -> None:
    promised = [max(member.floor, min(member.wants, member.guaranteed)) for member in sharing]
    if sum(promised) <= limit:
        assert all(got >= least for got, least in zip(share(limit, sharing), promised, strict=True))


@given(limits, members())
def test_liveness_a_lower_priority_gets_more_than_its_guarantee_only_when_higher_ones_are_served(
    limit: int, sharing: list[Member]
) -> None:
    grants = share(limit, sharing)
    for got, member in zip(grants, sharing, strict=True):
        if got > max(member.floor, min(member.wants, member.guaranteed)):
            assert all(
                other_got == needed(other)
                for other_got, other in zip(grants, sharing, strict=True)
                if other.priority > member.priority
            )


@given(limits, members())
def test_safety_within_a_priority_nobody_is_ahead_by_more_than_a_machine(
    limit: int, sharing: list[Member]
) -> None:
    grants = share(limit, sharing)
    if sum(grants) > limit:
        return
    for got, member in zip(grants, sharing, strict=True):
        for other_got, other in zip(grants, sharing, strict=True):
            ahead = got > max(member.floor, min(member.wants, member.guaranteed)) and other_got < needed(
                other
            )
            if ahead and member.priority == other.priority:
                assert Fraction(got - 1, member.weight) < Fraction(other_got + 1, other.weight)


@given(limits, members())
def test_safety_every_grant_is_within_one_machine_of_the_exact_share(
    limit: int, sharing: list[Member]
) -> None:
    for got, exact in zip(share(limit, sharing), exact_share(limit, sharing), strict=True):
        assert floor(exact) <= got <= ceil(exact)


@given(limits, members())
def test_safety_the_odd_machines_go_to_the_largest_remainders_of_the_exact_shares(
    limit: int, sharing: list[Member]
) -> None:
    exact = exact_share(limit, sharing)
    grants = [floor(part) for part in exact]
    odd = sum(exact, Fraction()) - sum(grants)
    by_remainder = sorted(
        range(len(sharing)), key=lambda index: (grants[index] - exact[index], sharing[index].name)
    )
    for index in by_remainder[: int(odd)]:
        grants[index] += 1
    assert share(limit, sharing) == tuple(grants)


@given(limits, members(), st.randoms(use_true_random=False))
def test_safety_who_gets_what_does_not_depend_on_the_order(
    limit: int, sharing: list[Member], dice: Random
) -> None:
    shuffled = list(sharing)
    dice.shuffle(shuffled)
    by_name = {member.name: got for member, got in zip(sharing, share(limit, sharing), strict=True)}
    assert share(limit, shuffled) == tuple(by_name[member.name] for member in shuffled)


@pytest.mark.slow
def test_many_members_with_odd_weights_get_exact_shares() -> None:
    sharing = [Member(f"m{n:03}", n % 37, n % 3, n % 2, 0, 1 + n * 7 % 1_000) for n in range(150)]
    grants = share(1_000, sharing)
    assert sum(grants) == 1_000
    assert all(
        floor(exact) <= got <= ceil(exact)
        for got, exact in zip(grants, exact_share(1_000, sharing), strict=True)
    )
