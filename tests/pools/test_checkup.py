"""What `remuda diagnose` makes of pools and their queue."""

import pytest

from remuda.model.jobs import Job, JobSpec, JobState
from remuda.model.times import MINUTE
from remuda.pools.checkup import judge_pools, judge_queue
from remuda.pools.decide.model import Override
from remuda.pools.views import PoolsView, PoolView

NOW = 1_900_000_000_000


def pool(name: str, code: str, waiting: int = 0) -> PoolView:
    return PoolView(
        name=name, job_class=f"test/{name}", demand=0, wanted=0, target=0, live=0, ready=0, busy=0, idle=0, creating=0,
        leaving=0, waiting=waiting, running=0, min=0, max=2, ceiling=None, template="t", old=0, code=code,
        why=f"{name} is {code}", override=Override(),
    )  # fmt: skip


def view(*pools: PoolView) -> PoolsView:
    return PoolsView(NOW, pools, ())


def job(number: int, job_class: str) -> Job:
    return Job(number, job_class, JobState.WAITING, 0, 0, JobSpec(("true",)), NOW - number * MINUTE, NOW)


@pytest.mark.parametrize(
    ("code", "waiting", "verdict", "fix"),
    [
        pytest.param("pool.steady", 0, "ok", "", id="steady"),
        pytest.param("pool.failing", 0, "problem", "remuda machines console", id="machines that fail"),
        pytest.param("pool.source-silent", 0, "problem", "its token is right", id="a silent source"),
        pytest.param(
            "pool.held-by-stale", 0, "problem", "its token is right", id="a source that fell silent"
        ),
        pytest.param("pool.provider-silent", 0, "problem", "its provider", id="a silent provider"),
        pytest.param("pool.broken", 0, "problem", "remuda validate FILE", id="a broken object"),
        pytest.param("pool.held-by-ceiling", 3, "ok", "", id="a ceiling is no fault"),
        pytest.param("pool.paused", 0, "ok", "", id="a pause that nobody waits for"),
        pytest.param("pool.paused", 2, "problem", "remuda pools resume shell", id="a pause with a queue"),
    ],
)
def test_a_pool_is_a_problem_where_nobody_asked_for_what_keeps_it(
    code: str, waiting: int, verdict: str, fix: str
) -> None:
    found = judge_pools(view(pool("nix", "pool.steady"), pool("shell", code, waiting)))
    assert found.verdict == verdict
    assert fix in " ".join(found.fix)
    if code != "pool.steady":
        assert found.evidence[0].startswith(f"shell is {code}")
        assert ("(2 waiting)" in found.evidence[0]) == (waiting == 2)


def test_a_limit_is_mentioned_beside_what_is_wrong() -> None:
    found = judge_pools(view(pool("a", "pool.held-by-max", 1), pool("b", "pool.failing")))
    assert found.evidence == ("b is pool.failing", "a is pool.held-by-max (1 waiting)")
    assert judge_pools(view(pool("a", "pool.held-by-max"))).message == "1 pool in order, 1 at a limit"


def test_jobs_that_no_pool_serves_wait_in_vain() -> None:
    jobs = (job(3, "test/none"), job(2, "test/shell"), job(1, "test/none"))
    found = judge_queue(view(pool("shell", "pool.steady")), jobs, 3, NOW, runs=True)
    assert found.verdict == "problem"
    assert found.evidence == ("2 jobs of class test/none wait, and no pool serves it",)
    assert "one of: test/shell" in found.fix[0]


def test_jobs_wait_in_vain_where_nothing_runs() -> None:
    found = judge_queue(view(pool("shell", "pool.steady")), (job(1, "test/shell"),), 1, NOW, runs=False)
    assert found.verdict == "problem"
    assert found.evidence == ("1 job waits, and no remuda runs",)


def test_a_queue_that_is_served_is_in_order_and_says_who_waits_longest() -> None:
    served = view(pool("shell", "pool.steady"))
    assert judge_queue(served, (), 0, NOW, runs=False).message == "no job waits"
    found = judge_queue(served, (job(2, "test/shell"), job(9, "test/shell")), 1_500, NOW, runs=True)
    assert (found.verdict, found.message) == ("ok", "1500 jobs wait for a machine")
    assert "the longest has waited 9m" in found.evidence[0]
