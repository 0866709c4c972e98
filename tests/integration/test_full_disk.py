"""A job that fills the disk of the data directory, on a real file system that is too small for it."""

from collections.abc import Iterator

import pytest
from tests.file_systems import small_file_system
from tests.processes import Place, place, pool

pytestmark = pytest.mark.slow


@pytest.fixture
def small() -> Iterator[Place]:
    """A running remuda whose data directory has 32 MiB."""
    with place() as made:
        made.write(pool(min=1, max=2))
        with small_file_system(made.data, "32m"):
            made.data.chmod(0o700)
            made.start()
            yield made
            made.stop()


def test_a_job_whose_output_fills_the_disk_ends_and_says_what_was_not_kept(small: Place) -> None:
    flood = "for i in 1 2 3 4 5 6; do head -c 8000000 /dev/zero | tr '\\0' x; done; exit 3"
    # Two at once: each may keep 16 MiB, and there is not so much.
    jobs = [small.submit("sh", "-c", flood) for _ in range(2)]
    for number in jobs:
        ended = small.wait_end(number)
        assert (ended.state, ended.attempts[0].exit_code) == ("failed", 3)
    details = [small.job(number).attempts[0].detail or "" for number in jobs]
    assert any("part of the output was not kept: its disk is almost full" in each for each in details)
    (told,) = small.health("ready")[1].details["trouble"]
    assert f"the disk of {small.data} is almost full" in told, "an alarm of the page Now"
    shown = small.cli("submit", "test/shell", "--wait", "--", "sh", "-c", "echo still here")
    assert shown.code == 0, shown


def test_a_job_whose_files_fill_the_disk_ends_and_its_result_is_recorded(small: Place) -> None:
    number = small.submit("sh", "-c", "cat /dev/zero > zeros; echo no more; exit 4")
    ended = small.wait_end(number)
    assert (ended.state, ended.attempts[0].exit_code) == ("failed", 4)
