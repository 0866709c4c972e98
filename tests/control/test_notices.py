"""What is said before an answer about what was decided."""

from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.builders import NOW

from remuda.control.client import NothingRuns, Remuda
from remuda.control.command import Session
from remuda.control.notices import notices, show_notices
from remuda.job import Jobs
from remuda.model.times import MINUTE, SECOND

T = TypeVar("T")


class Fixed(Remuda):
    """Answers how the loops fare, or that nothing runs."""

    def __init__(self, phase: str | None, error: str | None = None, **details: object) -> None:
        super().__init__(Path("/d"), None, lambda: ())
        self._phase = phase
        self._answer = {
            "loops": [
                {"name": "pools", "phase": phase, "error": error},
                {"name": "fleet", "phase": "paused"},
            ],
            "details": details,
        }

    def get(self, path: str, kind: type[T], **query: object) -> T:
        assert (path, query) == ("/v1/loops", {})
        if self._phase is None:
            raise NothingRuns(Path("/d"))
        answer: Any = self._answer
        return answer  # type: ignore[no-any-return]


def said(remuda: Remuda, seen_at: int = NOW - SECOND, loop: str = "pools") -> tuple[str, ...]:
    return notices(remuda, loop, seen_at, NOW)


@pytest.mark.parametrize(
    ("remuda", "line"),
    [
        pytest.param(
            Fixed(None), "no remuda runs with /d: start one with … this is as of", id="nothing runs"
        ),
        pytest.param(Fixed("paused"), "loop pools is paused … `remuda loops resume pools`", id="paused"),
        pytest.param(
            Fixed("standby", leader="r-2"), "this replica stands by, and r-2 leads; …", id="standby"
        ),
        pytest.param(Fixed("standby", leader=None), "… and nobody leads; …", id="nobody leads"),
        pytest.param(
            Fixed("failing", "disk\nfull"), "loop pools is failing: disk full; this is as of …", id="failing"
        ),
        pytest.param(Fixed("broken"), "loop pools is broken: no reason is known; …", id="broken"),
        pytest.param(Fixed("starting"), "loop pools has not finished its first cycle; …", id="starting"),
        pytest.param(Fixed("stopped"), "loop pools is stopped and decides nothing; …", id="stopped"),
        pytest.param(
            Fixed("running", refused_reload="f:1: no\nf:2: no\nf:3: no"),
            "the last reload was refused, … in force: f:1: no (and 2 more)",
            id="other files are in force",
        ),
    ],
)
def test_an_answer_says_first_why_it_may_not_be_so_any_more(remuda: Remuda, line: str) -> None:
    (message,) = said(remuda)
    for part in line.split("…"):
        assert part.strip() in message


def test_nothing_is_said_while_all_is_well() -> None:
    assert said(Fixed("running")) == ()
    assert said(Fixed("running"), 0) == ()
    assert said(Fixed("paused"), loop="nope") == ()


def test_a_loop_that_runs_and_sees_nothing_new_is_slow() -> None:
    assert said(Fixed("running"), NOW - MINUTE)[0].startswith("loop pools is slow; this is as of ")


def test_a_pause_and_a_refused_reload_are_both_said() -> None:
    pause, reload = said(Fixed("paused", refused_reload="f: no"), 0)
    assert "is paused and decides nothing; nothing is recorded yet" in pause
    assert reload.endswith("in force: f: no")


@pytest.mark.parametrize(
    ("form", "quiet", "first", "err"),
    [
        pytest.param("table", False, ("paused",), "", id="a person reads it first"),
        pytest.param("table", True, (), "", id="whoever wants quiet has it"),
        pytest.param("json", False, (), "paused\n", id="a program's answer stays whole"),
    ],
)
def test_where_it_is_said_depends_on_who_asks(
    form: str, quiet: bool, first: tuple[str, ...], err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session(Jobs(()))
    session.form, session.quiet = form, quiet
    assert show_notices(session, ("paused",)) == first
    assert capsys.readouterr().err == err
