"""Who is where, and what is under way."""

import pytest
from msgspec.structs import replace
from tests.builders import NOW, closing, creation, deletion, machine, machines, pool, settings

from remuda.model.machines import Ended, Machine, State
from remuda.model.plans import Operation
from remuda.pools.decide.census import Census, take_census
from remuda.pools.decide.model import PoolAction, PoolMemory

BOOTING = machine("a-1", State.CREATING)
OVERDUE = machine("a-1", State.CREATING, created_at=NOW - 600_000)
DRAINING = machine("a-1", State.DRAINING)
CRASHED = machine("a-1", State.FAILED, ended="crashed")


def of(member: Machine) -> str:
    """How a counted failure is remembered."""
    return f"{member.name}@{member.created_at}"


def census(
    *members: Machine, operations: tuple[Operation[PoolAction], ...] = (), failed: tuple[str, ...] = ()
) -> Census:
    memory = PoolMemory(failed=failed)
    return take_census(pool("a", *members), settings(), memory, list(operations), NOW)


@pytest.mark.parametrize(
    ("member", "place", "live", "taking_room"),
    [
        pytest.param(machine("a-1"), "idle", 1, 1, id="idle"),
        pytest.param(machine("a-1", job="7"), "busy", 1, 1, id="busy"),
        pytest.param(machine("a-1", State.CONFIGURING), "busy", 1, 1, id="being given work is busy"),
        pytest.param(
            machine("a-1", State.DRAINING, job="7"), "busy", 1, 1, id="told to end, but still at work"
        ),
        pytest.param(
            machine("a-1", State.FAILED, job="7"), "busy", 1, 1, id="said to have failed, but still at work"
        ),
        pytest.param(BOOTING, "creating", 1, 1, id="booting"),
        pytest.param(OVERDUE, "overdue", 0, 1, id="booting for too long"),
        pytest.param(DRAINING, "draining", 0, 1, id="told to end"),
        pytest.param(machine("a-1", State.DELETING), "moving", 0, 1, id="on its way out"),
        pytest.param(machine("a-1", State.DRAINING, ended="finished"), "dead", 0, 0, id="over"),
        pytest.param(CRASHED, "dead", 0, 0, id="crashed"),
        pytest.param(machine("a-1", State.FAILED, job="7", ended="crashed"), "dead", 0, 0, id="died at work"),
        pytest.param(machine("a-1", State.FAILED), "dead", 0, 0, id="failed and not yet over"),
    ],
)
def test_every_machine_has_one_place(member: Machine, place: str, live: int, taking_room: int) -> None:
    seen = census(member)
    places = ("idle", "busy", "creating", "draining", "dead", "overdue", "moving")
    assert {name: len(getattr(seen, name)) for name in places} == {
        name: int(name == place) for name in places
    }
    assert (seen.live, seen.taking_room) == (live, taking_room)


def test_totals_count_everyone_once() -> None:
    seen = census(*machines(idle=2, busy=3, creating=1), operations=(creation(9),))
    assert (seen.ready, seen.live, seen.taking_room, seen.booting) == (5, 7, 7, 2)


@pytest.mark.parametrize(
    ("operations", "idle", "moving", "pending"),
    [
        pytest.param((), 1, 0, 0, id="nothing under way"),
        pytest.param(
            (closing(9, "a-1"),), 0, 1, 0, id="an idle machine that is being closed no longer serves"
        ),
        pytest.param((deletion(9, "a-1"),), 0, 1, 0, id="nor one that is being deleted"),
        pytest.param((closing(9, "a-1", "failed"),), 0, 1, 0, id="a failed operation rests for a cycle"),
        pytest.param((closing(9, "a-1", "refused"),), 1, 0, 0, id="a refused one changes nothing"),
        pytest.param((closing(9, "a-1", "done"),), 1, 0, 0, id="nor does one that is done"),
        pytest.param((creation(9),), 1, 0, 1, id="a machine that is being made counts before it is seen"),
        pytest.param((creation(1),), 1, 0, 0, id="and once when it is seen"),
        pytest.param((creation(9, outcome="done"),), 1, 0, 0, id="but not when it was made and is gone"),
        pytest.param((creation(9, outcome="failed"),), 1, 0, 0, id="nor when it could not be made"),
    ],
)
def test_operations_under_way_are_part_of_the_picture(
    operations: tuple[Operation[PoolAction], ...], idle: int, moving: int, pending: int
) -> None:
    seen = census(machine("a-1"), operations=operations)
    assert (len(seen.idle), len(seen.moving), seen.pending) == (idle, moving, pending)


@pytest.mark.parametrize(
    ("name", "order", "pending"),
    [
        pytest.param("a-7", None, 0, id="a machine has the name of its order"),
        pytest.param("a:7", "a-7", 0, id="or says which order it was made for"),
        pytest.param("a-7", "", 1, id="a name that is used again may be that of another order"),
    ],
)
def test_a_creation_under_way_is_known_by_its_order(name: str, order: str | None, pending: int) -> None:
    member = replace(machine(name), pool="a", order=order)
    assert census(member, operations=(creation(7),)).pending == pending


