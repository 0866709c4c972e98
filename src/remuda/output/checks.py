"""What became of the checks of a diagnosis, and one way from their results to words and an exit code."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from remuda.output.show import Report, Table

Verdict: TypeAlias = Literal["ok", "problem", "unknown"]


class CheckResult(Struct, frozen=True):
    """What became of one check: the verdict in a sentence, what was seen, and what to do."""

    check: str
    verdict: Verdict
    told: str
    evidence: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()


def report_of(findings: Sequence[CheckResult]) -> Report:
    """A line for every check, then what was seen and what to do, problems first."""
    summary = Table(
        ("CHECK", "VERDICT", "WHAT"),
        tuple((item.check, item.verdict, item.told) for item in findings),
        note="nothing was checked",
    )
    order: tuple[Verdict, ...] = ("problem", "unknown", "ok")
    details = (
        Table(("", "DETAILS"), rows, title=f"{item.check}: {item.told}")
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
