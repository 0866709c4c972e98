"""Which processes descend from others."""

from collections.abc import Collection
from pathlib import Path


def descends(pid: int, above: Collection[int | None]) -> bool:
    """True when a process has one of some above it; also when it is gone, because then nobody can tell any more."""
    while pid > 1:
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            return True
        pid = int(stat.rpartition(b")")[2].split()[1])
        if pid in above:
            return True
    return False
