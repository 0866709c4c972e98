"""
A node tree to the typed value of a msgspec type, field by field, collecting every problem.

The types are read through `msgspec.inspect`. A type with a `parse` classmethod reads its own scalar. A field is either
given or left out: `key:` with nothing after it is a problem, never a silent default.
"""

import operator
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from msgspec import inspect

from remuda.objects.nodes import BrokenNode, ListNode, MapNode, Node, ScalarNode
from remuda.objects.problems import Problem, child_path, did_you_mean, nearest, quoted

#: Stands for a value that could not be made; its problems were reported.
BROKEN: Final[Any] = object()

_LONGEST_SCALAR: Final = 1_024

Place: TypeAlias = tuple[int, int]


def convert(node: Node, type_: Any, file: str, report: Callable[[Problem], None]) -> Any:
    """The value of `type_` that `node` says, or `BROKEN` after reporting everything that is wrong with it."""
    value, broken = convert_partly(node, type_, file, report)
    return BROKEN if broken else value


def convert_partly(
    node: Node, type_: Any, file: str, report: Callable[[Problem], None]
) -> tuple[Any, frozenset[str]]:
    """
    As `convert`, but what is broken is left out, so that the rest can still be checked; also the paths of what is.

    In the place of a broken value is its default, or for a required one any value of its type.
    """
    converter = _Converter(file, report)
    info = type_info(type_)
    value = converter.value(node, info, "", (node.line, node.column))
    return _stand_in(info) if value is BROKEN else value, frozenset(converter.broken)


@cache
def type_info(type_: Any) -> inspect.Type:
    """What msgspec knows about a type; worked out once."""
    return inspect.type_info(type_)


@cache
def fields_of(struct: type) -> Mapping[str, inspect.Field]:
    """The fields of a Struct by the key they have in a file."""
    info = type_info(struct)
    assert isinstance(info, inspect.StructType)
    return {field.encode_name: field for field in info.fields}


def form_of(info: inspect.Type) -> Any:
    """The type that reads its own scalar, with `parse`, `json_schema` and `example`; None for all others."""
    cls = getattr(info, "cls", None)
    return cls if hasattr(cls, "parse") else None


