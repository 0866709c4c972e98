"""The page of a report: in the order that matters, with its charts, tables and notes, and nothing from elsewhere."""

import re

from tests.web.charts import cost

from remuda.output.sections import Section, Wanted, ordered
from remuda.output.show import Table
from remuda.web.report import report_page

WANTED = Wanted(1_767_571_200_000, 1_767_657_600_000)
SECTIONS = (
    Section(
        "Later",
        ("said",),
        (Table(("A", "B"), (("<script>alert(1)</script>", "2"),), title="both"),),
        (cost(),),
        ("noted",),
    ),
    Section("First", tables=(Table(("A",), (), note="nothing at all"),), comes_first=True),
)


def written() -> str:
    return report_page(ordered(SECTIONS), WANTED, "A report", "remuda 0.1.0")


def test_what_matters_most_stands_first() -> None:
    page = written()
    assert re.findall("<section[^>]*><h2>([^<]*)</h2>", page) == ["First", "Later"]
    assert '<section class="first"><h2>First</h2>' in page
    assert "<h1>A report</h1>" in page
    assert 'datetime="2026-01-05T00:00:00Z"' in page
    assert 'datetime="2026-01-06T00:00:00Z"' in page
    assert "remuda 0.1.0" in page


def test_sentences_charts_tables_and_notes_are_all_there() -> None:
    page = written()
    for words in ("<p>said</p>", "noted", "nothing at all", "<caption>both</caption>", "Cost as a table"):
        assert words in page, words
    assert page.count("data-chart=") == 1


def test_nothing_is_loaded_and_nothing_is_run_but_what_draws_charts() -> None:
    page = written()
    assert "default-src 'none'" in page.replace("&#39;", "'")
    assert page.count("<script>") == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not re.search(r'\b(src|href|action)="(?!#)', page)
