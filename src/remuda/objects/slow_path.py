"""
The slow way to read an object, for those the quick way stumbles over: it finds everything that is wrong with one.

Fields that no projection knows are passed over, and so is a field without a value, as Kubernetes does.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from msgspec import Struct, inspect

from remuda.model.amounts import amount
from remuda.objects.convert import convert_partly, fields_of, type_info
from remuda.objects.nodes import Entry, ListNode, MapNode, Node, ScalarNode, place_of
from remuda.objects.problems import Problem, child_path, path_steps

S = TypeVar("S", bound=Struct)


def no_faults(_: Any) -> Iterable[tuple[str, str]]:
    """Of kinds whose types say all there is to say."""
    return ()


def read_slowly(
    root: Node,
    kind: type[S],
    file: str,
    report: Callable[[Problem], None],
    faults: Callable[[S], Iterable[tuple[str, str]]] = no_faults,
) -> S | None:
    """
    What the tree says as this type; None after reporting every problem, bad quantities included.

    `faults` returns path and words of what else is wrong with it, as far as it could be read.
    """
    value, broken = convert_partly(_pruned(root, type_info(kind)), kind, file, report)
    found = (*bad_amounts(value), *faults(value))
    bad = [(path, words) for path, words in found if not _is_within(path, broken)]
    for path, words in bad:
        report(Problem(file, *place_of(root, path), path, words))
    return None if broken or bad else value


def _is_within(path: str, others: Iterable[str]) -> bool:
    steps = path_steps(path)
    return any(steps[: len(other)] == other for other in map(path_steps, others))


def node_from(data: Any, line: int, column: int) -> Node:
    """Data as a tree in which everything stands at one place."""
    match data:
        case dict():
            entries = {
                str(key): Entry(line, column, node_from(value, line, column)) for key, value in data.items()
            }
            return MapNode(line, column, entries)
        case list():
            return ListNode(line, column, [node_from(item, line, column) for item in data])
    return ScalarNode(line, column, data)


def _pruned(node: Node, info: inspect.Type) -> Node:
    match info:
        case inspect.Metadata():
            return _pruned(node, info.type)
        case inspect.UnionType():
            return _pruned(node, next(each for each in info.types if not isinstance(each, inspect.NoneType)))
        case inspect.StructType() if isinstance(node, MapNode):
            fields = fields_of(info.cls)
            known = {
                key: Entry(entry.line, entry.column, _pruned(entry.node, fields[key].type))
                for key, entry in node.entries.items()
                if key in fields and not _is_nothing(entry.node)
            }
            return MapNode(node.line, node.column, known)
        case inspect.ListType() | inspect.VarTupleType() if isinstance(node, ListNode):
            return ListNode(node.line, node.column, [_pruned(item, info.item_type) for item in node.items])
    return node


def _is_nothing(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value is None


def bad_amounts(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """
    Path and fault of each quantity in a Struct that is none.

    Whatever is not typed further, nor annotated, is a quantity, or quantities by resource.
    """
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from bad_amounts(item, child_path(path, index))
    if not isinstance(value, Struct):
        return
    for key, field in fields_of(type(value)).items():
        below, inner = child_path(path, key), getattr(value, field.name)
        if isinstance(inner, dict) and _is_untyped_mapping(field.type):
            written = [(child_path(below, name), name, each) for name, each in inner.items()]
        elif isinstance(field.type, inspect.AnyType) and inner is not None:
            written = [(below, "", inner)]
        else:
            yield from bad_amounts(inner, below)
            continue
        for where, name, each in written:
            try:
                amount(name, each)
            except ValueError as error:
                yield where, str(error)


def _is_untyped_mapping(info: inspect.Type) -> bool:
    if isinstance(info, inspect.UnionType):
        return any(map(_is_untyped_mapping, info.types))
    return isinstance(info, inspect.DictType) and isinstance(info.value_type, inspect.AnyType)
