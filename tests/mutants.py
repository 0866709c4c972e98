"""
`python -m tests.mutants`: break judgement on purpose, a little, many times, and see whether the close tests notice.

A mutant is the source with one small change: a comparison turned, a sign, an `and` for an `or`, a condition negated, a
statement left out, a number off by one. Each runs the tests of its own file, then the quick ones of its room, and no others. What
survives is printed; fewer than 95 % caught is a failure. The seed is fixed, so that the same source gives the same mutants.
A line whose change nobody could notice says why beside it (`# pragma: no mutate - why`), and is left alone.
"""

import argparse
import ast
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "remuda"
CAUGHT_PERCENT = 95.0
DEADLINE_S = 300.0  # a loop that no longer ends counts as caught
#: Each run of tests is forked from a process that has imported what they need: importing would take longer than most of them.
_FORKS = multiprocessing.get_context("forkserver")
_IMPORTED = [
    "pytest",
    "pytest_asyncio.plugin",
    "hypothesis.strategies",
    "aiohttp",
    "click",
    "msgspec",
    "numba",
    "prometheus_client",
    "rich.table",
    "yaml",
]

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*"}
_LEFT_ALONE = re.compile(r"#\s*pragma:\s*no mutate\b(?P<reason>.*)")
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the file below the source, and the text from one offset to another that becomes something else."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        """Where it is and what it does, in one line."""
        return f"src/remuda/{self.file}:{self.line}: {' '.join(self.old.split())} -> {self.new}"

    def applied(self, text: str) -> str:
        """The source with the change."""
        raw = text.encode()
        return (raw[: self.start] + self.new.encode() + raw[self.end :]).decode()


#: Changes that once survived: file, text and what it becomes. They are always among the mutants.
NAMED = (
    (
        "pools/decide/moves.py",
        "census.booting + len(census.draining) + len(census.moving) + moves.closed",
        "census.booting + len(census.draining) + moves.closed",
    ),
    ("kube/cache.py", "self._clock.monotonic() - self._agreed_at > _GOOD_S:", "False:"),
    ("kube/cache.py", "self._ended.pop(", "self._ended.get("),
    ("pools/decide/backoff.py", "machine.uses > 0", "machine.uses >= 0"),
    ("pools/decide/backoff.py", "machine.ready_at >= failed_at", "machine.ready_at > failed_at"),
    ("pools/decide/backoff.py", "failures >= FAILING", "failures > FAILING"),
)


def named(file: str, old: str, new: str, text: str) -> Mutant:
    """The first place of a text. Raises LookupError when the source no longer has it."""
    raw = text.encode()
    start = raw.find(old.encode())
    if start < 0:
        raise LookupError(f"{file} no longer has {old!r}: write the change anew in tests/mutants.py")
    return Mutant(file, raw[:start].count(b"\n") + 1, start, start + len(old.encode()), old, new)


def mutants_of(file: str, text: str) -> Iterator[Mutant]:
    """Every change that is tried in a source. Raises ValueError for a line that is left alone and does not say why."""
    left_alone = set()
    for number, line in enumerate(text.splitlines(), 1):
        if found := _LEFT_ALONE.search(line):
            if not re.search(r"\w{3}", found["reason"]):
                raise ValueError(f"{file}:{number}: say why a change of this line cannot be noticed")
            left_alone.add(number)
    for mutant in _changes(file, text):
        if mutant.line not in left_alone:
            yield mutant


def _changes(file: str, text: str) -> Iterator[Mutant]:
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    raw = text.encode()

    def between(start: int, end: int, new: str, line: int) -> Mutant:
        return Mutant(file, line, start, end, raw[start:end].decode(), new)

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def operator(left: ast.expr, right: ast.expr, old: str, new: str, line: int) -> Iterator[Mutant]:
        # brackets and comments may lie between; only what is found for certain is changed
        gap = raw[span(left)[1] : span(right)[0]].decode()
        if gap.strip(" ()\n") == old:
            at = span(left)[1] + gap.encode().index(old.encode())
            yield between(at, at + len(old.encode()), new, line)

    for node in ast.walk(_without_annotations(ast.parse(text))):
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                yield from operator(left, right, _sign(op), _COMPARISONS[type(op)], node.lineno)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS and not _is_text(node):
                yield from operator(left, right, _sign(op), _OPERATORS[type(op)], node.lineno)
            case ast.BoolOp(op=op, values=[left, right, *_]):
                old, new = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                yield from operator(left, right, old, new, node.lineno)
            case ast.UnaryOp(op=ast.Not()):
                yield between(span(node)[0], span(node)[0] + len("not "), "", node.lineno)
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                start, end = span(test)
                yield between(start, end, f"(not ({raw[start:end].decode()}))", node.lineno)
            case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
                start, end = span(node.func)
                yield between(start, end, _CALLS[name], node.lineno)
            case ast.Constant(value=bool()):
                yield between(*span(node), str(not node.value), node.lineno)
            case ast.Constant(value=int(value)) if 0 <= value <= 100:
                yield between(*span(node), str(value + 1), node.lineno)
            case ast.Expr(value=ast.Call()) | ast.AugAssign():
                yield between(*span(node), "pass", node.lineno)


def _sign(op: ast.cmpop | ast.operator) -> str:
    made = (
        ast.Compare(ast.Name("a"), [op], [ast.Name("b")])
        if isinstance(op, ast.cmpop)
        else ast.BinOp(ast.Name("a"), op, ast.Name("b"))
    )
    return ast.unparse(made)[1:-1].strip()


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _without_annotations(tree: ast.Module) -> ast.Module:
    """
    What decides nothing is not changed.

    That is annotations, how a class is laid out, and what only states what is known: assertions, and `strict` of zip.
    """

    class Strip(ast.NodeTransformer):
        def visit_Assert(self, node: ast.Assert) -> None:
            del node

        def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
            node.annotation = ast.Name("x")
            return self.generic_visit(node)

        def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
            # where things are within an f-string is not known before Python 3.12
            return ast.copy_location(ast.Constant(""), node)

        def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
            node.keywords = []
            node.decorator_list = []
            return self.generic_visit(node)

        def visit_keyword(self, node: ast.keyword) -> ast.AST | None:
            return None if node.arg == "strict" else self.generic_visit(node)

        def visit_arg(self, node: ast.arg) -> ast.arg:
            node.annotation = None
            return node

        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
            node.returns = None
            node.decorator_list = []
            return self.generic_visit(node)

    stripped = Strip().visit(tree)
    assert isinstance(stripped, ast.Module)
    return stripped


def targets(source: Path = SOURCE) -> list[str]:
    """The files that are changed: judgement, the watch cache and the ledger."""
    found = [path for place in source.rglob("decide") for path in place.glob("*.py")]
    found += [
        *(source / "rules").glob("*.py"),
        source / "kube" / "cache.py",
        *(source / "ledger").glob("*.py"),
    ]
    return sorted(path.relative_to(source).as_posix() for path in found if path.name != "__init__.py")


def sample(count: int, seed: int, source: Path = SOURCE) -> list[Mutant]:
    """The named ones, and others from every file alike, so that a large file does not take them all."""
    rng = random.Random(seed)
    texts = {file: (source / file).read_text(encoding="utf-8") for file in targets(source)}
    chosen = [named(file, old, new, (source / file).read_text(encoding="utf-8")) for file, old, new in NAMED]
    pools = {file: list(dict.fromkeys(mutants_of(file, text))) for file, text in texts.items()}
    for pool in pools.values():
        rng.shuffle(pool)
    while len(chosen) < count and any(pools.values()):
        chosen += [pool.pop() for pool in pools.values() if pool]
    return chosen[: max(count, len(NAMED))]


def close_tests(file: str, tests: Path = ROOT / "tests") -> list[list[str]]:
    """What to tell pytest, one batch after the other: the file's own tests, then the quick ones of its room."""
    room = tests / file.split("/", maxsplit=1)[0]
    own = sorted(room.rglob(f"test_{Path(file).stem}*.py"))
    quick = ["-m", "not slow", str(room)]
    return [[str(path) for path in own], quick] if own else [quick]


