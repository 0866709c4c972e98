"""Keys of the live view: what each makes of where a person is."""

import pytest

from remuda.pools.browsing import TABLES, Browsing, Order, Row, arranged, press

ROWS = [
    Row((name, str(number)), (name, number), ("pool", name))
    for name, number in (("b", 2), ("a", 10), ("c", 1))
]
SHOWN = [ROWS, [], ROWS, [Row(("12:00", "x"), (1, "x"))]]
COLUMNS = [2, 6, 6, 2]


def after(*keys: str, at: Browsing | None = None) -> Browsing:
    at = at or Browsing()
    for key in keys:
        at = press(at, key, SHOWN, COLUMNS)
    return at


@pytest.mark.parametrize(
    ("keys", "table", "row"),
    [
        pytest.param(["tab"], 1, 0, id="the next table"),
        pytest.param(["tab"] * len(TABLES), 0, 0, id="around"),
        pytest.param(["backtab"], 3, 0, id="the table before"),
        pytest.param(["right", "left"], 0, 0, id="arrows to the side"),
        pytest.param(["3"], 2, 0, id="by number"),
        pytest.param(["down", "j"], 0, 2, id="down"),
        pytest.param(["down"] * 9, 0, 2, id="not below the last row"),
        pytest.param(["up", "k"], 0, 0, id="not above the first"),
        pytest.param(["down", "tab"], 1, 0, id="another table begins at its top"),
        pytest.param(["tab", "down"], 1, 0, id="an empty table"),
        pytest.param(["x"], 0, 0, id="a key that means nothing"),
    ],
)
def test_keys_lead_to_tables_and_rows(keys: list[str], table: int, row: int) -> None:
    at = after(*keys)
    assert (at.table, at.row) == (table, row)


def test_sorting_goes_through_the_columns_and_back_to_how_it_came() -> None:
    assert [after(*["s"] * count).orders[0].column for count in range(4)] == [None, 0, 1, None]
    assert after("s", "r").orders[0] == Order(0, is_reversed=True)
    assert after("s", "tab", "s", "s").orders[:2] == (Order(0), Order(1))


@pytest.mark.parametrize(
    ("order", "text", "names"),
    [
        pytest.param(Order(), "", "bac", id="as it came"),
        pytest.param(Order(0), "", "abc", id="by name"),
        pytest.param(Order(1), "", "cba", id="numbers as numbers"),
        pytest.param(Order(1, is_reversed=True), "", "abc", id="in reverse"),
        pytest.param(Order(), "A 1", "a", id="with all words, in any case"),
        pytest.param(Order(), "nothing", "", id="with none"),
    ],
)
def test_rows_are_sorted_and_filtered(order: Order, text: str, names: str) -> None:
    assert "".join(str(row.cells[0]) for row in arranged(ROWS, order, text)) == names


def test_what_runs_stays_above_what_waits_however_it_is_sorted() -> None:
    backlog = [Row((str(n), "waiting"), (n, "waiting")) for n in range(9, 2, -1)]
    running = Row(("2", "running"), (2, "running"), comes_first=True)
    for order in (Order(), Order(0, is_reversed=True), Order(1, is_reversed=True)):
        assert arranged([*backlog, running], order, "")[0] is running


def test_a_filter_is_typed_kept_and_dropped() -> None:
    typing = after("/", "a", " ", "q", "backspace", "up")
    assert (typing.is_typing, typing.filter) == (True, "a ")
    assert "filter: a " in typing.keys
    kept = after("enter", at=typing)
    assert (kept.is_typing, kept.filter) == (False, "a ")
    assert kept.keys.startswith("filter: a ")
    assert after("esc", at=kept).filter == ""
    assert after("esc", at=typing) == Browsing()


def test_a_row_is_looked_at_closely_and_left_again() -> None:
    close = after("down", "enter")
    assert close.subject == ("pool", "a")
    assert "Esc back" in close.keys
    assert after("down", "down", "up", at=close).scrolled == 1
    assert after("up", "x", at=close).scrolled == 0
    back = after("esc", at=close)
    assert (back.subject, back.row) == (None, 1)
    assert after("tab", "enter").subject is None
    assert after("4", "enter").subject is None


def test_q_ends_wherever_one_is_but_in_a_filter() -> None:
    assert after("q").is_over
    assert after("enter", "q").is_over
    assert not after("/", "q").is_over
