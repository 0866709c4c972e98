"""
Files of `kubectl get -o json` or `-o yaml`, and of kubelets' summaries, to a `World`.

Nothing here raises for what a file holds: what is wrong becomes problems, all at once. JSON is read item by item into
projections, since a large cluster is half a gigabyte of it; YAML is read by the loader of our own objects, with its
limits but for the size.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from remuda.capacity import written
from remuda.capacity.forms import FORMS, POD, Form
from remuda.capacity.gather import Gathering
from remuda.capacity.mending import node_from, read_slowly
from remuda.capacity.pods import pods_of
from remuda.capacity.texts import Get, Text, after_space, as_utf8, malformed, sources
from remuda.capacity.world import NODES, PODS, SCALE_SETS, SUMMARIES, Place, Unknown, World
from remuda.model.times import Instant
from remuda.objects.convert import found
from remuda.objects.load import MAX_PROBLEMS
from remuda.objects.nodes import ListNode, MapNode, Node, ScalarNode, place_of
from remuda.objects.problems import Problem, quoted
from remuda.objects.tree import Refused, decode, parse

MAX_YAML: Final = 64 * 1024 * 1024
MAX_YAML_NODES: Final = 4_000_000
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
_BETWEEN = re.compile(rb"[\s,]*")


@dataclass(frozen=True, slots=True)
class FilesRead:
    """What files say. With any problem nothing should be concluded; notes are for people."""

    world: World
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def read_files(paths: Iterable[str | Path], now: Instant, stdin: BinaryIO | None = None) -> FilesRead:
    """Read files, directories (their *.json, *.yaml and *.yml) and `-`, which is standard input."""
    reading = _Reading(now)
    names = list(dict.fromkeys(str(path) for path in paths))
    try:
        for name in names:
            for file, get in sources(name, stdin or sys.stdin.buffer):
                reading.read(file, get)
    except _TooManyError:
        last = max(reading.problems)
        words = f"these are the first {MAX_PROBLEMS:,} problems: the rest was not read"
        reading.problems.add(Problem(last.file, last.line, last.column, "", words))
    return reading.done(", ".join(names))


class _TooManyError(Exception):
    """Nobody reads more."""


class _Head(Struct, frozen=True, rename="camel"):
    """What tells lists, objects and summaries apart."""

    kind: str = ""
    api_version: str = ""
    items: list[Raw] | UnsetType | None = UNSET
    node: Raw | UnsetType = UNSET


_HEAD: Final = msgspec.json.Decoder(_Head | list[Raw])
_STATS: Final = msgspec.json.Decoder(written.Stats)
_BAD: Final = (ValueError, RecursionError, msgspec.MsgspecError)


class _Reading:
    """One look at all files."""

    def __init__(self, now: Instant) -> None:
        self._now = now
        self.problems: set[Problem] = set()
        self._gathering = Gathering()
        self._unread: Counter[str] = Counter()
        self._again: dict[str, list[str]] = {}
        self._met: set[str] = set()
        self._has_summaries = False
        #: what the next item is likely to be: lists hold one kind mostly
        self._guess = POD

    def done(self, source: str) -> FilesRead:
        world = self._gathering.world(source, self._now, self._unknown())
        return FilesRead(world, tuple(sorted(self.problems)), tuple(self._notes()))

    def _unknown(self) -> Iterator[Unknown]:
        lanes = {"AutoscalingRunnerSet", "RunnerPool"}
        for part, kinds, what in (
            (SCALE_SETS, lanes, "autoscalingrunnersets -A"),
            (NODES, {"Node"}, "nodes"),
            (PODS, {"Pod"}, "pods -A"),
        ):
            if not kinds & self._met:
                yield Unknown(part, f"no file holds any: add what `kubectl get {what} -o json` prints")
        if not self._has_summaries:
            words = "add what `kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary` prints"
            yield Unknown(SUMMARIES, f"no file holds any: {words}")

    def _notes(self) -> Iterator[str]:
        if self._unread:
            told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self._unread.items()))
            yield f"passed over, since an audit does not read them: {told}"
        for kind, names in sorted(self._again.items()):
            some = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
            yield f"{len(names):,} {kind} more than once: the last counts, of {some}"

    def report(self, problem: Problem) -> None:
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
        if self._read_pods(whole[begin:]):
            return
        while begin < len(whole):
            head, end = self._decode_head(text, whole, begin)
            self._read_value(text, head, whole[begin:end], begin)
            begin = after_space(text.data, end)

    def _decode_head(self, text: Text, whole: memoryview, begin: int) -> tuple[_Head | list[Raw], int]:
        """The value that begins there, and where it ends."""
        try:
            return _HEAD.decode(whole[begin:]), len(whole)
        except _BAD as error:
            more = _TRAILING.search(str(error))
            if more is None:
                raise malformed(text, begin, error) from None
            # The byte that is told is the one after the first that is too many.
            end = begin + int(more[1]) - 1
        try:
            return _HEAD.decode(whole[begin:end]), end
        except _BAD as error:
            raise malformed(text, begin, error) from None

    def _read_pods(self, whole: memoryview) -> bool:
        """Take a list of nothing but pods that are right; False, and nothing is taken, if it is anything else."""
        pods = pods_of(whole)
        try:
            taken = [self._gathering.taken_by(pod) for pod in pods]
        except _BAD:
            return False
        for pod, takes in zip(pods, taken, strict=True):
            self._took(POD, pod.metadata, self._gathering.put_pod(pod.metadata, takes))
        return bool(pods)

    def _read_value(self, text: Text, head: _Head | list[Raw], value: memoryview, begin: int) -> None:
        if isinstance(head, list):
            self._read_items(text, head, begin, "", "")
        elif isinstance(head.items, list):
            kind = head.kind.removesuffix("List")
            self._read_items(text, head.items, begin, kind, head.api_version if kind else "")
        elif head.kind.endswith("List") and not isinstance(head.items, UnsetType):
            self._met.add(head.kind.removesuffix("List"))
        elif not head.kind and isinstance(head.node, Raw):
            self._read_stats(text, value, begin)
        else:
            self._read_item(text, value, begin, "", "")

    def _read_items(self, text: Text, items: list[Raw], begin: int, kind: str, version: str) -> None:
        if kind in FORMS:
            self._met.add(kind)
            self._guess = FORMS[kind]
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
            is_right = (read.kind or kind) == form.kind and (read.api_version or version) == form.api_version
            if is_right:
                place = Place(text.file, text.line(begin)) if form.has_line else text.whole
                self._took(form, read.metadata, form.take(self._gathering, read, place))
                return
        except _BAD:
            pass
        self._read_other(text, item, begin, kind, version)

    def _read_other(self, text: Text, item: Raw | memoryview, begin: int, kind: str, version: str) -> None:
        """An item that is not what the one before was, or that is broken."""
        try:
            head: _Head | list[Raw] | None = _HEAD.decode(item)
        except _BAD:
            head = None
        if isinstance(head, list) or (head is not None and isinstance(head.items, list)):
            self._read_value(text, head, memoryview(item), begin)
            return
        if head is not None:
            if not (head.kind or kind) and isinstance(head.node, Raw):
                self._read_stats(text, memoryview(item), begin)
                return
            whose = (head.kind or kind, head.api_version or version)
            if all(whose) and self._is_passed_over(*whose):
                return
            form = FORMS.get(whose[0])
            if form is not None and form is not self._guess and form.api_version == whose[1]:
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
            self._take_slowly(root, form, text.file)

    def _read_stats(self, text: Text, value: memoryview, begin: int) -> None:
        try:
            read = _STATS.decode(value)
        except _BAD:
            root = node_from(msgspec.json.decode(value), *text.place(begin))
            self._take_stats_slowly(root, text.file, text.changed)
            return
        self._took_stats(read, text.changed)

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
            self._met |= {name} & FORMS.keys()
            for item in items.node.items:
                self._take_root(item, text, name, (_word(root, "apiVersion") or "") if name else "")
            return
        is_stats = isinstance(root, MapNode) and "kind" not in root.entries and "node" in root.entries
        if is_stats and not kind:
            self._take_stats_slowly(root, text.file, text.changed)
            return
        form = self._form_of(root, text.file, kind, version)
        if form is not None:
            self._take_slowly(root, form, text.file)

    # Both

    def _form_of(self, root: Node, file: str, kind: str, version: str) -> Form | None:
        """How to read an object; None when it is not read, or after reporting why it cannot be."""
        if not isinstance(root, MapNode):
            words = f"an object is a mapping with apiVersion, kind and metadata, found {found(root)}"
            self.report(Problem(file, root.line, root.column, "", words))
            return None
        for key, given in (("kind", kind), ("apiVersion", version)):
            if not (_word(root, key) or given):
                entry = root.entries.get(key)
                words = f"wants text, found {found(entry.node)}" if entry else "is required"
                self.report(Problem(file, *place_of(root, key), key, f"{words}: {_READ}"))
                return None
        kind, version = _word(root, "kind") or kind, _word(root, "apiVersion") or version
        if self._is_passed_over(kind, version):
            return None
        form = FORMS[kind]
        if form.api_version != version:
            words = (
                f"wants {form.api_version}, found {quoted(version)}, which this version of Remuda cannot read"
            )
            self._blame(root, form.kind, Problem(file, *place_of(root, "apiVersion"), "apiVersion", words))
            return None
        return form

    def _is_passed_over(self, kind: str, version: str) -> bool:
        """Whether an object is of no kind that is read, which is counted."""
        group = version.rpartition("/")[0]
        form = FORMS.get(kind)
        if form is not None and form.group == group:
            return False
        self._unread[f"{kind}.{group}" if group else kind] += 1
        return True

    def _take_slowly(self, root: Node, form: Form, file: str) -> None:
        read = read_slowly(root, form.type, file, lambda problem: self._blame(root, form.kind, problem))
        if read is not None:
            line = root.line if form.has_line else 0
            self._took(form, read.metadata, form.take(self._gathering, read, Place(file, line)))

    def _take_stats_slowly(self, root: Node, file: str, changed: Instant) -> None:
        report = lambda problem: self._blame(root, "summary", problem)  # noqa: E731
        read = read_slowly(root, written.Stats, file, report)
        if read is not None:
            self._took_stats(read, changed)

    def _took(self, form: Form, meta: written.ObjectMeta, is_again: bool) -> None:  # noqa: FBT001
        self._met.add(form.kind)
        if is_again:
            name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
            self._again.setdefault(form.kind, []).append(name)

    def _took_stats(self, read: written.Stats, changed: Instant) -> None:
        self._has_summaries = True
        if self._gathering.add_summary(read, changed):
            self._again.setdefault("summary", []).append(read.node.node_name)

    def _blame(self, root: Node, kind: str, problem: Problem) -> None:
        """Report with the name of the object before the field."""
        names = (_word(root, "metadata", "namespace"), _word(root, "metadata", "name"))
        who = "/".join(name for name in names if name) or _word(root, "node", "nodeName") or ""
        path = ": ".join(part for part in (f"{kind} {who}".rstrip(), problem.path) if part)
        self.report(Problem(problem.file, problem.line, problem.column, path, problem.message))


_READ = f"an audit reads {', '.join(FORMS)}"


def _word(root: Node, *keys: str) -> str | None:
    node: Node | None = root
    for key in keys:
        entry = node.entries.get(key) if isinstance(node, MapNode) else None
        node = entry.node if entry else None
    return node.value if isinstance(node, ScalarNode) and isinstance(node.value, str) else None
