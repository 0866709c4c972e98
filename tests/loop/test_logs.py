"""JSON log lines: one object a line, and telling never fails."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.loop.logs import Log, take_over_logging, to_stream

NOON = 1_767_614_400_000


class Noon:
    def now(self) -> int:
        return NOON

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def log(lines: list[str]) -> Log:
    return Log(Noon(), lines.append)


def test_a_line_is_one_json_object_with_time_level_message_and_terms(log: Log, lines: list[str]) -> None:
    log.info("made", machine="shell-7", count=3)
    log.warning("two\nlines", path=Path("/x"))
    assert lines[0].endswith("\n")
    assert json.loads(lines[0]) == {
        "time": "2026-01-05T12:00:00Z",
        "level": "info",
        "msg": "made",
        "machine": "shell-7",
        "count": 3,
    }
    assert lines[1].count("\n") == 1
    assert json.loads(lines[1])["path"] == "/x"


def test_lines_below_the_level_are_left_out(lines: list[str]) -> None:
    log = Log(Noon(), lines.append, "warning")
    log.info("no")
    log.error("yes")
    assert [json.loads(line)["msg"] for line in lines] == ["yes"]


def test_words_that_are_no_text_are_logged_all_the_same(log: Log, lines: list[str]) -> None:
    log.error("no such file", path=b"/\xff".decode(errors="surrogateescape"), where=Path("/y"))
    assert json.loads(lines[0])["where"] == "/y"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_does_not_stop_whoever_logs() -> None:
    with io.FileIO("/dev/full", "w") as full:
        log = Log(Noon(), to_stream(io.TextIOWrapper(full, write_through=True)))
        log.error("nobody hears this")
    Log(Noon(), lambda _: (_ for _ in ()).throw(OSError("full"))).error("nor this")


def test_a_closed_pipe_is_not_an_error() -> None:
    stream = io.StringIO()
    stream.close()
    to_stream(stream)("gone\n")


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


def test_what_libraries_log_comes_out_in_the_same_form(
    log: Log, lines: list[str], root_logger: logging.Logger
) -> None:
    take_over_logging(log)
    logging.getLogger("lib").info("chatter")
    logging.getLogger("lib").warning("careful with %s", "that")
    try:
        int("broken")
    except ValueError:
        logging.getLogger("lib").exception("failed")
    entries = [json.loads(line) for line in lines]
    assert [(line["level"], line["msg"], line["logger"]) for line in entries] == [
        ("warning", "careful with that", "lib"),
        ("error", "failed", "lib"),
    ]
    assert entries[1]["error"] == "ValueError: invalid literal for int() with base 10: 'broken'"
