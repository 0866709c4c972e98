"""Keys of a terminal, one by one, as they are pressed. Whatever ends the command, the terminal is as it was before."""

import contextlib
import os
import re
import termios
import tty
from collections.abc import Iterator

_NAMED = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1bOC": "right",
    "\x1bOD": "left",
    "\x1b[Z": "backtab",
    "\x1b": "esc",
    "\t": "tab",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
}
_KEY = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|.", re.DOTALL)


def keys_in(data: bytes) -> list[str]:
    """The keys that a terminal sent: a letter is itself, others have a name; those that nobody knows are left out."""
    found = (_NAMED.get(part, part) for part in _KEY.findall(data.decode(errors="ignore")))
    return [key for key in found if (len(key) > 1 and key[0] != "\x1b") or key.isprintable()]


@contextlib.contextmanager
def keys_at_once(descriptor: int) -> Iterator[None]:
    """Hand keys over as they are pressed and do not echo them; Ctrl-C still interrupts."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)


def read_keys(descriptor: int) -> list[str]:
    """What was pressed since; nothing when the terminal is gone."""
    try:
        return keys_in(os.read(descriptor, 1024))
    except OSError:
        return []
