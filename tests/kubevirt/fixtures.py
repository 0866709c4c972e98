"""Fixtures for tests that need KubeVirt; skipped or required as those of `tests.servers.fixtures`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.kubevirt.guests import Guests
from tests.kubevirt.installation import NEEDED, Installation
from tests.servers.cluster import ALWAYS
from tests.servers.fixtures import Programs, new_namespace, require_openssl

if TYPE_CHECKING:
    from tests.kubevirt.rig import Rig
    from tests.sources.circleci.loopback import Circle

NewKubevirt = Callable[..., Installation]


def _installation(programs: Programs, options: Mapping[str, Any]) -> Installation:
    require_openssl()
    return Installation(programs(*ALWAYS, "kubectl", *NEEDED, *options.get("extras", ())), **options)


@pytest.fixture(scope="session")
def kubevirt(programs: Programs) -> Iterator[Installation]:
    """One KubeVirt per test process, shared by its tests: keep to your `vm_namespace`, and kill nothing."""
    with _installation(programs, {}) as running:
        yield running


@pytest.fixture
def new_kubevirt(programs: Programs) -> Iterator[NewKubevirt]:
    """`new_kubevirt(**options of Installation)` starts one for this test alone."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(_installation(programs, options))


@pytest.fixture
def vm_namespace(kubevirt: Installation) -> Iterator[str]:
    """A new namespace in `kubevirt`, erased with all it holds after the test."""
    with new_namespace(kubevirt.cluster) as name:
        yield name


@pytest.fixture
def guests(kubevirt: Installation, vm_namespace: str) -> Iterator[Guests]:
    """Plays the guests of `vm_namespace`: they boot at once unless the test scripts them otherwise."""
    with Guests(kubevirt.cluster, vm_namespace) as playing:
        yield playing


@pytest.fixture
def circle() -> Iterator["Circle"]:
    """A CircleCI with the classes of `rig`."""
    from tests.kubevirt.rig import CLASSES
    from tests.sources.circleci.loopback import Circle, in_thread

    made = Circle()
    for job_class in CLASSES.values():
        made.tasks(job_class)
    with in_thread(made):
        yield made


@pytest.fixture
def rig(
    kubevirt: Installation, vm_namespace: str, guests: Guests, circle: "Circle", tmp_path: Path
) -> Iterator["Rig"]:
    """A namespace of `kubevirt` with everything in it but a pool and a Remuda."""
    from tests.kubevirt.rig import rigged

    with rigged(kubevirt, vm_namespace, guests, circle, tmp_path) as made:
        yield made
