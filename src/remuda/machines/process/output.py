"""
What a job prints: secrets masked, kept up to a limit.

Part of the shim: the standard library only, and little of it.
"""

from __future__ import annotations

import os
import re

from remuda.machines.process.records import make_place

TYPE_CHECKING = False  # importing typing would cost every start of a shim some milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable

TAIL = 64 * 1024
MASKED = b"***"
SHORTEST_SECRET = 4
#: of its disk no output takes the last of the room, which the store needs to record how the job ended; on a small disk
#: it is an eighth
FLOOR = 16 * 1024 * 1024
SMALL = 8


class Mask:
    """
    Replaces secret values by `***` in a stream, also when a value is split over several reads.

    Every line of a value is masked for itself. Lines of fewer than four characters are left alone: masking them
    would destroy the output and hide nothing.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        lines = {line.strip() for value in secrets for line in re.split(r"[\r\n]+", value)}
        long_enough = (os.fsencode(line) for line in lines if len(line) >= SHORTEST_SECRET)
        self.lines = sorted(long_enough, key=lambda line: (-len(line), line))
        self.pattern = re.compile(b"|".join(map(re.escape, self.lines)))
        self.held = b""

    def whole(self, data: bytes) -> bytes:
        """All of `data`, masked; the longest value wins where several begin."""
        return self.pattern.sub(MASKED, data) if self.lines else data

    def feed(self, chunk: bytes) -> bytes:
        """The masked output so far, less the few bytes at its end that may be the beginning of a value."""
        if not self.lines:
            return chunk
        data = self.held + chunk
        begun = self._begun(data)
        pieces: list[bytes] = []
        cut, at = (begun[0] if begun else len(data)), 0
        if any(line in data for line in self.lines):  # many times faster than the pattern, and mostly false
            for match in self.pattern.finditer(data):
                if match.start() >= cut:
                    break
                pieces += (data[at : match.start()], MASKED)
                at = match.end()
                cut = next((start for start in begun if start >= at), len(data))
        self.held = data[cut:]
        return b"".join((*pieces, data[at:cut]))

    def rest(self) -> bytes:
        """What was held back, once nothing more will come."""
        held, self.held = self.held, b""
        return self.whole(held)

    def _begun(self, data: bytes) -> list[int]:
        found = set()
        for line in self.lines:
            at = data.find(line[:1], max(0, len(data) - len(line) + 1))
            while at >= 0:
                if line.startswith(data[at:]):
                    found.add(at)
                at = data.find(line[:1], at + 1)
        return sorted(found)


class Output:
    """
    A job's output on disk: masked, whole up to its limit, then only the last 64 KiB.

    A job that prints nothing leaves no file. What cannot be written is dropped and `trouble` says why: a full disk must
    not stop a job, nor its output fill the disk.
    """

    def __init__(self, path: str, limit: int, mask: Mask) -> None:
        self.path, self.room, self.mask = path, limit, mask
        self.total = 0
        self.left_out = 0
        self.tail = b""
        self.last = b"\n"
        self.trouble = ""
        self.file = -1

    def feed(self, chunk: bytes) -> None:
        """Take what the job wrote."""
        self._take(self.mask.feed(chunk))

    def close(self) -> None:
        """Write what was held back."""
        self._take(self.mask.rest())
        if self.left_out:
            start = b"" if self.last == b"\n" else b"\n"
            self._store(start + b"[remuda: %d bytes left out]\n" % self.left_out)
        self._store(self.tail)
        if self.file >= 0:
            if not os.fstat(self.file).st_nlink:
                self.trouble = f"the output was not kept: {self.path} was deleted"
            os.close(self.file)
            self.file = -1

    def _take(self, data: bytes) -> None:
        self.total += len(data)
        if self.room and data:
            self._store(data[: self.room])
            self.last = data[: self.room][-1:]
            data, self.room = data[self.room :], max(0, self.room - len(data))
        if data:
            self.left_out += len(self.tail) + len(data)
            self.tail = data[-TAIL:] if len(data) >= TAIL else (self.tail + data)[-TAIL:]
            self.left_out -= len(self.tail)

    def _store(self, data: bytes) -> None:
        if not data or self.trouble:
            return
        try:
            if self.file < 0:
                self.file = self._open()
            if not _has_room(self.file, len(data)):
                self.trouble = "part of the output was not kept: its disk is almost full"
                return
            while data:
                data = data[os.write(self.file, data) :]
        except OSError as problem:
            part = "part of " if self.file >= 0 else ""
            self.trouble = f"{part}the output was not kept: {problem}"

    def _open(self) -> int:
        how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW
        try:
            return os.open(self.path, how, 0o600)
        except FileNotFoundError:
            make_place(self.path)
            return os.open(self.path, how, 0o600)


def _has_room(file: int, size: int) -> bool:
    """True when the file's disk has room for so many bytes more, and the floor below them."""
    disk = os.fstatvfs(file)
    floor = min(FLOOR, disk.f_blocks * disk.f_frsize // SMALL)
    return not floor or disk.f_bavail * disk.f_frsize - size >= floor
