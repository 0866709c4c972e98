"""Pages and the charts on them: nothing is loaded, and nothing that others wrote is taken for markup."""

import re
from base64 import b64encode
from hashlib import sha256

from remuda.output.charts import Series, chart
from remuda.output.pages import Column, page_head, page_table, page_text

NASTY = '<script>alert("x")</script>'


def test_a_page_allows_its_own_style_and_script_alone() -> None:
    head = page_head(NASTY, "p {}", "go()")
    style, script = (b64encode(sha256(text.encode()).digest()).decode() for text in ("p {}", "go()"))
    assert f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}';" in head
    assert "script-src" not in page_head("a", "p {}")
    assert "<script>" not in head


def test_text_of_others_is_only_shown() -> None:
    assert page_text(NASTY + "\x1b[2J") == "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;�[2J"


def test_a_chart_has_its_points_within_its_frame_and_names_no_style_of_its_own() -> None:
    series = [Series(NASTY, 0, [0, 5, 10]), Series("b", 3, [10, 0, 0])]
    for stacked in (False, True):
        drawn = chart(NASTY, "so", [0, 3_600_000_000, 7_200_000_000], series, stacked=stacked)
        assert "<script>" not in drawn
        assert "style=" not in drawn
        pairs = [
            pair.split(",") for points in re.findall(r'points="([^"]*)"', drawn) for pair in points.split()
        ]
        assert len(pairs) == (10 if stacked else 6)
        assert all(64 <= int(x) <= 948 and 10 <= int(y) <= 174 for x, y in pairs)


def test_areas_lie_on_top_of_each_other() -> None:
    drawn = chart("a", "b", [0, 1], [Series("x", 0, [1, 1]), Series("y", 1, [1, 1])], stacked=True)
    assert [
        re.search(r" 64,(\d+)", points) and points.split()[1]
        for points in re.findall(r'points="([^"]*)"', drawn)
    ] == [
        "64,10",
        "64,92",
    ]


def test_a_chart_of_nothing_is_empty() -> None:
    assert 'points=""' in chart("a", "b", [], [Series("x", 0, [])])


def test_a_table_has_a_class_for_each_column_and_headings_that_are_only_shown() -> None:
    columns = (Column(NASTY), Column("n", "r"))
    drawn = page_table(columns, [("<b>a</b>", "1")], "<i>two</i>", name="both", has_names=True)
    assert drawn == (
        '<div class="wide"><table id="both"><caption><i>two</i></caption><thead><tr>'
        f'<th>{page_text(NASTY)}<th class="r">n<tbody><tr><th><b>a</b><td class="r">1</table></div>'
    )
    assert page_table((Column(),), [("a",)]) == '<div class="wide"><table><tbody><tr><td>a</table></div>'
