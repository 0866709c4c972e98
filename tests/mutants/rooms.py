"""
One room of tests, collected once: each mutant is tried in a fork of the process that holds it.

The fork swaps the code of the one function that changed and runs the tests that reach the changed line, those of the file
itself first, the quickest first, until one fails. Which test reaches which line is measured once, in a fork, too.
"""

import ast
import gc
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.runner import runtestprotocol
from tests.mutants.changes import ROOT, SOURCE, Mutant

_FORK = multiprocessing.get_context("fork")
_MEMORY_BYTES = 6 << 30  # a loop that no longer ends must not take the machine's
#: A loop that no longer ends counts as caught: after this many times what a test takes, and so many seconds.
_PATIENCE, _LEAST_S = 10.0, 5.0
_WAITING_S = 120.0  # what waits for something that no longer comes takes no time of a processor


@dataclass(frozen=True, slots=True)
class Reach:
    """What the tests of a room reach without a change: seconds per test, and the tests of each line of a file."""

    seconds: Mapping[str, float]
    lines: Mapping[str, Mapping[int, Sequence[str]]]
    failed: Sequence[str]

    def tests(self, mutant: Mutant, text: str) -> list[str]:
        """The tests that reach a change, in the order to run them."""
        lines = self.lines.get(mutant.file, {})
        first, last = statement(mutant, text)
        found = {test for line in range(first, last + 1) for test in lines.get(line, ())}
        if not found:  # it runs while it is imported
            found = {test for tests in lines.values() for test in tests}
        own = f"test_{Path(mutant.file).stem}"
        return sorted(found, key=lambda test: (own not in test, self.seconds[test], test))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: caught or not by tests in a fork; `files` are those that reach it. None: it takes a new process."""

    mutant: Mutant
    is_caught: bool | None
    files: tuple[str, ...] = ()


def statement(mutant: Mutant, text: str) -> tuple[int, int]:
    """The first and last line of the innermost statement that a mutant changes; of one that holds others, without these."""
    best = (mutant.line, mutant.line)
    for node in ast.walk(ast.parse(text)):  # the outer before the inner
        match node:
            case ast.match_case(pattern=pattern, body=body):
                first, last = pattern.lineno, body[0].lineno - 1
            case ast.stmt(lineno=first, end_lineno=int(last)):
                inner = getattr(node, "body", [])
                last = inner[0].lineno - 1 if inner else last
            case _:
                continue
        if first <= mutant.line <= max(first, last):
            best = (first, max(first, last))
    return best


def swapped(mutant: Mutant, text: str) -> tuple[CodeType, CodeType] | None:
    """The code of the outermost function that a mutant changes, before and after; None when it changes more than a body."""
    path = str(SOURCE / mutant.file)
    pairs = [(compile(text, path, "exec"), compile(mutant.applied(text), path, "exec"))]
    changed = []
    while pairs:
        old, new = pairs.pop()
        inner = [one for one in old.co_consts if isinstance(one, CodeType)]
        after = [one for one in new.co_consts if isinstance(one, CodeType)]
        if _bare(old) != _bare(new) or len(inner) != len(after):
            return None
        for before, behind in zip(inner, after, strict=True):
            if before == behind:
                continue
            if _is_body(before):
                changed.append((before, behind))
            else:
                pairs.append((before, behind))
    return changed[0] if len(changed) == 1 else None


def _is_body(code: CodeType) -> bool:
    """Whether it is a function's: those of modules and classes bind no fast locals."""
    return bool(code.co_flags & 0x1)


def _bare(code: CodeType) -> tuple[object, ...]:
    constants = tuple(repr(one) for one in code.co_consts if not isinstance(one, CodeType))
    return code.co_code, constants, code.co_names


