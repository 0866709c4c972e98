"""A CircleCI without a network, for virtual time, and the source over it."""

import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.model.needs import Need, Reading, Worker
from remuda.sources.circleci.agents import Listing
from remuda.sources.circleci.errors import CircleError
from remuda.sources.circleci.meters import CircleMeters
from remuda.sources.circleci.pace import Host
from remuda.sources.circleci.source import CircleCI


@dataclass
class FakeApi:
    """Answers from its state, or with the error that is set for a call."""

    clock: Clock
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    workers: dict[str, dict[str, Worker]] = field(default_factory=dict)
    errors: dict[str, CircleError] = field(default_factory=dict)
    latency: float = 0.05
    #: on top of it
    agents_latency: float = 0.0
    unreadable: int = 0
    #: what was asked: when, which call, for which class
    asked: list[tuple[float, str, str]] = field(default_factory=list)
    is_closed: bool = False

    async def unclaimed(self, job_class: str) -> int:
        return (await self._answer("unclaimed", job_class))[0]

    async def running(self, job_class: str) -> int:
        return (await self._answer("running", job_class))[1]

    async def agents(self, job_class: str) -> Listing:
        await self._answer("agents", job_class)
        await asyncio.sleep(self.agents_latency)
        return Listing(dict(self.workers.get(job_class, {})), self.unreadable)

    async def close(self) -> None:
        self.is_closed = True

    async def _answer(self, call: str, job_class: str) -> tuple[int, int]:
        self.asked.append((self.clock.monotonic(), call, job_class))
        await asyncio.sleep(self.latency)
        if call in self.errors:
            raise self.errors[call]
        return self.counts.get(job_class, (0, 0))

    def count(self, call: str) -> int:
        return sum(asked[1] == call for asked in self.asked)


class Rig:
    """The source, with all it tells caught."""

    def __init__(self, clock: Clock, classes: dict[str, str], rate: float = 20.0) -> None:
        self.api = FakeApi(clock)
        self.lines: list[dict[str, Any]] = []
        self.wakes = 0
        self.registry = CollectorRegistry()
        self.source = CircleCI(
            self.api,
            clock,
            random.Random(1),
            Log(clock, lambda line: self.lines.append(json.loads(line))),
            self._wake,
            CircleMeters(self.registry),
            Host(rate),
        )
        self.source.serve(classes)

    def _wake(self) -> None:
        self.wakes += 1

    async def attend(self, seconds: float) -> Reading:
        """Read each second, as a loop does, and return the last reading."""
        for _ in range(round(seconds)):
            await self.source.read()
            await asyncio.sleep(1)
        return await self.source.read()

    async def need(self, job_class: str = "org/a") -> Need:
        return (await self.source.read()).needs[job_class]

    def logged(self) -> Counter[str]:
        """How often each line was logged."""
        return Counter(line["msg"] for line in self.lines)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"remuda_circleci_{name}", labels)
