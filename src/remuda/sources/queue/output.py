"""
The files a job leaves behind: of each attempt its output and its result.

The shim writes them, so they outlive both the machine and this process.
"""

import contextlib
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from remuda.errors import BadInput, NotFound
from remuda.model.jobs import Attempt, Finished, Job, Run
from remuda.model.times import Instant

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


#: in a data directory, what it is called in a queue that several hosts share
HOST_FILE = "queue-host"


def known_host(data_dir: Path) -> str:
    """What a data directory is called in a queue that hosts share; nothing when it is in none."""
    try:
        found = msgspec.json.decode((data_dir / HOST_FILE).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return found.get("host", "")


class JobFiles:
    """
    Knows where things are under `<data>/jobs`.

    `host` is this one's name in a queue that several share, and `borrow` has copies of what others of them have.
    """

    def __init__(self, root: Path, host: str = "") -> None:
        self.root, self.host = root, host
        self.borrow: Callable[[Run, Instant], Awaitable[bytes | None]] | None = None

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

    def output_size(self, run: Run) -> int:
        """How many bytes there are of an attempt's output; none when there is no file."""
        try:
            return Path(f"{self.stem(run)}.log").stat().st_size
        except OSError:
            return 0

    def read(self, run: Run, offset: int = 0, most: int = _CHUNK) -> bytes:
        """A piece of an attempt's output; nothing when there is none (yet)."""
        try:
            with Path(f"{self.stem(run)}.log").open("rb") as file:
                file.seek(offset)
                return file.read(most)
        except OSError:
            return b""


def written(files: JobFiles, job: Job, attempt: str | None) -> AsyncIterator[bytes]:
    """The output of all attempts so far, or of one; `NotFound` at once when there is no such attempt."""
    there = [known for known in job.attempts if attempt in (None, str(known.number))]
    if attempt is not None and not there:
        raise NotFound(f"job {job.id} has no try {attempt}: it has had {len(job.attempts)}")
    return _all_pieces(files, job, there)


async def _all_pieces(files: JobFiles, job: Job, attempts: Sequence[Attempt]) -> AsyncIterator[bytes]:
    for attempt in attempts:
        run, offset = job.run(attempt), 0
        if _host_elsewhere(files, attempt):
            yield await _borrowed(files, run, attempt)
            continue
        while piece := files.read(run, offset):
            offset += len(piece)
            yield piece
        if loss := _loss(files, run, attempt):
            yield loss


def _host_elsewhere(files: JobFiles, attempt: Attempt) -> str:
    """The other host of a shared queue that has an attempt's output; nothing when it is here."""
    host, is_host, _ = attempt.machine.partition("/")
    return host if is_host and host != files.host else ""


async def _borrowed(files: JobFiles, run: Run, attempt: Attempt) -> bytes:
    """A copy of output that another host has, or a line that says where it is."""
    host, _, machine = attempt.machine.partition("/")
    where = f"on host {host} ({machine})"
    if attempt.finished_at is None:
        return (
            f"[remuda: try {attempt.number} runs {where}, and its output is here when it has ended:"
            f" follow it there with remuda jobs logs {run.job} --follow]\n"
        ).encode()
    if not attempt.output_bytes and attempt.output_bytes is not None:
        return b""
    copy = await files.borrow(run, attempt.finished_at) if files.borrow is not None else None
    if copy is not None:
        return copy
    return (
        f"[remuda: try {attempt.number} ran {where}, which has its output, and there is no copy of it here:"
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
            if host := _host_elsewhere(files, known[number]):
                # The same whenever it is asked: who was cut off goes on by the number of bytes.
                if noted < number:
                    noted = number
                    yield f"[remuda: try {number} is on host {host}, its output is here when it has ended]\n".encode()
                if not ended:
                    break
                yield await _borrowed(files, job.run(known[number]), known[number])
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
