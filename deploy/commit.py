"""
A step of the build that writes the commit into what is built, as `remuda/commit.txt`; `remuda --version` shows it.

The commit is REMUDA_COMMIT, else what an sdist says of itself, else what git says of this clone. Where none of them
knows, nothing is written. An editable install asks git each time, so that it never shows a commit it has left.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME = "commit.txt"


def commit_of(root: Path) -> str:
    """The commit that is checked out in `root`, with `+changes` where files differ from it; empty where git cannot say."""

    def git(*words: str) -> str:
        ran = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
        return ran.stdout.strip() if ran.returncode == 0 else ""

    try:
        if not (root / ".git").exists():  # a clone above this directory would tell of something else
            return ""
        commit = git("rev-parse", "HEAD")
        return f"{commit}+changes" if commit and git("status", "--porcelain", "-uno") else commit
    except FileNotFoundError:
        return ""


def written_in(root: Path) -> str:
    """The commit that an sdist says it was made from; empty in a clone."""
    path = root / "src" / "remuda" / NAME
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


class CommitHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the file to wheels and sdists."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write it beside what is built, and say where it goes."""
        root = Path(self.root)
        inside = "remuda" if self.target_name == "wheel" else "src/remuda"
        commit = os.environ.get("REMUDA_COMMIT") or written_in(root) or commit_of(root)
        if version == "editable" or not commit:
            return
        made = Path(self.directory) / NAME
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(f"{commit}\n", encoding="utf-8")
        build_data["force_include"][str(made)] = f"{inside}/{NAME}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing but what was built."""
        del version, build_data, artifact_path
        (Path(self.directory) / NAME).unlink(missing_ok=True)
