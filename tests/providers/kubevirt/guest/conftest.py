"""Guests that tests share: booting is what takes long."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.providers.kubevirt.guest.repository import POOL, RELEASE, SCRIPT, build_package, repository
from tests.providers.kubevirt.guest.stage import EVER, STEPS, Props, Stage, saved_once
from tests.servers.guest_image import GuestImage


@pytest.fixture(scope="session")
def guest_props(guest_image: GuestImage, tmp_path_factory: pytest.TempPathFactory) -> Props:
    directory = tmp_path_factory.mktemp("services")
    package = build_package(directory)
    return Props(guest_image, package, repository(directory, package))


@pytest.fixture
def stage(guest_props: Props) -> Iterator[Stage]:
    with ExitStack() as stack:
        yield Stage(guest_props, stack)


@pytest.fixture(scope="session")
def booted_guest(guest_props: Props, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a guest was saved that has booted and tries to get at the package repository."""

    def save(directory: Path) -> None:
        with ExitStack() as stack:
            guest, services = Stage(guest_props, stack).boot(failing={SCRIPT: EVER})
            guest.wait_for(lambda: services.asked[SCRIPT] > 0)
            assert guest.steps == STEPS[:2]
            guest.save(directory)

    return saved_once(tmp_path_factory.getbasetemp(), "booted-guest", save)


@pytest.fixture(scope="session")
def idle_guest(guest_props: Props, booted_guest: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a guest was saved whose runner is up and has no task; it was hard to install."""

    def save(directory: Path) -> None:
        with ExitStack() as stack:
            guest, services = Stage(guest_props, stack).boot(booted_guest, failing={RELEASE: 2})
            guest.wait_for(lambda: guest.steps == STEPS[2:] and len(services.said.get("claim", ())) > 1)
            assert guest.failures == []
            assert services.asked[SCRIPT] == 1
            assert services.asked[RELEASE] == 3
            assert services.asked[POOL] == 1
            guest.save(directory)

    return saved_once(tmp_path_factory.getbasetemp(), "idle-guest", save)
