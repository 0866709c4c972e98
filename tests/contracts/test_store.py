"""What every store promises to whoever writes through it."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.ledger.store import InlineStore, SqliteStore

Stored = InlineStore | SqliteStore


@pytest.fixture(params=["inline", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stored]:
    opened: Stored = InlineStore() if request.param == "inline" else SqliteStore(tmp_path / "remuda.db")
    yield opened
    opened.close()


def put(name: str, data: bytes = b"x") -> "Put":
    return Put(name, data)


class Put:
    """A write that returns the name it set."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name, self.data = name, data

    def __call__(self, db: sqlite3.Connection) -> str:
        db.execute("INSERT INTO settings VALUES (?, ?, 0)", (self.name, self.data))
        return self.name


def names(db: sqlite3.Connection) -> list[str]:
    return [name for (name,) in db.execute("SELECT name FROM settings ORDER BY name")]


async def test_a_write_returns_what_it_returns_once_it_can_be_read(store: Stored) -> None:
    assert await store.write(put("a")) == "a"
    assert store.read(names) == ["a"]


@pytest.mark.parametrize("durable", [pytest.param(True, id="durable"), pytest.param(False, id="not durable")])
async def test_writes_of_either_kind_are_kept(store: Stored, durable: bool) -> None:
    await store.write(put("a"), durable=durable)
    assert store.read(names) == ["a"]


@pytest.mark.parametrize("error", [ValueError("no"), sqlite3.IntegrityError("no")])
async def test_a_write_that_fails_changes_nothing_and_raises(store: Stored, error: Exception) -> None:
    def change(db: sqlite3.Connection) -> None:
        put("half")(db)
        raise error

    with pytest.raises(type(error), match="no"):
        await store.write(change)
    assert store.read(names) == []


async def test_a_write_that_fails_does_not_harm_its_neighbours(store: Stored) -> None:
    answers = await asyncio.gather(
        *(store.write(put(name)) for name in ("a", "b", "a", "c")), return_exceptions=True
    )
    assert [str(answer) for answer in answers if isinstance(answer, str)] == ["a", "b", "c"]
    assert isinstance(answers[2], sqlite3.IntegrityError)
    assert store.read(names) == ["a", "b", "c"]


async def test_writes_happen_in_the_order_they_were_asked_for(store: Stored) -> None:
    def add(number: int) -> "Write":
        return Write(number)

    await asyncio.gather(*(store.write(add(number)) for number in range(50)))
    order = store.read(lambda db: db.execute("SELECT data FROM settings WHERE name = 'order'").fetchone()[0])
    assert list(order) == list(range(50))


class Write:
    """Adds a byte to what was written before."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, db: sqlite3.Connection) -> None:
        row = db.execute("SELECT data FROM settings WHERE name = 'order'").fetchone()
        data = (row[0] if row else b"") + bytes([self.number])
        db.execute("INSERT OR REPLACE INTO settings VALUES ('order', ?, 0)", (data,))


async def test_a_caller_that_goes_away_does_not_undo_its_write(store: Stored) -> None:
    task = asyncio.ensure_future(store.write(put("a")))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await store.write(put("b"))
    assert store.read(names) == ["a", "b"]
