"""What `remuda --version` knows of the commit, in an installation, in a clone, and where nobody knows."""

import subprocess
from pathlib import Path

import pytest

from remuda import __version__
from remuda.cli.version import describe_version

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    made = tmp_path / "src" / "remuda"
    made.mkdir(parents=True)
    return made


def clone(root: Path) -> str:
    """Make a clone with one commit, and say which."""

    def git(*words: str) -> str:
        ran = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    git("init", "-q")
    (root / "file").write_text("one")
    git("add", "file")
    git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "one")
    return git("rev-parse", "HEAD")


def test_without_a_commit_the_version_stands_alone(package: Path) -> None:
    assert describe_version(package) == __version__


def test_what_the_build_wrote_is_shown_short(package: Path) -> None:
    (package / "commit.txt").write_text(f"{COMMIT}\n")
    assert describe_version(package) == f"{__version__} (commit 0123456789ab)"
    (package / "commit.txt").write_text(f"{COMMIT}+changes\n")
    assert describe_version(package) == f"{__version__} (commit 0123456789ab+changes)"


def test_a_clone_is_asked_what_it_has_checked_out(package: Path, tmp_path: Path) -> None:
    commit = clone(tmp_path)
    assert describe_version(package) == f"{__version__} (commit {commit[:12]})"
    (tmp_path / "file").write_text("two")
    assert describe_version(package) == f"{__version__} (commit {commit[:12]}+changes)"


def test_a_repository_that_an_environment_lies_in_is_not_ours(tmp_path: Path) -> None:
    clone(tmp_path)
    package = tmp_path / "lib" / "site-packages" / "remuda"
    package.mkdir(parents=True)
    assert describe_version(package) == __version__


@pytest.mark.parametrize(
    "content", [pytest.param(b"", id="an empty file"), pytest.param(b"\xff", id="bytes that are no text")]
)
def test_a_commit_that_cannot_be_read_is_left_out(content: bytes, package: Path) -> None:
    (package / "commit.txt").write_bytes(content)
    assert describe_version(package) == __version__
