"""
Sessions that somebody ended before their time.

A cookie proves itself, so what was signed out must be remembered until the cookie would have ended: in a file, or a restart
would let a copy of it in again. Neither the file nor what replicas tell each other holds a cookie, only what cookies are known by.
"""

import contextlib
import os
import re
from pathlib import Path

import msgspec

from remuda.model.times import HOUR, Instant

#: how long a browser stays signed in
SESSION = 12 * HOUR
FILE = "web-signed-out"
#: whoever could sign out so often has a token, and could do worse
_MOST = 10_000
#: those that replicas tell each other, the newest: an annotation has room for so many
_MOST_SAID = 2_000
_SESSION = re.compile(r"[0-9a-f]{32}")


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
        self._keep({session: now + SESSION}, now)

    def said(self, now: Instant) -> str:
        """What another replica must know."""
        there = [item for item in self._until.items() if item[1] > now]
        return " ".join(f"{session}:{until}" for session, until in there[-_MOST_SAID:])

    def hear(self, text: str, now: Instant) -> bool:
        """Go by what another replica says; whether it knows all that is known here. `OSError` as `add`."""
        pairs = (each.partition(":") for each in text.split()[:_MOST_SAID])
        heard = {
            session: min(int(until), now + SESSION)
            for session, _, until in pairs
            if _SESSION.fullmatch(session) and until.isdecimal() and until.isascii() and len(until) < 16
        }
        fresh = {session: until for session, until in heard.items() if session not in self and until > now}
        if fresh:
            self._keep(fresh, now)
        return all(
            session in heard for session in [part.partition(":")[0] for part in self.said(now).split()]
        )

    def _keep(self, more: dict[str, Instant], now: Instant) -> None:
        kept = [item for item in self._until.items() if item[1] > now]
        self._until = dict(kept[-_MOST:]) | more
        if self._path is None:
            return
        aside = self._path.with_suffix(".new")
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123
            file.write(msgspec.json.encode(self._until))
        aside.replace(self._path)
