"""Jobs of a real `remuda up` are separated without being asked for it, and everybody is told how."""

import os
import shutil

import pytest
from tests.processes import Place, eventually, place, pool

pytestmark = pytest.mark.slow


def test_jobs_are_separated_by_default_and_why_machine_says_how() -> None:
    with place() as made:
        made.write(pool(provider={"process": {"limits": {"processes": 20, "cpu": 1}}}, min=1, max=1))
        made.start()
        made.wait_idle(1)
        name = next(iter(made.shims()))
        shown = made.cli("why", "machine", name)
        assert shown.code == 0, shown
        steps = {line.split()[0]: line for line in shown.out.splitlines() if line.strip()}
        assert "separation" in steps
        assert "processes" in steps
        assert "cpu" in steps
        attacks = {
            "data": f"ls {made.data}/remuda.db",
            "socket": f"ls {made.data}/control.sock",
            "shim": f"ls /proc/{made.shims()[name]}/fd/",
        }
        script = "; ".join(f"{attack} && echo {what}" for what, attack in attacks.items())
        number = made.submit("sh", "-c", f"({script}) 2>/dev/null; id -u")
        assert made.wait_end(number).state == "succeeded"
        *found, uid = made.output(number).decode().split("\n")[:-1]
        if "none:" not in steps["separation"]:
            assert "shim" not in found
        if os.geteuid() == 0 and "a user of its own" in steps["separation"]:
            assert found == []
            assert int(uid) > 2_000_000_000


def test_a_job_given_to_a_machine_whose_directory_is_gone_runs_on_the_next(here: Place) -> None:
    here.write(pool(min=1, max=1))
    here.start()
    here.wait_idle(1)
    machine = next(iter(here.shims()))
    shutil.rmtree(here.data / "machines" / machine)
    number = here.submit("sh", "-c", "echo ran once")
    ended = here.wait_end(number)
    assert [attempt.status for attempt in ended.attempts] == ["returned", "exited"]
    assert ended.state == "succeeded"
    assert here.output(number) == b"ran once\n"
    why = here.cli("why", "job", str(number)).out
    assert f"never started, the directory of machine {machine} was deleted before the job could start" in why
    eventually(lambda: machine not in here.shims(), "the machine ends")
