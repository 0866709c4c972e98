"""
Room kept for the moment the disk is full: to forget history takes room, too.

The file says nothing. It is dropped when a write finds no room, so that old history can be given up and its space given
back, and laid out again at once if history gave enough room for it, or else when there is room once more.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

BYTES = 8 * 1024 * 1024
#: pages that are given back to a full disk at a time
_PAGES_BACK = 2_000


class Ballast:
    """A file that takes up room until it is needed. A disk that is too small for it does without."""

    def __init__(self, path: Path, size: int = BYTES) -> None:
        self.path = path
        self._size = size

    def keep(self) -> bool:
        """Lay it out where there is room for it twice over; whether it is there."""
        try:
            if self.path.exists():
                return True
            free = os.statvfs(self.path.parent)
            if free.f_bavail * free.f_frsize < 2 * self._size:
                return False
            file = os.open(
                self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError:
            return False
        try:
            # Written, not only reserved: not every file system reserves.
            for _ in range(self._size // 65536):
                os.write(file, b"\0" * 65536)
        except OSError:
            self.drop()
            return False
        finally:
            os.close(file)
        return True

    def drop(self) -> bool:
        """Make its room free; whether there was any."""
        try:
            self.path.unlink()
        except OSError:
            return False
        return True


def is_full(path: Path) -> bool:
    """Whether hardly anything can be written beside a file."""
    try:
        free = os.statvfs(path.parent)
    except OSError:
        return False
    return free.f_bavail * free.f_frsize < 128 * 1024


def room(path: Path) -> tuple[int | None, int | None]:
    """Bytes and files for which there is room below a path; a file system that counts no files has no limit of them."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None, None
    return found.f_bavail * found.f_frsize, found.f_favail if found.f_files else None


def gave_room(
    db: sqlite3.Connection, make_room: Callable[[sqlite3.Connection], int] | None, ballast: Ballast | None
) -> bool:
    """
    Whether a write that found no room may be tried again: the ballast gave way, or history.

    `make_room` gives up some history and says how much. It is asked until there is room for the ballast: the next full
    disk wants it again.
    """
    if make_room is None:
        return False
    had_ballast = ballast is not None and ballast.drop()
    gone = 0
    with suppress(sqlite3.Error):
        # What a failed write left in the log takes room, too.
        _settle_log(db)
        while more := _give_up(db, make_room):
            gone += more
            if ballast is None:
                break
            _shrink(db)
            if ballast.keep():
                break
    return had_ballast or gone > 0


def _give_up(db: sqlite3.Connection, make_room: Callable[[sqlite3.Connection], int]) -> int:
    with db:
        db.execute("BEGIN IMMEDIATE")
        return make_room(db)


def _shrink(db: sqlite3.Connection) -> None:
    """Give what was freed back to the disk, now that there is room to do so."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        for _ in range(_PAGES_BACK):  # one page each: the driver does not go on by itself
            db.execute("PRAGMA incremental_vacuum(1)").fetchall()
    _settle_log(db)


def _settle_log(db: sqlite3.Connection) -> None:
    """Carry what is in the log over into the file, and make the log's room free."""
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
