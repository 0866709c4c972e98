"""
A base for images, made from Debian's packages, as a tar archive in the cache; an image is built on it without a daemon.

The tools are those on the PATH, or Debian's, which are installed where that is allowed. All of it needs root.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tests.servers.build import Progress, locked
from tests.servers.found import ServersError, Surroundings
from tests.servers.packages import install

NAME = "image-base"
SUITE = "bookworm"
#: each command with the package that has it
TOOLS = {"mmdebstrap": "mmdebstrap", "buildah": "buildah", "unshare": "util-linux"}
#: as an image of Python has them: `python`, `venv` and pip
PACKAGES = ("ca-certificates", "python-is-python3", "python3-pip", "python3-venv")
MAKE_S = 1800.0


def missing_tools(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The commands that are not on the PATH."""
    return [name for name in TOOLS if shutil.which(name, path=environ.get("PATH")) is None]


def find_base(around: Surroundings) -> Path | None:
    """The base as a tar archive, or None where it or a tool is missing."""
    path = _path(around)
    return path if path.is_file() and not missing_tools() and os.geteuid() == 0 else None


def get_base(around: Surroundings, progress: Progress) -> Path:
    """Find the base, or install what makes it and make it. Raises ServersError where that cannot be."""
    if missing := missing_tools():
        install(", ".join(missing), [TOOLS[name] for name in missing], progress)
    path = _path(around)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        # a lock and scratch of its own: what builds servers holds its lock for long, and clears away their scratch
        with (
            locked(around.cache / ".base.lock", progress),
            tempfile.TemporaryDirectory(dir=around.cache, prefix=".base-") as scratch,
        ):
            if not path.is_file():  # whoever held the lock before may have made it
                _make(Path(scratch) / "base.tar", progress).rename(path)
    return path


def _path(around: Surroundings) -> Path:
    return around.cache / f"{NAME}-{SUITE}" / "base.tar"


def _make(path: Path, progress: Progress) -> Path:
    doing = f"making a base of Debian {SUITE}"
    began = time.monotonic()
    progress(doing, 0.0)
    command = [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={','.join(PACKAGES)}",
        SUITE,
        str(path),
    ]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=MAKE_S, check=False)
    except subprocess.TimeoutExpired:
        raise ServersError(f"{doing}: not done after {MAKE_S:.0f} s") from None
    if ran.returncode != 0:
        output = "\n".join(f"  {line}" for line in ran.stderr.splitlines()[-25:])
        raise ServersError(f"{doing}: mmdebstrap exited with {ran.returncode}\n{output}")
    progress(f"done {doing}", time.monotonic() - began)
    return path
