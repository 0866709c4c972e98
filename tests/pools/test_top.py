"""`remuda top`: what is drawn, and what becomes of it when nobody answers."""

from typing import Any, TypeVar

from rich.console import Console
from tests.builders import NOW
from tests.pools.test_live import Crowded, StillClock

from remuda.errors import Unavailable
from remuda.pools.top import Top

T = TypeVar("T")


class Leaving(Crowded):
    """Answers until it is away."""

    is_away = False

    def get(self, path: str, kind: type[T], **query: object) -> T:
        if self.is_away:
            raise Unavailable("the connection to remuda was lost")
        return super().get(path, kind, **query)


def drawn(top: Top, height: int = 30) -> str:
    console = Console(width=160, height=height, force_terminal=False)
    with console.capture() as captured:
        console.print(top.picture(height))
    return captured.get()


def made(explained: list[Any] | None = None) -> tuple[Top, Leaving]:
    remuda = Leaving()

    def explain(kind: str, name: str) -> tuple[str, ...]:
        if explained is not None:
            explained.append((kind, name))
        return (f"why {kind} {name}", *(f"line {n}" for n in range(40)))

    return Top(remuda, StillClock(), explain), remuda


def test_a_job_is_found_sorted_filtered_and_asked_about() -> None:
    asked: list[Any] = []
    top, _ = made(asked)
    top.ask()
    for key in ("3", "s", "r"):
        assert not top.press(key)
    rows = [line for line in drawn(top).splitlines() if "test/shell" in line]
    assert [row.split()[0] for row in rows[:3]] == ["2", "1", "102"]
    assert "▸ jobs (2 running, 100 waiting)" in drawn(top)
    assert "JOB ▾" in drawn(top)
    for key in ("/", "w", "a", "i", "t", "enter", "down"):
        top.press(key)
    assert "filter: wait" in drawn(top)
    assert "running  " not in drawn(top)
    assert top.press("enter")
    assert "asking …" in drawn(top)
    top.ask()
    assert asked == [("job", "101")]
    screen = drawn(top)
    assert "remuda why job 101" in screen
    assert "why job 101" in screen
    assert "… 14 more" in screen
    assert len(screen.splitlines()) <= 30
    for _ in range(99):
        top.press("down")
    assert "line 39" in drawn(top)
    top.press("esc")
    assert "▸ jobs" in drawn(top)


def test_the_row_that_is_chosen_is_on_the_screen() -> None:
    top, _ = made()
    top.ask()
    top.press("3")
    for _ in range(40):
        top.press("down")
    assert "command-64" in drawn(top)


def test_when_nobody_answers_the_last_answer_stays_and_says_since_when() -> None:
    top, remuda = made()
    remuda.is_away = True
    top.ask()
    assert "no answer since" in drawn(top)
    remuda.is_away = False
    top.ask()
    assert "no answer" not in drawn(top)
    remuda.is_away = True
    top.ask()
    assert top.silent_since == NOW
    screen = drawn(top)
    assert "command-102" in screen
    assert "asking again every second: the connection to remuda was lost" in screen
    remuda.is_away = False
    top.ask()
    assert "no answer" not in drawn(top)


def test_what_is_gone_when_it_is_asked_about_says_so() -> None:
    top, _ = made()

    def explain(kind: str, name: str) -> tuple[str, ...]:
        raise Unavailable(f"nothing is recorded of {kind} {name}")

    top.explain = explain
    top.ask()
    for key in ("3", "enter"):
        top.press(key)
    top.ask()
    assert "nothing is recorded of job 2" in drawn(top)
