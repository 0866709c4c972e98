"""What a review begins with: workloads from a cluster or files, and what they used from one of three sources."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from remuda.errors import BadInput
from remuda.model.times import SECOND, Instant, write_instant
from remuda.model.workloads import WorkloadId
from remuda.rightsize.estimate.columns import columns_of
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.estimate.samples import MOST_BYTES
from remuda.rightsize.estimate.span import cut
from remuda.rightsize.estimate.strategies import Strategy
from remuda.rightsize.estimate.summaries import summarize
from remuda.rightsize.estimate.usage import Pod
from remuda.rightsize.evidence import Evidence
from remuda.rightsize.input_files import read_input
from remuda.rightsize.observe.usage import read_usage
from remuda.rightsize.review import ADVISED
from remuda.rightsize.selection import Selection, chosen, is_pattern
from remuda.rightsize.snapshot import Snapshot, Unknown

#: of samples that are asked for, as the recommender's own
STEP_S = 60
Progress = Callable[[str], None]


class Observed(Struct):
    """Workloads, and what is known of the use of their containers."""

    snapshot: Snapshot
    #: where use is from, in words
    usage: str = ""
    evidence: dict[tuple[WorkloadId, str], Evidence] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def observe(
    selection: Selection, now: Instant, progress: Progress, strategy: Strategy | None = None
) -> Observed:
    """
    Read everything, and estimate by another strategy, too, if there is one.

    `BadInput` with all that is wrong with files, or when nothing says what workloads use.
    """
    pods = _samples(selection.usage)
    snapshot, there, notes = (_from_files if selection.files else _from_cluster)(selection, now, progress)
    seen = Observed(chosen(snapshot, selection, there), notes=notes)
    second = now // SECOND
    if selection.prometheus:
        import asyncio  # noqa: PLC0415 - not for files, where it takes as long to import as to read them

        asyncio.run(_ask(seen, snapshot, selection, second, progress, strategy))
    elif selection.usage:
        _count(seen, selection, pods, second, strategy)
    else:
        _believe(seen)
    return seen


#: a snapshot, more namespaces that there are, and notes
_Read: TypeAlias = tuple[Snapshot, Collection[str], tuple[str, ...]]


def _from_files(selection: Selection, now: Instant, progress: Progress) -> _Read:
    from remuda.rightsize.observe.files import read_files  # noqa: PLC0415 - not for a cluster

    progress("files")
    read = read_files(selection.files, now)
    if read.problems:
        raise BadInput("\n".join(map(str, read.problems)))
    return read.snapshot, (), read.notes


def _from_cluster(selection: Selection, now: Instant, progress: Progress) -> _Read:
    import asyncio  # noqa: PLC0415 - not for files

    from remuda.control.connect import connect_cluster  # noqa: PLC0415
    from remuda.rightsize.observe.cluster import collect, namespace_names  # noqa: PLC0415

    progress("the cluster")
    namespaces = () if any(map(is_pattern, selection.namespaces)) else selection.namespaces

    async def read() -> _Read:
        async with connect_cluster(selection.context) as client:
            snapshot = await collect(client, now, namespaces=namespaces)
            # Only for who asks for one that is not there, and may be told which is.
            there = [] if set(namespaces) <= set(snapshot.namespaces) else await namespace_names(client)
            return snapshot, there, ()

    return asyncio.run(read())


def _samples(files: Iterable[str]) -> list[tuple[str, WorkloadId, Pod]]:
    """The samples of files, each with the name of its file; what is wrong with any of them is reported at once."""
    problems = []
    found: dict[WorkloadId, str] = {}
    made = []
    for file in _once(files):
        try:
            text, name = read_input(file, MOST_BYTES)
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
    seen: Observed,
    snapshot: Snapshot,
    selection: Selection,
    now: Second,
    progress: Progress,
    strategy: Strategy | None,
) -> None:
    """Use as Prometheus knows it, batch by batch, so that samples are held only until they are summed up."""
    from remuda.prometheus.client import connect  # noqa: PLC0415 - not for files
    from remuda.rightsize.observe.history.reading import read_history  # noqa: PLC0415

    async with connect(selection.prometheus) as prometheus:
        seen.usage = f"prometheus {prometheus.url}"
        unknown: list[Unknown] = []
        async for batch in read_history(
            prometheus,
            snapshot,
            history_s=selection.history_s,
            step_s=STEP_S,
            now=now,
            progress=progress,
            unknown=unknown,
            only={item.id for item in seen.snapshot.workloads},
        ):
            made = summarize(
                batch.columns,
                seen.usage,
                since=now - selection.history_s,
                now=now,
                anomalies=batch.anomalies,
                partial=batch.partial,
                strategy=strategy,
            )
            seen.evidence.update(zip(batch.who, made, strict=True))
    seen.snapshot = msgspec.structs.replace(seen.snapshot, unknown=(*seen.snapshot.unknown, *unknown))


def _count(
    seen: Observed,
    selection: Selection,
    pods: list[tuple[str, WorkloadId, Pod]],
    now: Second,
    strategy: Strategy | None,
) -> None:
    """Use as files say it, within the history alone."""
    since = now - selection.history_s
    seen.usage = f"samples {', '.join(dict.fromkeys(file for file, _, _ in pods))}"
    known = {item.id: item for item in seen.snapshot.workloads}
    older: Counter[str] = Counter()
    unknown = []
    for file in dict.fromkeys(file for file, _, _ in pods):
        cuts = {who: cut(pod, since, now) for of, who, pod in pods if of == file and who in known}
        older[file] = sum(within.older for within in cuts.values())
        containers = [(who, name) for who, within in cuts.items() for name in within.pod]
        made = summarize(
            columns_of(
                [within.pod for within in cuts.values()], [len(known[who].containers) for who in cuts]
            ),
            f"samples {file}",
            since=since,
            now=now,
            anomalies=[cuts[who].future.get(name, ()) for who, name in containers],
            strategy=strategy,
        )
        for (who, name), each in zip(containers, made, strict=True):
            seen.evidence[who, name] = each
            if each.anomalies and not (each.cpu_samples or each.memory_samples):
                unknown.append(Unknown(f"use of {name} of {who}", "; ".join(each.anomalies)))
    begin = write_instant(since * SECOND)
    seen.notes += tuple(
        f"{file}: {count:,} samples before {begin}, when the history begins, were left out"
        for file, count in older.items()
        if count
    )
    seen.snapshot = msgspec.structs.replace(seen.snapshot, unknown=(*seen.snapshot.unknown, *unknown))


def _believe(seen: Observed) -> None:
    """What the Vertical Pod Autoscalers of the cluster say, where nobody else is asked."""
    seen.usage = ADVISED
    for advisor in seen.snapshot.advisors:
        for container, estimate in advisor.estimates.items():
            origin = f"vpa {advisor.target.namespace}/{advisor.name}"
            seen.evidence[advisor.target, container] = Evidence(origin, estimate)
    if not seen.evidence and seen.snapshot.workloads:
        raise BadInput(
            "nothing says what workloads use: give --prometheus URL or --usage FILE, "
            "or let Vertical Pod Autoscalers recommend (there is none with a recommendation)"
        )
