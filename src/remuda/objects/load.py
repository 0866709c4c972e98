"""
Files to objects, with everything that is wrong found at once.

Nothing here raises for what a person wrote: a file that is missing, broken or hostile becomes problems, and the objects
that are whole come back beside them. Whoever applies them does so only when there are no problems.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn, Self, TypeAlias

from msgspec import Struct, field

from remuda.objects.convert import convert_partly, found
from remuda.objects.kinds import API_VERSION, Kind, Kinds, Object, unknown_kind
from remuda.objects.nodes import BrokenNode, ListNode, MapNode, Node, ScalarNode, place_of
from remuda.objects.problems import Problem, path_steps, quoted
from remuda.objects.tree import Refused, decode, parse, read_bytes, read_stream

#: Reading stops after so many problems: nobody reads more, and each can cost a search for the nearest right word.
MAX_PROBLEMS: Final = 1_000

_SUFFIXES: Final = (".yaml", ".yml", ".json")


class Objects(tuple[Object[Any], ...]):  # noqa: SLOT001 - a tuple cannot have any
    """The objects that are whole, in the order they were read; it also knows of those that are not."""

    _met: frozenset[tuple[str, str]]
    _is_complete: bool

    def __new__(
        cls,
        whole: Iterable[Object[Any]] = (),
        broken: Iterable[tuple[str, str]] = (),
        *,
        is_complete: bool = True,
    ) -> Self:
        """`broken` are kinds and names of objects that could not be read; `is_complete` is False when some are unknown."""
        made = super().__new__(cls, whole)
        made._met = frozenset([*broken, *((each.kind, each.name) for each in made)])
        made._is_complete = is_complete
        return made

    def may_hold(self, kind: str, name: str) -> bool:
        """
        False only when it is certain that nobody defined such an object.

        To name an object that has problems of its own, or that may be in a file that could not be read, is not another
        problem.
        """
        return not self._is_complete or (kind, name) in self._met


#: What is wrong between objects: the object to blame, the field path in it, a sentence, and the other fields without
#: which it could not be said.
Blame: TypeAlias = tuple[Object[Any], str, str, *tuple[tuple[Object[Any], str], ...]]

#: A check meets also objects of which some fields could not be read; what it says about those fields is not reported.
Check: TypeAlias = Callable[[Objects], Iterable[Blame]]


class Loaded(Struct, frozen=True):
    """What was read. `problems` are sorted by place; with any of them, nothing should be applied."""

    objects: Objects
    problems: tuple[Problem, ...]
    #: the objects with those of which some fields could not be read, for who can go on without these
    readable: Objects = field(default_factory=Objects)


def load_files(
    paths: Iterable[str | Path], kinds: Kinds, checks: Iterable[Check] = (), stdin: BinaryIO | None = None
) -> Loaded:
    """
    Load files, directories (their *.yaml, *.yml and *.json, hidden ones apart) and `-`, which is standard input.

    A file that holds no object is a problem.
    """
    return _load(_sources(map(str, paths), stdin or sys.stdin.buffer), kinds, checks)


def load_text(text: str, name: str, kinds: Kinds, checks: Iterable[Check] = ()) -> Loaded:
    """Load one text as if it were the file `name`."""
    return _load([(name, lambda: text)], kinds, checks)


_Source: TypeAlias = tuple[str, Callable[[], str]]


def _sources(paths: Iterable[str], stdin: BinaryIO) -> Iterator[_Source]:
    for path in paths:
        if path == "-":
            yield "stdin", lambda: decode(read_stream(stdin))
        elif os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises for names that cannot be
            yield from _directory(path)
        else:
            yield path, partial(_file, path)


def _directory(path: str) -> Iterator[_Source]:
    try:
        names = sorted(os.listdir(path))  # noqa: PTH208 - the names as they are given
    except OSError as error:
        yield path, partial(_refuse, f"cannot be read: {error.strerror}")
        return
    files = [name for name in names if name.endswith(_SUFFIXES) and not name.startswith(".")]
    if not files:
        yield path, partial(_refuse, f"holds no file that ends in {', '.join(_SUFFIXES)}")
    for name in files:
        file = os.path.join(path, name)  # noqa: PTH118
        yield file, partial(_file, file)


def _file(path: str) -> str:
    return decode(read_bytes(path))


def _refuse(message: str) -> NoReturn:
    raise Refused(message)


def _load(sources: Iterable[_Source], kinds: Kinds, checks: Iterable[Check]) -> Loaded:
    loading = _Loading(kinds)
    try:
        for file, text in sources:
            loading.read(file, text)
        for check in checks:
            for blamed, path, message, *others in check(loading.readable()):
                loading.blame(message, (blamed, path), *others)
    except _TooManyError:
        last = max(loading.problems)
        words = f"these are the first {MAX_PROBLEMS:,} problems: the rest was not read"
        loading.problems.add(Problem(last.file, last.line, last.column, "", words))
    return Loaded(loading.objects(), tuple(sorted(loading.problems)), loading.readable())


_Steps: TypeAlias = tuple[str | int, ...]


class _TooManyError(Exception):
    pass


class _Loading:
    """Takes texts one after the other and keeps what they hold."""

    def __init__(self, kinds: Kinds) -> None:
        self.problems: set[Problem] = set()
        self._kinds = kinds
        self._met: list[Object[Any]] = []
        #: by `id`, the objects of which some fields could not be read, with the steps to those
        self._broken: dict[int, frozenset[_Steps]] = {}
        #: where each kind and name was met first, broken or not
        self._seen: dict[tuple[str, str], str] = {}
        #: whether the kind and name of everything is known
        self._is_complete = True

    def objects(self) -> Objects:
        """What is whole so far."""
        whole = [each for each in self._met if id(each) not in self._broken]
        return Objects(whole, self._seen, is_complete=self._is_complete)

    def readable(self) -> Objects:
        """All objects, as far as they could be read."""
        return Objects(self._met, self._seen, is_complete=self._is_complete)

    def read(self, file: str, text: Callable[[], str]) -> None:
        """Take all documents of one text."""
        is_empty = True
        try:
            for root in parse(text(), file, self.report):
                for each in _objects_in(root):
                    is_empty = False
                    self._take(each, file)
        except Refused as error:
            self._is_complete = False
            self.report(Problem(file, error.line, error.column, "", str(error)))
        else:
            if is_empty:
                words = f"holds no object: one begins with apiVersion: {API_VERSION} and kind:"
                self.report(Problem(file, 0, 0, "", words))

    def report(self, problem: Problem) -> None:
        """Keep a problem."""
        self.problems.add(problem)
        if len(self.problems) >= MAX_PROBLEMS:
            raise _TooManyError

    def blame(self, message: str, *fields: tuple[Object[Any], str]) -> None:
        """Keep a problem at the place of the first field, unless one of the fields could not be read."""
        for each, path in fields:
            steps = path_steps(path)
            broken = self._broken.get(id(each), ())
            if any(steps[: len(other)] == other[: len(steps)] for other in broken):
                return
        blamed, path = fields[0]
        self.report(Problem(blamed.file, *blamed.place(path), path, message))

    def _take(self, root: Node, file: str) -> None:
        kind = self._kind(root, file)
        name = _text(_node_at(root, "metadata", "name"))
        if kind is None or name is None:
            self._is_complete = False
        if kind is None or (name is not None and not self._is_first(root, kind.name, name, file)):
            return
        whole, broken = convert_partly(root, kind.whole, file, self.report)
        made = Object(
            kind=kind.name,
            name=str(whole.metadata.name) if name is None else name,
            spec=whole.spec,
            labels={str(key): str(value) for key, value in whole.metadata.labels.items()},
            annotations={str(key): value for key, value in whole.metadata.annotations.items()},
            file=file,
            line=root.line,
            root=root,
        )
        self._met.append(made)
        if broken:
            self._broken[id(made)] = frozenset(map(path_steps, broken))
        for path, message, *others in kind.check(made) if kind.check else ():
            self.blame(message, (made, path), *((made, other) for other in others))

    def _is_first(self, root: Node, kind: str, name: str, file: str) -> bool:
        line, column = place_of(root, "metadata.name")
        first = self._seen.get((kind, name))
        if first is None:
            self._seen[kind, name] = f"{file}:{line}"
            return True
        words = f"{kind} {quoted(name)} is here a second time: the first is at {first}"
        self.report(Problem(file, line, column, "metadata.name", words))
        return False

    def _kind(self, root: Node, file: str) -> Kind[Any] | None:
        """The kind an object says it is; without one, the one thing that is wrong with it is reported."""
        if isinstance(root, BrokenNode):
            return None
        if not isinstance(root, MapNode):
            words = f"an object is a mapping with apiVersion, kind, metadata and spec, found {found(root)}"
            self.report(Problem(file, root.line, root.column, "", words))
            return None
        name, version = _node_at(root, "kind"), _node_at(root, "apiVersion")
        for kind in self._kinds:
            if _text(name) == kind.name:
                return kind.load()
        if version is not None and _text(version) != API_VERSION:
            words = f"wants {API_VERSION}, found {found(version)}"
            self.report(Problem(file, version.line, version.column, "apiVersion", words))
        elif name is None:
            words = f"is required: one of {', '.join(kind.name for kind in self._kinds)}"
            self.report(Problem(file, root.line, root.column, "kind", words))
        elif not isinstance(name, BrokenNode):
            words = unknown_kind(self._kinds, _text(name) or "")
            self.report(Problem(file, name.line, name.column, "kind", words))
        return None


def _objects_in(root: Node) -> list[Node]:
    """The one object, or those of a List, which is how programs of Kubernetes print several as JSON."""
    items = _node_at(root, "items") if _text(_node_at(root, "kind")) == "List" else None
    return items.items if isinstance(items, ListNode) else [root]


def _node_at(root: Node, *keys: str) -> Node | None:
    node: Node | None = root
    for key in keys:
        entry = node.entries.get(key) if isinstance(node, MapNode) else None
        node = entry.node if entry else None
    return node


def _text(node: Node | None) -> str | None:
    return node.value if isinstance(node, ScalarNode) and isinstance(node.value, str) else None
