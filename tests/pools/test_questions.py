"""How an attempt of a job ended, in words."""

import pytest
from tests.builders import NOW

from remuda.model.jobs import Attempt, Job, JobSpec, JobState
from remuda.model.times import MINUTE
from remuda.pools.questions import _ending


@pytest.mark.parametrize(
    ("limit", "status", "detail", "words"),
    [
        pytest.param(None, "exited", None, "exited 3", id="by itself"),
        pytest.param(MINUTE, "timeout", None, "timeout after 1m, the job's own limit", id="by its own limit"),
        pytest.param(
            None, "timeout", None, "timeout after 2m, the jobTimeout of pool shell", id="by its pool's"
        ),
        pytest.param(
            None, "unstartable", "no directory", "never started, no directory", id="before it began"
        ),
        pytest.param(None, "lost", "machine died", "lost, machine died", id="with its machine"),
    ],
)
def test_the_end_of_an_attempt_names_what_ended_it(
    limit: int | None, status: str, detail: str | None, words: str
) -> None:
    job = Job(1, "test/shell", JobState.FAILED, 0, 0, JobSpec(("x",), timeout=limit), NOW, NOW)
    attempt = Attempt(1, "shell-7", NOW, NOW + 2 * MINUTE, status, 3, detail)
    assert _ending(job, attempt) == words
