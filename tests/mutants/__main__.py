"""
`python -m tests.mutants`: break judgement on purpose, a little, many times, and see whether the close tests notice.

Close are the quick tests of the room that a file lives in, and no others. What survives is printed, and how many are caught
per room; fewer than 95 % is a failure. The seed is fixed, so that the same source gives the same mutants.
"""

import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.changes import NAMED, ROOT, SOURCE, Mutant, sample
from tests.mutants.rooms import Verdict, try_room

CAUGHT_PERCENT = 95.0
DEADLINE_S = 300.0  # a loop that no longer ends counts as caught


def room_of(mutant: Mutant) -> str:
    """The directory of tests that is close to a mutant."""
    return mutant.file.split("/", maxsplit=1)[0]


def close_tests(
    mutant: Mutant, reaching: Sequence[str] = (), tests: Path = ROOT / "tests"
) -> list[list[str]]:
    """
    What to tell pytest in a new process, one batch after the other: the file's own tests, slow ones too, then the quick others.

    The others are the files of tests that reach a mutant; the whole room if none is known.
    """
    room = tests / room_of(mutant)
    own = [str(path) for path in sorted(room.rglob(f"test_{Path(mutant.file).stem}*.py"))]
    rest = ["-m", "not slow", *(reaching or [str(room)])]
    return [own, rest] if own else [rest]


def tried(room: str, mutants: Sequence[Mutant], jobs: int) -> Iterator[Verdict]:
    """What the tests of a room say, in forks of one process. Raises SystemExit when they fail without any change."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe(duplex=False)
    run = spawn.Process(target=try_room, args=(room, mutants, jobs, theirs))
    run.start()
    theirs.close()
    left = len(mutants)
    while left:
        try:
            found = ours.recv()
        except EOFError:
            raise SystemExit(f"the tests of {room} ended before all was tried") from None
        if isinstance(found, list):
            raise SystemExit(f"tests fail without any change, make them pass first: {' '.join(found)}")
        yield found
        left -= 1
    run.join()


def survives(mutant: Mutant, place: Path, batches: Sequence[Sequence[str]]) -> bool:
    """Whether no test fails with the change, in new processes; `place` holds a copy of the source that nobody else uses."""
    path = place / "remuda" / mutant.file
    text = path.read_text(encoding="utf-8")
    path.write_text(mutant.applied(text), encoding="utf-8")
    # no compiled file is written: of two changes within a second the second would run the first's
    environ = {
        **os.environ,
        "PYTHONPATH": str(place),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_PROFILE": "survivors",
    }
    try:
        return all(_passes(tests, environ) for tests in batches)
    finally:
        path.write_text(text, encoding="utf-8")


def _passes(tests: Sequence[str], environ: Mapping[str, str]) -> bool:
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=ROOT,
            env=environ,
            check=False,
            capture_output=True,
            timeout=DEADLINE_S,
        )
    except subprocess.TimeoutExpired:
        return False
    if run.returncode not in {0, 1, 2, 4, 5}:  # 4: a conftest that cannot be imported
        raise RuntimeError(f"pytest {' '.join(tests)} did not run: exit code {run.returncode}")
    return run.returncode in {0, 5}  # 5: there are slow tests alone


def survivors(verdicts: Sequence[Verdict], jobs: int) -> Iterator[Mutant]:
    """Those that a new process with as many examples as CI has does not catch, either; some code runs only while it is imported."""
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(jobs) as pool:
        places: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            shutil.copytree(SOURCE, Path(scratch) / str(number) / "remuda")
            places.put(Path(scratch) / str(number))

        def attempt(verdict: Verdict) -> bool:
            place = places.get()
            try:
                return survives(verdict.mutant, place, close_tests(verdict.mutant, verdict.files))
            finally:
                places.put(place)

        for verdict, is_alive in zip(verdicts, pool.map(attempt, verdicts), strict=True):
            if is_alive:
                yield verdict.mutant


def main() -> int:
    """Try them all and print what survives; 1 when too many do, or a named one."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="only files whose path contains this")
    options = parser.parse_args()
    chosen = sample(options.count, options.seed)
    always = set(chosen[: len(NAMED)])
    chosen = [one for one in chosen if options.only in one.file]
    rooms = {room_of(one): [other for other in chosen if room_of(other) == room_of(one)] for one in chosen}
    began = time.monotonic()
    again, lived = [], []
    for room, mutants in sorted(rooms.items()):
        again += [found for found in tried(room, mutants, options.jobs) if not found.is_caught]
        print(f"{room:<12}{len(mutants):4} tried, {time.monotonic() - began:.0f} s", flush=True)
    for mutant in survivors(again, options.jobs):
        lived.append(mutant)
        print(f"survives  {mutant}", flush=True)
    alive = Counter(map(room_of, lived))
    for room, mutants in sorted(rooms.items()):
        print(f"{room:<12}{len(mutants) - alive[room]:4} of {len(mutants):4} caught")
    percent = 100.0 * (len(chosen) - len(lived)) / max(1, len(chosen))
    print(
        f"{len(chosen) - len(lived)} of {len(chosen)} mutants caught in {time.monotonic() - began:.0f} s:"
        f" {percent:.1f} %; at least {CAUGHT_PERCENT:g} % wanted"
    )
    return int(percent < CAUGHT_PERCENT or any(one in always for one in lived))


if __name__ == "__main__":
    sys.exit(main())
