"""Runners while Remuda, its leader or the API server goes away: no busy VM is killed, none is leaked, none is too many."""

import json
import random
import signal
import time
from functools import partial
from pathlib import Path

import pytest
from tests.kubevirt.fixtures import NewKubevirt
from tests.kubevirt.rig import CI, Rig, rigged_alone, steps
from tests.sources.circleci.loopback import Circle
from tests.test_cluster import Replica, leader

pytestmark = pytest.mark.slow

#: in the order in which a pool that is made and used comes by
MAKING = ("pool.made", "userdata.made", "ordered", "loop.recorded", "loop.acting", "loop.acted")
#: what is reached again by who takes up what another left, and when it is killed there: cycles also come to nothing
TIMES = {"ordered": (1, 1), "loop.recorded": (1, 2, 3), "loop.acting": (1, 2), "loop.acted": (1, 2)}
REMOVING = ("lowered", "detached", "deleted", "loop.decided", "loop.acting")


def check_whole(rig: Rig, warm: int) -> None:
    """Let all tasks be done; in the end there are the warm VMs and nothing else, and no task was killed."""
    while rig.circle.tasks(CI).running or rig.circle.tasks(CI).unclaimed:
        rig.wait(rig.agents.busy, "a busy VM")
        rig.agents.finish(*rig.agents.busy())
    rig.wait_ready(warm)
    rig.wait_running(warm)
    rig.wait(lambda: rig.replicas_of("ci") == warm, "as many replicas")
    assert rig.agents.killed == []
    assert rig.circle.tasks(CI).running == rig.circle.tasks(CI).unclaimed == 0


def test_a_kill_at_any_step_of_making_makes_no_vm_too_many(rig: Rig) -> None:
    rig.pool(min=2, max=2)
    rig.agents.submit(CI, 2)
    for step in MAKING:
        one = rig.up("one", steps(step))
        if step.startswith("loop."):
            rig.agents.submit(CI, 2)
            rig.wait(partial(ends_while_tasks_end, rig, one), f"the end at {step}")
        rig.wait_killed(one, f"the kill at {step}")
    rig.up("one")
    check_whole(rig, 2)
    assert rig.agents.peak == 2


@pytest.mark.parametrize("step", MAKING)
def test_whoever_is_killed_while_making_vms_makes_none_twice(rig: Rig, step: str) -> None:
    """
    No task is claimed, so no VM ends, and every VM that is made is one that was wanted, exactly once.

    Operations begin late, so that what was left under way is really done again and not refused before all is read.
    """
    late = partial(steps, acting_after_s=1.0)
    rig.agents.is_lazy = True
    rig.pool(min=2, max=6)
    for nth in TIMES.get(step, (1,)):
        rig.wait_killed(rig.up("one", late(step, nth=nth)), f"the kill at {step}")
    last = rig.up("one", late())
    check_made(rig, 2)
    # Now there are VMs to be counted.
    rig.agents.submit(CI, 5)
    if step in TIMES:
        last.stop()
        for nth in TIMES[step]:
            rig.wait_killed(rig.up("one", late(step, nth=nth)), f"another kill at {step}")
        rig.up("one", late())
    check_made(rig, 5)
    assert not rig.lines("operation did not happen")


def check_made(rig: Rig, count: int) -> None:
    """There are so many VMs, and never was another one; also not a while later."""
    rig.wait_ready(count)
    rig.wait_running(count)
    for _ in range(3):
        rig.wait_asked("unclaimed")
    assert len(rig.made()) == len(rig.uids()) == count, rig.made()
    assert rig.replicas_of("ci") == count
    rig.wait_ready(count)


def test_a_kill_at_any_step_of_removing_kills_no_task_and_leaks_no_vm(rig: Rig) -> None:
    rig.pool(min=0, max=3)
    for step in REMOVING:
        rig.agents.submit(CI, 2)
        one = rig.up("one", steps(step, nth=3 if step.startswith("loop.") else 1))
        rig.wait(partial(ends_while_tasks_end, rig, one), f"the kill at {step}")
    rig.up("one")
    check_whole(rig, 0)


def ends_while_tasks_end(rig: Rig, replica: Replica) -> bool:
    """End one task; whether the replica has ended."""
    rig.agents.finish(*sorted(rig.agents.busy())[:1])
    return replica.process.poll() is not None


def test_kills_at_any_moment_with_and_without_the_ledger_lose_nothing(rig: Rig) -> None:
    dice = random.Random(5)
    rig.pool(min=1, max=3)
    for turn in range(5):
        # Another data directory is a new pod, which knows nothing of what the one before did.
        one = rig.up(f"pod-{turn // 2}", steps(term_s=2.0))
        rig.agents.submit(CI, dice.randint(0, 2))
        if rig.agents.busy():
            rig.agents.finish(min(rig.agents.busy()))
        time.sleep(dice.uniform(1.0, 5.0))  # any moment is right
        one.process.kill()
        one.process.wait()
    rig.up("last", steps(term_s=2.0))
    check_whole(rig, 1)
    assert rig.agents.peak <= 3


@pytest.mark.parametrize("step", ["userdata.made", "lowered"])
def test_a_leader_that_was_frozen_past_its_lease_scales_nothing_when_it_thaws(rig: Rig, step: str) -> None:
    rig.pool(min=1, max=3)
    first = rig.up("first", steps(step, sends="STOP", term_s=3.0))
    rig.wait(lambda: leader(rig.cluster, rig.namespace) == "first", "first leads")
    rig.up("second", steps(term_s=3.0))
    if step == "lowered":
        rig.agents.submit(CI, 2)
        rig.wait_busy(2)
        rig.agents.finish(min(rig.agents.busy()))
    rig.wait(lambda: leader(rig.cluster, rig.namespace) == "second", "second leads")
    rig.agents.submit(CI, 2)
    rig.wait(lambda: len(rig.agents.busy()) >= 2, "busy VMs")
    before, thawed = first.log.stat().st_size, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    first.process.send_signal(signal.SIGCONT)
    rig.wait(lambda: b'"not leading"' in first.log.read_bytes()[before:], "first knows")
    check_whole(rig, 1)
    assert rig.agents.peak <= 3
    assert leader(rig.cluster, rig.namespace) == "second"
    entries = [json.loads(line) for line in first.log.read_bytes()[before:].splitlines()]
    # The cycle it was in when it froze may still be told.
    assert [line for line in entries if line["msg"] == "cycle" and line["at"] >= thawed] == []


def test_a_restart_of_the_api_server_is_lived_through(
    new_kubevirt: NewKubevirt, circle: Circle, tmp_path: Path
) -> None:
    installed = new_kubevirt()
    with rigged_alone(installed, circle, tmp_path) as rig:
        rig.pool(min=1, max=4)
        rig.up()
        rig.agents.submit(CI, 2)
        rig.wait_busy(2)
        before = rig.uids()
        rig.cluster.kill_apiserver()
        rig.agents.submit(CI, 1)
        rig.cluster.restart_apiserver()
        installed.start_controller()
        rig.wait_busy(3)
        assert before.items() <= rig.uids().items()
        check_whole(rig, 1)
        assert rig.replicas[0].process.poll() is None
