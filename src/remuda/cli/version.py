"""Which Remuda this is: its version and the commit it was built from."""

import subprocess
from pathlib import Path

from remuda import __version__

SHOWN = 12  # characters of a commit, as git shows them in a large repository
GIT_S = 10.0


def describe_version(package: Path = Path(__file__).parents[1]) -> str:
    """The version, with the commit that the build wrote down, or that a clone has checked out, where one is known."""
    commit = _written(package) or _checked_out(package.parents[1])
    return f"{__version__} (commit {commit})" if commit else __version__


def _written(package: Path) -> str:
    try:
        commit, plus, changes = (package / "commit.txt").read_text(encoding="utf-8").strip().partition("+")
    except (OSError, UnicodeDecodeError):
        return ""
    return commit[:SHOWN] + plus + changes


def _checked_out(clone: Path) -> str:
    """What git says of a clone that holds `src/remuda`; a repository that merely lies above is another's."""
    if not (clone / ".git").exists() or not (clone / "src" / "remuda").is_dir():
        return ""
    command = [
        "git",
        "-C",
        str(clone),
        "describe",
        "--always",
        "--exclude=*",
        f"--abbrev={SHOWN}",
        "--dirty=+changes",
    ]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=GIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.strip() if ran.returncode == 0 else ""
