"""
`python -m tests.quick`: the tests that are not slow, shared out to as many processes as there are cores; `make quick`.

Each process is a pytest of its own with its own files, so that a file is imported once and nothing is said between them: that
takes half the time of a pytest that shares tests out, which imports every file in every process and reports every test.
Files of which every test is slow are not imported at all.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

TESTS = Path(__file__).parent
#: how many processes
CORES = int(os.environ.get("JOBS", "0")) or len(os.sched_getaffinity(0))
#: of exit codes of pytest: all passed, and nothing was chosen
FINE = (0, 5)
#: files in memory, where one need not wait for a disk; some containers have but little of it
MEMORY = Path("/dev/shm")
ROOM_BYTES = 1 << 30
_ALL_SLOW = re.compile(r"^pytestmark = (?:\[\s*)?pytest\.mark\.slow\b", re.MULTILINE)


def is_all_slow(text: str) -> bool:
    """Whether a file says of all its tests that they are slow."""
    return _ALL_SLOW.search(text) is not None


def parts(sizes: dict[str, int], count: int) -> list[list[str]]:
    """Share out files so that each part has about as much to read: the largest first, each to who has least."""
    made: list[list[str]] = [[] for _ in range(count)]
    loads = [0] * count
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        least = loads.index(min(loads))
        made[least].append(name)
        loads[least] += sizes[name]
    return [sorted(part) for part in made if part]


@contextmanager
def scratch(memory: Path = MEMORY, room_bytes: int = ROOM_BYTES) -> Iterator[Path]:
    """A directory for the files of tests, in memory where there is room; nothing of it is left afterwards."""
    has_room = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= room_bytes
    with tempfile.TemporaryDirectory(prefix="rq-", dir=memory if has_room else None) as made:
        yield Path(made)


def main(arguments: Sequence[str]) -> int:
    """Run all parts at once and end with the first that fails; its code is ours."""
    texts = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
    sizes = {
        str(path.relative_to(TESTS.parent)): len(text)
        for path, text in texts.items()
        if not is_all_slow(text)
    }
    with scratch() as place:
        return _run(parts(sizes, CORES), place, arguments)


def _run(shared: Sequence[Sequence[str]], place: Path, arguments: Sequence[str]) -> int:
    command = [sys.executable, "-m", "pytest", "-m", "not slow", "-x", "-p", "no:cacheprovider", *arguments]
    # None of them talks to a server of the world: reading all its authorities takes longer than most tests.
    own = {"SSL_CERT_FILE": os.devnull, "TMPDIR": str(place)}
    environ = {"HYPOTHESIS_PROFILE": "quick", **os.environ, **own}
    running = [
        # a short path: those of sockets must be
        subprocess.Popen([*command, f"--basetemp={place}/{number}", *part], cwd=TESTS.parent, env=environ)
        for number, part in enumerate(shared)
    ]
    try:
        while running:
            pid, status = os.wait()
            (ended,) = (one for one in running if one.pid == pid)
            ended.returncode = os.waitstatus_to_exitcode(status)
            running.remove(ended)
            if ended.returncode not in FINE:
                return ended.returncode
        return 0
    finally:
        for one in running:
            one.terminate()
            one.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