def survives(mutant: Mutant, place: Path) -> bool:
    """Whether no close test fails with the change; `place` holds a copy of the source that nobody else uses."""
    path = place / "remuda" / mutant.file
    text = path.read_text(encoding="utf-8")
    path.write_text(mutant.applied(text), encoding="utf-8")
    try:
        return all(_passes(place, tests) for tests in close_tests(mutant.file))
    finally:
        path.write_text(text, encoding="utf-8")


def _passes(place: Path, tests: Sequence[str]) -> bool:
    run = _FORKS.Process(target=_run, args=(str(place), tests))
    run.start()
    run.join(DEADLINE_S)
    if run.exitcode is None:
        assert run.pid is not None
        os.killpg(run.pid, signal.SIGKILL)
        run.join()
        return False
    if run.exitcode not in {0, 1, 2, 5}:
        raise RuntimeError(f"pytest {' '.join(tests)} did not run: exit code {run.exitcode}")
    return run.exitcode in {0, 5}  # 5: the room has slow tests alone


def _run(place: str, tests: Sequence[str]) -> None:
    """Run tests on the source in `place`, in a process that has imported all but that source; its exit code says how it went."""
    os.setsid()  # what the tests start ends with them
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    # no compiled file is written: of two changes within a second the second would run the first's
    sys.dont_write_bytecode = True
    os.environ.update(PYTHONPATH=place, PYTHONDONTWRITEBYTECODE="1", HYPOTHESIS_PROFILE="quick")
    sys.path.insert(0, place)
    os.chdir(ROOT)
    # that asserts of what was imported before are not rewritten is no matter here
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    code = int(pytest.ExitCode.INTERNAL_ERROR)
    try:
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *quiet, *tests]))
    finally:
        os._exit(code)