def test_a_busy_machine_stays_busy_whatever_is_under_way() -> None:
    seen = census(machine("a-1", job="7"), operations=(deletion(9, "a-1"),))
    assert [each.name for each in seen.busy] == ["a-1"]


def test_of_busy_machines_those_retire_that_were_told_to_or_are_just_being_told() -> None:
    actions_of, telling, other = (
        machine("a-1", State.DRAINING, job="1"),
        machine("a-2", job="2"),
        machine("a-3", job="3"),
    )
    assert census(actions_of, telling, other).retiring == 1
    assert census(actions_of, telling, other, operations=(closing(9, "a-2"),)).retiring == 2


@pytest.mark.parametrize(("length", "kept"), [(300, 300), (301, 300)])
def test_the_words_of_a_failure_are_kept_up_to_a_length(length: int, kept: int) -> None:
    found = census(replace(CRASHED, ended=Ended("crashed", "x" * length)))
    assert len(found.failure) == kept
    assert found.failure.endswith("…") is (length > kept)


def test_a_machine_whose_creation_is_under_way_serves_but_is_not_touched() -> None:
    seen = census(machine("a-1"), operations=(creation(1),))
    assert (seen.live, "a-1" in seen.occupied) == (1, True)


@pytest.mark.parametrize(
    ("member", "operations", "failed", "failures"),
    [
        pytest.param(CRASHED, (), (), 1, id="a crash before the first job is a failure"),
        pytest.param(CRASHED, (), (of(CRASHED),), 0, id="it is counted once, however long it lies there"),
        pytest.param(CRASHED, (deletion(9, "a-1"),), (), 0, id="what ends while we end it did not fail"),
        pytest.param(OVERDUE, (), (), 1, id="not booting in time is a failure"),
        pytest.param(OVERDUE, (), (of(OVERDUE),), 0, id="also counted once"),
        pytest.param(
            OVERDUE, (deletion(9, "a-1"),), (of(OVERDUE),), 0, id="and not again while it is removed"
        ),
        pytest.param(machine("a-1", State.FAILED), (), (), 1, id="failed without an end is a failure"),
        pytest.param(
            machine("a-1", State.FAILED, ended="crashed", uses=1),
            (),
            (),
            0,
            id="a crash at work proves that it boots",
        ),
        pytest.param(
            machine("a-1", State.DRAINING, ended="idle"), (), (), 0, id="ending for lack of work is proper"
        ),
        pytest.param(
            machine("a-1", State.DRAINING, ended="closed"), (), (), 0, id="ending as told is proper"
        ),
        pytest.param(
            machine("a-1"), (creation(9, outcome="failed"),), (), 1, id="a failed creation is a failure"
        ),
        pytest.param(
            machine("a-1"), (creation(9, outcome="refused"),), (), 0, id="a refused creation is none"
        ),
        pytest.param(machine("a-1"), (deletion(9, "a-2", "failed"),), (), 0, id="a failed deletion is none"),
    ],
)
def test_failures_are_counted_once(
    member: Machine, operations: tuple[Operation[PoolAction], ...], failed: tuple[str, ...], failures: int
) -> None:
    assert census(member, operations=operations, failed=failed).failures == failures


@pytest.mark.parametrize(
    ("member", "remembered"),
    [
        pytest.param(CRASHED, (of(CRASHED),), id="as long as it is to be seen"),
        pytest.param(machine("a-1"), (), id="not when it lives after all"),
        pytest.param(machine("a-2", State.DRAINING, ended="idle"), (), id="not when it is gone"),
    ],
)
def test_a_counted_failure_is_remembered(member: Machine, remembered: tuple[str, ...]) -> None:
    assert census(member, failed=(of(CRASHED),)).failed == remembered


def test_a_failure_of_a_machine_that_has_the_name_of_one_before_is_counted() -> None:
    anew = machine("a-1", State.FAILED, ended="crashed", created_at=CRASHED.created_at + 1)
    found = census(anew, failed=(of(CRASHED),))
    assert (found.failures, found.failed) == (1, (of(anew),))


def test_a_failure_of_a_namesake_of_the_same_second_is_counted_where_machines_have_an_identity() -> None:
    first, second = replace(CRASHED, uid="one"), replace(CRASHED, uid="two")
    remembered = census(first).failed
    assert remembered == ("a-1@one",)
    assert census(first, failed=remembered).failures == 0
    assert census(second, failed=remembered).failures == 1


def test_what_a_memory_of_an_earlier_version_knows_by_its_moment_of_creation_still_holds() -> None:
    crashed = replace(CRASHED, uid="one")
    found = census(crashed, failed=(of(crashed),))
    assert (found.failures, found.failed) == (0, ("a-1@one",))
    unheard = replace(BOOTING, ready_at=NOW - 900_000, uid="one")
    memory = PoolMemory(unheard_since={of(unheard): NOW - 500_000})
    seen = take_census(pool("a", unheard), settings(), memory, [], NOW)
    assert seen.unheard_since == {"a-1@one": NOW - 500_000}


def test_old_are_those_of_another_template_that_are_not_over() -> None:
    old = machine("a-1", template="before"), machine("a-2", template="before", job="7")
    over = machine("a-3", State.DRAINING, template="before", ended="finished")
    assert census(*old, over, machine("a-4")).old == 2
