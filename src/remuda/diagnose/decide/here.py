"""What can be wrong with a data directory and the process that works with it, causes before what they cause."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from remuda.diagnose.decide.server import judge_server
from remuda.diagnose.decide.verdicts import Seen, counted, listed
from remuda.diagnose.here import Here, SeenLoop
from remuda.model.amount_texts import MIB
from remuda.model.checks import CheckResult
from remuda.model.disks import FEW_FILES, LITTLE_ROOM
from remuda.model.jobs import QueueHost
from remuda.model.times import DAY, HOUR, MINUTE, SECOND, write_duration, write_instant

Check: TypeAlias = Callable[[Here], CheckResult]

#: what clocks may differ by
_SKEW = MINUTE
#: a clock that was set back longer ago than this is history
_RECENT = DAY
#: a loop that has not succeeded in so many of its intervals, and so many milliseconds, is slow
_SLOW_INTERVALS = 10
_SLOW = 10 * SECOND
_START = "remuda up FILE…"


def judge_here(here: Here) -> Iterator[CheckResult]:
    """What is wrong, causes first; of a directory that is not there yet only what keeps Remuda from starting."""
    if not here.is_there:
        yield process(here)
        yield ports(here)
        return
    for check in CHECKS:
        yield check(here)
        if check is store:
            yield from queue(here)


def judge_process(here: Here) -> Iterator[CheckResult]:
    """What is wrong with a process that was asked over its address alone: its directory may be on another host."""
    return (check(here) for check in (process, reload, loops))


def directory(here: Here) -> CheckResult:
    """Whether the data directory is ours alone, and holds what it should."""
    seen = Seen("data-directory")
    if here.unfit:
        seen.add(here.unfit)
        return seen.problem("the data directory is not fit to be one")
    if here.strangers:
        return seen.ok(
            "the data directory is ours alone",
            (f"not of Remuda, and left alone: {listed(here.strangers)}",),
        )
    return seen.ok("the data directory is ours alone", (here.data_dir,))


def disk(here: Here) -> CheckResult:
    """Whether there is room to write."""
    seen = Seen("disk")
    if here.free_bytes is None:
        return seen.unknown("how much room is left could not be found out")
    free = f"{_size(here.free_bytes)} free"
    if here.free_bytes < LITTLE_ROOM:
        seen.add(
            f"{free} below {here.data_dir}",
            "free some space there, or move the data directory with --data-dir",
            "keep less: remuda up --keep-size, --keep-output",
        )
    if here.free_files is not None and here.free_files < FEW_FILES:
        seen.add(
            f"{here.free_files} more files can be made", "remove files: the file system has no more inodes"
        )
    if not here.has_ballast and here.answering == "answers":
        seen.add(
            "the room that is kept for a full disk (the file ballast) is gone: it was needed, or there is too little",
            "free some space: it is laid out again within a minute",
        )
    if seen:
        return seen.problem("the disk is full, or nearly so")
    return seen.ok(f"there is room: {free}")


def store(here: Here) -> CheckResult:
    """Whether the store can be read, is whole and of this version, and how much of its quota it takes."""
    seen = Seen("store")
    found = here.store
    if found is None and here.answering in {"answers", "silent", "died"}:
        seen.add(
            f"there is no store in {here.data_dir}, and a remuda runs or ran with it: somebody removed it",
            "put it back from a backup, or start Remuda again with a new one: `remuda store foreign` then lists what is left",
        )
        return seen.problem("the store is gone")
    if found is None:
        return seen.ok("there is no store yet: nothing has run with this data directory")
    if found.trouble:
        seen.add(found.trouble)
        return seen.problem("the store cannot be read")
    facts = [found.address or f"version {found.version}, {_size(found.bytes)}"]
    quota = here.process.keep_bytes if here.process and not found.address else 0
    if quota:
        facts[0] += f", {found.used_bytes * 100 // quota}% of --keep-size {_size(quota)}"
    if found.oldest_at is not None:
        kept = here.now - found.oldest_at
        facts.append(f"history since {write_instant(found.oldest_at)} ({_span(kept)})")
        wanted = here.process.keep_ms if here.process else 0
        if quota and found.used_bytes > quota * 9 // 10 and kept < wanted // 2:
            facts.append(
                f"history is given up before it is {_span(wanted)} old (--keep): --keep-size is full; raise it to keep more"
            )
    if found.server is not None:
        facts += judge_server(seen, found.server, has_seat=True)
        if seen:
            return seen.problem("the store answers, and something is wrong with its server")
    return seen.ok("the store answers" if found.address else "the store is whole", facts)


def queue(here: Here) -> Iterator[CheckResult]:
    """Whether the queue that hosts share answers, and all of them are there; nothing where the store has the jobs."""
    found, seen = here.queue, Seen("shared-queue")
    if found is None:
        return
    if found.trouble:
        seen.add(found.trouble)
        yield seen.problem("the shared queue cannot be read")
        return
    facts = [found.address]
    if found.server is not None:
        facts += judge_server(seen, found.server, has_seat=False)
    for each in found.hosts:
        facts.append(_host(each))
        if each.silent_ms > each.lease_ms and each.running:
            seen.add(
                f"host {each.host} ({each.holder}) has been silent for {_span(each.silent_ms)}, and"
                f" {counted(each.running, 'job')} of it were given to no other",
                "start Remuda there, or on another host of this queue: that one ends its lease",
            )
        if each.bound and (each.is_ended or each.silent_ms > each.lease_ms):
            seen.add(
                f"{counted(each.bound, 'job')} with secrets can run on host {each.host} alone, which is not there",
                "start Remuda there, or cancel them and hand them in at another host",
            )
    if seen:
        yield seen.problem("something is wrong with the shared queue")
        return
    alive = sum(not each.is_ended and each.silent_ms <= each.lease_ms for each in found.hosts)
    yield seen.ok(f"{counted(alive, 'host')} of the shared queue there", facts)


def clock(here: Here) -> CheckResult:
    """Whether this computer's clock agrees with what was recorded, and with the process that answers."""
    seen = Seen("clock")
    fix = "see that something keeps the clock right: timedatectl status, chronyc tracking"
    newest = here.store.newest_at if here.store else None
    if newest is not None and newest - here.now > _SKEW:
        seen.add(
            f"the newest record is of {write_instant(newest)}, {_span(newest - here.now)} ahead of this clock",
            fix,
            "what is recorded from now on stands before it: ages and --at are wrong until the clock has caught up",
        )
    if here.process and abs(here.process.ahead_ms) > _SKEW:
        way = "ahead of" if here.process.ahead_ms > 0 else "behind"
        seen.add(
            f"the clock of pid {here.process.pid} is {_span(abs(here.process.ahead_ms))} {way} this one", fix
        )
    jumps = here.store.set_back if here.store else ()
    for loop, before, after in jumps:
        if here.now - after < _RECENT:
            seen.add(
                f"the clock was set back by {_span(before - after)} at {write_instant(after)}, as loop {loop} recorded",
                fix,
            )
    if seen:
        return seen.problem("the clock cannot be relied on")
    if newest is None:
        return seen.ok("nothing is recorded that the clock could contradict")
    return seen.ok(
        "the clock agrees with what is recorded", (f"the newest record is of {write_instant(newest)}",)
    )


