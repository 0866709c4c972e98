"""The command line in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.processes import Ran

from remuda.cli.tree import main

Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `remuda diagnose`; its exit code and what it printed."""

    def call(*words: str | Path) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["diagnose", *(str(word) for word in words)])
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, out, err)

    return call
