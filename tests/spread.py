"""How tests are shared out to processes: whole files, and single tests of those that take long and share nothing."""

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

#: Files whose tests share nothing in memory and take minutes together: in one row they would be what a run waits for in the end.
SINGLY = (
    "tests/sim/",
    "tests/providers/kubevirt/guest/test_booted_guest.py",
    "tests/integration/test_kills.py",
    "tests/fleet/test_long_runs.py",
)


class Spread(LoadScopeScheduling):  # type: ignore[misc]
    """xdist's `loadfile`, but for the tests that go singly."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


def unit(nodeid: str) -> str:
    """What a test is shared out with: its file, or itself alone."""
    return nodeid if nodeid.startswith(SINGLY) else nodeid.partition("::")[0]
