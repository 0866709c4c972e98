"""
What becomes of guests that were saved, as `test_booted_guest.py` does it first, which begins earlier.

What these go on from takes minutes to make; nobody should wait for it.
"""

from pathlib import Path

import pytest
from tests.providers.kubevirt.guest.repository import POOL
from tests.providers.kubevirt.guest.stage import EVER, TOKEN, Stage

pytestmark = pytest.mark.slow


def test_a_guest_that_cannot_install_its_runner_says_why_and_powers_off(
    stage: Stage, booted_guest: Path
) -> None:
    guest, services = stage.boot(booted_guest, failing={POOL: EVER})
    guest.wait_off()
    (failure,) = guest.failures
    assert failure.startswith("step=install reason=installing circleci-runner failed 5 times: E: ")
    assert guest.steps == []
    assert services.asked[POOL] >= 5
    assert services.said == {}


def test_a_guest_that_has_no_task_for_the_idle_timeout_powers_off(stage: Stage, idle_guest: Path) -> None:
    guest, services = stage.boot(idle_guest)
    guest.wait_off()
    assert guest.failures == []
    assert guest.steps == ["ended"]
    assert "no task for the idle timeout" in guest.console
    assert set(services.said) == {"claim"}


def test_a_runner_whose_token_is_refused_ends_its_guest(stage: Stage, idle_guest: Path) -> None:
    guest, services = stage.boot(idle_guest, refused={TOKEN})
    guest.wait_off()
    assert guest.failures == ["step=run reason=the runner ended: exit-code exited 1"]
    assert services.tokens == {TOKEN}
    assert services.said == {}
    assert TOKEN not in guest.console


def test_a_runner_that_crashes_ends_its_guest(stage: Stage, idle_guest: Path) -> None:
    guest, services = stage.boot(idle_guest, tasks=[{"id": "t1", "command": "true", "crash": True}])
    guest.wait_off()
    (failure,) = guest.failures
    assert failure in {
        "step=run reason=the runner ended: signal killed SEGV",
        "step=run reason=the runner ended: core-dump dumped SEGV",
    }
    assert set(services.said) == {"claim"}


#: ends by itself a while after the power button, and needs its session, the disk and the network up to its end
LONG = """\
for second in 1 2 3 4 5 6 7 8; do sleep 1; echo $second >here; done
curl -sS -o /dev/null -w '%{http_code}' https://runner.circleci.com/nothing
"""


def test_a_guest_that_is_told_to_power_off_ends_its_task_first(stage: Stage, idle_guest: Path) -> None:
    tasks = [{"id": "t1", "command": LONG}, {"id": "t2", "command": "true"}]
    guest, services = stage.boot(idle_guest, tasks=tasks)
    guest.wait_for(lambda: "began" in services.said)
    guest.press_power()
    guest.wait_off()
    (ended,) = services.said["ended"]
    assert (ended["status"], ended["output"], ended["drained"]) == (0, "404", True)
    assert len(services.said["began"]) == 1
    assert guest.failures == []
    assert guest.steps == ["ended"]
