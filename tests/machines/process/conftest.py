from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.file_systems import small_file_system
from tests.machines.process.stand_in import Machine, Remuda, killed_at_the_end


@pytest.fixture
def remuda(tmp_path: Path) -> Iterator[Remuda]:
    server = Remuda(tmp_path / "s")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MiB."""
    with small_file_system(tmp_path / "disk") as place:
        yield place


@pytest.fixture
def hold(tmp_path: Path, remuda: Remuda) -> Iterator[Callable[..., Machine]]:
    """Starts shims that are ended with the test."""
    machines: list[Machine] = []

    def start(name: str = "m", **more: object) -> Machine:
        machines.append(Machine(tmp_path, remuda.path, name, **more))
        return machines[-1]

    with killed_at_the_end(machines):
        yield start
