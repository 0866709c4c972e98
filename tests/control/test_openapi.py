"""The OpenAPI document of all routes there are is a valid one, and says what the routes say."""

from typing import Any

import msgspec
import pytest
from tests.loop.toy import Rig, virtually

from remuda.control.loops import LoopRoutes
from remuda.control.openapi import document
from remuda.control.routes import Call, Route, match
from remuda.errors import BadInput, NotFound
from remuda.ledger.store import InlineStore
from remuda.loop.health import readiness
from remuda.pools.routes import PoolRoutes
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.queue import Queue
from remuda.sources.queue.routes import QueueRoutes
from remuda.sources.queue.schema import TABLES


def all_routes(rig: Rig) -> tuple[Route, ...]:
    store, nothing = InlineStore((TABLES,)), lambda: None
    files = JobFiles(None)  # type: ignore[arg-type]
    return (
        *QueueRoutes(Queue(store, files, rig.clock, nothing), files, set, lambda *_: None).routes(),
        *PoolRoutes(None, {}, store, rig.clock, nothing).routes(),  # type: ignore[arg-type]
        *LoopRoutes([rig.loop], store, rig.clock, lambda: readiness([rig.loop], {})).routes(),
    )


def as_served(routes: tuple[Route, ...]) -> dict[str, Any]:
    served: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document(routes)))
    return served


@pytest.mark.slow
@virtually
async def test_the_document_of_all_routes_is_valid() -> None:
    # a third of a second to import, for this test alone
    from openapi_spec_validator import OpenAPIV31SpecValidator

    routes = all_routes(Rig())
    openapi = as_served(routes)
    OpenAPIV31SpecValidator(openapi).validate()
    operations = [operation for path in openapi["paths"].values() for operation in path.values()]
    assert len(operations) == len(routes)
    assert len({operation["operationId"] for operation in operations}) == len(routes)
    assert all(operation["summary"] for operation in operations)


@virtually
async def test_paths_queries_bodies_and_answers_are_described() -> None:
    openapi = as_served(all_routes(Rig()))
    submit = openapi["paths"]["/v1/jobs"]["post"]
    body = submit["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    assert openapi["components"]["schemas"][body]["properties"]["retries"]["maximum"] == 100
    logs = openapi["paths"]["/v1/jobs/{job}/logs"]["get"]
    assert {(item["name"], item["in"]) for item in logs["parameters"]} == {
        ("job", "path"),
        ("follow", "query"),
        ("attempt", "query"),
    }
    assert "application/octet-stream" in logs["responses"]["200"]["content"]


@virtually
async def test_each_route_has_either_a_view_or_a_handler() -> None:
    for route in all_routes(Rig()):
        assert (route.view is None) != (route.handler is None), route.path
        assert route.view is None or route.method == "GET", route.path


ROUTES = tuple(
    Route("GET", path, "", None, view=lambda *_: None) for path in ("/v1/jobs", "/v1/jobs/{job}", "/v1/a.b")
)


def test_a_path_gives_its_route_and_the_names_in_it() -> None:
    route, names = match(ROUTES, "GET", "/v1/jobs/a%20b%2Fc")
    assert (route.path, names) == ("/v1/jobs/{job}", {"job": "a b/c"})


@pytest.mark.parametrize("path", ["/v1/jobs/", "/v1/jobs/1/2", "/v1", "v1/jobs", "/v1/axb"])
def test_a_path_that_no_route_has_is_not_found(path: str) -> None:
    with pytest.raises(NotFound):
        match(ROUTES, "GET", path)


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "９", "1" * 19, "1\n"])
def test_a_number_in_a_path_is_a_whole_number(text: str) -> None:
    with pytest.raises(BadInput, match="job wants a whole number"):
        Call({"job": text}, {}).number("job")
