"""CircleCI's queue gets its VMs: the real `remuda up --cluster`, API server and virt-controller; guests are played."""

import pytest
from tests.kubevirt.rig import CI, NIX, RUNNER_TOKEN, Rig
from tests.sources.circleci.loopback import TOKEN, UNCLAIMED

pytestmark = pytest.mark.slow


def test_the_queue_gets_its_vms_and_finished_ones_are_replaced(rig: Rig) -> None:
    rig.pool(min=1, max=4)
    rig.up()
    rig.wait_running(1)
    rig.agents.submit(CI, 6)
    rig.wait_busy(4)
    for _ in range(6):
        rig.wait(rig.agents.busy, "a busy VM")
        rig.agents.finish(min(rig.agents.busy()))
    rig.wait(lambda: not rig.circle.tasks(CI).running, "the end of all tasks")
    rig.wait_running(1)
    assert rig.agents.killed == []
    assert rig.agents.peak <= 4
    assert rig.condition("Accepted")["status"] == "True"
    everything = rig.kubectl("get", "vm,vmi,vmpool,pod", "-o", "json")
    assert RUNNER_TOKEN not in everything
    assert TOKEN not in everything
    assert RUNNER_TOKEN not in rig.replicas[0].log.read_text()


def test_surplus_vms_go_where_scale_in_is_active_and_stay_where_it_is_natural(rig: Rig) -> None:
    rig.agents.is_lazy = True
    rig.pool(min=1, max=4, scaleDownDelay="1s")
    rig.pool("nix", min=0, max=4, scaleIn="natural")
    rig.agents.submit(CI, 3)
    rig.agents.submit(NIX, 2)
    rig.up()
    rig.wait_running(3)
    rig.wait_running(2, "nix")
    before = rig.uids()
    rig.agents.submit(CI, -3)
    rig.agents.submit(NIX, -2)
    rig.wait_running(1)
    rig.wait_reported("it shrinks naturally", "nix")
    assert rig.agents.killed == []
    assert {name for name in rig.uids() if name.startswith("nix-")} == {
        name for name in before if name.startswith("nix-")
    }
    assert rig.uids().items() <= before.items()
    # What Runner Provisioner's users grep for, for the pool that took over from it alone.
    logged = [
        (line["resource_class"], line["unclaimed_tasks"], line["running_tasks"], line["desired_vms"])
        for line in rig.lines("scaled")
        if line["loop_name"] == "scaler"
    ]
    assert {(NIX, 2, 0, 2), (NIX, 0, 0, 0)} <= set(logged)
    assert logged[0][3] == 2, "nothing is said before it is known how many are wanted"
    assert {line[0] for line in logged} == {NIX}
    assert rig.circle.count(UNCLAIMED, NIX) >= len(logged) - 2, "a line for each poll, not for each cycle"


def test_a_warm_pool_has_its_minimum_and_headroom_beyond_its_load(rig: Rig) -> None:
    rig.pool(min=2, max=6, headroom=1)
    rig.up()
    rig.wait_running(2)
    rig.agents.submit(CI, 3)
    rig.wait_busy(3)
    rig.wait_running(4)
    rig.agents.finish(*rig.agents.busy())
    rig.wait_running(2)
    assert rig.agents.killed == []


def test_classes_share_a_ceiling_by_priority_and_never_exceed_it(rig: Rig) -> None:
    rig.ceiling("roof", 3, ci=10, nix=0)
    rig.pool(max=3, ceiling="roof")
    rig.pool("nix", max=3, ceiling="roof")
    rig.agents.submit(NIX, 5)
    rig.up()
    rig.wait_busy(3, "nix")
    rig.agents.submit(CI, 2)
    rig.wait_reported("ceiling roof")
    for _ in range(2):
        rig.agents.finish(min(rig.agents.busy("nix")))
    rig.wait_busy(2, "ci")
    assert len(rig.agents.busy("nix")) == 1
    rig.agents.finish(*rig.agents.busy("ci"))
    rig.wait_busy(3, "nix")
    assert rig.agents.peak == 3
    assert rig.agents.killed == []


