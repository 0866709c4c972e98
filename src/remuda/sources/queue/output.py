"""
The files a job leaves behind: of each attempt its output and its result.

The shim writes them, so they outlive both the machine and this process.
"""

import contextlib
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import msgspec

from remuda.errors import BadInput, NotFound
from remuda.model.jobs import Attempt, Finished, Job, Run

#: of each attempt's output so much is kept from the start; the shim keeps a tail beyond it
OUTPUT_LIMIT = 16 * 1024 * 1024
_CHUNK = 256 * 1024
#: in the detail of an attempt, the shim's word for output that it could not write
NOT_KEPT = "output was not kept"
#: made once: results are read by several threads, and msgspec looks at a type for the first time in one thread only
_finished = msgspec.json.Decoder(Finished).decode
_NAME = re.compile(
    r"(?:(?P<store>s[0-9a-f]+)-)?(?P<job>[0-9]{1,18})-(?P<attempt>[0-9]{1,18})\.(?:log|json|json\.part)"
)


class JobFiles:
    """Knows where things are under `<data>/jobs`. `host` is this one's name in a queue that several share."""

    def __init__(self, root: Path, host: str = "") -> None:
        self.root, self.host = root, host

    def prepare(self) -> None:
        """Make the place for all of them, if it is not there."""
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as problem:
            raise BadInput(f"jobs have no place for their output: {problem}") from problem

    def stem(self, run: Run) -> str:
        """What the paths of an attempt's files begin with; `.log` is its output, `.json` its result."""
        store = f"{run.store}-" if run.store else ""
        return f"{self.root}/{store}{run.job}-{run.attempt}"

    def result(self, run: Run) -> Finished | None:
        """What the shim wrote when the attempt ended, if it did."""
        try:
            data = Path(f"{self.stem(run)}.json").read_bytes()
            found = _finished(data)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        return found if found.run == run else None

    def forget(self, run: Run) -> None:
        """Remove everything of an attempt."""
        for ending in (".log", ".json", ".json.part"):
            Path(self.stem(run) + ending).unlink(missing_ok=True)

    def sizes(self) -> dict[Run, int]:
        """By attempt, the bytes of everything that is there of it; other files are left out."""
        found: dict[Run, int] = {}
        try:
            with os.scandir(self.root) as entries:
                for entry in entries:
                    if name := _NAME.fullmatch(entry.name):
                        run = Run(name["store"] or "", int(name["job"]), int(name["attempt"]))
                        # It may be gone by now.
                        with contextlib.suppress(OSError):
                            size = entry.stat(follow_symlinks=False).st_size
                            found[run] = found.get(run, 0) + size
        except OSError:
            return {}  # someone deleted the place: it is made again for the next output
        return found

    def ages(self) -> dict[Run, int]:
        """By attempt, when something of it was last written, in milliseconds since 1970."""
        found: dict[Run, int] = {}
        with contextlib.suppress(OSError), os.scandir(self.root) as entries:
            for entry in entries:
                if name := _NAME.fullmatch(entry.name):
                    run = Run(name["store"] or "", int(name["job"]), int(name["attempt"]))
                    with contextlib.suppress(OSError):
                        written = entry.stat(follow_symlinks=False).st_mtime_ns // 1_000_000
                        found[run] = max(found.get(run, 0), written)
        return found

    def has_output(self, run: Run) -> bool:
        """Whether there is a file of an attempt's output."""
        return Path(f"{self.stem(run)}.log").exists()

    def read(self, run: Run, offset: int = 0, most: int = _CHUNK) -> bytes:
        """A piece of an attempt's output; nothing when there is none (yet)."""
        try:
            with Path(f"{self.stem(run)}.log").open("rb") as file:
                file.seek(offset)
                return file.read(most)
        except OSError:
            return b""


def written(files: JobFiles, job: Job, attempt: str | None) -> Iterator[bytes]:
    """The output of all attempts so far, or of one; `NotFound` at once when there is no such attempt."""
    there = [known for known in job.attempts if attempt in (None, str(known.number))]
    if attempt is not None and not there:
        raise NotFound(f"job {job.id} has no try {attempt}: it has had {len(job.attempts)}")
    return (piece for known in there for piece in _pieces(files, job.run(known), known))


def _pieces(files: JobFiles, run: Run, attempt: Attempt) -> Iterator[bytes]:
    if note := _elsewhere(files, run, attempt):
        yield note
        return
    offset = 0
    while piece := files.read(run, offset):
        offset += len(piece)
        yield piece
    if loss := _loss(files, run, attempt):
        yield loss


def _elsewhere(files: JobFiles, run: Run, attempt: Attempt) -> bytes:
    """A line for output that another host of a shared queue has; nothing when it is here."""
    host, is_host, machine = attempt.machine.partition("/")
    if not is_host or host == files.host:
        return b""
    does = "runs" if attempt.finished_at is None else "ran"
    return (
        f"[remuda: try {attempt.number} {does} on host {host} ({machine}), which has its output:"
        f" ask there with remuda jobs logs {run.job}]\n"
    ).encode()


def _loss(files: JobFiles, run: Run, attempt: Attempt) -> bytes:
    """A line for output that the shim could not keep, or that somebody deleted; nothing when all of it is there."""
    notes = (attempt.detail or "").split("; ")
    lost = [note for note in notes if NOT_KEPT in note]
    if not lost and attempt.output_bytes and not files.has_output(run):
        lost = ["its output was deleted"]
    return f"[remuda: try {attempt.number}: {'; '.join(lost)}]\n".encode() if lost else b""


async def follow(
    files: JobFiles, look: Callable[[], Awaitable[Job | None]], wait: Callable[[], Awaitable[None]]
) -> AsyncIterator[bytes]:
    """
    The output of a job as it comes, attempt after attempt, until the job has ended.

    `look` gives the job as it is now, `wait` returns when it is worth looking again.
    """
    number, offset, noted = 1, 0, 0
    while True:
        job = await look()
        if job is None:
            return
        known = {attempt.number: attempt for attempt in job.attempts}
        while number in known:
            ended = known[number].finished_at is not None
            if note := _elsewhere(files, job.run(known[number]), known[number]):
                if noted < number:
                    noted = number
                    yield note
                if not ended:
                    break
                number += 1
                continue
            piece = files.read(job.run(known[number]), offset)
            offset += len(piece)
            if piece:
                yield piece
            elif ended:
                if loss := _loss(files, job.run(known[number]), known[number]):
                    yield loss
                number, offset = number + 1, 0
            else:
                break
        if job.state.is_end and number > len(known):
            return
        await wait()
