"""
Fixtures for tests that need real servers; a pytest plugin (`pytest_plugins = ["tests.servers.fixtures"]`).

A server that is missing skips the test with the reason and the command that provides it. With REMUDA_REQUIRE_SERVERS=1
it is built instead, and the test fails when that fails.
"""

import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.servers.base import NAME as IMAGE_BASE
from tests.servers.base import find_base, get_base
from tests.servers.browser import NAME as BROWSER
from tests.servers.browser import find_browser, get_browser
from tests.servers.build import get
from tests.servers.catalog import SERVERS
from tests.servers.cluster import ALWAYS, Cluster
from tests.servers.found import ServersError, find, surroundings
from tests.servers.guest_image import NAME as GUEST_IMAGE
from tests.servers.guest_image import GuestImage, find_guest_image, get_guest_image
from tests.servers.postgres import NAME as POSTGRES
from tests.servers.postgres import PostgresServer, find_postgres, get_postgres
from tests.servers.prometheus import NAMES, PrometheusServer

Programs = Callable[..., dict[str, Path]]
NewCluster = Callable[..., Cluster]
NewPrometheus = Callable[..., PrometheusServer]
NewPostgres = Callable[..., PostgresServer]


def provide(names: tuple[str, ...], environ: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Find programs for a test, which is skipped without them, or fails where they are required."""
    around = surroundings(environ)
    if environ.get("REMUDA_REQUIRE_SERVERS") == "1":
        try:
            return get(names, around, _tell)
        except ServersError as error:
            pytest.fail(str(error), pytrace=False)
    paths = {name: find(SERVERS[name], around) for name in names}
    missing = [name for name, path in paths.items() if path is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}; `make servers` provides what is missing")
    return {name: path for name, path in paths.items() if path is not None}


def _tell(doing: str, elapsed_s: float) -> None:
    if doing.startswith("done "):
        sys.stderr.write(f"{doing}  {elapsed_s:.0f} s\n")


@pytest.fixture(scope="session")
def programs() -> Programs:
    """`programs("helm", "kubectl")` gives paths by name, or skips the test."""
    return lambda *names: provide(names)


def provide_browser(environ: Mapping[str, str] = os.environ) -> Path:
    """Find the browser for a test, which is skipped without it, or fails where servers are required."""
    if environ.get("REMUDA_REQUIRE_SERVERS") == "1":
        try:
            return get_browser(_tell, environ)
        except ServersError as error:
            pytest.fail(str(error), pytrace=False)
    found = find_browser(environ)
    if found is None:
        pytest.skip(f"needs {BROWSER}; `make servers` provides what is missing")
    return found


@pytest.fixture(scope="session")
def browser_program() -> Path:
    """The browser's program; the test is skipped without."""
    return provide_browser()


@pytest.fixture(scope="session")
def image_base() -> Path:
    """An archive of a base that an image can be built on; the test is skipped without."""
    if os.environ.get("REMUDA_REQUIRE_SERVERS") == "1":
        try:
            return get_base(surroundings(), _tell)
        except ServersError as error:
            pytest.fail(str(error), pytrace=False)
    found = find_base(surroundings())
    if found is None:
        pytest.skip(f"needs {IMAGE_BASE}; `make servers` provides what is missing, as root")
    return found


@pytest.fixture(scope="session")
def guest_image() -> GuestImage:
    """A disk and a kernel that a guest boots from; the test is skipped without."""
    if os.environ.get("REMUDA_REQUIRE_SERVERS") == "1":
        try:
            return get_guest_image(surroundings(), _tell)
        except ServersError as error:
            pytest.fail(str(error), pytrace=False)
    found = find_guest_image(surroundings())
    if found is None:
        pytest.skip(f"needs {GUEST_IMAGE}; `make servers` provides what is missing, as root")
    return found


def provide_postgres(environ: Mapping[str, str] = os.environ) -> Path:
    """The directory of PostgreSQL's programs for a test, which is skipped without, or fails where servers are required."""
    if environ.get("REMUDA_REQUIRE_SERVERS") == "1":
        try:
            return get_postgres(_tell, environ)
        except ServersError as error:
            pytest.fail(str(error), pytrace=False)
    found = find_postgres(environ)
    if found is None:
        pytest.skip(f"needs {POSTGRES}; `make servers` provides what is missing, as root")
    return found


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """
    One PostgreSQL per test process, shared by its tests: keep to a `schema` of your own, and let it run.

    Since nobody ends it, it need not wait for the disk; one of `new_postgres` does.
    """
    with PostgresServer(provide_postgres(), fsync="off") as running:
        yield running


@pytest.fixture
def schema() -> str:
    """A schema that no other test uses."""
    return f"test_{secrets.token_hex(5)}"


@pytest.fixture
def new_postgres() -> Iterator[NewPostgres]:
    """`new_postgres(**settings)` starts one for this test alone, which may be killed."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(PostgresServer(provide_postgres(), **settings))


def require_openssl() -> None:
    """Skip the test where certificates cannot be made and servers are not required."""
    if shutil.which("openssl") is None and os.environ.get("REMUDA_REQUIRE_SERVERS") != "1":
        pytest.skip("needs the openssl command, which is not on the PATH")


def _started(programs: Programs, options: Mapping[str, Any]) -> Cluster:
    require_openssl()
    return Cluster(programs(*ALWAYS, "kubectl", *options.get("extras", ())), **options)


@pytest.fixture(scope="session")
def cluster(programs: Programs) -> Iterator[Cluster]:
    """One API server per test process, shared by its tests: keep to your `namespace`."""
    with _started(programs, {}) as running:
        yield running


@pytest.fixture
def new_cluster(programs: Programs) -> Iterator[NewCluster]:
    """`new_cluster(**options of Cluster)` starts one for this test alone."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(_started(programs, options))


@contextmanager
def new_namespace(cluster: Cluster) -> Iterator[str]:
    """A new namespace in which pods can be created; erased with all it holds in the end."""
    if "kube-apiserver" not in cluster.processes:
        cluster.restart_apiserver()  # the test before killed it
    name = f"test-{secrets.token_hex(5)}"
    # the ServiceAccount is the controllers' work, and they do not run
    for path, what in (("namespaces", name), (f"namespaces/{name}/serviceaccounts", "default")):
        answer = cluster.request("POST", f"/api/v1/{path}", {"metadata": {"name": what}})
        assert answer.status == 201, answer.text
    try:
        yield name
    finally:
        cluster.erase_namespace(name)


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A new namespace in `cluster`."""
    with new_namespace(cluster) as name:
        yield name


@pytest.fixture
def new_prometheus(programs: Programs) -> Iterator[NewPrometheus]:
    """`new_prometheus(**options of PrometheusServer)` starts one for this test alone."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(PrometheusServer(programs(*NAMES), **options))
