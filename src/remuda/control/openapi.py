"""The OpenAPI document, from the routes and the types they name."""

import re
from typing import Any

import msgspec

from remuda import __version__
from remuda.control.routes import Route

_REF = "#/components/schemas/{name}"


def document(routes: tuple[Route, ...]) -> dict[str, Any]:
    """OpenAPI 3.1 for all routes."""
    types = [kind for route in routes for kind in (route.body, route.answer) if kind is not None]
    schemas, components = msgspec.json.schema_components(types, schema_hook=_hook, ref_template=_REF)
    found = iter(schemas)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        body = next(found) if route.body is not None else None
        answer = next(found) if route.answer is not None else None
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, body, answer)
    problem = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Remuda control API", "version": __version__, "license": {"name": "Apache-2.0"}},
        "paths": paths,
        "components": {"schemas": {**components, "Problem": problem}},
    }


def _operation(route: Route, body: Any, answer: Any) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", route.path)
    ]
    parameters += [
        {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
        for name, text in route.query.items()
    ]
    kind = "application/octet-stream" if route.streams else "application/json"
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    described: dict[str, Any] = {
        "summary": route.summary,
        "operationId": re.sub(r"\W+", "_", f"{route.method.lower()} {route.path}").strip("_"),
        "responses": {
            "200": {"description": "Done.", "content": {kind: {"schema": answer or {}}}},
            "default": {"description": "Not done, and why.", "content": problem},
        },
    }
    if parameters:
        described["parameters"] = parameters
    if body is not None:
        described["requestBody"] = {"content": {"application/json": {"schema": body}}}
    return described


def _hook(kind: type) -> dict[str, Any]:
    schema: dict[str, Any] = getattr(kind, "json_schema", {"type": "string"})
    return schema
