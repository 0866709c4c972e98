"""
A session in a terminal as an animated picture: real commands and what they really printed, without any other file.

`python -m manual.recording` runs the session with a Remuda of its own and writes the picture. What differs from run to run
(times, how many cycles) is as it was when it was recorded; a test runs the session again and compares the rest.
"""

import contextlib
import html
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from manual.svg import text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "terminal.svg"
#: what is typed; the first is typed before the picture begins, and stays in the background
BACKGROUND = "remuda up examples/laptop.yaml --health-port 0 --live-port 0 --no-web"
SESSION = (
    "remuda submit local/shell --wait -- echo hello",
    "for n in 1 2 3 4 5 6 7 8 9 10; do remuda submit local/shell -q -- sleep 600; done | tail -n 1",
    "remuda why pool shell",
    "remuda pools scale shell --max 2",
    "remuda why pool shell",
)
#: by command, what it prints once the world has settled
_SETTLED = {2: "wants 8 machines and has 7", 4: "wants 2 machines and has 7"}
_DEADLINE_S = 60.0
_TYPED_S, _READ_S, _PAUSE_S, _END_S = 0.03, 0.9, 0.25, 6.0
_COLUMN, _LINE, _EDGE, _BAR = 7.83, 19, 16, 34
_MARK = "$ "


class Line(Struct, frozen=True):
    """A line on the screen: what was typed after the mark, or what was printed."""

    words: str
    is_typed: bool = False


def run_session() -> list[Line]:
    """Type the session and keep what is printed."""
    lines = []
    with _remuda() as (home, environ):
        for number, command in enumerate(SESSION):
            until = time.monotonic() + _DEADLINE_S
            printed = _typed(command, home, environ)
            while _SETTLED.get(number, "") not in printed:
                if time.monotonic() > until:
                    raise TimeoutError(f"{command} did not settle:\n{printed}")
                time.sleep(0.2)
                printed = _typed(command, home, environ)
            lines += [Line(command, is_typed=True), *map(Line, printed.rstrip("\n").split("\n"))]
    return lines


def drawn(lines: list[Line]) -> str:
    """The picture; who asks for less motion sees the end of it at once."""
    columns = max(len(line.words) + len(_MARK) * line.is_typed for line in lines) + 1
    width = round(columns * _COLUMN) + 2 * _EDGE
    height = _BAR + len(lines) * _LINE + _EDGE
    starts, now = [], 0.5
    for line, after in zip(lines, [*lines[1:], Line("", is_typed=True)], strict=True):
        starts.append(now)
        now += len(line.words) * _TYPED_S + _PAUSE_S if line.is_typed else 0.0
        now += _READ_S if after.is_typed and not line.is_typed else 0.0
    whole = now + _END_S
    rules, rows = [], []
    for number, (line, start) in enumerate(zip(lines, starts, strict=True)):
        y = _BAR + (number + 1) * _LINE - 5
        begin = 100 * start / whole
        rules.append(
            f"@keyframes l{number}{{0%,{begin:.2f}%{{opacity:0}}{begin + 0.01:.2f}%,100%{{opacity:1}}}}"
            f"#l{number}{{animation:l{number} {whole:.1f}s linear infinite}}"
        )
        if not line.is_typed:
            rows.append(f'<g id="l{number}">{text(_EDGE, y, line.words)}</g>')
            continue
        end = 100 * (start + len(line.words) * _TYPED_S) / whole
        cover = len(line.words) * _COLUMN + 4
        rules.append(
            f"@keyframes c{number}{{0%,{begin:.2f}%{{transform:translateX(0)}}{end:.2f}%,100%"
            f"{{transform:translateX({cover:.0f}px)}}}}"
            f"#c{number}{{animation:c{number} {whole:.1f}s steps({len(line.words)}) infinite}}"
        )
        x = _EDGE + len(_MARK) * _COLUMN
        rows.append(
            f'<g id="l{number}">{text(_EDGE, y, _MARK, class_="mark")}<g clip-path="url(#page)">'
            f"{text(x, y, line.words, class_='typed')}"
            f'<rect id="c{number}" class="cover" x="{x:.1f}" y="{y - 14}" width="{width}" height="{_LINE}"/></g></g>'
        )
    still = "@media (prefers-reduced-motion:reduce){*{animation:none!important}.cover{display:none}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" xml:space="preserve"'
        ' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" fill="#d7dce2">\n'
        "<title>A terminal: ten jobs are handed in, and remuda says why a pool has seven machines and not eight</title>\n"
        "<style>.mark{fill:#7bb38a}.typed{fill:#fff}.cover{fill:#1b2027}text{white-space:pre}\n"
        + "\n".join(rules)
        + f"\n{still}</style>\n"
        f'<clipPath id="page"><rect width="{width}" height="{height}"/></clipPath>\n'
        f'<rect width="{width}" height="{height}" rx="10" fill="#1b2027"/>\n'
        '<circle cx="20" cy="17" r="5" fill="#b4562b"/><circle cx="38" cy="17" r="5" fill="#c9a23b"/>'
        '<circle cx="56" cy="17" r="5" fill="#5f9e6e"/>\n' + "\n".join(rows) + "\n</svg>\n"
    )


def read(picture: str) -> list[Line]:
    """The lines that a picture shows."""
    found = re.findall(r'<text [^>]*?(class="typed"|class="mark")?>([^<]*)</text>', picture)
    return [
        Line(html.unescape(words), is_typed="typed" in kind) for kind, words in found if "mark" not in kind
    ]


def settled(lines: list[Line]) -> list[Line]:
    """Lines without what differs from run to run."""
    return [Line(re.sub(r"since .*|  +", " ", line.words), line.is_typed) for line in lines]


def _typed(command: str, home: Path, environ: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=home,
        env=environ,
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=True,
    )
    return done.stdout


@contextlib.contextmanager
def _remuda() -> Iterator[tuple[Path, dict[str, str]]]:
    """A directory with the examples in which Remuda runs; in the end nothing of it is left."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        home = Path(place)
        shutil.copytree(ROOT / "examples", home / "examples")
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environ = {"PATH": path, "HOME": place, "REMUDA_DATA_DIR": str(home / "data"), "NO_COLOR": "1"}
        with (home / "log").open("wb") as log:
            process = subprocess.Popen(BACKGROUND.split(), cwd=home, env=environ, stdout=log, stderr=log)
        try:
            until = time.monotonic() + _DEADLINE_S
            while "has the 3 machines it wants" not in _typed("remuda pools list || true", home, environ):
                if process.poll() is not None or time.monotonic() > until:
                    raise TimeoutError((home / "log").read_text())
                time.sleep(0.2)
            yield home, environ
        finally:
            process.kill()
            process.wait(_DEADLINE_S)
            _end_machines(place)


def _end_machines(place: str) -> None:
    """End what outlives Remuda: its machines, which are known by the directory in their command lines."""
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if place.encode() in (each / "cmdline").read_bytes():
                os.kill(int(each.name), signal.SIGKILL)


if __name__ == "__main__":
    PICTURE.write_text(drawn(run_session()), encoding="utf-8")
