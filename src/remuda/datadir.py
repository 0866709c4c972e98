"""
The data directory: where it is, what is in it, and who holds it.

    remuda.db       the store: ledger and job queue
    control.sock    the control API
    ports.json      the ports chosen for health and metrics
    lock            held by the one process that may write here; its pid is inside
    machines/       one directory per process machine
    jobs/           the output of jobs
    ballast         room kept for the moment the disk is full
"""

import fcntl
import os
import stat
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


def refuse_shared(path: Path, found: os.stat_result, uid: int) -> None:
    """
    `BadInput` when somebody else may write here: what the store says is done, with our rights.

    A volume of a cluster belongs to root and is lent to our group; that is as good as our own.
    """
    is_lent = found.st_uid == 0 != uid
    if found.st_uid != uid and not is_lent:
        raise BadInput(
            f"the data directory {path} belongs to user {found.st_uid}, and we are user {uid}: who owns it could have us"
            f" run anything; make it ours with chown {uid} {path}, or choose another with --data-dir"
        )
    others = stat.S_IWOTH if is_lent else stat.S_IWGRP | stat.S_IWOTH
    if found.st_mode & others:
        raise BadInput(
            f"the data directory {path} can be written by others (mode {stat.S_IMODE(found.st_mode):04o}): who does could"
            f" have us run anything; take that away with chmod go-w {path}, or choose another with --data-dir"
        )


#: the store with the logs that come with it, and what is written beside it
_OURS = ("remuda.db", "remuda.db-wal", "remuda.db-shm", "lock", "jobs", "machines", "web-token")


def refuse_links(path: Path) -> None:
    """`BadInput` when something of ours is a link: to another store, or to where somebody else may write."""
    for name in _OURS:
        if (path / name).is_symlink():
            raise BadInput(
                f"{path / name} is a link, and links are not followed in a data directory; move what it leads to there,"
                " or choose the directory where it is with --data-dir"
            )


class DataDir:
    """A data directory held by this process until it ends, however it ends."""

    def __init__(self, path: Path) -> None:
        """Make and hold it; `BadInput` names the process that holds it already."""
        self.path = path.absolute()
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            refuse_shared(self.path, self.path.stat(), os.geteuid())
            refuse_links(self.path)
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