class _Converter:
    """Walks a tree and a type together. `at` is the place to blame when something is missing there."""

    def __init__(self, file: str, report: Callable[[Problem], None]) -> None:
        self._file = file
        self._report = report
        self.broken: set[str] = set()

    def value(self, node: Node, info: inspect.Type, path: str, at: Place) -> Any:
        if isinstance(node, BrokenNode):
            self.broken.add(path)
            return BROKEN
        match info:
            case inspect.Metadata():
                return self.value(node, info.type, path, at)
            case inspect.UnionType():
                return self._optional(node, info, path, at)
            case inspect.AnyType():
                return plain(node)
            case _ if isinstance(node, ScalarNode) and node.value is None:
                return self._complain(at, path, _no_value(info))
            case _ if form_of(info):
                return self._custom(node, form_of(info), path)
            case inspect.StructType() if isinstance(node, MapNode):
                return self._struct(node, info.cls, path, at)
            case inspect.DictType() if isinstance(node, MapNode):
                return self._dict(node, info, path)
            case inspect.ListType() | inspect.VarTupleType() if isinstance(node, ListNode):
                return self._list(node, info, path)
            case inspect.LiteralType() if isinstance(node, ScalarNode):
                return self._literal(node, info, path)
            case inspect.IntType() if isinstance(node, ScalarNode) and type(node.value) is int:
                return self._number(node, node.value, info, path)
            case inspect.FloatType() if isinstance(node, ScalarNode) and type(node.value) in {int, float}:
                return self._number(node, float(node.value or 0), info, path)
            case inspect.BoolType() if isinstance(node, ScalarNode) and isinstance(node.value, bool):
                return node.value
            case inspect.StrType() if isinstance(node, ScalarNode) and isinstance(node.value, str):
                return self._text(node, node.value, info, path)
        return self._complain(node, path, _mismatch(node, info))

    def _complain(self, at: Node | Place, path: str, message: str) -> Any:
        line, column = at if isinstance(at, tuple) else (at.line, at.column)
        self.broken.add(path)
        self._report(Problem(self._file, line, column, path, message))
        return BROKEN

    def _optional(self, node: Node, info: inspect.UnionType, path: str, at: Place) -> Any:
        types = [member for member in info.types if not isinstance(member, inspect.NoneType)]
        assert len(types) == 1, f"{path}: only X | None is supported, not {info}"
        if isinstance(node, ScalarNode) and node.value is None:
            return None
        return self.value(node, types[0], path, at)

    def _custom(self, node: Node, cls: Any, path: str) -> Any:
        if not isinstance(node, ScalarNode):
            return self._complain(node, path, f"wants something like {cls.example}, found {found(node)}")
        if isinstance(node.value, str) and len(node.value) > _LONGEST_SCALAR:
            return self._complain(
                node, path, f"wants something like {cls.example}, found {len(node.value):,} characters"
            )
        try:
            return cls.parse(node.value)
        except ValueError as error:
            return self._complain(node, path, str(error))

    def _struct(self, node: MapNode, cls: type, path: str, at: Place) -> Any:
        fields = fields_of(cls)
        values: dict[str, Any] = {}
        misspelt = set()
        for key, entry in node.entries.items():
            field = fields.get(key)
            if field is None:
                near = nearest(key, [name for name in fields if name not in node.entries])
                if near:
                    misspelt.add(near)
                    self.broken.add(child_path(path, near))
                words = f"; did you mean {near}?" if near else _known_keys(fields)
                self._complain(
                    (entry.line, entry.column), child_path(path, key), f"is not a known key{words}"
                )
                continue
            value = self.value(entry.node, field.type, child_path(path, key), (entry.line, entry.column))
            if value is not BROKEN:
                values[field.name] = value
        for key, field in fields.items():
            if field.required and key not in node.entries and key not in misspelt:
                self._complain(at, child_path(path, key), f"is required{_about(field)}")
        return _with_stand_ins(cls, values)

    def _dict(self, node: MapNode, info: inspect.DictType, path: str) -> Any:
        made = {}
        for key, entry in node.entries.items():
            below = child_path(path, key)
            place = (entry.line, entry.column)
            name = self.value(ScalarNode(*place, key), info.key_type, below, place)
            value = self.value(entry.node, info.value_type, below, place)
            if name is not BROKEN and value is not BROKEN:
                made[name] = value
        return made

    def _list(self, node: ListNode, info: inspect.ListType | inspect.VarTupleType, path: str) -> Any:
        made = [
            self.value(item, info.item_type, child_path(path, index), (item.line, item.column))
            for index, item in enumerate(node.items)
        ]
        wrong = _breach(len(made), _lengths(info))
        if wrong:
            return self._complain(node, path, f"wants {wrong} items, found {len(made)}")
        # In its place, because paths count items.
        made = [_stand_in(info.item_type) if value is BROKEN else value for value in made]
        return tuple(made) if isinstance(info, inspect.VarTupleType) else made

    def _literal(self, node: ScalarNode, info: inspect.LiteralType, path: str) -> Any:
        if isinstance(node.value, str) and node.value in info.values:
            return node.value
        is_open = isinstance(node.value, str) and len(info.values) > 1
        near = did_you_mean(str(node.value), map(str, info.values)) if is_open else ""
        return self._complain(node, path, f"wants {_choices(info)}, found {found(node)}{near}")

    def _number(self, node: Node, value: float, info: inspect.IntType | inspect.FloatType, path: str) -> Any:
        bounds = (
            ("at least", info.ge, operator.ge),
            ("more than", info.gt, operator.gt),
            ("at most", info.le, operator.le),
            ("less than", info.lt, operator.lt),
        )
        wrong = _breach(value, bounds)
        return self._complain(node, path, f"wants {wrong}, found {value}") if wrong else value

    def _text(self, node: Node, value: str, info: inspect.StrType, path: str) -> Any:
        wrong = _breach(len(value), _lengths(info))
        if wrong:
            return self._complain(node, path, f"wants {wrong} characters, found {len(value):,}")
        if info.pattern and not re.search(info.pattern, value):
            return self._complain(node, path, f"wants text of the form {info.pattern}, found {found(node)}")
        return value


