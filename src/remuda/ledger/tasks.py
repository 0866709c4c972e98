"""Changes on their way to the thread that writes, and what became of them on the way back."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # who only reads or keeps a document has no event loop
    from asyncio import AbstractEventLoop, Future

#: what a change returned, or why nothing was done
Result = tuple[Any, Exception | None]


class Task:
    """A change, and what its caller waits for in an event loop; None where nobody does."""

    __slots__ = ("change", "durable", "future")

    def __init__(
        self, change: Callable[[Any], Any], *, durable: bool, future: "Future[Any] | None" = None
    ) -> None:
        self.change, self.durable, self.future = change, durable, future


def answer(batch: Sequence[Task], results: Sequence[Result]) -> None:
    """Tell all who wait, from another thread: all of a loop at once, because waking it takes longer than most changes."""
    by_loop: dict[AbstractEventLoop, list[tuple[Future[Any], Result]]] = {}
    for task, result in zip(batch, results, strict=True):
        if task.future is not None:
            by_loop.setdefault(task.future.get_loop(), []).append((task.future, result))
    for loop, answers in by_loop.items():
        with suppress(RuntimeError):  # it is closed: nobody listens
            loop.call_soon_threadsafe(_settle, answers)


def fail(batch: Sequence[Task], problem: Exception) -> None:
    """Tell all who wait that nothing was done."""
    answer(batch, [(None, problem)] * len(batch))


def _settle(answers: "list[tuple[Future[Any], Result]]") -> None:
    for future, (found, problem) in answers:
        if future.done():  # who asked has gone, and what it asked for was done all the same
            continue
        if problem is None:
            future.set_result(found)
        else:
            future.set_exception(problem)
