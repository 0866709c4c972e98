"""What is wrong with an object and where: one problem, field paths, and the words problems share."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from msgspec import Struct

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_STEP = re.compile(r'\.?([A-Za-z0-9_-]+)|\[(\d+)\]|\["([^"]*)"\]')


class Problem(Struct, frozen=True, order=True):
    """One thing to fix. Line and column count from 1; line 0 is the file as a whole."""

    file: str
    line: int
    column: int
    path: str
    message: str
    #: the text of a number that nothing can hold, for who judges it with what is around it
    number: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.path}: {self.message}" if self.path else f"{place}: {self.message}"


def child_path(path: str, key: str | int) -> str:
    """The path of a key or an index below `path`: `spec.members[0].name`, `metadata.labels["example.com/team"]`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{quoted(key)}]"
    return f"{path}.{key}" if path else key


def path_steps(path: str) -> tuple[str | int, ...]:
    """The keys and indices of a path, outermost first."""
    return tuple(int(index) if index else key or other for key, index, other in _STEP.findall(path))


def quoted(text: str, most: int = 40) -> str:
    """The text in double quotes on one line, cut after `most` characters."""
    shown = text if len(text) <= most else text[: most - 1] + "…"
    return '"' + "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in shown) + '"'


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`"; did you mean min?"` for the nearest of `known`, or nothing when none is near."""
    near = nearest(word, known)
    return f"; did you mean {near}?" if near else ""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one of `known` a person most likely meant; letter case and `-_` are forgiven first."""
    if len(word) > 64:
        return None
    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(_fold(name), name)
    found = get_close_matches(_fold(word), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def _fold(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")