def process(here: Here) -> CheckResult:
    """Whether a Remuda runs here and answers."""
    seen = Seen("process")
    match here.answering:
        case "answers":
            return _answering(here, seen)
        case "silent":
            seen.add(
                here.silence,
                "look at its log; when it stays so, stop it and start it again: machines are kept",
            )
            if here.holder is not None:
                seen.add(f"pid {here.holder} holds {here.data_dir}")
            return seen.problem("remuda runs and does not answer")
        case "died":
            seen.add("its socket is still there, and nobody listens at it", f"start it again with {_START}")
            seen.add(
                f"the last lines of its log say why: where {_START} wrote them, or {here.data_dir}/remuda.log"
            )
            return seen.problem("remuda ended unexpectedly")
    if here.holder is not None:
        seen.add(
            f"pid {here.holder} holds {here.data_dir} and has no socket",
            "wait until it has started, or stop it",
        )
        return seen.problem("a process holds the data directory and cannot be asked")
    newest = here.store.newest_at if here.store else None
    if newest is None and here.store is not None and here.store.trouble:
        return seen.ok("no remuda runs", ("when it ran last stands in the store, which cannot be read",))
    if newest is None:
        return seen.ok(f"nothing has run with {here.data_dir} yet", (f"start it with {_START}",))
    return seen.ok(
        "no remuda runs; it ended in good order", (f"its last record is of {write_instant(newest)}",)
    )


def _answering(here: Here, seen: Seen) -> CheckResult:
    if here.process is None:
        return seen.unknown(
            "a remuda of an older version answers",
            ("it does not say which objects and options are in force",),
            ("start it again with this version",),
        )
    if here.process.version != here.version:
        seen.add(
            f"pid {here.process.pid} is version {here.process.version}, and this command is {here.version}",
            "start it again, so that what runs is what is installed; machines are kept",
        )
    for line in here.trouble:
        seen.add(line)
    if seen:
        return seen.problem("remuda answers, and something is wrong with it")
    return seen.ok(f"remuda {here.process.version} answers (pid {here.process.pid})")


