"""Tests that share a server run in one process, and what takes long begins first."""

import pytest
from tests.spread import Shared, group_of, order_of

PROGRAMS = Shared("programs", "session", runs=False)
CLUSTER = Shared("cluster", "session", runs=True)
KUBEVIRT = Shared("kubevirt", "session", runs=True)
STAGED = Shared("staged", "module", runs=True)
WHEEL = Shared("wheel", "session", runs=False)
IMAGE = Shared("guest_image", "session", runs=False)
IDLE = Shared("idle_guest", "session", runs=False)
NAMESPACE = Shared("namespace", "function", runs=True)


@pytest.mark.parametrize(
    ("shared", "group"),
    [
        pytest.param([], None, id="a history runs anywhere"),
        pytest.param([PROGRAMS, NAMESPACE], None, id="so does what has a server of its own"),
        pytest.param(
            [IMAGE, IDLE], None, id="and what goes on from a saved guest, which all processes share"
        ),
        pytest.param([PROGRAMS, CLUSTER, NAMESPACE], "cluster", id="one server for tests of all files"),
        pytest.param([CLUSTER, STAGED], "cluster", id="and for what is made in it for a file"),
        pytest.param([CLUSTER, KUBEVIRT], "kubevirt", id="of two the one that takes longer to start"),
        pytest.param([PROGRAMS, STAGED], "tests/a/test_b.py", id="a server of one file"),
        pytest.param([WHEEL], "tests/a/test_b.py", id="what takes long to make, though nothing runs"),
    ],
)
def test_slow_tests_that_share_what_takes_long_to_make_are_one_group(
    shared: list[Shared], group: str | None
) -> None:
    assert group_of("tests/a/test_b.py", shared, is_slow=True) == group


def test_whole_processes_have_a_server_of_their_own_since_they_take_longest() -> None:
    assert group_of("tests/test_runners.py", [KUBEVIRT], is_slow=True) == "kubevirt for processes"
    assert group_of("tests/kubevirt/test_servers.py", [KUBEVIRT], is_slow=True) == "kubevirt"


def test_quick_tests_go_file_by_file_and_last() -> None:
    assert group_of("tests/a/test_b.py", [CLUSTER], is_slow=False) == "tests/a/test_b.py"
    orders = [
        order_of("cluster", is_slow=True),
        order_of(None, is_slow=True),
        order_of("tests/a/test_b.py", is_slow=False),
    ]
    assert orders == sorted(set(orders))


def test_every_test_here_has_the_group_of_its_file(request: pytest.FixtureRequest) -> None:
    mark = request.node.get_closest_marker("xdist_group")
    assert mark is not None
    assert mark.args == ("tests/test_spread.py",)
