"""The control API, from the OpenAPI document that a running Remuda serves."""

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from manual.tables import code, prose, table
from remuda.app import App, Options
from remuda.control.openapi import document
from remuda.control.routes import Route
from remuda.job import Jobs
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log

#: where objects ask for no job, all that can run are built
_NOTHING_TO_RUN = Path(__file__).parents[1] / "examples" / "capacity-policy.yaml"


def page(jobs: Jobs) -> str:
    """`reference/http-api.md`."""
    served = openapi(jobs)
    schemas = served["components"]["schemas"]
    operations = "\n".join(
        _operation(method, path, operation)
        for path, methods in served["paths"].items()
        for method, operation in methods.items()
    )
    types = "\n".join(_schema(name, schema) for name, schema in sorted(schemas.items()))
    return (
        "# HTTP API\n\nEvery command uses it, on `control.sock` in the data directory; who may open that file may ask"
        " everything. The dashboard serves it on its port, too, to who has a token. `GET /openapi.json` is the whole of this as OpenAPI 3.1. An answer that is no success is a"
        " [Problem](#problem), with a sentence for people.\n\n"
        f"## Requests\n\n{operations}\n## Types\n\n{types}"
    )


def openapi(jobs: Jobs) -> dict[str, Any]:
    """The document of all jobs that can run, as it is served."""
    routes, _ = assembled(jobs)
    return dict(msgspec.json.decode(msgspec.json.encode(document(routes))))


def assembled(jobs: Jobs) -> tuple[tuple[Route, ...], CollectorRegistry]:
    """Routes and metrics of a process on a host that runs every job. It is built and never started."""
    clock = SystemClock()
    with tempfile.TemporaryDirectory() as place:
        options = Options(files=(str(_NOTHING_TO_RUN),), data_dir=Path(place, "data"))
        app = App(options, clock, random.Random(0), Log(clock, lambda _: None), jobs=jobs)
        try:
            return app._routes(), app._registry  # noqa: SLF001 - nobody else builds a process to look at it
        finally:
            app.close()


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = [
        (code(each["name"]), each["in"], prose(each.get("description", "")))
        for each in operation.get("parameters", ())
    ]
    parts = [f"### {method.upper()} {path}\n", f"{prose(operation['summary'])}\n"]
    parts.append(table(("name", "in", "meaning"), rows))
    if body := operation.get("requestBody"):
        parts.append(f"Body: {_type(body['content']['application/json']['schema'])}.\n")
    ((kind, answer),) = operation["responses"]["200"]["content"].items()
    streamed = kind == "application/octet-stream"
    parts.append("Answer: a stream of bytes.\n" if streamed else f"Answer: {_type(answer['schema'])}.\n")
    return "\n".join(part for part in parts if part)


def _schema(name: str, schema: dict[str, Any]) -> str:
    needed = schema.get("required", ())
    rows = [
        (
            f"**{code(field)}**" if field in needed else code(field),
            _type(each),
            code(msgspec.json.encode(each["default"]).decode()) if "default" in each else "",
            prose(each.get("description", "")),
        )
        for field, each in schema.get("properties", {}).items()
    ]
    lines = (
        f"### {name}\n",
        f"{prose(schema.get('description', ''))}\n" if schema.get("description") else "",
    )
    return "\n".join(
        (*filter(None, lines), table(("field", "type", "default", "meaning"), rows) or f"{_type(schema)}\n")
    )


def _type(schema: dict[str, Any]) -> str:
    return " or ".join(dict.fromkeys(_types(schema)))


def _types(schema: dict[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield f"[{name}](#{name.lower()})"
    elif "anyOf" in schema:
        for each in schema["anyOf"]:
            yield from _types(each)
    elif "enum" in schema:
        yield from (code(str(each)) for each in schema["enum"])
    elif "prefixItems" in schema:
        yield f"list of {', '.join(map(_type, schema['prefixItems']))}"
    elif schema.get("type") == "array":
        yield f"list of {_type(schema.get('items', {}))}"
    elif schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        yield f"mapping to {_type(schema['additionalProperties'])}"
    else:
        kinds = schema.get("type", "anything")
        yield from ([kinds] if isinstance(kinds, str) else kinds)
