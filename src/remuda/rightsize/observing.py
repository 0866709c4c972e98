"""What a review begins with: workloads from a cluster or files, and what they used from one of three sources."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

import msgspec

from remuda.control.connect import connect_cluster
from remuda.errors import BadInput
from remuda.model.times import SECOND, Instant, write_instant
from remuda.rightsize.choosing import chosen, is_pattern
from remuda.rightsize.estimate.columns import columns_of
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.estimate.samples import MOST_BYTES
from remuda.rightsize.estimate.span import cut
from remuda.rightsize.estimate.strategies import Strategy
from remuda.rightsize.estimate.summaries import summarize
from remuda.rightsize.estimate.usage import Pod
from remuda.rightsize.evidence import Evidence
from remuda.rightsize.given import text_of
from remuda.rightsize.many import read_usage
from remuda.rightsize.review import ADVISED
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
    pods = _samples(wanted.usage)
    world, there, notes = await _world(wanted, now, tell)
    seen = Observed(chosen(world, wanted, there), notes=notes)
    second = now // SECOND
    if wanted.prometheus:
        await _ask(seen, world, wanted, second, tell, strategy)
    elif wanted.usage:
        _count(seen, wanted, pods, second, strategy)
    else:
        _believe(seen)
    return seen


async def _world(wanted: Wanted, now: Instant, tell: Tell) -> tuple[World, Collection[str], tuple[str, ...]]:
    """The world, more namespaces that there are, and notes."""
    if wanted.files:
        from remuda.rightsize.cluster.files import read_files  # noqa: PLC0415 - not for a cluster

        tell("files")
        read = read_files(wanted.files, now)
        if read.problems:
            raise BadInput("\n".join(map(str, read.problems)))
        return read.world, (), read.notes
    from remuda.rightsize.cluster.collect import collect, namespace_names  # noqa: PLC0415 - not for files

    tell("the cluster")
    namespaces = () if any(map(is_pattern, wanted.namespaces)) else wanted.namespaces
    async with connect_cluster(wanted.context) as client:
        world = await collect(client, now, namespaces=namespaces)
        # Only for who asks for one that is not there, and may be told which is.
        there = [] if set(namespaces) <= set(world.namespaces) else await namespace_names(client)
        return world, there, ()


def _samples(files: Iterable[str]) -> list[tuple[str, WorkloadId, Pod]]:
    """The samples of files, each with the name of its file; what is wrong with any of them is told at once."""
    problems = []
    found: dict[WorkloadId, str] = {}
    made = []
    for file in _once(files):
        try:
            text, name = text_of(file, MOST_BYTES)
            read = read_usage(text, name)
        except BadInput as error:
            problems.append(str(error))
            continue
        for who, pod in read:
            if found.setdefault(who, name) != name:
                problems.append(f"{name}: {who} is in {found[who]} already")
            made.append((name, who, pod))
    if problems:
        raise BadInput("\n".join(problems))
    return made


def _once(files: Iterable[str]) -> Iterable[str]:
    """Each file as it is first called, however often and by whatever paths it is given."""
    made: dict[str, str] = {}
    for file in files:
        made.setdefault(file if file == "-" else os.path.realpath(file), file)
    return made.values()


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
    """Use as files say it, within the history alone."""
    since = now - wanted.history_s
    seen.usage = f"samples {', '.join(dict.fromkeys(file for file, _, _ in pods))}"
    known = {item.id: item for item in seen.world.workloads}
    older: Counter[str] = Counter()
    unknown = []
    for file, who, pod in pods:
        if who not in known:
            continue
        within = cut(pod, since, now)
        older[file] += within.older
        made = summarize(
            columns_of([within.pod], [len(known[who].containers)]),
            f"samples {file}",
            since=since,
            now=now,
            oddities=[within.future.get(name, ()) for name in pod],
            strategy=strategy,
        )
        for name, each in zip(pod, made, strict=True):
            seen.evidence[who, name] = each
            if each.oddities and not (each.cpu_samples or each.memory_samples):
                unknown.append(Unknown(f"use of {name} of {who}", "; ".join(each.oddities)))
    begin = write_instant(since * SECOND)
    seen.notes += tuple(
        f"{file}: {count:,} samples before {begin}, when the history begins, were left out"
        for file, count in older.items()
        if count
    )
    seen.world = msgspec.structs.replace(seen.world, unknown=(*seen.world.unknown, *unknown))


def _believe(seen: Observed) -> None:
    """What the Vertical Pod Autoscalers of the cluster say, where nobody else is asked."""
    seen.usage = ADVISED
    for advisor in seen.world.advisors:
        for container, estimate in advisor.estimates.items():
            origin = f"vpa {advisor.target.namespace}/{advisor.name}"
            seen.evidence[advisor.target, container] = Evidence(origin, estimate)
    if not seen.evidence and seen.world.workloads:
        raise BadInput(
            "nothing says what workloads use: give --prometheus URL or --usage FILE, "
            "or let Vertical Pod Autoscalers recommend (there is none with a recommendation)"
        )
