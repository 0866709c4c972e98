"""Secrets of jobs: read from their files when a job starts, and kept nowhere."""

import os
import stat

from remuda.errors import BadInput

_LARGEST_SECRET = 64 * 1024


def read_secrets(files: dict[str, str]) -> dict[str, str]:
    """The value of each, from its file; `BadInput` says which cannot be had."""
    return {name: _read_secret(name, path) for name, path in files.items()}


def _read_secret(name: str, path: str) -> str:
    try:
        # Not blocking: a pipe that nobody writes to must not stop everything.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(_LARGEST_SECRET + 1) if is_file else b""
    except OSError as error:
        raise BadInput(f"secret {name} cannot be read from {path}: {error.strerror}") from None
    if not is_file:
        raise BadInput(f"secret {name} cannot be read from {path}: it is no regular file")
    if len(data) > _LARGEST_SECRET:
        raise BadInput(f"secret {name} in {path} is larger than {_LARGEST_SECRET // 1024} KiB")
    if b"\0" in data:
        raise BadInput(f"secret {name} in {path} has a NUL byte, which no environment variable can hold")
    try:
        return data.decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise BadInput(f"secret {name} in {path} is not UTF-8 text") from None
