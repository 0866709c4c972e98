"""
JSON log lines on stderr: one object a line, with a time, a level, a message and the numbers behind it.

Everything that other libraries log through `logging` comes out in the same form. Secrets never get here: nothing
that holds one is ever passed to a log call.
"""

import contextlib
import json
import logging
import sys
from collections.abc import Callable
from typing import TextIO

import msgspec

from remuda.loop.clock import Clock
from remuda.model.times import write_instant

_encode = msgspec.json.Encoder(enc_hook=str).encode
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class Log:
    """Writes lines through a function, so that a test, a pipe and a terminal view can each have them."""

    def __init__(self, clock: Clock, write: Callable[[str], object], level: str = "info") -> None:
        self._clock = clock
        self._write = write
        self._least = _LEVELS[level]

    def info(self, message: str, **terms: object) -> None:
        """Something that happened as it should."""
        self._line("info", message, terms)

    def warning(self, message: str, **terms: object) -> None:
        """Something a person may want to know."""
        self._line("warning", message, terms)

    def error(self, message: str, **terms: object) -> None:
        """Something that needs a person if it goes on."""
        self._line("error", message, terms)

    def _line(self, level: str, message: str, terms: dict[str, object]) -> None:
        if _LEVELS[level] >= self._least:
            line = {"time": write_instant(self._clock.now()), "level": level, "msg": message, **terms}
            # Nothing may fail because it was logged: not on a full disk, and not on words that are no text.
            with contextlib.suppress(OSError):
                self._write(_as_text(line) + "\n")


def _as_text(line: dict[str, object]) -> str:
    try:
        return _encode(line).decode()
    except UnicodeEncodeError:
        return json.dumps(line, default=str)


class _Bridge(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        write = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        terms: dict[str, object] = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            terms["error"] = f"{type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        write(record.getMessage(), **terms)


def take_over_logging(log: Log) -> None:
    """Send what libraries log, from warnings up, through the same lines."""
    root = logging.getLogger()
    root.handlers[:] = [_Bridge(log)]
    root.setLevel(logging.WARNING)


def to_stream(stream: TextIO | None = None) -> Callable[[str], object]:
    """Write lines to a stream, stderr by default; a closed pipe or a full disk loses lines, nothing else."""
    out = stream or sys.stderr

    def write(line: str) -> None:
        try:
            out.write(line)
            out.flush()
        except (OSError, ValueError):
            pass

    return write
