"""A copy of a store before its tables are changed, so that an upgrade can be taken back."""

import contextlib
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from remuda.errors import BadInput
from remuda.ledger.dialects import store_version
from remuda.ledger.schema import VERSIONS, Tables, part_version


def back_up(connection: sqlite3.Connection, path: Path, tables: Iterable[Tables]) -> Path | None:
    """
    Copy a store that is to be upgraded, beside it; None for one that needs none, because it is new or up to date.

    `BadInput` when there is no room for it: nothing was changed then, and nothing may be.
    """
    version = store_version(connection)
    is_older = 0 < version < len(VERSIONS) or any(
        0 < part_version(connection, part.name) < len(part.versions) for part in tables
    )
    if not is_older:
        return None
    copy = path.with_name(f"{path.name}.v{version}.backup")
    draft = path.with_name(f"{copy.name}.{os.getpid()}")
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        with contextlib.closing(sqlite3.connect(draft)) as target:
            connection.backup(target)
        with draft.open("rb") as written:
            os.fsync(written.fileno())  # pragma: no mutate - only a loss of power would show it
        draft.replace(copy)
    except (OSError, sqlite3.OperationalError) as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        size = -(-path.stat().st_size // (1024 * 1024))
        raise BadInput(
            f"{path} was written by an older remuda and must be upgraded, and the copy that is made before cannot be"
            f" written: {error}; nothing was changed; make {size} MiB free beside it and start again"
        ) from error
    return copy


def copy_new(connection: sqlite3.Connection, path: Path) -> None:
    """Write a store as a new file, in a directory that is made where there is none; `BadInput` where that cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600, exist_ok=False)
        with contextlib.closing(sqlite3.connect(path)) as target:
            connection.backup(target)
    except (OSError, sqlite3.OperationalError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(f"{path} cannot be written: {why}; choose a new directory with room for it") from error
