"""What a review begins with: workloads from a cluster or files, and what they used from one of three sources."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from remuda.control.reach import reach
from remuda.errors import BadInput
from remuda.model.times import SECOND, Instant
from remuda.rightsize.estimate.columns import columns_of
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.estimate.strategies import Strategy
from remuda.rightsize.estimate.summaries import summarize
from remuda.rightsize.estimate.usage import Pod
from remuda.rightsize.evidence import Evidence
from remuda.rightsize.many import read_usage
from remuda.rightsize.meant import all_meant
from remuda.rightsize.wanted import Wanted
from remuda.rightsize.workloads import Unknown, WorkloadId, World

#: of samples that are asked for, as the recommender's own
STEP_S = 60
Tell = Callable[[str], None]


@dataclass(slots=True)
class Observed:
    """Workloads, and what is known of the use of their containers."""

    world: World
    #: where use is from, in words
    usage: str = ""
    evidence: dict[tuple[WorkloadId, str], Evidence] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def observe(wanted: Wanted, now: Instant, tell: Tell, strategy: Strategy | None = None) -> Observed:
    """
    Read everything, and estimate by another strategy, too, if there is one.

    `BadInput` with all that is wrong with files, or when nothing says what workloads use.
    """
    return asyncio.run(_observe(wanted, now, tell, strategy))


async def _observe(wanted: Wanted, now: Instant, tell: Tell, strategy: Strategy | None) -> Observed:
    pods = list(_samples(wanted.usage))
    world, notes = await _world(wanted, now, tell)
    seen = Observed(_chosen(world, wanted), notes=notes)
    second = now // SECOND
    if wanted.prometheus:
        await _ask(seen, world, wanted, second, tell, strategy)
    elif wanted.usage:
        _count(seen, wanted, pods, second, strategy)
    else:
        _believe(seen)
    return seen


async def _world(wanted: Wanted, now: Instant, tell: Tell) -> tuple[World, tuple[str, ...]]:
    if wanted.files:
        from remuda.rightsize.cluster.files import read_files  # noqa: PLC0415 - not for a cluster

        tell("files")
        read = read_files(wanted.files, now)
        if read.problems:
            raise BadInput("\n".join(map(str, read.problems)))
        return read.world, read.notes
    from remuda.rightsize.cluster.collect import collect  # noqa: PLC0415 - not for files

    tell("the cluster")
    async with reach(wanted.context) as client:
        return await collect(client, now, namespaces=wanted.namespaces), ()


def _samples(files: Iterable[str]) -> Iterable[tuple[str, WorkloadId, Pod]]:
    """The samples of files; what is wrong with any of them is told at once."""
    problems = []
    found: dict[WorkloadId, str] = {}
    made = []
    for file in files:
        try:
            text = Path(file).read_bytes()
        except (OSError, ValueError) as error:
            problems.append(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}")
            continue
        try:
            read = read_usage(text, file)
        except BadInput as error:
            problems.append(str(error))
            continue
        for who, pod in read:
            if found.setdefault(who, file) != file:
                problems.append(f"{file}: {who} is in {found[who]} already")
            made.append((file, who, pod))
    if problems:
        raise BadInput("\n".join(problems))
    return made


def _chosen(world: World, wanted: Wanted) -> World:
    """Only what was asked for; `NotFound` with each name that means nothing."""
    kept = [item for item in world.workloads if _is_of(item.id.namespace, wanted.namespaces)]
    if wanted.names:
        meant = set(all_meant((item.id for item in kept), wanted.names))
        kept = [item for item in kept if item.id in meant]
    return msgspec.structs.replace(world, workloads=tuple(kept))


def _is_of(namespace: str, wanted: Collection[str]) -> bool:
    return not wanted or any(fnmatchcase(namespace, each) for each in wanted)


async def _ask(
    seen: Observed, world: World, wanted: Wanted, now: Second, tell: Tell, strategy: Strategy | None
) -> None:
    """Use as Prometheus knows it, batch by batch, so that samples are held only until they are summed up."""
    from remuda.prometheus.client import connect  # noqa: PLC0415 - not for files
    from remuda.rightsize.history.reading import read_history  # noqa: PLC0415

    async with connect(wanted.prometheus) as prometheus:
        seen.usage = f"prometheus {prometheus.url}"
        unknown: list[Unknown] = []
        async for batch in read_history(
            prometheus,
            world,
            history_s=wanted.history_s,
            step_s=STEP_S,
            now=now,
            tell=tell,
            unknown=unknown,
            only={item.id for item in seen.world.workloads},
        ):
            made = summarize(
                batch.columns,
                seen.usage,
                since=now - wanted.history_s,
                now=now,
                oddities=batch.oddities,
                partial=batch.partial,
                strategy=strategy,
            )
            seen.evidence.update(zip(batch.who, made, strict=True))
    seen.world = msgspec.structs.replace(seen.world, unknown=(*seen.world.unknown, *unknown))


def _count(
    seen: Observed,
    wanted: Wanted,
    pods: list[tuple[str, WorkloadId, Pod]],
    now: Second,
    strategy: Strategy | None,
) -> None:
    """Use as files say it."""
    seen.usage = f"samples {', '.join(wanted.usage)}"
    known = {item.id for item in seen.world.workloads}
    for file, who, pod in pods:
        if who not in known:
            continue
        made = summarize(
            columns_of([pod]),
            f"samples {file}",
            since=now - wanted.history_s,
            now=now,
            strategy=strategy,
        )
        seen.evidence.update(((who, name), each) for name, each in zip(pod, made, strict=True))


def _believe(seen: Observed) -> None:
    """What the Vertical Pod Autoscalers of the cluster say, where nobody else is asked."""
    seen.usage = "vpa objects"
    for advisor in seen.world.advisors:
        for container, estimate in advisor.estimates.items():
            origin = f"vpa {advisor.target.namespace}/{advisor.name}"
            seen.evidence[advisor.target, container] = Evidence(origin, estimate)
    if not seen.evidence and seen.world.workloads:
        raise BadInput(
            "nothing says what workloads use: give --prometheus URL or --usage FILE, "
            "or let Vertical Pod Autoscalers recommend (there is none with a recommendation)"
        )
