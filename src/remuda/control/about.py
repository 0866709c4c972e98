"""What a running Remuda says about itself: its version, what it was started with, and the objects it goes by."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from remuda.control.routes import Call, Route
from remuda.model.times import Instant
from remuda.objects.kinds import API_VERSION, Object
from remuda.objects.manifests import to_manifest

#: stands for a value that nobody needs to see
HIDDEN = "***"


class About(Struct, frozen=True):
    """One process of `remuda up`."""

    version: str
    pid: int
    started_at: Instant
    #: the time by its clock
    now: Instant
    #: as absolute paths; none where objects come from a cluster
    files: tuple[str, ...] = ()
    #: what it was started with
    options: dict[str, Any] = {}
    #: those in force, as they would be written; values of environment variables are hidden
    objects: tuple[dict[str, Any], ...] = ()


def about_route(about: Callable[[], About]) -> Route:
    """The route that says it."""

    async def show(call: Call) -> About:
        del call
        return about()

    return Route(
        "GET", "/v1/about", "The process that answers, and the objects it goes by.", About, handler=show
    )


def shown_objects(objects: Iterable[Object[Any]]) -> tuple[dict[str, Any], ...]:
    """Objects as they would be written in a file, without the values of environment variables."""
    return tuple(
        {
            "apiVersion": API_VERSION,
            "kind": item.kind,
            "metadata": {
                "name": item.name,
                "labels": dict(item.labels),
                "annotations": dict(item.annotations),
            },
            "spec": without_environment(to_manifest(item.spec)),
        }
        for item in objects
    )


class ShownObjects:
    """`shown_objects` of what is in force, written anew only when that is replaced: many ask, some every second."""

    def __init__(self) -> None:
        self._of: Iterable[Object[Any]] | None = None
        self._shown: tuple[dict[str, Any], ...] = ()

    def of(self, objects: Iterable[Object[Any]]) -> tuple[dict[str, Any], ...]:
        """The same answer for the same objects; nobody may change it."""
        if objects is not self._of:
            self._of, self._shown = objects, shown_objects(objects)
        return self._shown


def without_environment(data: Any) -> Any:
    """Plain data in which values of environment variables are hidden, in the form of a mapping or of a pod's list."""
    match data:
        case dict():
            return {
                key: _hidden(value) if key == "env" else without_environment(value)
                for key, value in data.items()
            }
        case list() | tuple():
            return [without_environment(item) for item in data]
        case _:
            return data


def _hidden(environment: Any) -> Any:
    match environment:
        case dict():
            return dict.fromkeys(environment, HIDDEN)
        case list() | tuple():
            return [
                {**item, "value": HIDDEN} if isinstance(item, dict) and "value" in item else item
                for item in environment
            ]
        case _:
            return HIDDEN
