"""A report in parts, in a terminal and for a program."""

from remuda.output.sections import Section, Wanted, section_report
from remuda.output.show import Table

WANTED = Wanted(1_767_571_200_000, 1_767_657_600_000)
SECTIONS = (
    Section(
        "Later",
        ("said",),
        (Table(("A",), (("b",),)),),
        notes=("note",),
        data={"x": 1},
    ),
    Section("First", tables=(Table(("A",), (), note="nothing at all"),), comes_first=True),
)


def test_a_program_gets_the_data_of_every_section() -> None:
    report = section_report(SECTIONS, WANTED)
    assert [each["title"] for each in report.data["sections"]] == ["Later", "First"]
    assert report.data["sections"][0]["data"] == {"x": 1}
    assert [table.title for table in report.tables] == ["Later", "later", "first"]
