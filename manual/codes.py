"""What every code means: of reasons, and of findings with what is found, expected and to be done."""

from manual.tables import code, prose, table
from remuda.job import Job, Jobs, load


def reasons_page(jobs: Jobs) -> str:
    """`reference/reasons.md`."""
    intro = (
        "# Reasons\n\nA reason is a code, whom it is about, and terms with numbers. A code never changes its meaning;"
        " the sentence is made of the terms, which `-o json` gives as well. What stands in braces is a term, what"
        " stands in square brackets is left out where its terms are missing. `remuda why` shows them.\n"
    )
    return "\n".join((intro, *filter(None, map(_reasons, jobs))))


def findings_page(jobs: Jobs) -> str:
    """`reference/findings.md`."""
    intro = (
        "# Findings\n\nA finding is a code, whom it is about, a severity and numbers; of its code people see what comes"
        " after the point, as the rule. Braces are terms, and square brackets are left out where their terms are"
        " missing. Severities are given where a finding is made: some are less grave without a policy.\n"
    )
    return "\n".join((intro, *filter(None, map(_findings, jobs))))


def _reasons(job: Job) -> str:
    rows = [
        (code(name), prose(words[0]), code(words[1]))
        for name, words in _codes(job).items()
        if len(words) == 2
    ]
    return f"## {job.name.capitalize()}\n\n{table(('code', 'meaning', 'sentence'), rows)}" if rows else ""


def _findings(job: Job) -> str:
    rows = [
        (code(name), prose(words[0]), *map(code, words[1:]))
        for name, words in _codes(job).items()
        if len(words) == 4
    ]
    heads = ("code", "meaning", "found", "expected", "fix")
    return f"## {job.name.capitalize()}\n\n{table(heads, rows)}" if rows else ""


def _codes(job: Job) -> dict[str, tuple[str, ...]]:
    return dict(load(job.reasons)) if job.reasons else {}
