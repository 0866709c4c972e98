"""What changes while remuda runs: files, templates and what operators set by hand."""

import json
import signal
import sys

import pytest
from tests.processes import Place, ceiling, eventually, pool

from remuda.pools.decide.model import Override
from remuda.pools.why import Why

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]


def test_a_changed_file_is_followed(running: Place) -> None:
    running.wait_idle(2)
    running.write(pool(min=3, max=3))
    running.wait_idle(3)
    assert '"msg":"reloaded"' in running.log


def test_a_hangup_reads_the_files_again(running: Place) -> None:
    running.wait_idle(2)
    running.processes[-1].send_signal(signal.SIGHUP)
    eventually(lambda: '"msg":"reloaded"' in running.log, "a reload")
    running.wait_idle(2)


def test_a_bad_file_is_refused_and_the_old_one_stays(running: Place) -> None:
    running.wait_idle(2)
    before = running.shims()
    running.write(pool(min=5, max=3, scaleDownDelay="10 minutes"))
    answer = eventually(
        lambda: running.health("ready")[1].details.get("refused_reload"),
        "the refusal in the details of /ready",
    )
    assert "min 5 is more than max 3" in answer or "10 minutes" in answer
    assert running.health("ready")[0] == 200
    for words in (("pools", "list"), ("loops", "list"), ("top", "--once"), ("why", "pool", "shell")):
        assert "the last reload was refused" in running.cli(*words).out
    assert "remuda_config_last_reload_successful 0.0" in running.metrics()
    refused = [json.loads(line) for line in running.log.splitlines() if "reload refused" in line]
    assert any("pools.yaml" in problem for problem in refused[0]["problems"])
    assert running.shims() == before

    running.write(pool(min=1, max=1))
    running.wait_idle(1)
    assert "refused_reload" not in running.health("ready")[1].details
    assert "refused" not in running.cli("pools", "list").out
    assert "remuda_config_last_reload_successful 1.0" in running.metrics()


def test_a_file_that_is_gone_is_refused(running: Place) -> None:
    running.wait_idle(2)
    running.file.unlink()
    eventually(lambda: "there is no such file" in running.log, "the refusal")
    running.wait_idle(2)


def test_files_that_come_into_a_directory_are_followed(here: Place) -> None:
    folder = here.home / "pools"
    folder.mkdir()
    (folder / "a.yaml").write_text(json.dumps(pool(min=1, max=1)))
    here.file.unlink()
    here.file.symlink_to(folder)
    here.start()
    here.wait_idle(1)
    (folder / "b.yaml").write_text(json.dumps(pool("more", min=1, max=1)))
    here.wait_idle(1, "more")


def test_a_changed_template_rolls_out_and_busy_machines_finish(running: Place) -> None:
    running.wait_idle(2)
    flag = running.home / "go"
    number = running.submit("sh", "-c", f"while [ ! -e {flag} ]; do sleep 0.05; done")
    busy = running.wait_running(number).attempts[0].machine
    running.write(pool(min=2, max=3, provider={"process": {"env": {"COLOUR": "new"}}}))

    def look() -> bool:
        machines = running.pools().machines
        return {m.name for m in machines if m.is_old} == {busy} and len(machines) >= 2

    eventually(look, "only the busy machine being old")
    status = running.cli("pools", "status", "shell").out
    assert "1 machine of 3 with an old template" in status or "1 machine of 2 with an old template" in status
    assert running.job(number).state == "running"

    flag.touch()
    assert running.wait_end(number).state == "succeeded"
    eventually(lambda: not any(m.is_old for m in running.pools().machines), "the end of the rollout")
    assert "up to date" in running.cli("pools", "rollout", "shell").out
    colour = running.submit("sh", "-c", "echo $COLOUR")
    running.wait_end(colour)
    assert running.output(colour) == b"new\n"


