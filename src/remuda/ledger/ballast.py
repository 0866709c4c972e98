"""
Room kept for the moment the disk is full: to forget history takes room, too.

The file says nothing. It is dropped when a write finds no room, so that old history can be given up and its space given
back, and laid out again when there is room once more.
"""

import os
from pathlib import Path

BYTES = 8 * 1024 * 1024


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
