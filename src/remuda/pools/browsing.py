"""
How a person goes through the live view: which table, in which order, what is left out, and what is looked at closely.

A `Browsing` is a value; each key gives the next one. What is drawn with it is for `live`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

#: in the order they stand below each other
TABLES = ("pools", "machines", "jobs", "decisions")

Cell: TypeAlias = str | int
#: kind and name, as `remuda why` takes them
Subject: TypeAlias = tuple[str, str]

KEYS = "Tab ↑↓ choose · Enter why · s sort · r reverse · / filter"
TYPING_KEYS = "Enter keeps the filter · Esc drops it"
CLOSE_KEYS = "Esc back · ↑↓ scroll"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table: what is shown, what it is sorted by, and what can be asked about it."""

    cells: tuple[object, ...]
    values: tuple[Cell, ...]
    subject: Subject | None = None
    #: stays above others however they are sorted: a job that runs, under a backlog
    comes_first: bool = False

    def has(self, text: str) -> bool:
        """Whether a filter lets it through."""
        return all(word in " ".join(map(str, self.cells)).lower() for word in text.lower().split())


@dataclass(frozen=True, slots=True)
class Order:
    """By which column a table is sorted; None leaves it as it came."""

    column: int | None = None
    is_reversed: bool = False


@dataclass(frozen=True, slots=True)
class Browsing:
    """Where a person is."""

    table: int = 0
    row: int = 0
    orders: tuple[Order, ...] = field(default=(Order(),) * len(TABLES))
    filter: str = ""
    is_typing: bool = False
    #: what is looked at closely, and how far its lines are scrolled
    subject: Subject | None = None
    scrolled: int = 0
    is_over: bool = False
    #: whether q ends it; not where what is watched would end with it
    may_quit: bool = True

    @property
    def keys(self) -> str:
        """The keys that do something now."""
        if self.is_typing:
            return f"filter: {self.filter}▏   {TYPING_KEYS}"
        stop = " · q or Ctrl-C to stop" if self.may_quit else " · Ctrl-C to stop"
        if self.subject:
            return CLOSE_KEYS + stop
        return (f"filter: {self.filter}   " if self.filter else "") + KEYS + stop


Direction: TypeAlias = Literal[-1, 1]


def arranged(rows: Sequence[Row], order: Order, text: str) -> list[Row]:
    """The rows that a filter lets through, sorted; those that come first do so in any order."""
    found = [row for row in rows if row.has(text)]
    if order.column is not None:
        column = order.column
        found.sort(key=lambda row: _sortable(row.values[column]), reverse=order.is_reversed)
    return sorted(found, key=lambda row: not row.comes_first)


def _sortable(value: Cell) -> tuple[bool, int, str]:
    return (True, 0, value.lower()) if isinstance(value, str) else (False, value, "")


def press(at: Browsing, key: str, shown: Sequence[Sequence[Row]], columns: Sequence[int]) -> Browsing:
    """
    What a key makes of it.

    `shown` are the rows of each table as they stand on the screen, `columns` how many columns each has.
    """
    if at.is_typing:
        return _type(at, key)
    if at.subject is not None:
        return _look_closely(at, key)
    rows = shown[at.table]
    match key:
        case "q":
            return replace(at, is_over=at.may_quit)
        case "tab" | "right":
            return replace(at, table=(at.table + 1) % len(TABLES), row=0)
        case "backtab" | "left":
            return replace(at, table=(at.table - 1) % len(TABLES), row=0)
        case "1" | "2" | "3" | "4":
            return replace(at, table=int(key) - 1, row=0)
        case "down" | "j":
            return replace(at, row=max(0, min(at.row + 1, len(rows) - 1)))
        case "up" | "k":
            return replace(at, row=max(0, at.row - 1))
        case "s" | "r":
            return replace(at, row=0, orders=_ordered(at, key, columns[at.table]))
        case "/":
            return replace(at, is_typing=True, row=0)
        case "esc":
            return replace(at, filter="", row=0)
        case "enter" if at.row < len(rows) and rows[at.row].subject:
            return replace(at, subject=rows[at.row].subject, scrolled=0)
        case _:
            return at


def _ordered(at: Browsing, key: str, columns: int) -> tuple[Order, ...]:
    order = at.orders[at.table]
    if key == "r":
        changed = replace(order, is_reversed=not order.is_reversed)
    elif order.column is None:
        changed = Order(0)
    else:
        changed = Order(order.column + 1 if order.column + 1 < columns else None)
    return tuple(changed if index == at.table else each for index, each in enumerate(at.orders))


def _type(at: Browsing, key: str) -> Browsing:
    match key:
        case "enter":
            return replace(at, is_typing=False)
        case "esc":
            return replace(at, is_typing=False, filter="")
        case "backspace":
            return replace(at, filter=at.filter[:-1])
        case _ if len(key) == 1 and key.isprintable():
            return replace(at, filter=at.filter + key)
        case _:
            return at


def _look_closely(at: Browsing, key: str) -> Browsing:
    match key:
        case "q":
            return replace(at, is_over=at.may_quit)
        case "esc" | "backspace" | "left":
            return replace(at, subject=None, scrolled=0)
        case "down" | "j":
            return replace(at, scrolled=at.scrolled + 1)
        case "up" | "k":
            return replace(at, scrolled=max(0, at.scrolled - 1))
        case _:
            return at