def test_an_immediate_rollout_asks_first_and_jobs_die_visibly(running: Place) -> None:
    running.wait_idle(2)
    number = running.submit("sh", "-c", "test $REMUDA_ATTEMPT = 2 || sleep 600", retries=1)
    busy = running.wait_running(number).attempts[0].machine
    running.write(pool(min=2, max=3, provider={"process": {"env": {"COLOUR": "new"}}}))
    eventually(lambda: any(m.is_old for m in running.pools().machines), "an old machine")

    asked = running.cli("pools", "rollout", "shell", "--immediate")
    assert asked.code == 2
    assert "1 job on them will be ended." in asked.err
    assert "--yes" in asked.err
    assert running.job(number).state == "running"

    assert running.cli("pools", "rollout", "shell", "--immediate", "--yes").code == 0
    ended = running.wait_end(number)
    assert ended.state == "succeeded"
    assert [a.number for a in ended.attempts] == [1, 2]
    assert ended.attempts[0].status in {"killed", "lost"}
    assert ended.attempts[0].machine == busy
    assert f"{busy} is removed at once by an ordered rollout" in running.cli("jobs", "show", str(number)).out
    assert f"{busy} is removed at once by an ordered rollout" in running.cli("why", "job", str(number)).out
    eventually(lambda: not any(m.is_old for m in running.pools().machines), "the end of the rollout")
    eventually(lambda: running.pools().pools[0].override == Override(), "the end of the order")


def test_a_pool_that_is_no_longer_in_the_file_drains_away(here: Place) -> None:
    here.write(pool(min=1, max=1), pool("other", min=1, max=1))
    here.start()
    here.wait_idle(1, "other")
    flag = here.home / "go"
    script = f"while [ ! -e {flag} ]; do sleep 0.05; done"
    number = here.submit("sh", "-c", script, job_class="test/other")
    here.wait_running(number)
    here.write(pool(min=1, max=1))
    gone = eventually(
        lambda: next((p for p in here.pools().pools if p.name == "other" and p.code == "pool.removed"), None)
    )
    assert "not configured any more" in gone.why
    assert here.job(number).state == "running"
    flag.touch()
    assert here.wait_end(number).state == "succeeded"
    eventually(lambda: {p.name for p in here.pools().pools} == {"shell"}, "the end of the pool")
    eventually(lambda: {name.rpartition("-")[0] for name in here.shims()} == {"shell"}, "only its shims")
    refused = here.cli("submit", "test/other", "--", "true")
    assert refused.code == 2
    assert "no pool serves class test/other; there is: test/shell" in refused.err


def test_bounds_set_by_hand_outlive_a_restart_and_are_named(running: Place) -> None:
    running.wait_idle(2)
    assert running.cli("pools", "scale", "shell", "1").out == "pool shell: min 1, max 1\n"
    running.wait_idle(1)
    running.kill()
    running.start()
    running.wait_idle(1)
    answer = running.cli("why", "pool", "shell").out
    assert "set by hand" in answer
    assert "override" in answer
    assert "min 1, max 1" in answer
    assert "min 1, max 1" in running.cli("pools", "status").out
    assert running.cli("pools", "scale", "shell", "--clear").out == "pool shell: nothing is set by hand\n"
    running.wait_idle(2)
    assert "override" not in running.cli("why", "pool", "shell").out


def test_a_pause_of_a_pool_outlives_a_restart(running: Place) -> None:
    running.wait_idle(2)
    assert running.cli("pools", "pause", "shell").code == 0
    eventually(lambda: running.pools().pools[0].code == "pool.paused", "the pause")
    running.write(pool(min=3, max=3))
    running.stop()
    running.start()
    eventually(lambda: running.pools().pools[0].min == 3, "the changed pool")
    view = running.pools()
    assert (view.pools[0].code, len(view.machines)) == ("pool.paused", 2)
    assert running.wait_end(running.submit("true")).state == "succeeded"
    assert running.cli("pools", "resume", "shell").code == 0
    running.wait_idle(3)


