"""Findings as words, data and an exit code."""

import io

import pytest

from remuda.model.checks import CheckResult, Verdict
from remuda.output.checks import exit_code, report_of
from remuda.output.show import show

FINE = CheckResult("pools", "ok", "all is well")
WRONG = CheckResult("nodes", "problem", "no node", ("node a | is down",), ("fix it",))
DARK = CheckResult("guests", "unknown", "nobody knows", ("no console",))


def printed(*findings: CheckResult, form: str = "table") -> str:
    out = io.StringIO()
    show(report_of(findings), form, out=out)
    return out.getvalue()


@pytest.mark.parametrize(("verdict", "code"), [("ok", 0), ("unknown", 0), ("problem", 1)])
def test_only_a_problem_is_a_failure(verdict: Verdict, code: int) -> None:
    assert exit_code([FINE, CheckResult("x", verdict, "so")]) == code


def test_a_person_reads_every_check_and_then_problems_first() -> None:
    assert printed(FINE, DARK, WRONG).splitlines() == [
        "CHECK    VERDICT   WHAT",
        "pools    ok        all is well",
        "guests   unknown   nobody knows",
        "nodes    problem   no node",
        "",
        "nodes: no node",
        "       DETAILS",
        "seen   node a | is down",
        "fix    fix it",
        "",
        "guests: nobody knows",
        "       DETAILS",
        "seen   no console",
    ]


@pytest.mark.parametrize("lines", [(), ("",), (" ", "")])
def test_a_finding_without_details_has_no_table_of_them(lines: tuple[str, ...]) -> None:
    assert "DETAILS" not in printed(CheckResult("nodes", "problem", "no node", lines, lines))


def test_a_program_gets_all_of_it() -> None:
    assert '"problems": 1' in printed(FINE, WRONG, form="json")
    assert "problems: 1" in printed(FINE, WRONG, form="yaml")
    assert "| seen | node a \\| is down |" in printed(WRONG, form="markdown")
