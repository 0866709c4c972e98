"""Printing: a table for a person, the others for a program."""

import csv
import io
import json
from pathlib import Path

import msgspec
import pytest
import yaml

from remuda.output.show import FORMATS, Report, Table, shortened, show


class KubeObject(msgspec.Struct):
    name: str
    count: int
    path: Path = Path("/x")


THINGS = [KubeObject("ä|b", 1), KubeObject("c\\d", 22)]
TABLE = Table(
    ("NAME", "COUNT"), tuple((thing.name, str(thing.count)) for thing in THINGS), title="things", note="none"
)
EMPTY = Table(("NAME",), (), title="others", note="no others")
REPORT = Report(THINGS, (TABLE, EMPTY), ("two things",))


def shown(report: Report, form: str, *, quiet: bool = False) -> str:
    out = io.StringIO()
    show(report, form, quiet=quiet, out=out)
    return out.getvalue()


def test_a_table_is_aligned_and_an_empty_one_has_its_note() -> None:
    assert shown(REPORT, "table") == (
        "two things\n\nthings\nNAME   COUNT\nä|b    1\nc\\d    22\n\nothers\nno others\n"
    )


def test_of_a_list_quiet_leaves_only_what_names_things() -> None:
    rows = (("12", "waiting"), ("7", "running"))
    report = Report(None, (Table(("JOB", "STATE"), rows, is_list=True),))
    assert shown(report, "table", quiet=True) == "12\n7\n"
    assert shown(report, "table") == "JOB   STATE\n12    waiting\n7     running\n"


def test_quiet_leaves_out_headings_titles_and_notes() -> None:
    assert shown(REPORT, "table", quiet=True) == "two things\nä|b   1\nc\\d   22\n"


def test_a_table_has_no_trailing_blanks() -> None:
    report = Report(None, (Table(("A", "B"), (("long cell", ""), ("x", "y"))),))
    assert all(line == line.rstrip() for line in shown(report, "table").splitlines())


@pytest.mark.parametrize("quiet", [False, True])
def test_json_is_the_data_and_nothing_else(quiet: bool) -> None:
    assert json.loads(shown(REPORT, "json", quiet=quiet)) == [
        {"name": "ä|b", "count": 1, "path": "/x"},
        {"name": "c\\d", "count": 22, "path": "/x"},
    ]
    assert "ä" in shown(REPORT, "json")


def test_yaml_is_the_same_data_as_json() -> None:
    text = shown(REPORT, "yaml")
    assert yaml.safe_load(text) == json.loads(shown(REPORT, "json"))
    assert "ä" in text


def test_markdown_escapes_what_would_end_a_cell() -> None:
    report = Report(None, (Table(("A",), (("a|b\nc\\|d",),)),))
    assert shown(report, "markdown") == "| A |\n| --- |\n| a\\|b c\\\\\\|d |\n"


def test_markdown_has_titles_lines_and_notes() -> None:
    assert shown(REPORT, "markdown") == (
        "two things\n\n### things\n\n| NAME | COUNT |\n| --- | --- |\n| ä\\|b | 1 |\n| c\\\\d | 22 |\n"
        "\n### others\n\nno others\n"
    )


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_without_anything_can_be_shown(form: str) -> None:
    shown(Report(None), form)


def test_what_a_job_is_called_cannot_steer_the_terminal() -> None:
    text = shown(Report(None, (Table(("A",), (("\x1b[2Jx\x07\r\ny\tz\x9b",),)),), ("\x1b]0;t\x07",)), "table")
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\x9b" not in text
    assert "x\N{REPLACEMENT CHARACTER} y z" in text
    assert len(text.splitlines()) == 3


HOSTILE = "\x1b[2J\x07\x9b\u202egpj.exe\u2066\u200f<script>alert(1)</script>&lt;![x](http://evil.example)"


@pytest.mark.parametrize("form", ["table", "csv", "markdown"])
def test_nothing_in_any_form_steers_or_runs_backwards(form: str) -> None:
    report = Report(None, (Table(("A",), ((HOSTILE,),), title=HOSTILE),), (HOSTILE,))
    text = shown(report, form)
    assert "[2J" in text
    assert not set(text) & set("\x1b\x07\x9b\u202e\u2066\u200f")


