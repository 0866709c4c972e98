"""A program that writes to a store until it is killed, and says what was committed."""

import asyncio
import sqlite3
import sys
from pathlib import Path

from remuda.ledger.store import SqliteStore


def put(db: sqlite3.Connection, name: str) -> None:
    """Two rows that belong together: a torn write would leave one of them."""
    db.execute("INSERT INTO settings VALUES (?, ?, 1)", (f"{name}/a", name.encode() * 50))
    db.execute("INSERT INTO settings VALUES (?, ?, 1)", (f"{name}/b", name.encode() * 50))


async def main() -> None:
    store = SqliteStore(Path(sys.argv[1]))

    async def write(writer: int) -> None:
        number = 0
        while True:
            name = f"{sys.argv[2]}-{writer}-{number}"
            await store.write(lambda db, name=name: put(db, name), durable=writer % 2 == 0)  # type: ignore[misc]
            print(name, flush=True)  # noqa: T201 - this is how it is told
            number += 1

    async with asyncio.TaskGroup() as group:
        for writer in range(8):
            group.create_task(write(writer))


asyncio.run(main())
