"""The cluster that a command means."""

import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # not for --help
    from remuda.kube.client import Client

_TIMEOUT_S = 30.0


@asynccontextmanager
async def connect_cluster(context: str | None) -> "AsyncIterator[Client]":
    """The cluster of a context of the kubeconfig, or the one that is meant without any."""
    from remuda.kube.client import Client  # noqa: PLC0415 - not for files
    from remuda.kube.config import find_access  # noqa: PLC0415
    from remuda.loop.clock import SystemClock  # noqa: PLC0415

    clock = SystemClock()
    access = find_access(os.environ, clock, context=context)
    async with Client(access, clock, random.Random(), timeout=_TIMEOUT_S) as client:
        yield client
