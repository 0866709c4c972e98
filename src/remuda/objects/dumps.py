"""
Files of what `kubectl get -o json` or `-o yaml` prints, read object by object into projections.

Nothing here raises for what a file holds: what is wrong becomes problems, all at once. JSON is read item by item, since a
large cluster is half a gigabyte of it; YAML is read by the loader of our own objects, with its limits but for the size.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from remuda.model.findings import Place
from remuda.model.times import Instant
from remuda.objects.convert import found
from remuda.objects.json_values import malformed, value_end
from remuda.objects.load import MAX_PROBLEMS
from remuda.objects.nodes import ListNode, MapNode, Node, ScalarNode, place_of
from remuda.objects.problems import Problem, quoted
from remuda.objects.slow_path import no_faults, node_from, read_slowly
from remuda.objects.texts import Get, Text, after_space, as_utf8, sources
from remuda.objects.tree import Refused, decode, parse

MAX_YAML: Final = 64 * 1024 * 1024
MAX_YAML_NODES: Final = 4_000_000
_BETWEEN = re.compile(rb"[\s,]*")
#: what a quick way of reading may stumble over
BAD: Final = (ValueError, RecursionError, msgspec.MsgspecError)

G = TypeVar("G")
S = TypeVar("S")


class _TooManyError(Exception):
    """Nobody reads more."""


class _Head(Struct, frozen=True, rename="camel"):
    """What distinguishes lists, objects and what kubelets answer."""

    kind: str = ""
    api_version: str = ""
    items: list[Raw] | UnsetType | None = UNSET
    node: Raw | UnsetType = UNSET


_HEAD: Final = msgspec.json.Decoder(_Head | list[Raw])


def _full_name(item: Any) -> str:
    meta = item.metadata
    return f"{meta.namespace}/{meta.name}" if meta.namespace else str(meta.name)


@dataclass(frozen=True, slots=True)
class Form(Generic[G]):
    """A kind that is read: of which versions, into which projection, and who takes it."""

    kind: str
    #: as objects carry them
    api_versions: tuple[str, ...]
    type: type[Struct]
    #: adds an object to what is gathered, and returns whether it was there already; `ValueError` for a bad amount
    take: Callable[[G, Any, Place, Instant], bool]
    decode: Callable[[Any], Any]
    #: the line it stands on is worth finding
    has_line: bool = False
    name_of: Callable[[Any], str] = _full_name
    #: path and fault of what only its reader knows to be wrong
    faults: Callable[[Any], Iterable[tuple[str, str]]] = no_faults

    @property
    def group(self) -> str:
        """What its versions are of."""
        return self.api_versions[0].rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class FilesRead(Generic[S]):
    """What files say. With any problem nothing should be concluded; notes are for people."""

    snapshot: S
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


class Dumps(Generic[G]):
    """
    One look at all files.

    Of an object that comes again the last counts. `reader` is who reads, in notes and problems.
    """

    def __init__(
        self,
        forms: Mapping[str, Form[G]],
        into: G,
        now: Instant,
        reader: str,
        *,
        guess: Form[G],
        answers: Form[G] | None = None,
    ) -> None:
        """
        `guess` is what most objects are.

        `answers` is what kubelets answer at /stats/summary, which has no kind but a node, for who reads it.
        """
        self._forms = forms
        self._into = into
        self._now = now
        self._reader = reader
        self._answers = answers
        self.problems: set[Problem] = set()
        #: kinds that files hold some of, or an empty list
        self.met: set[str] = set()
        self._unread: Counter[str] = Counter()
        self._again: dict[str, list[str]] = {}
        #: what the next item is likely to be: lists hold one kind mostly
        self._guess = guess

    def read_all(self, paths: Iterable[str | Path], stdin: BinaryIO | None = None) -> str:
        """Read files, directories (their *.json, *.yaml and *.yml) and `-`, standard input; what was read, in words."""
        names = list(dict.fromkeys(str(path) for path in paths))
        try:
            for name in names:
                for file, get in sources(name, stdin or sys.stdin.buffer):
                    self.read(file, get)
        except _TooManyError:
            last = max(self.problems)
            words = f"these are the first {MAX_PROBLEMS:,} problems: the rest was not read"
            self.problems.add(Problem(last.file, last.line, last.column, "", words))
        return ", ".join(names)

    def result(self, snapshot: S) -> FilesRead[S]:
        """What was made of the files, with all that is to be said about them."""
        return FilesRead(snapshot, tuple(sorted(self.problems)), tuple(self.notes()))

    def notes(self) -> Iterator[str]:
        """What people may want to know."""
        if self._unread:
            message = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self._unread.items()))
            yield f"passed over, since {self._reader} does not read them: {message}"
        for kind, names in sorted(self._again.items()):
            some = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
            yield f"{len(names):,} {kind} more than once: the last counts, of {some}"

    def report(self, problem: Problem) -> None:
        """Keep a problem."""
        self.problems.add(problem)
        if len(self.problems) >= MAX_PROBLEMS:
            raise _TooManyError

    def read(self, file: str, get: Get) -> None:
        """Take all that a file holds."""
        try:
            data, changed = get()
            self._read_text(Text(file, as_utf8(data), self._now if changed is None else changed))
        except Refused as error:
            self.report(Problem(file, error.line, error.column, error.path, str(error)))
        except RecursionError:
            self.report(Problem(file, 0, 0, "", "is nested too deep"))

    def took(self, form: Form[G], item: Any, *, is_again: bool) -> None:
        """Remember that an object was taken."""
        self.met.add(form.kind)
        if is_again:
            self._again.setdefault(form.kind, []).append(form.name_of(item))

    def read_at_once(self, whole: memoryview) -> bool:  # noqa: ARG002 - for who knows a quicker way
        """Take a whole file of JSON the quickest way; False, and nothing is taken, if there is none."""
        return False

    def _read_text(self, text: Text) -> None:
        begin = after_space(text.data, 0)
        if begin == len(text.data):
            raise Refused("is empty: kubectl writes nothing when it fails, so look at what it said")
        if text.data[begin : begin + 1] in {b"{", b"["}:
            self._read_json(text, begin)
        else:
            self._read_yaml(text)

    # JSON

    def _read_json(self, text: Text, begin: int) -> None:
        """One value, or several one after another, as several calls of kubectl leave them in a file."""
        whole = memoryview(text.data)
        if self.read_at_once(whole[begin:]):
            return
        while begin < len(whole):
            head, end = self._decode_head(text, whole, begin)
            if head is None:
                self._read_item_slowly(text, whole[begin:end], begin, "", "")
            else:
                self._read_value(text, head, whole[begin:end], begin)
            begin = after_space(text.data, end)

    def _decode_head(self, text: Text, whole: memoryview, begin: int) -> tuple[_Head | list[Raw] | None, int]:
        """The value that begins there, and where it ends; None for an object that is none of a cluster's."""
        try:
            return _HEAD.decode(whole[begin:]), len(whole)
        except BAD:
            pass
        # There is more than one value, or something is wrong.
        end = value_end(text.data, begin)
        if end is None:
            raise malformed(text, begin)
        try:
            return _HEAD.decode(whole[begin:end]), end
        except msgspec.ValidationError:
            return None, end
        except BAD:
            raise malformed(text, begin) from None

    def _read_value(self, text: Text, head: _Head | list[Raw], value: memoryview, begin: int) -> None:
        if isinstance(head, list):
            self._read_items(text, head, begin, "", "")
        elif isinstance(head.items, list):
            kind = head.kind.removesuffix("List")
            self._read_items(text, head.items, begin, kind, head.api_version if kind else "")
        elif head.kind.endswith("List") and not isinstance(head.items, UnsetType):
            self.met.add(head.kind.removesuffix("List"))
        elif self._answers is not None and not head.kind and isinstance(head.node, Raw):
            self._read_answer(self._answers, text, value, begin)
        else:
            self._read_item(text, value, begin, "", "")

    def _read_items(self, text: Text, items: list[Raw], begin: int, kind: str, version: str) -> None:
        if kind in self._forms:
            self.met.add(kind)
            self._guess = self._forms[kind]
        if not items:
            return
        begin = text.data.find(bytes(items[0]), begin)
        for item in items:
            self._read_item(text, item, begin, kind, version)
            after = _BETWEEN.match(text.data, begin + memoryview(item).nbytes)
            begin = after.end() if after else begin

    def _read_item(self, text: Text, item: Raw | memoryview, begin: int, kind: str, version: str) -> None:
        form = self._guess
        try:
            read = form.decode(item)
            is_right = (read.kind or kind) == form.kind and (read.api_version or version) in form.api_versions
            if is_right:
                place = Place(text.file, text.line(begin)) if form.has_line else text.whole
                self.took(form, read, is_again=form.take(self._into, read, place, text.changed))
                return
        except BAD:
            pass
        self._read_other(text, item, begin, kind, version)

    def _read_other(self, text: Text, item: Raw | memoryview, begin: int, kind: str, version: str) -> None:
        """An item that is not what the one before was, or that is broken."""
        try:
            head: _Head | list[Raw] | None = _HEAD.decode(item)
        except BAD:
            head = None
        if isinstance(head, list) or (head is not None and isinstance(head.items, list)):
            self._read_value(text, head, memoryview(item), begin)
            return
        if head is not None:
            if self._answers is not None and not (head.kind or kind) and isinstance(head.node, Raw):
                self._read_answer(self._answers, text, memoryview(item), begin)
                return
            whose = (head.kind or kind, head.api_version or version)
            if all(whose) and self._is_passed_over(*whose):
                return
            form = self._forms.get(whose[0])
            if form is not None and form is not self._guess and whose[1] in form.api_versions:
                self._guess = form
                # Once more the quick way: the others will be like it.
                self._read_item(text, item, begin, kind, version)
                return
        self._read_item_slowly(text, item, begin, kind, version)

    def _read_item_slowly(
        self, text: Text, item: Raw | memoryview, begin: int, kind: str, version: str
    ) -> None:
        at = text.place(begin)
        try:
            root = node_from(msgspec.json.decode(item), *at)
        except (ValueError, msgspec.MsgspecError) as error:
            self.report(Problem(text.file, *at, "", f"cannot be read: {error}"))
            return
        form = self._form_of(root, text.file, kind, version)
        if form is not None:
            self._take_slowly(root, form, text)

    def _read_answer(self, form: Form[G], text: Text, value: memoryview, begin: int) -> None:
        try:
            read = form.decode(value)
        except BAD:
            self._take_slowly(node_from(msgspec.json.decode(value), *text.place(begin)), form, text)
            return
        self.took(form, read, is_again=form.take(self._into, read, text.whole, text.changed))

    # YAML

    def _read_yaml(self, text: Text) -> None:
        if len(text.data) > MAX_YAML:
            raise Refused(
                f"is too large for YAML: {len(text.data):,} bytes, and {MAX_YAML:,} are the most; "
                "write it with -o json, which has no such limit"
            )
        roots = parse(
            decode(text.data[:]), text.file, self.report, most_bytes=MAX_YAML, most_nodes=MAX_YAML_NODES
        )
        is_empty = True
        for root in roots:
            is_empty = False
            self._take_root(root, text, "", "")
        if is_empty:
            raise Refused("holds no object")

    def _take_root(self, root: Node, text: Text, kind: str, version: str) -> None:
        if isinstance(root, ListNode):
            for item in root.items:
                self._take_root(item, text, kind, version)
            return
        items = root.entries.get("items") if isinstance(root, MapNode) else None
        if items is not None and isinstance(items.node, ListNode):
            name = (_word(root, "kind") or "").removesuffix("List")
            self.met |= {name} & self._forms.keys()
            for item in items.node.items:
                self._take_root(item, text, name, (_word(root, "apiVersion") or "") if name else "")
            return
        is_answer = isinstance(root, MapNode) and "kind" not in root.entries and "node" in root.entries
        if self._answers is not None and is_answer and not kind:
            self._take_slowly(root, self._answers, text)
            return
        form = self._form_of(root, text.file, kind, version)
        if form is not None:
            self._take_slowly(root, form, text)

    # Both

    def _form_of(self, root: Node, file: str, kind: str, version: str) -> Form[G] | None:
        """How to read an object; None when it is not read, or after reporting why it cannot be."""
        if not isinstance(root, MapNode):
            words = f"an object is a mapping with apiVersion, kind and metadata, found {found(root)}"
            self.report(Problem(file, root.line, root.column, "", words))
            return None
        items = root.entries.get("items")
        if (_word(root, "kind") or "").endswith("List") and items is not None:
            words = f"wants a list, found {found(items.node)}"
            self.report(Problem(file, *place_of(root, "items"), "items", words))
            return None
        for key, from_list in (("kind", kind), ("apiVersion", version)):
            if not (_word(root, key) or from_list):
                entry = root.entries.get(key)
                words = f"wants text, found {found(entry.node)}" if entry else "is required"
                known = f"{self._reader} reads {', '.join(self._forms)}"
                self.report(Problem(file, *place_of(root, key), key, f"{words}: {known}"))
                return None
        kind, version = _word(root, "kind") or kind, _word(root, "apiVersion") or version
        if self._is_passed_over(kind, version):
            return None
        form = self._forms[kind]
        if version not in form.api_versions:
            known_versions = " or ".join(form.api_versions)
            words = (
                f"wants {known_versions}, found {quoted(version)}, which this version of Remuda cannot read"
            )
            self._blame(root, form.kind, Problem(file, *place_of(root, "apiVersion"), "apiVersion", words))
            return None
        return form

    def _is_passed_over(self, kind: str, version: str) -> bool:
        """Whether an object is of no kind that is read, which is counted."""
        group = version.rpartition("/")[0]
        form = self._forms.get(kind)
        if form is not None and form.group == group:
            return False
        self._unread[f"{kind}.{group}" if group else kind] += 1
        return True

    def _take_slowly(self, root: Node, form: Form[G], text: Text) -> None:
        blame = lambda problem: self._blame(root, form.kind, problem)  # noqa: E731
        read = read_slowly(root, form.type, text.file, blame, form.faults)
        if read is not None:
            place = Place(text.file, root.line if form.has_line else 0)
            self.took(form, read, is_again=form.take(self._into, read, place, text.changed))

    def _blame(self, root: Node, kind: str, problem: Problem) -> None:
        """Report with the name of the object before the field."""
        names = (_word(root, "metadata", "namespace"), _word(root, "metadata", "name"))
        who = "/".join(name for name in names if name) or _word(root, "node", "nodeName") or ""
        path = ": ".join(part for part in (f"{kind} {who}".rstrip(), problem.path) if part)
        self.report(Problem(problem.file, problem.line, problem.column, path, problem.message))


def _word(root: Node, *keys: str) -> str | None:
    node: Node | None = root
    for key in keys:
        entry = node.entries.get(key) if isinstance(node, MapNode) else None
        node = entry.node if entry else None
    return node.value if isinstance(node, ScalarNode) and isinstance(node.value, str) else None
