"""
`python -m tests.quick`: the tests that are not slow, shared out to as many processes as there are cores; `make quick`.

Each process is a pytest of its own with its own files, so that a file is imported once and nothing is said between them: that
takes half the time of a pytest that shares tests out, which imports every file in every process and reports every test.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

TESTS = Path(__file__).parent
#: how many processes
CORES = int(os.environ.get("JOBS", "0")) or len(os.sched_getaffinity(0))
#: of exit codes of pytest: all passed, and nothing was chosen
FINE = (0, 5)


def parts(sizes: dict[str, int], count: int) -> list[list[str]]:
    """Share out files so that each part has about as much to read: the largest first, each to who has least."""
    made: list[list[str]] = [[] for _ in range(count)]
    loads = [0] * count
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        least = loads.index(min(loads))
        made[least].append(name)
        loads[least] += sizes[name]
    return [sorted(part) for part in made if part]


def main(arguments: Sequence[str]) -> int:
    """Run all parts at once and end with the first that fails; its code is ours."""
    sizes = {str(path.relative_to(TESTS.parent)): path.stat().st_size for path in TESTS.rglob("test_*.py")}
    command = [sys.executable, "-m", "pytest", "-m", "not slow", "-x", "-p", "no:cacheprovider", *arguments]
    environ = {"HYPOTHESIS_PROFILE": "quick", **os.environ}
    running = [
        subprocess.Popen([*command, *part], cwd=TESTS.parent, env=environ) for part in parts(sizes, CORES)
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
