"""A directory whose path is short enough for a Unix socket."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def short_path() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="remuda-"))
    yield path
    shutil.rmtree(path)
