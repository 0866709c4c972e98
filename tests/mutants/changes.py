"""
Small changes of judgement: a comparison turned, a sign, an `and` for an `or`, a condition negated, a statement left out, a number off by one.

A line whose change nobody could notice says why beside it (`# pragma: no mutate - why`), and is left alone.
"""

import ast
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "remuda"

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
        return f"src/remuda/{self.file}:{self.line}: {' '.join(self.old.split())} -> {' '.join(self.new.split())}"

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
        raise LookupError(f"{file} no longer has {old!r}: write the change anew in tests/mutants/changes.py")
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
                # what follows stays where it is: tests are chosen by line
                start, end = span(node)
                yield between(start, end, "pass" + "\n" * raw[start:end].count(b"\n"), node.lineno)


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
    """
    The named ones, and others from every file alike, so that a large file does not take them all.

    Each file has dice of its own: what is edited elsewhere leaves its sample as it was.
    """
    texts = {file: (source / file).read_text(encoding="utf-8") for file in targets(source)}
    chosen = [named(file, old, new, (source / file).read_text(encoding="utf-8")) for file, old, new in NAMED]
    pools = {file: list(dict.fromkeys(mutants_of(file, text))) for file, text in texts.items()}
    for file, pool in pools.items():
        random.Random(f"{seed} {file}").shuffle(pool)
    while len(chosen) < count and any(pools.values()):
        chosen += [pool.pop() for pool in pools.values() if pool]
    return chosen[: max(count, len(NAMED))]
