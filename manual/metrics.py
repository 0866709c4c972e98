"""
Every metric with its labels, from the calls that make them.

Meters are made when a job is built, some only in a cluster; so the source is read instead of a running process. A test
compares what is found with what a process exports.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

import remuda
from manual.tables import code, prose, table

_TYPES = {"Counter": "counter", "Gauge": "gauge", "Histogram": "histogram", "Summary": "summary"}
_BEGINS = "remuda_"


class Metric(Struct, frozen=True, order=True):
    """One metric, under the name that Prometheus sees."""

    name: str
    type: str
    meaning: str
    labels: tuple[str, ...]


def page() -> str:
    """`reference/metrics.md`."""
    rows = [
        (code(each.name), each.type, ", ".join(map(code, each.labels)), prose(each.meaning))
        for each in metrics()
    ]
    return (
        "# Metrics\n\nPrometheus reads them from `/metrics` of the health port. A histogram has `_bucket`, `_sum` and"
        " `_count` behind its name. No metric is labelled by machine or by job.\n\n"
        f"{table(('metric', 'type', 'labels', 'meaning'), rows)}"
    )


def metrics(root: Path = Path(remuda.__file__).parent) -> list[Metric]:
    """All that Remuda's own modules make, by name."""
    sources = (path.read_bytes() for path in sorted(root.rglob("*.py")))
    return sorted(
        each for source in sources if _BEGINS.encode() in source for each in _made(ast.parse(source))
    )


def _made(module: ast.Module) -> Iterator[Metric]:
    for call in ast.walk(module):
        if not isinstance(call, ast.Call) or (kind := _TYPES.get(_called(call.func))) is None:
            continue
        try:
            words = [ast.literal_eval(each) for each in call.args[:3]]
        except ValueError:
            continue  # what counts something else
        if words and isinstance(words[0], str) and words[0].startswith(_BEGINS):
            name, meaning, labels = (*words, [])[:3]
            yield Metric(f"{name}_total" if kind == "counter" else name, kind, meaning, tuple(labels))


def _called(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
