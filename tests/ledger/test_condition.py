"""How a store is: whole, its version and size, and what it says about clocks."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from remuda.ledger.condition import last_cycles, look_at_store
from remuda.ledger.read_only import reading
from remuda.ledger.record import pack
from remuda.ledger.schema import VERSIONS
from remuda.ledger.store import FILE, SqliteStore

NOW = 1_900_000_000_000


def store(tmp_path: Path, *cycles: tuple[str, int, int]) -> Path:
    """A store with recorded cycles: of a loop, from, to."""
    path = tmp_path / FILE
    SqliteStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO policies VALUES (?, ?)", (b"p", pack({"max": 3})))
        columns = [name for _, name, *_ in db.execute("PRAGMA table_info(cycles)")]
        for loop, first_at, last_at in cycles:
            values: dict[str, Any] = {
                "loop": loop, "first_at": first_at, "last_at": last_at, "count": 1, "policy": b"p",
                "snapshot": pack({"seen": 1}), "memory": pack({}), "plan": pack({"reasons": []}),
            }  # fmt: skip
            row = {name: values.get(name, b"") for name in columns if name != "id"}
            db.execute(
                f"INSERT INTO cycles ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                tuple(row.values()),
            )
    db.close()
    return path


def test_a_store_tells_its_version_sizes_rows_and_since_when_it_records(tmp_path: Path) -> None:
    found = look_at_store(
        store(tmp_path, ("pools", NOW, NOW + 5), ("pools", NOW + 10, NOW + 20), ("fleet", NOW, NOW))
    )
    assert (found.trouble, found.version) == ("", len(VERSIONS))
    assert found.bytes >= found.used_bytes > 0
    assert found.rows["cycles"] == 3
    assert [(loop.loop, loop.rows, loop.first_at, loop.last_at) for loop in found.loops] == [
        ("fleet", 1, NOW, NOW),
        ("pools", 2, NOW, NOW + 20),
    ]
    assert found.set_back == ()


def test_a_clock_that_was_set_back_shows_in_the_order_of_what_was_recorded(tmp_path: Path) -> None:
    path = store(
        tmp_path, ("pools", NOW, NOW + 60_000), ("fleet", NOW - 9_000, NOW), ("pools", NOW + 10, NOW + 20)
    )
    assert [(jump.loop, jump.before, jump.after) for jump in look_at_store(path).set_back] == [
        ("pools", NOW + 60_000, NOW + 10)
    ]


@pytest.mark.parametrize(
    ("statement", "trouble"),
    [
        pytest.param(
            "PRAGMA user_version = 99", "install the newer remuda that wrote it", id="a newer version"
        ),
        pytest.param("PRAGMA application_id = 7", "a database of another program", id="another program's"),
    ],
)
def test_why_a_store_cannot_be_read_is_told_with_its_size(
    tmp_path: Path, statement: str, trouble: str
) -> None:
    path = store(tmp_path)
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()
    found = look_at_store(path)
    assert trouble in found.trouble
    assert found.bytes > 0


def test_a_damaged_store_says_how_to_salvage_it(tmp_path: Path) -> None:
    path = store(tmp_path, *(("pools", NOW + n, NOW + n) for n in range(200)))
    data = bytearray(path.read_bytes())
    data[8192 : len(data) - 4096] = b"\xff" * (len(data) - 4096 - 8192)
    path.write_bytes(data)
    assert "remuda store salvage" in look_at_store(path).trouble


def test_the_last_cycles_are_plain_data_and_a_damaged_part_says_so(tmp_path: Path) -> None:
    path = store(tmp_path, ("pools", NOW, NOW), ("pools", NOW + 1, NOW + 1), ("pools", NOW + 2, NOW + 2))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE cycles SET plan = x'00', policy = x'01' WHERE first_at = ?", (NOW + 2,))
    db.close()
    with reading(path) as db:
        (cycles,) = last_cycles(db, 2).values()
    assert [cycle["first_at"] for cycle in cycles] == [NOW + 1, NOW + 2]
    assert (cycles[0]["snapshot"], cycles[0]["policy"]) == ({"seen": 1}, {"max": 3})
    assert "cannot be read" in cycles[1]["plan"]
    assert cycles[1]["policy"] == "not there"
