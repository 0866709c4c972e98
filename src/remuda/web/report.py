"""The page of `remuda report`: the parts of all jobs, as one file."""

from collections.abc import Sequence

from remuda.output.sections import Section, Wanted
from remuda.web.page import Content
from remuda.web.standalone import write_page


def report_page(sections: Sequence[Section], wanted: Wanted, heading: str, made: str) -> str:
    """The whole page; `made` says what it is from."""
    values = {"sections": sections, "since": wanted.since, "until": wanted.until}
    return write_page(Content("report.html", values, heading), (), wanted.until, made)
