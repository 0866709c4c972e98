"""Starting the shim of a machine, with a secret by which it proves who it is."""

import hashlib
import os
import secrets
import subprocess
import sys
from pathlib import Path

from remuda.machines.process import shim

_KEYS = "keys"
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


def start_shim(directory: Path) -> int:
    """
    Start the shim; it is told only where commands are, which language is spoken, and its secret.

    The secret is in no file: beside the machine only its digest is kept, so that whoever reads it cannot pose as the
    shim. There may be several, because a shim that an earlier run started may yet be the faster one.
    """
    environment = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
    secret = secrets.token_hex(32)
    keys = os.open(directory / _KEYS, _APPEND, 0o600)
    try:
        os.write(keys, key_of(secret) + b"\n")
    finally:
        os.close(keys)
    hears, says = os.pipe()
    console = os.open(directory / "console.log", _APPEND, 0o600)
    try:
        os.write(says, secret.encode())
        os.close(says)
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", shim.__file__, str(directory)],
            stdin=hears,
            stdout=console,
            stderr=console,
            start_new_session=True,
            close_fds=True,
            cwd="/",
            env=environment,
        )
    finally:
        os.close(console)
        os.close(hears)
    process.returncode = 0  # it outlives this object, and is waited for when its descriptor says it ended
    return process.pid


def key_of(secret: str) -> bytes:
    """The digest of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest().encode()


def read_keys(directory: Path) -> tuple[bytes, ...]:
    """The digests of the secrets that shims of a machine were given."""
    try:
        return tuple((directory / _KEYS).read_bytes().split())
    except OSError:
        return ()