class Room:
    """A plugin of pytest that tries mutants instead of running the tests once, and sends what it found."""

    def __init__(
        self, mutants: Sequence[Mutant], jobs: int, results: "Connection[Verdict | list[str], None]"
    ) -> None:
        self._mutants, self._jobs, self._results = mutants, jobs, results

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests."""
        if session.testsfailed:
            self._results.send(["its tests cannot be collected"])
            return True
        items = {item.nodeid: item for item in session.items}
        reach = _measured(session.items, {one.file for one in self._mutants})
        if reach.failed:
            self._results.send(list(reach.failed))
            return True
        functions = _functions({str(SOURCE / one.file) for one in self._mutants})
        waiting = []
        for mutant in self._mutants:
            text = (SOURCE / mutant.file).read_text(encoding="utf-8")
            codes = swapped(mutant, text)
            tests = [items[name] for name in reach.tests(mutant, text)]
            files = tuple(sorted({str(item.path) for item in tests}))
            live = functions.get(codes[0], []) if codes else []
            if codes is None or not live:
                self._results.send(Verdict(mutant, None, files))
            else:
                seconds = [reach.seconds[item.nodeid] for item in tests]
                waiting.append((Verdict(mutant, None, files), tests, seconds, live, codes[1]))
        for verdict, is_caught in _forked(waiting, self._jobs):
            self._results.send(Verdict(verdict.mutant, is_caught, verdict.files))
        return True


def try_room(
    room: str, mutants: Sequence[Mutant], jobs: int, results: "Connection[Verdict | list[str], None]"
) -> None:
    """In a process of its own: collect the quick tests of a room and try the mutants; the pipe is closed at the end."""
    _silence()
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    os.chdir(ROOT)
    with results:
        pytest.main(
            ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", str(ROOT / "tests" / room)],
            plugins=[Room(mutants, jobs, results)],
        )


def _measured(items: Sequence[pytest.Item], files: Iterable[str]) -> Reach:
    ours, theirs = _FORK.Pipe(duplex=False)
    run = _FORK.Process(target=_measure, args=(items, sorted(files), theirs))
    run.start()
    theirs.close()
    try:
        found = ours.recv()
    except EOFError:
        found = Reach({}, {}, ["the tests ended the process"])
    run.join()
    assert isinstance(found, Reach)
    return found


def _measure(items: Sequence[pytest.Item], files: Sequence[str], results: "Connection[Reach, None]") -> None:
    import coverage

    os.environ["COVERAGE_CORE"] = "ctrace"  # the only one that knows whose line it is
    measured = coverage.Coverage(
        data_file=None, config_file=False, include=[str(SOURCE / file) for file in files]
    )
    seconds, failed = {}, []
    measured.start()
    for item, after in zip(items, [*items[1:], None], strict=True):
        measured.switch_context(item.nodeid)
        began = time.process_time()
        reports = runtestprotocol(item, log=False, nextitem=after)
        seconds[item.nodeid] = time.process_time() - began
        failed += [report.nodeid for report in reports if report.failed]
    measured.stop()
    data = measured.get_data()
    lines = {
        file: {
            line: [name for name in names if name]
            for line, names in data.contexts_by_lineno(str(SOURCE / file)).items()
        }
        for file in files
    }
    results.send(Reach(seconds, lines, failed))


def _functions(paths: set[str]) -> dict[CodeType, list[FunctionType]]:
    """Every function of these files, by its code; `tests/conftest.py` has frozen what is there."""
    gc.unfreeze()
    found: dict[CodeType, list[FunctionType]] = {}
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename in paths:
            found.setdefault(one.__code__, []).append(one)
    gc.freeze()
    return found


_Attempt = tuple[Verdict, Sequence[pytest.Item], Sequence[float], Sequence[FunctionType], CodeType]


def _forked(waiting: Sequence[_Attempt], jobs: int) -> Iterator[tuple[Verdict, bool]]:
    """Try each in a fork, so many at a time."""
    left = list(reversed(waiting))
    running: dict[int, tuple[Verdict, multiprocessing.context.ForkProcess]] = {}
    while left or running:
        while left and len(running) < jobs:
            verdict, *args = left.pop()
            run = _FORK.Process(target=_attempt, args=args)
            run.start()
            running[run.sentinel] = verdict, run
        for sentinel in wait(list(running)):
            assert isinstance(sentinel, int)
            verdict, run = running.pop(sentinel)
            run.join()
            yield verdict, run.exitcode != 0


def _attempt(
    items: Sequence[pytest.Item], seconds: Sequence[float], functions: Sequence[FunctionType], code: CodeType
) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    for function in functions:
        function.__code__ = code
    for item, after, usual in zip(items, [*items[1:], None], seconds, strict=True):
        # nobody handles these signals: they end the process
        signal.setitimer(signal.ITIMER_PROF, _LEAST_S + _PATIENCE * usual)
        signal.setitimer(signal.ITIMER_REAL, _WAITING_S + _PATIENCE * usual)
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=after)):
            os._exit(1)
    os._exit(0)


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
