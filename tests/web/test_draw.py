"""From values to HTML: everything is text, and a page falls into the regions that are sent."""

import json
import re
from html import unescape

import pytest
from jinja2 import UndefinedError

from remuda.web.chart import Chart, Series
from remuda.web.draw import environment, regions

HOSTILE = "<script>alert(1)</script>\" onload='x'"


def test_templates_are_compiled_once_for_all_who_show_the_same_jobs() -> None:
    assert environment(["remuda.pools"]) is environment(["remuda.pools"])
    assert environment([], frame="file.html") is not environment([])


def test_what_others_wrote_is_only_shown() -> None:
    made = environment([])
    text = made.from_string('<p title="{{ text }}">{{ text }}</p>').render(text=HOSTILE)
    assert "<script" not in text
    assert text.count('"') == 2


def test_the_data_of_a_chart_is_safe_in_its_attribute() -> None:
    made = environment([])
    chart = Chart(HOSTILE, "machines", [1_000], (Series(HOSTILE, "busy", [1]),))
    text = made.from_string("{{ parts.chart(chart, 'c') }}").render(chart=chart)
    assert "<script" not in text
    assert text.count("data-chart") == 1
    (data,) = re.findall("data-chart='([^']*)'", text)
    assert json.loads(unescape(data))["title"] == HOSTILE


def test_a_chart_without_data_says_so() -> None:
    made = environment([])
    text = made.from_string("{{ parts.chart(chart, 'c') }}").render(chart=Chart("t", "u", [], ()))
    assert "Nothing is recorded for this time yet" in text


def test_a_name_that_is_not_there_is_a_mistake_and_not_nothing() -> None:
    with pytest.raises(UndefinedError):
        environment([]).from_string("{{ typo }}").render()


def test_instants_are_sent_as_they_are_so_that_nothing_changes_while_time_passes() -> None:
    text = environment([]).from_string("{{ at | since }} {{ at | moment }}").render(at=1_000)
    assert 'data-since="1000"' in text
    assert 'data-at="1000"' in text


def test_a_page_falls_into_its_regions() -> None:
    html = (
        '<h1>x</h1><section id="a" data-live class="c"><section>1</section></section><!--/a-->'
        '<p>between</p><div id="b-2" data-live>2</div><!--/b-2-->'
    )
    assert regions(html) == {
        "a": '<section id="a" data-live class="c"><section>1</section></section><!--/a-->',
        "b-2": '<div id="b-2" data-live>2</div><!--/b-2-->',
    }


@pytest.mark.parametrize(("count", "text"), [(0, "0 jobs"), (1, "1 job"), (1_204, "1,204 jobs")])
def test_counts_are_written_with_their_noun(count: int, text: str) -> None:
    assert environment([]).from_string("{{ n | plural('job') }}").render(n=count) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "machines", "0 machines"),
        (1_234.567, "machines", "1,234.57 machines"),
        (0.004, "$", "$0.004"),
        (0.3333, "", "0.333"),
        (250, "millicores", "250m"),
        (2_000, "millicores", "2"),
        (12_500, "millicores", "12.5"),
        (1.5 * 2**30, "bytes", "1.5Gi"),
        (None, "bytes", "—"),
    ],
)
def test_a_value_of_a_chart_is_written_in_its_unit(value: float | None, unit: str, text: str) -> None:
    assert environment([]).from_string("{{ v | amount(u) }}").render(v=value, u=unit) == text