def _with_stand_ins(cls: type, values: Mapping[str, Any]) -> Any:
    """A Struct of the values, with something of the right type for what is required and not there."""
    missing = [field for field in fields_of(cls).values() if field.required and field.name not in values]
    return cls(**values, **{field.name: _stand_in(field.type) for field in missing})


def _stand_in(info: inspect.Type) -> Any:
    """Some value of a type; no problem may rest on it."""
    match info:
        case inspect.Metadata():
            return _stand_in(info.type)
        case _ if form_of(info):
            return form_of(info).parse(form_of(info).example.partition(",")[0])
        case inspect.StructType():
            return _with_stand_ins(info.cls, {})
        case inspect.DictType():
            return {}
        case inspect.ListType():
            return []
        case inspect.VarTupleType():
            return ()
        case inspect.LiteralType():
            return info.values[0]
        case inspect.IntType() | inspect.FloatType():
            return info.ge or 0
        case inspect.BoolType():
            return False
        case inspect.StrType():
            return ""
    return None


def plain(node: Node) -> Any:
    """The node as JSON-like data."""
    match node:
        case MapNode():
            return {key: plain(entry.node) for key, entry in node.entries.items()}
        case ListNode():
            return [plain(item) for item in node.items]
        case ScalarNode():
            return node.value
    return None


def found(node: Node) -> str:
    """What stands there, in words: `the text "ten"`."""
    match node:
        case MapNode():
            return "a mapping"
        case ListNode():
            return "a list"
        case ScalarNode(value=None):
            return "nothing"
        case ScalarNode(value=bool(value)):
            return str(value).lower()
        case ScalarNode(value=str(value)):
            return f"the text {quoted(value)}"
        case ScalarNode(value=value):
            return f"the number {value}"
    return "something broken"


def _no_value(info: inspect.Type) -> str:
    expected = "write {}" if isinstance(info, inspect.StructType) else "give it one"
    return f"has no value: {expected}, or leave the key out"


def _mismatch(node: Node, info: inspect.Type) -> str:
    match info:
        case inspect.IntType():
            expected = "a whole number"
        case inspect.FloatType():
            expected = "a number"
        case inspect.BoolType():
            expected = "true or false"
        case inspect.StrType():
            expected = "text"
        case inspect.LiteralType():
            expected = _choices(info)
        case inspect.ListType() | inspect.VarTupleType():
            expected = "a list"
        case inspect.StructType(cls=cls):
            expected = (
                f"a mapping with keys like {', '.join([*fields_of(cls)][:3])}" if fields_of(cls) else "{}"
            )
        case inspect.DictType():
            expected = "a mapping"
        case _:
            raise TypeError(f"{info} cannot be read from a file")
    quotes = ": put it in quotes" if expected == "text" and isinstance(node, ScalarNode) else ""
    return f"wants {expected}, found {found(node)}{quotes}"


def _choices(info: inspect.LiteralType) -> str:
    words = [str(value) for value in info.values]
    return f"one of {', '.join(words)}" if len(words) > 1 else words[0]


def _known_keys(fields: Mapping[str, inspect.Field]) -> str:
    if not fields:
        return ": nothing can be set here"
    return f": the known ones are {', '.join(fields)}" if len(fields) <= 8 else ""


def _about(field: inspect.Field) -> str:
    description = description_of(field.type)
    return f": {description[:1].lower()}{description[1:].rstrip('.')}" if description else ""


def description_of(info: inspect.Type) -> str:
    """The description a field was given with `Meta`, or nothing."""
    schema = info.extra_json_schema if isinstance(info, inspect.Metadata) else None
    return str((schema or {}).get("description", ""))


_Bounds: TypeAlias = tuple[tuple[str, float | None, Callable[[float, float], bool]], ...]


def _lengths(info: inspect.ListType | inspect.VarTupleType | inspect.StrType) -> _Bounds:
    return (("at least", info.min_length, operator.ge), ("at most", info.max_length, operator.le))


def _breach(value: float, bounds: _Bounds) -> str:
    """What all bounds together allow, in words, when `value` breaks one; else nothing."""
    limits = [(words, limit, holds) for words, limit, holds in bounds if limit is not None]
    if all(holds(value, limit) for _, limit, holds in limits):
        return ""
    return " and ".join(f"{words} {limit}" for words, limit, _ in limits)