def test_vms_that_a_person_deletes_really_go_and_are_replaced(rig: Rig) -> None:
    rig.pool(min=3, max=3)
    rig.up()
    rig.wait_running(3)
    before = rig.uids()
    one = min(before)
    rig.kubectl("delete", "vm", one, "--timeout=60s")
    rig.wait_gone(before[one])
    rig.wait_running(3)
    assert set(before.values()) - set(rig.uids().values()) == {before[one]}

    rig.agents.submit(CI)
    rig.wait_busy(1)
    (busy,) = rig.agents.busy()
    before = rig.uids()
    rig.kubectl("delete", "vm", "--all", "--wait=false")
    rig.wait(lambda: len(set(before.values()) & set(rig.uids().values())) == 1, "the end of the idle ones")
    assert rig.uids()[busy] == before[busy], "it ends its task first"
    rig.wait(lambda: len(rig.running()) >= 3, "others in their place")
    rig.agents.finish(busy)
    rig.wait_gone(before[busy])
    rig.wait_running(3)
    assert rig.agents.killed == []


def test_a_changed_spec_and_a_changed_token_reach_new_vms_only(rig: Rig) -> None:
    rig.pool(min=2, max=2)
    rig.up()
    rig.wait_running(2)
    rig.agents.submit(CI, 1)
    rig.wait_busy(1)
    (busy,) = rig.agents.busy()
    before, first = rig.uids(), rig.templates()[busy]
    rig.pool(min=2, max=2, kubevirt={"maxRunTime": "1h"})
    rig.wait(
        lambda: list(rig.templates().values()).count(first) == 1, "a new VM in the place of the idle one"
    )
    rig.wait_running(2)
    rig.wait_old(1)

    second = set(rig.templates().values()) - {first}
    rig.secret(api=TOKEN, token="another-token")
    rig.wait(lambda: not second & set(rig.templates().values()), "a newer VM")
    rig.wait_running(2)
    rig.wait_old(1)
    for vm in rig.vms():
        is_old = vm["metadata"]["name"] == busy
        logged = rig.user_data(vm)
        assert (RUNNER_TOKEN in logged, "another-token" in logged) == (is_old, not is_old)
    assert rig.uids()[busy] == before[busy]
    rig.agents.finish(busy)
    rig.wait_old(0)
    rig.wait_running(2)
    assert rig.agents.killed == []


def test_an_immediate_rollout_spares_no_old_vm(rig: Rig) -> None:
    rig.pool(min=2, max=2, grace_s=1)
    rig.up()
    rig.wait_running(2)
    rig.agents.submit(CI, 1)
    rig.wait_busy(1)
    (busy,) = rig.agents.busy()
    before = rig.uids()
    # KubeVirt named it, so nothing tells which order it was made for.
    assert "remuda why pool ci" in rig.cli("why", "machine", busy)
    rig.pool(min=2, max=2, grace_s=2)
    # The idle one might claim a task as it is told to go, and has too short a grace to end it: only an order removes it.
    rig.wait_old(2)
    rig.cli("pools", "rollout", "ci", "--immediate", "--yes")
    rig.wait_gone(*before.values())
    rig.wait_running(2)
    rig.wait_old(0)
    assert "(an earlier machine of this name)" in rig.cli("why", "machine", busy)
    assert rig.agents.killed == [busy]


def test_a_plan_bounds_the_vms_of_all_classes_of_its_organisation(rig: Rig) -> None:
    plan = {"planConcurrency": 2}
    rig.pool(min=0, max=5, circleci=plan)
    rig.pool("nix", min=0, max=5, circleci=plan)
    rig.up()
    # CircleCI is asked about one class after the other: the first would get VMs for all that the plan lets run.
    for pool in ("ci", "nix"):
        rig.wait_condition("Stale", "False", pool)
        rig.cli("pools", "pause", pool)
    rig.agents.submit(CI, 3)
    rig.agents.submit(NIX, 3)
    rig.wait(
        lambda: all(rig.status(pool).get("waiting") == 3 for pool in ("ci", "nix")),
        "three tasks for each pool",
    )
    for pool in ("ci", "nix"):
        rig.cli("pools", "resume", pool)
    rig.wait(lambda: len(rig.agents.busy()) == 2, "two busy VMs")
    rig.wait_reported("plan", "nix")
    for _ in range(2):
        rig.agents.finish(min(rig.agents.busy()))
        rig.wait(lambda: len(rig.agents.busy()) == 2, "two busy VMs")
    assert rig.agents.peak == 2
    assert rig.agents.killed == []
