"""
`python -m tests.coverage`: the branches of judgement that its own tests reach; part of `make test`.

Judgement is every package named `decide`, and `rules`. All of it must be reached, by the quick tests closest to it: those in
the directory of its name, or in that of its room where there is none. What only a long history reaches, nobody notices when
it breaks. A line that cannot be reached is excepted beside the
line, with its reason (`# pragma: no cover - why`). Packages that are not there yet have a floor, which may only rise.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "remuda"
#: packages that are not at 100 % yet, and what they must not fall below; one that is not named here must be at 100
FLOORS: dict[str, float] = {
    "fleet/decide": 100,
}
JOBS = os.environ.get("JOBS", "2")
_EXCEPTION = re.compile(r"#\s*pragma:\s*no (?:cover|branch)\b(?P<reason>.*)")


@dataclass(frozen=True, slots=True)
class Figure:
    """How much of a package is reached: lines and branches together, and where something is missing."""

    package: str
    percent: float
    missing: tuple[str, ...]


def packages(source: Path = SOURCE) -> list[str]:
    """The packages that judge, by their place below the source."""
    found = [path for path in source.rglob("decide") if (path / "__init__.py").is_file()]
    return sorted(path.relative_to(source).as_posix() for path in [*found, source / "rules"])


def rooms(judging: Iterable[str], tests: Path = ROOT / "tests") -> list[str]:
    """The directories of tests that are closest to these packages: of their names, else of their rooms."""
    near = {
        next((place for place in (tests / package, tests / package.split("/")[0]) if place.is_dir()), None)
        for package in judging
    }
    return sorted(str(place) for place in near if place)


def figures(report: Mapping[str, Any], judging: Iterable[str]) -> list[Figure]:
    """Sum up coverage's report, package by package."""
    made = []
    for package in judging:
        files = {
            path: found
            for path, found in report["files"].items()
            if path.startswith(f"src/remuda/{package}/")
        }
        totals = [found["summary"] for found in files.values()]
        reached = sum(one["covered_lines"] + one["covered_branches"] for one in totals)
        there = sum(one["num_statements"] + one["num_branches"] for one in totals)
        missing = tuple(
            f"{path}:{where}" for path, found in sorted(files.items()) for where in _missing(found)
        )
        made.append(Figure(package, 100.0 * reached / there if there else 0.0, missing))
    return made


def _missing(found: Mapping[str, Any]) -> list[str]:
    lines = set(found["missing_lines"])
    branches = [
        f"{start}->{'exit' if end < 0 else end}"
        for start, end in found["missing_branches"]
        if start not in lines and end not in lines
    ]
    return [str(line) for line in sorted(lines)] + branches


def problems(found: Iterable[Figure], floors: Mapping[str, float]) -> list[str]:
    """What keeps the build from being green, each with what to do."""
    said = []
    for figure in found:
        floor = floors.get(figure.package, 100.0)
        if figure.percent < floor:
            places = ", ".join(figure.missing[:20])
            said.append(
                f"{figure.package}: {figure.percent:.2f} %, at least {floor:g} % wanted; not reached: {places}"
            )
    return said


def exceptions_without_reason(source: Path, judging: Iterable[str]) -> list[str]:
    """Lines that are excepted and do not say why."""
    return [
        f"{path.relative_to(source)}:{number}: say why this line cannot be reached"
        for package in judging
        for path in sorted((source / package).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (found := _EXCEPTION.search(line)) and not re.search(r"\w{3}", found["reason"])
    ]


def measure(judging: list[str]) -> dict[str, Any]:
    """Run the quick tests that are closest under coverage and read its report."""
    with tempfile.TemporaryDirectory() as place:
        settings, report = Path(place) / "coveragerc", Path(place) / "report.json"
        include = "\n  ".join(f"src/remuda/{package}/*" for package in judging)
        settings.write_text(
            f"[run]\nbranch = true\nparallel = true\npatch = subprocess\ndisable_warnings = no-data-collected\ndata_file = {place}/data\ninclude =\n  {include}\n",
            encoding="utf-8",
        )
        coverage = [sys.executable, "-m", "coverage"]
        chosen = f"--rcfile={settings}"
        tests = [
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            # one process needs nobody to share tests out
            *(("-p", "no:xdist") if JOBS == "1" else ("-n", JOBS)),
            "-m",
            "not slow",
            *rooms(judging),
        ]
        # the engine that is compiled cannot be measured; the same source runs as Python beside it
        environ = {**os.environ, "HYPOTHESIS_PROFILE": "quick"}
        subprocess.run([*coverage, "run", chosen, *tests], cwd=ROOT, env=environ, check=True)
        subprocess.run([*coverage, "combine", "-q", chosen], cwd=ROOT, check=True)
        subprocess.run([*coverage, "json", "-q", chosen, "-o", str(report)], cwd=ROOT, check=True)
        read: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return read


def main() -> int:
    """Measure, print one line per package and what is missing; 1 when a package is below its floor."""
    judging = packages()
    found = figures(measure(judging), judging)
    for figure in found:
        floor = FLOORS.get(figure.package, 100.0)
        advice = "   raise it in tests/coverage.py" if figure.percent >= floor + 1 else ""
        sys.stdout.write(f"{figure.package:<24}{figure.percent:7.2f} %   floor {floor:g} %{advice}\n")
    said = [*problems(found, FLOORS), *exceptions_without_reason(SOURCE, judging)]
    sys.stdout.writelines(f"{line}\n" for line in said)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
