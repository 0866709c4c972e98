"""A report in parts: on a page that loads nothing, and in a terminal."""

from remuda.output.sections import Section, Wanted, ordered, section_page, section_report
from remuda.output.show import Table

WANTED = Wanted(1_767_571_200_000, 1_767_657_600_000)
SECTIONS = (
    Section(
        "Later",
        ("said",),
        (Table(("A",), (("<script>alert(1)</script>",),)),),
        ("<svg></svg>",),
        ("note",),
        {"x": 1},
    ),
    Section("First", tables=(Table(("A",), (), note="nothing at all"),), comes_first=True),
)


def test_what_matters_most_stands_first_and_nothing_is_loaded_or_run() -> None:
    page = section_page(ordered(SECTIONS), WANTED, "A report", "remuda 0.1.0")
    assert page.index("<h2>First</h2>") < page.index("<h2>Later</h2>")
    assert "default-src 'none'" in page
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "2026-01-05T00:00:00Z to 2026-01-06T00:00:00Z" in page
    assert "nothing at all" in page
    assert "<svg></svg>" in page


def test_a_program_gets_the_data_of_every_section() -> None:
    report = section_report(SECTIONS, WANTED)
    assert [each["title"] for each in report.data["sections"]] == ["Later", "First"]
    assert report.data["sections"][0]["data"] == {"x": 1}
    assert [table.title for table in report.tables] == ["Later", "later", "first"]
