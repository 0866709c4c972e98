"""What may still be bought, counted by hand."""

import numpy as np
import pytest
from tests.fleet.builders import fleet_of, machines, need, shape, work_of

from remuda.fleet.decide.limits import affords, bought, buyable, rooms
from remuda.fleet.decide.work import Work
from remuda.fleet.policy import Policy, Quota, Rails
from remuda.model.machines import State
from remuda.model.shapes import DOLLAR


def three_for_sale(*, quotas: tuple[int, ...] = (), cap: int | None = None, running: int = 0) -> Work:
    """Three machines of a provider for two dollars each."""
    kind = shape(provider="p", dollars=2)
    rails = Rails(
        quotas=tuple(Quota("p", most) for most in quotas),
        spending={} if cap is None else {"p": cap * DOLLAR},
    )
    there = [machines(3, kind, State.SPECULATIVE), machines(running, kind)]
    return work_of(fleet_of(*there), need(count=9), policy=Policy(rails=rails))


@pytest.mark.parametrize(
    ("work", "room", "quotas_bite", "money_bites"),
    [
        pytest.param(three_for_sale(), 3, [], False, id="no limits"),
        pytest.param(three_for_sale(quotas=(2,)), 2, [False], False, id="a quota with something left"),
        pytest.param(three_for_sale(quotas=(3,)), 3, [False], False, id="a quota that is just enough"),
        pytest.param(three_for_sale(quotas=(0,)), 0, [True], False, id="a quota that is used up"),
        pytest.param(three_for_sale(quotas=(1,), running=2), 0, [True], False, id="a quota that is overrun"),
        pytest.param(three_for_sale(quotas=(2, 1, 0)), 0, [False, False, True], False, id="the last of three"),
        pytest.param(three_for_sale(cap=5), 2, [], False, id="money for two and a half"),
        pytest.param(three_for_sale(cap=6), 3, [], False, id="money for all"),
        pytest.param(three_for_sale(cap=1), 0, [], True, id="money for less than one"),
        pytest.param(three_for_sale(cap=0), 0, [], True, id="no money is not the same as no cap"),
        pytest.param(three_for_sale(cap=4, running=2), 0, [], True, id="what runs has spent it"),
        pytest.param(three_for_sale(quotas=(2,), cap=2), 1, [False], False, id="the lesser of both"),
    ],
)  # fmt: skip
def test_as_many_as_the_limits_leave_may_be_bought_and_one_that_leaves_none_bites(
    work: Work, room: int, quotas_bite: list[bool], money_bites: bool
) -> None:
    allowed = rooms(work)
    assert min(3, 9 if allowed is None else int(allowed[0])) == room
    for number in range(4):
        assert affords(work, np.array([number])) == (number <= room)
    assert buyable(work, 0) == room
    assert work.limits.quota_bites.tolist() == quotas_bite
    assert work.limits.money_bites.tolist() == [money_bites]


def test_what_is_bought_is_counted_against_every_limit() -> None:
    work = three_for_sale(quotas=(3, 2), cap=10)
    bought(work, 0, 2)
    assert work.limits.left.tolist() == [1, 0]
    assert work.limits.money.tolist() == [6 * DOLLAR]
    assert buyable(work, 0) == 0
    bought(work, 0, -2)
    assert buyable(work, 0) == 2
