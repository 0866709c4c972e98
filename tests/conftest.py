"""What every test shares: derandomized property tests, so that a green run is not luck."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from tests.spread import Spread

from remuda.jobs import JOBS

# Thousands of tests are made and none is dropped while they are collected: looking for garbage then costs 3 s per process.
gc.disable()

# A shell starts what runs in the background deaf to Ctrl-C, and processes that tests start and interrupt would be deaf, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Words of findings come with their jobs.
JOBS.teach()

#: whether a test of this process connected or listened since the last look for connections that are left
_uses_sockets = threading.Event()


def _note_sockets(event: str, _: object) -> None:
    if event in {"socket.connect", "socket.bind"}:
        _uses_sockets.set()


sys.addaudithook(_note_sockets)

#: how the names of files begin that take minutes; first those that wait most of the time, while others compute
LONGEST = ("test_runners", "test_booted_guest", "test_kills")

pytest_plugins = ["tests.servers.fixtures", "tests.kubevirt.fixtures"]

settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=5)
# That a test fails is enough there; nobody reads the smallest example.
settings.register_profile("mutants", settings.get_profile("quick"), phases=[Phase.explicit, Phase.generate])
settings.register_profile("survivors", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate])
settings.register_profile("soak", deadline=None, max_examples=2_000, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites the files that printed texts are compared with."""
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Spread:
    """Share out as `tests.spread` says, whatever `--dist` says."""
    return Spread(config, log)


def pytest_collection_finish() -> None:
    """Collect garbage again, but never look through what stays to the end."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """
    Begin with the files that take longest: last, they would keep one process busy while the others are idle.

    Which tests stay together in one process is said in `tests.spread`; each must be called the same in all of them.
    """
    if unsteady := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"give it an id of its own, its name holds an address: {unsteady[0]}")
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}

    def order(item: pytest.Item) -> int:
        if item.path not in slow:
            return len(LONGEST) + 2
        if item.path.parent.name == "sim":
            return len(LONGEST)
        starts = (place for place, start in enumerate(LONGEST) if item.path.name.startswith(start))
        return next(starts, len(LONGEST) + 1)

    items.sort(key=order)


@pytest.fixture(scope="module", autouse=True)
def _charged_to_its_own_file() -> Iterator[None]:
    """Find connections that a file's tests left open while it is known whose they are: later, they fail a stranger's test."""
    _uses_sockets.clear()
    yield
    if _uses_sockets.is_set():
        gc.collect()
        gc.freeze()  # what is left stays, and need not be looked through again for the next file
