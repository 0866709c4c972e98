"""
Ends a cluster's processes and removes its directory when the process that started them is gone, however it went.

Run as a program beside each cluster. It prints a process group and a directory; servers join the group and live in the
directory. When its standard input ends, which the system sees to even after kill -9 of the starter, the group is killed
and the directory removed. PR_SET_PDEATHSIG would be shorter, but it is Linux's alone, removes no directory, and fires
already when the *thread* that started a server ends.
"""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

DIRECTORY_PREFIX = "remuda-cluster-"
REMOVE_S = 10.0  # a killed process may still hold its last write for a moment


def main() -> None:
    """Keep one group of processes and one directory."""
    anchor = os.fork()
    if anchor == 0:
        # gives the group its number, and keeps it from being reused, as a zombie too, until it is waited for
        os.setpgid(0, 0)
        sys.stdin.read()
        os._exit(0)
    os.setpgid(anchor, anchor)  # whoever of the two comes first: the group is there before it is told
    directory = tempfile.mkdtemp(prefix=DIRECTORY_PREFIX)
    sys.stdout.write(f"{anchor} {directory}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os.killpg(anchor, signal.SIGKILL)
    deadline = time.monotonic() + REMOVE_S
    while Path(directory).is_dir() and time.monotonic() < deadline:
        shutil.rmtree(directory, ignore_errors=True)
        time.sleep(0.01)
    with contextlib.suppress(OSError):  # for one that was being started and joined the group after the first
        os.killpg(anchor, signal.SIGKILL)
    os.waitpid(anchor, 0)


if __name__ == "__main__":
    main()
