"""What a shell completes: names that a running Remuda knows, or its store."""

from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

import click

from remuda.control.command import Session
from remuda.errors import RemudaError

T = TypeVar("T")
Complete: TypeAlias = Callable[[click.Context, click.Parameter, str], list[str]]


def completes(path: str, kind: type[T], names: Callable[[T], Iterable[str]], **query: object) -> Complete:
    """Complete from what a path answers; from nothing when it cannot be asked for, because a shell shows no errors."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
        del parameter
        session = context.find_object(Session)
        if session is None:
            return []
        try:
            found = session.remuda.get(path, kind, **query)
        except RemudaError:
            return []
        return [name for name in dict.fromkeys(names(found)) if name.startswith(begun)]

    return complete
