"""Programs that Debian packages have, installed where that is allowed: too large, or too many, to be built."""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence

from tests.servers.build import Progress
from tests.servers.found import ServersError

INSTALL_S = 1800.0


def install(
    name: str, packages: Sequence[str], progress: Progress, environ: Mapping[str, str] = os.environ
) -> None:
    """Install packages for what is called `name`. Raises ServersError with what helps where that cannot be."""
    advice = f"apt-get install --no-install-recommends {' '.join(packages)}"
    apt = shutil.which("apt-get", path=environ.get("PATH"))
    if apt is None or os.geteuid() != 0:
        raise ServersError(f"{name} is not on the PATH, and only root may install it: {advice}")
    began = time.monotonic()
    doing = f"installing {name}"
    quiet = {**environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in ([apt, "update"], [apt, "install", "-y", "--no-install-recommends", *packages]):
        progress(doing, time.monotonic() - began)
        try:
            ran = subprocess.run(
                command, env=quiet, capture_output=True, text=True, timeout=INSTALL_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise ServersError(f"{doing}: not done after {INSTALL_S:.0f} s") from None
        if ran.returncode != 0:
            output = "\n".join(f"  {line}" for line in (ran.stdout + ran.stderr).splitlines()[-25:])
            raise ServersError(f"{doing}: {' '.join(command)} exited with {ran.returncode}\n{output}")
    progress(f"done {doing}", time.monotonic() - began)