def ports(here: Here) -> CheckResult:
    """Whether the dashboard and the pages for probes and Prometheus answer; before a start, whether their ports can be had."""
    seen = Seen("ports")
    if not here.ports:
        return seen.unknown("which ports it listens at is not known")
    runs = here.answering == "answers"
    for port in here.ports:
        if port.problem:
            fix = (
                "look at what it says there"
                if runs
                else f"start remuda up with {port.option} 0 for any free port"
            )
            seen.add(f"port {port.number} ({port.option}): {port.problem}", fix)
    numbers = ", ".join(str(port.number) for port in here.ports)
    if not seen:
        has_web = any(port.option == "--web-port" for port in here.ports)
        answering = "health, metrics and the dashboard" if has_web else "health and metrics"
        return seen.ok(f"{answering} answer at {numbers}" if runs else f"ports {numbers} are free")
    return seen.problem("a page is not well" if runs else "a port that remuda up takes is in use")


def reload(here: Here) -> CheckResult:
    """Whether the files that were read last are in force."""
    seen = Seen("reload")
    for line in here.refused_reload:
        seen.add(line, "fix the file, and see with remuda validate FILE; it is read again when it changes")
    if seen:
        return seen.problem("the last reload was refused, and the configuration from before it is in force")
    return seen.ok("no reload was refused")


def loops(here: Here) -> CheckResult:
    """Whether every loop decides."""
    seen = Seen("loops")
    if here.answering != "answers":
        for name in here.paused:
            seen.add(
                f"loop {name} was paused, and stays so at the next start",
                f"remuda loops resume {name}, once it runs",
            )
        return seen.problem("a loop is paused") if seen else seen.ok("no loop is paused")
    slow = max(_SLOW, round(_SLOW_INTERVALS * SECOND * (here.process.interval_s if here.process else 1.0)))
    for loop in here.loops:
        _judge_loop(seen, loop, here.now, slow)
    if seen:
        return seen.problem("not every loop decides")
    if not here.loops:
        return seen.ok("there is no loop: no object is one that remuda up runs")
    return seen.ok(f"{counted(len(here.loops), 'loop')} in order: {listed(loop.name for loop in here.loops)}")


def _judge_loop(seen: Seen, loop: SeenLoop, now: int, slow: int) -> None:
    match loop.phase:
        case "paused":
            seen.add(f"loop {loop.name} is paused and decides nothing", f"remuda loops resume {loop.name}")
        case "failing":
            seen.add(
                f"loop {loop.name} fails: {loop.error}", "put right what it says; it tries again by itself"
            )
        case "broken":
            seen.add(
                f"loop {loop.name} stays stopped: {loop.error}",
                "start Remuda again, and report this with a bundle",
            )
        case "starting" | "stopped":
            seen.add(f"loop {loop.name} is {loop.phase}", "ask again in a moment")
        case "running" if loop.last_success_at is not None and now - loop.last_success_at > slow:
            seen.add(
                f"loop {loop.name} is slow: its last cycle ended {_span(now - loop.last_success_at)} ago",
                "see how long cycles take: remuda_loop_cycle_seconds at /metrics",
            )


def foreign(here: Here) -> CheckResult:
    """Whether another store left machines or output here."""
    seen = Seen("foreign")
    if here.answering != "answers":
        return seen.unknown("what another store left is known only while remuda runs")
    if here.foreign_machines or here.foreign_attempts:
        seen.add(
            f"{counted(here.foreign_machines, 'machine')} and the output of {counted(here.foreign_attempts, 'attempt')}"
            " are of another store",
            "remuda store foreign lists them, and remuda store clean removes them",
        )
        return seen.problem("another store left something here")
    return seen.ok("another store left nothing here")


CHECKS: tuple[Check, ...] = (directory, disk, store, clock, process, ports, reload, loops, foreign)


def _host(each: QueueHost) -> str:
    how = "has left" if each.is_ended else f"wrote {each.silent_ms} ms ago, lease {_span(each.lease_ms)}"
    return f"{each.host} ({each.holder}): {how}, {counted(each.running, 'job')} running"


def _size(count: int) -> str:
    return f"{count / MIB:,.1f}Mi" if count < 10_240 * MIB else f"{count / MIB / 1024:,.1f}Gi"


def _span(ms: int) -> str:
    """A length of time in its two largest units."""
    unit = HOUR if ms >= DAY else MINUTE if ms >= HOUR else SECOND
    return write_duration(ms // unit * unit)
