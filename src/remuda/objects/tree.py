"""
YAML text to a tree of nodes that know their line and column.

The tree is built from the parser's events, one at a time, and every limit is checked while they come: a file that is
too large, too deep or that grows through aliases is refused before it costs anything. An alias shares the node of its
anchor; what it would expand to is counted, never made.

A plain scalar means what both YAML 1.2 and kubectl (which reads YAML 1.1) take it for. Where the two differ (`yes`,
`on`, `010`, `1_000`, `<<`) it is refused with the two ways to write it, because the same file must mean the same on a
laptop and in a cluster. JSON is read as YAML.
"""

import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

import yaml

from remuda.objects.nodes import BrokenNode, Entry, ListNode, MapNode, Node, Scalar, ScalarNode
from remuda.objects.problems import Problem, child_path, quoted

MAX_BYTES: Final = 4 * 1024 * 1024
MAX_DEPTH: Final = 64
MAX_NODES: Final = 100_000

#: Text counts as one node more for every so many characters, so that long text cannot be multiplied by aliases.
_TEXT_OF_A_NODE: Final = 256
_LONGEST_NUMBER: Final = 100
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG_PREFIX: Final = "tag:yaml.org,2002:"

#: What YAML forbids, and the three characters that end a line in YAML 1.1 alone.
_NOT_ALLOWED = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORDS: Final[dict[str, bool | None]] = {
    word: value
    for name, value in (("true", True), ("false", False), ("null", None))
    for word in (name, name.title(), name.upper())
} | {"": None, "~": None}
_NOT_QUITE_BOOLS: Final = frozenset(
    form for word in ("y", "yes", "on", "n", "no", "off") for form in (word, word.title(), word.upper())
)
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9A-Fa-f]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NOT_QUITE_NUMBERS = re.compile(
    r"[-+]?(?:0[0-9]+|0b[01_]+|0o[0-7_]+|0x[0-9A-Fa-f_]+|[0-9]+_[0-9_]*(?:\.[0-9_]*)?|[0-9]+\.[0-9]*_[0-9_]*)"
)


class Refused(Exception):
    """The rest cannot be read: the message says why, and where when that is known."""

    def __init__(self, message: str, line: int = 0, column: int = 0, path: str = "") -> None:
        super().__init__(message)
        self.line, self.column, self.path = line, column, path


