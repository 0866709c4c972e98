"""
`python -m tests.quick`: the tests that are not slow, shared out to as many processes as there are cores; `make quick`.

One pytest imports and collects, then it forks: what is imported is imported once, and nothing is said between the processes.
Each takes the next file when it is through with one, the largest first, so that all end at about the same time. That takes
half the time of a pytest that shares tests out, which imports every file in every process and reports every test.
Files of which every test is slow are not imported at all.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
#: how many processes
CORES = int(os.environ.get("JOBS", "0")) or len(os.sched_getaffinity(0))
#: of exit codes of pytest: all passed, and nothing was chosen
FINE = (0, 5)
#: files in memory, where one need not wait for a disk; some containers have but little of it
MEMORY = Path("/dev/shm")
ROOM_BYTES = 1 << 30
_ALL_SLOW = re.compile(r"^pytestmark = (?:\[\s*)?pytest\.mark\.slow\b", re.MULTILINE)
_NUMBER_BYTES = 2


def is_all_slow(text: str) -> bool:
    """Whether a file says of all its tests that they are slow."""
    return _ALL_SLOW.search(text) is not None


class Queue:
    """Numbers that several processes take, each number one of them: what is in a pipe is read once."""

    def __init__(self, count: int) -> None:
        self._taking, giving = os.pipe()
        with os.fdopen(giving, "wb") as filled:
            filled.writelines(number.to_bytes(_NUMBER_BYTES, "big") for number in range(count))

    def __iter__(self) -> Iterator[int]:
        while taken := os.read(self._taking, _NUMBER_BYTES):
            yield int.from_bytes(taken, "big")


def in_succession(
    queue: Iterable[int], units: Sequence[Sequence[pytest.Item]]
) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """The tests of the units that are taken, each with the one after it: what both use stays."""
    last = None
    for number in queue:
        for item in units[number]:
            if last is not None:
                yield last, item
            last = item
    if last is not None:
        yield last, None


def units(items: Iterable[pytest.Item]) -> list[list[pytest.Item]]:
    """The tests of each file, those of the largest first."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    return sorted(files.values(), key=lambda tests: -tests[0].path.stat().st_size)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in several processes; each goes on to report on its own."""
    if not session.items or session.testsfailed or session.config.option.collectonly:
        return None
    shared = units(session.items)
    queue = Queue(len(shared))
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # made anew by whoever asks first
    capture = session.config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    sys.stdout.flush()
    forks: list[int] = []
    for _ in range(CORES - 1):
        if not (pid := os.fork()):
            forks = []
            break
        forks.append(pid)
    capture.start_global_capturing()
    try:
        for item, following in in_succession(queue, shared):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
    finally:
        list(queue)  # nothing is left for the others
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in forks]
    if any(codes):
        session.shouldfail = f"other processes ended with {', '.join(map(str, codes))}"
        raise session.Failed(session.shouldfail)
    return True


@contextmanager
def scratch(memory: Path = MEMORY, room_bytes: int = ROOM_BYTES) -> Iterator[Path]:
    """A directory for the files of tests, in memory where there is room; nothing of it is left afterwards."""
    has_room = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= room_bytes
    with tempfile.TemporaryDirectory(prefix="rq-", dir=memory if has_room else None) as made:
        yield Path(made)


def main(arguments: Sequence[str]) -> int:
    """Run the files that have quick tests; the code of pytest is ours."""
    files = [
        str(path.relative_to(TESTS.parent))
        for path in sorted(TESTS.rglob("test_*.py"))
        if not is_all_slow(path.read_text(encoding="utf-8"))
    ]
    with scratch() as place:
        # a short path: those of sockets must be
        options = [
            "-m",
            "not slow",
            "-x",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-p",
            "tests.quick",
            f"--basetemp={place}/t",
        ]
        # no part of the whole is reached by a process alone
        options += ["-o", "console_output_style=classic"]
        # None of them talks to a server of the world: reading all its authorities takes longer than most tests.
        own = {"SSL_CERT_FILE": os.devnull, "TMPDIR": str(place)}
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *arguments, *files],
            cwd=TESTS.parent,
            env={"HYPOTHESIS_PROFILE": "quick", **os.environ, **own},
            check=False,
        )
    return 0 if ended.returncode in FINE else ended.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
