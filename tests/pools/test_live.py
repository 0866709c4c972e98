"""The live view."""

from pathlib import Path
from typing import Any, TypeVar

import pytest
from rich.console import Console
from tests.builders import NOW

from remuda.control.client import NothingRuns, Remuda
from remuda.control.notices import notices
from remuda.loop.clock import Clock
from remuda.model.jobs import Job, JobList, JobSpec, JobState
from remuda.pools.controller import LOOP
from remuda.pools.live import ask, render
from remuda.pools.views import PoolsView

T = TypeVar("T")


class StillClock(Clock):
    def now(self) -> int:
        return NOW

    def monotonic(self) -> float:
        return 0.0


def job(number: int, state: JobState) -> Job:
    return Job(
        id=number,
        job_class="test/shell",
        state=state,
        priority=0,
        retries=0,
        spec=JobSpec((f"command-{number}",)),
        submitted_at=NOW,
        changed_at=NOW,
        cancelled=False,
        attempts=(),
    )


class Crowded(Remuda):
    """Two old jobs run, and a hundred newer ones wait."""

    def __init__(self, phase: str | None = "running") -> None:
        super().__init__(Path("/d"), None, lambda: ())
        self._phase = phase

    def get(self, path: str, kind: type[T], **query: object) -> T:
        answer: Any = []
        match path:
            case "/v1/pools":
                answer = PoolsView(NOW, (), ())
            case "/v1/loops":
                answer = self._loops()
            case "/v1/jobs":
                answer = self._jobs(query)
        return answer  # type: ignore[no-any-return]

    def _loops(self) -> dict[str, Any]:
        if self._phase is None:
            raise NothingRuns(Path("/d"))
        return {"loops": [{"name": "pools", "phase": self._phase, "error": None}], "details": {}}

    def _jobs(self, query: dict[str, object]) -> JobList:
        jobs = [job(number, JobState.WAITING) for number in range(102, 2, -1)]
        jobs += [job(number, JobState.RUNNING) for number in (2, 1)]
        if "state" in query:
            jobs = [each for each in jobs if each.state == query["state"]]
        return JobList(tuple(jobs[: int(str(query["most"]))]), {"waiting": 100, "running": 2})


def drawn(remuda: Remuda, height: int | None = None) -> list[str]:
    console = Console(width=200, height=height or 60, record=True, file=None, force_terminal=False)
    with console.capture() as captured:
        seen = ask(remuda)
        console.print(render(*seen, NOW, height, notices(remuda, LOOP, seen[0].seen_at, NOW)))
    return captured.get().splitlines()


@pytest.mark.parametrize("height", [pytest.param(None, id="in a pipe"), pytest.param(24, id="on a screen")])
def test_jobs_that_run_are_shown_before_those_that_wait(height: int | None) -> None:
    rows = [line for line in drawn(Crowded(), height) if "test/shell" in line]
    assert [row.split()[0] for row in rows[:3]] == ["2", "1", "102"]


@pytest.mark.parametrize(
    ("phase", "line"),
    [
        pytest.param("paused", "loop pools is paused", id="paused"),
        pytest.param(None, "no remuda runs with /d", id="nothing runs"),
    ],
)
def test_the_view_says_below_its_title_that_nobody_decides(phase: str | None, line: str) -> None:
    title, first, *_ = drawn(Crowded(phase))
    assert title.startswith("remuda")
    assert first.startswith(line)
    assert len(drawn(Crowded(phase), 24)) <= len(drawn(Crowded(), 24))


def test_what_is_printed_once_says_all_of_a_notice() -> None:
    notice = "loop pools is paused and decides nothing; " * 3 + "resume it with `remuda loops resume pools`"
    console = Console(width=80, height=60, record=True, file=None, force_terminal=False)
    with console.capture() as captured:
        console.print(render(PoolsView(0, (), ()), JobList((), {}, 0), [], NOW, None, (notice,)))
    assert "resume it with `remuda loops resume pools`" in " ".join(captured.get().split())
