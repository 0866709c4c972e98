"""Places in which a real `remuda up` runs."""

from collections.abc import Iterator

import pytest
from tests.processes import Place, place, pool


@pytest.fixture
def here() -> Iterator[Place]:
    """A place with one pool of two single-task machines; nothing runs yet."""
    with place() as made:
        made.write(pool(min=2, max=3))
        yield made


@pytest.fixture
def running(here: Place) -> Place:
    """The same, and remuda is up."""
    here.start()
    return here


@pytest.fixture(scope="module")
def shared() -> Iterator[Place]:
    """One running remuda for all tests of a module that only hand jobs in."""
    with place() as made:
        made.write(pool(min=2, max=4), pool("one", min=1, max=1, singleTask=False))
        made.start()
        yield made