def read_bytes(path: str) -> bytes:
    """The bytes of a regular file of at most `MAX_BYTES`; raises `Refused` without reading what is larger."""
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise Refused("is not a regular file; write - to read standard input")
            if found.st_size > MAX_BYTES:
                raise Refused(_too_large(found.st_size))
            return read_stream(file)
    except FileNotFoundError:
        raise Refused("there is no such file") from None
    except (OSError, ValueError) as error:
        raise Refused(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting for the writer of a named pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def read_stream(stream: BinaryIO) -> bytes:
    """All bytes of a stream of at most `MAX_BYTES`; raises `Refused` when there are more."""
    try:
        content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise Refused(_too_large(len(content)))
    return content


def decode(content: bytes) -> str:
    """The text of UTF-8 bytes; raises `Refused` with the place of the first byte that is none."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", "replace")
        raise Refused("is not UTF-8 text", *_place(before, len(before))) from None


def parse(
    text: str,
    file: str,
    report: Callable[[Problem], None],
    *,
    most_bytes: int = MAX_BYTES,
    most_nodes: int = MAX_NODES,
) -> Iterator[Node]:
    """
    Yield the root node of each document that is not empty.

    What spoils one value is reported and reading goes on; what spoils the rest raises `Refused`.
    """
    size = len(text) if len(text) > most_bytes else len(text.encode("utf-8", "replace"))
    if size > most_bytes:
        raise Refused(_too_large(size))
    bad = _NOT_ALLOWED.search(text)
    if bad:
        words = f"the character U+{ord(bad[0]):04X} is not allowed: in text, write it as an escape in double quotes"
        raise Refused(words, *_place(text, bad.start()))
    builder = _Builder(file, report, most_nodes)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            root = builder.take(event)
            if root is not None and not (isinstance(root, ScalarNode) and root.value is None):
                yield root
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = " ".join(part for part in (error.context, error.problem) if part)
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise Refused(f"is not YAML: {words}", *place) from None
    except yaml.YAMLError as error:
        raise Refused(f"is not YAML: {str(error).splitlines()[0]}", 1, 1) from None


class _Made:
    """A node with its measure: `weight` counts all it expands to, `height` its levels."""

    __slots__ = ("height", "is_open", "key", "key_place", "node", "weight")

    def __init__(self, node: Node, weight: int, *, is_open: bool = False) -> None:
        self.node = node
        self.weight = weight
        self.height = int(is_open)
        self.is_open = is_open
        self.key: str | None = None
        self.key_place: tuple[int, int] | None = None


class _Builder:
    """Takes events one by one; `_open` is the way from the root to where the next node belongs."""

    def __init__(self, file: str, report: Callable[[Problem], None], most: int) -> None:
        self._file = file
        self._report = report
        self._most = most
        self._open: list[_Made] = []
        self._anchors: dict[str, _Made] = {}
        self._count = 0

    def take(self, event: yaml.Event) -> Node | None:
        """Add what the event says; the root node, when it completes a document's tree."""
        match event:
            case yaml.ScalarEvent():
                made = self._scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._start(event)
                return None
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                made = self._open.pop()
                made.is_open = False
                return self._attach(made)
            case yaml.AliasEvent():
                made = self._alias(event)
            case yaml.DocumentStartEvent():
                self._anchors.clear()
                return None
            case _:
                return None
        self._grow(made.weight, event)
        return self._attach(made)

    def _scalar(self, event: yaml.ScalarEvent) -> _Made:
        line, column = _at(event)
        node: Node
        try:
            node = ScalarNode(line, column, _value(event))
        except ValueError as error:
            node = BrokenNode(line, column)
            number = error.text if isinstance(error, _NoNumber) else ""
            self._complain(line, column, str(error), number=number)
        made = _Made(node, 1 + len(event.value) // _TEXT_OF_A_NODE)
        if event.anchor:
            self._anchors[event.anchor] = made
        return made

    def _start(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        line, column = _at(event)
        kind = "map" if isinstance(event, yaml.MappingStartEvent) else "seq"
        if event.tag not in (None, "!", _TAG_PREFIX + kind):
            self._complain(line, column, _wrong_tag(event.tag))
        node = MapNode(line, column, {}) if kind == "map" else ListNode(line, column, [])
        made = _Made(node, 1, is_open=True)
        if len(self._open) >= MAX_DEPTH:
            raise Refused(f"is nested more than {MAX_DEPTH} levels deep", line, column)
        self._grow(1, event)
        if event.anchor:
            self._anchors[event.anchor] = made
        self._open.append(made)

    def _alias(self, event: yaml.AliasEvent) -> _Made:
        line, column = _at(event)
        name = event.anchor or ""
        target = self._anchors.get(name)
        if target is None:
            self._complain(line, column, f"the alias *{name[:40]} has no anchor &{name[:40]} before it")
        elif target.is_open:
            self._complain(line, column, f"the alias *{name[:40]} is inside its own anchor")
        elif len(self._open) + target.height > MAX_DEPTH:
            raise Refused(f"is nested more than {MAX_DEPTH} levels deep through aliases", line, column)
        else:
            return target
        return _Made(BrokenNode(line, column), 1)

    def _grow(self, weight: int, event: yaml.Event) -> None:
        self._count += weight
        if self._count > self._most:
            raise Refused(
                f"holds more than {self._most:,} values, those that aliases repeat included", *_at(event)
            )

    def _attach(self, made: _Made) -> Node | None:
        if not self._open:
            return made.node
        parent = self._open[-1]
        parent.weight += made.weight
        parent.height = max(parent.height, made.height + 1)
        if isinstance(parent.node, ListNode):
            parent.node.items.append(made.node)
        elif parent.key_place is None:
            self._set_key(parent, made.node)
        elif isinstance(parent.node, MapNode):
            if parent.key is not None:
                parent.node.entries[parent.key] = Entry(*parent.key_place, made.node)
            parent.key = parent.key_place = None
        return None

    def _set_key(self, parent: _Made, node: Node) -> None:
        """Remember the key whose value comes next; a bad one is reported and its value is dropped."""
        parent.key_place = node.line, node.column
        if isinstance(node, BrokenNode):
            return
        if not isinstance(node, ScalarNode):
            self._complain(node.line, node.column, "a key must be text, found a mapping or a list")
            return
        if not isinstance(node.value, str):
            self._complain(
                node.line, node.column, f"the key {_shown(node.value)} is not text: put it in quotes"
            )
            return
        entries = parent.node.entries if isinstance(parent.node, MapNode) else {}
        first = entries.get(node.value)
        if first is not None:
            words = f"this key is here a second time: the first is on line {first.line}"
            self._complain(node.line, node.column, words, node.value)
            return
        parent.key = node.value

    def _complain(
        self, line: int, column: int, message: str, key: str | None = None, *, number: str = ""
    ) -> None:
        path = ""
        for made in self._open:
            if isinstance(made.node, ListNode):
                path = child_path(path, len(made.node.items))
            elif made.key is not None:
                path = child_path(path, made.key)
        path = path if key is None else child_path(path, key)
        self._report(Problem(self._file, line, column, path, message, number))


class _NoNumber(ValueError):
    """A number that YAML knows and nothing here can hold."""

    def __init__(self, text: str, what: str) -> None:
        super().__init__(f"{text} {what}")
        self.text = text


def _value(event: yaml.ScalarEvent) -> Scalar:
    """What a scalar means; raises `ValueError` with the right way to write it."""
    text, tag = event.value, event.tag
    if tag is None or tag == "!":
        return _plain(text) if event.implicit[0] and tag is None else text
    expected = {"str": str, "int": int, "float": float, "bool": bool, "null": type(None)}.get(
        tag.removeprefix(_TAG_PREFIX) if tag.startswith(_TAG_PREFIX) else ""
    )
    if expected is None:
        raise ValueError(_wrong_tag(tag))
    if expected is str:
        return text
    value = _plain(text)
    if expected is float and type(value) is int:
        return float(value)
    if type(value) is not expected:
        raise ValueError(f"{quoted(text)} does not fit its tag !!{tag.removeprefix(_TAG_PREFIX)}")
    return value


def _plain(text: str) -> Scalar:
    if not text or text[0] not in "+-.0123456789~tTfFnNyYoO<":
        return text or None
    if text in _WORDS:
        return _WORDS[text]
    if text in _NOT_QUITE_BOOLS:
        right = "true" if text[0] in "yY" or text.lower() == "on" else "false"
        raise ValueError(f'{text} can be read in two ways: write {right}, or "{text}" in quotes for the text')
    if text == "<<":
        raise ValueError("the merge key << is not supported: write the keys out")
    if _NOT_FINITE.fullmatch(text):
        raise _NoNumber(text, "is no finite number")
    is_int, is_float = _INT.fullmatch(text), _FLOAT.fullmatch(text)
    if len(text) > _LONGEST_NUMBER and (is_int or is_float):
        raise ValueError(f"{quoted(text)} is a number of {len(text)} characters: nothing here is that long")
    if is_int:
        return int(text, 0)
    if _NOT_QUITE_NUMBERS.fullmatch(text):
        raise ValueError(
            f"{quoted(text)} can be read in two ways: write a plain number, or put it in quotes for the text"
        )
    if is_float and math.isinf(float(text)):
        raise _NoNumber(text, "is too large a number")
    return float(text) if is_float else text


def _shown(value: Scalar) -> str:
    return "null" if value is None else str(value).lower()


def _wrong_tag(tag: str) -> str:
    return f"the tag {quoted(tag.replace(_TAG_PREFIX, '!!'))} is not supported: leave it out"


def _at(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _too_large(size: int) -> str:
    return f"is too large: {size:,} bytes, and {MAX_BYTES:,} are the most; split it into several files"
