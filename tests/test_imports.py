"""The rules of the house that can be read off the source: who imports whom, and that judgement is pure."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from remuda.jobs import JOBS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "remuda"
#: judgement: no I/O, no clock, no dice
PURE = [
    SOURCE / "capacity" / "decide",
    SOURCE / "capacity" / "show",
    SOURCE / "capacity" / "snapshot.py",
    SOURCE / "model",
    SOURCE / "rules",
    SOURCE / "pools" / "decide",
    SOURCE / "rightsize" / "decide",
    SOURCE / "diagnose" / "decide",
    SOURCE / "tiers" / "decide",
]
#: what tells the time, wherever it is called
_READS_CLOCK = {"now", "utcnow", "today"}
_FORBIDDEN = {"time", "random", "secrets", "uuid", "os"}
_WORDS = re.compile(rf"\b(?:{'|'.join([*_READS_CLOCK, *_FORBIDDEN])})\b")


_FRAME = {"control", "errors", "job", "kube", "ledger", "loop", "model", "objects", "output", "rules"}
#: room → the rooms that it may import; a room that is not here may import any, and only `jobs` and backends know jobs
DOORS = {
    "errors": set[str](),
    "model": {"errors"},
    "rules": {"errors", "model"},
    "output": {"errors", "model"},
    "ledger": {"errors", "model"},
    "loop": {"errors", "model"},
    "datadir": {"errors"},
    "objects": {"errors", "model", "rules"},
    "kube": {"errors", "loop", "model"},
    "prometheus": {"errors", "kube", "loop", "model"},
    "job": {"kube", "ledger", "objects", "output"},
    "control": {"datadir", *_FRAME},
    "runtime": _FRAME,
    # the dashboard knows the API and what jobs describe; jobs draw their pages with it
    "web": {"datadir", *_FRAME},
    "cluster": {"runtime", *_FRAME},
    "assembly": {"runtime", *_FRAME},
    # adapters know the vocabulary, not their callers
    "machines": {"errors", "model"},
    "sources": {"datadir", "web", *_FRAME},
    "providers": {"machines", *_FRAME},
    # one process, whatever jobs it runs
    "app": {"assembly", "cluster", "datadir", "jobs", "runtime", "web", *_FRAME},
    "dryrun": {"app", "assembly", "cluster", "runtime", *_FRAME},
}
#: jobs know neither each other nor adapters nor the composition root nor the command tree
JOB_DOORS = {"datadir", "prometheus", "runtime", "web", *_FRAME}


def job_rooms() -> set[str]:
    """The packages of jobs: a job within another room is of that room."""
    return {job.name for job in JOBS if (SOURCE / job.name).is_dir()}


@pytest.fixture(scope="module")
def imports() -> set[tuple[str, str]]:
    """Every import between two modules of ours."""
    graph = grimp.build_graph("remuda", cache_dir=None)
    return {
        (importer, imported)
        for importer in graph.modules
        for imported in graph.find_modules_directly_imported_by(importer)
    }


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@pytest.mark.slow
def test_every_room_opens_only_the_doors_it_may(imports: set[tuple[str, str]]) -> None:
    doors = DOORS | dict.fromkeys(job_rooms(), JOB_DOORS)
    strays = sorted(
        f"{importer} -> {imported}"
        for importer, imported in imports
        if room(importer) in doors and room(imported) not in doors[room(importer)] | {room(importer), ""}
    )
    assert strays == []


@pytest.mark.slow
def test_only_the_list_of_jobs_backends_simulations_and_their_own_commands_know_jobs(
    imports: set[tuple[str, str]],
) -> None:
    knowing = {
        room(importer)
        for importer, imported in imports
        if room(imported) in job_rooms() and room(importer) != room(imported)
    }
    assert knowing <= {"jobs", "backends", "sim"}


def test_every_job_has_its_doors() -> None:
    assert {"pools", "fleet", "capacity", "rightsize", "diagnose"} <= job_rooms()
    assert DOORS.keys().isdisjoint(job_rooms())


@pytest.mark.slow
def test_every_contract_is_kept() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "0 broken" in ran.stdout


def pure_modules() -> list[Path]:
    return sorted(path for room in PURE for path in (room.rglob("*.py") if room.is_dir() else [room]))


def impurities(source: str) -> Iterator[str]:
    if not _WORDS.search(source):  # a tenth of the time of taking it apart, and half have none of them
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in _READS_CLOCK:
                yield f"line {node.lineno}: .{name}() tells the time"
            case ast.Name(id=name) if name in _FORBIDDEN:
                yield f"line {node.lineno}: {name} is used"
            case ast.Import(names=names) if any(item.name.split(".")[0] in _FORBIDDEN for item in names):
                yield f"line {node.lineno}: {names[0].name} is imported"
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in _FORBIDDEN:
                yield f"line {node.lineno}: {module} is imported"


@pytest.mark.parametrize("path", pure_modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_judgement_reads_no_clock_and_rolls_no_dice(path: Path) -> None:
    assert list(impurities(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "source",
    [
        "from datetime import datetime\ndatetime.now()",
        "import datetime\ndatetime.date.today()",
        "datetime.utcnow()",
        "import time",
        "import time as clock",
        "from time import monotonic",
        "time.time()",
        "random.random()",
        "from random import Random",
    ],
)
def test_what_is_looked_for_is_found(source: str) -> None:
    assert list(impurities(source))


def test_judgement_is_not_empty() -> None:
    assert len(pure_modules()) > 15


def test_relative_imports_are_nowhere() -> None:
    for path in SOURCE.rglob("*.py"):
        found = re.search(r"^[ \t]*from[ \t]*\..*", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert found is None, f"{path}: {found[0]}"


def test_a_module_reads_in_one_sitting() -> None:
    long = {
        str(path.relative_to(SOURCE)): lines
        for path in SOURCE.rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 500
    }
    assert long == {}
