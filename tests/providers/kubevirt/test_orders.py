"""What is asked of a pool is counted once, whatever is repeated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.providers.kubevirt.builders import vm_pool

from remuda.model.times import MINUTE
from remuda.providers.kubevirt.orders import (
    Asked,
    Cancel,
    Change,
    Lower,
    Notes,
    Wish,
    changed,
    fulfilled,
    missing,
    order_of,
    placeholder,
    placeholders,
    read_notes,
)
from remuda.providers.kubevirt.resources import ORDERS, VmPool

NOW = 1_800_000_000_000


def asked(number: int, at: int = NOW) -> Asked:
    return Asked(f"linux-{number}", at, "t1")


def after(pool: VmPool, change: Change) -> VmPool:
    return vm_pool(change.replicas, change.notes)


@pytest.mark.parametrize(
    ("replicas", "notes", "owned", "wishes", "then"),
    [
        pytest.param(0, Notes(), (), [asked(1), asked(2)], 2, id="two orders, two VMs"),
        pytest.param(1, Notes((asked(1),)), (), [asked(1)], 1, id="an order is counted once"),
        pytest.param(3, Notes(), "abc", [Lower("a")], 2, id="one fewer"),
        pytest.param(2, Notes((), ("a",)), "abc", [Lower("a")], 2, id="one fewer, once"),
        pytest.param(2, Notes(), "ab", [Lower("x")], 2, id="what is not in the pool is not counted"),
        pytest.param(2, Notes(), "ab", [Lower("a"), asked(1)], 2, id="one goes and one comes"),
        pytest.param(1, Notes(), "abc", [asked(1)], 4, id="a person lowered replicas, which removed nobody"),
        pytest.param(0, Notes(), "abc", [Lower("a")], 2, id="so, and one goes"),
        pytest.param(2, Notes((asked(1), asked(2))), (), [Cancel("linux-1")], 1, id="an order is called off"),
        pytest.param(1, Notes((asked(1), asked(2))), (), [Cancel("linux-1")], 1, id="its VM has come by now"),
        pytest.param(2, Notes((asked(1),)), "a", [Cancel("linux-9")], 2, id="an order nobody made"),
        pytest.param(2, Notes(), "a", [Cancel("linux-missing-0")], 1, id="what nobody ordered is called off"),
        pytest.param(1, Notes(), "a", [Cancel("linux-missing-0")], 1, id="and has come by now"),
        pytest.param(None, Notes(), (), [asked(1)], 2, id="replicas left out are one"),
    ],
)
def test_replicas_follow_what_is_asked(
    replicas: int | None, notes: Notes, owned: str, wishes: list[Wish], then: int
) -> None:
    pool = vm_pool(replicas, notes)
    change = changed(pool, set(owned), wishes, NOW)
    assert change.replicas == then
    again = changed(after(pool, change), set(owned), [w for w in wishes if not isinstance(w, Cancel)], NOW)
    assert again.replicas == then


def test_what_has_left_the_pool_is_forgotten() -> None:
    change = changed(vm_pool(1, Notes((), ("a", "b"))), {"b", "c"}, [], NOW)
    assert change.notes.leaving == ("b",)


def test_orders_whose_vms_are_there_are_remembered_for_a_while() -> None:
    orders = tuple(asked(number, NOW - number * MINUTE) for number in (20, 11, 9, 1))
    kept = changed(vm_pool(1, Notes(orders)), set(), [], NOW).notes.orders
    assert [item.name for item in kept] == ["linux-9", "linux-1"]
    waiting = changed(vm_pool(4, Notes(orders)), set(), [], NOW).notes.orders
    assert len(waiting) == 4


def test_what_is_still_to_come_is_listed_under_names_no_vm_can_have() -> None:
    pool = vm_pool(4, Notes((asked(7), asked(8), asked(9))))
    listed = placeholders(pool, {"a"}, 5)
    assert [item.name for item in listed] == ["linux:7", "linux:8", "linux:9"]
    assert all(item.ready_at is None and item.created_at == NOW and item.template == "t1" for item in listed)
    assert [item.name for item in placeholders(pool, {"a", "b", "c"}, 5)] == ["linux:9"]
    assert placeholders(pool, {"a", "b", "c", "d", "e"}, 5) == ()


def test_a_vm_that_vanished_is_to_come_though_nobody_ordered_it() -> None:
    (listed,) = placeholders(vm_pool(2, Notes()), {"a"}, 5)
    assert (listed.name, listed.created_at) == ("linux:missing-0", 5)
    assert order_of(listed.name) == ("linux", "linux-missing-0")


def test_a_pool_that_makes_nothing_says_why() -> None:
    (listed,) = placeholders(vm_pool(1, Notes((asked(1),)), paused=True), set(), 5)
    assert listed.trouble == "VirtualMachinePool linux is paused"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"orders":[[1]]}', '{"orders":7}'])
def test_notes_that_a_person_broke_are_no_notes(text: str) -> None:
    pool = vm_pool(1)
    pool.metadata.annotations[ORDERS] = text
    assert read_notes(pool) == Notes()


@pytest.mark.parametrize(
    ("replicas", "notes", "owned", "made"),
    [
        pytest.param(2, Notes((asked(1), asked(2))), "", (), id="none is made yet"),
        pytest.param(2, Notes((asked(1), asked(2))), "a", ("linux-1",), id="the first one is"),
        pytest.param(3, Notes((asked(1), asked(2))), "abc", ("linux-1", "linux-2"), id="all are"),
        pytest.param(1, Notes((asked(1),), ("a",)), "a", (), id="the one that is there leaves"),
        pytest.param(9, Notes((asked(1),)), "", (), id="more are missing than were ordered"),
    ],
)
def test_orders_are_fulfilled_in_turn(replicas: int, notes: Notes, owned: str, made: tuple[str, ...]) -> None:
    assert fulfilled(vm_pool(replicas, notes), set(owned)) == made


def test_of_orders_that_were_fulfilled_the_last_are_reported() -> None:
    notes = Notes(tuple(asked(number) for number in range(500)))
    made = fulfilled(vm_pool(1, notes), {"a"})
    assert (len(made), made[-1]) == (64, "linux-499")


def test_names_of_orders_come_back_from_placeholders() -> None:
    assert order_of(placeholder("a-b", "a-b-12")) == ("a-b", "a-b-12")


numbers = st.integers(0, 30)
wish = st.one_of(
    numbers.map(lambda number: asked(100 + number)),
    numbers.map(lambda number: Lower(f"u{number}")),
    numbers.map(lambda number: Cancel(f"linux-{100 + number}")),
)


@given(st.integers(0, 30), st.sets(numbers.map(lambda n: f"u{n}")), st.lists(wish, max_size=20))
def test_safety_whatever_is_repeated_is_counted_once(
    replicas: int, owned: set[str], wishes: list[Wish]
) -> None:
    pool = vm_pool(replicas, Notes())
    once = changed(pool, owned, wishes, NOW)
    assert once.replicas >= 0
    # A cancelled order that is repeated is a new one: the loop never does that.
    kept = [item for item in wishes if not isinstance(item, Cancel)]
    if kept == wishes:
        assert changed(after(pool, once), owned, wishes, NOW) == once


@given(st.integers(0, 30), st.sets(numbers.map(lambda n: f"u{n}")), st.lists(wish, min_size=1, max_size=20))
def test_safety_one_by_one_or_all_at_once_is_the_same(
    replicas: int, owned: set[str], wishes: list[Wish]
) -> None:
    pool = together = vm_pool(replicas, Notes())
    for item in wishes:
        pool = after(pool, changed(pool, owned, [item], NOW))
    assert pool.replicas == changed(together, owned, wishes, NOW).replicas


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 20))
def test_liveness_every_order_is_a_vm_to_come(replicas: int, owned: int, count: int) -> None:
    have = {f"u{number}" for number in range(owned)}
    pool = vm_pool(replicas, Notes())
    before = missing(pool, Notes(), have)
    change = changed(pool, have, [asked(100 + number) for number in range(count)], NOW)
    assert missing(after(pool, change), change.notes, have) == before + count
    assert len(placeholders(after(pool, change), have, 0)) == before + count
