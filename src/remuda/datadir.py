"""
The data directory: where it is, what is in it, and who holds it.

    remuda.db       the store: ledger and job queue
    control.sock    the control API
    ports.json      the ports chosen for health and metrics
    lock            held by the one process that may write here; its pid is inside
    machines/       one directory per process machine
    jobs/           the output of jobs
"""

import fcntl
import os
import sys
from pathlib import Path

from remuda.errors import BadInput

VARIABLE = "REMUDA_DATA_DIR"


def default_data_dir(environ: dict[str, str]) -> Path:
    """`REMUDA_DATA_DIR`, else the platform's place for a program's own data."""
    if given := environ.get(VARIABLE):
        return Path(given).absolute()
    home = Path(environ.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "remuda"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "remuda"


class DataDir:
    """A data directory held by this process until it ends, however it ends."""

    def __init__(self, path: Path) -> None:
        """Make and hold it; `BadInput` names the process that holds it already."""
        self.path = path.absolute()
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(
                self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError as error:
            raise BadInput(
                f"the data directory {self.path} cannot be used: {error.strerror}; choose another with --data-dir"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._lock, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._lock)
            raise BadInput(
                f"the data directory {self.path} is in use by another remuda (pid {holder}); "
                "stop that one, or choose another with --data-dir"
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another process have it."""
        os.close(self._lock)
