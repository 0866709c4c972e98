"""One way from the results of checks to words and an exit code."""

from collections.abc import Sequence

from remuda.model.checks import CheckResult, Verdict
from remuda.output.show import Report, Table


def report_of(findings: Sequence[CheckResult]) -> Report:
    """A line for every check, then what was seen and what to do, problems first."""
    summary = Table(
        ("CHECK", "VERDICT", "WHAT"),
        tuple((item.check, item.verdict, item.message) for item in findings),
        note="nothing was checked",
    )
    order: tuple[Verdict, ...] = ("problem", "unknown", "ok")
    details = (
        Table(("", "DETAILS"), rows, title=f"{item.check}: {item.message}")
        for item in sorted(findings, key=lambda item: order.index(item.verdict))
        if (rows := _rows(item))
    )
    problems = sum(item.verdict == "problem" for item in findings)
    return Report({"findings": list(findings), "problems": problems}, (summary, *details))


def exit_code(findings: Sequence[CheckResult]) -> int:
    """1 when there is a problem; what could not be found out is none."""
    return int(any(item.verdict == "problem" for item in findings))


def _rows(item: CheckResult) -> tuple[tuple[str, str], ...]:
    """What there is to read of it; a line of nothing is nothing."""
    seen, todo = (list(filter(str.strip, lines)) for lines in (item.evidence, item.fix))
    return tuple(
        (word if index == 0 else "", line)
        for word, lines in (("seen", seen), ("fix", todo))
        for index, line in enumerate(lines)
    )