def test_a_drain_empties_the_pool_and_a_resume_fills_it(running: Place) -> None:
    running.wait_idle(2)
    number = running.submit("sh", "-c", "sleep 1; exit 9")
    running.wait_running(number)
    assert running.cli("pools", "drain", "shell").out == "pool shell: draining\n"
    assert running.wait_end(number).attempts[-1].exit_code == 9
    eventually(lambda: not running.shims(), "the end of all machines")
    eventually(lambda: running.pools().pools[0].code == "pool.drained", "the drained pool")
    waiting = running.submit("true")
    why = running.cli("why", "job", str(waiting))
    assert why.code == 0
    assert "waits" in why.out
    assert "draining" in why.out
    assert running.cli("pools", "resume", "shell").code == 0
    assert running.wait_end(waiting).state == "succeeded"


def test_a_paused_loop_stays_paused_over_a_restart(running: Place) -> None:
    running.wait_idle(2)
    assert running.cli("loops", "pause", "pools").out == "loop pools is paused\n"
    running.stop()
    running.start()
    assert "paused" in running.cli("loops", "list").out
    running.write(pool(min=3, max=3))
    eventually(lambda: '"msg":"reloaded"' in running.log, "a reload")
    assert len(running.shims()) == 2
    numbers = [running.submit("sleep", "60") for _ in range(3)]

    def left_over() -> int | None:
        found = [number for number in numbers if running.job(number).state == "waiting"]
        return found[0] if len(found) == 1 else None

    waiting = eventually(left_over, "one job that waits, since two machines took the others")
    for words in (("pools", "list"), ("why", "pool", "shell"), ("why", "job", str(waiting))):
        first, *rest = running.cli(*words).out.splitlines()
        assert first.startswith("loop pools is paused and decides nothing; ")
        assert first.endswith("resume it with `remuda loops resume pools`")
        assert "demand" not in "".join(rest) or words[1] == "pool"
    assert running.cli("top", "--once").out.splitlines()[1].startswith("loop pools is paused")
    assert running.cli("loops", "resume", "pools").out == "loop pools runs\n"
    eventually(lambda: running.pools().pools[0].busy == 3, "a machine for each job")
    assert running.cli("why", "pool", "shell").out.startswith("shell ")
    waiting = running.submit("true")
    eventually(lambda: running.pools().pools[0].waiting, "a cycle that has seen the job")
    running.stop()
    for words in (("pools", "list"), ("why", "pool", "shell"), ("why", "job", str(waiting))):
        assert running.cli(*words).out.startswith("no remuda runs with ")


def test_why_says_what_would_change_a_pool_held_by_its_ceiling(here: Place) -> None:
    here.write(
        pool(min=0, max=8, ceiling="laptop"),
        pool("other", min=1, max=2, ceiling="laptop"),
        ceiling("laptop", 3),
    )
    here.start()
    here.wait_idle(1, "other")
    for _ in range(6):
        here.submit("sleep", "600")

    def look() -> Why | None:
        found = here.remuda.get("/v1/why/pool/shell", Why)
        return found if found.code == "pool.held-by-ceiling" else None

    found = eventually(look, "a pool held by its ceiling")
    assert found.headline.endswith("held by ceiling laptop")
    answer = here.cli("why", "pool", "shell").out
    assert "ceiling laptop ≥ 7 gives 6" in answer
    past = here.cli("why", "pool", "shell", "--at", "1h")
    assert past.code == 2
    assert "nothing was recorded by then" in past.err


def test_replay_finds_nothing_for_the_same_rules_and_shows_what_a_changed_object_does(running: Place) -> None:
    running.wait_idle(2)
    same = running.cli("replay", "--since", "1h")
    assert same.code == 0
    assert "0 decided differently" in same.out
    changed = running.home / "changed.json"
    changed.write_text(json.dumps(pool(min=1, max=1)))
    differs = running.cli("replay", "--since", "1h", "-f", str(changed))
    assert differs.code == 1
    assert "pool shell" in differs.out
    assert "not carried on" in differs.out
    answer = json.loads(running.cli("replay", "--since", "1h", "-f", str(changed), "-o", "json").out)
    assert {item["target_now"] for item in answer["differences"]} == {1}
