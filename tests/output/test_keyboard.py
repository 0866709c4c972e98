"""Keys as a terminal sends them."""

import os
import pty
import termios

import pytest

from remuda.output.keyboard import keys_at_once, keys_in, read_keys


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        pytest.param(b"qs/", ["q", "s", "/"], id="letters"),
        pytest.param(b"\x1b[A\x1b[B\x1bOC\x1bOD", ["up", "down", "right", "left"], id="arrows of both kinds"),
        pytest.param(b"\t\x1b[Z\r\x7f", ["tab", "backtab", "enter", "backspace"], id="named keys"),
        pytest.param(b"\x1b", ["esc"], id="escape alone"),
        pytest.param(b"\x1b[5~a", ["a"], id="one that nobody knows"),
        pytest.param("ü".encode(), ["ü"], id="beyond ASCII"),
        pytest.param(b"\x01", [], id="a control character"),
    ],
)
def test_what_is_sent_are_keys(data: bytes, keys: list[str]) -> None:
    assert keys_in(data) == keys


@pytest.mark.slow
def test_keys_come_at_once_and_the_terminal_is_as_before() -> None:
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    with keys_at_once(theirs):
        os.write(ours, b"q")
        assert read_keys(theirs) == ["q"]
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    assert read_keys(theirs) == []
    os.close(theirs)
