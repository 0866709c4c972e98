"""What is shipped, made once for all tests that look at it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: pip reads from an index, on a machine that does other work too
DEADLINE_S = 900

#: Imports all there is; only what the extras are for may miss NumPy, which is not installed.
EVERY_MODULE = """
import importlib, pkgutil, remuda
extras = ("remuda.fleet", "remuda.prometheus.series", "remuda.rightsize", "remuda.sim.fleet_")
for module in pkgutil.walk_packages(remuda.__path__, "remuda."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name != "numpy" or not module.name.startswith(extras):
                raise
"""
#: Prints the names of all that is installed.
INSTALLED = (
    "from importlib.metadata import distributions as d; "
    "print(*sorted(x.metadata['Name'].lower().replace('_', '-') for x in d()))"
)
UNREACHABLE = (
    "ConnectionError",
    "Temporary failure in name resolution",
    "Failed to establish",
    "ConnectTimeout",
)


def do(*words: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Run a command; its output, or a failure with it. Without an index of packages the test is skipped."""
    ran = subprocess.run(
        words, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=DEADLINE_S
    )
    output = ran.stdout + ran.stderr
    is_unreachable = any(sign in output for sign in UNREACHABLE)
    if ran.returncode and is_unreachable and os.environ.get("REMUDA_REQUIRE_SERVERS") != "1":
        pytest.skip("needs an index of Python packages, which cannot be reached")
    assert ran.returncode == 0, f"{' '.join(map(str, words))}\n{output}"
    return ran.stdout


@pytest.fixture(scope="session")
def commit() -> str:
    """The commit that is checked out."""
    return do("git", "rev-parse", "HEAD").strip()


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist, built from this clone."""
    made = tmp_path_factory.mktemp("sdist")
    do(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", made)
    return next(made.glob("*.tar.gz"))
