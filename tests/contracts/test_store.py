"""What every store promises to whoever writes through it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.stores import KINDS, Stored, opened

from remuda.errors import BadInput
from remuda.ledger import documents
from remuda.ledger.dialects import one_by_one
from remuda.ledger.record import pack
from remuda.ledger.sql import Database


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stored]:
    with opened(request.param, tmp_path, request) as made:
        yield made


def put(name: str, data: bytes = b"x") -> "Put":
    return Put(name, data)


class Put:
    """A write that returns the name it set."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name, self.data = name, data

    def __call__(self, db: Database) -> str:
        db.execute("INSERT INTO settings VALUES (?, ?, 0)", (self.name, self.data))
        return self.name


def names(db: Database) -> list[str]:
    return [name for (name,) in db.execute("SELECT name FROM settings ORDER BY name")]


async def test_a_write_returns_what_it_returns_once_it_can_be_read(store: Stored) -> None:
    assert await store.write(put("a")) == "a"
    assert store.read(names) == ["a"]


@pytest.mark.parametrize("durable", [pytest.param(True, id="durable"), pytest.param(False, id="not durable")])
async def test_writes_of_either_kind_are_kept(store: Stored, durable: bool) -> None:
    await store.write(put("a"), durable=durable)
    assert store.read(names) == ["a"]


async def test_a_write_that_fails_changes_nothing_and_raises(store: Stored) -> None:
    def change(db: Database) -> None:
        put("half")(db)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await store.write(change)
    assert store.read(names) == []


async def test_a_write_that_the_database_refuses_changes_nothing_and_raises(store: Stored) -> None:
    def change(db: Database) -> None:
        put("half")(db)
        put("half")(db)

    with pytest.raises(Exception, match=r"(?i)unique"):
        await store.write(change)
    assert store.read(names) == []
    assert await store.write(put("whole")) == "whole"


async def test_a_write_that_fails_does_not_harm_its_neighbours(store: Stored) -> None:
    answers = await asyncio.gather(
        *(store.write(put(name)) for name in ("a", "b", "a", "c")), return_exceptions=True
    )
    assert [str(answer) for answer in answers if isinstance(answer, str)] == ["a", "b", "c"]
    assert "IntegrityError" in {each.__name__ for each in type(answers[2]).__mro__}
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

    def __call__(self, db: Database) -> None:
        row = db.execute("SELECT data FROM settings WHERE name = 'order'").fetchone()
        data = (row[0] if row else b"") + bytes([self.number])
        db.execute(
            "INSERT INTO settings VALUES ('order', ?, 0) ON CONFLICT (name) DO UPDATE SET data = excluded.data",
            (data,),
        )


async def test_a_caller_that_goes_away_does_not_undo_its_write(store: Stored) -> None:
    task = asyncio.ensure_future(store.write(put("a")))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await store.write(put("b"))
    assert store.read(names) == ["a", "b"]


async def test_a_question_sees_one_moment(store: Stored) -> None:
    await store.write(put("a"))

    def ask(db: Database) -> tuple[list[str], list[str]]:
        return names(db), names(db)

    first, second = store.read(ask)
    assert first == second == ["a"]


async def test_a_question_may_be_asked_while_the_rows_of_another_are_read(store: Stored) -> None:
    for name in "abc":
        await store.write(put(name))

    def ask(db: Database) -> list[tuple[str, bytes]]:
        return [
            (name, db.execute("SELECT data FROM settings WHERE name = ?", (name,)).fetchone()[0])
            for (name,) in one_by_one(db, "SELECT name FROM settings ORDER BY name", ())
        ]

    assert store.read(ask) == [("a", b"x"), ("b", b"x"), ("c", b"x")]


async def test_rows_that_are_not_read_to_the_end_are_in_nobodys_way(store: Stored) -> None:
    for name in "abc":
        await store.write(put(name))
    first = store.read(lambda db: next(iter(one_by_one(db, "SELECT name FROM settings ORDER BY name", ()))))
    assert first == ("a",)
    assert store.read(names) == ["a", "b", "c"]


async def test_an_error_of_a_question_is_the_callers_and_the_next_is_answered(store: Stored) -> None:
    def ask(db: Database) -> None:
        names(db)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        store.read(ask)
    assert store.read(names) == []


async def test_values_come_back_as_they_went_in(store: Stored) -> None:
    data = bytes(range(256)) * 40
    await store.write(put("50% of ? 'quoted'", data))
    found = store.read(
        lambda db: db.execute("SELECT name, data FROM settings WHERE name LIKE '50%'").fetchall()
    )
    assert found == [("50% of ? 'quoted'", data)]
    assert isinstance(found[0][1], bytes)


async def test_documents_of_too_many_kinds_or_too_many_of_one_are_forgotten_the_oldest_first(
    store: Stored,
) -> None:
    def keep(db: Database) -> None:
        documents.put(db, "games/old", 0, pack(0))
        for number in range(documents.MOST_KINDS + 2):
            documents.put(db, f"toys/{number}", number, pack(number))
        for at in range(100, 100 + documents.MOST_DOCUMENTS + 1):
            documents.put(db, "toys/many", at, pack(at))

    await store.write(keep)
    found = store.read(lambda db: documents.kept_of_family(db, "toys"))
    assert {item.kind for item in found} == {
        "toys/many", *(f"toys/{number}" for number in range(3, documents.MOST_KINDS + 2)),
    }  # fmt: skip
    assert [item.at for item in found][: documents.MOST_DOCUMENTS] == [*range(140, 100, -1)]
    assert len(store.read(lambda db: documents.kept_of_family(db, "games"))) == 1
    assert store.read(lambda db: documents.unpacked(documents.packed(db, found[0]), found[0], int)) == 140


async def test_the_fingerprint_of_a_document_tells_it_from_every_other_one(store: Stored) -> None:
    def keep(db: Database) -> None:
        for value in ("one", "two", "one"):
            documents.put(db, "toys/here", 5, pack(value))

    await store.write(keep)
    items = store.read(lambda db: documents.kept(db, "toys/here"))
    prints = store.read(lambda db: [documents.fingerprint(db, item) for item in items])
    assert len(set(prints)) == 3
    assert [found[1:] for found in prints] == [
        (len(pack(value)), pack(value)[-4:]) for value in ("one", "two", "one")
    ]
    gone = documents.Kept(99, "toys/here", 5)
    with pytest.raises(BadInput, match="is gone"):
        store.read(lambda db: documents.fingerprint(db, gone))
