"""
Where a server's program is: given by environment, or in the per-user cache.

Nothing is built or fetched here. A program given by environment is used as it is, whatever its version.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.servers.catalog import ENVTEST, SERVERS, Server


class ServersError(Exception):
    """A server cannot be had or does not start; the text says why and what helps."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of the environment decides where programs are."""

    cache: Path
    #: Each directory with the names it may provide, in the order they are asked.
    given: tuple[tuple[Path, frozenset[str]], ...] = ()


def surroundings(environ: Mapping[str, str] = os.environ) -> Surroundings:
    """
    Read KUBEBUILDER_ASSETS, REMUDA_SERVERS and XDG_CACHE_HOME.

    An empty variable counts as unset; a relative XDG_CACHE_HOME is ignored, as its specification says.
    """
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    root = base if base.is_absolute() else Path(environ.get("HOME") or Path.home()) / ".cache"
    names = (("KUBEBUILDER_ASSETS", ENVTEST), ("REMUDA_SERVERS", frozenset(SERVERS)))
    given = tuple((Path(environ[variable]), may) for variable, may in names if environ.get(variable))
    return Surroundings(root / "remuda" / "servers", given)


def cached(server: Server, cache: Path) -> Path:
    """Where the cache keeps a server's program, there or not."""
    return cache / f"{server.name}-{server.version}" / server.name


def find(server: Server, around: Surroundings) -> Path | None:
    """The program, or None. A directory given by environment that lacks the program is passed over."""
    candidates = [directory / server.name for directory, names in around.given if server.name in names]
    candidates.append(cached(server, around.cache))
    wanted = os.R_OK if server.is_file else os.X_OK
    return next((path for path in candidates if path.is_file() and os.access(path, wanted)), None)
