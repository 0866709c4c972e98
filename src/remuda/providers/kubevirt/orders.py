"""
What is asked of a VirtualMachinePool, as changes of its replicas. Pure.

A pool makes nameless VMs, so its notes remember who asked: which orders were counted into `replicas`, and for which VMs
that are still in it `replicas` was lowered already. Both are written in the very patch that changes `replicas`, so
whatever is repeated after a crash is counted once.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import TypeAlias

import msgspec
from msgspec import Struct

from remuda.model.machines import Supplied
from remuda.model.times import MINUTE, Instant
from remuda.providers.kubevirt.resources import ORDERS, TEMPLATE, VmPool

#: an order whose VM is there is remembered this long, in case its operation is repeated
_REMEMBERED = 10 * MINUTE
_MOST_REMEMBERED = 500
#: twice what a loop carries out at the same time
_MOST_UNDER_WAY = 64
#: of what is still to come; no VM can have it in its name
MARK = ":"
_UNASKED = "missing-"


class Asked(Struct, frozen=True, array_like=True, gc=False):
    """An order that was counted."""

    name: str
    created_at: Instant
    template: str


class Notes(Struct, frozen=True):
    """What a pool's annotation remembers, oldest orders first."""

    orders: tuple[Asked, ...] = ()
    leaving: tuple[str, ...] = ()


class Lower(Struct, frozen=True):
    """One VM fewer: this one is about to be taken out."""

    uid: str


class Cancel(Struct, frozen=True):
    """One VM fewer: this order's, which is not there yet."""

    name: str


Wish: TypeAlias = Asked | Lower | Cancel


class Change(Struct, frozen=True):
    """What a pool becomes."""

    replicas: int
    notes: Notes


_decode = msgspec.json.Decoder(Notes).decode


def read_notes(pool: VmPool) -> Notes:
    """What is noted on a pool; nothing when a person made it unreadable."""
    try:
        return _decode(pool.metadata.annotations.get(ORDERS) or "{}")
    except (ValueError, RecursionError):
        return Notes()


def write_notes(notes: Notes) -> str:
    """The annotation's text."""
    return msgspec.json.encode(notes).decode()


def missing(pool: VmPool, notes: Notes, owned: AbstractSet[str]) -> int:
    """How many VMs the pool is still to make."""
    return max(0, pool.replicas - len(owned - set(notes.leaving)))


def changed(pool: VmPool, owned: AbstractSet[str], wishes: Iterable[Wish], now: Instant) -> Change:
    """
    Fulfil wishes; what was counted before is not counted again.

    `owned` are the uids of the VMs that the pool has. A person may have lowered `replicas` below their number, which
    removed none of them: then that number is where the count begins.
    """
    notes = read_notes(pool)
    leaving = [uid for uid in notes.leaving if uid in owned]
    orders = {order.name: order for order in notes.orders}
    to_come = missing(pool, notes, owned)
    replicas = max(pool.replicas, len(owned) - len(leaving))
    for wish in wishes:
        match wish:
            case Asked(name=name):
                if name not in orders:
                    orders[name] = wish
                    replicas, to_come = replicas + 1, to_come + 1
            case Lower(uid=uid):
                if uid in owned and uid not in leaving:
                    leaving.append(uid)
                    replicas -= 1
            case Cancel(name=name):
                waiting = {item.name for item in _last(orders.values(), to_come)}
                is_unasked = name.startswith(f"{pool.metadata.name}-{_UNASKED}") and to_come > len(waiting)
                if name in waiting or is_unasked:
                    orders.pop(name, None)
                    replicas, to_come = replicas - 1, to_come - 1
    kept = _last(orders.values(), to_come)
    waiting = {item.name for item in kept}
    recent = [
        item for item in orders.values() if item.name not in waiting and now - item.created_at < _REMEMBERED
    ]
    return Change(max(0, replicas), Notes((*recent[-_MOST_REMEMBERED:], *kept), tuple(leaving)))


def placeholders(pool: VmPool, owned: AbstractSet[str], noticed_at: Instant) -> tuple[Supplied, ...]:
    """
    The VMs that a pool is still to make, as machines that boot.

    Those are the last that were ordered; what nobody ordered, like a VM that vanished, counts from when it was noticed.
    """
    notes = read_notes(pool)
    count = missing(pool, notes, owned)
    name, trouble = pool.metadata.name, pool.trouble
    orders = _last(notes.orders, count)
    unasked = [Asked(f"{name}-{_UNASKED}{index}", noticed_at, "") for index in range(count - len(orders))]
    return tuple(
        Supplied(
            placeholder(name, item.name),
            name,
            item.template or pool.spec.virtual_machine_template.metadata.labels.get(TEMPLATE, ""),
            item.created_at,
            trouble=trouble,
            order=item.name,
        )
        for item in (*orders, *unasked)
    )


def fulfilled(pool: VmPool, owned: AbstractSet[str]) -> tuple[str, ...]:
    """
    The last orders whose VMs were made, oldest first; which VM is whose nobody can tell.

    They are as many as can have an operation under way.
    """
    notes = read_notes(pool)
    made = notes.orders[: max(0, len(notes.orders) - missing(pool, notes, owned))]
    return tuple(order.name for order in made[-_MOST_UNDER_WAY:])


def placeholder(pool: str, order: str) -> str:
    """The name of a machine that is ordered and not there yet: `linux:7` for the order `linux-7`."""
    return f"{pool}{MARK}{order.removeprefix(pool + '-')}"


def order_of(name: str) -> tuple[str, str]:
    """The pool and the order behind a placeholder's name."""
    pool, _, rest = name.partition(MARK)
    return pool, f"{pool}-{rest}"


def _last(orders: Iterable[Asked], count: int) -> tuple[Asked, ...]:
    found = tuple(orders)
    return found[len(found) - min(count, len(found)) :]
