"""Every kind of object there is, and the checks between them, for who needs all of them at once."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from remuda.job import Place
from remuda.jobs import JOBS
from remuda.objects.kinds import Kind
from remuda.objects.load import Loaded

#: what `up` follows in a cluster
FOLLOWED: tuple[Kind[Any], ...] = tuple(kind.load() for kind in JOBS.kinds(Place.RUN))
#: what a cluster keeps, and what `up` reads from files
KINDS: tuple[Kind[Any], ...] = tuple(kind.load() for kind in JOBS.kinds(Place.RUN, Place.KEPT))
#: also those that only files hold, which no cluster keeps and `up` does not run
EVERY_KIND: tuple[Kind[Any], ...] = tuple(kind.load() for kind in JOBS.kinds())
CHECKS = JOBS.checks()


def load(paths: Iterable[str | Path]) -> Loaded:
    """Load files and directories of what `up` runs, with every check there is."""
    return JOBS.load(paths, Place.RUN, Place.KEPT)


def load_any(paths: Iterable[str | Path]) -> Loaded:
    """Load files and directories of every kind there is, with every check."""
    return JOBS.load(paths)
