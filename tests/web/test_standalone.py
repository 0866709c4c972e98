"""A page as one file: everything inside, nothing from elsewhere, and a policy that fits what is in it."""

import base64
import hashlib
import re

from tests.web.charts import AT, MI, content, memory, supply

from remuda.web.draw import environment
from remuda.web.standalone import write_page

HOSTILE = "<script>alert(1)</script>\"'\x1b"


def written(text: str = "nothing") -> str:
    return write_page(content(text), ["tests.web"], AT, "made by a test")


def test_the_page_of_a_template_of_the_dashboard_is_whole_in_one_file() -> None:
    html = written()
    assert html.startswith("<!doctype html>")
    assert "<h1>Of nothing</h1>" in html
    assert "nothing, in a file" in html
    assert "made by a test" in html
    assert "uPlot" in html
    assert html.count("data-chart=") == 3


def test_nothing_is_loaded_and_the_policy_allows_what_is_inside_and_nothing_else() -> None:
    html = written()
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)
    assert found is not None
    policy = found[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert html.index("Content-Security-Policy") < html.index("<style>") < html.index("<script>")
    assert not re.search(r'\b(src|href|action)="(?!#)', html)
    assert "url(" not in html
    assert "@import" not in html


def test_what_others_wrote_is_only_shown() -> None:
    html = written(HOSTILE)
    assert "<script>alert" not in html
    assert html.count("<script>") == 1
    assert "\x1b" not in re.findall("<title>(.*?)</title>", html)[0]


def test_a_chart_has_a_table_with_the_same_values_in_their_units() -> None:
    made = environment([])
    drawn = made.from_string("{{ parts.chart(chart, 'c') }}")
    text = drawn.render(chart=memory())
    assert "<summary>Memory of app as a table</summary>" in text
    assert '<td class="n">300Mi</td>' in text
    assert '<td class="n">—</td>' in text, "a gap"
    assert "request 512Mi, advised 327Mi" in text
    assert text.count("<tr>") == 25
    text = drawn.render(chart=supply())
    assert '<th scope="row">99:00</th><td class="n">999 machines</td>' in text


def test_moments_in_equal_steps_are_sent_as_three_numbers() -> None:
    text = environment([]).from_string("{{ parts.chart(chart, 'c') }}").render(chart=memory())
    assert f'"times":{{"begin":{AT},"step":600000,"count":144}}' in text


def test_values_of_a_chart_are_multiplied_by_its_scale_and_levels_are_not() -> None:
    assert memory().last == [("used", (300 + 143 % 7) * MI), ("request", 512 * MI), ("advised", 327 * MI)]
    first = next(iter(memory().rows()))
    assert first == (AT, (300 * MI,))
