"""The command line in this process, and what commands are asked of."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.processes import Place, Ran, eventually, place, pool

from remuda.cli.tree import main

Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command on a screen of 80 columns, with a data directory of its own; its exit code and what it printed."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("REMUDA_DATA_DIR", str(tmp_path / "data"))

    def call(*words: str | Path) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, out, err)

    return call


@pytest.fixture(scope="module")
def lively() -> Iterator[Place]:
    """One running remuda in which some jobs ended, for commands that only look."""
    with place() as made:
        made.write(pool(min=1, max=2))
        made.start()
        for script in ("echo 'it [/works]' | cat", "exit 3"):
            made.wait_end(made.submit("sh", "-c", script))
        made.wait_idle(1)
        eventually(lambda: made.pools().machines, "a machine")
        yield made