def main() -> int:
    """Try them all and print what survives; 1 when too many do, or a named one."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="only files whose path contains this")
    options = parser.parse_args()
    chosen = [one for one in sample(options.count, options.seed) if options.only in one.file]
    always = set(chosen[: len(NAMED)])
    began = time.monotonic()
    _FORKS.set_forkserver_preload(_IMPORTED)
    with tempfile.TemporaryDirectory() as scratch:
        places: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            place = Path(scratch) / str(number)
            shutil.copytree(SOURCE, place / "remuda")
            places.put(place)

        def attempt(mutant: Mutant) -> bool:
            place = places.get()
            try:
                return survives(mutant, place)
            finally:
                places.put(place)

        # nothing is caught by a test that fails without a change, too
        for file in sorted({one.file.split("/", maxsplit=1)[0]: one.file for one in chosen}.values()):
            if not _passes(Path(scratch) / "0", close_tests(file)[-1]):
                raise SystemExit(f"the quick tests of {file} fail without any change: make them pass first")
        lived = []
        with ThreadPoolExecutor(options.jobs) as pool:
            for number, (mutant, is_alive) in enumerate(
                zip(chosen, pool.map(attempt, chosen), strict=True), 1
            ):
                if is_alive:
                    lived.append(mutant)
                    print(f"survives  {mutant}", flush=True)
                if number % 50 == 0:
                    print(f"{number} of {len(chosen)}, {time.monotonic() - began:.0f} s", flush=True)
    percent = 100.0 * (len(chosen) - len(lived)) / max(1, len(chosen))
    print(
        f"{len(chosen) - len(lived)} of {len(chosen)} mutants caught: {percent:.1f} %; at least {CAUGHT_PERCENT:g} % wanted"
    )
    return int(percent < CAUGHT_PERCENT or any(one in always for one in lived))


if __name__ == "__main__":
    sys.exit(main())
