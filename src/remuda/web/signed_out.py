"""
Sessions that somebody ended before their time.

A cookie proves itself, so what was signed out must be remembered until the cookie would have ended: in a file, or a restart
would let a copy of it in again. The file holds no cookie, only what cookies are known by.
"""

import contextlib
import os
from pathlib import Path

import msgspec

from remuda.model.times import HOUR, Instant

#: how long a browser stays signed in
SESSION = 12 * HOUR
FILE = "web-signed-out"
#: whoever could sign out so often has a token, and could do worse
_MOST = 10_000


class SignedOut:
    """What was signed out, by session."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` is where it is kept; nowhere without one."""
        self._path = path
        self._until: dict[str, Instant] = {}
        if path is not None:
            # What cannot be read is forgotten: nobody is kept out by it.
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                self._until = msgspec.json.decode(path.read_bytes(), type=dict[str, Instant])

    def __contains__(self, session: str) -> bool:
        return session in self._until

    def add(self, session: str, now: Instant) -> None:
        """End a session; those that would have ended by now are forgotten. `OSError` when it cannot be kept for a restart."""
        kept = [item for item in self._until.items() if item[1] > now]
        self._until = dict(kept[-_MOST:]) | {session: now + SESSION}
        if self._path is None:
            return
        aside = self._path.with_suffix(".new")
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123
            file.write(msgspec.json.encode(self._until))
        aside.replace(self._path)
