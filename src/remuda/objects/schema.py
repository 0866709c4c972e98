"""
JSON Schema (draft 2020-12) of a kind, from the same types the loader reads.

Nothing is referenced and nothing but whole numbers-or-text has alternatives, so that a structural schema for a custom
resource is this one without `additionalProperties: false`.
"""

from inspect import getdoc
from typing import Any

from msgspec import NODEFAULT, UNSET, inspect

from remuda.objects.convert import form_of, type_info
from remuda.objects.kinds import API_VERSION, Kind
from remuda.objects.manifests import to_manifest


def schema_of(kind: Kind[Any]) -> dict[str, Any]:
    """The schema of a whole object of `kind`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{kind.name} {API_VERSION}",
        **schema_of_type(type_info(kind.whole)),
    }


def schema_of_type(info: inspect.Type) -> dict[str, Any]:
    """The schema of one type."""
    match info:
        case inspect.Metadata():
            return schema_of_type(info.type) | (info.extra_json_schema or {})
        case inspect.UnionType():
            return {"anyOf": [schema_of_type(member) for member in info.types]}
        case inspect.NoneType():
            return {"type": "null"}
        case inspect.AnyType():
            return {}
        case _ if form_of(info):
            return dict(form_of(info).json_schema)
        case inspect.StructType():
            return _struct(info)
        case inspect.DictType():
            return {"type": "object", "additionalProperties": schema_of_type(info.value_type)}
        case inspect.ListType() | inspect.VarTupleType():
            return {"type": "array", "items": schema_of_type(info.item_type)} | _set_limits(
                minItems=info.min_length, maxItems=info.max_length
            )
        case inspect.LiteralType():
            return {"type": "string", "enum": list(info.values)}
        case inspect.IntType() | inspect.FloatType():
            return {"type": "integer" if isinstance(info, inspect.IntType) else "number"} | _set_limits(
                minimum=info.ge, exclusiveMinimum=info.gt, maximum=info.le, exclusiveMaximum=info.lt
            )
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.StrType():
            return {"type": "string"} | _set_limits(
                minLength=info.min_length, maxLength=info.max_length, pattern=info.pattern
            )
    raise TypeError(f"{info} has no schema")


def default_of(field: inspect.Field) -> Any:
    """The default as it would be written; `UNSET` when the field has none or is simply left out."""
    if field.default is not NODEFAULT:
        return to_manifest(field.default)
    return to_manifest(field.default_factory()) if field.default_factory is not NODEFAULT else UNSET


def _struct(info: inspect.StructType) -> dict[str, Any]:
    properties = {}
    for field in info.fields:
        default = default_of(field)
        properties[field.encode_name] = schema_of_type(field.type) | (
            {} if default is UNSET else {"default": default}
        )
    made = {
        "type": "object",
        "description": getdoc(info.cls) or "",
        "properties": properties,
        "required": [field.encode_name for field in info.fields if field.required],
        "additionalProperties": False,
    }
    return {key: value for key, value in made.items() if value not in ("", [])}


def _set_limits(**limits: Any) -> dict[str, Any]:
    return {name: limit for name, limit in limits.items() if limit is not None}
