"""What a kind or one of its fields means, as `kubectl explain` says it, from the types the loader reads."""

from inspect import getdoc
from textwrap import indent, wrap
from typing import Any

from msgspec import UNSET, Struct, inspect, json
from msgspec.structs import replace

from remuda.errors import BadInput
from remuda.objects.convert import description_of, fields_of, form_of, type_info
from remuda.objects.kinds import GROUP, VERSION, Kinds, find_kind
from remuda.objects.problems import did_you_mean, quoted
from remuda.objects.schema import default_of

_WIDTH = 80


class FieldNote(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One field. `default` is as it would be written, and left out when there is none."""

    name: str
    type: str
    description: str
    required: bool = False
    default: Any = UNSET
    choices: tuple[str, ...] = ()
    #: the range of a number
    bounds: str = ""
    #: how a value with a form of its own is written
    example: str = ""
    fields: "tuple[FieldNote, ...]" = ()


class Explanation(FieldNote, frozen=True, kw_only=True, omit_defaults=True):
    """A kind (with an empty path) or one of its fields."""

    group: str
    version: str
    kind: str
    path: str


def explain(kinds: Kinds, what: str) -> Explanation:
    """
    Explain `KIND` or `KIND.field.field`, the kind in any case, plural or short.

    Raises `BadInput` with the nearest right word for a kind or a field that does not exist.
    """
    word, *steps = what.split(".")
    kind = find_kind(kinds, word)
    info: inspect.Type = type_info(kind.whole)
    note = FieldNote(name=kind.name, type=kind.name, description="", fields=_fields(info))
    for position, step in enumerate(steps):
        struct = _struct_in(info)
        fields = fields_of(struct.cls) if struct else {}
        if step not in fields:
            above = ".".join((kind.name, *steps[:position]))
            words = did_you_mean(step, fields) or (
                f": it has {', '.join(fields)}" if fields else ": it has no fields"
            )
            raise BadInput(f"{above} has no field {quoted(step)}{words}")
        info = fields[step].type
        note = _note(fields[step])
    own = getdoc(struct.cls) if (struct := _struct_in(info)) else ""
    note = replace(note, description="\n\n".join(filter(None, (note.description, own))))
    return Explanation(
        group=GROUP,
        version=VERSION,
        kind=kind.name,
        path=".".join(steps),
        **{name: getattr(note, name) for name in FieldNote.__struct_fields__},
    )


def words(explanation: Explanation, *, recursive: bool = False) -> str:
    """The explanation in the layout of `kubectl explain`; `recursive` lists the fields of fields by name only."""
    lines = [
        f"GROUP:      {explanation.group}",
        f"KIND:       {explanation.kind}",
        f"VERSION:    {explanation.version}",
    ]
    if explanation.path:
        lines += ["", f"FIELD: {_head(explanation)}", *_facts(explanation)]
    lines += ["", "DESCRIPTION:", *_paragraph(explanation.description)]
    if explanation.fields:
        lines += ["", "FIELDS:"]
    for field in explanation.fields:
        if recursive:
            lines += _names(field, "  ")
        else:
            lines += [f"  {_head(field)}", *_facts(field), *_paragraph(field.description), ""]
    return "\n".join(lines).rstrip() + "\n"


def type_text(info: inspect.Type) -> str:
    """A type as kubectl writes it: `integer`, `[]Schedule`, `map[string]string`."""
    match info:
        case inspect.Metadata():
            return type_text(info.type)
        case inspect.ListType() | inspect.VarTupleType():
            return f"[]{type_text(info.item_type)}"
        case inspect.DictType():
            return f"map[string]{type_text(info.value_type)}"
        case inspect.StructType() | inspect.CustomType() | inspect.DataclassType():
            return str(info.cls.__name__)
        case inspect.IntType():
            return "integer"
        case inspect.FloatType():
            return "number"
        case inspect.BoolType():
            return "boolean"
        case inspect.UnionType():
            return type_text(info.types[0])
        case inspect.StrType() | inspect.LiteralType():
            return "string"
    return "Object"


def _note(field: inspect.Field) -> FieldNote:
    info = field.type.type if isinstance(field.type, inspect.Metadata) else field.type
    form = form_of(info)
    default = default_of(field)
    return FieldNote(
        name=field.encode_name,
        type=type_text(info),
        description=description_of(field.type),
        required=field.required,
        default=UNSET if default in ({}, []) else default,
        choices=tuple(map(str, info.values)) if isinstance(info, inspect.LiteralType) else (),
        bounds=_bounds(info) if isinstance(info, inspect.IntType | inspect.FloatType) else "",
        example=form.example if form else "",
        fields=_fields(info),
    )


def _fields(info: inspect.Type) -> tuple[FieldNote, ...]:
    struct = _struct_in(info)
    return tuple(map(_note, struct.fields)) if struct else ()


def _struct_in(info: inspect.Type) -> inspect.StructType | None:
    """The Struct that a path steps into: the type itself, or what a list or mapping of them holds."""
    match info:
        case inspect.Metadata():
            return _struct_in(info.type)
        case inspect.ListType() | inspect.VarTupleType():
            return _struct_in(info.item_type)
        case inspect.DictType():
            return _struct_in(info.value_type)
        case inspect.StructType() if not form_of(info):
            return info
    return None


def _bounds(info: inspect.IntType | inspect.FloatType) -> str:
    least, most = info.ge, info.le
    if least is None:
        return "" if most is None else f"at most {most}"
    return f"at least {least}" if most is None else f"{least} to {most}"


def _head(note: FieldNote) -> str:
    return f"{note.name}\t<{note.type}>{' -required-' if note.required else ''}"


def _facts(note: FieldNote) -> list[str]:
    facts = (
        ("enum", ", ".join(note.choices)),
        ("range", note.bounds),
        ("written", f"like {note.example}" if note.example else ""),
        ("default", "" if note.default is UNSET else _default(note.default)),
    )
    return [f"  {name}: {fact}" for name, fact in facts if fact]


def _default(value: Any) -> str:
    return value if isinstance(value, str) else json.encode(value).decode()


def _paragraph(text: str) -> list[str]:
    parts = ("\n".join(wrap(part, _WIDTH - 4)) for part in (text or "<empty>").split("\n\n"))
    return indent("\n\n".join(parts), "    ").split("\n")


def _names(field: FieldNote, margin: str) -> list[str]:
    below = [line for child in field.fields for line in _names(child, margin + "  ")]
    return [f"{margin}{_head(field)}", *below]
