"""The live view on a real pseudo-terminal."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import sys
import termios
import time
from collections.abc import Iterator

import pytest
from tests.processes import DEADLINE_S, Place, eventually, pool

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
UP = ("--health-port", "0", "--live-port", "0", "--interval", "0.2")


class Terminal:
    """A command that believes to have a terminal of so many rows and columns."""

    def __init__(self, place: Place, *words: str, rows: int = 40, columns: int = 120, **env: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            command = [sys.executable, "-m", "remuda", *words, "--data-dir", str(place.data)]
            os.execve(command[0], command, {**os.environ, "TERM": "xterm-256color", **env})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.text = ""
        self.code: int | None = None

    def read(self) -> str:
        """Everything that was written so far."""
        while select.select([self.fd], [], [], 0)[0]:
            try:
                piece = os.read(self.fd, 65536)
            except OSError:  # what Linux says when the other side is closed
                break
            if not piece:
                break
            self.text += piece.decode(errors="replace")
        return self.text

    def screen(self) -> str:
        """What the last whole picture shows, without colours."""
        pictures = self.read().split("\x1b[H")
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", pictures[-1])

    def wait_for(self, *words: str) -> str:
        """The screen once it shows all of the words."""
        return eventually(
            lambda: screen if all(word in (screen := self.screen()) for word in words) else "",
            f"{words} on the screen",
        )

    def press(self, key: bytes) -> None:
        """What a person types."""
        os.write(self.fd, key)

    def wait_end(self) -> int:
        """The exit code, while what it still writes is read."""
        until = time.monotonic() + DEADLINE_S
        while self.code is None and time.monotonic() < until:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        assert self.code is not None, "it did not end"
        self.read()
        return self.code

    def close(self) -> None:
        """Take the terminal away, and the process if it is still there."""
        with contextlib.suppress(OSError):
            os.close(self.fd)
        if self.code is None:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)


@contextlib.contextmanager
def terminal(place: Place, *words: str, rows: int = 40, columns: int = 120, **env: str) -> Iterator[Terminal]:
    """A command on a terminal, gone afterwards."""
    made = Terminal(place, *words, rows=rows, columns=columns, **env)
    try:
        yield made
    finally:
        made.close()


def test_up_draws_pools_machines_jobs_and_decisions_and_ctrl_c_restores_the_terminal(here: Place) -> None:
    with terminal(here, "up", str(here.file), *UP) as view:
        view.wait_for(
            "pools (1)", "shell", "machines (2)", "idle", "jobs (none yet)", "last decisions", "Ctrl-C"
        )
        number = here.submit("sh", "-c", "echo '[/red]'; sleep 600")
        view.wait_for("1 running", "busy", "sh -c 'echo '", "[/red]", "makes a machine: it lacks")
        assert here.job(number).state == "running"
        before = here.shims()
        view.press(b"\x03")
        assert view.wait_end() == 0
    assert ENTER in view.text
    assert view.text.rindex(LEAVE) > view.text.rindex(ENTER)
    assert view.text.rindex(SHOW) > view.text.rindex(HIDE)
    assert "stopped; machines stay" in view.text.rpartition(LEAVE)[2]
    assert "Traceback" not in view.text
    assert before.items() <= here.shims().items()
    assert '"msg":"remuda is up"' in (here.data / "remuda.log").read_text()


def test_the_view_of_up_has_the_keys_of_top_but_q_does_not_stop_remuda(here: Place) -> None:
    with terminal(here, "up", str(here.file), *UP, "--web-port", "0") as view:
        view.wait_for(
            "▸ pools (1)", "machines (2)", "/ filter · Ctrl-C to stop", "dashboard http://127.0.0.1:"
        )
        view.press(b"q\r")
        view.wait_for("remuda why pool shell", "demand", "Esc back")
        view.press(b"\x1b2")
        view.wait_for("▸ machines (2)")
        view.press(b"\x03")
        assert view.wait_end() == 0
    assert view.text.rindex(LEAVE) > view.text.rindex(ENTER)
    assert "Traceback" not in view.text


def test_a_second_up_on_a_terminal_leaves_the_log_of_the_first_alone(here: Place) -> None:
    with terminal(here, "up", str(here.file), *UP) as view:
        view.wait_for("machines (2)")
        before = (here.data / "remuda.log").read_text()
        with terminal(here, "up", str(here.file), *UP) as second:
            assert second.wait_end() == 2
        assert "is in use by another remuda" in second.text
        assert (here.data / "remuda.log").read_text().startswith(before)


def test_a_refusal_on_a_terminal_is_one_clear_message(here: Place) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        terminal(here, "up", str(here.file), *UP, "--live-port", str(taken.getsockname()[1])) as view,
    ):
        assert view.wait_end() == 2
    assert "in use; choose another one, or 0 for any" in view.text.rpartition(LEAVE)[2]
    assert "Traceback" not in view.text


def test_a_terminal_that_is_gone_stops_remuda_and_its_machines_stay(here: Place) -> None:
    with terminal(here, "up", str(here.file), *UP) as view:
        view.wait_for("machines (2)", "idle")
        os.close(view.fd)
        eventually(lambda: os.waitpid(view.pid, os.WNOHANG)[0], "the end of remuda")
        view.code = 0
    assert "remuda is down" in (here.data / "remuda.log").read_text()
    assert len(here.shims()) == 2
    here.start()
    here.wait_idle(2)


def test_top_follows_a_running_remuda_and_waits_for_one_that_is_away(running: Place) -> None:
    running.wait_idle(2)
    with terminal(running, "top") as view:
        view.wait_for("pools (1)", "machines (2)", "last decisions")
        running.kill()
        number = running.processes[-1].pid
        running.start()
        assert running.processes[-1].pid != number
        job = running.submit("sleep", "600")
        view.wait_for(f"{job} ", "sleep 600", "running")
        view.press(b"\x03")
        assert view.wait_end() == 0
    assert view.text.rstrip().endswith(LEAVE)


def test_the_view_fits_a_small_screen(here: Place) -> None:
    here.write(pool(min=6, max=6), pool("other", min=6, max=6))
    here.start()
    here.wait_idle(6)
    here.wait_idle(6, "other")
    for number in range(12):
        here.wait_end(here.submit("true", "x" * 300, str(number)))
    with terminal(here, "top", rows=24, columns=80) as view:
        shown = view.wait_for("pools (2)", "machines (1", " shown)", "last decisions", "Ctrl-C")
        lines = shown.split("\r\n")
        assert len(lines) <= 24
        assert all(len(line) <= 80 for line in lines)
        assert sum("succeeded" in line for line in lines) >= 3


def test_without_colour_there_is_none(running: Place) -> None:
    running.wait_idle(2)
    with terminal(running, "top", NO_COLOR="1") as view:
        view.wait_for("idle")
        view.press(b"\x03")
        view.wait_end()
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", view.text)
    with terminal(running, "top") as view:
        view.wait_for("idle")
    assert re.search(r"\x1b\[[0-9;]*3[0-7]m", view.text)


def test_quiet_or_a_pipe_has_no_view_but_json_lines(here: Place) -> None:
    with terminal(here, "up", str(here.file), *UP, "--quiet") as view:
        eventually(lambda: '"msg":"remuda is up"' in view.read(), "a line")
    assert ENTER not in view.text


def test_top_is_steered_by_keys_survives_a_restart_and_gives_the_terminal_back(here: Place) -> None:
    here.write(pool(min=2, max=2))
    here.start()
    here.wait_idle(2)
    numbers = [here.submit("sh", "-c", "sleep 600") for _ in range(2)]
    waiting = [here.submit("echo", f"later-{n}") for n in range(30)]
    for number in numbers:
        here.wait_running(number)
    with terminal(here, "top", rows=30) as view:
        view.wait_for("▸ pools (1)", "30 waiting", "sleep 600", "q or Ctrl-C")
        view.press(b"3sr")
        screen = view.wait_for("▸ jobs", "JOB ▾", "sleep 600")
        assert screen.index("sleep 600") < screen.index("later-29")
        view.press(b"/later-7\r")
        view.wait_for("filter: later-7", "echo later-7")
        view.press(b"\r")
        view.wait_for(
            f"remuda why job {waiting[7]}", f"job {waiting[7]} of class test/shell waits", "Esc back"
        )
        view.press(b"\x1b")
        view.wait_for("▸ jobs")
        here.kill()
        view.wait_for("no remuda runs with")
        here.start()
        eventually(
            lambda: "no remuda runs with" not in view.screen() and "▸ jobs" in view.screen(), "it is back"
        )
        view.press(b"q")
        assert view.wait_end() == 0
    assert view.text.rindex(LEAVE) > view.text.rindex(ENTER)
    assert view.text.rindex(SHOW) > view.text.rindex(HIDE)
    assert "Traceback" not in view.text
