"""Where the bytes of files come from, and where in them something stands."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, NoReturn, TypeAlias

from remuda.model.findings import Place
from remuda.model.times import SECOND, Instant
from remuda.objects.tree import Refused

#: bytes, or a file that is read where it is: to copy half a gigabyte costs more than anything else that is done to it
Data: TypeAlias = bytes
#: the bytes of a file, and when it was written if that is known
Content: TypeAlias = tuple[Data, Instant | None]
Get: TypeAlias = Callable[[], Content]

_SUFFIXES: Final = (".json", ".yaml", ".yml")
_SPACE = re.compile(rb"\s*")
_PIECE: Final = 1024 * 1024


class Text:
    """The bytes of a file, which knows the lines of places in it that are asked for in order."""

    def __init__(self, file: str, data: Data, changed: Instant) -> None:
        self.file = file
        self.data = data
        self.changed = changed
        self.whole = Place(file)
        self._at, self._line, self._line_at = 0, 1, 0

    def line(self, at: int) -> int:
        """The line of a place, from 1; quick when it is after the last one asked for."""
        if at < self._at:
            self._at, self._line, self._line_at = 0, 1, 0
        while self._at < at:
            piece = self.data[self._at : min(self._at + _PIECE, at)]
            self._line += piece.count(b"\n")
            last = piece.rfind(b"\n")
            if last >= 0:
                self._line_at = self._at + last + 1
            self._at += len(piece)
        return self._line

    def place(self, at: int) -> tuple[int, int]:
        """Line and column, from 1."""
        return self.line(at), at - self._line_at + 1


def after_space(data: Data, begin: int) -> int:
    """Where the next thing begins."""
    found_space = _SPACE.match(data, begin)
    return found_space.end() if found_space else begin


def as_utf8(data: Data) -> Data:
    """Without a mark in front; what PowerShell writes is UTF-16."""
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        try:
            return data[:].decode("utf-16").encode()
        except UnicodeError:
            raise Refused("is neither UTF-8 nor UTF-16 text") from None
    return data[3:] if data[:3] == b"\xef\xbb\xbf" else data


def sources(name: str, stdin: BinaryIO) -> Iterator[tuple[str, Get]]:
    """The files that a person means by a name, and how to read each; what cannot be read is `Refused` then."""
    if name == "-":
        yield "stdin", lambda: (stdin.read(), None)
        return
    if not os.path.isdir(name):  # noqa: PTH112 - Path.is_dir raises for names that cannot be
        yield name, partial(_file, name)
        return
    try:
        inside = sorted(os.listdir(name))  # noqa: PTH208 - the names as they are given
    except OSError as error:
        yield name, partial(_refuse, f"cannot be read: {error.strerror}")
        return
    files = [each for each in inside if each.endswith(_SUFFIXES) and not each.startswith(".")]
    if not files:
        yield name, partial(_refuse, f"holds no file that ends in {', '.join(_SUFFIXES)}")
    for each in files:
        path = str(Path(name) / each)
        yield path, partial(_file, path)


def _file(path: str) -> Content:
    """The bytes of a file, or of a pipe as the shell makes of `<(kubectl …)`, and when the file was written."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            about = os.fstat(file.fileno())
            if stat.S_ISREG(about.st_mode):
                return file.read(), int(about.st_mtime * SECOND)
            if not stat.S_ISFIFO(about.st_mode):
                raise Refused("is neither a file nor a pipe")
            os.set_blocking(file.fileno(), True)
            return file.read(), None
    except FileNotFoundError:
        raise Refused("there is no such file") from None
    except (OSError, ValueError) as error:
        raise Refused(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _refuse(message: str) -> NoReturn:
    raise Refused(message)
