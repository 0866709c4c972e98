"""`remuda fleet bench`: what it prints, and mistakes that are met with one clear error."""

import json
import sys

import pytest
from tests.cli.conftest import Run

KEYS = {
    "workload", "machines", "needs", "clusters", "actions", "unmet", "cycles", "wall_ms", "cpu_ms", "quiet_ms",
    "peak_rss_mb", "engine",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workload", "more"),
    [
        pytest.param("one-pool", set(), id="one pool"),
        pytest.param("gangs", {"gangs_placed"}, id="gangs"),
        pytest.param("aggregate-warm", {"new_ids_ms"}, id="ids"),
    ],
)
def test_a_program_gets_every_number(workload: str, more: set[str], run: Run) -> None:
    ran = run(
        "fleet", "bench", "--workload", workload, "--machines", "500", "--engine", "numpy", "-o", "json"
    )
    assert (ran.code, ran.err) == (0, "")
    answer = json.loads(ran.out)
    assert set(answer) == KEYS | {"digest"} | more
    assert (answer["workload"], answer["machines"], answer["cycles"]) == (workload, 500, 10)
    assert answer["engine"] == "numpy"
    for key in ("wall_ms", "cpu_ms", "quiet_ms"):
        assert set(answer[key]) == {"min", "median", "p99"}
        assert all(isinstance(ms, float) for ms in answer[key].values())


@pytest.mark.slow
def test_a_person_gets_a_table(run: Run) -> None:
    ran = run(
        "fleet", "bench", "--workload", "one-pool", "--machines", "1000", "--engine", "numpy", "--cycles", "5"
    )
    assert ran.code == 0
    assert "one-pool: 1,000 machines, 200 needs of 200 clusters" in ran.out
    assert "plan: 200 actions, 0 needs unmet" in ran.out
    assert "5 cycles with numpy" in ran.out
    assert [line.split()[0] for line in ran.out.splitlines()[-4:]] == [
        "MILLISECONDS",
        "cycle",
        "cycle,",
        "nothing",
    ]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        pytest.param(["--workload", "warm"], "'warm' is not one of 'aggregate-warm'", id="a workload"),
        pytest.param([], "Missing option '--workload'", id="none at all"),
        pytest.param(["--workload", "churn", "--engine", "go"], "'go' is not one of 'numpy', 'numba'", id="an engine"),
        pytest.param(["--workload", "churn", "--machines", "0"], "0 is not in the range", id="no machines"),
        pytest.param(["--workload", "churn", "--cycles", "4"], "4 is not in the range", id="too few cycles"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported(words: list[str], answer: str, run: Run) -> None:
    ran = run("fleet", "bench", *words)
    assert (ran.code, ran.out) == (2, "")
    assert answer in ran.err


def test_without_numpy_it_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    ran = run("fleet", "bench", "--workload", "one-pool", "--machines", "10")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "remuda: remuda fleet needs NumPy: pip install 'remuda[fleet]'\n"


@pytest.mark.slow
def test_without_numba_its_engine_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from remuda.fleet.decide.engine import choose

    choose.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    ran = run("fleet", "bench", "--workload", "one-pool", "--machines", "10", "--engine", "numba")
    assert (ran.code, ran.out) == (2, "")
    assert "needs Numba: pip install 'remuda[fleet]'" in ran.err
    ran = run("fleet", "bench", "--workload", "one-pool", "--machines", "10", "--cycles", "5", "-o", "json")
    assert json.loads(ran.out)["engine"] == "numpy"
    choose.cache_clear()
