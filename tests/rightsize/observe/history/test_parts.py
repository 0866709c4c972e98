"""The parts that a history is made of: queries, intervals, kills, and samples that come in piece by piece."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.prometheus.series import Dropped, Ranged, Series
from remuda.rightsize.observe.history.gathered import ReplicaId, Use
from remuda.rightsize.observe.history.intervals import interval_of
from remuda.rightsize.observe.history.kills import apart
from remuda.rightsize.observe.history.promql import Pods, Queries, holder_of

DB = ReplicaId("a", "db-0", "db")
LABELS = {"namespace": "a", "pod": "db-0", "container": "db"}


def test_queries_read_as_they_are_meant() -> None:
    pods = [Pods("a", "db-0"), Pods("a", "x.y")]
    where = 'namespace="a",pod=~"db-0|x\\\\.y",container!="",container!="POD"'
    by = "by (namespace, pod, container)"
    assert (
        Queries().memory(pods, 60)
        == f"max {by} (max_over_time(container_memory_working_set_bytes{{{where}}}[60s]))"
    )
    assert Queries().cpu(pods, 120) == f"max {by} (rate(container_cpu_usage_seconds_total{{{where}}}[120s]))"
    assert 'namespace=~"a|b"' in Queries().cpu([*pods, Pods("b", "db-0")], 120)


hostile = st.text(st.sampled_from(list('ab"\\\n\r\0.*+|(){}[]^$ü\u2028 ')), max_size=12)


@given(namespace=hostile, pod=hostile, other=hostile)
def test_safety_no_name_leaves_its_quotes(namespace: str, pod: str, other: str) -> None:
    query = Queries().memory([Pods(namespace, pod), Pods(namespace, other)], 60)
    string = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
    strings = [_unquoted(found) for found in string.findall(query)]
    assert strings[0] == namespace
    assert [bool(re.fullmatch(strings[1], each)) for each in (pod, other)] == [True, True]
    assert re.fullmatch(strings[1], f"{pod}{other}x") is None
    rest = string.sub("S", query)
    assert rest == (
        "max by (namespace, pod, container) (max_over_time(container_memory_working_set_bytes"
        "{namespace=S,pod=~S,container!=S,container!=S}[60s]))"
    )


def _unquoted(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else found[2]

    return re.sub(r"\\(?:U([0-9a-f]{8})|(.))", one, text)


def test_only_what_was_asked_for_is_taken() -> None:
    holds = holder_of([Pods("a", "db-0"), Pods("b", "load-", is_start=True)])
    asked = [("a", "db-0"), ("b", "db-0"), ("b", "load-1"), ("a", "load-1")]
    assert [holds(*each) for each in asked] == [True, False, True, False]


def series(times: list[int], values: list[float] | None = None) -> Series:
    amounts = [1.0] * len(times) if values is None else values
    return Series(LABELS, np.array(times, np.int64), np.array(amounts, np.float64), Dropped())


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([[5]], None, id="one sample"),
        pytest.param([[0, 30]], 30, id="young"),
        pytest.param([[0, 30, 60, 90], [0, 60]], 30, id="a young one that missed a scrape"),
        pytest.param([[0, 15, 30, 60, 75, 90]], 15, id="a scrape that was missed"),
        pytest.param([[0, 10, 20, 30], [0, 60, 120, 180]], 60, id="the longer of two"),
        pytest.param([[0, 10, 20, 30]] * 20 + [[0, 600, 1200, 1800]], 10, id="one of many"),
    ],
)
def test_the_interval_is_that_of_nearly_all(times: list[list[int]], expected: int | None) -> None:
    assert interval_of(Ranged([series(each) for each in times])) == expected


@pytest.mark.parametrize(
    ("windows", "first", "exact", "expected"),
    [
        pytest.param([], [], [], [], id="none"),
        pytest.param([1000, 1300], [], [], [1000], id="one that two windows show"),
        pytest.param([1000, 1300, 1600, 1900], [], [], [1000, 1600], id="a loop of them"),
        pytest.param([1000], [1100], [], [1000], id="seen in two ways"),
        pytest.param([1000], [5000], [], [1000, 5000], id="two"),
        pytest.param([1000], [], [900], [900], id="the pod knows better"),
        pytest.param([1000], [], [1050], [1050], id="the clock of the pod is ahead"),
        pytest.param([1000], [], [200], [200, 1000], id="the pod tells of another"),
    ],
)
def test_kills_that_may_be_the_same_are_one(
    windows: list[int], first: list[int], exact: list[int], expected: list[int]
) -> None:
    assert apart(windows, first, exact, 600) == expected


chunks = st.lists(
    st.tuples(
        st.integers(0, 50),
        st.lists(st.integers(0, 100), max_size=8, unique=True).map(sorted),
        st.lists(st.sampled_from([-1.0, 0.0, 5.0, 1e9]), min_size=8, max_size=8),
    ),
    max_size=6,
)


@given(chunks=chunks)
def test_safety_times_increase_and_values_make_sense_whatever_comes_in(
    chunks: list[tuple[int, list[int], list[float]]],
) -> None:
    use = Use("memory", 1, 1e6, {DB}, 1000)
    given_ = 0
    for begin, times, values in chunks:
        use.take(series(times, values[: len(times)]), begin, begin + 50)
        given_ += len(times)
    dropped = use.dropped[DB].total() if DB in use.dropped else 0
    column = use.column([DB])
    assert (np.diff(column.times) > 0).all()
    assert set(column.values.tolist()) <= {0.0, 5.0}
    assert len(column.times) == len(column.values) == column.starts[-1] == given_ - dropped


def test_what_nobody_asked_for_is_not_held() -> None:
    use = Use("CPU", 60, 100, set(), 1000)
    use.take(series([1, 2]), 0, 10)
    use.take(Series({}, np.array([1]), np.array([1.0]), Dropped()), 0, 10)
    assert use.points == 0
