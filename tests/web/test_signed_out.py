"""Sessions that were ended stay ended."""

import stat
from pathlib import Path

import pytest

from remuda.web.signed_out import SESSION, SignedOut


def test_what_was_signed_out_is_remembered_over_a_restart_until_it_would_have_ended(tmp_path: Path) -> None:
    path = tmp_path / "web-signed-out"
    SignedOut(path).add("one", 1_000)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = SignedOut(path)
    assert "one" in again
    assert "two" not in again
    again.add("two", 1_000 + SESSION)
    assert "one" not in again
    assert "two" in SignedOut(path)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"a": "b"}'])
def test_a_file_that_is_broken_keeps_nobody_out(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "web-signed-out"
    path.write_bytes(content)
    found = SignedOut(path)
    assert "a" not in found
    found.add("a", 0)
    assert "a" in SignedOut(path)


def test_it_is_ended_here_though_it_cannot_be_kept(tmp_path: Path) -> None:
    found = SignedOut(tmp_path / "none" / "web-signed-out")
    with pytest.raises(OSError, match="No such file"):
        found.add("a", 0)
    assert "a" in found
