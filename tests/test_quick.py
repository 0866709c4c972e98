"""How the quick tests are shared out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.quick import Queue, is_all_slow, scratch


def test_each_number_is_taken_by_one_process() -> None:
    queue = Queue(3_000)
    ours, theirs = os.pipe()
    forks = []
    for _ in range(3):
        if not (pid := os.fork()):
            os.write(theirs, "".join(f"{number}\n" for number in queue).encode())
            os._exit(0)
        forks.append(pid)
    os.close(theirs)
    with os.fdopen(ours, encoding="utf-8") as read:
        numbers = [int(line) for line in read]
    assert [os.waitpid(pid, 0)[1] for pid in forks] == [0, 0, 0]
    assert sorted(numbers) == list(range(3_000))
    assert list(queue) == []


@pytest.mark.parametrize(
    ("text", "is_left_out"),
    [
        pytest.param("import pytest\n\npytestmark = pytest.mark.slow\n", True, id="the mark alone"),
        pytest.param(
            "pytestmark = [\n    pytest.mark.slow,\n    other,\n]\n", True, id="one of several marks"
        ),
        pytest.param("pytestmark = pytest.mark.slowly\n", False, id="another mark"),
        pytest.param("@pytest.mark.slow\ndef test_one() -> None: ...\n", False, id="one slow test"),
    ],
)
def test_a_file_is_left_out_when_every_test_in_it_is_slow(text: str, is_left_out: bool) -> None:
    assert is_all_slow(text) is is_left_out


def test_files_are_kept_in_memory_where_there_is_room_and_nothing_is_left(tmp_path: Path) -> None:
    with scratch(tmp_path, 0) as made:
        assert made.parent == tmp_path
        (made / "file").touch()
    assert list(tmp_path.iterdir()) == []
    for memory, room_bytes in ((tmp_path / "missing", 0), (tmp_path, 1 << 62)):
        with scratch(memory, room_bytes) as elsewhere:
            assert elsewhere.is_dir()
            assert elsewhere.parent != tmp_path
        assert not elsewhere.exists()


ROOT = Path(__file__).parents[1]


def quick(tmp_path: Path, *options: str, processes: int = 3) -> subprocess.CompletedProcess[str]:
    """A pytest that forks, on the files of a directory that knows nothing of ours."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    plugins = ["-p", "tests.quick", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, f"--basetemp={tmp_path}/t", *options, "."],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "JOBS": str(processes),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_each_test_runs_once_in_one_of_the_processes_with_its_own_output_and_files(tmp_path: Path) -> None:
    for file in range(6):
        (tmp_path / f"test_{file}.py").write_text(
            f"""
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(20))
def test_one(number, tmp_path, capfd):
    print("test", {file}, number, flush=True)
    os.system(f"echo again {file} {{number}}")
    assert capfd.readouterr().out == f"test {file} {{number}}\\nagain {file} {{number}}\\n"
    (tmp_path / "mine").touch(exist_ok=False)
    with pathlib.Path({str(tmp_path / "runs")!r}).open("a") as runs:
        runs.write(f"{file} {{number}}\\n")
"""
        )
    ended = quick(tmp_path)
    assert ended.returncode == 0, ended.stdout
    ran = (tmp_path / "runs").read_text().splitlines()
    assert sorted(ran) == sorted(f"{file} {number}" for file in range(6) for number in range(20))
    # wherever in a line it stands: both processes write as they come
    assert sum(map(int, re.findall(r"(\d+) passed", ended.stdout))) == len(ran)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param("assert 1 == 2", "assert 1 == 2", id="one that fails"),
        pytest.param("os._exit(7)", "ended with 7", id="one that ends its process"),
        pytest.param("os.kill(os.getpid(), 9)", "ended with -9", id="one whose process is killed"),
    ],
)
def test_the_run_fails_with_a_test_of_whichever_process(tmp_path: Path, body: str, said: str) -> None:
    os.mkfifo(tmp_path / "both")
    for file in range(4):  # a process looks one ahead, so that one cannot take them all
        (tmp_path / f"test_{file}.py").write_text(
            f"""
import os

FORKED_BY = os.getpid()

def test_one():
    if os.environ.setdefault("BEGAN", __name__) == __name__:  # once, until the other process is there, too
        open("both", "r" if os.getpid() == FORKED_BY else "w").close()
    if os.getpid() != FORKED_BY:
        {body}
"""
        )
    ended = quick(tmp_path, "-x", processes=2)
    assert ended.returncode == 1, ended.stdout
    assert said in ended.stdout
