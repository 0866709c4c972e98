"""
A fleet whose truth is known: workloads of every shape, what they used for 8 days, and what they will use next week.

`fleet()` is made once, and is the same every time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.random import default_rng
from tests.rightsize.estimate import shapes
from tests.rightsize.estimate.builders import BEGIN, DAY
from tests.rightsize.estimate.shapes import HISTORY, Floats, Run

from remuda.model.workloads import WorkloadId
from remuda.rightsize.estimate.columns import Column, Columns
from remuda.rightsize.estimate.summaries import summarize
from remuda.rightsize.evidence import Evidence
from remuda.rightsize.snapshot import Ask, Autoscaler, Container, Kill, Size, Snapshot, Workload

MIB = 1024 * 1024
NOW = BEGIN + 8 * DAY


@dataclass(frozen=True, slots=True)
class Known:
    """A container, and what its replicas will use in the following week: a sample a minute of each."""

    workload: WorkloadId
    container: str
    #: steady, daily, bursty, leaking, ooming, idle, restarted, scaled, old-peak, weekly, young, gpu, many, gaps
    shape: str
    cores: tuple[Floats, ...]
    used: tuple[Floats, ...]
    #: what its replicas used in the history
    history: tuple[Floats, ...]

    @property
    def highest(self) -> int:
        """The most memory that a replica will use."""
        return int(max((each.max() for each in self.used if len(each)), default=0))

    def would_oom(self, limit: int | None) -> bool:
        """Whether a replica will use more memory than that in the following week."""
        return limit is not None and self.highest > limit


@dataclass(frozen=True, slots=True)
class Fleet:
    """What a review looks at, and what it cannot know; `known` is in the order of the columns."""

    snapshot: Snapshot
    columns: Columns
    known: tuple[Known, ...]
    since: int = BEGIN
    now: int = NOW

    @property
    def who(self) -> list[tuple[WorkloadId, str]]:
        """The container of each entry of the columns."""
        return [(each.workload, each.container) for each in self.known]

    def evidence(self) -> dict[tuple[WorkloadId, str], Evidence]:
        """What can be known of the use of each container."""
        found = summarize(self.columns, "samples synthetic", since=self.since, now=self.now)
        return dict(zip(self.who, found, strict=True))

    def of(self, shape: str) -> list[Known]:
        """The containers of a shape."""
        return [each for each in self.known if each.shape == shape]


@dataclass(slots=True)
class _Made:
    workload: Workload
    shape: str
    #: for each container the pods that lived
    runs: list[list[Run]]
    autoscalers: list[Autoscaler] = field(default_factory=list)


@cache
def fleet(seed: int = 8) -> Fleet:
    """All workloads, most of their memory in steady and daily ones. One, shop/silent, has no samples: only the world has it."""
    random = default_rng(seed)
    made = [
        _one("steady", "catalog", shapes.steady(random, 620, 0.35, 3), 2048, cores=1000, tier="1-service"),
        _one("steady", "cache", shapes.steady(random, 3_400, 0.8, 2), 8192, kind="StatefulSet", tier="0-core"),
        _one("steady", "database", shapes.steady(random, 7_300, 1.5, 3), 16_384, kind="StatefulSet", tier="0-core"),
        _one("steady", "broker", shapes.steady(random, 5_200, 0.6, 3), 12_288, kind="StatefulSet", tier="0-core"),
        _one("steady", "mailer", shapes.steady(random, 410, 0.05), 1024, tier="3-batch"),
        _one("daily", "web", shapes.daily(random, 900, 0.6), 3072, cores=2000, tier="2-edge"),
        _one("daily", "search", shapes.daily(random, 2_300, 1.1, 0.4), 6144, tier="1-service"),
        _one("daily", "metrics", shapes.daily(random, 6_100, 0.9, 0.15), 12_288, tier="1-service"),
        _one("bursty", "thumbnails", shapes.bursty(random, 380, 0.2, 2.0, 30), 1536, tier="3-batch"),
        _one("bursty", "reports", shapes.bursty(random, 240, 0.1, 3.0, 1.3), 2048, tier="4-best-effort"),
        _one("leaking", "sessions", shapes.leaking(random, 350, 28), 1024, tier="2-edge"),
        _one("leaking", "gateway", shapes.leaking(random, 500, 45, restarts=(3_580,)), 1536, tier="1-service"),
        _one("ooming", "importer", shapes.killed(random, 512 * MIB, 600), 512, tier="3-batch"),
        _one("idle", "docs", shapes.steady(random, 18, 0.001), 512, cores=500, tier="4-best-effort"),
        _one("restarted", "billing", shapes.replaced(random, 760, 0.25, (2_900, 7_130, 13_000)), 2048, tier="0-core"),
        _scaled("api", shapes.scaled(random, 540, 0.3, 2, 6), 2, 6),
        _one("old-peak", "invoices", shapes.peaking(random, 420, 0.2, (3_400,), 3.2), 3072, tier="2-edge"),
        _one("weekly", "ledger", shapes.peaking(random, 380, 0.2, (4_000, 14_080), 2.6), 1536, tier="1-service"),
        _one("young", "labels", shapes.young(random, 450, 0.1, 6 * 60), 1024, tier="2-edge"),
        _one("gpu", "training", shapes.training(random, 5_500, 2.5), 16_384, others={"nvidia.com/gpu": "1"}),
        _one("many", "agent", shapes.steady(random, 290, 0.08, 40), 1024, kind="DaemonSet"),
        _one("gaps", "feeds", shapes.with_gaps(random, 830, 0.15), 2048, tier="2-edge"),
        _with_sidecar("orders", shapes.daily(random, 1_100, 0.4), shapes.steady(random, 130, 0.03)),
    ]  # fmt: skip
    return Fleet(_snapshot(made), _columns(made), tuple(_known(made)))


def _one(
    shape: str,
    name: str,
    runs: list[Run],
    memory: int,
    *,
    cores: int = 250,
    kind: str = "Deployment",
    replicas: int | None = None,
    tier: str = "",
    others: dict[str, str] | None = None,
) -> _Made:
    """A workload of one container that asks for `memory` MiB, as request and as limit."""
    now = sum(HISTORY - 1 in run.minutes for run in runs)
    workload = Workload(
        WorkloadId("shop", kind, name),
        (Container("main", _size(memory, cores), others or {}),),
        {"app": name, **({"tier": tier} if tier else {})},
        replicas or now,
        1 if kind == "Deployment" else 0,
    )
    return _Made(workload, shape, [runs])


def _scaled(name: str, runs: list[Run], least: int, most: int) -> _Made:
    made = _one("scaled", name, runs, 1536, cores=500, tier="1-service", replicas=least)
    made.autoscalers.append(Autoscaler(name, made.workload.id, "cpu", most=most))
    return made


def _with_sidecar(name: str, main: list[Run], proxy: list[Run]) -> _Made:
    containers = (
        Container("main", _size(4096, 1000)),
        Container("proxy", _size(512, 100), is_sidecar=True),
    )
    workload = Workload(WorkloadId("pay", "Deployment", name), containers, {"app": name}, 1, 1)
    return _Made(workload, "daily", [main, proxy])


def _size(memory: int, cores: int) -> Size:
    return Size(Ask(cores, memory * MIB), Ask(None, memory * MIB))


def _snapshot(made: Sequence[_Made]) -> Snapshot:
    silent = Workload(
        WorkloadId("shop", "Deployment", "silent"), (Container("main", _size(512, 100)),), {"app": "silent"}
    )
    kills = tuple(
        Kill(each.workload.id, container.name, f"{each.workload.id.name}-0", BEGIN + 60 * minute, _request(container))
        for each in made
        for container, runs in zip(each.workload.containers, each.runs, strict=True)
        for run in runs
        for minute in run.kills
    )  # fmt: skip
    return Snapshot(
        NOW * 1000,
        "synthetic",
        (*(each.workload for each in made), silent),
        {"shop": {}, "pay": {"tier": "0-core"}},
        autoscalers=tuple(scaler for each in made for scaler in each.autoscalers),
        kills=kills,
    )


def _columns(made: Sequence[_Made]) -> Columns:
    containers = [
        [part for run in runs if len((part := run.within(0, HISTORY)).minutes)]
        for each in made
        for runs in each.runs
    ]
    pods = [run for runs in containers for run in runs]
    requests = [
        _request(container)
        for each, container, runs in zip(
            [each for each in made for _ in each.runs],
            [container for each in made for container in each.workload.containers],
            containers,
            strict=True,
        )
        for _ in runs
    ]
    # Not all are looked at in the same second.
    times = [BEGIN + 60 * run.minutes + number * 7 % 60 for number, run in enumerate(pods)]
    starts = _starts([len(run.minutes) for run in pods])
    at = np.concatenate(times)
    return Columns(
        Column(at, np.concatenate([run.cores for run in pods]), starts),
        Column(at, np.concatenate([run.used for run in pods]), starts),
        Column(
            np.array([BEGIN + 60 * minute for run in pods for minute in run.kills], np.int64),
            np.array(
                [float(request) for run, request in zip(pods, requests, strict=True) for _ in run.kills]
            ),
            _starts([len(run.kills) for run in pods]),
        ),
        _starts([len(runs) for runs in containers]),
        np.array([len(each.runs) for each in made for _ in each.runs], np.int64),
    )


def _known(made: Sequence[_Made]) -> list[Known]:
    found = []
    for each in made:
        for container, runs in zip(each.workload.containers, each.runs, strict=True):
            before = [run.within(0, HISTORY) for run in runs]
            after = [run.within(HISTORY, shapes.ALL) for run in runs]
            found.append(
                Known(
                    each.workload.id,
                    container.name,
                    each.shape,
                    tuple(run.cores for run in after),
                    tuple(run.used for run in after),
                    tuple(run.used for run in before),
                )
            )
    return found


def _request(container: Container) -> int:
    return container.size.requests.memory_bytes or 0


def _starts(lengths: Sequence[int]) -> shapes.Ints:
    return np.concatenate(([0], np.cumsum(np.array(lengths, np.int64)))).astype(np.int64)
