"""A real cluster with the controllers, for what guards scale sets and runners, and the command line in this process."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.capacity.controllers import install_crd, versions
from tests.capacity.live import new_place
from tests.processes import Ran
from tests.servers.cluster import ALWAYS, Cluster
from tests.servers.fixtures import Programs, require_openssl

from remuda.cli.tree import main

Run = Callable[..., Ran]
#: each has what one command needs with --apply, and nothing else
USERS = {"renderer": (), "returner": ()}


@pytest.fixture(scope="session")
def guarded(programs: Programs) -> Iterator[Cluster]:
    """An API server with the controllers, without which no quota is enforced."""
    require_openssl()
    names = programs(*ALWAYS, "kubectl", "kube-controller-manager")
    with Cluster(names, extras=("kube-controller-manager",), users=USERS) as running:
        yield running


@pytest.fixture(scope="module", params=versions())
def version(request: pytest.FixtureRequest, guarded: Cluster) -> str:
    """A version of the controller whose custom resource the server has."""
    found = str(request.param)
    install_crd(guarded, found)
    return found


@pytest.fixture
def place(guarded: Cluster) -> str:
    """A namespace of this test's own."""
    return new_place(guarded)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run `remuda capacity` with a data directory of its own; its exit code and what it printed."""
    monkeypatch.setenv("REMUDA_DATA_DIR", str(tmp_path / "data"))

    def call(*words: str | Path) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["capacity", *(str(word) for word in words)])
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, out, err)

    return call
