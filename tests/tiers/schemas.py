"""JSON Schemas for kubeconform, made from what a real API server says of its kinds: it would fetch them from the network."""

import json
from pathlib import Path
from typing import Any

from tests.servers.cluster import Cluster

_KINDS = "x-kubernetes-group-version-kind"


def write_schemas(cluster: Cluster, directory: Path) -> str:
    """Write a schema for each kind, which allows no unknown field; where kubeconform finds them."""
    told = cluster.request("GET", "/openapi/v2").json()["definitions"]
    # what is one of the server's, whatever it is called; numbers may be texts there
    definitions = {name: _strict(each) for name, each in told.items()}
    for name, each in told.items():
        for kind in each.get(_KINDS, ()):
            parts = [kind["kind"], *([kind["group"].split(".")[0]] if kind["group"] else []), kind["version"]]
            path = directory / ("-".join(parts).lower() + ".json")
            schema = {**definitions[name], "definitions": definitions}
            schema["properties"] = {
                **schema.get("properties", {}),
                "apiVersion": {"const": "/".join(filter(None, (kind["group"], kind["version"])))},
                "kind": {"const": kind["kind"]},
            }
            schema["required"] = [*schema.get("required", ()), "apiVersion", "kind"]
            path.write_text(json.dumps(schema))
    return f"{directory}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    made = dict(schema)
    if "properties" in made:
        made["properties"] = {name: _strict(each) for name, each in made["properties"].items()}
        made.setdefault("additionalProperties", False)
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _strict(made[key])
    if made.get("format") == "int-or-string":
        made["type"] = ["integer", "string"]
    return made
