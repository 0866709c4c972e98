"""
Custom resource definitions, from the same types that files are read with.

A schema says types, bounds and patterns; CEL rules say what a schema cannot, so that the API server refuses it at once;
what only shows between objects is in the status. Defaults are not written into objects: they are Remuda's to
apply, and may grow wiser.
"""

from typing import Any, cast

from remuda.objects.convert import type_info
from remuda.objects.kinds import GROUP, VERSION, Kind
from remuda.objects.schema import schema_of_type

_CONDITION: dict[str, Any] = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        "type": {"type": "string"},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "reason": {"type": "string"},
        "message": {"type": "string"},
        "observedGeneration": {"type": "integer"},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
    },
}

_NULL = {"type": "null"}


def crd_of(kind: Kind[Any]) -> dict[str, Any]:
    """The definition of a kind, ready to be applied."""
    spec = _structural(schema_of_type(type_info(cast("Any", kind.spec))))
    for path, key in kind.keyed:
        _below(spec, path).update({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]})
    for rule in kind.rules:
        _below(spec, rule.path).setdefault("x-kubernetes-validations", []).append(
            {"rule": rule.rule, "message": rule.message}
        )
    status: dict[str, Any] = (
        _structural(schema_of_type(type_info(kind.status))) if kind.status else {"type": "object"}
    )
    status.setdefault("properties", {}).update(
        {
            "observedGeneration": {"type": "integer"},
            "conditions": {
                "type": "array",
                "items": _CONDITION,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            },
        }
    )
    status.pop("required", None)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": list(kind.short_names),
                "categories": ["remuda"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {"name": column.name, "type": column.type, "jsonPath": column.path}
                        for column in kind.columns
                    ]
                    + [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "description": kind.description,
                            "required": ["spec"],
                            "properties": {
                                "apiVersion": {"type": "string"},
                                "kind": {"type": "string"},
                                "metadata": {"type": "object"},
                                "spec": spec,
                                "status": status,
                            },
                        }
                    },
                }
            ],
        },
    }


def _below(schema: dict[str, Any], path: str) -> dict[str, Any]:
    for step in filter(None, path.split(".")):
        schema = schema["properties"][step]
    return schema


def _structural(schema: dict[str, Any]) -> dict[str, Any]:
    """Without what a structural schema may not say: unknown fields are pruned, defaults are ours to apply."""
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "default" or (key == "additionalProperties" and value is False):
            continue
        if key == "properties":
            made[key] = {name: _structural(inner) for name, inner in value.items()}
        elif key == "additionalProperties" and not value:
            made["x-kubernetes-preserve-unknown-fields"] = True
        elif key in ("items", "additionalProperties"):
            made[key] = _structural(value)
        elif key == "anyOf" and _NULL in value:
            (inner,) = (each for each in value if each != _NULL)
            made.update(_structural(inner), nullable=True)
        else:
            made[key] = value
    return made
