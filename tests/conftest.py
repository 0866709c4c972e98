"""What every test shares: derandomized property tests, so that a green run is not luck."""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings
from tests.spread import spread

from remuda.jobs import JOBS

# Thousands of tests are made and none is dropped while they are collected: looking for garbage then costs 3 s per process.
gc.disable()

# A shell starts what runs in the background deaf to Ctrl-C, and processes that tests start and interrupt would be deaf, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Words of findings come with their jobs.
JOBS.teach()

pytest_plugins = ["tests.servers.fixtures", "tests.kubevirt.fixtures"]

settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=5)
settings.register_profile("soak", deadline=None, max_examples=2_000, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites the files that printed texts are compared with."""
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files")


def pytest_collection_finish() -> None:
    """Collect garbage again, but never look through what stays to the end."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """See `tests.spread`."""
    spread(items)
