"""Guests that tests share: booting is what takes long."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.providers.kubevirt.guest import saved
from tests.providers.kubevirt.guest.stage import Props, Stage
from tests.servers.guest_image import GuestImage


@pytest.fixture(scope="session")
def guest_props(guest_image: GuestImage, tmp_path_factory: pytest.TempPathFactory) -> Props:
    return saved.make_props(guest_image, tmp_path_factory.mktemp("services"))


@pytest.fixture
def stage(guest_props: Props) -> Iterator[Stage]:
    with ExitStack() as stack:
        yield Stage(guest_props, stack)


@pytest.fixture(scope="session")
def booted_guest(guest_props: Props) -> Path:
    """Where a guest was saved that has booted and tries to get at the package repository."""
    return saved.booted_guest(guest_props)


@pytest.fixture(scope="session")
def idle_guest(guest_props: Props) -> Path:
    """Where a guest was saved whose runner is up and has no task; it was hard to install."""
    return saved.idle_guest(guest_props)