def test_markdown_has_no_html_and_no_links_but_shows_their_text() -> None:
    report = Report(None, (Table(("A",), ((HOSTILE,),), title=HOSTILE),), (HOSTILE,))
    text = shown(report, "markdown")
    assert "<" not in text
    assert ">" not in text
    assert "](" not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;&amp;lt;") == 3


def test_a_line_may_be_several() -> None:
    assert shown(Report(None, lines=("a\nb",)), "table") == "a\nb\n"


def test_csv_is_the_first_table_that_has_rows() -> None:
    assert shown(REPORT, "csv") == "NAME,COUNT\r\nä|b,1\r\nc\\d,22\r\n"
    assert shown(Report(None, (EMPTY, TABLE)), "csv") == shown(REPORT, "csv")
    assert shown(Report(None, (EMPTY,)), "csv") == "NAME\r\n"
    assert shown(REPORT, "csv", quiet=True) == "ä|b,1\r\nc\\d,22\r\n"


def test_csv_of_an_answer_without_a_table_is_its_lines() -> None:
    assert shown(Report(None, lines=("a, b", "=c")), "csv") == '"a, b"\r\n\'=c\r\n'


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        pytest.param("=1+1", "'=1+1", id="a formula"),
        pytest.param("@SUM(A1)", "'@SUM(A1)", id="an old formula"),
        pytest.param("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0", id="a command"),
        pytest.param("-2+3", "'-2+3", id="a sum"),
        pytest.param("\t=1", "'\t=1", id="a tab before it"),
        pytest.param("\r\r=1", "'=1", id="returns before it"),
        pytest.param("\x1b[2J\u202e", "\ufffd[2J\ufffd", id="nothing that steers"),
        pytest.param("-43.12", "-43.12", id="a number below zero stays one"),
        pytest.param("+7", "+7", id="a number with its sign"),
        pytest.param("-", "-", id="a dash"),
        pytest.param('a,"b"\nc', 'a,"b"\nc', id="quotes, commas and new lines come back"),
        pytest.param("nul\0", "nul\N{REPLACEMENT CHARACTER}", id="no zero byte"),
    ],
)
def test_a_cell_of_csv_is_shown_and_never_computed(cell: str, written: str) -> None:
    text = shown(Report(None, (Table(("A", "B"), ((cell, "x"),)),)), "csv")
    assert list(csv.reader(io.StringIO(text, newline="")))[1] == [written, "x"]


def test_a_table_that_is_wider_than_the_terminal_stays_readable() -> None:
    message = "is too small: has 4Gi memory, and a runner asks for 8Gi memory"
    few = Table(("RULE", "WHERE"), (("fits-nowhere", message),))
    out = io.StringIO()
    show(Report(None, (few,)), "table", out=out, columns=60)
    assert out.getvalue().splitlines() == [
        "RULE           WHERE",
        "fits-nowhere   is too small: has 4Gi memory, and a runner",
        "               asks for 8Gi memory",
    ]
    out = io.StringIO()
    many = Table(("NODE", "ROLE", "WHY"), (("a" * 30, "overflow", message), ("b", "primary", "")))
    show(Report(None, (many,)), "table", out=out, columns=60)
    assert out.getvalue().splitlines() == [
        f"NODE   {'a' * 30}",
        "ROLE   overflow",
        "WHY    is too small: has 4Gi memory, and a runner asks for",
        "       8Gi memory",
        "",
        "NODE   b",
        "ROLE   primary",
        "WHY",
    ]


def test_a_table_too_long_for_a_person_says_how_much_is_left_out() -> None:
    table = Table(("A", "B", "C"), (("a", "b", "c"),) * 5, "title", "note")
    assert shortened(table, 5) is table
    assert shortened(table, 3, column=2) == Table(
        ("A", "B", "C"),
        (*table.rows[:3], ("…", "", "and 2 more rows: -o json has all")),
        "title",
        "note",
    )
